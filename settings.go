package pawl

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Micros is money in millionths of a US dollar.
type Micros int64

// Dollars is the number of micros in one dollar.
const Dollars Micros = 1_000_000

// String returns the amount in dollars, such as "$0.0312": two digits after the
// point, four when it is below ten cents.
func (m Micros) String() string {
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	if n != 0 && n < 100_000 {
		n += 50 // round to a hundredth of a cent
		return fmt.Sprintf("%s$%d.%04d", sign, n/1_000_000, n/100%10_000)
	}
	n += 5_000 // round to a cent
	return fmt.Sprintf("%s$%d.%02d", sign, n/1_000_000, n/10_000%100)
}

// apart returns two amounts that are not negative with as many digits as tell them apart: "$0.1000" and "$0.1008".
func apart(a, b Micros) (string, string) {
	if x, y := (a+50)/100, (b+50)/100; x != y { // hundredths of a cent
		return fmt.Sprintf("$%d.%04d", x/10_000, x%10_000), fmt.Sprintf("$%d.%04d", y/10_000, y%10_000)
	}
	return fmt.Sprintf("$%d.%06d", a/Dollars, a%Dollars), fmt.Sprintf("$%d.%06d", b/Dollars, b%Dollars)
}

// Span returns a duration for people: "4m12s", "8h", "1.5s", "0.3s", "20ms". Below a minute halves of a second
// are kept, which limits that people set may have.
func Span(d time.Duration) string {
	switch {
	case d >= time.Second && d < time.Minute && d%(500*time.Millisecond) == 0:
		return d.String()
	case d >= time.Second || d <= 0:
	case d < 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	}
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Thousands returns a number with commas: "12,431".
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(s) - 3; i > from; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// JSON is a JSON document kept as it is.
type JSON []byte

// MarshalJSON writes the document itself.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j) == 0 {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON keeps the document.
func (j *JSON) UnmarshalJSON(data []byte) error {
	*j = append((*j)[:0], data...)
	return nil
}

// Limits bound a run. In frozen settings every value is explicit: zero means
// no limit.
type Limits struct {
	Money      Micros        `json:"money"`
	Tokens     int64         `json:"tokens"`
	Time       time.Duration `json:"time"`       // the driver was alive
	Iterations int           `json:"iterations"` // of the root loop; it wins over the recipe's
}

func (l *Limits) fields(c *coder) {
	num(c, 1, &l.Money)
	num(c, 2, &l.Tokens)
	num(c, 3, &l.Time)
	num(c, 4, &l.Iterations)
}

// DefaultLimits bound a run whose user said nothing.
var DefaultLimits = Limits{Money: 10 * Dollars, Tokens: 5_000_000, Time: 8 * time.Hour, Iterations: 10}

// Settings are what a user or a configuration decides about one run. They are
// frozen into its first event, every default resolved.
type Settings struct {
	Limits Limits `json:"limits"`
	// Room are the limits of each room that the run's commands run in.
	Room RoomLimits `json:"room,omitzero"`
	// Recording are the limits of each recording of a worktree.
	Recording RecordingLimits `json:"recording,omitzero"`
	// Models are the models of tiers 1, 2 and 3. Fallbacks are, by tier, those that take its place in
	// turn; see [ModelSwitched].
	Models    [3]ModelChoice   `json:"models"`
	Fallbacks [3][]ModelChoice `json:"fallbacks,omitzero"`
	// FallbackAfter is how long a run with a fallback waits at most for a provider that says when it
	// can be called again, and for how long it uses the fallback of one that does not say so.
	// Zero = [DefaultFallbackAfter].
	FallbackAfter time.Duration `json:"fallback_after,omitempty"`
	// AnswerTime is how long the run waits for the answer to a question, other than an approval, while
	// nobody is told of it and nobody follows the run; then it is halted. Zero = as long as it takes.
	AnswerTime time.Duration `json:"answer_time,omitempty"`
	// Gates are the run's command gates, in the order they are reported.
	Gates []GateSpec `json:"gates,omitempty"`
	// AllowMissingGates names gates that the run goes on without if their program is not
	// installed. [PrepareGate] lets it go on if its base cannot be prepared. Names that no
	// gate has are ignored.
	AllowMissingGates []string `json:"allow_missing_gates,omitempty"`
	// Unattended says that nobody is there to answer while the run begins: a required
	// gate whose program is not installed then ends the run with [OutcomeRefused].
	// Otherwise the run asks.
	Unattended bool `json:"unattended,omitempty"`
	// Prepare are commands that put the dependencies of a commit in place, in a clean checkout
	// of it. What they leave is in the agent's worktree and in every gate's checkout.
	Prepare []string `json:"prepare,omitempty"`
	// PrepareTimeout bounds them together; zero = [DefaultPrepareTime].
	PrepareTimeout time.Duration `json:"prepare_timeout,omitempty"`
	// PrepareFrom says who chose Prepare. It is empty in runs that were started before
	// it was recorded.
	PrepareFrom Origin `json:"prepare_from,omitempty"`
	// Egress are the rules of the egress proxy, through which alone the commands of Prepare
	// reach anything: see [PrepareSpec]. None means that they reach nothing.
	Egress []string `json:"egress,omitempty"`
	// PrepareEnviron are variables of the commands of Prepare, NAME=value, such as which
	// registry a package manager asks. They hold no credentials.
	PrepareEnviron []string `json:"prepare_environ,omitempty"`
	// Evidence says what becomes of findings; empty = the run was started before there were any,
	// and nothing is looked for.
	Evidence EvidenceMode `json:"evidence,omitempty"`
	// NotGreen are tests that are no goal tests, whatever the goal says: by their names, or their gate's
	// and theirs as in GATE=TEST.
	NotGreen []string `json:"not_green,omitempty"`
	// AllowPaths are policy paths that a candidate may change, and folders of such.
	AllowPaths []string `json:"allow_paths,omitempty"`
	// HeldOutFeedback is what agents and reviewers are told of the run's held-out checks.
	HeldOutFeedback HeldOutFeedback `json:"held_out_feedback,omitempty"`
	// PathClasses gives paths a class, ahead of the tables.
	PathClasses []PathRule `json:"path_classes,omitempty"`
	// Retry says how often and how slowly a model call is tried again.
	Retry RetryPolicy `json:"retry"`
	// HaltOn are the conditions that end the run at once.
	HaltOn []HaltCondition `json:"halt_on"`
	// NoStuckDetection turns stuck detection off.
	NoStuckDetection bool `json:"no_stuck_detection,omitempty"`
	// NoCost leaves money out of reports. Limits hold all the same.
	NoCost bool `json:"no_cost,omitempty"`
	// NoInstructions keeps the repository's instructions (AGENTS.md and the like) out of
	// prompts.
	NoInstructions bool `json:"no_instructions,omitempty"`
	// Complexity is the task's score, 0 to 14, when the user gave one.
	Complexity *int `json:"complexity,omitempty"`
	// Council calls a council after the first failed attempt.
	Council bool `json:"council,omitempty"`
	// Agent is the specialist the task asks for; empty means the step's role.
	Agent string `json:"agent,omitempty"`
	// Scope are sentences that bound what may be changed.
	Scope []string `json:"scope,omitempty"`
	// Context is what whoever works on the goal is told besides, Metadata what is kept for other programs alone: entries
	// NAME=VALUE, whose names differ.
	Context  []string `json:"context,omitempty"`
	Metadata []string `json:"metadata,omitempty"`
	// Approval is the mode of approval when the user chose another than the
	// recipe's: auto, manual or confidence_threshold; ApprovalThreshold is in
	// percent, 0 = the recipe's.
	Approval          string `json:"approval,omitempty"`
	ApprovalThreshold int    `json:"approval_threshold,omitempty"`
	// Parallel is how many children run side by side; 0 = as the recipe says.
	Parallel int `json:"parallel,omitempty"`
	// ReplanEvery is after how many passed tasks a plan is made anew: nil = as the
	// recipe says, 0 = never.
	ReplanEvery *int `json:"replan_every,omitempty"`
	// Callback is told how the run ends.
	Callback *Callback `json:"callback,omitempty"`
	// Announce is told of every question that is asked; nil = nobody is.
	Announce *Announcing `json:"announce,omitempty"`
	// OutputFloor is the least output a model call is worth making with, in tokens.
	OutputFloor int `json:"output_floor"`
	// Session are the limits of each session of a coding agent.
	Session SessionLimits `json:"session,omitzero"`
}

// DefaultAnswerTime is the value of AnswerTime if nobody sets it.
const DefaultAnswerTime = 24 * time.Hour

// DefaultFallbackAfter is the value of FallbackAfter if it is not set.
const DefaultFallbackAfter = 30 * time.Minute

// Model returns the model of a tier, from 1: its own if choice is 0, or else that fallback of it. It
// returns nil if there is none.
func (s *Settings) Model(tier, choice int) *ModelChoice {
	switch {
	case tier < 1 || tier > len(s.Models) || choice < 0 || choice > len(s.Fallbacks[tier-1]):
		return nil
	case choice == 0:
		return &s.Models[tier-1]
	}
	return &s.Fallbacks[tier-1][choice-1]
}

// Patience returns how long a call of a tier's model waits at most for a provider that says when it can be
// called again; 0 = as long as it takes, because the tier has no further model.
func (s *Settings) Patience(tier, choice int) time.Duration {
	if s.Model(tier, choice+1) == nil {
		return 0
	}
	return cmp.Or(s.FallbackAfter, DefaultFallbackAfter)
}

// SetAccount makes an account that of all models of its provider. It changes nothing that s shares with
// a copy.
func (s *Settings) SetAccount(a Account) {
	set := func(list []ModelChoice) {
		for i := range list {
			if m := &list[i]; m.Provider == a.Provider {
				m.Address, m.Key = a.Address, a.Key
			}
		}
	}
	set(s.Models[:])
	for i := range s.Fallbacks {
		s.Fallbacks[i] = slices.Clone(s.Fallbacks[i])
		set(s.Fallbacks[i])
	}
}

// Tier returns the names of a tier's models, its own first, as PROVIDER/NAME.
func (s *Settings) Tier(tier int) []string {
	var out []string
	for choice := 0; ; choice++ {
		m := s.Model(tier, choice)
		if m == nil {
			return out
		}
		out = append(out, m.Provider+"/"+m.Name)
	}
}

// AllModels returns the models of all tiers, and then the fallbacks of all tiers.
func (s *Settings) AllModels() []ModelChoice {
	return slices.Concat(s.Models[:], slices.Concat(s.Fallbacks[:]...))
}

// SessionLimits bound a session of a coding agent. A field that is zero means its default.
type SessionLimits struct {
	// Money and Tokens bound what the session may use, at list prices. They are checked after each
	// of the agent's model calls.
	Money  Micros `json:"money,omitempty"`
	Tokens int64  `json:"tokens,omitempty"`
	// Time bounds a session whose recipe gives no timeout.
	Time time.Duration `json:"time,omitempty"`
	// Silence is how long the agent may send nothing while none of its tool calls is open. ToolTime
	// is how long it may send nothing while one is, or before it has sent anything.
	Silence  time.Duration `json:"silence,omitempty"`
	ToolTime time.Duration `json:"tool_time,omitempty"`
}

// DefaultSessionLimits bound a session of a coding agent when nothing else is set.
var DefaultSessionLimits = SessionLimits{Money: 2 * Dollars, Tokens: 2_000_000, Time: 45 * time.Minute, Silence: 5 * time.Minute, ToolTime: 15 * time.Minute}

// Filled returns the limits with a default for each that is not set.
func (l SessionLimits) Filled() SessionLimits {
	d := DefaultSessionLimits
	return SessionLimits{
		Money: cmp.Or(l.Money, d.Money), Tokens: cmp.Or(l.Tokens, d.Tokens), Time: cmp.Or(l.Time, d.Time),
		Silence: cmp.Or(l.Silence, d.Silence), ToolTime: cmp.Or(l.ToolTime, d.ToolTime),
	}
}

// PrepareGate stands for the commands of Prepare in [Settings.AllowMissingGates].
const PrepareGate = "prepare"

// DefaultPrepareTime is how long the commands of Prepare may take together by default.
const DefaultPrepareTime = 30 * time.Minute

// PrepareTime returns how long the commands of Prepare may take together.
func (s *Settings) PrepareTime() time.Duration {
	return cmp.Or(s.PrepareTimeout, DefaultPrepareTime)
}

// PrepareHash identifies the commands of Prepare: it is the SHA-256 of their JSON, such
// as ["npm ci","make deps"], without spaces and with nothing escaped that need not be.
func (s *Settings) PrepareHash() Hash {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s.Prepare) // strings can always be encoded
	return HashOf(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}

// Origin says who chose a setting.
type Origin string

// Who can choose a setting.
const (
	FromUser       Origin = "user"       // the user: a file of their own, a variable or a flag
	FromRepository Origin = "repository" // a file of the repository
)

// Callback is an HTTP address that is told how a run ends. What is sent is
// signed with the secret of the process that sends it; the secret is no setting.
type Callback struct {
	URL string `json:"url"`
	// AllowPrivate lets the address be one of this machine or of a private network.
	AllowPrivate bool `json:"allow_private,omitempty"`
}

// Announcing says who hears of a question: a command, an address, or both. What
// is sent is the same JSON object: to the command on its standard input, to the
// address as a POST that is signed as a callback is.
type Announcing struct {
	// Command is run by the user's shell, outside of any sandbox, so only the user's
	// own settings may name it, never a repository's.
	Command  string    `json:"command,omitempty"`
	Callback *Callback `json:"callback,omitempty"`
}

// HaltCondition names a reason to stop a run at once.
type HaltCondition string

// The halt conditions.
const (
	HaltSecurity   HaltCondition = "security_critical"
	HaltIterations HaltCondition = "max_iterations_reached"
	HaltBudget     HaltCondition = "budget_exceeded"
)

// ModelChoice is the model of one tier with its prices.
type ModelChoice struct {
	Provider string `json:"provider"` // such as anthropic or ollama; internal/config has the table
	Name     string `json:"name"`     // the provider's name of the model
	// Address and Key are those of the [Account] that whoever starts the run has with the
	// provider. They change with [AccountChanged] only; what a request says is not used.
	// They are empty for the scripted model, and in runs from before they were recorded.
	Address   string `json:"address,omitempty"`
	Key       string `json:"key,omitempty"`
	MaxOutput int    `json:"max_output"`
	// Idle is how long its stream may be silent; zero means [DefaultModelIdle].
	Idle time.Duration `json:"idle,omitempty"`
	// Price is per million tokens. A price nobody knows is the dearest known one.
	Price      Price `json:"price"`
	PriceGuess bool  `json:"price_guess,omitempty"`
	// Agent reports whether the provider is a coding agent: a call is then a turn of it. Plan reports
	// whether a plan pays for its turns, so that they cost no money.
	Agent bool `json:"agent,omitempty"`
	Plan  bool `json:"plan,omitempty"`
	// Hides reports whether the coding agent does not show all of its tool calls.
	Hides bool `json:"hides,omitempty"`
	// Hears reports whether the coding agent can receive messages in the middle of a turn.
	Hears bool `json:"hears,omitempty"`
}

// Account returns whose limits calls of the model count against.
func (m ModelChoice) Account() Account { return Account{m.Provider, m.Address, m.Key} }

// Account is whose limits and money a model call counts against: two calls of a provider have
// the same account if they go to the same address with the same key.
type Account struct {
	Provider string `json:"provider"`
	// Address is the base URL of the provider's server; empty when it is not known.
	Address string `json:"address,omitempty"`
	// Key tells the provider's keys apart. It is no key, and none can be made of it: see
	// [KeyOf]. Empty = no key is sent.
	Key string `json:"key,omitempty"`
}

// KeyOf returns the first twelve digits of the SHA-256 of a key; empty for no key.
func KeyOf(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}

// String returns the account for people: "api.anthropic.com with key 3f2a91".
func (a Account) String() string {
	at := cmp.Or(a.Address, a.Provider)
	if u, err := url.Parse(a.Address); err == nil && u.Host != "" {
		at = u.Host
	}
	if a.Key == "" {
		return at
	}
	return at + " with key " + a.Key[:min(len(a.Key), 6)]
}

// Price is what a million tokens cost.
type Price struct {
	Input      Micros `json:"input"`
	Output     Micros `json:"output"`
	CacheRead  Micros `json:"cache_read"`
	CacheWrite Micros `json:"cache_write"`
}

// Cost returns what the tokens cost, rounded up to a micro.
func (p Price) Cost(u Usage) Micros {
	const million = 1_000_000
	n := int64(p.Input)*u.Input + int64(p.Output)*u.Output + int64(p.CacheRead)*u.CacheRead + int64(p.CacheWrite)*u.CacheWrite
	return Micros((n + million - 1) / million)
}

// RetryPolicy says how a failed model call is tried again. A provider's own
// wait wins over the back-off.
type RetryPolicy struct {
	Tries  int           `json:"tries"`  // dispatches before a pause, the first included
	First  time.Duration `json:"first"`  // the first back-off; each later one is twice the one before
	Cap    time.Duration `json:"cap"`    // the longest back-off
	Pauses int           `json:"pauses"` // how often a pause and as many tries follow
	Pause  time.Duration `json:"pause"`
}

// DefaultRetry is three tries with one second doubling up to thirty, then
// three pauses of five minutes.
var DefaultRetry = RetryPolicy{Tries: 3, First: time.Second, Cap: 30 * time.Second, Pauses: 3, Pause: 5 * time.Minute}

// GoalIsMet begins the criterion of a run whose criteria nobody gave; the goal follows.
const GoalIsMet = "The goal is met: "

// Criterion is one acceptance criterion.
type Criterion struct {
	ID   string `json:"id"` // AC-001 and on
	Text string `json:"text"`
}
