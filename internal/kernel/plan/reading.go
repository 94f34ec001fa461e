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

// Read is the reading of a list of so many tasks, of which the last are told.
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

// Refusal says why the list cannot follow a plan, which may be nil: it cannot be read, its graph
// is broken, or it drops or renames what has passed. Empty = it can.
func (r *Reading) Refusal(p *Plan) string {
	if r.Problem != "" || p == nil {
		return r.Problem
	}
	if id := p.Drops(r.Graph); id != "" {
		return fmt.Sprintf("it drops or renames the task %s, which has passed", id)
	}
	return ""
}
