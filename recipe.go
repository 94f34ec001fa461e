package pawl

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Recipe is a loop system as data: which kinds of loop there are, what one
// iteration of each does, what judges it and what happens after a failure.
// Recipes are written in YAML; internal/recipe parses, checks and explains
// them, and embeds the built-in ones. The kernel runs a recipe as it is here,
// frozen into a run's first event.
type Recipe struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Agent is the id under which reports name the loop.
	Agent string `json:"agent,omitempty"`
	// Cancel is what happens to what runs when a user cancels without saying;
	// empty means [DrainBoundary].
	Cancel Draining `json:"cancel,omitempty"`
	// OnError is how a run ends when a model or the machine fails permanently: halted,
	// which is what empty means, or failed.
	OnError Outcome `json:"on_error,omitempty"`
	// Records commits the task's folder, .pawl/tasks/NNN-slug, to the run's branch at
	// every checkpoint and at the end.
	Records bool `json:"records,omitempty"`
	// Commits is what makes commits on the run's branch: every attempt, which is what empty
	// means, or a task that has landed.
	Commits CommitsOf `json:"commits,omitempty"`
	// Evidence is the least strict mode of evidence that runs of the recipe may have; empty means
	// that the settings decide.
	Evidence EvidenceMode `json:"evidence,omitempty"`
	// Loops is how many loops may be active at once in a tree; those that wait for
	// their children or a person are not. Zero means [DefaultLoops].
	Loops int `json:"loops,omitempty"`
	// Tiers are what reports call tiers 1, 2 and 3.
	Tiers []string `json:"tiers,omitempty"`
	// Report says how people see the recipe's runs.
	Report ReportStyle `json:"report,omitzero"`
	// Deviations say what the recipe does otherwise than the document it follows, and why, a sentence each.
	Deviations []string `json:"deviations,omitempty"`
	// Start is the kind of the root loop.
	Start string     `json:"start"`
	Kinds []LoopKind `json:"kinds"`
}

// ReportStyle says how people see the runs of a recipe. The zero value shows them as those of any recipe.
type ReportStyle struct {
	// Heading is what reports are headed with, such as "TASK LOOP"; empty means the recipe's name and
	// LOOP.
	Heading string `json:"heading,omitempty"`
	// Live is what logs show besides their lines; empty means nothing.
	Live LiveReport `json:"live,omitempty"`
}

// LiveReport is what logs show of a run besides their lines.
type LiveReport string

// What logs show.
const (
	// LiveNone means nothing, as empty does.
	LiveNone LiveReport = "none"
	// LiveIterations means the report of every iteration of the root loop at its end.
	LiveIterations LiveReport = "iterations"
	// LiveTasks means the planner's decision, for each task a heading, its rounds and what it taught, and the
	// table of all tasks at the end.
	LiveTasks LiveReport = "tasks"
)

// Heading returns what reports of the recipe's runs are headed with.
func (r *Recipe) Heading() string {
	return cmp.Or(r.Report.Heading, strings.TrimLeft(strings.ToUpper(strings.TrimSuffix(r.Name, "loop"))+" LOOP", " "))
}

// CommitsOf is what makes commits on a run's branch.
type CommitsOf string

// What makes commits on a run's branch.
const (
	// CommitsAttempt means that every attempt is a commit on the run's branch.
	CommitsAttempt CommitsOf = "attempt"
	// CommitsTask means that attempts are made on a ref below [AttemptsFolder], and that the
	// run's branch gets one commit for each task that has landed.
	CommitsTask CommitsOf = "task"
)

// DefaultLoops is how many loops of a tree may be active at once where nothing
// else is said.
const DefaultLoops = 50

// Tier returns the recipe's name for a tier, 1 to 3.
func (r *Recipe) Tier(n int) string {
	if n >= 1 && n <= len(r.Tiers) {
		return r.Tiers[n-1]
	}
	return [...]string{"-", "fast", "medium", "large"}[max(0, min(n, 3))]
}

