package kernel

import (
	"math/bits"
	"slices"

	"pawl"
)

// plan is a loop's list of tasks and where each stands.
type plan struct {
	*graph
	version int
	list    pawl.Hash // as it was handed in

	// tasks are kept in pages and copied page by page when they change, so that a
	// draft of a plan of many tasks costs little.
	tasks []*taskPage
	ready []uint64 // a bit for each rank: pending, and nothing it depends on is open
	count [len(pawl.TaskLetters)]int

	started int            // children, over all versions
	kids    []pawl.LoopRef // those that are live
	dead    []int          // tasks that failed and whose dependents have not been told
	excused int            // how many of them no new plan was made for
	ended   []int          // tasks that a person ended, or something below them
	since   int            // tasks passed since the plan was made

	calling  pawl.ReplanCause // the plan is being made anew; empty = it is not
	why      string           // what calls for it, in words
	asked    bool             // the user wants it made anew
	found    int              // discoveries since the plan was made
	settled  bool             // it is not made anew any more
	unproven int              // tasks that passed without a command gate
	capped   int              // the limit on children that was reached; 0 = none
	full     bool             // that its places are taken, and one waits, was said
}

// task is where one stands.
type task struct {
	status pawl.TaskStatus
	open   int32 // dependencies that have not passed
	loop   pawl.LoopRef
	cause  int32  // why it is blocked: the position of the task that cannot pass
	tries  uint16 // attempts, over all versions
	batch  uint16 // in which it passed; 0 = it has not, or batches are not judged
	again  bool   // it has run once more because its loop failed by the machine
}

const pageSize = 64

type taskPage [pageSize]task

func newPlan(g *graph, version int, list pawl.Hash) *plan {
	n := len(g.entries)
	p := &plan{graph: g, version: version, list: list, ready: make([]uint64, (n+63)/64)}
	for range (n + pageSize - 1) / pageSize {
		p.tasks = append(p.tasks, &taskPage{})
	}
	p.count[pawl.TaskPending] = n
	for i := range n {
		t := p.edit(i)
		t.open = int32(len(g.deps[i]))
		p.mark(i, t)
	}
	return p
}

func (p *plan) clone() *plan {
	if p == nil {
		return nil
	}
	c := *p
	c.tasks, c.ready = slices.Clone(p.tasks), slices.Clone(p.ready)
	c.kids, c.dead = slices.Clone(p.kids), slices.Clone(p.dead)
	return &c
}

func (p *plan) at(i int) *task { return &p.tasks[i/pageSize][i%pageSize] }

// edit is a task to be changed.
func (p *plan) edit(i int) *task {
	page := *p.tasks[i/pageSize]
	p.tasks[i/pageSize] = &page
	return &page[i%pageSize]
}

// set moves a task to a status, and tells those that wait for it.
func (p *plan) set(i int, status pawl.TaskStatus) *task {
	t := p.edit(i)
	p.count[t.status]--
	p.count[status]++
	t.status = status
	p.mark(i, t)
	if status == pawl.TaskPassed {
		for _, j := range p.behind[i] {
			w := p.edit(int(j))
			w.open--
			p.mark(int(j), w)
		}
	}
	return p.at(i)
}

// mark keeps the bit that says whether a task is ready.
func (p *plan) mark(i int, t *task) {
	r := p.rank[i]
	if t.status == pawl.TaskPending && t.open == 0 {
		p.ready[r/64] |= 1 << (r % 64)
	} else {
		p.ready[r/64] &^= 1 << (r % 64)
	}
}

// next is the task that goes next; -1 = none is ready.
func (p *plan) next() int {
	for w, word := range p.ready {
		if word != 0 {
			return int(p.ranked[w*64+bits.TrailingZeros64(word)])
		}
	}
	return -1
}

// find is the position of a task; -1 = there is none of this id.
func (p *plan) find(id string) int {
	return slices.IndexFunc(p.entries, func(e pawl.TaskEntry) bool { return e.ID == id })
}

// where lists the positions of the tasks in a status.
func (p *plan) where(status pawl.TaskStatus) []int {
	if p.count[status] == 0 {
		return nil
	}
	out := make([]int, 0, p.count[status])
	for i := range p.entries {
		if p.at(i).status == status {
			out = append(out, i)
		}
	}
	return out
}

// succeeded reports whether every task has passed.
func (p *plan) succeeded() bool { return p.count[pawl.TaskPassed] == len(p.entries) }

// maxStates is of how many tasks a prompt is told where they stand.
const maxStates = 1000

// states tells where each task stands, one letter a task.
func (p *plan) states() string {
	out := make([]byte, min(len(p.entries), maxStates))
	for i := range out {
		out[i] = pawl.TaskLetters[p.at(i).status]
	}
	return string(out)
}

// successor is the plan that follows this one, with the results of tasks that
// have passed and the attempts of those that have not.
func (p *plan) successor(g *graph, list pawl.Hash) *plan {
	n := newPlan(g, p.version+1, list)
	n.started, n.kids, n.settled, n.unproven = p.started, p.kids, p.settled, p.unproven
	old := make(map[string]int, len(p.entries)) // looked up, never ranged over
	for i := range p.entries {
		old[p.entries[i].ID] = i
	}
	for i := range g.entries {
		j, kept := old[g.entries[i].ID]
		if !kept {
			continue
		}
		was := p.at(j)
		t := n.edit(i)
		t.tries, t.loop = was.tries, was.loop
		if was.status == pawl.TaskPassed {
			n.set(i, pawl.TaskPassed).batch = was.batch
		}
	}
	return n
}

// critical names a critical task that has failed; empty = none has.
func (p *plan) critical() string {
	for _, i := range p.dead {
		if p.entries[i].Critical {
			return p.entries[i].ID
		}
	}
	return ""
}

// drops names a task that has passed and that a new list leaves out; empty = there is none.
func (p *plan) drops(g *graph) string {
	there := make(map[string]bool, len(g.entries)) // looked up, never ranged over
	for i := range g.entries {
		there[g.entries[i].ID] = true
	}
	for i := range p.entries {
		if p.at(i).status == pawl.TaskPassed && !there[p.entries[i].ID] {
			return p.entries[i].ID
		}
	}
	return ""
}

// retry lets what failed run again when its run is resumed, what waited for it, and
// what was left out because of it.
func (p *plan) retry() {
	p.dead, p.excused, p.ended, p.capped = nil, 0, nil, 0
	for i := range p.entries {
		switch p.at(i).status {
		case pawl.TaskFailed, pawl.TaskBlocked, pawl.TaskSkipped:
			p.set(i, pawl.TaskPending)
		}
	}
}
