package pawl

// The events of batches that are judged as a whole: rounds of children, what the
// monitor makes of them, checkpoints and the way back to one.

// BatchStarted says that a round of a loop's children begins. Its steps come
// first, then the loops of its tasks, or the next attempts of those that have one.
type BatchStarted struct {
	N int `json:"n"` // from 1; a rollback does not set it back
	// Tasks are positions in the list, from 0, in list order.
	Tasks []int `json:"tasks"`
	// Scaffold reports that they lay the ground for the others.
	Scaffold bool `json:"scaffold,omitempty"`
}

// TaskJudged says what a batch makes of one of its tasks: its gates, its review or
// a conflict. Only pass lets the task's work into the parent's branch.
type TaskJudged struct {
	Batch   int     `json:"batch"`
	Task    int     `json:"task"` // its position, from 0
	By      string  `json:"by"`   // review, merge, or the gate's name
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"` // at most 300 bytes
	// Evidence is the review, the gate's report or what conflicts.
	Evidence Hash `json:"evidence,omitzero"`
}

// BatchEnded says how a batch came out. What was approved is in the parent's branch.
type BatchEnded struct {
	N int `json:"n"`
	// Attempted counts the tasks that came to an end of their own: those that wait
	// for a person are not among them.
	Attempted int `json:"attempted"`
	Approved  int `json:"approved"`
}

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
}

// HealthOverridden says that a person lets the run go on in spite of its health:
// what spoke for it does not count any more.
type HealthOverridden struct {
	Batch  int    `json:"batch"`
	Health Health `json:"health"`
	Reason string `json:"reason,omitempty"` // at most 300 bytes
	By     string `json:"by,omitempty"`     // the person, at most 60 bytes
}

// RollbackCalled says that a loop is to go back to a checkpoint: nothing begins
// before it has, and the children that run are stopped, their work saved. A loop without children
// goes back to the best verified state among its attempts.
type RollbackCalled struct {
	To     int    `json:"to"`           // the checkpoint's number, or that of the iteration
	Reason string `json:"reason"`       // at most 300 bytes
	By     string `json:"by,omitempty"` // the person who wants it, at most 60 bytes; empty = the monitor
	// Ending is how the run ends that delivers this state; empty = the loop goes on from it.
	Ending Outcome `json:"ending,omitempty"`
}

// RolledBack says that code and state are those of a checkpoint again. What was
// approved later is open again; nothing else goes back: not the numbers of events
// and batches, not money, memory, answers or the plan.
type RolledBack struct {
	To     int        `json:"to"`
	Commit CommitHash `json:"commit"` // a new one, with the checkpoint's tree
	// Reopen are the tasks approved later, positions in the list, from 0.
	Reopen []int `json:"reopen,omitempty"`
	// Reason and By are those of the [RollbackCalled].
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`
}

// TaskHeld says that a task waits for another one it did not name: it found out
// at work that it depends on it.
type TaskHeld struct {
	Task   int    `json:"task"`   // its position, from 0
	Behind int    `json:"behind"` // the position of the one it waits for
	Reason string `json:"reason"` // at most 200 bytes
}

// Forked is the first event of a forked run after those it has in common with the
// run it was forked from. Nothing is under way any more; what was spent is the
// other run's; questions and consents are not inherited.
type Forked struct {
	// Commit is the newest commit of the run's branch at that event; Lost counts the
	// events after it, whose work in worktrees is not part of the fork.
	Commit CommitHash `json:"commit"`
	Lost   int        `json:"lost,omitempty"`
	// Cost and Tokens are what the other run had spent.
	Cost   Micros `json:"cost,omitempty"`
	Tokens int64  `json:"tokens,omitempty"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
}

// CheckpointMarked answers [MarkCheckpoint].
type CheckpointMarked struct {
	Effect Seq `json:"effect"`
}

// Restored answers [Restore].
type Restored struct {
	Effect Seq        `json:"effect"`
	Commit CommitHash `json:"commit"`
	Tree   TreeHash   `json:"tree"`
	// Text is what must not be tried again, in words: the anti-pattern.
	Text Hash `json:"text"`
}

