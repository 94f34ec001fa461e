package monitor

import (
	"slices"

	"pawl"
)

// Course is the history of a loop's batches: what the monitor is shown, its last verdict with the
// recoveries that follow from it, and the checkpoints to which the branch can go back. It outlives
// the versions of the plan.
type Course struct {
	Last    LastBatch     // the batch that ended last
	History []Batch       // what the monitor is shown, oldest first
	Tree    pawl.TreeHash // of the branch's head

	Health     pawl.Health     // the last verdict; empty = there is none
	Evidence   string          // the reason of that verdict
	Merged     int             // of that verdict: see [Verdict]
	Unjudged   bool            // the last batch has not been judged
	Recover    []pawl.Recovery // what is still to be done because of Health, in order
	Recoveries []Recoveries    // since the last good checkpoint

	Checkpoints []pawl.Checkpoint // oldest first, without those that a rollback undid
	Marks       int               // the number of the last checkpoint, even if a rollback undid it
	Unmarked    bool              // the last batch has no checkpoint yet
	Back        *Back             // the rollback in progress; nil = none
	Unlearned   pawl.Hash         // what must not be tried again after a rollback, until the memory has it; zero = nothing

	Proofs []Proof     // of the base, then of the last good checkpoints, oldest first; at most MaxProofs
	Latest []pawl.Hash // by gate of the settings, its report on the branch's head; zero = none
}

// Proof is what was known of the branch at a good checkpoint or at the base.
type Proof struct {
	N       int         // the number of the checkpoint; 0 = it is the base
	Rate    Rate        // of the batch before the checkpoint
	Reports []pawl.Hash // by gate of the settings, its report; zero = none
}

// MaxProofs bounds the proofs that are kept: that of the base and those of the last good
// checkpoints. After a rollback to an older checkpoint, batches are compared with the base.
const MaxProofs = 9

// Proof returns the proof of the last good checkpoint, or that of the base if there is none. The
// course must have a proof of the base.
func (c *Course) Proof() *Proof { return &c.Proofs[len(c.Proofs)-1] }

// Recoveries counts how often a health has led to its recoveries.
type Recoveries struct {
	Health pawl.Health
	N      int
}

// Rate is the share of the tasks of a batch that were approved, among those attempted.
type Rate struct{ Approved, Attempted int }

// Below reports whether r is lower than o. It is false if one of them has no attempts.
func (r Rate) Below(o Rate) bool {
	return r.Attempted > 0 && o.Attempted > 0 && r.Approved*o.Attempted < o.Approved*r.Attempted
}

// Clone returns a copy that can change without c. Fields that are replaced as a whole are shared.
func (c *Course) Clone() Course {
	n := *c
	n.Checkpoints, n.Recoveries, n.Recover = slices.Clone(c.Checkpoints), slices.Clone(c.Recoveries), slices.Clone(c.Recover)
	if c.Back != nil {
		b := *c.Back
		n.Back = &b
	}
	return n
}

// Recovered returns how often a health has led to its recoveries since the last good checkpoint.
func (c *Course) Recovered(h pawl.Health) int {
	for _, r := range c.Recoveries {
		if r.Health == h {
			return r.N
		}
	}
	return 0
}

// RecoverRest sets what is still to be done. Gathering the context at the end is dropped, because
// the next batch begins with it.
func (c *Course) RecoverRest(rest []pawl.Recovery) {
	for len(rest) > 0 && rest[len(rest)-1] == pawl.RecoverGather {
		rest = rest[:len(rest)-1]
	}
	c.Recover = slices.Clone(rest)
}

// RecoveredBy records that the first recovery of this kind and all before it are done. If there is
// none of this kind, all of them stay.
func (c *Course) RecoveredBy(what pawl.Recovery) {
	c.RecoverRest(c.Recover[slices.Index(c.Recover, what)+1:])
}

// LastBatch is what is kept of the batch that ended last. The zero value means that there is none.
type LastBatch struct {
	N         int      // its number, from 1
	Attempted int      // tasks whose result is not [Waiting]
	Approved  int      // tasks whose work is in the branch
	Scaffold  bool     // its tasks laid the ground for others
	Passing   int      // tests that pass on the branch; -1 = not known
	Broke     []string // the names of tests that are broken on the branch
}

// Back is a rollback in progress.
type Back struct {
	pawl.RollbackCalled
	Tasks     []int          // tasks that were approved since the checkpoint, or are being worked on
	Requested bool           // the restoring commit was requested
	Merged    *pawl.Merged   // the best attempt with the work of others; nil = it is not merged
	Restored  *pawl.Restored // the restoring commit; nil = it is not made yet
}

// Rate returns the rate of the batch that ended last.
func (c *Course) Rate() Rate { return Rate{c.Last.Approved, c.Last.Attempted} }

// Marked records a checkpoint after the last batch. A good one resets the recoveries and adds a
// proof. If there are too many proofs, the oldest except that of the base is dropped.
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

// LastGood returns the newest good checkpoint, or nil.
func (c *Course) LastGood() *pawl.Checkpoint {
	for i := range slices.Backward(c.Checkpoints) {
		if c.Checkpoints[i].Good {
			return &c.Checkpoints[i]
		}
	}
	return nil
}

// WayBack returns the checkpoint that a rollback goes back to, or nil if there is none. Merged is as in
// [Verdict]. What was approved and merged stays unless it is part of what went wrong: so it is the newest
// checkpoint before that, whether or not it is a good one.
func (c *Course) WayBack(merged int) *pawl.Checkpoint {
	for i := range slices.Backward(c.Checkpoints) {
		if k := &c.Checkpoints[i]; merged == 0 || k.Batch < merged {
			return k
		}
	}
	return c.LastGood()
}

// Checkpoint returns the checkpoint with this number, or nil.
func (c *Course) Checkpoint(n int) *pawl.Checkpoint {
	for i := range c.Checkpoints {
		if c.Checkpoints[i].N == n {
			return &c.Checkpoints[i]
		}
	}
	return nil
}
