package plan

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// Unmet returns that no more tasks may be begun, if so, and how many tasks have not passed, by status and
// with the first four ids of each, or "" if all have passed.
func (p *Plan) Unmet() string {
	if p.Succeeded() {
		return ""
	}
	var parts []string
	add := func(status pawl.TaskStatus, what string) {
		n := p.Count[status]
		if n == 0 {
			return
		}
		var ids []string
		for _, i := range p.Where(status)[:min(n, 4)] {
			ids = append(ids, p.Entries[i].ID)
		}
		if n > len(ids) {
			ids = append(ids, "…")
		}
		parts = append(parts, fmt.Sprintf("%d %s: %s", n, what, strings.Join(ids, ", ")))
	}
	add(pawl.TaskFailed, "failed")
	add(pawl.TaskBlocked, "blocked")
	add(pawl.TaskSkipped, "skipped")
	add(pawl.TaskPending, "not begun")
	add(pawl.TaskRunning, "not finished")
	limit := ""
	if p.Capped > 0 && p.Count[pawl.TaskPending] > 0 {
		limit = "max iterations reached: "
	}
	return fmt.Sprintf("%s%d of %d tasks passed; %s", limit, p.Count[pawl.TaskPassed], len(p.Entries), strings.Join(parts, "; "))
}

// Outcome returns the outcome of a loop whose children have not all passed. Then is what its
// ladder ends with: if it is "fail", the loop has failed. Otherwise the loop is blocked if no task
// is ready and some are blocked, and else incomplete.
func (p *Plan) Outcome(then string) pawl.Outcome {
	switch {
	case then == "fail":
		return pawl.OutcomeFailed
	case p.Next() < 0 && p.Count[pawl.TaskBlocked] > 0:
		return pawl.OutcomeBlocked
	}
	return pawl.OutcomeIncomplete
}

// BlockAll records that tasks are blocked by another one. An event without tasks means that the
// failures so far have been dealt with, and empties Dead. BlockAll fails if a task does not exist;
// the tasks before it are blocked then.
func (p *Plan) BlockAll(b *pawl.TasksBlocked) error {
	cause := p.Find(b.Cause)
	if cause < 0 {
		return fmt.Errorf("there is no task %q", b.Cause)
	}
	if len(b.Tasks) == 0 {
		p.Dead, p.Excused = nil, 0
	}
	for _, i := range b.Tasks {
		if i < 0 || i >= len(p.Entries) {
			return fmt.Errorf("there is no task %d", i)
		}
		p.Set(i, pawl.TaskBlocked).Cause = int32(cause)
	}
	return nil
}

// SkipAll records that tasks are not going to run. It fails if a task does not exist; the tasks
// before it are skipped then.
func (p *Plan) SkipAll(b *pawl.TasksSkipped) error {
	for _, i := range b.Tasks {
		if i < 0 || i >= len(p.Entries) {
			return fmt.Errorf("there is no task %d", i)
		}
		p.Set(i, pawl.TaskSkipped)
	}
	return nil
}

// Needs reports whether task i depends on another task, directly or not. A task needs itself.
func (p *Plan) Needs(i, on int) bool {
	todo := []int32{int32(i)}
	seen := make([]bool, len(p.Entries))
	for k := 0; k < len(todo); k++ {
		if int(todo[k]) == on {
			return true
		}
		for _, j := range p.Deps[todo[k]] {
			if !seen[j] {
				seen[j] = true
				todo = append(todo, j)
			}
		}
	}
	return false
}

// Hold records that a task waits for another one that its entry does not name. It fails if one of
// them does not exist, or if the other one needs the task already.
func (p *Plan) Hold(b *pawl.TaskHeld) error {
	n := len(p.Entries)
	if b.Task < 0 || b.Task >= n || b.Behind < 0 || b.Behind >= n || p.Needs(b.Behind, b.Task) {
		return fmt.Errorf("task %d cannot wait for task %d", b.Task, b.Behind)
	}
	g := *p.Graph // clones of the plan share the graph
	g.Deps, g.behind = slices.Clone(g.Deps), slices.Clone(g.behind)
	g.Deps[b.Task] = append(slices.Clone(g.Deps[b.Task]), int32(b.Behind))
	g.behind[b.Behind] = append(slices.Clone(g.behind[b.Behind]), int32(b.Task))
	p.Graph = &g
	t := p.Edit(b.Task)
	t.Open++
	p.mark(b.Task, t)
	return nil
}

// Retried records that a failed task runs once more. It fails if the task has not failed.
func (p *Plan) Retried(b *pawl.TaskRetried) error {
	if b.Task < 0 || b.Task >= len(p.Entries) || p.At(b.Task).Status != pawl.TaskFailed {
		return fmt.Errorf("task %d has not failed", b.Task)
	}
	p.Set(b.Task, pawl.TaskPending).Again = true
	p.Dead = slices.DeleteFunc(slices.Clone(p.Dead), func(i int) bool { return i == b.Task })
	return nil
}

// Excuses reports whether a task failed because a person ended it or something below it.
func (p *Plan) Excuses(i int) bool { return slices.Contains(p.Ended, i) }

// ApprovedAfter returns, in list order, the tasks that passed or were dropped in a batch after this
// one.
func (p *Plan) ApprovedAfter(batch int) (out []int) {
	for i := range p.Entries {
		if t := p.At(i); (t.Status == pawl.TaskPassed || t.Status == pawl.TaskDropped) && int(t.Batch) > batch {
			out = append(out, i)
		}
	}
	return out
}

// Reopen makes a task that has passed or was dropped pending again. It fails for any other task.
func (p *Plan) Reopen(i int) error {
	if i < 0 || i >= len(p.Entries) || p.At(i).Status != pawl.TaskPassed && p.At(i).Status != pawl.TaskDropped {
		return fmt.Errorf("task %d has not passed", i)
	}
	p.Set(i, pawl.TaskPending).Batch = 0
	return nil
}

// Drop records that another task of the same batch was picked.
func (p *Plan) Drop(i, batch int) {
	if at := slices.Index(p.Dead, i); at >= 0 {
		p.Dead = slices.Delete(slices.Clone(p.Dead), at, at+1)
		if at < p.Excused {
			p.Excused--
		}
	}
	p.Set(i, pawl.TaskDropped)
	p.Edit(i).Batch = uint16(batch)
}
