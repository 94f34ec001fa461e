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

// Verdict judges the history after a batch by the rules of the recipe and returns the verdict with the
// recoveries that it has for its health. A person is asked instead if that health has already led to them as
// often as it says since the last good checkpoint, or if they include a rollback and there is no
// checkpoint to go back to.
func (c *Course) Verdict(batch int, of *pawl.Children) *pawl.HealthJudged {
	b := c.Says(Judge(c.History, of.MonitorRules), batch, of.Monitor, of.Recoveries)
	noWay := slices.Contains(b.Recoveries, pawl.RecoverRollback) && c.WayBack(b.Merged) == nil
	if b.Try > b.Max || noWay {
		b.Recoveries = []pawl.Recovery{pawl.RecoverAsk}
	}
	return b
}

// Says returns a verdict with the recoveries that the recipe has for its health, however often they
// were tried. A most of 0 means [pawl.DefaultRecoveries].
func (c *Course) Says(v Verdict, batch int, recoveries map[string][]string, most int) *pawl.HealthJudged {
	b := &pawl.HealthJudged{Batch: batch, Health: v.Health, Reason: v.Reason, Merged: v.Merged}
	if v.Health == pawl.HealthProgressing {
		return b
	}
	for _, r := range recoveries[string(v.Health)] {
		b.Recoveries = append(b.Recoveries, pawl.Recovery(r))
	}
	b.Max = cmp.Or(most, pawl.DefaultRecoveries)
	b.Try = c.Recovered(v.Health) + 1
	return b
}

// JudgedAttempts records a verdict on attempts.
func (c *Course) JudgedAttempts(b *pawl.HealthJudged) {
	c.Health, c.Evidence, c.Recover = b.Health, brief.Cut(b.Reason, 200), b.Recoveries
	if len(b.Recoveries) > 0 {
		c.tried(b)
	}
}

// tried counts that a health has led to its recoveries.
func (c *Course) tried(b *pawl.HealthJudged) {
	i := slices.IndexFunc(c.Recoveries, func(r Recoveries) bool { return r.Health == b.Health })
	if c.Recoveries = slices.Clone(c.Recoveries); i < 0 {
		c.Recoveries = append(c.Recoveries, Recoveries{Health: b.Health, N: b.Try})
	} else {
		c.Recoveries[i].N = b.Try
	}
}

// InNames returns a reason of the monitor with the ids of tasks in place of their numbers, which
// begin at 1, and with the names of broken tests in place of their fingerprints.
func (c *Course) InNames(reason string, tasks []pawl.TaskEntry) string {
	return InNames(reason, c.Last.Broke, tasks)
}

// InNames is [Course.InNames] with the names of the broken tests.
func InNames(reason string, broke []string, tasks []pawl.TaskEntry) string {
	for _, name := range broke {
		reason = strings.ReplaceAll(reason, fmt.Sprintf("test %x ", brief.Fingerprint(name)), "test "+name+" ")
	}
	reason = unnamed(reason)
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

// unnamed returns a reason without the fingerprints of tests whose names are not known.
func unnamed(reason string) string {
	fields := strings.Split(reason, " ")
	for i := 1; i < len(fields); i++ {
		if _, err := strconv.ParseUint(fields[i], 16, 64); err == nil && fields[i-1] == "test" && len(fields[i]) > 8 {
			fields[i-1], fields[i] = "a", "test"
		}
	}
	return strings.Join(fields, " ")
}

// Judged records a verdict, and reports whether its recoveries begin. If they do, the history that
// led to them is dropped. During a batch none begin, because the blocked child asks a person
// itself.
func (c *Course) Judged(b *pawl.HealthJudged, during bool) (recovers bool) {
	c.Health, c.Evidence, c.Unjudged, c.Recover, c.Merged = b.Health, brief.Cut(b.Reason, 200), false, b.Recoveries, b.Merged
	switch {
	case during:
		c.Recover = nil
		return false
	case b.Health == pawl.HealthProgressing:
		return false
	}
	c.RecoverRest(b.Recoveries)
	c.History = nil
	c.tried(b)
	return true
}

// NextRecovery returns the next recovery other than gathering the context, and the reason for it.
// There must be one.
func (c *Course) NextRecovery() (next pawl.Recovery, reason string) {
	i := slices.IndexFunc(c.Recover, func(r pawl.Recovery) bool { return r != pawl.RecoverGather })
	return c.Recover[i], string(c.Health) + ": " + c.Evidence
}

// Override lets the batches continue in spite of the last verdict. A rollback that the monitor
// called for is dropped, unless its commit was requested.
func (c *Course) Override() {
	c.Recover, c.History, c.Unjudged, c.Health = nil, nil, false, pawl.HealthProgressing
	if b := c.Back; b != nil && b.By == "" && !b.Requested {
		c.Back = nil
	}
}

// Ended records how a batch ended. The history keeps the last batches, at most keep, without
// earlier ones that attempted nothing.
func (c *Course) Ended(facts Batch, last LastBatch, keep int) {
	tried := slices.DeleteFunc(slices.Clone(c.History), func(o Batch) bool { return o.Attempted == 0 })
	c.History = append(tried[max(0, len(tried)-keep+1):], facts)
	c.Last = last
}

// Mark returns a checkpoint of a commit after the batch that ended last. It is good if the batches
// make progress and the batch's rate is not below that of the last good checkpoint.
func (c *Course) Mark(commit pawl.CommitHash, version, approved int) pawl.Checkpoint {
	k := pawl.Checkpoint{N: c.Marks + 1, Commit: commit, Label: fmt.Sprintf("batch-%d", c.Last.N), Batch: c.Last.N, Plan: version,
		Good:     (c.Health == "" || c.Health == pawl.HealthProgressing) && !c.Rate().Below(c.Proof().Rate),
		Approved: approved, Passing: max(c.Last.Passing, 0)}
	if c.Last.Scaffold {
		k.Label = "scaffold"
	}
	return k
}

// CallBack begins a rollback to a checkpoint. Tasks is as in [Back].
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

// WentBack ends the rollback to a checkpoint. Later checkpoints and their proofs are dropped,
// because their tasks are open again. The history is dropped too.
func (c *Course) WentBack(to int) {
	if to < c.Checkpoints[len(c.Checkpoints)-1].N { // what the gates said of the head is not of that checkpoint
		c.Latest = nil
	}
	c.Checkpoints = slices.DeleteFunc(slices.Clone(c.Checkpoints), func(k pawl.Checkpoint) bool { return k.N > to })
	c.Proofs = slices.DeleteFunc(slices.Clone(c.Proofs), func(k Proof) bool { return k.N > to })
	c.Unlearned = c.Back.Restored.Text
	c.Back, c.History, c.Last = nil, nil, LastBatch{}
	if c.Latest == nil {
		c.Latest = c.Proof().Reports
	}
}
