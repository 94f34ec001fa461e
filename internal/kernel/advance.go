package kernel

import (
	"cmp"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/flow"
)

// advance emits the next events that follow for a loop from the state alone. It is
// called again until it emits nothing: then the loop waits for an answer.
func (d *draft) advance(ref pawl.LoopRef) {
	d.own(ref)
	l := d.s.Loop(ref)
	d.announce(l)
	switch {
	case l.Phase == PhaseDone:
		d.finish()
	case d.s.Stopping != nil && l.isMerged(): // even if its worktree is in trouble
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

// proceed takes a loop one step further, unless a signal, its parent or the state
// of its worktree prevents that.
func (d *draft) proceed(l *Loop) {
	if d.obeySignals(l) {
		return
	}
	if why := d.s.stopReason(l); why != "" {
		d.endStopped(l, why)
		return
	}
	if d.mend(l) && d.restoreWorktree(l) && d.publishDue(l) {
		d.phase(l)
	}
}

// isMerged reports whether the loop's work is in its parent's branch, so that the
// iteration only has to be ended.
func (l *Loop) isMerged() bool { return l.merge().IsDone() && l.Phase == PhaseGates }

// mayFinish reports whether a loop of a stopping run may finish its iteration, as the
// user allowed when cancelling the run.
func (d *draft) mayFinish(l *Loop) bool {
	// Without a batch, the loop came too late for the last one.
	if p := d.s.Loop(l.Parent); p != nil && p.Kind.Children.Groups() && p.gen.batch == nil {
		return false
	}
	return d.s.Drain == pawl.DrainFinish && l.inIteration && l.person.question == nil && (l.gen.plan == nil || len(l.gen.plan.Kids) > 0 || l.gen.batch != nil)
}

// phase takes the loop one step further in its phase.
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
		d.judgeCandidate(l)
	case PhaseCouncil:
		d.confer(l)
	}
}

// finish ends the run when all its loops are done.
func (d *draft) finish() {
	if d.s.live == 0 {
		root := d.s.Loop(1)
		b := &pawl.RunEnded{Outcome: root.Outcome, Reason: root.Reason, Head: root.Head}
		if b.Outcome.Succeeded() {
			b.RedAtBase, b.Findings = d.s.leftOpen.red, d.s.leftOpen.findings
			b.Proof, b.Failing, b.RefusedPlan = d.s.leftOpen.proof, d.s.leftOpen.failing, d.s.leftOpen.plan
		}
		d.emit(0, b)
	}
}

func (l *Loop) place(step string) pawl.Place {
	p := pawl.Place{Loop: l.Kind.Name, Task: l.task.ID, Iteration: l.Iteration, Attempt: l.Attempt, Step: step, Round: l.iter.Round, Tier: l.Tier}
	if l.gen.batch != nil {
		p.Round = l.gen.batch.N
	}
	return p
}

// base has the gates judge the base commit and scores the task's complexity, before the
// iterations. No model is called until the gates are known to be able to run.
func (d *draft) base(l *Loop) {
	known := d.judgeBase(l)
	scored := l.inIteration || l.Score >= 0 || l.Kind.Complexity == nil
	switch {
	case !scored && d.s.Settings.Complexity != nil:
		d.runAssessment(l)
		return
	case !known:
		return
	}
	if !d.requireGates(l) || !d.goalsAtStart(l) {
		return
	}
	switch {
	case !scored:
		d.runAssessment(l)
	case l.inIteration:
		d.restartSteps(l, "the run was resumed")
	default:
		d.ready(l)
	}
}

// judgeBase has every command gate judge the base commit once, and reports whether all
// have. A candidate is not blamed for what is red there, but must not add to it. Held-out checks
// excuse nothing.
func (d *draft) judgeBase(l *Loop) bool {
	known := true
	for i, g := range d.s.Settings.Gates {
		if !l.base[i].known && !d.s.isLeftOut(i) && g.Kind != pawl.GateHeldOut {
			known = false
			d.runGate(l, i, pawl.RunGate{Gate: g.Name, Commit: l.Base, OnBase: true})
		}
	}
	return known
}

// ready starts the next iteration. It checks the limit on iterations again, because
// the user may have lowered it since the last one was judged.
func (d *draft) ready(l *Loop) {
	again := l.toRejudge()
	if again == nil {
		d.judgeAttempts(l)
		l = d.s.Loop(l.Ref)
	}
	switch {
	case d.s.isLastIteration(l) && l.Parent != 0:
		d.shut(l, pawl.OutcomeIncomplete, d.s.usedIterations(l))
		return
	case d.s.isLastIteration(l):
		d.emitMaxIterations(l)
		d.stop(pawl.OutcomeIncomplete, d.s.usedIterations(l))
		return
	case l.person.question != nil:
		return
	}
	if again != nil {
		if !d.bringForward(l, again) || !d.s.mayWork(l) {
			return
		}
	} else {
		if !d.returnToBest(l) || !d.renewGeneration(l) || !d.s.mayWork(l) || !d.askToStart(l) || !d.rebase(l) || !d.furnish(l) {
			return
		}
		d.rebaseSeen(l)
	}
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
	b := &pawl.IterationStarted{N: l.Iteration + 1, Max: d.s.maxIterations(l), Tier: tier, Reason: l.tierWhy, From: l.Head}
	if again != nil {
		b.Rejudges, b.Reason = true, again.why()
	}
	d.emit(l.Ref, b)
}

