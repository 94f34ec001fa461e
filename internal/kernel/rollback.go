package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
)

// back is a way back to a checkpoint that is under way.
type back struct {
	pawl.RollbackCalled
	tasks     []int // that were worked on, or approved, since the checkpoint
	requested bool
	restored  *pawl.Restored // nil = not yet
}

// mark keeps the branch's head as a checkpoint. It is good when all that its batch
// attempted was approved as far as before, and the batches make progress.
func (d *draft) mark(l *Loop) {
	p := l.gen.plan
	if len(l.open) > 0 {
		return
	}
	k := pawl.Checkpoint{N: l.gen.marks + 1, Commit: l.Head, Label: fmt.Sprintf("batch-%d", l.gen.last.n), Batch: l.gen.last.n, Plan: p.version,
		Good:     (l.gen.health == "" || l.gen.health == pawl.HealthProgressing) && !l.gen.rate().below(l.gen.proof().rate),
		Approved: p.count[pawl.TaskPassed], Passing: max(l.gen.last.passing, 0)}
	if l.gen.last.scaffold {
		k.Label = "scaffold"
	}
	d.onWorktree(l, "checkpoint", pawl.CrashProbe, &pawl.MarkCheckpoint{Checkpoint: k, Ref: fmt.Sprintf("refs/pawl/checkpoints/%s/%d", d.s.Run, k.N)})
}

func (c *course) rate() rate { return rate{c.last.approved, c.last.attempted} }

// marked takes over a checkpoint. A good one is a fresh start for recoveries.
func (c *course) marked(k pawl.Checkpoint) {
	c.checkpoints = append(slices.Clone(c.checkpoints), k)
	c.unmarked, c.marks = false, k.N
	if k.Good {
		c.recoveries = nil
		c.proofs = append(slices.Clone(c.proofs), proof{k.N, c.rate(), c.latest})
		if len(c.proofs) > maxProofs {
			c.proofs = slices.Delete(c.proofs, 1, 2)
		}
	}
}

// lastGood is the newest good checkpoint, or nil.
func (c *course) lastGood() *pawl.Checkpoint {
	for i := range slices.Backward(c.checkpoints) {
		if c.checkpoints[i].Good {
			return &c.checkpoints[i]
		}
	}
	return nil
}

// checkpoint is the one of this number, or nil.
func (c *course) checkpoint(n int) *pawl.Checkpoint {
	for i := range c.checkpoints {
		if c.checkpoints[i].N == n {
			return &c.checkpoints[i]
		}
	}
	return nil
}

// fenced says why a child has to leave off: its parent goes back, makes its plan
// anew, gives up, or holds its task back; empty = it need not.
func (s *State) fenced(l *Loop) string {
	p := s.Loop(l.Parent)
	if p == nil || p.gen.plan == nil || !judgesBatches(p.Kind) {
		return ""
	}
	switch {
	case p.gen.back != nil && p.gen.back.restored == nil:
		return fmt.Sprintf("the run goes back to checkpoint %d", p.gen.back.To)
	case p.gen.plan.calling != "" && p.gen.batch == nil: // a batch comes to its end first
		return "the plan is made anew"
	case p.said(pawl.AskHealth) != nil && p.person.reply.choice == choiceStop:
		return "a person stopped the work"
	case p.gen.plan.at(l.slot.entry).open > 0:
		return "its task waits for another one"
	}
	return ""
}

// leaveOff ends a child that is fenced off. Its work stays on its branch.
func (d *draft) leaveOff(l *Loop, reason string) {
	if q := l.person.question; q != nil {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: reason})
	}
	d.cutOff(l, reason)
	if len(l.open) == 0 {
		d.abandon(l, reason)
		d.shut(l, pawl.OutcomeCancelled, reason)
	}
}

// cutOff withdraws what a loop has under way, but for what comes to its end in any case.
func (d *draft) cutOff(l *Loop, reason string) {
	for _, f := range slices.Clone(l.open) {
		if !bound(f) {
			d.withdraw(f, reason)
		}
	}
}

// learnRollback writes down what must not be tried again, exactly once: also when a
// fork begins between the way back and that.
func (d *draft) learnRollback(l *Loop) {
	d.learn(l, pawl.MemoryAdded{Kind: pawl.MemoryAntiPattern, Scope: pawl.ScopeProject, Place: l.place("rollback"), Text: l.gen.unlearned})
}

// goBack takes a loop's branch back to a checkpoint: its children leave off, a new
// commit has the checkpoint's tree, and what was approved later is open again.
func (d *draft) goBack(l *Loop) {
	back := l.gen.back
	k := l.gen.checkpoint(back.To)
	if b := back.restored; b != nil {
		d.emit(l.Ref, &pawl.RolledBack{To: back.To, Commit: b.Commit, Reopen: l.gen.plan.approvedAfter(k.Batch), Reason: back.Reason, By: back.By})
		d.learnRollback(d.s.Loop(l.Ref))
		return
	}
	d.cutOff(l, back.Reason)
	if len(l.open) > 0 || len(l.gen.plan.kids) > 0 {
		return
	}
	d.abandon(l, back.Reason)
	do := &pawl.Restore{Branch: d.s.branch(l), From: l.Head, To: k.Commit, Time: d.at, Label: k.Label, Reason: back.Reason,
		Message: fmt.Sprintf("pawl %s: rollback: %s - preserved learnings\n\nBack to checkpoint %d (%s).", d.s.Run, brief.Cut(back.Reason, 120), k.N, k.Label)}
	for _, i := range back.tasks[:min(len(back.tasks), maxNamed)] {
		do.Tasks = append(do.Tasks, l.gen.plan.entries[i].ID)
	}
	d.onWorktree(l, "rollback", pawl.CrashProbe, do)
}

