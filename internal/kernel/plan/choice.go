package plan

import (
	"pawl"
)

// Fresh returns how many of the tasks at these positions are pending.
func (p *Plan) Fresh(tasks []int) (n int) {
	for _, i := range tasks {
		if p.At(i).Status == pawl.TaskPending {
			n++
		}
	}
	return n
}

// Ground reports by position which tasks lay the ground for others and are pending or running,
// and which tasks these depend on, directly or not. It returns nil if no such task is left.
func (p *Plan) Ground() []bool {
	out := make([]bool, len(p.Entries))
	var todo []int32
	for i := range p.Entries {
		if s := p.At(i).Status; p.Entries[i].Scaffold && (s == pawl.TaskPending || s == pawl.TaskRunning) {
			out[i] = true
			todo = append(todo, int32(i))
		}
	}
	if len(todo) == 0 {
		return nil
	}
	for k := 0; k < len(todo); k++ {
		for _, j := range p.Deps[todo[k]] {
			if !out[j] {
				out[j] = true
				todo = append(todo, j)
			}
		}
	}
	return out
}

// ReadyTasks iterates over the positions of the tasks that are ready, in the order in which they
// start.
func (p *Plan) ReadyTasks(yield func(int) bool) {
	for _, i := range p.ranked {
		if t := p.At(int(i)); t.Status == pawl.TaskPending && t.Open == 0 && !yield(int(i)) {
			return
		}
	}
}
