package view

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// Blobs reads a blob that an event refers to. A nil Blobs has none.
type Blobs func(pawl.Hash) ([]byte, error)

// Run is what the faces show of one run, folded from its events by [Run.Apply].
// Texts in it are as they came: a projection makes them safe when it prints them.
type Run struct {
	ID       pawl.RunID
	Start    pawl.RunStarted
	Notes    []string // what the user should read about the repository and about what commands see of it
	Recipe   pawl.Recipe
	Settings pawl.Settings
	Limits   pawl.Limits // those in force
	Began    time.Time

	Status pawl.RunStatus
	// Undriven says that no process drives the run, though by its log it is under
	// way. No event tells: who knows sets it.
	Undriven bool
	Needs    string // what such a run lacks to go on, such as a key; empty = nothing that is known
	// MergedInto is the branch that is checked out and has the work; empty = none is known. No event tells: who
	// knows sets it.
	MergedInto string
	Outcome    pawl.Outcome    // empty until it ends
	Reason     string          // why it ended, is ending or is paused
	Head       pawl.CommitHash // of the branch or ref that the run works on
	result     pawl.CommitHash // the head of its branch, where it works on another ref; empty = there is none yet
	// leftRed are the gates that let it end well only because they are no worse than at the base.
	leftRed []string
	Cost    pawl.Micros // what it was charged; see [Run.Money]
	Tokens  int64
	lost    Spending
	// Alive is how long a driver had the run up to Updated, pauses left out.
	Alive   time.Duration
	Updated time.Time // of the last event
	Seq     pawl.Seq  // of the last event

	Loops []*Loop // in the order they started; the first is the root
	runGates
	runEvidence
	runGoals
	// Preparations sum up how commits were prepared.
	Preparations Preparations
	// Problems are the last things that went wrong besides failing gates,
	// oldest first: effects that failed, crashes, limits.
	Problems []ProblemRow
	runFailures

	runQuestions
	runMemory
	Fork *Fork // where it was forked from; nil when it was not
	// switched are the tiers that use a fallback; nil = the tier uses its own model.
	switched [3]*SwitchRow
	// Records are its loops as records, and the signals between them.
	Records Records

	open []pending // requested and not answered, by ID
	// waiting are effects that wait for their places, as far as that was heard.
	waiting map[pawl.Seq]*pawl.Waiting
	silence map[pawl.Seq]time.Duration // of those that wait for their model: for how long when it was shown last
	// closed is the effect that was answered, lost or withdrawn last.
	closed *pawl.Effect
	// withdrawn are turns of coding agents that were withdrawn, and whose transcripts may still come.
	withdrawn []*pawl.Effect
	stops     stops
	since     pawl.Seq // when the run last began to go on: its start or last resumption
	moved     Mark     // the last commit that changed something; before it, the run's start
}