// RecipeOrigin says which recipe it is and what it is made of.
type RecipeOrigin struct {
	Name string `json:"name"`
	// Files are those of the repository that it is made of, recipes and templates, relative to its
	// root; none = it is built in.
	Files []string `json:"files,omitempty"`
	// Replaces are the built-in recipes in whose place such a file stands.
	Replaces []string `json:"replaces,omitempty"`
}

// LoopKind is one kind of loop. Its lifecycle is steps, gates, approval,
// children, final gates, final steps.
type LoopKind struct {
	Name       string    `json:"name"`
	Complexity *Bands    `json:"complexity,omitempty"`
	Steps      []Step    `json:"steps,omitempty"`
	Gates      []Stage   `json:"gates,omitempty"`
	Approval   *Approval `json:"approval,omitempty"`
	Children   *Children `json:"children,omitempty"`
	FinalGates []Stage   `json:"final_gates,omitempty"`
	FinalSteps []Step    `json:"final_steps,omitempty"`
	Ladder     Ladder    `json:"ladder"`
	// Iterations is the limit on attempts; zero means no limit of the kind's own.
	Iterations int `json:"iterations,omitempty"`
	// Priority is what a loop of the kind has to begin with where children are ordered
	// by score; see kernel.Score for what is added. Zero = 0.
	Priority int `json:"priority,omitempty"`
	// Concurrent is how many loops of the kind may be active at once in a run,
	// wherever in the tree they are; zero means no limit of the kind's own.
	Concurrent int `json:"concurrent,omitempty"`
	// Monitor says which recoveries each health of the attempts of a kind without children leads to:
	// rollback and escalate, of FLIP-FLOPPING and REGRESSING. Recoveries is as in [Children].
	Monitor    map[string][]string `json:"monitor,omitempty"`
	Recoveries int                 `json:"recoveries,omitempty"`
	// Proof says what follows from an attempt that passes and that nothing shows the goal of; zero
	// means [ProofEnd].
	Proof ProofMode `json:"proof,omitempty"`
	// Unjudged says what follows if a gate that gave no verdict on the base gives none on an attempt
	// either; zero means [UnjudgedFail].
	Unjudged UnjudgedMode `json:"unjudged,omitempty"`
	// Extract takes from an attempt that has been judged what is worth
	// remembering. That it fails never fails the work.
	Extract *Step `json:"extract,omitempty"`
}

// WorkTier returns the tier that a loop of the kind works on while its ladder is at tier n. A loop that plans
// children works on the tier of the step that plans them; 0 = other steps of it work on the ladder's.
func (k *LoopKind) WorkTier(n int) int {
	if k == nil || k.Children == nil {
		return n
	}
	plans, ladder := 0, false
	var walk func([]Step)
	walk = func(steps []Step) {
		for _, s := range steps {
			switch {
			case s.Repeat != nil:
				walk(s.Repeat.Steps)
			case s.Name == k.Children.From && s.Tier > 0:
				plans = s.Tier
			case s.Tier == 0:
				ladder = true
			}
		}
	}
	walk(k.Steps)
	switch {
	case plans == 0:
		return n
	case ladder:
		return 0
	}
	return plans
}

// ProofMode says what follows from an attempt that passes and that nothing shows the goal of.
type ProofMode string

// The modes.
const (
	ProofEnd      ProofMode = "end"      // the loop ends, unverified
	ProofFeedback ProofMode = "feedback" // it is told so, once, and another attempt follows
)

// UnjudgedMode says what follows if a gate gives no verdict on an attempt, and gave none on the base.
type UnjudgedMode string

// The modes. In all of them an attempt without the gate's verdict does not pass.
const (
	UnjudgedFail  UnjudgedMode = "fail"  // the attempt has failed
	UnjudgedOnce  UnjudgedMode = "once"  // the gate runs once more with twice the time, then the attempt has failed
	UnjudgedAgain UnjudgedMode = "again" // the gate runs once more with twice the time, then a person is asked
)

