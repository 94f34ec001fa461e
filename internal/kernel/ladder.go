package kernel

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/session"
	"pawl/internal/kernel/verdict"
)

// rule decides what follows from the attempt that has just been judged, and emits it.
func (d *draft) rule(l *Loop, j ladder.Judgement, b *pawl.IterationEnded) {
	r := d.s.ruling(l, j, b)
	b.Decision, b.Reason, b.Outcome = r.Decision, brief.Cut(r.Reason, 300), r.Outcome
	if r.Outcome != "" && d.runFinalSteps(l) {
		return
	}
	if r.Decision == pawl.DecideHalt && d.askWhenStuck(l, r) {
		return
	}
	if j.Conflict && l.ladder.Conflicts+1 == ladder.ConflictTries {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.place("merge").String(), Limit: pawl.LimitConflicts, Max: ladder.ConflictTries, Value: int64(l.ladder.Conflicts + 1)})
	}
	if j.Children == "" && (r.Outcome == pawl.OutcomeIncomplete || r.Outcome == pawl.OutcomeFailed && r.Decision == pawl.DecideHalt && d.s.failsUpward(l) && d.s.last(l)) {
		d.maxIterations(l)
	}
	if l.ratchets() {
		best := d.s.bestAfter(l, b.N)
		b.Best = best.N
	}
	d.emit(l.Ref, b)
	if l.Parent == 0 {
		b.Max = d.saysMax()
	}
	if l.Parent != 0 && r.Outcome == pawl.OutcomeHalted {
		d.stop(r.Outcome, l.task.ID+": "+r.Reason)
	}
	switch r.Decision {
	case pawl.DecideEscalate:
		d.escalate(l, r.Tier, r.Reason, r.Stuck)
	case pawl.DecideCouncil:
		d.emit(l.Ref, &pawl.CouncilCalled{Members: len(l.Kind.Ladder.Council.Lenses), Reason: brief.Cut(r.Reason, 300), Stuck: r.Stuck})
	}
	if l.ratchets() {
		d.judgeAttempts(d.s.Loop(l.Ref), r)
	}
}

// failsUpward reports whether a failure of the loop may fail its parent's iteration, or that of a
// child the loop's own.
func (s *State) failsUpward(l *Loop) bool {
	p := s.Loop(l.Parent)
	return l.Kind.Children.RestartsParent() || p != nil && p.Kind.Children.RestartsParent()
}

// escalate makes the next iteration run on another tier.
func (d *draft) escalate(l *Loop, tier int, reason string, stuck bool) {
	d.emit(l.Ref, &pawl.Escalated{From: l.Tier, To: tier, Reason: brief.Cut(reason, 300), Iteration: l.Iteration + 1, Stuck: stuck})
}

// ruling is what follows from an attempt. What is said of the order of the rules is held by
// [ladder.State.Rule].
func (s *State) ruling(l *Loop, j ladder.Judgement, b *pawl.IterationEnded) ladder.Ruling {
	c := ladder.Case{
		Ladder: &l.Kind.Ladder, Judgement: j, Results: l.verdicts(), Ended: b, Tier: l.Tier, Top: l.top(),
		HaltsOnSecurity: s.haltsOn(pawl.HaltSecurity), DetectsStuck: !s.Settings.NoStuckDetection, WantsCouncil: s.Settings.Council,
		Again: l.wantsAnother(), Refused: l.planRefusal(b),
	}
	if s.last(l) {
		c.Last = s.lastFailed(l, b)
		c.FailsUpward = l.Kind.Children != nil || s.failsUpward(l)
	}
	return l.ladder.Rule(&c)
}

// planRefusal is what follows when a person, or the harness, refuses the loop's list of tasks as
// such; nil = nobody does.
func (l *Loop) planRefusal(b *pawl.IterationEnded) *ladder.Ruling {
	r := ladder.Ruling{Decision: pawl.DecideHalt, Reason: l.turnedDown(), Outcome: pawl.OutcomeBlocked}
	rejected := l.said(pawl.AskPlan) != nil && l.person.reply.choice == choiceReject
	switch {
	case rejected && l.Kind.Children.RestartsParent():
		r.Outcome = pawl.OutcomeFailed
	case rejected:
	case l.isGiven() && l.cannotPlan(): // it will be the same list the next time
		r.Reason, r.Outcome = ladder.FirstError(b), ladder.UsedUp(&l.Kind.Ladder, "").Outcome
	default:
		return nil
	}
	return &r
}

