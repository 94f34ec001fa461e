package pawl

// The events of checkpoints and of the way back to one.

// CheckpointMarked answers [MarkCheckpoint].
type CheckpointMarked struct {
	Effect Seq `json:"effect"`
}

// EventKind implements [Body].
func (*CheckpointMarked) EventKind() Kind { return KindCheckpointMarked }

func (b *CheckpointMarked) fields(c *coder) { num(c, 1, &b.Effect) }

// Answers implements [Answer].
func (b *CheckpointMarked) Answers() Seq { return b.Effect }

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

// EventKind implements [Body].
func (*RollbackCalled) EventKind() Kind { return KindRollbackCalled }

func (b *RollbackCalled) fields(c *coder) {
	num(c, 1, &b.To)
	str(c, 2, &b.Reason)
	str(c, 3, &b.By)
	str(c, 4, &b.Ending)
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

// EventKind implements [Body].
func (*RolledBack) EventKind() Kind { return KindRolledBack }

func (b *RolledBack) fields(c *coder) {
	num(c, 1, &b.To)
	str(c, 2, &b.Commit)
	ints(c, 3, &b.Reopen)
	str(c, 4, &b.Reason)
	str(c, 5, &b.By)
}

// Restored answers [Restore].
type Restored struct {
	Effect Seq        `json:"effect"`
	Commit CommitHash `json:"commit"`
	Tree   TreeHash   `json:"tree"`
	// Text is what must not be tried again, in words: the anti-pattern.
	Text Hash `json:"text"`
}

// EventKind implements [Body].
func (*Restored) EventKind() Kind { return KindRestored }

func (b *Restored) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Commit)
	str(c, 3, &b.Tree)
	sum(c, 4, &b.Text)
}

// Answers implements [Answer].
func (b *Restored) Answers() Seq { return b.Effect }
