package view

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// TodoState is how far a task of the plan is.
type TodoState string

// The states.
const (
	TodoNotStarted TodoState = "not-started"
	TodoInProgress TodoState = "in-progress" // its batch, or its loop, has begun
	TodoCompleted  TodoState = "completed"   // approved, and in the branch of the loop above
)

// Todo is a task of the plan as a list of what is to do shows it. Its texts are
// safe to print.
type Todo struct {
	N     int       `json:"n"` // its place in the list, from 1
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	State TodoState `json:"state"`
	Text  string    `json:"text"` // "<id>: <name>"
	// Note is what else is to be said of it, such as that it failed; mostly empty.
	Note string `json:"note,omitempty"`
}

// String returns the line that lists print: "1. [completed] 1.1: Add auth middleware".
func (t Todo) String() string { return fmt.Sprintf("%d. [%s] %s", t.N, t.State, t.Text) }

// TodoList is what is to do in a run, for other programs and every face. Fields
// are added, never renamed.
type TodoList struct {
	Run        pawl.RunID `json:"run"`
	Version    int        `json:"version"` // of the plan; 0 = there is none yet
	NotStarted int        `json:"not_started"`
	InProgress int        `json:"in_progress"`
	Completed  int        `json:"completed"`
	Todos      []Todo     `json:"todos"`
}

// Todos returns a list of the tasks of the run's plan: all not started when the plan
// is accepted, in progress from when their batch begins, before anybody works on
// them, and completed when their work is approved and in the branch. What a
// rollback opens again has not started.
func Todos(r *Run) TodoList {
	out := TodoList{Run: pawl.RunID(plain.Line(string(r.ID), 0)), Todos: []Todo{}}
	l := r.root()
	p := l.Plan()
	if p == nil {
		return out
	}
	out.Version = p.Version
	asks := map[*Task]int{}
	for _, q := range r.OpenQuestions() {
		asks[r.task(q.Loop)] = q.N
	}
	for _, t := range p.Tasks {
		x := Todo{N: t.N, ID: plain.Line(t.ID, 0), Name: plain.Line(t.Title, 0), State: l.todoState(t), Note: t.note()}
		if n := asks[t]; n > 0 {
			x.Note = fmt.Sprintf("waits for question %d", n)
		}
		x.Text = x.ID + ": " + x.Name
		switch x.State {
		case TodoCompleted:
			out.Completed++
		case TodoInProgress:
			out.InProgress++
		default:
			out.NotStarted++
		}
		out.Todos = append(out.Todos, x)
	}
	return out
}

// todoState returns how far a task of the loop's plan is. One whose loop has passed
// waits in its batch until the branch has its work.
func (l *Loop) todoState(t *Task) TodoState {
	switch {
	case t.Status == pawl.TaskPassed:
		if x := l.underWay(); x != nil && !x.landed[t.ID] && slices.Contains(x.ids, t.ID) {
			return TodoInProgress
		}
		return TodoCompleted
	case t.Status == pawl.TaskDropped: // nothing of it is left to do
		return TodoCompleted
	case t.Status == pawl.TaskBlocked || t.Status == pawl.TaskSkipped:
		return TodoNotStarted
	case t.begun || t.Status == pawl.TaskRunning || t.Status == pawl.TaskFailed:
		return TodoInProgress
	}
	return TodoNotStarted
}

// note returns what a state of three does not say of a task.
func (t *Task) note() string {
	switch {
	case t.Status == pawl.TaskFailed:
		return line("failed%s", because(t.Reason))
	case t.Status == pawl.TaskBlocked:
		return line("blocked by %s", t.Cause)
	case t.Status == pawl.TaskSkipped:
		return line("skipped%s", because(t.Reason))
	case t.Status == pawl.TaskDropped:
		return line("dropped%s", because(t.Reason))
	case t.Status == pawl.TaskPassed:
		return ""
	case t.Held != nil:
		return line("waits for %s%s", t.HeldBehind, because(t.Held.Reason))
	case t.Judged != nil && !t.Judged.Approved():
		return line("changes wanted (%s)%s", t.Judged.By, because(t.Judged.Reason))
	}
	return ""
}

// TodosText returns the list for people, one line each, with notes behind them.
func TodosText(r *Run) string {
	var t text
	list := Todos(r)
	for _, x := range list.Todos {
		t.line("%s", x.noted())
	}
	return t.String()
}

// noted returns the line with its note.
func (t Todo) noted() string {
	if t.Note == "" {
		return t.String()
	}
	return t.String() + " · " + t.Note
}

// summary counts the list: "3 completed, 2 in-progress, 7 not-started".
func (l *TodoList) summary() string { return countStates(l.Todos) }

func countStates(all []Todo) string {
	n := map[TodoState]int{}
	for _, t := range all {
		n[t.State]++
	}
	var parts []string
	for _, s := range []TodoState{TodoCompleted, TodoInProgress, TodoNotStarted} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return strings.Join(parts, ", ")
}

// window is as much of the list as fits in so many rows, in its order: first of
// all what is in progress, then what comes next, then what was completed last.
// Of what is left out the last row says how much it is.
func (l *TodoList) window(rows int) (shown, left []Todo) {
	if rows < 1 || len(l.Todos) == 0 {
		return nil, l.Todos
	}
	if len(l.Todos) <= rows {
		return l.Todos, nil
	}
	rank := map[TodoState]int{TodoInProgress: 0, TodoNotStarted: 1, TodoCompleted: 2}
	byRank := slices.Clone(l.Todos)
	slices.SortStableFunc(byRank, func(a, b Todo) int {
		if a.State == TodoCompleted && b.State == TodoCompleted {
			return b.N - a.N
		}
		return rank[a.State] - rank[b.State]
	})
	shown, left = byRank[:rows-1], byRank[rows-1:]
	slices.SortFunc(shown, func(a, b Todo) int { return a.N - b.N })
	return shown, left
}
