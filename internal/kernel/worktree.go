package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// worktreeTimeout bounds an effect on a worktree.
const worktreeTimeout = 10 * time.Minute

func (d *draft) onWorktree(l *Loop, step string, class pawl.CrashClass, do pawl.Do) {
	d.requestEffect(l, pawl.Effect{Class: class, Place: l.place(step), Timeout: worktreeTimeout, Do: do, First: l.worktree.First(do.Verb())})
}

// mend handles a failed effect on the worktree, and reports whether the loop may continue. A
// failure of the machine, or a timeout, is tried again after a wait. Anything else stops the run,
// or only the child if its parent can decide what follows.
func (d *draft) mend(l *Loop) bool {
	w := &l.worktree
	switch {
	case w.MayGoOn():
		return true
	case d.s.lostWorktree(l):
		d.endLostChild(l)
	case !w.MayRetry():
		d.stop(d.s.onFailure(w.Trouble()), w.Reason())
	case len(l.open) == 0:
		d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place("mend"), Do: w.BackOff()})
	}
	return false
}

// restoreWorktree reports whether the worktree is as recorded. If it is not, or if that is not
// known after a crash or a failed write, restoreWorktree requests what is needed.
func (d *draft) restoreWorktree(l *Loop) bool {
	w := &l.worktree
	switch {
	case w.IsSound():
		return true
	case slices.ContainsFunc(l.open, func(f *pawl.Effect) bool { return !isTeardownWait(f) }): // effects in flight end first
	case w.Restore:
		d.onWorktree(l, "reset", pawl.CrashProbe, &pawl.ResetWorkspace{Commit: l.Head, Salvage: d.salvage("reset"), Diff: w.Lost})
	default:
		do := &pawl.InspectWorkspace{}
		if w.Continues {
			do.Salvage = d.salvage("found")
		}
		d.onWorktree(l, "inspect", pawl.CrashRepeat, do)
	}
	return false
}

// working reports whether the worktree holds work that is not yet a candidate.
func (l *Loop) working() bool { return l.Phase == PhaseSteps || l.Phase == PhaseCommit }

// salvage returns the ref under which the next effect saves what it removes.
func (d *draft) salvage(why string) string {
	return fmt.Sprintf("refs/pawl/salvage/%s/%d-%s", d.s.Run, d.s.Seq+1, why)
}

func (d *draft) open(l *Loop) {
	if len(l.open) > 0 {
		return
	}
	do := &pawl.OpenWorkspace{Name: d.s.workspace(l), Branch: d.s.branch(l), Base: d.s.begins(l)}
	if l.Parent == 0 && d.s.publishes() {
		do.Result, do.Known, do.Time = d.s.Started.Branch, d.s.known(l), d.at
	}
	d.onWorktree(l, "open", pawl.CrashProbe, do)
}

// begins returns the commit at which a loop's branch is created.
func (s *State) begins(l *Loop) pawl.CommitHash {
	if l.Parent == 0 {
		return cmp.Or(s.forkedAt, s.Started.Begin, l.Base)
	}
	return l.Base
}

// workspace returns the name of a loop's worktree.
func (s *State) workspace(l *Loop) string {
	if l.Parent == 0 {
		return string(s.Run)
	}
	return string(s.Run) + "-" + l.ID
}

// Workspace returns the name of a loop's worktree, for those who perform its effects.
func (s *State) Workspace(ref pawl.LoopRef) string {
	if l := s.Loop(ref); l != nil {
		return s.workspace(l)
	}
	return ""
}

// Task returns the loop's own task, for those who perform its effects. Zero means that the task is
// the run's goal.
func (s *State) Task(ref pawl.LoopRef) pawl.Hash {
	if l := s.Loop(ref); l != nil {
		return l.task.Spec
	}
	return pawl.Hash{}
}

// candidate makes a candidate of what the iteration left in the worktree.
func (d *draft) candidate(l *Loop) {
	switch {
	case l.iter.restart != "":
		d.restartSteps(l, l.iter.restart)
	case len(l.open) > 0:
	case l.iter.rejudges:
		d.rejudged(l)
	case l.Kind.Children != nil && !l.worktree.Dirty && !l.worktree.Unsure:
		b := &pawl.Committed{Commit: l.Head, Tree: l.worktree.Tree}
		if l.Head != l.Base {
			b.Total = 1
		}
		d.emit(l.Ref, b)
	default:
		d.commit(l, "attempt")
	}
}