// HeldOutStage returns the position, among Gates and then FinalGates, of the stage in which a root
// loop of the kind runs held-out checks: the last one that runs command gates on the finished work,
// whatever the circumstances. It is -1 if there is none.
func (k *LoopKind) HeldOutStage() int {
	stages, from := slices.Concat(k.Gates, k.FinalGates), 0
	if k.Children != nil {
		from = len(k.Gates) // what comes before the children judges the plan
	}
	for i := len(stages) - 1; i >= from; i-- {
		if len(stages[i].Commands) > 0 && stages[i].When == nil {
			return i
		}
	}
	return -1
}

// Bands chooses the first tier from a complexity score. The score comes from
// the named step's assessment, unless the user gave one.
type Bands struct {
	From  string `json:"from"` // the step; it runs in the first iteration only
	Tiers []Band `json:"tiers"`
	// Unknown is the score taken when there is none.
	Unknown int `json:"unknown"`
}

// Band gives a tier to scores up to and including Max.
type Band struct {
	Max  int    `json:"max"`
	Tier int    `json:"tier"`
	Name string `json:"name,omitempty"` // such as "simple"
}

// Step is one agent session of a role, or a group that repeats.
type Step struct {
	Name   string   `json:"name"`
	Role   string   `json:"role,omitempty"`
	Prompt string   `json:"prompt,omitempty"` // the template's file name
	Tools  []string `json:"tools,omitempty"`
	// Tier is 1 to 3; zero means the loop's, which the ladder raises.
	Tier int `json:"tier,omitempty"`
	// TierFrom names the artifact field the tier comes from.
	TierFrom string `json:"tier_from,omitempty"`
	// Output is the step's structured result, handed in with the tool [SubmitTool] names.
	Output string `json:"output,omitempty"`
	// Required reports that the session must end with its structured result;
	// otherwise its last text will do.
	Required bool `json:"required,omitempty"`
	// Turns is the cap on model calls; zero means 20.
	Turns int `json:"turns,omitempty"`
	// Cap is what a session of a coding agent may use.
	Cap SessionCap `json:"session_limit,omitzero"`
	// TurnCap says what follows when the session reaches that cap.
	TurnCap TurnCap `json:"turn_cap,omitempty"`
	// NoReminder leaves out the reminder after each batch of tool results.
	NoReminder bool `json:"no_reminder,omitempty"`
	// Timeout is the limit on the time of the whole session; zero = none. A step that runs out of time
	// runs once more with twice the time, which stays for the rest of the loop.
	Timeout time.Duration `json:"timeout,omitempty"`
	// TimeCap says what follows when a step runs out of time although it had twice as much, and what it
	// works on is not as at the base.
	TimeCap TurnCap `json:"time_cap,omitempty"`
	// First runs the step in the first iteration only.
	First bool  `json:"first,omitempty"`
	When  *When `json:"when,omitempty"`
	// Append collects the output over rounds and retries; Keep over iterations.
	Append bool `json:"append,omitempty"`
	Keep   bool `json:"keep,omitempty"`
	// ForEach runs the step once per entry of an artifact field, Parallel at a time.
	ForEach   string  `json:"for_each,omitempty"`
	Parallel  int     `json:"parallel,omitempty"`
	Questions bool    `json:"questions,omitempty"` // it may ask the user
	Memory    *Memory `json:"memory,omitempty"`
	Repeat    *Repeat `json:"repeat,omitempty"`
	// Limits bound how often single tools may be called in the session.
	Limits []ToolLimit `json:"limits,omitempty"`
	// Check is something the harness looks at itself, and the decision it demands.
	Check *Check `json:"check,omitempty"`
}

// SessionCap is what a session of a coding agent may use, at list prices. A field that is zero leaves it
// to [Settings.Session].
type SessionCap struct {
	Money  Micros `json:"money,omitempty"`
	Tokens int64  `json:"tokens,omitempty"`
}

// TurnCap is what follows when a session has used all its turns, or all its time, without a result.
type TurnCap string

