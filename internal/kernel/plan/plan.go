// Package plan holds the tasks of a loop with children: what each depends on, its status, which
// task can start next, and what a new version of the plan keeps.
package plan

import (
	"fmt"
	"math/bits"
	"slices"

	"pawl"
)

// Plan is a loop's list of tasks with the status of each. Tasks are named by their position in
// the list, from 0.
type Plan struct {
	*Graph
	Version int       // from 1
	List    pawl.Hash // the list as it was handed in

	// Tasks are kept in pages. A change copies one page, so that a copy of a plan with many
	// tasks costs little.
	tasks []*taskPage
	ready []uint64                   // a bit for each rank: the task is pending and no dependency is open
	Count [len(pawl.TaskLetters)]int // tasks by status

	Started int            // children that were started, over all versions
	Kids    []pawl.LoopRef // children that have not ended, in the order in which they started or were resumed
	Dead    []int          // tasks that failed and whose dependents are not blocked yet; the excused ones first
	Excused int            // how many tasks of Dead call for no new plan
	Ended   []int          // tasks that failed because a person ended them, or something below them
	Since   int            // tasks that have passed since the plan was made

	Calling  pawl.ReplanCause // why the plan is being made anew; empty = it is not
	Why      string           // the same in words
	Asked    bool             // the user wants it made anew
	Found    int              // discoveries since the plan was made
	Settled  bool             // it is not made anew any more, unless the user asks for it
	Granted  int              // versions above the limit that persons have allowed
	Unproven int              // tasks that passed without proof
	Errors   []Failure        // why tasks failed for good, the latest, over all versions; at most maxErrors
	Capped   int              // the limit on children that was reported as reached; 0 = none was
	Full     bool             // it was reported that a child waits because too many of them work
}

// Task is the state of one task. The zero value is pending.
type Task struct {
	Status pawl.TaskStatus
	Open   int32        // dependencies that have not passed
	Loop   pawl.LoopRef // the last loop that worked on it; 0 = none has
	Cause  int32        // if it is blocked, the position of the task that cannot pass
	Tries  uint16       // attempts, over all versions
	Batch  uint16       // the batch in which it passed or was dropped; 0 = none, or there are no batches
	Shown  bool         // it passed, and more shows its work than that nothing broke
	Void   bool         // it failed, and those that depend on it are worked on all the same
	Again  bool         // it runs once more, or has, because its loop failed for another reason than its work
}

// Failure is one objection to the last attempt at a task that failed for good.
type Failure struct {
	Task string // its id
	pawl.Feedback
}

// maxErrors bounds the failures that a plan keeps, and maxTaskErrors those of one task.
const (
	maxErrors     = 6
	maxTaskErrors = 3
)

// NoteErrors records why a task failed for good, instead of why it failed before.
func (p *Plan) NoteErrors(task int, why []pawl.Feedback) {
	p.forgetErrors(task)
	for _, f := range why[:min(len(why), maxTaskErrors)] {
		p.Errors = append(p.Errors, Failure{p.Entries[task].ID, f})
	}
	p.Errors = p.Errors[max(0, len(p.Errors)-maxErrors):]
}

// forgetErrors forgets why a task failed.
func (p *Plan) forgetErrors(task int) {
	p.Errors = slices.DeleteFunc(slices.Clone(p.Errors), func(f Failure) bool { return f.Task == p.Entries[task].ID })
}

// pageSize is how many tasks are copied at once.
const pageSize = 64

// taskPage is a part of a plan's tasks.
type taskPage [pageSize]Task

// New returns a plan of the graph's tasks, all of which are pending. List is the list that the
// graph was made of.
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

// Clone returns a copy that can change without p. A nil plan has a nil clone.
func (p *Plan) Clone() *Plan {
	if p == nil {
		return nil
	}
	c := *p
	c.tasks, c.ready = slices.Clone(p.tasks), slices.Clone(p.ready)
	c.Kids, c.Dead = slices.Clone(p.Kids), slices.Clone(p.Dead)
	return &c
}

// At returns the task at a position. It must not be changed, and later changes of the plan may not
// show in it.
func (p *Plan) At(i int) *Task { return &p.tasks[i/pageSize][i%pageSize] }

// Edit returns the task at a position for changes until the next change of the plan. The status is
// changed with [Plan.Set] only.
func (p *Plan) Edit(i int) *Task {
	page := *p.tasks[i/pageSize]
	p.tasks[i/pageSize] = &page
	return &page[i%pageSize]
}

