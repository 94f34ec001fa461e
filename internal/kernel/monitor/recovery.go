package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Verdict judges the history, and says what follows by the recipe: the recoveries of its health,
// at most so many times (0 = [pawl.DefaultRecoveries]); then, or where there is no good
// checkpoint to go back to, a person is asked.
func (c *Course) Verdict(batch int, recoveries map[string][]string, most int) *pawl.HealthJudged {
	v := Judge(c.History)
	b := &pawl.HealthJudged{Batch: batch, Health: v.Health, Reason: v.Reason}
	if v.Health == pawl.HealthProgressing {
		return b
	}
	for _, r := range recoveries[string(v.Health)] {
		b.Recoveries = append(b.Recoveries, pawl.Recovery(r))
	}
	b.Max = cmp.Or(most, pawl.DefaultRecoveries)
	b.Try = c.Recovered(v.Health) + 1
	noWay := slices.Contains(b.Recoveries, pawl.RecoverRollback) && c.LastGood() == nil
	if b.Try > b.Max || noWay {
		b.Recoveries = []pawl.Recovery{pawl.RecoverAsk}
	}
	return b
}

// InNames puts the names of tasks and tests into a reason of the monitor's, which counts tasks
// from 1 and has fingerprints of tests.
func (c *Course) InNames(reason string, tasks []pawl.TaskEntry) string {
	for _, name := range c.Last.Broke {
		reason = strings.ReplaceAll(reason, fmt.Sprintf("test %x ", brief.Fingerprint(name)), "test "+name+" ")
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(reason, "task ")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		digits := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
		reason = after
		if n, err := strconv.Atoi(digits); err == nil && n >= 1 && n <= len(tasks) {
			out.WriteString(tasks[n-1].ID)
			reason = after[len(digits):]
		} else {
			out.WriteString("task ")
		}
	}
}

// Judged records a verdict, and reports whether recoveries begin: what led to them does not
// count any more then. During a batch none do, as the loop that is blocked asks itself.
func (c *Course) Judged(b *pawl.HealthJudged, during bool) (recovers bool) {
	c.Health, c.Evidence, c.Unjudged, c.Recover = b.Health, brief.Cut(b.Reason, 200), false, b.Recoveries
	switch {
	case during:
		c.Recover = nil
		return false
	case b.Health == pawl.HealthProgressing:
		return false
	}
	c.RecoverRest(b.Recoveries)
	c.History = nil
	i := slices.IndexFunc(c.Recoveries, func(r Recoveries) bool { return r.Health == b.Health })
	if c.Recoveries = slices.Clone(c.Recoveries); i < 0 {
		c.Recoveries = append(c.Recoveries, Recoveries{Health: b.Health, N: b.Try})
	} else {
		c.Recoveries[i].N = b.Try
	}
	return true
}

// NextRecovery is the next thing to do that is not to gather, and why.
func (c *Course) NextRecovery() (next pawl.Recovery, reason string) {
	i := slices.IndexFunc(c.Recover, func(r pawl.Recovery) bool { return r != pawl.RecoverGather })
	return c.Recover[i], string(c.Health) + ": " + c.Evidence
}

// Override lets the batches go on in spite of what was said of them. A way back that the
// monitor called for, and that nothing was done for, is not taken.
func (c *Course) Override() {
	c.Recover, c.History, c.Unjudged, c.Health = nil, nil, false, pawl.HealthProgressing
	if b := c.Back; b != nil && b.By == "" && !b.Requested {
		c.Back = nil
	}
}

// Ended records how a batch came out. A history keeps so many batches in which something was
// attempted; one that only waited says nothing later.
func (c *Course) Ended(facts Batch, last LastBatch, keep int) {
	tried := slices.DeleteFunc(slices.Clone(c.History), func(o Batch) bool { return o.Attempted == 0 })
	c.History = append(tried[max(0, len(tried)-keep+1):], facts)
	c.Last = last
}

// Mark is a checkpoint of a commit after the batch that ended last. It is good when all that the
// batch attempted was approved as far as before, and the batches make progress.
func (c *Course) Mark(commit pawl.CommitHash, version, approved int) pawl.Checkpoint {
	k := pawl.Checkpoint{N: c.Marks + 1, Commit: commit, Label: fmt.Sprintf("batch-%d", c.Last.N), Batch: c.Last.N, Plan: version,
		Good:     (c.Health == "" || c.Health == pawl.HealthProgressing) && !c.Rate().Below(c.Proof().Rate),
		Approved: approved, Passing: max(c.Last.Passing, 0)}
	if c.Last.Scaffold {
		k.Label = "scaffold"
	}
	return k
}

// CallBack begins the way back to a checkpoint, over these tasks.
func (c *Course) CallBack(b *pawl.RollbackCalled, tasks []int) {
	c.Back = &Back{RollbackCalled: *b, Tasks: tasks}
	c.Unjudged, c.Unmarked = false, false
	if slices.Contains(c.Recover, pawl.RecoverRollback) && b.By == "" {
		c.RecoveredBy(pawl.RecoverRollback)
	} else {
		c.Recover = nil
	}
}

// Restored records the commit that has the checkpoint's tree.
func (c *Course) Restored(b *pawl.Restored) { c.Back.Restored, c.Tree = b, b.Tree }

// WentBack ends the way back: later checkpoints are no more, as their tasks are open again.
func (c *Course) WentBack(to int) {
	c.Checkpoints = slices.DeleteFunc(slices.Clone(c.Checkpoints), func(k pawl.Checkpoint) bool { return k.N > to })
	c.Proofs = slices.DeleteFunc(slices.Clone(c.Proofs), func(k Proof) bool { return k.N > to })
	c.Unlearned = c.Back.Restored.Text
	c.Back, c.History, c.Last, c.Latest = nil, nil, LastBatch{}, c.Proof().Reports
}
