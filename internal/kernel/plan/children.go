package plan

import (
	"fmt"
	"slices"

	"pawl"
)

// Spawn records that the loop of a task was started, and returns the task. If b.Pending is set, the
// loop waits for its turn and the task stays pending. Spawn fails if b names no pending task.
func (p *Plan) Spawn(b *pawl.LoopStarted, loop pawl.LoopRef) (*pawl.TaskEntry, error) {
	i := b.Entry - 1
	if p == nil || i < 0 || i >= len(p.Entries) || p.Entries[i].ID != b.Task || p.At(i).Status != pawl.TaskPending {
		return nil, fmt.Errorf("loop %d has no pending task %q", b.Parent, b.Task)
	}
	if b.Pending {
		p.Edit(i).Loop = loop
	} else {
		p.Set(i, pawl.TaskRunning).Loop = loop
	}
	p.Started++
	p.Kids = append(p.Kids, loop)
	return &p.Entries[i], nil
}

// LoopOf returns the last loop of a task; 0 = there is none. It is 0 for a nil plan.
func (p *Plan) LoopOf(task int) pawl.LoopRef {
	if p == nil || task < 0 || task >= len(p.Entries) {
		return 0
	}
	return p.At(task).Loop
}

// Leave records that a child has ended.
func (p *Plan) Leave(loop pawl.LoopRef) {
	p.Kids = slices.DeleteFunc(slices.Clone(p.Kids), func(r pawl.LoopRef) bool { return r == loop })
}

// Rejoin records that a child that had ended continues.
func (p *Plan) Rejoin(loop pawl.LoopRef) { p.Kids = append(slices.Clone(p.Kids), loop) }

// Holds reports whether the loop, which was started under a version of the plan, is still the
// loop of the task. It is false for a nil plan.
func (p *Plan) Holds(task, version int, loop pawl.LoopRef) bool {
	return p != nil && version == p.Version && p.At(task).Loop == loop
}

// Fail records that a task failed for good. An excused failure calls for no new plan. A failure by
// a person is recorded in Ended too. If it is void, those that depend on the task need not wait.
func (p *Plan) Fail(task int, excused, byPerson, void bool) {
	at := len(p.Dead)
	if excused {
		at = p.Excused
		p.Excused++
	}
	if byPerson {
		p.Ended = append(slices.Clone(p.Ended), task)
	}
	p.Dead = slices.Insert(slices.Clone(p.Dead), at, task)
	p.Set(task, pawl.TaskFailed)
	p.Edit(task).Void = void
	p.open(task, false, void)
}

// Pass records that a task passed: in a batch, or in none if batch is 0. Proven says whether its loop was, and
// shown whether by more than that nothing broke.
func (p *Plan) Pass(task, batch int, proven, shown bool) {
	p.Since++
	p.forgetErrors(task)
	if !proven {
		p.Unproven++
	}
	t := p.Set(task, pawl.TaskPassed)
	t.Batch, t.Shown = uint16(batch), shown
}

// Proven returns how many tasks passed here with proof of more than that nothing broke, and how many with proof
// of that alone; none if one of them passed without any. Those that the list marks as done show nothing.
func (p *Plan) Proven() (shown, unbroken int) {
	if p.Unproven > 0 {
		return 0, 0
	}
	for _, i := range p.Where(pawl.TaskPassed) {
		switch t := p.At(i); {
		case t.Loop == 0:
		case t.Shown:
			shown++
		default:
			unbroken++
		}
	}
	return shown, unbroken
}

// Tried adds attempts at a task, at most 1000 at once.
func (p *Plan) Tried(task, attempts int) { p.Edit(task).Tries += uint16(min(attempts, 1000)) }

// TakeDone records that the pending tasks that the list marks as done have passed.
func (p *Plan) TakeDone() {
	for i := range p.Entries {
		if p.Entries[i].Done && p.At(i).Status == pawl.TaskPending {
			p.Set(i, pawl.TaskPassed)
		}
	}
}

// Choose returns tasks to run together: again, which are tasks whose loops continue, and then ready
// tasks until there are as many as places. A limit above 0 bounds how many children are started
// over all versions; capped reports whether it left out a ready task. If ground is not nil, only
// tasks for which it is true are added.
func (p *Plan) Choose(again []int, places, limit int, ground []bool) (tasks []int, capped bool) {
	tasks = again
	for i := range p.ReadyTasks {
		switch {
		case len(tasks) >= places:
			return tasks, false
		case ground != nil && !ground[i]:
			continue
		case limit > 0 && p.Started+p.Fresh(tasks) >= limit:
			return tasks, true
		}
		tasks = append(tasks, i)
	}
	return tasks, false
}
