package kernel

import (
	"fmt"
	"slices"
	"time"

	"pawl"
)

// advance emits what follows for a loop from the state alone, if anything does.
// Called again after what it emitted, it goes on; when it emits nothing, the
// loop waits for an answer.
func (d *draft) advance(ref pawl.LoopRef) {
	d.own(ref)
	l := d.s.Loop(ref)
	if l.Phase == PhaseDone {
		d.end(l)
		return
	}
	if l.trouble != nil && !d.mend(l) {
		return
	}
	if d.s.Stopping != nil && !(d.s.Drain == pawl.DrainFinish && l.inside) {
		d.drain(l)
		return
	}
	if d.s.Status == pawl.StatusPaused {
		return
	}
	if (l.verify || l.restore) && len(l.open) == 0 {
		d.reconcile(l)
		return
	}
	if l.verify || l.restore {
		return
	}
	switch l.Phase {
	case PhaseOpening:
		d.open(l)
	case PhasePrepare:
		d.judgeBase(l)
	case PhaseReady:
		d.ready(l)
	case PhaseSteps:
		d.steps(l)
	case PhaseCommit:
		d.commit(l)
	case PhaseGates:
		d.judge(l)
	case PhaseCouncil:
		d.confer(l)
	case PhaseClosing:
		d.close(l)
	}
}

// end ends the run when its root loop is done.
func (d *draft) end(l *Loop) {
	if l.Parent == 0 {
		d.emit(0, &pawl.RunEnded{Outcome: l.Outcome, Reason: l.Reason, Head: l.Head})
	}
}

// tries is how often an effect on a worktree is requested before the run stops.
const tries = 3

// mend says what follows when an effect on the worktree failed: a failure of the
// machine is tried again, anything else stops the run. It reports whether the
// loop may go on.
func (d *draft) mend(l *Loop) bool {
	switch {
	case l.trouble.Code == pawl.FailMachine && l.troubles < tries:
		return true
	case l.Phase == PhaseClosing || d.s.Stopping != nil:
		return len(l.open) == 0 && l.troubles >= tries // give up on tidying: close() ends the loop
	}
	d.stop(pawl.OutcomeHalted, string(l.trouble.Code)+": "+l.trouble.Message)
	return false
}

func (d *draft) open(l *Loop) {
	if len(l.open) > 0 {
		return
	}
	d.request(l, pawl.Effect{
		Class: pawl.CrashProbe, Place: l.place("open"),
		Do: &pawl.OpenWorkspace{Name: d.s.workspace(l), Branch: d.s.Started.Branch, Base: l.Base},
	})
}

// workspace names a loop's worktree.
func (s *State) workspace(l *Loop) string {
	if l.Parent == 0 {
		return string(s.Run)
	}
	return string(s.Run) + "-" + l.ID
}

// Workspace names a loop's worktree for those who perform its effects.
func (s *State) Workspace(ref pawl.LoopRef) string {
	if l := s.Loop(ref); l != nil {
		return s.workspace(l)
	}
	return ""
}

func (l *Loop) place(step string) pawl.Place {
	return pawl.Place{Loop: l.Kind.Name, Iteration: l.Iteration, Attempt: l.Attempt, Step: step, Tier: l.Tier}
}

// judgeBase lets every command gate look at the base once: what is red there
// must not be held against a candidate, and must not grow.
func (d *draft) judgeBase(l *Loop) {
	all := true
	for i, g := range d.s.Settings.Gates {
		if l.base[i] == nil {
			all = false
			d.runGate(l, i, pawl.RunGate{Gate: g.Name, Commit: l.Base, OnBase: true}, 0)
		}
	}
	if !all {
		return
	}
	if l.inside { // the run was resumed in the middle of an iteration
		d.emit(l.Ref, &pawl.IterationRestarted{Attempt: l.Attempt + 1, Reason: "the run was resumed"})
		return
	}
	d.ready(l)
}

// ready scores the task's complexity if that is still open, and starts the next
// iteration.
func (d *draft) ready(l *Loop) {
	if l.Score < 0 && l.Kind.Complexity != nil {
		d.assess(l)
		return
	}
	if d.s.Drain == pawl.DrainFinish {
		d.drain(l)
		return
	}
	if name, limit, value, over := d.s.exhausted(d.at); over {
		d.overBudget(name, limit, value)
		return
	}
	tier := max(l.Tier, 1)
	if l.Score < 0 && l.Iteration == 0 && len(l.Kind.Ladder.Rungs) > 0 {
		tier = l.Kind.Ladder.Rungs[0].Tier
	}
	d.emit(l.Ref, &pawl.IterationStarted{N: l.Iteration + 1, Max: d.s.maxIterations(l), Tier: tier, Reason: l.tierWhy, From: l.Head})
}

