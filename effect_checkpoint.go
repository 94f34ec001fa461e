package pawl

import (
	"strings"
	"time"
)

// The effects that keep checkpoints and return to them.

// MarkCheckpoint keeps a commit as a checkpoint, by a ref below refs/pawl/.
// Answered by [CheckpointMarked].
type MarkCheckpoint struct {
	Checkpoint
	Ref string `json:"ref"`
}

// Verb implements [Do].
func (*MarkCheckpoint) Verb() Verb { return VerbMarkCheckpoint }

func (d *MarkCheckpoint) fields(c *coder) {
	sub(c, 1, d.Checkpoint.fields)
	str(c, 2, &d.Ref)
}

// Checkpoint is a state of a loop's branch that it can go back to.
type Checkpoint struct {
	N      int        `json:"n"` // from 1
	Commit CommitHash `json:"commit"`
	// Label says what it was made after: scaffold, or batch-N.
	Label string `json:"label"`
	Batch int    `json:"batch"` // the number of that batch
	// Plan is the version of the plan.
	Plan int `json:"plan"`
	// Good reports that all its work was approved, the health was PROGRESSING and
	// the pass rate not below that of the good one before.
	Good bool `json:"good,omitempty"`
	// Approved counts the tasks, Passing the tests that pass: what decides which
	// checkpoint is the best.
	Approved int `json:"approved"`
	Passing  int `json:"passing,omitempty"`
}

// After returns what it was made after, in words.
func (k *Checkpoint) After() string { return CheckpointAfter(k.Label) }

// CheckpointAfter returns the label of a checkpoint in words.
func CheckpointAfter(label string) string {
	if n, ok := strings.CutPrefix(label, "batch-"); ok {
		return "after batch " + n
	}
	return label
}

func (k *Checkpoint) fields(c *coder) {
	num(c, 1, &k.N)
	str(c, 2, &k.Commit)
	str(c, 3, &k.Label)
	num(c, 4, &k.Batch)
	num(c, 5, &k.Plan)
	flag(c, 6, &k.Good)
	num(c, 7, &k.Approved)
	num(c, 8, &k.Passing)
}

// Restore makes a commit on a branch whose tree is that of an earlier commit, but
// for .pawl/tasks, which stays as it is. Answered by [Restored].
type Restore struct {
	Branch  string     `json:"branch"`
	From    CommitHash `json:"from"` // the branch's head
	To      CommitHash `json:"to"`
	Message string     `json:"message"`
	Time    time.Time  `json:"time"`
	// Label names the checkpoint, Reason says why it goes back there and Tasks what
	// is undone: the anti-pattern is written from them.
	Label  string   `json:"label"`
	Reason string   `json:"reason"`
	Tasks  []string `json:"tasks,omitempty"` // ids, at most 20
}

// Verb implements [Do].
func (*Restore) Verb() Verb { return VerbRestore }

func (d *Restore) fields(c *coder) {
	str(c, 1, &d.Branch)
	str(c, 2, &d.From)
	str(c, 3, &d.To)
	str(c, 4, &d.Message)
	instant(c, 5, &d.Time)
	str(c, 6, &d.Label)
	str(c, 7, &d.Reason)
	words(c, 8, &d.Tasks)
}