func (d *draft) commit(l *Loop, what string) {
	title := d.s.Started.Title
	if l.task.ID != "" {
		what, title = l.task.ID+", "+what, l.task.Title
	}
	message := fmt.Sprintf("pawl %s: %s %d\n\n%s", d.s.Run, what, l.Iteration, brief.Cut(title, 120))
	d.onWorktree(l, "commit", pawl.CrashProbe,
		&pawl.Commit{Branch: d.s.branch(l), Parent: l.Head, Base: l.Base, Message: message, Time: d.at})
}

// drain ends a loop whose run is stopping. The effects in flight end first or are withdrawn, then
// the worktree is closed. If the run can be resumed, the iteration's unfinished work is committed
// before that, so that its next attempt finds it.
func (d *draft) drain(l *Loop) {
	if q := l.person.question; q != nil {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: brief.Cut(d.s.Stopping.Reason, 200)})
	}
	for _, f := range slices.Clone(l.open) {
		if d.s.mayWithdraw(f) {
			d.withdraw(f, d.s.Stopping.Reason)
		}
	}
	switch {
	case l.Phase == PhaseClosing: // it already has an outcome of its own
		d.shut(l, l.Outcome, l.Reason)
	case l.exit.ending != nil:
		d.windUp(l)
	case len(l.open) > 0 || d.s.isLanding(l):
	case l.gen.plan != nil && len(l.gen.plan.Kids) > 0: // its children end first
	case l.gen.plan != nil && !d.s.Stopping.Outcome.Resumable() && l.gen.plan.Count[pawl.TaskPending] > 0:
		d.skip(l, d.s.Stopping.Reason)
	case d.s.Stopping.Outcome.Resumable() && l.unfinished():
		d.abandon(l, d.s.Stopping.Reason)
		d.commit(l, "unfinished attempt")
	default:
		d.abandon(l, d.s.Stopping.Reason)
		d.shut(l, d.s.Stopping.Outcome, d.s.Stopping.Reason)
	}
}

// unfinished reports whether the worktree holds work of the iteration that can be committed as it
// is, because nothing is wrong with the worktree.
func (l *Loop) unfinished() bool {
	w := &l.worktree
	return l.working() && l.iter.restart == "" && w.Trouble() == nil && !w.Verify && !w.Restore && (w.Unsure || w.Dirty)
}

// mayWithdraw reports whether a stopping run can do without an effect. Waits end at once, and so do
// preparations, which leave nothing that the run still needs. An effect on a worktree is short and
// is never cut off, because it would not be known what it left. Effects for the callback stay,
// because it has to learn that the run ends; they are short too. The rest is withdrawn if the user
// says now.
func (s *State) mayWithdraw(f *pawl.Effect) bool {
	switch f.Do.(type) {
	case *pawl.Wait:
		return f.Place.Step != callbackStep
	case *pawl.Prepare:
		return true
	}
	return s.Drain == pawl.DrainNow && !mustFinish(f)
}

// mustFinish reports whether an effect is never withdrawn.
func mustFinish(f *pawl.Effect) bool {
	switch f.Do.(type) {
	case *pawl.OpenWorkspace, *pawl.Commit, *pawl.InspectWorkspace, *pawl.ResetWorkspace, *pawl.CloseWorkspace, *pawl.AdvanceBranch,
		*pawl.MarkCheckpoint, *pawl.Restore, *pawl.WriteRecords, *pawl.Publish, *pawl.Notify:
		return true
	}
	return false
}

func (d *draft) withdraw(f *pawl.Effect, reason string) {
	p := d.s.lostBy(f)
	d.emit(f.Loop, &pawl.EffectWithdrawn{Effect: f.ID, Reason: reason, Charged: p.Money, ChargedTokens: p.Tokens})
}

// abandon ends the loop's sessions without a result.
func (d *draft) abandon(l *Loop, reason string) {
	for _, x := range slices.Clone(l.sessions) {
		d.emit(l.Ref, &pawl.SessionEnded{Session: x.N, Result: pawl.SessionAbandoned, Reason: reason})
	}
}

