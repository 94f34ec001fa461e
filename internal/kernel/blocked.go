package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/plan"
)

// blocker is what a task says it needs before it can continue.
type blocker struct {
	kind string // dependency, external or fundamental
	what string
	on   string // for a dependency, the id of the task it waits for
}

// decidesBlocked is the decision of a result that says the task cannot be done now.
const decidesBlocked = "BLOCKED"

// applyBlocked records that a child's session reported its task blocked.
func (s *State) applyBlocked(l *Loop, f pawl.Facts) {
	if p := s.Loop(l.Parent); p != nil && p.Kind.Children.Groups() && f.Get("decision") == decidesBlocked {
		l.iter.blocked = &blocker{kind: brief.Cut(f.Get("blocker_type"), 20), what: brief.Cut(brief.Clause(f.Get("blocker")), 200), on: brief.Cut(f.Get("blocked_by"), plan.MaxID)}
	}
}

// decideBlocked decides what follows when a child's task is blocked: it waits for a task of the
// plan that it did not know it needs, or a person is asked at once.
func (d *draft) decideBlocked(l *Loop) {
	p, b := d.s.Loop(l.Parent), l.iter.blocked
	on := -1
	if b.kind == "dependency" {
		on = p.gen.plan.Find(b.on)
	}
	switch r := l.lastAnswerTo(pawl.AskBlocked); {
	case on >= 0 && p.gen.plan.At(on).Status == pawl.TaskPassed:
		j := l.judgement()
		j.StepFailed = fmt.Sprintf("it says that it waits for %s, which has passed: its work is in the worktree of the next attempt", b.on)
		d.concludeIteration(l, j)
	case on >= 0 && !p.gen.plan.Needs(on, l.slot.entry):
		d.emit(p.Ref, &pawl.TaskHeld{Task: l.slot.entry, Behind: on, Reason: brief.Cut(b.what, 200)})
	case r == nil:
		d.tellBlocked(p, l)
		d.ask(l, pawl.AskBlocked, fmt.Sprintf("Task %s is blocked (%s): %s. Has that changed, so that it can be tried again?", l.task.ID, cmp.Or(b.kind, "it does not say by what"), b.what),
			l.lastResult(), option{choiceAgain, "it is tried again " + withWords},
			option{choiceSkip, leftUndone},
			option{choiceStop, "the run ends blocked, with what has passed so far; it can be resumed"})
	case r.choice == choiceAgain:
		d.emit(l.Ref, &pawl.Rerouted{Gate: gateBlocked, Verdict: pawl.VerdictRetry, N: 1})
	case r.choice == choiceStop:
		d.stop(pawl.OutcomeBlocked, fmt.Sprintf("%s: %s", l.task.ID, b.what))
	default:
		d.shut(l, pawl.OutcomeCancelled, "skipped by a person: "+b.what)
	}
}

// gateBlocked is the gate name under which a person's answer to a blocker is reported.
const gateBlocked = "blocked"

// tellBlocked judges the current batch blocked at once, so that a person does not have to wait
// until the other tasks have ended.
func (d *draft) tellBlocked(p, l *Loop) {
	if p.Kind.Children.Monitor == nil || p.gen.batch == nil {
		return
	}
	v := monitor.Judge(append(slices.Clone(p.gen.History), monitor.Batch{N: p.gen.batches, Attempted: 1, Passing: -1,
		Tasks: []monitor.Task{{Task: l.slot.entry, Result: monitor.Blocked, Passing: -1, Blocker: l.iter.blocked.what}}}), p.Kind.Children.MonitorRules)
	d.emit(p.Ref, &pawl.HealthJudged{Batch: p.gen.batches, Health: v.Health, Reason: brief.Cut(p.gen.InNames(v.Reason, p.gen.plan.Entries), 300), Recoveries: []pawl.Recovery{pawl.RecoverAsk}})
}

// lastResult returns the last result that a session handed in; zero = there is none.
func (l *Loop) lastResult() pawl.Hash {
	if n := len(l.left.Outputs); n > 0 {
		return l.left.Outputs[n-1].Blob
	}
	return pawl.Hash{}
}
