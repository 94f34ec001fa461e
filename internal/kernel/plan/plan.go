// Package plan holds the tasks of a loop with children: what each depends on, where each
// stands, which can run, and what a new version of the list keeps.
package plan

import (
	"fmt"
	"math/bits"
	"slices"

	"pawl"
)

// Plan is a loop's list of tasks and where each stands.
type Plan struct {
	*Graph
	Version int
	List    pawl.Hash // as it was handed in

	// tasks are kept in pages and copied page by page when they change, so that a
	// draft of a plan of many tasks costs little.
	tasks []*taskPage
	ready []uint64 // a bit for each rank: pending, and nothing it depends on is open
	Count [len(pawl.TaskLetters)]int

	Started int            // children, over all versions
	Kids    []pawl.LoopRef // those that are live
	Dead    []int          // tasks that failed and whose dependents have not been told
	Excused int            // how many of them no new plan was made for
	Ended   []int          // tasks that a person ended, or something below them
	Since   int            // tasks passed since the plan was made

	Calling  pawl.ReplanCause // the plan is being made anew; empty = it is not
	Why      string           // what calls for it, in words
	Asked    bool             // the user wants it made anew
	Found    int              // discoveries since the plan was made
	Settled  bool             // it is not made anew any more
	Unproven int              // tasks that passed without a command gate
	Capped   int              // the limit on children that was reached; 0 = none
	Full     bool             // that its places are taken, and one waits, was said
}

// Task is where one task stands.
type Task struct {
	Status pawl.TaskStatus
	Open   int32 // dependencies that have not passed
	Loop   pawl.LoopRef
	Cause  int32  // why it is blocked: the position of the task that cannot pass
	Tries  uint16 // attempts, over all versions
	Batch  uint16 // in which it passed; 0 = it has not, or batches are not judged
	Again  bool   // it has run once more because its loop failed by the machine
}

const pageSize = 64

type taskPage [pageSize]Task

// New is the plan of a list that was just accepted: every task is pending.
func New(g *Graph, version int, list pawl.Hash) *Plan {
	n := len(g.Entries)
	p := &Plan{Graph: g, Version: version, List: list, ready: make([]uint64, (n+63)/64)}
	for range (n + pageSize - 1) / pageSize {
		p.tasks = append(p.tasks, &taskPage{})
	}
	p.Count[pawl.TaskPending] = n
	for i := range n {
		t := p.Edit(i)
		t.Open = int32(len(g.Deps[i]))
		p.mark(i, t)
	}
	return p
}

// Clone is a copy that shares nothing that changes; of no plan, none.
func (p *Plan) Clone() *Plan {
	if p == nil {
		return nil
	}
	c := *p
	c.tasks, c.ready = slices.Clone(p.tasks), slices.Clone(p.ready)
	c.Kids, c.Dead = slices.Clone(p.Kids), slices.Clone(p.Dead)
	return &c
}

// At is the task at a position, to be looked at.
func (p *Plan) At(i int) *Task { return &p.tasks[i/pageSize][i%pageSize] }

// Edit is the task at a position, to be changed in all but its status: see [Plan.Set].
func (p *Plan) Edit(i int) *Task {
	page := *p.tasks[i/pageSize]
	p.tasks[i/pageSize] = &page
	return &page[i%pageSize]
}

// Set moves a task to a status, and tells those that wait for it.
func (p *Plan) Set(i int, status pawl.TaskStatus) *Task {
	t := p.Edit(i)
	p.Count[t.Status]--
	p.Count[status]++
	t.Status = status
	p.mark(i, t)
	if status == pawl.TaskPassed {
		for _, j := range p.behind[i] {
			w := p.Edit(int(j))
			w.Open--
			p.mark(int(j), w)
		}
	}
	return p.At(i)
}

// mark keeps the bit that says whether a task is ready.
func (p *Plan) mark(i int, t *Task) {
	r := p.rank[i]
	if t.Status == pawl.TaskPending && t.Open == 0 {
		p.ready[r/64] |= 1 << (r % 64)
	} else {
		p.ready[r/64] &^= 1 << (r % 64)
	}
}

