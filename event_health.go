package pawl

// The events of health: what the monitor makes of batches or attempts.

// Health is how the batches of a loop develop.
type Health string

// The values of health, by precedence.
const (
	HealthBlocked     Health = "BLOCKED"       // a task needs what only a person can give
	HealthFlipFlop    Health = "FLIP-FLOPPING" // the same things change to and fro
	HealthRegressing  Health = "REGRESSING"    // what was reached is lost
	HealthStalled     Health = "STALLED"       // nothing new is reached
	HealthProgressing Health = "PROGRESSING"
)

// Recovery is what a health other than progressing leads to.
type Recovery string

// The recoveries.
const (
	RecoverGather   Recovery = "gather"   // the context is gathered anew
	RecoverRevise   Recovery = "revise"   // the plan is made anew
	RecoverRollback Recovery = "rollback" // back to the last good checkpoint
	RecoverAsk      Recovery = "ask"      // a person decides
	RecoverEscalate Recovery = "escalate" // of attempts: the next one runs on a stronger tier
)

// HealthJudged is the monitor's verdict after a batch, with its evidence. Of a loop without children
// it is one on its attempts, and is said when it is another one than before.
type HealthJudged struct {
	Batch  int    `json:"batch"` // its number, or that of the iteration
	Health Health `json:"health"`
	// Reason says what speaks for it, at most 300 bytes: batches or attempts, tasks, tests.
	Reason string `json:"reason"`
	// Recoveries is what follows, in order; empty = the run goes on as it is. Try is
	// how often this health has led to it since the last good checkpoint, from 1. More
	// than Max leads to a person instead.
	Recoveries []Recovery `json:"recoveries,omitempty"`
	Try        int        `json:"try,omitempty"`
	Max        int        `json:"max,omitempty"`
	// Merged is the first batch whose approved work is part of what went wrong, so that a rollback
	// goes back before it; 0 = none is, or the log is of an earlier version.
	Merged int `json:"merged,omitempty"`
}

// EventKind implements [Body].
func (*HealthJudged) EventKind() Kind { return KindHealthJudged }

func (b *HealthJudged) fields(c *coder) {
	num(c, 1, &b.Batch)
	str(c, 2, &b.Health)
	str(c, 3, &b.Reason)
	words(c, 4, &b.Recoveries)
	num(c, 5, &b.Try)
	num(c, 6, &b.Max)
	num(c, 7, &b.Merged)
}

// HealthOverridden says that a person lets the run go on in spite of its health:
// what spoke for it does not count any more.
type HealthOverridden struct {
	Batch  int    `json:"batch"`
	Health Health `json:"health"`
	Reason string `json:"reason,omitempty"` // at most 300 bytes
	By     string `json:"by,omitempty"`     // the person, at most 60 bytes
}

// EventKind implements [Body].
func (*HealthOverridden) EventKind() Kind { return KindHealthOverridden }

func (b *HealthOverridden) fields(c *coder) {
	num(c, 1, &b.Batch)
	str(c, 2, &b.Health)
	str(c, 3, &b.Reason)
	str(c, 4, &b.By)
}
