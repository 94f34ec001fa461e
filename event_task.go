package pawl

// The events of the tasks of a list.

// TasksRead answers [ReadTasks]. In the log its entries are in the TasksListed
// before it.
type TasksRead struct {
	Effect  Seq         `json:"effect"`
	Entries []TaskEntry `json:"-"`
	Count   int         `json:"count"`
	// Problem says why the list cannot be read; empty = it can.
	Problem string `json:"problem,omitempty"` // at most 300 bytes
}

// EventKind implements [Body].
func (*TasksRead) EventKind() Kind { return KindTasksRead }

func (b *TasksRead) fields(c *coder) {
	num(c, 1, &b.Effect)
	num(c, 2, &b.Count)
	str(c, 3, &b.Problem)
}

// Answers implements [Answer].
func (b *TasksRead) Answers() Seq { return b.Effect }

// TasksListed carries a part of the list of tasks that a TasksRead behind it
// closes: an event is small, a list need not be.
type TasksListed struct {
	Entries []TaskEntry `json:"entries"`
}

// EventKind implements [Body].
func (*TasksListed) EventKind() Kind { return KindTasksListed }

func (b *TasksListed) fields(c *coder) {
	list(c, 1, &b.Entries, func(c *coder, e *TaskEntry) { e.fields(c) })
}

// TaskJudged says what a batch makes of one of its tasks: its gates, its review or
// a conflict. Only pass lets the task's work into the parent's branch.
type TaskJudged struct {
	Batch   int     `json:"batch"`
	Task    int     `json:"task"` // its position, from 0
	By      string  `json:"by"`   // review, merge, or the gate's name
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"` // at most 300 bytes
	// Evidence is the review, the gate's report or what conflicts.
	Evidence Hash `json:"evidence,omitzero"`
	// Words is the fingerprint of the words with which a review objects; 0 = it does not, or they are not
	// known.
	Words uint64 `json:"words,omitempty"`
}

// EventKind implements [Body].
func (*TaskJudged) EventKind() Kind { return KindTaskJudged }

func (b *TaskJudged) fields(c *coder) {
	num(c, 1, &b.Batch)
	num(c, 2, &b.Task)
	str(c, 3, &b.By)
	str(c, 4, &b.Verdict)
	str(c, 5, &b.Reason)
	sum(c, 6, &b.Evidence)
	num(c, 7, &b.Words)
}

// TaskHeld says that a task waits for another one it did not name: it found out
// at work that it depends on it.
type TaskHeld struct {
	Task   int    `json:"task"`   // its position, from 0
	Behind int    `json:"behind"` // the position of the one it waits for
	Reason string `json:"reason"` // at most 200 bytes
}

// EventKind implements [Body].
func (*TaskHeld) EventKind() Kind { return KindTaskHeld }

func (b *TaskHeld) fields(c *coder) {
	num(c, 1, &b.Task)
	num(c, 2, &b.Behind)
	str(c, 3, &b.Reason)
}

// TaskRetried says that a task whose loop failed runs once more with a fresh loop,
// because what it failed by was not its work.
type TaskRetried struct {
	Task   int    `json:"task"`   // its position, from 0
	Reason string `json:"reason"` // at most 300 bytes
}

// EventKind implements [Body].
func (*TaskRetried) EventKind() Kind { return KindTaskRetried }

func (b *TaskRetried) fields(c *coder) {
	num(c, 1, &b.Task)
	str(c, 2, &b.Reason)
}

// TasksBlocked says that tasks can no longer run, because something they depend
// on, directly or not, can no longer pass.
type TasksBlocked struct {
	Cause string `json:"cause"` // the id of the task that cannot pass
	Tasks []int  `json:"tasks"` // positions in the list, from 0
}

// EventKind implements [Body].
func (*TasksBlocked) EventKind() Kind { return KindTasksBlocked }

func (b *TasksBlocked) fields(c *coder) {
	str(c, 1, &b.Cause)
	ints(c, 2, &b.Tasks)
}

// TasksSkipped says that tasks are not going to run.
type TasksSkipped struct {
	Tasks  []int  `json:"tasks"` // positions in the list, from 0
	Reason string `json:"reason"`
}

// EventKind implements [Body].
func (*TasksSkipped) EventKind() Kind { return KindTasksSkipped }

func (b *TasksSkipped) fields(c *coder) {
	ints(c, 1, &b.Tasks)
	str(c, 2, &b.Reason)
}