// Next is the task that goes next; -1 = none is ready.
func (p *Plan) Next() int {
	for w, word := range p.ready {
		if word != 0 {
			return int(p.ranked[w*64+bits.TrailingZeros64(word)])
		}
	}
	return -1
}

// Find is the position of a task; -1 = there is none of this id.
func (p *Plan) Find(id string) int {
	return slices.IndexFunc(p.Entries, func(e pawl.TaskEntry) bool { return e.ID == id })
}

// Where lists the positions of the tasks in a status.
func (p *Plan) Where(status pawl.TaskStatus) []int {
	if p.Count[status] == 0 {
		return nil
	}
	out := make([]int, 0, p.Count[status])
	for i := range p.Entries {
		if p.At(i).Status == status {
			out = append(out, i)
		}
	}
	return out
}

// Succeeded reports whether every task has passed.
func (p *Plan) Succeeded() bool { return p.Count[pawl.TaskPassed] == len(p.Entries) }

// maxStates is of how many tasks a prompt is told where they stand.
const maxStates = 1000

// States tells where each task stands, one letter a task.
func (p *Plan) States() string {
	out := make([]byte, min(len(p.Entries), maxStates))
	for i := range out {
		out[i] = pawl.TaskLetters[p.At(i).Status]
	}
	return string(out)
}

// Successor is the plan that follows this one, with the results of tasks that
// have passed and the attempts of those that have not.
func (p *Plan) Successor(g *Graph, list pawl.Hash) *Plan {
	n := New(g, p.Version+1, list)
	n.Started, n.Kids, n.Settled, n.Unproven = p.Started, p.Kids, p.Settled, p.Unproven
	old := make(map[string]int, len(p.Entries)) // looked up, never ranged over
	for i := range p.Entries {
		old[p.Entries[i].ID] = i
	}
	for i := range g.Entries {
		j, kept := old[g.Entries[i].ID]
		if !kept {
			continue
		}
		was := p.At(j)
		t := n.Edit(i)
		t.Tries, t.Loop = was.Tries, was.Loop
		if was.Status == pawl.TaskPassed {
			n.Set(i, pawl.TaskPassed).Batch = was.Batch
		}
	}
	return n
}

// Critical names a critical task that has failed; empty = none has.
func (p *Plan) Critical() string {
	for _, i := range p.Dead {
		if p.Entries[i].Critical {
			return p.Entries[i].ID
		}
	}
	return ""
}

// Drops names a task that has passed and that a new list leaves out; empty = there is none.
func (p *Plan) Drops(g *Graph) string {
	there := make(map[string]bool, len(g.Entries)) // looked up, never ranged over
	for i := range g.Entries {
		there[g.Entries[i].ID] = true
	}
	for i := range p.Entries {
		if p.At(i).Status == pawl.TaskPassed && !there[p.Entries[i].ID] {
			return p.Entries[i].ID
		}
	}
	return ""
}

// Retry lets what failed run again when its run is resumed, what waited for it, and
// what was left out because of it.
func (p *Plan) Retry() {
	p.Dead, p.Excused, p.Ended, p.Capped = nil, 0, nil, 0
	for i := range p.Entries {
		switch p.At(i).Status {
		case pawl.TaskFailed, pawl.TaskBlocked, pawl.TaskSkipped:
			p.Set(i, pawl.TaskPending)
		}
	}
}

// Changes tells in short what is different in a new list.
func (p *Plan) Changes(g *Graph) string {
	old := make(map[string]bool, len(p.Entries)) // looked up, never ranged over
	for i := range p.Entries {
		old[p.Entries[i].ID] = true
	}
	kept := 0
	for i := range g.Entries {
		if old[g.Entries[i].ID] {
			kept++
		}
	}
	return fmt.Sprintf("%d kept, %d new, %d dropped", kept, len(g.Entries)-kept, len(p.Entries)-kept)
}
