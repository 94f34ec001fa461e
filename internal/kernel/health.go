package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/monitor"
)

// judgeHealth says how the batches develop, and what follows from it.
// One health leads to its recoveries so many times, then to a person.
func (d *draft) judgeHealth(l *Loop) {
	v := monitor.Judge(l.gen.History)
	b := &pawl.HealthJudged{Batch: l.gen.batches, Health: v.Health, Reason: brief.Cut(l.gen.inNames(v.Reason), 300)}
	if v.Health != pawl.HealthProgressing {
		for _, r := range l.Kind.Children.Monitor[string(v.Health)] {
			b.Recoveries = append(b.Recoveries, pawl.Recovery(r))
		}
		b.Max = cmp.Or(l.Kind.Children.Recoveries, pawl.DefaultRecoveries)
		b.Try = l.gen.Recovered(v.Health) + 1
		lost := slices.Contains(b.Recoveries, pawl.RecoverRollback) && l.gen.LastGood() == nil
		if b.Try > b.Max || lost {
			b.Recoveries = []pawl.Recovery{pawl.RecoverAsk}
		}
		if b.Try > b.Max {
			d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name + "/" + string(v.Health), Limit: pawl.LimitRecoveries, Max: int64(b.Max), Value: int64(b.Try)})
		}
	}
	d.emit(l.Ref, b)
}

// inNames is what the monitor said with the names of tasks, which it counts from 1,
// and of tests, of which it has fingerprints.
func (g *Generation) inNames(reason string) string {
	for _, name := range g.Last.Broke {
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
		if n, err := strconv.Atoi(digits); err == nil && n >= 1 && n <= len(g.plan.Entries) {
			out.WriteString(g.plan.Entries[n-1].ID)
			reason = after[len(digits):]
		} else {
			out.WriteString("task ")
		}
	}
}

// judgedHealth takes over what the monitor said. What spoke for a recovery does not
// count any more once it has begun.
func (l *Loop) judgedHealth(b *pawl.HealthJudged) {
	l.gen.Health, l.gen.Evidence, l.gen.Unjudged, l.gen.Recover = b.Health, brief.Cut(b.Reason, 200), false, b.Recoveries
	if l.gen.batch != nil { // a task is blocked, and its own loop asks
		l.gen.Recover = nil
		return
	}
	if b.Health == pawl.HealthProgressing {
		return
	}
	l.gen.RecoverRest(b.Recoveries)
	l.beginAround()
	l.gen.History = nil
	i := slices.IndexFunc(l.gen.Recoveries, func(r monitor.Recoveries) bool { return r.Health == b.Health })
	if l.gen.Recoveries = slices.Clone(l.gen.Recoveries); i < 0 {
		l.gen.Recoveries = append(l.gen.Recoveries, monitor.Recoveries{Health: b.Health, N: b.Try})
	} else {
		l.gen.Recoveries[i].N = b.Try
	}
}

// recoverHealth does what is next of what a health leads to.
func (d *draft) recoverHealth(l *Loop) {
	p := l.gen.plan
	next := l.gen.Recover[0]
	if next == pawl.RecoverGather {
		if d.runSteps(l, l.flow.Main, l.flow.Before, l.gen.before) {
			return
		}
		next = l.gen.Recover[slices.IndexFunc(l.gen.Recover, func(r pawl.Recovery) bool { return r != pawl.RecoverGather })]
	}
	reason := string(l.gen.Health) + ": " + l.gen.Evidence
	switch re, good := l.Kind.Children.Replan, l.gen.LastGood(); {
	case next == pawl.RecoverRevise && re != nil && p.Version < re.MaxVersions:
		d.emit(l.Ref, &pawl.ReplanCalled{Cause: pawl.ReplanHealth, Reason: reason})
	case next == pawl.RecoverRollback && good != nil:
		d.emit(l.Ref, &pawl.RollbackCalled{To: good.N, Reason: reason})
	case next == pawl.RecoverRevise && re != nil:
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitPlans, Max: int64(re.MaxVersions), Value: int64(p.Version + 1)})
		fallthrough
	default:
		d.askHealth(l)
	}
}