// Mark is an event worth pointing at, in one line.
type Mark struct {
	Seq  pawl.Seq  `json:"seq"`
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// stops are the latest events of their kinds since the run last began to go
// on; the zero Mark where there was none.
type stops struct {
	reason                          string // of stopping
	paused, cancel, stopping, ended Mark
	limit                           Mark // a limit of the run, of a loop, or on retries
	limited                         pawl.LimitName
	wanted                          Mark         // what asked for more than the limit
	failure                         Mark         // an effect that failed, or was lost
	why                             pawl.Failure // of the effect that failed last
	recovered                       Mark
}

// Spending is what something was charged.
type Spending struct {
	Calls  int // model calls that were answered
	Failed int // model calls that were not
	Cost   pawl.Micros
	Tokens int64
	// Lost and LostTokens are the part that calls were charged whose cost nobody knows.
	Lost       pawl.Micros
	LostTokens int64
}

// money returns what was spent and what was lost.
func (s Spending) money() pawl.Money {
	return pawl.Money{Spent: s.Cost - s.Lost, SpentTokens: s.Tokens - s.LostTokens, Lost: s.Lost, LostTokens: s.LostTokens}
}

func (s *Spending) add(b Spending) {
	s.Calls += b.Calls
	s.Failed += b.Failed
	s.Cost += b.Cost
	s.Tokens += b.Tokens
	s.Lost += b.Lost
	s.LostTokens += b.LostTokens
}

// lostCall returns what a call was charged whose cost nobody knows.
func lostCall(cost pawl.Micros, tokens int64) Spending {
	return Spending{Failed: 1, Cost: cost, Tokens: tokens, Lost: cost, LostTokens: tokens}
}

// Money tells what the run has spent, what its calls under way hold, and what was lost.
func (r *Run) Money() pawl.Money {
	m := Spending{Cost: r.Cost, Tokens: r.Tokens, Lost: r.lost.Lost, LostTokens: r.lost.LostTokens}.money()
	m.Add(r.held(func(pending) bool { return true }))
	return m
}

// MoneyOf is [Run.Money] for one iteration.
func (r *Run) MoneyOf(it *Iteration) pawl.Money {
	m := it.Spent.money()
	if it.End == nil { // what is charged later is not the iteration's
		m.Add(r.held(func(p pending) bool { s := r.sessionOf(p); return s != nil && s.iteration == it }))
	}
	return m
}

// New returns a run before its first event.
func New() *Run { return &Run{} }

// Fold applies events until they end. When they end with an error, the run is
// what was there before it; one whose data is damaged is quarantined.
func Fold(events iter.Seq2[pawl.Event, error]) (*Run, error) {
	r := New()
	for e, err := range events {
		if err != nil {
			if pawl.CodeOf(err) == pawl.CodeDamaged {
				r.Quarantine(err.Error())
			}
			return r, err
		}
		r.Apply(e)
	}
	return r, nil
}

// Info returns the line that lists show of a run with these events.
func Info(events []pawl.Event) pawl.RunInfo {
	r := New()
	for _, e := range events {
		r.Apply(e)
	}
	return r.Info()
}

// Info returns the run's line in lists.
func (r *Run) Info() pawl.RunInfo {
	info := pawl.RunInfo{
		ID: r.ID, Task: r.Start.Task, Title: r.Start.Title, Recipe: r.Recipe.Name, Branch: r.Start.Branch,
		Status: r.Status, Outcome: r.Outcome, Reason: r.Reason,
		Cost: r.Cost, Tokens: r.Tokens, Started: r.Began, Updated: r.Updated, Seq: r.Seq,
	}
	if l := r.root(); l != nil {
		info.Max = r.maxIterations(l)
		if it := l.last(); it != nil {
			info.Iteration = it.N
		}
		if n := r.Recipe.Kind(l.Kind).WorkTier(l.Tier); l.Tier > 0 && n > 0 {
			info.Tier = r.Recipe.Tier(n)
		}
	}
	if p := r.Plan(); p != nil && p.generation == r.root().Generation { // else nothing of it counts any more
		info.Tasks, info.Passed = len(p.Tasks), p.Count(pawl.TaskPassed)
	}
	if h := r.root().health(); h != nil {
		info.Health = r.healthNow(h)
	}
	money := r.Money()
	info.Money = &money
	info.RedAtBase, info.Findings = r.stillRed(), r.findingsLeft
	if r.Outcome.Succeeded() {
		info.RedGoals, info.Proof, info.RefusedPlan = strings.Join(r.redGoals, ", "), r.proof, r.refusedPlan
	}
	info.Questions, info.Archived = len(r.OpenQuestions()), r.Records.Archived
	return info
}

// UnderWay returns how many effects are requested and not answered.
func (r *Run) UnderWay() int { return len(r.open) }

// Quarantine marks the run as one whose stored data is damaged. No event says
// so: the events are what cannot be read.
func (r *Run) Quarantine(reason string) {
	r.Status, r.Reason = pawl.StatusQuarantined, reason
}

// text returns a blob as text made safe; empty when there is none or it cannot be read.
func (b Blobs) text(h pawl.Hash) string {
	return plain.Text(string(b.bytes(h)))
}

// into reads a blob that is a JSON document; what cannot be read changes nothing.
func (b Blobs) into(h pawl.Hash, v any) { _ = json.Unmarshal(b.bytes(h), v) }

// bytes returns a blob as it is; nil when there is none or it cannot be read.
func (b Blobs) bytes(h pawl.Hash) []byte {
	if b == nil || h.IsZero() {
		return nil
	}
	data, err := b(h)
	if err != nil {
		return nil
	}
	return data
}

// start reads what is frozen in the first event.
func (r *Run) start(e pawl.Event, b *pawl.RunStarted) {
	r.Start, r.Status, r.since = *b, pawl.StatusRunning, e.Seq
	r.Notes = slices.Clone(b.Notes)
	if err := json.Unmarshal(b.Recipe, &r.Recipe); err != nil {
		r.problem(e, "its recipe cannot be read: %v", err)
	}
	if err := json.Unmarshal(b.Settings, &r.Settings); err != nil {
		r.problem(e, "its settings cannot be read: %v", err)
	}
	r.Limits = r.Settings.Limits
	r.moved = mark(e, "none yet: the run started and has committed nothing")
}

// applyRun folds the events of the run as a whole.
func (r *Run) applyRun(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		r.start(e, b)
	case *pawl.RunPaused:
		r.Status, r.Reason = pawl.StatusPaused, b.Reason
		r.stops.paused = mark(e, "paused%s", because(b.Reason))
	case *pawl.RunResumed:
		r.Status, r.Outcome, r.Reason, r.leftRed, r.findingsLeft = pawl.StatusRunning, "", "", nil, 0
		r.runGoals = runGoals{}
		r.stops, r.since, r.told = stops{}, e.Seq, nil
		for _, l := range r.Loops {
			if l.Parent == 0 || l.End != nil && l.End.Stopped {
				if b.From != "" && l.End != nil {
					r.retry(l, e)
				}
				r.reopen(l, e)
			}
		}
	case *pawl.CancelRequested:
		r.stops.cancel = mark(e, "a user asked to cancel%s", because(b.Reason))
	case *pawl.RunStopping:
		r.Status, r.Reason = pawl.StatusStopping, b.Reason
		r.stops.stopping = mark(e, "%s: %s", string(b.Outcome), b.Reason)
		r.stops.reason = b.Reason
	case *pawl.RunEnded:
		r.Status, r.Outcome, r.Reason, r.leftRed, r.findingsLeft = pawl.StatusEnded, b.Outcome, b.Reason, b.RedAtBase, b.Findings
		r.endGoals(b)
		if b.Head != "" {
			r.Head = b.Head
		}
		r.stops.ended = mark(e, "%s%s: %s", string(b.Outcome), Unaccepted(b.Findings), b.Reason)
	case *pawl.Recovered:
		r.stops.recovered = r.problem(e, "the process that drove the run had ended; another one took it over")
	}
}

