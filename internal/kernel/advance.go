package kernel

import (
	"pawl"
)

// advance emits what follows for a loop from the state alone, if anything does.
// Called again after what it emitted, it goes on; when it emits nothing, the
// loop waits for an answer.
func (d *draft) advance(ref pawl.LoopRef) {
	d.own(ref)
	l := d.s.Loop(ref)
	switch {
	case l.Phase == PhaseDone:
		d.end()
	case d.s.Stopping != nil && !(d.s.Drain == pawl.DrainFinish && l.inside):
		d.drain(l)
	case d.s.Status == pawl.StatusPaused:
	case l.Phase == PhaseClosing:
		d.shut(l, l.Outcome, l.Reason)
	case d.mend(l) && d.sound(l):
		d.phase(l)
	}
}

// phase does what comes next where the loop is.
func (d *draft) phase(l *Loop) {
	switch l.Phase {
	case PhaseOpening:
		d.open(l)
	case PhasePrepare:
		d.prepare(l)
	case PhaseReady:
		d.ready(l)
	case PhaseSteps:
		d.steps(l)
	case PhaseCommit:
		d.candidate(l)
	case PhaseGates:
		d.judge(l)
	case PhaseCouncil:
		d.confer(l)
	}
}

// end ends the run when no loop is left.
func (d *draft) end() {
	if d.s.live == 0 {
		root := d.s.Loop(1)
		d.emit(0, &pawl.RunEnded{Outcome: root.Outcome, Reason: root.Reason, Head: root.Head})
	}
}

func (l *Loop) place(step string) pawl.Place {
	return pawl.Place{Loop: l.Kind.Name, Iteration: l.Iteration, Attempt: l.Attempt, Step: step, Tier: l.Tier}
}

// prepare finds out what the iterations need to know, side by side: what the gates
// say of the base, and how complex the task is.
func (d *draft) prepare(l *Loop) {
	known := d.judgeBase(l)
	scored := l.inside || l.Score >= 0 || l.Kind.Complexity == nil
	switch {
	case !scored:
		d.assess(l)
	case !known:
	case l.inside:
		d.again(l, "the run was resumed")
	default:
		d.ready(l)
	}
}

// judgeBase lets every command gate look at the base once: what is red there must
// not be held against a candidate, and must not grow. It reports whether all have.
func (d *draft) judgeBase(l *Loop) bool {
	known := true
	for i, g := range d.s.Settings.Gates {
		if !l.base[i].known {
			known = false
			d.runGate(l, i, pawl.RunGate{Gate: g.Name, Commit: l.Base, OnBase: true})
		}
	}
	return known
}

// ready starts the next iteration. The limit on iterations may have been lowered
// since the last one was judged.
func (d *draft) ready(l *Loop) {
	if d.s.last(l) {
		d.maxIterations(l)
		d.stop(pawl.OutcomeIncomplete, d.s.usedIterations(l))
		return
	}
	if name, limit, value, over := d.s.exhausted(d.at); over {
		d.overBudget(name, limit, value)
		return
	}
	tier := l.Tier
	if tier == 0 {
		tier = 1
		if len(l.Kind.Ladder.Rungs) > 0 {
			tier = l.Kind.Ladder.Rungs[0].Tier
		}
	}
	d.emit(l.Ref, &pawl.IterationStarted{N: l.Iteration + 1, Max: d.s.maxIterations(l), Tier: tier, Reason: l.tierWhy, From: l.Head})
}

// again starts the iteration's steps again as a further attempt.
func (d *draft) again(l *Loop, reason string) {
	d.abandon(l, reason)
	d.emit(l.Ref, &pawl.IterationRestarted{Attempt: l.Attempt + 1, Reason: reason})
}

// steps runs the sessions of the iteration, one after the other.
func (d *draft) steps(l *Loop) {
	switch {
	case l.restart != "":
		d.again(l, l.restart)
	case len(l.sessions) > 0:
		d.converse(l, l.sessions[0])
	default:
		d.startStep(l, l.step, l.try)
	}
}

func (d *draft) startStep(l *Loop, index, try int) {
	st := &l.Kind.Steps[index]
	tier := st.Tier
	if tier == 0 {
		tier = max(l.Tier, 1)
	}
	place := l.place(st.Name)
	place.Role, place.Tier = st.Role, tier
	timeout := st.Timeout
	if try > 1 {
		timeout *= 2
	}
	d.emit(l.Ref, &pawl.SessionStarted{
		Session: l.session + 1, Purpose: pawl.ForStep, Place: place, Index: index,
		Turns: orDefault(st.Turns, defaultTurns), Timeout: timeout, Try: try,
	})
}

func orDefault(n, def int) int {
	if n > 0 {
		return n
	}
	return def
}

// stop begins the run's end. A user's cancellation that lets the iteration
// finish gives way to it; one that does not, and an earlier stop, stand.
func (d *draft) stop(o pawl.Outcome, reason string) {
	if d.s.Stopping == nil || d.s.Drain == pawl.DrainFinish {
		d.emit(0, &pawl.RunStopping{Outcome: o, Reason: cut(reason, 300)})
		d.all()
	}
}
