package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/ladder"
)

// runChildren works on a loop's tasks, and reports whether that is over: every task has ended, or
// nothing that is left can run.
func (d *draft) runChildren(l *Loop) bool {
	c := l.Kind.Children
	if !l.spawns() {
		return true
	}
	switch {
	case l.gen.read != nil:
		d.judgePlan(l)
		return false
	case !l.gen.planned:
		d.readPlan(l)
		return false
	case l.person.question != nil:
		return false
	case d.s.Stopping != nil && l.gen.batch != nil && d.s.Drain == pawl.DrainFinish:
		d.advanceBatch(l)
		return false
	case d.s.Stopping != nil: // children at work may finish, but none start
		return len(l.gen.plan.Kids) == 0
	case l.gen.Back != nil: // before the plan is approved, too
		d.goBack(l)
		return false
	}
	if !d.mayStartTasks(l) {
		return false
	}
	switch {
	case l.planRejection() != "":
		return true
	case l.lastAnswerTo(pawl.AskReplan) != nil && l.person.reply.choice == choiceStop && l.gen.plan.Count[pawl.TaskPending] > 0:
		d.skip(l, "a person stopped the plan")
	}
	switch {
	case d.s.failureSignal(l) != nil:
		if len(l.open) == 0 {
			d.abandon(l, "a child has failed")
		}
		return true
	case l.unseen(pawl.SignalRebase) != nil && !l.hasChildren():
		if l.Head == l.Base && !d.rebase(l) { // no child depends on its work yet
			return false
		}
		d.acknowledgeAll(l, pawl.SignalRebase)
	}
	d.handleExcusedFailures(l)
	if c.Groups() {
		return d.batches(l)
	}
	if d.replan(l) {
		return false
	}
	d.block(l)
	if c.IsEager() {
		d.spawnEager(l)
	} else {
		d.startReady(l)
	}
	return len(l.gen.plan.Kids) == 0
}

// spawns reports whether the loop has children in this iteration.
func (l *Loop) spawns() bool {
	c := l.Kind.Children
	return c != nil && (l.isGiven() || l.gen.planned || !l.skips(c.When))
}

// childLimit returns how many children the loop may start; 0 = no limit. For eager children the
// limit is checked when the plan is accepted.
func (s *State) childLimit(l *Loop) int {
	if l.Kind.Children.IsEager() {
		return 0
	}
	if l.Parent == 0 && s.Limits.Iterations > 0 {
		return s.Limits.Iterations
	}
	return l.Kind.Children.Limit
}

// parallel returns how many children may work side by side. For eager children that is up to the
// recipe alone; the user limits the loops of the whole run.
func (s *State) parallel(l *Loop) int {
	if l.Kind.Children.IsEager() {
		return max(l.Kind.Children.Parallel, 1)
	}
	return cmp.Or(s.Settings.Parallel, l.Kind.Children.Parallel, 1)
}

// startReady starts tasks that are ready, in the order of the plan, while there are places.
func (d *draft) startReady(l *Loop) {
	for len(l.gen.plan.Kids) < d.s.parallel(l) {
		i := l.gen.plan.Next()
		if i < 0 {
			return
		}
		if limit := d.s.childLimit(l); limit > 0 && l.gen.plan.Started >= limit {
			if l.gen.plan.Capped != limit {
				d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitTasks, Max: int64(limit), Value: int64(l.gen.plan.Started)})
			}
			return
		}
		d.spawn(l, i)
		l = d.s.Loop(l.Ref)
	}
}

// spawn starts the loop of a task. An eager child's loop then waits to be admitted.
func (d *draft) spawn(l *Loop, i int) {
	e := &l.gen.plan.Entries[i]
	ref := pawl.LoopRef(len(d.s.loops) + 1)
	b := &pawl.LoopStarted{
		ID: d.s.loopID(d.at, d.s.Started.Seed, ref), Kind: l.Kind.Children.Kind, Parent: l.Ref,
		Task: e.ID, Entry: i + 1, Version: l.gen.plan.Version, Branch: d.s.childBranch(ref, e.ID), Base: d.s.onto(l).Head,
	}
	if l.Kind.Children.IsEager() {
		b.Base, b.Pending, b.ParentIteration, b.ParentGeneration = "", true, l.Iteration, l.gen.n
	}
	d.emit(ref, b)
}

// childBranch returns the name of a child's branch.
func (s *State) childBranch(ref pawl.LoopRef, id string) string {
	const most = 40
	slug := []byte(strings.ToLower(id))
	for i, b := range slug {
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') {
			slug[i] = '-'
		}
	}
	name := strings.Trim(string(slug[:min(len(slug), most)]), "-")
	return fmt.Sprintf("%s--%d-%s", s.Started.WorkRef(), ref, cmp.Or(name, "task"))
}

// block blocks the tasks that can no longer run because of others that failed.
func (d *draft) block(l *Loop) {
	pending := func(i int) bool { return l.gen.plan.At(i).Status == pawl.TaskPending }
	for _, i := range slices.Clone(l.gen.plan.Dead) {
		e := &l.gen.plan.Entries[i]
		if !l.gen.plan.At(i).Void {
			for part := range slices.Chunk(l.gen.plan.Reached(i, pending), maxPart) {
				d.emit(l.Ref, &pawl.TasksBlocked{Cause: e.ID, Tasks: part})
			}
		}
		l = d.s.Loop(l.Ref)
		if l.Kind.Children.OnFailure == pawl.FailStop {
			d.skip(l, "the task "+e.ID+" failed")
			l = d.s.Loop(l.Ref)
		}
	}
	if len(l.gen.plan.Dead) > 0 {
		d.emit(l.Ref, &pawl.TasksBlocked{Cause: l.gen.plan.Entries[l.gen.plan.Dead[0]].ID})
	}
	if l.Kind.Children.IsEager() {
		d.endWaiting(d.s.Loop(l.Ref))
	}
}