// What may follow. The zero value means [TurnCapFail].
const (
	TurnCapFail  TurnCap = "fail"  // the step fails, and with it the attempt
	TurnCapJudge TurnCap = "judge" // the gates judge what was made
)

// Repeat runs a group of steps again until one of them submits a decision.
type Repeat struct {
	Max   int      `json:"max"`
	Until []string `json:"until"`
	OnMax string   `json:"on_max"` // continue, fail or ask
	Steps []Step   `json:"steps"`
}

// ToolLimit bounds the calls of one tool in a session.
type ToolLimit struct {
	Tool string `json:"tool"`
	Max  int    `json:"max"`
}

// Check demands a decision of a step when the harness sees signs for it. If the
// agent decides otherwise it is asked once more, with the signs; then the check
// wins. It never works the other way round.
type Check struct {
	Name    string `json:"name"` // many_steps: see kernel.Signs
	Demands string `json:"demands"`
	// Over are the decisions that it overrules; empty = all others.
	Over []string `json:"over,omitempty"`
}

// When lets something happen only under certain conditions; all that are given must hold.
type When struct {
	Decision []string `json:"decision,omitempty"` // of the last step that submitted one
	Tier     []int    `json:"tier,omitempty"`     // of the loop
	// Verification is the verification tier of the loop's own task.
	Verification []int `json:"verification,omitempty"`
	// Scaffold is whether the loop's own task lays the ground for others; nil = either.
	Scaffold *bool `json:"scaffold,omitempty"`
	// Output are results of which a step must have handed one in.
	Output []string `json:"output,omitempty"`
	// Criteria is whether the user gave criteria; nil = either.
	Criteria *bool `json:"criteria,omitempty"`
	// Verdict is that of the attempt, for what comes after the gates: pass or fail.
	Verdict []Verdict `json:"verdict,omitempty"`
}

// Memory says what of the run's memory a step is shown.
type Memory struct {
	Select    string `json:"select"` // all or relevant
	MaxTokens int    `json:"max_tokens"`
}