// askHealth asks a person what to do about the loop's health, with all that is known of it.
func (d *draft) askHealth(l *Loop) {
	p := l.gen.plan
	text := fmt.Sprintf("The batches are %s after batch %d: %d of %d tasks have passed", l.gen.Health, l.gen.batches, p.Count[pawl.TaskPassed], len(p.Entries))
	for _, r := range l.gen.Recoveries {
		text += fmt.Sprintf("; %s since the last good checkpoint: %d", r.Health, r.N)
	}
	choices := []string{choiceContinue}
	if k := l.gen.LastGood(); k != nil && k.N < l.gen.Marks {
		text += fmt.Sprintf("; checkpoint %d (%s) is the last good one", k.N, k.Label)
		choices = append(choices, choiceRollback)
	}
	d.ask(l, pawl.AskHealth, text+". Go on?", p.List, append(choices, choiceStop)...)
}

// The choices of a question about the health, besides the end of the work.
const (
	choiceContinue = "continue"
	choiceRollback = "rollback"
)

// overridden takes over that the run goes on in spite of its health.
func (l *Loop) overridden() {
	l.gen.Recover, l.gen.History, l.gen.Unjudged, l.gen.Health = nil, nil, false, pawl.HealthProgressing
	if b := l.gen.Back; b != nil && b.By == "" && !b.Requested { // what the monitor called for, and nothing has been done
		l.gen.Back = nil
	}
	if l.said(pawl.AskHealth) != nil {
		l.person.reply = nil
	}
}

// steerContinue lets a loop go on in spite of what the monitor said of it.
func (d *draft) steerContinue(in *pawl.Steering) error {
	l := d.s.Loop(1)
	p := l.gen.plan
	switch {
	case d.s.Status == pawl.StatusEnded && d.s.Outcome.Resumable():
		return d.refuse("only a run that goes on can be let go on in spite of its health").WithHint("pawl resume %s", d.s.Run)
	case d.s.Status == pawl.StatusEnded:
		return d.refuse("it is finished")
	case p == nil || len(l.Kind.Children.Monitor) == 0:
		return d.refuse("nothing has been said of its health")
	case l.gen.Health == pawl.HealthProgressing || l.gen.Health == "":
		return d.refuse("its batches are making progress, as far as anyone can say")
	case l.gen.Back != nil && l.gen.Back.Requested:
		return d.refuse("it is going back to checkpoint %d already", l.gen.Back.To)
	}
	if q := l.person.question; q != nil && q.kind == pawl.AskHealth {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: "the run goes on in spite of its health"})
	}
	d.emit(l.Ref, &pawl.HealthOverridden{Batch: l.gen.batches, Health: l.gen.Health, Reason: brief.Cut(in.Reason, 300), By: brief.Cut(in.By, 60)})
	return nil
}

// facts are what the monitor is shown of a batch that ends.
func (s *State) facts(l *Loop, e *pawl.BatchEnded) monitor.Batch {
	b := l.gen.batch
	out := monitor.Batch{N: b.N, Attempted: e.Attempted, Approved: e.Approved, Passing: -1, Tree: brief.Fingerprint(string(l.gen.Tree))}
	if n := len(l.gen.History); n > 0 {
		out.Passing, out.Broke = l.gen.History[n-1].Passing, l.gen.History[n-1].Broke
	}
	for i := range b.Members {
		m := &b.Members[i]
		f := m.Facts
		f.Result = s.resultOf(l, m)
		out.Tasks = append(out.Tasks, f)
	}
	if !b.Moved {
		return out
	}
	out.Passing, out.Broke = -1, nil
	for i := range b.Results {
		r := &b.Results[i]
		if r.Kind != pawl.GateTests {
			continue
		}
		out.Passing = max(out.Passing, 0) + r.Passed
		for _, name := range r.Broke {
			out.Broke = append(out.Broke, brief.Fingerprint(name))
		}
	}
	for _, k := range b.Chain {
		out.Hunks = append(out.Hunks, k.Made.Changes...)
	}
	out.Hunks = out.Hunks[:min(len(out.Hunks), maxHunks)]
	return out
}

// How many fingerprints of changes are kept: of a batch, and of the work of one task
// in it. They come in pairs, in an order that is the same for a change and its undoing.
const (
	maxHunks = 32
)

// noteAttempt keeps of an attempt that ended what the monitor needs.
func (s *State) noteAttempt(l *Loop, b *pawl.IterationEnded) {
	p := s.Loop(l.Parent)
	if p == nil || p.gen.plan == nil {
		return
	}
	if m := p.gen.batch.Member(l.slot.entry); m != nil {
		l.noteIn(m, b.Error)
	}
}

// noteIn keeps of a loop's present candidate what the monitor needs.
func (l *Loop) noteIn(m *land.Member, objected uint64) {
	var c *pawl.Committed
	if l.cand != nil {
		c = l.cand.Committed
	}
	m.Note(l.verdicts(), c, objected)
}
