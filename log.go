package pawl

import (
	"context"
	"iter"
	"time"
)

// Log keeps the events and blobs of many runs. Implemented in internal/store.
// It appends and reads; everything else is built by whoever shows it.
//
// All methods may be called from many goroutines.
type Log interface {
	// Append makes a unit durable: when it returns nil, every event and blob of
	// the unit survives a power cut; when it returns an error, none of them is
	// there. Units of many callers may share one transaction; a unit that fails
	// does not fail the others. A unit whose After is not the run's last number
	// fails with [CodeConflict], one for a quarantined run with [CodeDamaged].
	Append(ctx context.Context, u Unit) error
	// Events reads the run's events after a number, in order. A damaged event
	// ends the sequence with a [CodeDamaged] error and quarantines the run; an
	// unknown run is [CodeNotFound].
	Events(ctx context.Context, run RunID, after Seq) iter.Seq2[Event, error]
	// Blob reads a blob that an event of the run refers to.
	Blob(ctx context.Context, run RunID, hash Hash) ([]byte, error)
	// Runs lists the runs, oldest first, quarantined ones included.
	Runs(ctx context.Context) ([]RunInfo, error)
	// Close makes everything that was appended durable and lets go.
	Close() error
}

// Keeper is a [Log] that keeps a state beside a run's events, so that whoever takes the run
// over need not fold all of them. What it keeps is no part of the log: it may be lost or out
// of date, and is of use only together with the events, which are checked as without it.
type Keeper interface {
	// Keep keeps a state in place of the run's earlier one. Seq must be the last event of a
	// unit. What is kept need not survive a power cut.
	Keep(ctx context.Context, run RunID, k Kept) error
	// Kept returns the state that is kept; the zero Kept if there is none that can be read.
	Kept(ctx context.Context, run RunID) (Kept, error)
	// Since checks all of the run's events as [Log.Events] does, and gives those after the kept
	// state. If it does not follow from the events before, no event is given and the
	// error is a [CodeConflict].
	Since(ctx context.Context, run RunID, k Kept) iter.Seq2[Event, error]
}

// Kept is a state of a run as a [Keeper] keeps it.
type Kept struct {
	// Seq is the number of the event after which the state was so.
	Seq Seq
	// Form says which program can read the state; only the one that wrote it, as a rule.
	Form  string
	State []byte
	// Sum is the checksum of the events up to Seq. [Keeper.Keep] finds it out by itself.
	Sum uint32
}

// Lister lists runs: every [Log] and [Service] does.
type Lister interface {
	Runs(ctx context.Context) ([]RunInfo, error)
}

// LineLister is a Lister that can list its newest runs without looking at the others, and
// has the JSON of their lines.
type LineLister interface {
	// NewestLines lists the newest runs, at most so many, oldest first; zero or less
	// means all.
	NewestLines(ctx context.Context, most int) ([]RunLine, error)
}

// RunLine is a run's line in a list, with its JSON if that is known: a long list is joined
// from stored lines in a fifth of the time in which it is encoded.
type RunLine struct {
	// Info may be shared with other lists: it must not be changed.
	Info *RunInfo
	// JSON is exactly what json.Marshal makes of Info; nil = it is not known.
	JSON []byte
}

// With returns the line after a change, whose JSON is not known.
func (l RunLine) With(change func(*RunInfo)) RunLine {
	info := *l.Info
	change(&info)
	return RunLine{Info: &info}
}

// NewestLines lists the newest runs of a Lister, at most so many, oldest first; zero or
// less means all.
func NewestLines(ctx context.Context, from Lister, most int) ([]RunLine, error) {
	if l, ok := from.(LineLister); ok {
		return l.NewestLines(ctx, most)
	}
	runs, err := from.Runs(ctx)
	if most > 0 && len(runs) > most {
		runs = runs[len(runs)-most:]
	}
	lines := make([]RunLine, len(runs))
	for i := range runs {
		lines[i].Info = &runs[i]
	}
	return lines, err
}

// NewestRuns is [NewestLines] without the JSON.
func NewestRuns(ctx context.Context, from Lister, most int) ([]RunInfo, error) {
	lines, err := NewestLines(ctx, from, most)
	runs := make([]RunInfo, len(lines))
	for i, l := range lines {
		runs[i] = *l.Info
	}
	return runs, err
}

