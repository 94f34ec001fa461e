package monitor

import (
	"slices"

	"pawl"
)

// Course is how a loop's batches went: what the monitor needs, what it said, and
// where the branch can go back to. A new plan keeps it.
type Course struct {
	Last    LastBatch // the one that ended last
	History []Batch
	Tree    pawl.TreeHash // of the branch's head

	Health     pawl.Health     // what was said last; empty = nothing yet
	Evidence   string          // what spoke for it
	Unjudged   bool            // the last batch has not been judged
	Recover    []pawl.Recovery // what is still to be done about it
	Recoveries []Recoveries    // since the last good checkpoint

	Checkpoints []pawl.Checkpoint
	Marks       int  // how many checkpoints have been made
	Unmarked    bool // the last batch has left no checkpoint yet
	Back        *Back
	Unlearned   pawl.Hash // what a way back must not try again, until it is written down

	Proofs []Proof     // of the base, and of the last good ones
	Latest []pawl.Hash // by gate of the settings its report on the branch's head
}

// Proof is what was known of the branch at a good checkpoint.
type Proof struct {
	N       int // the checkpoint's number; 0 = it is the base
	Rate    Rate
	Reports []pawl.Hash // by gate of the settings
}

// MaxProofs is of how many checkpoints it is kept what was known of them: to go back
// further is to compare with the base.
const MaxProofs = 9

// Proof is that of the last good checkpoint, or else of the base.
func (c *Course) Proof() *Proof { return &c.Proofs[len(c.Proofs)-1] }

// Recoveries is how often a health has led to something.
type Recoveries struct {
	Health pawl.Health
	N      int
}

// Rate is how many tasks of a batch were approved.
type Rate struct{ Approved, Attempted int }

// Below reports whether a rate is lower than another one. One of nothing is not.
func (r Rate) Below(o Rate) bool {
	return r.Attempted > 0 && o.Attempted > 0 && r.Approved*o.Attempted < o.Approved*r.Attempted
}

// Clone is a copy that shares nothing that changes.
func (c *Course) Clone() Course {
	n := *c
	n.Checkpoints, n.Recoveries, n.Recover = slices.Clone(c.Checkpoints), slices.Clone(c.Recoveries), slices.Clone(c.Recover)
	if c.Back != nil {
		b := *c.Back
		n.Back = &b
	}
	return n
}

// Recovered is how often a health has led to something since the last good checkpoint.
func (c *Course) Recovered(h pawl.Health) int {
	for _, r := range c.Recoveries {
		if r.Health == h {
			return r.N
		}
	}
	return 0
}

// RecoverRest keeps what is still to be done about a health. To gather comes last of
// itself: the next batch begins with it.
func (c *Course) RecoverRest(rest []pawl.Recovery) {
	for len(rest) > 0 && rest[len(rest)-1] == pawl.RecoverGather {
		rest = rest[:len(rest)-1]
	}
	c.Recover = slices.Clone(rest)
}

// RecoveredBy takes over that the first recovery of this kind is done, and all before it.
func (c *Course) RecoveredBy(what pawl.Recovery) {
	c.RecoverRest(c.Recover[slices.Index(c.Recover, what)+1:])
}

// LastBatch is what is kept of the batch that ended last.
type LastBatch struct {
	N, Attempted, Approved int
	Scaffold               bool
	Passing                int
	Broke                  []string // names of tests that broke
}

// Back is a way back to a checkpoint that is under way.
type Back struct {
	pawl.RollbackCalled
	Tasks     []int // that were worked on, or approved, since the checkpoint
	Requested bool
	Restored  *pawl.Restored // nil = not yet
}

// Rate is that of the batch that ended last.
func (c *Course) Rate() Rate { return Rate{c.Last.Approved, c.Last.Attempted} }

// Marked takes over a checkpoint. A good one is a fresh start for recoveries.
func (c *Course) Marked(k pawl.Checkpoint) {
	c.Checkpoints = append(slices.Clone(c.Checkpoints), k)
	c.Unmarked, c.Marks = false, k.N
	if k.Good {
		c.Recoveries = nil
		c.Proofs = append(slices.Clone(c.Proofs), Proof{k.N, c.Rate(), c.Latest})
		if len(c.Proofs) > MaxProofs {
			c.Proofs = slices.Delete(c.Proofs, 1, 2)
		}
	}
}

// LastGood is the newest good checkpoint, or nil.
func (c *Course) LastGood() *pawl.Checkpoint {
	for i := range slices.Backward(c.Checkpoints) {
		if c.Checkpoints[i].Good {
			return &c.Checkpoints[i]
		}
	}
	return nil
}

// Checkpoint is the one of this number, or nil.
func (c *Course) Checkpoint(n int) *pawl.Checkpoint {
	for i := range c.Checkpoints {
		if c.Checkpoints[i].N == n {
			return &c.Checkpoints[i]
		}
	}
	return nil
}
