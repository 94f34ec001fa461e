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

// runChildren works on a loop's list of tasks and reports whether it has come to an
// end: every task has, or nothing that is left can run.
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
		d.batch(l)
		return false
	case d.s.Stopping != nil: // what runs may finish, and nothing begins
		return len(l.gen.plan.Kids) == 0
	case l.gen.Back != nil: // whatever is asked about the plan
		d.goBack(l)
		return false
	}
	if !d.consent(l) {
		return false
	}
	switch {
	case l.turnedDown() != "":
		return true
	case l.said(pawl.AskReplan) != nil && l.person.reply.choice == "stop" && l.gen.plan.Count[pawl.TaskPending] > 0:
		d.skip(l, "a person stopped the plan")
	}
	switch {
	case d.s.failing(l) != nil:
		if len(l.open) == 0 {
			d.abandon(l, "a child has failed")
		}
		return true
	case l.unseen(pawl.SignalRebase) != nil && !l.hasChildren():
		if l.Head == l.Base && !d.rebase(l) { // nothing stands on it yet
			return false
		}
		d.acknowledgeAll(l, pawl.SignalRebase)
	}
	d.weigh(l)
	if c.Groups() {
		return d.batches(l)
	}
	if d.replan(l) {
		return false
	}
	d.block(l)
	if c.IsEager() {
		d.bringForth(l)
	} else {
		d.admit(l)
	}
	return len(l.gen.plan.Kids) == 0
}

// spawns reports whether the loop has children in this iteration.
func (l *Loop) spawns() bool {
	c := l.Kind.Children
	return c != nil && (l.isGiven() || l.gen.planned || !l.skips(c.When))
}

// childLimit is how many children the loop may start; 0 = no limit. Where they stand on
// an artifact, it has as many as it may when it is accepted.
func (s *State) childLimit(l *Loop) int {
	if l.Kind.Children.IsEager() {
		return 0
	}
	if l.Parent == 0 && s.Limits.Iterations > 0 && s.haltsOn(pawl.HaltIterations) {
		return s.Limits.Iterations
	}
	return l.Kind.Children.Limit
}

// parallel is how many children run side by side. In a tree the user says how many
// loops do, and the recipe how many children of one.
func (s *State) parallel(l *Loop) int {
	if l.Kind.Children.IsEager() {
		return max(l.Kind.Children.Parallel, 1)
	}
	return cmp.Or(s.Settings.Parallel, l.Kind.Children.Parallel, 1)
}

// admit starts tasks that are ready, in their order, as many as there are places.
func (d *draft) admit(l *Loop) {
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

// spawn starts the loop of a task.
func (d *draft) spawn(l *Loop, i int) {
	e := &l.gen.plan.Entries[i]
	ref := pawl.LoopRef(len(d.s.loops) + 1)
	b := &pawl.LoopStarted{
		ID: d.s.loopID(d.at, d.s.Started.Seed, ref), Kind: l.Kind.Children.Kind, Parent: l.Ref,
		Task: e.ID, Entry: i + 1, Version: l.gen.plan.Version, Branch: d.s.childBranch(ref, e.ID), Base: l.Head,
	}
	if l.Kind.Children.IsEager() {
		b.Base, b.Pending, b.ParentIteration, b.ParentGeneration = "", true, l.Iteration, l.gen.n
	}
	d.emit(ref, b)
}

// childBranch names the branch of a child's work.
func (s *State) childBranch(ref pawl.LoopRef, id string) string {
	const most = 40
	slug := []byte(strings.ToLower(id))
	for i, b := range slug {
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') {
			slug[i] = '-'
		}
	}
	name := strings.Trim(string(slug[:min(len(slug), most)]), "-")
	return fmt.Sprintf("%s--%d-%s", s.Started.Branch, ref, cmp.Or(name, "task"))
}

// block says which tasks can no longer run because of those that failed. After a
// critical one, nothing that is left is worth doing.
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
		switch {
		case e.Critical:
			d.skip(l, "the critical task "+e.ID+" failed")
		case l.Kind.Children.OnFailure == pawl.FailStop:
			d.skip(l, "the task "+e.ID+" failed")
		}
		l = d.s.Loop(l.Ref)
	}
	if len(l.gen.plan.Dead) > 0 {
		d.emit(l.Ref, &pawl.TasksBlocked{Cause: l.gen.plan.Entries[l.gen.plan.Dead[0]].ID})
	}
	if l.Kind.Children.IsEager() {
		d.endWaiting(d.s.Loop(l.Ref))
	}
}

// endWaiting ends the loops that wait for their turn and will not have it.
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

// skip leaves out every task that has not begun.
func (d *draft) skip(l *Loop, reason string) {
	for part := range slices.Chunk(l.gen.plan.Where(pawl.TaskPending), maxPart) {
		d.emit(l.Ref, &pawl.TasksSkipped{Tasks: part, Reason: brief.Cut(reason, 200)})
	}
}

// maxPart is how many tasks one event names.
const maxPart = 500

// startChild lets a task run.
func (s *State) startChild(p *Loop, l *Loop, b *pawl.LoopStarted) error {
	entry, err := p.gen.plan.Spawn(b, l.Ref)
	if err != nil {
		return err
	}
	i := b.Entry - 1
	l.task, l.slot.entry, l.slot.version, l.slot.number = entry, i, b.Version, p.gen.plan.Started
	l.branch, l.Base, l.base = b.Branch, b.Base, p.base
	if m := p.gen.batch.Member(i); m != nil {
		m.Begun = true
	}
	for j := range l.Kind.Steps {
		if l.Kind.Steps[j].TierFrom != "" {
			l.Tier = min(l.task.Tier, ladder.Top)
		}
	}
	return nil
}

// isSettled reports whether a task has come to its end without its loop.
func isSettled(s pawl.TaskStatus) bool {
	return s == pawl.TaskBlocked || s == pawl.TaskSkipped || s == pawl.TaskDropped
}

// endChild takes over how a task's loop ended. One that the run's end stopped
// goes on when the run does.
func (s *State) endChild(l *Loop, b *pawl.LoopEnded) {
	p := s.Loop(l.Parent)
	if p == nil || p.gen.plan == nil {
		return
	}
	tasks, i := p.gen.plan, l.slot.entry
	tasks.Leave(l.Ref)
	if !tasks.Holds(i, l.slot.version, l.Ref) || isSettled(tasks.At(i).Status) || b.Stopped && b.Outcome.Resumable() {
		return
	}
	cancelled := b.Outcome == pawl.OutcomeCancelled
	switch {
	case s.fenced(l) != "":
		tasks.Set(i, pawl.TaskPending)
	case b.Stopped:
		tasks.Set(i, pawl.TaskSkipped)
	case b.Outcome.Succeeded():
		tasks.Pass(i, p.gen.batches, b.Outcome != pawl.OutcomeUnverified)
	default: // for what a person rejected no plan is made anew
		void := p.Kind.Children.OnFailure == pawl.FailContinue && !p.gen.plan.Entries[i].Critical
		tasks.Fail(i, cancelled, cancelled && l.exit.ender == 0 || l.gen.plan != nil && len(l.gen.plan.Ended) > 0, void)
	}
	tasks.Tried(i, l.Iteration)
}