// shut closes the worktree and ends the loop, after all loops below it have ended.
func (d *draft) shut(l *Loop, o pawl.Outcome, reason string) {
	if !d.endBelow(l, reason) {
		return
	}
	if len(l.open) > 0 || !d.leaveWorktree(l, o) {
		return
	}
	switch w := &l.worktree; {
	case l.HasWorkspace && !(w.IsStuckOpen() && !w.MayRetry()):
		d.onWorktree(l, "close", pawl.CrashProbe, &pawl.CloseWorkspace{Salvage: d.salvage("close")})
		return
	case l.HasWorkspace:
		reason = brief.Cut(reason, 180) + fmt.Sprintf(" (its worktree could not be closed: %s)", brief.Cut(w.Trouble().Message, 80))
	}
	if l.Parent == 0 && d.notify(l, o, reason) {
		return
	}
	stopped := d.s.Stopping != nil && l.exit.ending == nil && (l.Phase != PhaseClosing || o == pawl.OutcomeHalted)
	evidence := l.evidence()
	d.acknowledgeAll(l)
	d.endLoop(l.Ref, &pawl.LoopEnded{Outcome: o, Reason: brief.Cut(reason, maxStop), Stopped: stopped})
	d.signalFailure(l, o, reason, evidence)
}

// leaveWorktree does what remains to be done with the worktree and the branch of a loop that ends,
// and reports whether the worktree may be closed.
func (d *draft) leaveWorktree(l *Loop, o pawl.Outcome) bool {
	if l.worktree.IsStuckOpen() {
		return true
	}
	if !d.deliver(l, o) {
		return false
	}
	if l.worktree.Trouble() == nil && !d.publishDue(l) {
		return false
	}
	if d.recordsDue(l) {
		d.record(l)
		return false
	}
	return !l.HasWorkspace || !d.s.Recipe.Records || d.syncHead(l)
}

// endLoop ends a loop. The event states the status that the loop's task has then.
func (d *draft) endLoop(ref pawl.LoopRef, b *pawl.LoopEnded) {
	d.emit(ref, b)
	l := d.s.Loop(ref)
	if p := d.s.Loop(l.Parent); p != nil && p.gen.plan.Holds(l.slot.entry, l.slot.version, ref) {
		b.Task = p.gen.plan.At(l.slot.entry).Status.String()
	}
}

// notifyTries bounds the tries to notify the callback, or to announce a question.
const notifyTries = 3

// callbackStep is the step of every effect that serves to notify the callback.
const callbackStep = "callback"

// notifyTimeout bounds one try.
const notifyTimeout = 10 * time.Second

// notify tells the run's callback how the run ends, and reports whether that is in progress. All
// work is done by then, so a failure changes nothing.
func (d *draft) notify(l *Loop, o pawl.Outcome, reason string) bool {
	switch why := l.callback.lastFailure; {
	case d.s.Settings.Callback == nil || d.s.notified:
		return false
	case len(l.open) > 0:
		return true
	case why != nil && (l.callback.lastTry.Try >= notifyTries || why.Code != pawl.FailMachine && why.Code != pawl.FailTimeout):
		if l.callback.lastTry.Try >= notifyTries {
			d.emit(l.Ref, &pawl.LimitReached{Scope: "callback", Limit: pawl.LimitRetries, Max: notifyTries, Value: int64(l.callback.lastTry.Try)})
		}
		return false
	case why != nil && !l.worktree.Rested:
		d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(callbackStep), Do: &pawl.Wait{For: time.Second << (l.callback.lastTry.Try - 1), Reason: "the callback: " + brief.Cut(why.Message, 120)}})
		return true
	}
	do := pawl.Notify{Outcome: o, Reason: brief.Cut(reason, 300), Head: d.s.ResultHead(), Cost: d.s.Spent.Money, Tokens: d.s.Spent.Tokens, Time: d.at}
	if o.Succeeded() {
		do.Findings = d.s.leftOpen.findings
	}
	if l.callback.lastTry != nil { // the same content again, so that all tries are one delivery
		do = *l.callback.lastTry
	}
	do.Try++
	d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(callbackStep), Timeout: notifyTimeout, Do: &do})
	return true
}