// isOver reports whether those that depend on the task need not wait for it.
func (t *Task) isOver() bool {
	return t.Status == pawl.TaskPassed || t.Status == pawl.TaskDropped || t.Status == pawl.TaskFailed && t.Void
}

// Set changes the status of a task and returns the task. It opens or closes the task for those that
// depend on it. A task that is no longer failed is no longer void.
func (p *Plan) Set(i int, status pawl.TaskStatus) *Task {
	t := p.Edit(i)
	over := t.isOver()
	p.Count[t.Status]--
	p.Count[status]++
	t.Status, t.Void = status, t.Void && status == pawl.TaskFailed
	p.mark(i, t)
	p.open(i, over, t.isOver())
	return p.At(i)
}

// open records for those that depend on a task that it was over, or not, and now is, or not.
func (p *Plan) open(i int, was, is bool) {
	if was == is {
		return
	}
	for _, j := range p.behind[i] {
		w := p.Edit(int(j))
		if is {
			w.Open--
		} else {
			w.Open++
		}
		p.mark(int(j), w)
	}
}

// mark sets or clears the bit that says whether a task is ready.
func (p *Plan) mark(i int, t *Task) {
	r := p.rank[i]
	if t.Status == pawl.TaskPending && t.Open == 0 {
		p.ready[r/64] |= 1 << (r % 64)
	} else {
		p.ready[r/64] &^= 1 << (r % 64)
	}
}

// Next returns the position of the ready task that starts first, or -1 if none is ready.
func (p *Plan) Next() int {
	for w, word := range p.ready {
		if word != 0 {
			return int(p.ranked[w*64+bits.TrailingZeros64(word)])
		}
	}
	return -1
}

// Find returns the position of the task with this id, or -1.
func (p *Plan) Find(id string) int {
	return slices.IndexFunc(p.Entries, func(e pawl.TaskEntry) bool { return e.ID == id })
}

// Where returns the positions of the tasks with a status, in list order.
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

// Succeeded reports whether every task has passed, or another one was picked instead.
func (p *Plan) Succeeded() bool {
	return p.Count[pawl.TaskPassed]+p.Count[pawl.TaskDropped] == len(p.Entries)
}

// Remains reports whether a task is pending that does not depend on one that failed for good.
func (p *Plan) Remains() bool {
	lost := make([]bool, len(p.Entries))
	pending := func(i int) bool { return p.At(i).Status == pawl.TaskPending }
	for _, i := range p.Dead {
		if p.At(i).Void {
			continue
		}
		for _, j := range p.Reached(i, pending) {
			lost[j] = true
		}
	}
	return slices.ContainsFunc(p.Where(pawl.TaskPending), func(i int) bool { return !lost[i] })
}

// maxStates bounds for how many tasks a prompt has the status.
const maxStates = 1000

// States returns the status of the first 1000 tasks, one letter of [pawl.TaskLetters] per task.
func (p *Plan) States() string {
	out := make([]byte, min(len(p.Entries), maxStates))
	for i := range out {
		out[i] = pawl.TaskLetters[p.At(i).Status]
	}
	return string(out)
}

// Successor returns the next version of the plan, with the tasks of g. A task whose id is in both
// versions keeps its loop and its tries, and whether it has passed or was dropped; otherwise it is
// pending. The
// children and what was counted over all versions are kept too.
func (p *Plan) Successor(g *Graph, list pawl.Hash) *Plan {
	n := New(g, p.Version+1, list)
	n.Started, n.Kids, n.Settled, n.Granted, n.Unproven = p.Started, p.Kids, p.Settled, p.Granted, p.Unproven
	n.Errors = p.Errors
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
		if was.Status == pawl.TaskPassed || was.Status == pawl.TaskDropped {
			n.Set(i, was.Status).Batch = was.Batch
		}
	}
	return n
}

// Drops returns the id of a task that has passed and is missing in g, or "".
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

// Retry makes all tasks pending that failed, were blocked or were skipped, as when a run is
// resumed.
func (p *Plan) Retry() {
	p.Dead, p.Excused, p.Ended, p.Capped = nil, 0, nil, 0
	for i := range p.Entries {
		switch p.At(i).Status {
		case pawl.TaskFailed, pawl.TaskBlocked, pawl.TaskSkipped:
			p.Set(i, pawl.TaskPending)
		}
	}
}

// Changes returns in words how many tasks a new list keeps, adds and drops, by their ids.
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