// Stage is one or more gates that run side by side. Stages run in order; a
// halt ends them, other failures do not. Exactly one of Commands, Review,
// Builtin and Human is set.
type Stage struct {
	Name string `json:"name"`
	// Commands runs the run's command gates of these kinds; "*" means all of them.
	Commands []string      `json:"commands,omitempty"`
	Review   *Review       `json:"review,omitempty"`
	Builtin  string        `json:"builtin,omitempty"` // a check the harness makes itself
	Human    bool          `json:"human,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	When     *When         `json:"when,omitempty"`
	// On says what a verdict other than pass and fail leads to.
	On map[Verdict]Route `json:"on,omitempty"`
}

// Review is a gate in which a model judges the candidate.
type Review struct {
	Role   string   `json:"role"`
	Prompt string   `json:"prompt"`
	Tools  []string `json:"tools,omitempty"`
	Tier   int      `json:"tier"`
	Output string   `json:"output"`
	Turns  int      `json:"turns,omitempty"`
	// Cap is what a session of a coding agent may use.
	Cap SessionCap `json:"session_limit,omitzero"`
	// Votes asks this many reviewers; unanimous decides, any split asks a human. Zero means one.
	Votes int `json:"votes,omitempty"`
	// Unfilled says what follows when no reviewer up to the strongest tier hands in a result.
	Unfilled Unfilled `json:"unfilled,omitempty"`
	// Memory is what the reviewer is shown of the run's memory; nil = nothing.
	Memory *Memory `json:"memory,omitempty"`
}

// Unfilled is what follows when no reviewer hands in a result.
type Unfilled string

// What may follow. The zero value means [UnfilledFail].
const (
	UnfilledFail Unfilled = "fail" // it counts as a failure of the work
	UnfilledAsk  Unfilled = "ask"  // a person decides
)

// Route says where a verdict leads.
type Route struct {
	From string `json:"from"` // a step's name, or "start"
	Max  int    `json:"max"`
	Then string `json:"then"` // fail, ask
}

// Ladder says what happens after failed attempts.
type Ladder struct {
	// Rungs give each tier's number of consecutive failures before the next rung.
	Rungs []Rung `json:"rungs,omitempty"`
	// Stuck is how many like failures in a row mean stuck, 2 to [MaxStuck]; zero means no detection.
	Stuck int `json:"stuck,omitempty"`
	// Council convenes after the last rung.
	Council *Council `json:"council,omitempty"`
	// Then is what follows when everything is used up: blocked, fail, replan, ask.
	Then string `json:"then,omitempty"`
}

// MaxStuck is the most failures in a row that are compared: a loop remembers no more attempts.
const MaxStuck = 8

// Rung is one tier's patience.
type Rung struct {
	Tier     int `json:"tier"`
	Failures int `json:"failures"`
}

// Council is several sessions that diagnose side by side, rank each other's
// proposals, and whose winner advises the next attempt.
type Council struct {
	Lenses  []Lens        `json:"lenses"`
	Tier    int           `json:"tier"`
	Tools   []string      `json:"tools,omitempty"`
	Propose string        `json:"propose"` // the prompt of a proposal
	Ballot  string        `json:"ballot"`  // the prompt of a ballot
	Turns   int           `json:"turns,omitempty"`
	Cap     SessionCap    `json:"session_limit,omitzero"` // of a session of a coding agent
	Timeout time.Duration `json:"timeout,omitempty"`
	// Attempts is how many iterations follow a council before the ladder's Then.
	Attempts int `json:"attempts"`
}

// Lens is a council member's point of view.
type Lens struct {
	Name  string `json:"name"`
	Focus string `json:"focus"`
}

// Approval asks a human before children are spawned.
type Approval struct {
	// By is human (for the plan), auto (nobody), manual (for every task) or
	// confidence_threshold (for work that the checks are not sure of). Settings
	// may choose another than the recipe's.
	By string `json:"by"`
	// Threshold is the least confidence, in percent, that needs no person; 0 = [DefaultThreshold].
	Threshold int `json:"threshold,omitempty"`
}

// DefaultThreshold is the confidence that needs no person where nothing else is said.
const DefaultThreshold = 80

// Children says which loops a loop has and how their work comes home. Admit, Group, Judge, Land and
// OnFailure say one thing each and combine freely, but for what package recipe refuses.
type Children struct {
	From     string `json:"from"` // the step whose artifact lists them
	Kind     string `json:"kind"`
	Order    string `json:"order"` // list, priority or score
	Parallel int    `json:"parallel"`
	Limit    int    `json:"limit,omitempty"` // on how many run; zero means all
	When     *When  `json:"when,omitempty"`

	Admit     Admission `json:"admit"`
	Group     int       `json:"group,omitempty"` // how many land together; see [Children.Groups]
	Judge     *Review   `json:"judge,omitempty"` // of a whole group; nil means that the gates decide
	Land      Landing   `json:"land,omitempty"`
	OnFailure OnFailure `json:"on_failure,omitempty"`

	BeforeBatch   []Step `json:"before_batch,omitempty"`
	AfterBatch    []Step `json:"after_batch,omitempty"`
	ScaffoldFirst bool   `json:"scaffold_first,omitempty"`
	Checkpoint    bool   `json:"checkpoint,omitempty"`
	// Monitor says which recoveries each health but PROGRESSING leads to, in order.
	Monitor map[string][]string `json:"monitor,omitempty"`
	// MonitorRules are the rules by which the monitor judges groups; zero means [RulesTuned].
	MonitorRules MonitorRules `json:"monitor_rules,omitempty"`
	// Recoveries is how often one health may lead to them before a person is asked,
	// counted since the last good checkpoint; zero means [DefaultRecoveries].
	Recoveries int     `json:"recoveries,omitempty"`
	Replan     *Replan `json:"replan,omitempty"`
}

// Admission says when a child begins to exist.
type Admission string

const (
	AdmitReady Admission = "ready" // when it can start; the zero Admission means this too
	// AdmitEager lets all children exist, at once, from when their list is accepted. Each waits for
	// its turn among its siblings, its kind and the run. Siblings hear of each other's merges.
	AdmitEager Admission = "eager"
)

// Landing says which members of a group land once it is judged.
type Landing string

const (
	LandApproved Landing = "approved" // those that pass; the zero Landing means this too
	LandAll      Landing = "all"      // all of them or none
	LandBest     Landing = "best"     // one of them, which the judge picks; the others are dropped
)

// MonitorRules are rules of the monitor where they differ.
type MonitorRules string

// The rules. Docs: decision 010.
const (
	RulesTuned MonitorRules = ""     // a falling pass rate counts if nothing else speaks for the work
	RulesSeed  MonitorRules = "seed" // a pass rate that falls twice in a row always counts
)

// OnFailure says what follows when a child fails for good. The zero OnFailure means [FailBlock].
type OnFailure string

const (
	FailContinue OnFailure = "continue" // the others are worked on, also those that depend on it
	FailBlock    OnFailure = "block"    // those that depend on it are blocked
	FailStop     OnFailure = "stop"     // no other child begins
	// FailRestartParent fails the parent's iteration. When the parent begins anew, its children and
	// all below them are invalidated, and its next artifact gives others.
	FailRestartParent OnFailure = "restart_parent"
)

// GroupAll is the Group of children of which all that are ready land together.
const GroupAll = -1

// Groups reports whether children land in groups, of which each is judged as a whole. It is false
// for nil, and where each child lands by itself, which is what a Group of 0 or 1 means.
func (c *Children) Groups() bool { return c != nil && c.Group != 0 && c.Group != 1 }

// IsEager reports whether all children exist from when their list is accepted. It is false for nil.
func (c *Children) IsEager() bool { return c != nil && c.Admit == AdmitEager }

// RestartsParent reports whether a child that fails fails its parent's iteration. It is false for
// nil.
func (c *Children) RestartsParent() bool { return c != nil && c.OnFailure == FailRestartParent }

// oldGroup is how many children landed together in recipes that had no key for it.
const oldGroup = 12

// UnmarshalJSON also reads what recipes said in the logs of earlier versions: cascade, review and
// batch stood in place of Admit, Group, Judge, Land and OnFailure.
func (c *Children) UnmarshalJSON(data []byte) error {
	type plain Children
	old := struct {
		*plain
		Admit   *Admission `json:"admit"`
		Review  *Review    `json:"review"`
		Cascade bool       `json:"cascade"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	if old.Admit != nil {
		c.Admit = *old.Admit
		return nil
	}
	c.Admit, c.Group, c.Judge = AdmitReady, 1, old.Review
	switch {
	case old.Cascade:
		c.Admit, c.OnFailure = AdmitEager, FailRestartParent
	case c.OnFailure == FailContinue: // which meant no more than the others' going on
		c.OnFailure = FailBlock
	}
	if c.Judge != nil || len(c.BeforeBatch)+len(c.AfterBatch)+len(c.Monitor) > 0 || c.Checkpoint || c.ScaffoldFirst {
		c.Group = oldGroup
	}
	return nil
}

// DefaultRecoveries is how often one health leads to its recoveries where nothing
// else is said.
const DefaultRecoveries = 2

// Replan says when the list of children is made anew.
type Replan struct {
	On          []string `json:"on"`    // failure, discovery
	Every       int      `json:"every"` // completed children; zero means never
	MaxVersions int      `json:"max_versions"`
	Prompt      string   `json:"prompt"` // the template's file name
	// Bare has the prompt show what its template shows and nothing else: neither the run's id nor
	// the repository's instructions.
	Bare bool `json:"bare,omitempty"`
}

// Kind returns the kind of this name, or nil.
func (r *Recipe) Kind(name string) *LoopKind {
	for i := range r.Kinds {
		if r.Kinds[i].Name == name {
			return &r.Kinds[i]
		}
	}
	return nil
}
