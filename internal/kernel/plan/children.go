package plan

import (
	"fmt"
	"slices"

	"pawl"
)

// Spawn records that the loop of a task begins: at once, or when it is let in.
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

// Leave records that a loop is not live any more.
func (p *Plan) Leave(loop pawl.LoopRef) {
	p.Kids = slices.DeleteFunc(slices.Clone(p.Kids), func(r pawl.LoopRef) bool { return r == loop })
}

// Rejoin records that a loop that had ended goes on.
func (p *Plan) Rejoin(loop pawl.LoopRef) { p.Kids = append(slices.Clone(p.Kids), loop) }

// Holds reports whether a task is worked on by this loop, of a version of the plan.
func (p *Plan) Holds(task, version int, loop pawl.LoopRef) bool {
	return p != nil && version == p.Version && p.At(task).Loop == loop
}

// Fail records that a task failed for good. Excused is a failure that calls for no new plan; one
// that a person caused is among those that ended.
func (p *Plan) Fail(task int, excused, byPerson bool) {
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
}

// Pass records that a task passed, in a batch or in none (0), with or without proof.
func (p *Plan) Pass(task, batch int, proven bool) {
	p.Since++
	if !proven {
		p.Unproven++
	}
	p.Set(task, pawl.TaskPassed).Batch = uint16(batch)
}

// Tried records so many more attempts at a task.
func (p *Plan) Tried(task, attempts int) { p.Edit(task).Tries += uint16(min(attempts, 1000)) }

// TakeDone records the tasks that the list says are done.
func (p *Plan) TakeDone() {
	for i := range p.Entries {
		if p.Entries[i].Done && p.At(i).Status == pawl.TaskPending {
			p.Set(i, pawl.TaskPassed)
		}
	}
}

// Choose picks tasks to run together: first those that go again, then those that are ready, as
// many as there are places and, if there is a limit on loops, as may begin. As long as ground is
// not nil, only tasks that lay the ground for others are picked. Capped reports that the limit
// left a ready task out.
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
