package kernel

import (
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/land"
)

// judgeHealth judges how the batches develop, and what follows. The same health leads to its
// recoveries a limited number of times, then to a person.
func (d *draft) judgeHealth(l *Loop) {
	b := l.gen.Verdict(l.gen.batches, l.Kind.Children)
	b.Reason = brief.Cut(l.gen.InNames(b.Reason, l.gen.plan.Entries), 300)
	if b.Try > b.Max {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name + "/" + string(b.Health), Limit: pawl.LimitRecoveries, Max: int64(b.Max), Value: int64(b.Try)})
	}
	d.emit(l.Ref, b)
}

// recoverHealth starts the next recovery that the last verdict led to.
func (d *draft) recoverHealth(l *Loop) {
	p := l.gen.plan
	if l.gen.Recover[0] == pawl.RecoverGather && d.runSteps(l, l.flow.Main, l.flow.Before, l.gen.beforeDone) {
		return
	}
	next, reason := l.gen.NextRecovery()
	switch re, back := l.Kind.Children.Replan, l.gen.WayBack(l.gen.Merged); {
	case next == pawl.RecoverRevise && re != nil && p.Version < l.maxPlans():
		d.emit(l.Ref, &pawl.ReplanCalled{Cause: pawl.ReplanHealth, Reason: reason})
	case next == pawl.RecoverRollback && back != nil:
		d.emit(l.Ref, &pawl.RollbackCalled{To: back.N, Reason: reason})
	case next == pawl.RecoverRevise && re != nil:
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitPlans, Max: int64(l.maxPlans()), Value: int64(p.Version + 1)})
		fallthrough
	default:
		d.askHealth(l)
	}
}

// askHealth asks a person what to do about the loop's health.
func (d *draft) askHealth(l *Loop) {
	p, k := l.gen.plan, l.gen.LastGood()
	text := fmt.Sprintf("%s after batch %d: %s. %d of %d tasks have passed.", l.gen.Health, l.gen.batches, l.gen.Evidence, p.Count[pawl.TaskPassed], len(p.Entries))
	if n := l.gen.Recovered(l.gen.Health); n > 1 {
		since := ""
		if k != nil {
			since = " since the last good checkpoint"
		}
		text += fmt.Sprintf(" That is the %s time%s.", ordinal(n), since)
	}
	options := []option{{choiceContinue, "the open tasks are tried again as things stand; nothing is undone, and the monitor judges only what comes now"}}
	if k != nil {
		if undone := p.ApprovedAfter(k.Batch); len(undone) > 0 {
			options = append(options, option{choiceRollback, fmt.Sprintf("back to checkpoint %d (%s), the last good one: undoes what was approved since, %s; they are open again", k.N, k.Label, l.names(undone))})
		}
	}
	options = append(options, option{choiceStop, "no task is begun any more, and the run ends with what has passed; unfinished work stays on its branches"})
	d.ask(l, pawl.AskHealth, text+" What now?", p.List, options...)
}

// names returns the ids of tasks, at most four, as a question has them.
func (l *Loop) names(tasks []int) string {
	const most = 4
	var ids []string
	for _, i := range tasks[:min(len(tasks), most)] {
		ids = append(ids, brief.Cut(l.taskID(i), 20))
	}
	s := strings.Join(ids, ", ")
	if n := len(tasks) - most; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}

// ordinal returns a small number as it is counted.
func ordinal(n int) string {
	words := []string{"first", "second", "third", "fourth", "fifth"}
	if n <= len(words) {
		return words[n-1]
	}
	return fmt.Sprintf("%dth", n)
}

// The answers to a question about the health, besides choiceStop.
const (
	choiceContinue = "continue"
	choiceRollback = "rollback"
)

// steerContinue lets a loop continue in spite of the monitor's last verdict.
func (d *draft) steerContinue(in *pawl.Steering) error {
	l := d.s.Loop(1)
	p := l.gen.plan
	switch {
	case d.s.Status == pawl.StatusEnded && d.s.Outcome.Resumable():
		return d.refuse("only an active run can override the health monitor").WithHint("pawl resume %s", d.s.Run)
	case d.s.Status == pawl.StatusEnded:
		return d.refuse("it is finished")
	case l.ratchets():
		return d.refuse("the health monitor does not hold it up: its attempts continue anyway")
	case p == nil || len(l.Kind.Children.Monitor) == 0:
		return d.refuse("its health has not been judged yet")
	case l.gen.Health == pawl.HealthProgressing || l.gen.Health == "":
		return d.refuse("its batches are making progress, as far as anyone can say")
	case l.gen.Back != nil && l.gen.Back.Requested:
		return d.refuse("it is going back to checkpoint %d already", l.gen.Back.To)
	}
	if q := l.person.question; q != nil && q.kind == pawl.AskHealth {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: "the run continues despite its health"})
	}
	d.emit(l.Ref, &pawl.HealthOverridden{Batch: l.gen.batches, Health: l.gen.Health, Reason: brief.Cut(in.Reason, 300), By: brief.Cut(in.By, 60)})
	return nil
}

// noteAttempt records what the monitor needs of a child's attempt that has ended.
func (s *State) noteAttempt(l *Loop, b *pawl.IterationEnded) {
	p := s.Loop(l.Parent)
	if p == nil || p.gen.plan == nil {
		return
	}
	if m := p.gen.batch.Member(l.slot.entry); m != nil {
		l.noteIn(m, b.Error)
	}
}

// noteIn records what the monitor needs of the loop's present candidate.
func (l *Loop) noteIn(m *land.Member, objected uint64) {
	m.Note(l.verdicts(), l.committed(), objected)
}

// committed returns the commit of the loop's candidate; nil = it has none.
func (l *Loop) committed() *pawl.Committed {
	if l.cand == nil {
		return nil
	}
	return l.cand.Committed
}