// askToStart reports whether a child may start. If every child needs consent, it asks
// a person first.
func (d *draft) askToStart(l *Loop) bool {
	if l.Parent == 0 || l.Iteration > 0 || l.person.approved {
		return true
	}
	if by, _ := d.s.approvalMode(d.s.Loop(l.Parent)); by != "manual" {
		return true
	}
	if r := l.lastAnswerTo(pawl.AskStart); r != nil {
		d.shut(l, pawl.OutcomeCancelled, strings.TrimSuffix("rejected by a person: "+r.text, ": "))
		return false
	}
	title := strings.TrimRight(l.task.Title, ".?! ")
	d.ask(l, pawl.AskStart, strings.TrimSuffix(fmt.Sprintf("May task %s start: %s", l.task.ID, title), ": ")+"?", l.task.Spec,
		option{choiceApprove, "it is worked on"}, option{choiceReject, leftUndone})
	return false
}

// restartSteps restarts the iteration's steps as another attempt, once the worktree is
// furnished again.
func (d *draft) restartSteps(l *Loop, reason string) {
	if !d.returnToBest(l) || !d.furnish(l) {
		return
	}
	d.abandon(l, reason)
	d.emit(l.Ref, &pawl.IterationRestarted{Attempt: l.Attempt + 1, Reason: reason})
}

// steps runs the iteration's steps, one after the other.
func (d *draft) steps(l *Loop) {
	switch {
	case l.iter.restart != "":
		d.restartSteps(l, l.iter.restart)
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

// endRounds decides what follows when a group's rounds are used up.
func (d *draft) endRounds(l *Loop) {
	g := l.flow.Group(l.iter.Step - 1)
	then, r := g.Repeat.OnMax, l.lastAnswerTo(pawl.AskStuck)
	if r == nil {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.place(g.Name).String(), Limit: pawl.LimitRounds, Max: int64(g.Repeat.Max), Value: int64(l.iter.Round)})
	}
	b := &pawl.RoundsEnded{Group: g.Name, Max: g.Repeat.Max, Then: then}
	if then == "ask" {
		if r == nil {
			d.askAboutRounds(l, g)
			return
		}
		b.Then, b.By, b.Reason = r.choice, cmp.Or(r.by, "a person"), r.text
		if r.choice == choiceCarryOut {
			b.Then = choiceContinue
		}
		if b.Then == choiceContinue && l.makesPlan(g) {
			b.Refused = l.lastResult()
		}
	}
	d.emit(l.Ref, b)
}

// makesPlan reports whether a group of steps makes the loop's plan.
func (l *Loop) makesPlan(g *flow.Group) bool {
	c := l.Kind.Children
	return c != nil && l.flow.Group(l.flow.Find(c.From)) == g
}

// choiceCarryOut is the answer that lets a plan pass which its review has refused.
const choiceCarryOut = "carry-out-refused-plan"

// askAboutRounds asks a person what to do when a group's rounds are used up. If the group makes the
// plan, to go on means to carry out a plan that its review has refused, and the question says so.
func (d *draft) askAboutRounds(l *Loop, g *flow.Group) {
	if !l.makesPlan(g) {
		d.ask(l, pawl.AskStuck, fmt.Sprintf("%s was repeated %s without %s. Continue?", g.Name, times(l.iter.Round), strings.Join(g.Repeat.Until, " or ")),
			l.lastResult(), option{choiceContinue, "the steps after it run with what it has left"}, option{choiceFail, d.s.ifFails(l, "the attempt fails")})
		return
	}
	ends := "the attempt fails, and the plan is not carried out"
	if d.s.isLastIteration(l) && l.Parent == 0 {
		ends = "the run ends incomplete and nothing of the plan is begun; it can be resumed with more iterations"
	}
	reviewer := l.flow.Steps[g.To-1].Name
	d.ask(l, pawl.AskStuck, fmt.Sprintf("%s did not approve the plan in %s; its last verdict is %s. Carry the plan out anyway?",
		reviewer, plural(l.iter.Round, "round"), cmp.Or(l.left.Decision, "none")),
		l.lastResult(), option{choiceCarryOut, "the plan is carried out as it is, although " + reviewer + " has refused it"}, option{choiceFail, ends})
}

// startStep starts a step: its session, or one session for each of its entries.
func (d *draft) startStep(l *Loop, index, try int) {
	if l.flow.Steps[index].ForEach != "" && !l.isAssessingStep(index) {
		d.eachEntry(l, index)
		return
	}
	d.startSession(l, stepSession(l, index, try))
}

// stepSession returns the event that starts a session of a step. One that has run out of time has twice
// as much.
func stepSession(l *Loop, index, try int) pawl.SessionStarted {
	st := l.flow.Steps[index]
	tier := st.Tier
	if tier == 0 {
		tier = max(l.Tier, 1)
	}
	place := l.place(st.Name)
	place.Role, place.Tier = st.Role, tier
	timeout := st.Timeout
	if try > 1 || l.left.IsSlow(st) {
		timeout *= 2
	}
	return pawl.SessionStarted{Purpose: pawl.ForStep, Place: place, Index: index, Turns: st.Turns, Cap: st.Cap, Timeout: timeout, Try: try}
}

// maxStop bounds the reason why a run stops, in bytes.
const maxStop = 500

// stop begins the run's end. It overrides a user's cancellation that lets iterations
// finish, but no other cancellation and no earlier stop.
func (d *draft) stop(o pawl.Outcome, reason string) {
	if d.s.Stopping == nil || d.s.Drain == pawl.DrainFinish {
		d.emit(0, &pawl.RunStopping{Outcome: o, Reason: brief.Cut(reason, maxStop)})
		d.markAllDirty()
	}
}