// Unit is what is appended at once, or not at all.
type Unit struct {
	Run RunID
	// After is the number of the run's last event; 0 starts the run.
	After  Seq
	Events []Event
	Blobs  []Blob
	// Info replaces the run's line in lists, when it has changed.
	Info *RunInfo
}

// RunStatus says whether a run is at work.
type RunStatus string

// The statuses.
const (
	StatusRunning     RunStatus = "running"
	StatusPaused      RunStatus = "paused"
	StatusStopping    RunStatus = "stopping" // ending: what is under way finishes first
	StatusEnded       RunStatus = "ended"
	StatusQuarantined RunStatus = "quarantined" // its stored data is damaged; nothing is run
)

// Money is what a run has to do with money and tokens. All three figures count against its
// limits.
type Money struct {
	// Spent is what providers told of calls that are over, or what a reply that was cut off is
	// estimated to have used.
	Spent       Micros `json:"spent"`
	SpentTokens int64  `json:"spent_tokens"`
	// Held is the reservation of calls under way: the most they can cost.
	Held       Micros `json:"held"`
	HeldTokens int64  `json:"held_tokens"`
	// Lost is the reservation of calls that are over and whose cost nobody knows: no answer
	// came in time, or the process died meanwhile.
	Lost       Micros `json:"lost"`
	LostTokens int64  `json:"lost_tokens"`
}

// Figures returns what the run has to do with money, as far as its line has it.
func (r RunInfo) Figures() Money {
	if r.Money != nil {
		return *r.Money
	}
	return Money{Spent: r.Cost, SpentTokens: r.Tokens}
}

// Add adds those of another run.
func (m *Money) Add(b Money) {
	m.Spent += b.Spent
	m.SpentTokens += b.SpentTokens
	m.Held += b.Held
	m.HeldTokens += b.HeldTokens
	m.Lost += b.Lost
	m.LostTokens += b.LostTokens
}

// RunInfo is a run's line in a list: a projection of its events.
type RunInfo struct {
	ID      RunID     `json:"id"`
	Task    int       `json:"task"`
	Title   string    `json:"title"`
	Recipe  string    `json:"recipe"`
	Status  RunStatus `json:"status"`
	Outcome Outcome   `json:"outcome,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	// RedAtBase names the gates, with commas between, that let the run end well only because they are
	// no worse than at the base; empty = none.
	RedAtBase string `json:"red_at_base,omitempty"`
	// RedGoals names the goal tests, with commas between, that are red in the result of a run that ended
	// well; empty = none.
	RedGoals string `json:"red_goals,omitempty"`
	// RefusedPlan reports that a run which ended well carried out a plan that its review refused and a
	// person let pass.
	RefusedPlan bool `json:"refused_plan,omitempty"`
	// Proof is what shows that the result is what was asked for, of a run that ended well.
	Proof Proof `json:"proof,omitzero"`
	// Findings counts those of the result that nobody accepted, of a run that ended well.
	Findings  int    `json:"findings,omitempty"`
	Branch    string `json:"branch"`
	Iteration int    `json:"iteration"`
	Max       int    `json:"max_iterations"`
	Tier      string `json:"tier,omitempty"` // in the recipe's word
	// Tasks counts the tasks of the root loop's plan, Passed those that have passed.
	Tasks  int `json:"tasks,omitempty"`
	Passed int `json:"passed,omitempty"`
	// Health is what the monitor said last; empty = nothing yet.
	Health Health `json:"health,omitempty"`
	// Questions counts the open ones.
	Questions int `json:"questions,omitempty"`
	// Waiting is the effect that has waited longest for its places, as the process that
	// drives the run knows it; it is not stored. nil = none waits.
	Waiting *Waiting `json:"waiting,omitempty"`
	// Needs is what a run that was interrupted lacks to go on, such as a key, as the
	// daemon knows it; it is not stored. Empty = nothing that is known.
	Needs string `json:"needs,omitempty"`
	// Archived runs are left out of lists.
	Archived bool `json:"archived,omitempty"`
	// Cost and Tokens are what the run was charged: what it spent and what was lost.
	Cost   Micros `json:"cost"`
	Tokens int64  `json:"tokens"`
	// Money tells these apart; nil in lines of earlier versions.
	Money   *Money    `json:"money,omitempty"`
	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
	Seq     Seq       `json:"seq"` // of the event this line was made at
}
