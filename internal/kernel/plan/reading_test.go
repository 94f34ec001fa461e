package plan

import (
	"strings"
	"testing"

	"pawl"
)

// A reading is of the last tasks that were told, as many as the list has.
func TestRead(t *testing.T) {
	told := entries("old", "a", "b after a")
	for _, row := range []struct {
		name    string
		told    []pawl.TaskEntry
		read    pawl.TasksRead
		problem string
	}{
		{"a list", told, pawl.TasksRead{Count: 2}, ""},
		{"none was told before", told[1:], pawl.TasksRead{Count: 2}, ""},
		{"fewer were told", told, pawl.TasksRead{Count: 4}, "it has 4 tasks, which is too many"},
		{"no graph", told[2:], pawl.TasksRead{Count: 1}, "task b depends on a, which is not in the list"},
		{"no tasks", told, pawl.TasksRead{Count: 0}, "the list has no tasks"},
		{"a problem is there already", told, pawl.TasksRead{Count: 4, Problem: "no list"}, "no list"},
	} {
		list := pawl.HashOf([]byte(row.name))
		r := Read(list, row.told, &row.read, "list")
		if r.Problem != row.problem || r.List != list || (r.Graph != nil) != (row.problem == "") {
			t.Errorf("%s: %q, the graph is %v", row.name, r.Problem, r.Graph)
		}
		if row.problem == "" && (len(r.Entries) != 2 || r.Entries[0].ID != "a") {
			t.Errorf("%s: the tasks are %+v", row.name, r.Entries)
		}
	}
}

// A list that follows a plan keeps what has passed.
func TestRefusal(t *testing.T) {
	p := planOf(t, "list", entries("a", "b"))
	p.Set(0, pawl.TaskPassed)
	for ids, want := range map[string]string{"a c": "", "b c": "it drops or renames the task a, which has passed"} {
		list := entries(strings.Fields(ids)...)
		r := Read(pawl.Hash{}, list, &pawl.TasksRead{Count: 2}, "list")
		if got := r.Refusal(p); got != want || r.Refusal(nil) != "" {
			t.Errorf("%s: %q, without a plan %q", ids, got, r.Refusal(nil))
		}
	}
	r := &Reading{Problem: "no list"}
	if r.Refusal(p) != "no list" || r.Refusal(nil) != "no list" {
		t.Errorf("with a problem: %q", r.Refusal(p))
	}
}
