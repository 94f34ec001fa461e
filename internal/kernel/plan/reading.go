package plan

import (
	"fmt"

	"pawl"
)

// Reading is a list of tasks that was read and is to be judged.
type Reading struct {
	List    pawl.Hash // as it was handed in
	Entries []pawl.TaskEntry
	Graph   *Graph // nil = there is a problem
	Problem string // why it cannot be a plan whatever there was before; empty = it can
}

// Read returns the reading of a list that has b.Count tasks: the last of told. If fewer were told,
// or if they do not make a graph, the reading has a problem. Order is as in [NewGraph].
func Read(list pawl.Hash, told []pawl.TaskEntry, b *pawl.TasksRead, order string) *Reading {
	r := &Reading{List: list, Entries: told[max(0, len(told)-b.Count):], Problem: b.Problem}
	switch {
	case r.Problem != "":
	case b.Count != len(r.Entries):
		r.Problem = fmt.Sprintf("it has %d tasks, which is too many", b.Count)
	default:
		var err error
		if r.Graph, err = NewGraph(r.Entries, order); err != nil {
			r.Problem = err.Error()
		}
	}
	return r
}

// Refusal returns why the list cannot follow the plan p, which may be nil: it has a problem, or it
// drops or renames a task that has passed. It returns "" if the list can.
func (r *Reading) Refusal(p *Plan) string {
	if r.Problem != "" || p == nil {
		return r.Problem
	}
	if id := p.Drops(r.Graph); id != "" {
		return fmt.Sprintf("it drops or renames the task %s, which has passed", id)
	}
	return ""
}
