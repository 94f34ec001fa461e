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
	text := fmt.Sprintf("%s after batch %d", l.gen.Health, l.gen.batches)
	if n := l.gen.Recovered(l.gen.Health); n > 1 {
		text += fmt.Sprintf(", for the %s time", ordinal(n))
		if k != nil {
			text += " since the last good checkpoint"
		}
	}
	text += fmt.Sprintf(": %s. Tasks passed: %d of %d.", l.gen.Evidence, p.Count[pawl.TaskPassed], len(p.Entries))
	options := []option{{choiceContinue, "unfinished tasks are tried again " + withWords + "; nothing is undone, and progress is judged from here on"}}
	if k != nil {
		if undone := p.ApprovedAfter(k.Batch); len(undone) > 0 {
			options = append(options, option{choiceRollback, fmt.Sprintf("the branch goes back to checkpoint %d (%s); %s lose their approval and are open again", k.N, k.After(), l.names(undone))})
		}
	}
	options = append(options, option{choiceStop, l.stopsPlan()})
	d.ask(l, pawl.AskHealth, text+" What now?", p.List, options...)
}

// stopsPlan says what follows if a person stops the plan.
func (l *Loop) stopsPlan() string {
	ends := "ends"
	if l.Kind.Ladder.Then == "fail" {
		ends = "ends failed"
	}
	return fmt.Sprintf("no further task starts; the run %s with what has passed, and can be resumed; unfinished work stays on its branches", ends)
}

// names returns the ids of tasks, as a question has them.
func (l *Loop) names(tasks []int) string {
	var ids []string
	for _, i := range tasks {
		ids = append(ids, l.taskID(i))
	}
	return some(ids)
}

// some returns the first names of many, at most four, as a sentence has them.
func some(names []string) string {
	const most = 4
	var out []string
	for _, name := range names[:min(len(names), most)] {
		out = append(out, brief.Cut(name, 20))
	}
	last := len(out) - 1
	switch n := len(names) - most; {
	case n > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), n)
	case last > 0:
		return strings.Join(out[:last], ", ") + " and " + out[last]
	}
	return strings.Join(out, "")
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