// reconcile looks whether the worktree is as recorded after a crash, and resets
// it when it is not. An iteration whose worktree had to be reset starts again.
func (d *draft) reconcile(l *Loop) {
	if l.verify && !l.restore {
		d.request(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place("inspect"), Do: &pawl.InspectWorkspace{}})
		return
	}
	to := l.From
	if l.Phase != PhaseSteps {
		to = l.Head
	}
	d.request(l, pawl.Effect{
		Class: pawl.CrashProbe, Place: l.place("reset"),
		Do: &pawl.ResetWorkspace{Commit: to, Salvage: d.salvage("reset")},
	})
}

// salvage is the ref that keeps what is set aside by the next effect.
func (d *draft) salvage(why string) string {
	return fmt.Sprintf("refs/pawl/salvage/%s/%d-%s", d.s.Run, d.s.Seq+1, why)
}

// steps runs the sessions of the iteration, one after the other.
func (d *draft) steps(l *Loop) {
	if len(l.sessions) > 0 {
		d.converse(l, l.sessions[0])
		return
	}
	d.startStep(l, l.step, l.try)
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

// commit makes a candidate of what the iteration left in the worktree.
func (d *draft) commit(l *Loop) {
	if len(l.open) > 0 {
		return
	}
	message := fmt.Sprintf("pawl %s: attempt %d\n\n%s", d.s.Run, l.Iteration, d.s.Started.Title)
	d.request(l, pawl.Effect{
		Class: pawl.CrashProbe, Place: l.place("commit"),
		Do: &pawl.Commit{Branch: d.s.Started.Branch, Parent: l.Head, Base: l.Base, Message: message, Time: d.at},
	})
}

// drain ends a loop whose run is stopping: the effects in flight end first, or
// are withdrawn, then the worktree is closed.
func (d *draft) drain(l *Loop) {
	if d.s.Drain == pawl.DrainNow {
		for _, f := range slices.Clone(l.open) {
			if f.Do.Verb() != pawl.VerbCloseWorkspace {
				d.withdraw(f, "the run is cancelled")
			}
		}
	}
	if l.Phase == PhaseClosing {
		d.close(l)
		return
	}
	for _, f := range slices.Clone(l.open) {
		if f.Do.Verb() == pawl.VerbWait {
			d.withdraw(f, "the run is stopping")
		}
	}
	if len(l.open) > 0 {
		return
	}
	for _, x := range slices.Clone(l.sessions) {
		d.emit(l.Ref, &pawl.SessionEnded{Session: x.N, Result: pawl.SessionAbandoned, Reason: d.s.Stopping.Reason})
	}
	d.shut(l, d.s.Stopping.Outcome, d.s.Stopping.Reason)
}

func (d *draft) withdraw(f *pawl.Effect, reason string) {
	b := &pawl.EffectWithdrawn{Effect: f.ID, Reason: reason}
	if do, ok := f.Do.(*pawl.CallModel); ok {
		b.Charged, b.ChargedTokens = do.Reserved, do.ReservedTokens
	}
	d.emit(f.Loop, b)
}

// close ends a loop that has its outcome.
func (d *draft) close(l *Loop) { d.shut(l, l.Outcome, l.Reason) }

// shut closes the worktree and ends the loop.
func (d *draft) shut(l *Loop, o pawl.Outcome, reason string) {
	if len(l.open) > 0 {
		return
	}
	if l.HasWorkspace && l.troubles < tries {
		d.request(l, pawl.Effect{
			Class: pawl.CrashProbe, Place: l.place("close"),
			Do: &pawl.CloseWorkspace{Salvage: d.salvage("close")},
		})
		return
	}
	if l.HasWorkspace && l.trouble != nil {
		reason += fmt.Sprintf(" (its worktree could not be closed: %s)", l.trouble.Message)
	}
	d.emit(l.Ref, &pawl.LoopEnded{Outcome: o, Reason: cut(reason, 400)})
}

// remaining is how long an effect of a session may take: what the session has
// left, and never more than the cap.
func (d *draft) remaining(x *Session, limit time.Duration) time.Duration {
	if x.deadline == 0 {
		return limit
	}
	left := x.deadline - d.s.alive(d.at)
	return max(min(left, limit), time.Millisecond)
}
