package kernel

import (
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// advance emits what follows for a loop from the state alone, if anything does.
// Called again after what it emitted, it goes on; when it emits nothing, the
// loop waits for an answer.
func (d *draft) advance(ref pawl.LoopRef) {
	d.own(ref)
	l := d.s.Loop(ref)
	d.announce(l)
	switch {
	case l.Phase == PhaseDone:
		d.finish()
	case d.s.Stopping != nil && l.isMerged(): // whatever its worktree is like
		d.phase(l)
	case d.s.Stopping != nil && !d.mayFinish(l):
		d.drain(l)
	case d.s.Status == pawl.StatusPaused:
	case l.Phase == PhaseClosing:
		d.shut(l, l.Outcome, l.Reason)
	default:
		d.proceed(l)
	}
}

// proceed does what comes next of a loop that nothing in the run keeps from it.
func (d *draft) proceed(l *Loop) {
	if d.obeySignals(l) {
		return
	}
	if why := d.s.fenced(l); why != "" {
		d.leaveOff(l, why)
		return
	}
	if d.mend(l) && d.restoreWorktree(l) {
		d.phase(l)
	}
}

// isMerged reports whether the loop's work is in its parent's branch, and the
// iteration only has to be ended.
func (l *Loop) isMerged() bool { return l.merge().IsDone() && l.Phase == PhaseGates }

// mayFinish reports whether a loop of a run that is stopping goes on for a while,
// as the user said that iterations may finish.
func (d *draft) mayFinish(l *Loop) bool {
	if p := d.s.Loop(l.Parent); p != nil && p.Kind.Children.Groups() && p.gen.batch == nil { // it came too late for the last batch
		return false
	}
	return d.s.Drain == pawl.DrainFinish && l.inside && l.person.question == nil && (l.gen.plan == nil || len(l.gen.plan.Kids) > 0 || l.gen.batch != nil)
}

// phase does what comes next where the loop is.
func (d *draft) phase(l *Loop) {
	switch l.Phase {
	case PhaseOpening:
		d.open(l)
	case PhaseBase:
		d.base(l)
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

// finish ends the run when no loop is left.
func (d *draft) finish() {
	if d.s.live == 0 {
		root := d.s.Loop(1)
		d.emit(0, &pawl.RunEnded{Outcome: root.Outcome, Reason: root.Reason, Head: root.Head})
	}
}

func (l *Loop) place(step string) pawl.Place {
	p := pawl.Place{Loop: l.Kind.Name, Task: l.task.ID, Iteration: l.Iteration, Attempt: l.Attempt, Step: step, Round: l.iter.Round, Tier: l.Tier}
	if l.gen.batch != nil {
		p.Round = l.gen.batch.N
	}
	return p
}

// base finds out what the iterations need to know: what the gates say of the base, and how
// complex the task is. No model is asked before it is known that the gates can run.
func (d *draft) base(l *Loop) {
	known := d.judgeBase(l)
	scored := l.inside || l.Score >= 0 || l.Kind.Complexity == nil
	switch {
	case !scored && d.s.Settings.Complexity != nil:
		d.assess(l)
		return
	case !known:
		return
	}
	if !d.requireGates(l) {
		return
	}
	switch {
	case !scored:
		d.assess(l)
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
		if !l.base[i].known && !d.s.isLeftOut(i) {
			known = false
			d.runGate(l, i, pawl.RunGate{Gate: g.Name, Commit: l.Base, OnBase: true})
		}
	}
	return known
}

// ready starts the next iteration. The limit on iterations may have been lowered
// since the last one was judged.
func (d *draft) ready(l *Loop) {
	switch {
	case d.s.last(l) && l.Parent != 0:
		d.shut(l, pawl.OutcomeIncomplete, d.s.usedIterations(l))
		return
	case d.s.last(l):
		d.maxIterations(l)
		d.stop(pawl.OutcomeIncomplete, d.s.usedIterations(l))
		return
	case l.person.question != nil:
		return
	}
	if !d.returnToBest(l) || !d.beginAnew(l) || !d.s.mayWork(l) || !d.askToStart(l) || !d.rebase(l) || !d.furnish(l) {
		return
	}
	d.rebaseSeen(l)
	if over := d.s.Exhausted(d.s.alive(d.at)); over != nil {
		d.overBudget(over)
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

// askToStart asks a person whether a child may start, if every one needs consent,
// and reports whether it may.
func (d *draft) askToStart(l *Loop) bool {
	if l.Parent == 0 || l.Iteration > 0 || l.person.approved {
		return true
	}
	if by, _ := d.s.consenting(d.s.Loop(l.Parent)); by != "manual" {
		return true
	}
	if r := l.said(pawl.AskStart); r != nil {
		d.shut(l, pawl.OutcomeCancelled, strings.TrimSuffix("rejected by a person: "+r.text, ": "))
		return false
	}
	d.ask(l, pawl.AskStart, fmt.Sprintf("May the task %s start? %s", l.task.ID, l.task.Title), l.task.Spec, choiceApprove, choiceReject)
	return false
}

// again starts the iteration's steps again as a further attempt, in a worktree that is
// furnished again.
func (d *draft) again(l *Loop, reason string) {
	if !d.returnToBest(l) || !d.furnish(l) {
		return
	}
	d.abandon(l, reason)
	d.emit(l.Ref, &pawl.IterationRestarted{Attempt: l.Attempt + 1, Reason: reason})
}

// steps runs the sessions of the iteration, one after the other.
func (d *draft) steps(l *Loop) {
	switch {
	case l.iter.restart != "":
		d.again(l, l.iter.restart)
	case l.person.question != nil:
	case l.iter.unclear != nil:
		d.clarify(l)
	case l.iter.Exhausted:
		d.endRounds(l)
	case len(l.sessions) > 0 && l.sessions[0].Item == 0:
		d.converse(l, l.sessions[0])
	default:
		d.startStep(l, l.iter.Step, l.iter.Try)
	}
}

// endRounds says what follows when a group's rounds are used up.
func (d *draft) endRounds(l *Loop) {
	g := l.flow.Group(l.iter.Step - 1)
	then, r := g.Repeat.OnMax, l.said(pawl.AskStuck)
	if r == nil {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.place(g.Name).String(), Limit: pawl.LimitRounds, Max: int64(g.Repeat.Max), Value: int64(l.iter.Round)})
	}
	if then == "ask" {
		if r == nil {
			d.ask(l, pawl.AskStuck, fmt.Sprintf("%s was repeated %d times without %s. Go on?", g.Name, l.iter.Round, strings.Join(g.Repeat.Until, " or ")),
				l.lastResult(), "continue", "fail")
			return
		}
		then = r.choice
	}
	d.emit(l.Ref, &pawl.RoundsEnded{Group: g.Name, Max: g.Repeat.Max, Then: then})
}

// startStep begins a step: its session, or one for each of its entries.
func (d *draft) startStep(l *Loop, index, try int) {
	if l.flow.Steps[index].ForEach != "" && !l.assesses(index) {
		d.eachEntry(l, index)
		return
	}
	d.startSession(l, stepSession(l, index, try))
}

// stepSession is a session of a step.
func stepSession(l *Loop, index, try int) pawl.SessionStarted {
	st := l.flow.Steps[index]
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
	return pawl.SessionStarted{Purpose: pawl.ForStep, Place: place, Index: index, Turns: st.Turns, Timeout: timeout, Try: try}
}

// maxStop is how much of the reason why a run stops is kept, in bytes.
const maxStop = 500

// stop begins the run's end. A user's cancellation that lets the iteration
// finish gives way to it; one that does not, and an earlier stop, stand.
func (d *draft) stop(o pawl.Outcome, reason string) {
	if d.s.Stopping == nil || d.s.Drain == pawl.DrainFinish {
		d.emit(0, &pawl.RunStopping{Outcome: o, Reason: brief.Cut(reason, maxStop)})
		d.all()
	}
}