// cannotPlan reports whether the iteration failed because its list of tasks cannot
// be its plan.
func (l *Loop) cannotPlan() bool {
	return l.gen.refused || slices.ContainsFunc(l.Kind.Gates, func(st pawl.Stage) bool {
		r := l.result(st.Name)
		return (st.Builtin == "actionable" || st.Builtin == wellFormed) && r != nil && !verdict.Passes(r.Verdict)
	})
}

// last reports whether no further iteration is allowed.
func (s *State) last(l *Loop) bool {
	m := s.maxIterations(l)
	return m > 0 && l.Iteration >= m
}

// saysMax is the limit on the root's iterations as the event that was just decided says it, so that
// nobody else has to know what follows from an event for the limit.
func (d *draft) saysMax() int { return pawl.SayMax(d.s.maxIterations(d.s.Loop(1))) }

// maxIterations says that the loop's iterations are used up.
func (d *draft) maxIterations(l *Loop) {
	d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitIterations, Max: int64(d.s.maxIterations(l)), Value: int64(l.Iteration)})
}

// lastFailed says why the last allowed iteration does not pass. Where there is
// only one anyway, it is what was objected to it.
func (s *State) lastFailed(l *Loop, b *pawl.IterationEnded) string {
	used, why := s.usedIterations(l), ladder.FirstError(b)
	switch {
	case l.Parent == 0 && l.Kind.Children == nil || why == "":
		return used
	case s.maxIterations(l)-l.ladder.Freed == 1:
		return why
	}
	return used + ": " + why
}

func (s *State) usedIterations(l *Loop) string {
	return fmt.Sprintf("max iterations reached: %d of %d", l.Iteration, s.maxIterations(l))
}

// haltedForSecurity reports whether the last attempt ended with a halt of a gate.
func (l *Loop) haltedForSecurity() bool {
	a := l.lastAttempt()
	return a != nil && verdict.Halt(a.Results) != nil
}

// finishing reports whether the loop does its final steps: nothing else begins.
func (l *Loop) finishing() bool {
	return l.iter != nil && l.iter.final > 0 || slices.ContainsFunc(l.sessions, l.isFinal)
}

// isFinal reports whether a session is for a final step.
func (l *Loop) isFinal(x *session.Session) bool {
	return x.Purpose == pawl.ForStep && x.Index >= l.flow.After
}

// runFinalSteps lets a loop that ends do its final steps, and reports whether one is
// at work. The work can do without them.
func (d *draft) runFinalSteps(l *Loop) bool {
	return d.s.Stopping == nil && d.runSteps(l, l.flow.After, len(l.flow.Steps), l.iter.final)
}

// runSteps runs those of the flow's steps from one position to another that have
// their turn outside an iteration's own, one after the other, the first done of them
// being over. It reports whether one is at work: its session, or what it needs first.
func (d *draft) runSteps(l *Loop, from, to, done int) bool {
	for i := from + done; i < to; i++ {
		switch {
		case l.iter.unclear != nil:
			d.clarify(l)
		case len(l.sessions) > 0 && l.sessions[0].Item == 0:
			d.converse(l, l.sessions[0])
		case len(l.sessions) > 0:
			d.eachEntry(l, l.sessions[0].Index)
		case l.skips(l.flow.Steps[i].When), l.idle(i):
			continue
		default:
			if d.syncHead(l) {
				d.startStep(l, i, 1)
			}
		}
		return true
	}
	return false
}

// askWhenStuck asks a person whether to go on when the recipe's ladder ends in a
// question, and reports whether the loop waits or goes on.
func (d *draft) askWhenStuck(l *Loop, r ladder.Ruling) bool {
	if l.Kind.Ladder.Then != "ask" || r.Outcome != pawl.OutcomeBlocked {
		return false
	}
	if said := l.said(pawl.AskStuck); said != nil {
		if said.choice != choiceAgain {
			return false
		}
		d.emit(l.Ref, &pawl.Rerouted{Gate: "ladder", Verdict: pawl.VerdictRetry, N: 1})
		return true
	}
	d.ask(l, pawl.AskStuck, r.Reason+". Try once more?", pawl.Hash{}, choiceAgain, "stop")
	return true
}

// choiceAgain answers a question with one more attempt.
const choiceAgain = "again"
