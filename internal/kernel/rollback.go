package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
)

// mark requests a checkpoint of the branch's head. The checkpoint is good if the batches make
// progress and the share of tasks approved in the last one is not below that at the last good
// checkpoint.
func (d *draft) mark(l *Loop) {
	p := l.gen.plan
	if len(l.open) > 0 {
		return
	}
	k := l.gen.Mark(l.Head, p.Version, p.Count[pawl.TaskPassed])
	ref := fmt.Sprintf("refs/pawl/checkpoints/%s/%d", d.s.Run, k.N)
	if l.Parent != 0 { // each loop numbers its own
		ref = fmt.Sprintf("refs/pawl/checkpoints/%s/loop-%d/%d", d.s.Run, l.Ref, k.N)
	}
	d.onWorktree(l, "checkpoint", pawl.CrashProbe, &pawl.MarkCheckpoint{Checkpoint: k, Ref: ref})
}

// stopReason returns why a child has to stop working, or "" if it need not. For example, its parent
// goes back to a checkpoint, makes a new plan or gives up, or its task is held back.
func (s *State) stopReason(l *Loop) string {
	p := s.Loop(l.Parent)
	if p == nil || p.gen.plan == nil || !p.Kind.Children.Groups() {
		return ""
	}
	switch {
	case p.gen.Back != nil && p.gen.Back.Restored == nil:
		return fmt.Sprintf("the run goes back to checkpoint %d", p.gen.Back.To)
	case p.gen.plan.Calling != "" && p.gen.batch == nil: // the current batch ends first
		return "a new plan is made"
	case p.lastAnswerTo(pawl.AskHealth) != nil && p.person.reply.choice == choiceStop:
		return "a person stopped the work"
	}
	switch t := p.gen.plan.At(l.slot.entry); {
	case t.Status == pawl.TaskDropped:
		return "another one of its group was picked"
	case t.Status == pawl.TaskBlocked && l.Phase != PhasePending:
		return fmt.Sprintf("%s of its group failed, and they land together or not at all", p.taskID(int(t.Cause)))
	case t.Open > 0 && l.Phase != PhasePending:
		return "its task waits for another one"
	}
	return ""
}

// endStopped ends a child that has to stop working. Its work stays on its branch.
func (d *draft) endStopped(l *Loop, reason string) {
	if q := l.person.question; q != nil {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: reason})
	}
	d.cutOff(l, reason)
	if !l.inFlight() {
		d.abandon(l, reason)
		d.shut(l, pawl.OutcomeCancelled, reason)
	}
}

// cutOff withdraws the loop's open effects, except those that finish in any case.
func (d *draft) cutOff(l *Loop, reason string) {
	for _, f := range slices.Clone(l.open) {
		if !mustFinish(f) && !isTeardownWait(f) {
			d.withdraw(f, reason)
		}
	}
}

// learnRollback adds to the memory what must not be tried again after a rollback. That is done
// exactly once, even if a fork begins after the rollback and before its memory entry.
func (d *draft) learnRollback(l *Loop) {
	d.learn(l, pawl.MemoryAdded{Kind: pawl.MemoryAntiPattern, Scope: pawl.ScopeProject, Place: l.place("rollback"), Text: l.gen.Unlearned})
}

// goBack takes a loop's branch back to a checkpoint: its children stop, a new commit gets the
// checkpoint's tree, and what was approved later is open again.
func (d *draft) goBack(l *Loop) {
	back := l.gen.Back
	k := l.gen.Checkpoint(back.To)
	if b := back.Restored; b != nil {
		d.emit(l.Ref, &pawl.RolledBack{To: back.To, Commit: b.Commit, Reopen: l.gen.plan.ApprovedAfter(k.Batch), Reason: back.Reason, By: back.By})
		d.learnRollback(d.s.Loop(l.Ref))
		return
	}
	d.cutOff(l, back.Reason)
	if len(l.open) > 0 || len(l.gen.plan.Kids) > 0 {
		return
	}
	d.abandon(l, back.Reason)
	do := &pawl.Restore{Branch: d.s.branch(l), From: l.Head, To: k.Commit, Time: d.at, Label: k.Label, Reason: back.Reason,
		Message: fmt.Sprintf("pawl %s: rollback: %s - preserved learnings\n\nBack to checkpoint %d (%s). %s", d.s.Run, brief.Cut(back.Reason, 120), k.N, k.After(), l.undoes(k))}
	for _, i := range back.Tasks[:min(len(back.Tasks), maxNamed)] {
		do.Tasks = append(do.Tasks, l.gen.plan.Entries[i].ID)
	}
	d.onWorktree(l, "rollback", pawl.CrashProbe, do)
}

// undoes says which approved work a rollback to a checkpoint undoes.
func (l *Loop) undoes(k *pawl.Checkpoint) string {
	undone := l.gen.plan.ApprovedAfter(k.Batch)
	if len(undone) == 0 {
		return "Nothing that was approved is undone."
	}
	return fmt.Sprintf("Undone, and open again: %s.", l.names(undone))
}