// maxNamed is how many tasks are named where some are enough.
const maxNamed = 20

// approvedAfter lists the tasks that passed in a later batch.
func (p *plan) approvedAfter(batch int) (out []int) {
	for _, i := range p.where(pawl.TaskPassed) {
		if int(p.at(i).batch) > batch {
			out = append(out, i)
		}
	}
	return out
}

// calledBack takes over that the loop goes back: what was under way is no more.
func (l *Loop) calledBack(b *pawl.RollbackCalled) error {
	p := l.gen.plan
	if l.gen.checkpoint(b.To) == nil || l.gen.back != nil {
		return fmt.Errorf("there is no checkpoint %d, or the loop is going back already", b.To)
	}
	l.gen.back = &back{RollbackCalled: *b, tasks: append(p.approvedAfter(l.gen.checkpoint(b.To).Batch), p.where(pawl.TaskRunning)...)}
	l.gen.batch, l.gen.unjudged, l.gen.unmarked = nil, false, false
	if slices.Contains(l.gen.recover, pawl.RecoverRollback) && b.By == "" {
		l.gen.recoveredBy(pawl.RecoverRollback)
	} else {
		l.gen.recover = nil
	}
	p.calling, p.why, p.asked = "", "", false
	l.gen.read, l.gen.listed, l.gen.relist = nil, nil, pawl.Hash{}
	l.rejudge()
	if r := l.said(pawl.AskHealth); r != nil && r.choice != choiceStop {
		l.person.reply = nil
	}
	return nil
}

// restored takes over the commit that has the checkpoint's tree.
func (l *Loop) restored(b *pawl.Restored) {
	l.Head, l.ahead = b.Commit, true
	l.moved(&pawl.Committed{Commit: b.Commit, Tree: b.Tree, Total: 1})
	l.gen.back.restored, l.gen.tree = b, b.Tree
}

// rolledBack takes over that code and state are those of the checkpoint.
func (l *Loop) rolledBack(b *pawl.RolledBack) error {
	p := l.gen.plan
	if l.gen.back == nil || l.gen.back.restored == nil {
		return fmt.Errorf("loop %d is not going back", l.Ref)
	}
	for _, i := range b.Reopen {
		if i < 0 || i >= len(p.entries) || p.at(i).status != pawl.TaskPassed {
			return fmt.Errorf("task %d has not passed", i)
		}
		p.reopen(i)
	}
	l.gen.checkpoints = slices.DeleteFunc(slices.Clone(l.gen.checkpoints), func(k pawl.Checkpoint) bool { return k.N > b.To }) // their tasks are open
	l.gen.unlearned = l.gen.back.restored.Text
	l.gen.proofs = slices.DeleteFunc(slices.Clone(l.gen.proofs), func(k proof) bool { return k.n > b.To })
	l.gen.back, l.gen.history, l.gen.last, l.gen.latest = nil, nil, lastBatch{}, l.gen.proof().reports
	l.unrecorded = true
	return nil
}

// reopen makes a task that had passed one that is to be done.
func (p *plan) reopen(i int) {
	t := p.set(i, pawl.TaskPending)
	t.batch = 0
	for _, j := range p.behind[i] {
		w := p.edit(int(j))
		w.open++
		p.mark(int(j), w)
	}
}

// steerRollback obeys a person who wants to go back to a checkpoint.
func (d *draft) steerRollback(in *pawl.Steering) error {
	l := d.s.Loop(1)
	p := l.gen.plan
	switch {
	case p == nil || len(l.gen.checkpoints) == 0:
		return d.refuse("it has no checkpoints")
	case !l.gen.planned && d.s.Status != pawl.StatusEnded:
		return d.refuse("its plan is being made")
	case l.gen.back != nil:
		return d.refuse("it is going back to checkpoint %d already", l.gen.back.To)
	case d.s.Stopping != nil:
		return d.refuse("it is coming to its end")
	case d.s.Status != pawl.StatusEnded && (l.finishing() || l.Phase == PhaseClosing):
		return d.refuse("its tasks have come to their end")
	}
	k := l.gen.lastGood()
	if in.Checkpoint != 0 {
		k = l.gen.checkpoint(in.Checkpoint)
	}
	if k == nil {
		return d.refuse("it has no checkpoint %d, or no good one: it has %d", in.Checkpoint, len(l.gen.checkpoints)).WithHint("pawl checkpoints %s", d.s.Run)
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

// withoutReason stands for the reason of a person who gives none.
const withoutReason = "a person took it back, and did not say why"

// obey does what a person said about the health, and reports whether the work ends.
// The branch's head is the best verified state there is whenever it does: nothing
// gets there that was not judged green and approved.
func (d *draft) obey(l *Loop) bool {
	r, p := l.person.reply, l.gen.plan
	switch good := l.gen.lastGood(); {
	case r.choice == choiceRollback && good != nil:
		d.emit(l.Ref, &pawl.RollbackCalled{To: good.N, Reason: cmp.Or(r.text, withoutReason), By: cmp.Or(r.by, "a person")})
	case r.choice == choiceStop:
		return len(p.kids) == 0 && d.giveUp(l)
	default:
		d.emit(l.Ref, &pawl.HealthOverridden{Batch: l.gen.batches, Health: l.gen.health, Reason: r.text, By: cmp.Or(r.by, "a person")})
	}
	return false
}

// giveUp leaves out what has not begun.
func (d *draft) giveUp(l *Loop) bool {
	if l.gen.plan.count[pawl.TaskPending] > 0 {
		d.skip(l, "a person stopped the work")
	}
	return true
}
