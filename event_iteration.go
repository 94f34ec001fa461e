package pawl

// The events of a loop's iterations: its attempts, and the way from one to the next.

// IterationStarted says that an attempt begins.
type IterationStarted struct {
	N      int        `json:"n"`
	Max    int        `json:"max"` // 0 = no limit
	Tier   int        `json:"tier"`
	Reason string     `json:"reason,omitempty"` // why this tier, when it is not the one before
	From   CommitHash `json:"from"`
	// Rejudges says that no step runs: what the last iteration left is judged once more, because the
	// halt of a review was overruled.
	Rejudges bool `json:"rejudges,omitempty"`
}

// EventKind implements [Body].
func (*IterationStarted) EventKind() Kind { return KindIterationStarted }

func (b *IterationStarted) fields(c *coder) {
	num(c, 1, &b.N)
	num(c, 2, &b.Max)
	num(c, 3, &b.Tier)
	str(c, 4, &b.Reason)
	str(c, 5, &b.From)
	flag(c, 6, &b.Rejudges)
}

// IterationRestarted says that the iteration's steps start again as a further
// attempt, because a crash left the worktree different from what is recorded.
type IterationRestarted struct {
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"`
}

// EventKind implements [Body].
func (*IterationRestarted) EventKind() Kind { return KindIterationRestarted }

func (b *IterationRestarted) fields(c *coder) {
	num(c, 1, &b.Attempt)
	str(c, 2, &b.Reason)
}

// Decision is what the loop does after an iteration.
type Decision string

// The decisions.
const (
	DecideComplete Decision = "complete"
	DecideIterate  Decision = "iterate"
	DecideEscalate Decision = "escalate"
	DecideCouncil  Decision = "council"
	DecideHalt     Decision = "halt"
)

// IterationEnded records an attempt and what follows from it.
type IterationEnded struct {
	N            int        `json:"n"`
	Tier         int        `json:"tier"`
	Quality      Verdict    `json:"quality,omitempty"`      // of the command gates together; empty = none ran
	Requirements Verdict    `json:"requirements,omitempty"` // of the reviews; empty = none ran
	Decision     Decision   `json:"decision"`
	Reason       string     `json:"reason"`
	Outcome      Outcome    `json:"outcome,omitempty"` // set when the loop ends with this iteration
	Commit       CommitHash `json:"commit,omitempty"`
	// Errors are the objections in short, at most 3 of at most 160 bytes.
	Errors []string `json:"errors,omitempty"`
	// Files, Tests and Error are fingerprints of the sets of modified files and
	// failing tests and of the error message; 0 = empty.
	Files uint64 `json:"files,omitempty"`
	Tests uint64 `json:"tests,omitempty"`
	Error uint64 `json:"error,omitempty"`
	// Conflict reports that the attempt failed because it conflicts with what was
	// merged in the meantime.
	Conflict bool `json:"conflict,omitempty"`
	// Cost and Tokens are what the iteration was charged, all its sessions together.
	Cost   Micros `json:"cost"`
	Tokens int64  `json:"tokens"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
	// Best is the iteration with the best verified state so far, of a loop without children; 0 = none
	// of its iterations has one, or the event is older than the field.
	Best int `json:"best,omitempty"`
	// Mends reports that the attempt passed and that the loop goes on all the same, because tests
	// that were red at the base pass now, and others may follow.
	Mends bool `json:"mends,omitempty"`
	// Proof is what shows that the attempt, which passed, is what was asked for; older logs do not
	// have it.
	Proof Proof `json:"proof,omitzero"`
	// Unproven reports that the attempt passed and that another one follows all the same, because
	// nothing shows that the goal is reached.
	Unproven bool `json:"unproven,omitempty"`
	// Settles is the attempt that the next iteration judges once more, without steps, because the
	// loop ends with it: only weak goal tests are red there. 0 = none is.
	Settles int `json:"settles,omitempty"`
}

// EventKind implements [Body].
func (*IterationEnded) EventKind() Kind { return KindIterationEnded }

func (b *IterationEnded) fields(c *coder) {
	num(c, 1, &b.N)
	num(c, 2, &b.Tier)
	str(c, 3, &b.Quality)
	str(c, 4, &b.Requirements)
	str(c, 5, &b.Decision)
	str(c, 6, &b.Reason)
	str(c, 7, &b.Outcome)
	str(c, 8, &b.Commit)
	words(c, 9, &b.Errors)
	num(c, 10, &b.Files)
	num(c, 11, &b.Tests)
	num(c, 12, &b.Error)
	num(c, 13, &b.Cost)
	num(c, 14, &b.Tokens)
	flag(c, 15, &b.Conflict)
	num(c, 16, &b.Max)
	num(c, 17, &b.Best)
	flag(c, 18, &b.Mends)
	sub(c, 19, func(c *coder) { c.proof(&b.Proof) })
	flag(c, 20, &b.Unproven)
	num(c, 21, &b.Settles)
}

// Escalated says that later attempts use another tier: a stronger one or, after a council that the user
// asked for, the one on which the ladder goes on.
type Escalated struct {
	From      int    `json:"from"`
	To        int    `json:"to"`
	Reason    string `json:"reason"`
	Iteration int    `json:"iteration"` // the first that runs on the new tier
	// Stuck reports that stuck detection caused it.
	Stuck bool `json:"stuck,omitempty"`
}

// EventKind implements [Body].
func (*Escalated) EventKind() Kind { return KindEscalated }

func (b *Escalated) fields(c *coder) {
	num(c, 1, &b.From)
	num(c, 2, &b.To)
	str(c, 3, &b.Reason)
	num(c, 4, &b.Iteration)
	flag(c, 5, &b.Stuck)
}

// Rerouted says that a gate's verdict sends the iteration back to a step.
type Rerouted struct {
	Gate    string  `json:"gate"`
	Verdict Verdict `json:"verdict"`
	Step    int     `json:"step"` // where it goes on
	N       int     `json:"n"`    // how often by this gate and verdict, from 1
	Max     int     `json:"max"`
}

// EventKind implements [Body].
func (*Rerouted) EventKind() Kind { return KindRerouted }

func (b *Rerouted) fields(c *coder) {
	str(c, 1, &b.Gate)
	str(c, 2, &b.Verdict)
	num(c, 3, &b.Step)
	num(c, 4, &b.N)
	num(c, 5, &b.Max)
}

// RoundsEnded says that a group of steps was repeated as often as it may be
// without the decision that ends it.
type RoundsEnded struct {
	Group string `json:"group"`
	Max   int    `json:"max"`
	Then  string `json:"then"` // continue, fail or ask
	// By is the person who decided it, and Reason what they said, at most 300 bytes; empty = the
	// recipe decided, or the log is of an earlier version.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Refused is the last review of a plan that the person lets pass although the review does not;
	// zero = nothing was let pass.
	Refused Hash `json:"refused,omitzero"`
}

// EventKind implements [Body].
func (*RoundsEnded) EventKind() Kind { return KindRoundsEnded }

func (b *RoundsEnded) fields(c *coder) {
	str(c, 1, &b.Group)
	num(c, 2, &b.Max)
	str(c, 3, &b.Then)
	str(c, 4, &b.By)
	str(c, 5, &b.Reason)
	sum(c, 6, &b.Refused)
}