// maxNamed bounds the tasks that a rollback names.
const maxNamed = 20

// calledBack records that the loop goes back to a checkpoint. Its batch is dropped, and so is a new
// plan in the making.
func (l *Loop) calledBack(b *pawl.RollbackCalled) error {
	p := l.gen.plan
	if l.gen.Checkpoint(b.To) == nil || l.gen.Back != nil {
		return fmt.Errorf("there is no checkpoint %d, or the loop is going back already", b.To)
	}
	l.gen.CallBack(b, append(p.ApprovedAfter(l.gen.Checkpoint(b.To).Batch), p.Where(pawl.TaskRunning)...))
	l.gen.batch = nil
	p.CallOff()
	l.gen.read, l.gen.listed, l.gen.relist = nil, nil, pawl.Hash{}
	l.cand.Rejudge(l.judgesWhole)
	if r := l.lastAnswerTo(pawl.AskHealth); r != nil && r.choice != choiceStop {
		l.person.reply = nil
	}
	return nil
}

// restored records the commit that has the checkpoint's tree.
func (l *Loop) restored(b *pawl.Restored) {
	l.Head, l.worktreeBehind = b.Commit, true
	l.recordBranchMoved(&pawl.Committed{Commit: b.Commit, Tree: b.Tree, Total: 1})
	l.gen.Restored(b)
}

// rolledBack records that code and state are those of the checkpoint.
func (l *Loop) rolledBack(b *pawl.RolledBack) error {
	p := l.gen.plan
	if l.gen.Back == nil || l.gen.Back.Restored == nil {
		return fmt.Errorf("loop %d is not going back", l.Ref)
	}
	for _, i := range b.Reopen {
		if err := p.Reopen(i); err != nil {
			return err
		}
	}
	l.gen.WentBack(b.To)
	l.unrecorded = true
	return nil
}

// steerRollback calls for the rollback that a person wants, or refuses it.
func (d *draft) steerRollback(in *pawl.Steering) error {
	l := d.s.Loop(1)
	p := l.gen.plan
	switch {
	case l.ratchets():
		return d.steerAttempt(l, in)
	case p == nil || len(l.gen.Checkpoints) == 0:
		return d.refuse("it has no checkpoints")
	case !l.gen.planned && d.s.Status != pawl.StatusEnded:
		return d.refuse("its plan is being made")
	case l.gen.Back != nil:
		return d.refuse("it is going back to checkpoint %d already", l.gen.Back.To)
	case d.s.Stopping != nil:
		return d.refuse("it is coming to its end")
	case d.s.Status != pawl.StatusEnded && (l.finishing() || l.Phase == PhaseClosing):
		return d.refuse("its tasks have ended")
	}
	k := l.gen.LastGood()
	if in.Checkpoint != 0 {
		k = l.gen.Checkpoint(in.Checkpoint)
	}
	if k == nil {
		return d.refuse("it has no checkpoint %d, or no good one: it has %d", in.Checkpoint, len(l.gen.Checkpoints)).WithHint("pawl checkpoints %s", d.s.Run)
	}
	if d.s.Status == pawl.StatusEnded {
		if !d.s.Outcome.Resumable() {
			return d.refuse("it is finished").WithHint("a run of its own can begin at a checkpoint's event: pawl checkpoints %s, then pawl fork %s --at EVENT", d.s.Run, d.s.Run)
		}
		if err := d.resume(in); err != nil {
			return err
		}
		l = d.s.Loop(1)
	}
	if q := l.person.question; q != nil {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: fmt.Sprintf("the run goes back to checkpoint %d", k.N)})
	}
	d.emit(l.Ref, &pawl.RollbackCalled{To: k.N, Reason: brief.Cut(cmp.Or(in.Reason, withoutReason), 300), By: brief.Cut(cmp.Or(in.By, "a person"), 60)})
	return nil
}

// withoutReason is the reason of a rollback if the person gives none.
const withoutReason = "a person took it back, and did not say why"

// obeyHealthAnswer does what a person answered about the health, and reports whether the work ends.
// The branch's head is then the best verified state there is, because only what was judged green
// and approved gets there.
func (d *draft) obeyHealthAnswer(l *Loop) bool {
	r, p := l.person.reply, l.gen.plan
	switch good := l.gen.LastGood(); {
	case r.choice == choiceRollback && good != nil:
		d.emit(l.Ref, &pawl.RollbackCalled{To: good.N, Reason: cmp.Or(r.text, withoutReason), By: cmp.Or(r.by, "a person")})
	case r.choice == choiceStop:
		if len(p.Kids) > 0 {
			return false
		}
		if p.Count[pawl.TaskPending] > 0 {
			d.skip(l, "a person stopped the work")
		}
		return true
	default:
		d.emit(l.Ref, &pawl.HealthOverridden{Batch: l.gen.batches, Health: l.gen.Health, Reason: r.text, By: cmp.Or(r.by, "a person")})
	}
	return false
}