// Recorded answers [WriteRecords].
type Recorded struct {
	Effect Seq        `json:"effect"`
	Commit CommitHash `json:"commit"` // the branch's head now; From when nothing has changed
}

// Answers implements [Answer].
func (b *CheckpointMarked) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *Restored) Answers() Seq { return b.Effect }

// Answers implements [Answer].
func (b *Recorded) Answers() Seq { return b.Effect }

func (b *BatchStarted) fields(c *coder) {
	num(c, 1, &b.N)
	ints(c, 2, &b.Tasks)
	flag(c, 3, &b.Scaffold)
}

// EventKind implements [Body].
func (*BatchStarted) EventKind() Kind { return KindBatchStarted }

func (b *TaskJudged) fields(c *coder) {
	num(c, 1, &b.Batch)
	num(c, 2, &b.Task)
	str(c, 3, &b.By)
	str(c, 4, &b.Verdict)
	str(c, 5, &b.Reason)
	sum(c, 6, &b.Evidence)
}

// EventKind implements [Body].
func (*TaskJudged) EventKind() Kind { return KindTaskJudged }

func (b *BatchEnded) fields(c *coder) {
	num(c, 1, &b.N)
	num(c, 2, &b.Attempted)
	num(c, 3, &b.Approved)
}

// EventKind implements [Body].
func (*BatchEnded) EventKind() Kind { return KindBatchEnded }

func (b *HealthJudged) fields(c *coder) {
	num(c, 1, &b.Batch)
	str(c, 2, &b.Health)
	str(c, 3, &b.Reason)
	words(c, 4, &b.Recoveries)
	num(c, 5, &b.Try)
	num(c, 6, &b.Max)
}

// EventKind implements [Body].
func (*HealthJudged) EventKind() Kind { return KindHealthJudged }

func (b *HealthOverridden) fields(c *coder) {
	num(c, 1, &b.Batch)
	str(c, 2, &b.Health)
	str(c, 3, &b.Reason)
	str(c, 4, &b.By)
}

// EventKind implements [Body].
func (*HealthOverridden) EventKind() Kind { return KindHealthOverridden }

func (b *RollbackCalled) fields(c *coder) {
	num(c, 1, &b.To)
	str(c, 2, &b.Reason)
	str(c, 3, &b.By)
	str(c, 4, &b.Ending)
}

// EventKind implements [Body].
func (*RollbackCalled) EventKind() Kind { return KindRollbackCalled }

func (b *RolledBack) fields(c *coder) {
	num(c, 1, &b.To)
	str(c, 2, &b.Commit)
	ints(c, 3, &b.Reopen)
	str(c, 4, &b.Reason)
	str(c, 5, &b.By)
}

// EventKind implements [Body].
func (*RolledBack) EventKind() Kind { return KindRolledBack }

func (b *TaskHeld) fields(c *coder) {
	num(c, 1, &b.Task)
	num(c, 2, &b.Behind)
	str(c, 3, &b.Reason)
}

// EventKind implements [Body].
func (*TaskHeld) EventKind() Kind { return KindTaskHeld }

func (b *Forked) fields(c *coder) {
	str(c, 1, &b.Commit)
	num(c, 2, &b.Lost)
	num(c, 3, &b.Cost)
	num(c, 4, &b.Tokens)
	num(c, 5, &b.Max)
}

// EventKind implements [Body].
func (*Forked) EventKind() Kind { return KindForked }

func (b *CheckpointMarked) fields(c *coder) { num(c, 1, &b.Effect) }

// EventKind implements [Body].
func (*CheckpointMarked) EventKind() Kind { return KindCheckpointMarked }

func (b *Restored) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
	str(c, 3, &b.Tree)
	sum(c, 4, &b.Text)
}

// EventKind implements [Body].
func (*Restored) EventKind() Kind { return KindRestored }

func (b *Recorded) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
}

// EventKind implements [Body].
func (*Recorded) EventKind() Kind { return KindRecorded }
