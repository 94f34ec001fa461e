package view

import (
	"cmp"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// The lines of batches that are judged as a whole.

func (t teller) batch() string {
	plan := t.l.Plan()
	switch b := t.e.Body.(type) {
	case *pawl.BatchStarted:
		return fmt.Sprintf("Batch %d: %s%s: %s", b.N, scaffold(b.Scaffold), count(len(b.Tasks), "task"), plan.ids(b.Tasks))
	case *pawl.TaskJudged:
		return fmt.Sprintf("Batch %d: %s %s (%s)%s", b.Batch, dashed(plan.ids([]int{b.Task})), judgedWord(b.Verdict), b.By,
			because((&Judged{TaskJudged: *b}).why(t.blobs, 200)))
	case *pawl.BatchEnded:
		return fmt.Sprintf("Batch %d ended: %d of %d approved", b.N, b.Approved, b.Attempted)
	case *pawl.HealthJudged:
		when := "after"
		if x := t.l.underWay(); x != nil && x.N == b.Batch { // a task is blocked
			when = "in"
		}
		return fmt.Sprintf("Health %s %s: %s%s%s", when, t.l.stretch(b.Batch), b.Health, because(b.Reason), follows(b))
	case *pawl.HealthOverridden:
		return fmt.Sprintf("It goes on in spite of %s after %s%s%s", b.Health, t.l.stretch(b.Batch), by(b.By), because(b.Reason))
	case *pawl.RollbackCalled:
		if b.Ending != "" {
			return fmt.Sprintf("Delivers %s, the best verified state: the attempts after it stay in the history", t.l.checkpointName(b.To))
		}
		s := fmt.Sprintf("%s takes the branch back to %s%s", cmp.Or(b.By, "The monitor"), t.l.checkpointName(b.To), because(b.Reason))
		if !t.l.isAlone() {
			s += " · what runs is stopped, its work saved"
		}
		return s
	case *pawl.RolledBack:
		return t.rolledBack(b)
	case *pawl.TaskHeld:
		return fmt.Sprintf("%s waits for %s%s", dashed(plan.ids([]int{b.Task})), dashed(plan.ids([]int{b.Behind})), because(b.Reason))
	case *pawl.Forked:
		return t.forked(b)
	}
	return t.e.Body.EventKind().String()
}

func scaffold(is bool) string {
	if is {
		return "scaffold, "
	}
	return ""
}

// judgedWord is a batch's verdict on a task as reviews write it.
func judgedWord(v pawl.Verdict) string {
	switch v {
	case pawl.VerdictPass:
		return "APPROVED"
	case pawl.VerdictSkip:
		return "DROPPED"
	}
	return "CHANGES"
}

// follows says what a health leads to: " · then: gather, revise (1 of 2)".
func follows(b *pawl.HealthJudged) string {
	if len(b.Recoveries) == 0 {
		return ""
	}
	words := make([]string, len(b.Recoveries))
	for i, rec := range b.Recoveries {
		words[i] = recoveryWord(rec)
	}
	s := " · then: " + strings.Join(words, ", ")
	switch {
	case b.Max > 0 && b.Try > b.Max:
		s += fmt.Sprintf(" (all %d tries are used up)", b.Max)
	case b.Max > 0:
		s += fmt.Sprintf(" (try %d of %d)", b.Try, b.Max)
	}
	return s
}

func recoveryWord(rec pawl.Recovery) string {
	switch rec {
	case pawl.RecoverGather:
		return "gather the context anew"
	case pawl.RecoverRevise:
		return "revise the plan"
	case pawl.RecoverRollback:
		return "roll back"
	case pawl.RecoverAsk:
		return "ask a person"
	case pawl.RecoverEscalate:
		return "a stronger tier"
	}
	return string(rec)
}

func (t teller) rolledBack(b *pawl.RolledBack) string {
	if t.l.isAlone() {
		return fmt.Sprintf("The branch is as after %s, in commit %s", t.l.checkpointName(b.To), short(b.Commit))
	}
	s := fmt.Sprintf("Back at %s, commit %s%s", t.l.checkpointName(b.To), short(b.Commit), because(b.Reason))
	if len(b.Reopen) > 0 {
		s += " · open again: " + t.l.Plan().ids(b.Reopen)
	}
	return s
}

func (t teller) forked(b *pawl.Forked) string {
	s := "Forked"
	if of := t.r.Start.ForkOf; of != "" {
		s += fmt.Sprintf(" from %s at event %d", of, t.r.Start.ForkAt)
	}
	s += ": commit " + short(b.Commit)
	if b.Lost > 0 {
		s += fmt.Sprintf(" · %s after it left out", count(b.Lost, "event"))
	}
	if b.Tokens > 0 || b.Cost > 0 {
		s += fmt.Sprintf(" · the other run had spent %s, %s", t.r.money(b.Cost), count(int(b.Tokens), "token"))
	}
	return s
}

// branches tells what was done to a branch besides merging.
func (t teller) branches() string {
	switch b := t.e.Body.(type) {
	case *pawl.CheckpointMarked:
		do, ok := doOf[*pawl.MarkCheckpoint](t.r.closed)
		if !ok || t.r.closed.ID != b.Effect {
			return "Checkpoint kept"
		}
		return capital(checkpointText(&do.Checkpoint))
	case *pawl.Restored:
		return "the branch has an earlier tree again: commit " + short(b.Commit)
	case *pawl.Recorded:
		if do, ok := doOf[*pawl.WriteRecords](t.r.closed); ok && t.r.closed.ID == b.Effect && do.From == b.Commit {
			return "the task's records are as they were"
		}
		return "the task's records are committed: " + short(b.Commit)
	}
	return t.e.Body.EventKind().String()
}

// checkpointText is a checkpoint in one line.
func checkpointText(k *pawl.Checkpoint) string {
	s := fmt.Sprintf("checkpoint %d", k.N)
	if k.Label != "" {
		s += " (" + k.Label + ")"
	}
	s += fmt.Sprintf(" at %s: %s approved", short(k.Commit), count(k.Approved, "task"))
	if k.Passing > 0 {
		s += fmt.Sprintf(", %s pass", count(k.Passing, "test"))
	}
	if k.Good {
		s += ", good"
	}
	return s
}

// head is how a batch came out, in one line.
func (b *Batch) head() string {
	s := fmt.Sprintf("batch %d: ", b.N)
	switch {
	case b.Ended != nil:
		s += fmt.Sprintf("%d of %d approved", b.Ended.Approved, b.Ended.Attempted)
	case b.abandoned:
		s += "left by a rollback"
	default:
		s += "under way"
	}
	if b.Scaffold {
		s += ", scaffold"
	}
	return s
}

// text is the same with what was not approved.
func (b *Batch) text() string {
	s := b.head()
	var red []string
	for _, j := range b.Verdicts {
		if !j.Approved() {
			red = append(red, fmt.Sprintf("%s: %s%s", dashed(j.ID), j.By, because(plain.Line(j.Reason, 100))))
		}
	}
	if len(red) > 0 {
		s += " · changes wanted: " + some(red)
	}
	return s
}