func (t teller) tellRun() string {
	r := t.r
	switch b := t.e.Body.(type) {
	case *pawl.RunStarted:
		sandbox, _, _ := strings.Cut(r.sandbox(), ":")
		s := fmt.Sprintf("%s: %s (recipe %s, branch %s, sandbox: %s)", t.e.Run, b.Title, r.RecipeText(), b.Branch, sandbox)
		return strings.Join(append([]string{s}, b.Notes...), " · ")
	case *pawl.RunPaused:
		return "Paused" + because(b.Reason)
	case *pawl.RunResumed:
		if b.From == "" {
			return "Resumed" + because(b.Reason)
		}
		return fmt.Sprintf("Resumed after %s%s", b.From, because(b.Reason))
	case *pawl.AccountChanged:
		return fmt.Sprintf("%s is called at %s from now on, not at %s: the run was resumed or forked where that is its account",
			b.To.Provider, b.To, b.From)
	case *pawl.ClockJumped:
		if b.By < 0 {
			return fmt.Sprintf("The clock was set back by %s", pawl.Span(-b.By))
		}
		return fmt.Sprintf("The clock jumped %s ahead, or the machine slept: that time does not count", pawl.Span(b.By))
	case *pawl.CancelRequested:
		how := map[pawl.Draining]string{pawl.DrainFinish: "the iteration ends first", pawl.DrainNow: "at once"}[b.Running]
		if how == "" {
			how = "what is in flight ends first"
		}
		return fmt.Sprintf("Cancelling, %s%s", how, because(b.Reason))
	case *pawl.RunStopping:
		return fmt.Sprintf("Stopping as %s%s", b.Outcome, r.unsaid(b.Reason))
	case *pawl.Recovered:
		if f := r.Fork; f != nil && t.e.Seq == f.Seq+1 {
			return "Calls and commands in progress at that event start again"
		}
		return "The process that drove the run had ended; this one continues it"
	case *pawl.RunEnded:
		reason := r.unsaid(b.Reason)
		if b.Reason == r.stops.reason { // it stands where the run began to stop
			reason = ""
		}
		if proof := r.proven(); proof != "" {
			reason += " · " + proof
		}
		return fmt.Sprintf("%s %s%s (%s)", StateOf(b.Outcome).Sign, r.headline(), reason, r.spent())
	}
	return ""
}

func (k *Look) lookRun(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		k.Level = Normal
	case *pawl.RunStopping:
		k.Tone = ToneBad
	case *pawl.RunEnded:
		k.Tone = endTone(b)
	case *pawl.Recovered:
		k.Tone = ToneWarning
	}
}

// mostRecipeFiles is how many files of a recipe are named in its text.
const mostRecipeFiles = 4

// RecipeText returns the recipe's name, with the files of the repository that it is made of and what
// they replace.
// F-12
func (r *Run) RecipeText() string {
	text, files := plain.Line(r.Recipe.Name, 0), lines(r.Start.RecipeFiles)
	if len(files) == 0 {
		return text
	}
	text += ", with " + strings.Join(files[:min(len(files), mostRecipeFiles)], ", ")
	if n := len(files) - mostRecipeFiles; n > 0 {
		text += " and " + count(n, "more file")
	}
	text += " of the repository"
	if replaced := lines(r.Start.RecipeReplaces); len(replaced) > 0 {
		text += ", in place of the built-in " + strings.Join(replaced, " and ")
	}
	return text
}