// endWaiting ends the queued loops that are never going to be admitted.
func (d *draft) endWaiting(l *Loop) {
	for _, status := range []pawl.TaskStatus{pawl.TaskBlocked, pawl.TaskSkipped, pawl.TaskDropped} {
		for _, i := range l.gen.plan.Where(status) {
			t := l.gen.plan.At(i)
			o := d.s.Loop(t.Loop)
			if o == nil || o.Phase != PhasePending {
				continue
			}
			outcome, reason := pawl.OutcomeCancelled, "its task is "+status.String()
			if status == pawl.TaskBlocked {
				outcome, reason = pawl.OutcomeBlocked, "blocked by "+l.taskID(int(t.Cause))
			}
			d.own(o.Ref)
			d.shut(d.s.Loop(o.Ref), outcome, reason)
		}
	}
}

// skip skips every task that has not begun.
func (d *draft) skip(l *Loop, reason string) {
	for part := range slices.Chunk(l.gen.plan.Where(pawl.TaskPending), maxPart) {
		d.emit(l.Ref, &pawl.TasksSkipped{Tasks: part, Reason: brief.Cut(reason, 200)})
	}
}

// maxPart bounds the tasks that one event names.
const maxPart = 500

// startChild records that the loop of a task was started.
func (s *State) startChild(p *Loop, l *Loop, b *pawl.LoopStarted) error {
	last := s.Loop(p.gen.plan.LoopOf(b.Entry - 1))
	entry, err := p.gen.plan.Spawn(b, l.Ref)
	if err != nil {
		return err
	}
	i := b.Entry - 1
	l.task, l.slot.entry, l.slot.version = entry, i, b.Version
	l.branch, l.Base, l.base = b.Branch, b.Base, p.base
	if m := p.gen.batch.Member(i); m != nil {
		m.Begun = true
	}
	for j := range l.Kind.Steps {
		if l.Kind.Steps[j].TierFrom != "" {
			l.Tier = min(l.task.Tier, ladder.Top)
		}
	}
	if last != nil && last.slot.version < b.Version && last.failed() {
		l.Tier = max(l.Tier, last.Tier)
		l.slot.tried = last.slot.tried + last.Iteration - last.ladder.Freed
	}
	return nil
}

// failed reports whether the loop has ended because its attempts did not pass.
func (l *Loop) failed() bool {
	return l.Phase == PhaseDone && !l.Outcome.Succeeded() && l.Outcome != pawl.OutcomeCancelled
}

// errors returns why the loop's last attempt was not taken: what its steps and its gates said, or, if
// they said nothing, reason.
func (l *Loop) errors(reason string) []pawl.Feedback {
	var out []pawl.Feedback
	if a := l.lastAttempt(); a != nil && a.Failed {
		if a.StepFailed != "" {
			out = append(out, pawl.Feedback{From: "steps", Verdict: pawl.VerdictFail, Summary: brief.Cut(a.StepFailed, 120)})
		}
		out = append(out, objectionsTo(a.Results)...)
	}
	if len(out) == 0 && reason != "" {
		out = append(out, pawl.Feedback{From: "loop", Verdict: pawl.VerdictFail, Summary: brief.Cut(reason, 120)})
	}
	return out
}

// endsWithoutLoop reports whether a task has ended in a way that does not depend on its loop.
func endsWithoutLoop(s pawl.TaskStatus) bool {
	return s == pawl.TaskBlocked || s == pawl.TaskSkipped || s == pawl.TaskDropped
}

// endedByPerson reports whether a loop that has just ended was ended by a person, and not by a loop
// above it. One that waits for its turn is ended from above without a signal.
func (l *Loop) endedByPerson(b *pawl.LoopEnded) bool {
	return b.Outcome == pawl.OutcomeCancelled && l.exit.ender == 0 && (l.exit.ending != nil || l.Phase != PhasePending)
}

// endChild records how a task's loop ended. A loop that the run's end stopped continues when the
// run does, so its task stays as it is.
func (s *State) endChild(l *Loop, b *pawl.LoopEnded, byPerson, shown bool) {
	p := s.Loop(l.Parent)
	if p == nil || p.gen.plan == nil {
		return
	}
	tasks, i := p.gen.plan, l.slot.entry
	tasks.Leave(l.Ref)
	if !tasks.Holds(i, l.slot.version, l.Ref) || endsWithoutLoop(tasks.At(i).Status) || b.Stopped && b.Outcome.Resumable() {
		return
	}
	switch {
	case s.stopReason(l) != "":
		tasks.Set(i, pawl.TaskPending)
	case b.Stopped && l.Iteration > 0: // cut off at its work
		tasks.Set(i, pawl.TaskFailed)
	case b.Stopped:
		tasks.Set(i, pawl.TaskSkipped)
	case b.Outcome.Succeeded():
		tasks.Pass(i, p.gen.batches, b.Outcome != pawl.OutcomeUnverified, shown)
		p.goals.Land(&l.goals)
	default: // what a person rejected calls for no new plan
		void := p.Kind.Children.OnFailure == pawl.FailContinue && !p.gen.plan.Entries[i].Critical
		tasks.Fail(i, b.Outcome == pawl.OutcomeCancelled, byPerson || l.gen.plan != nil && len(l.gen.plan.Ended) > 0, void)
		tasks.NoteErrors(i, l.errors(b.Reason))
	}
	tasks.Tried(i, l.Iteration)
}
