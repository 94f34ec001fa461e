package monitor

import (
	"strings"
	"testing"

	"pawl"
)

// nearer treats zero as a known value and looks back exactly n values.
func TestNearer(t *testing.T) {
	const no = -1 // not known
	for _, c := range []struct {
		name  string
		marks []mark
		n     int
		want  bool
	}{
		{"more pass than in the last two", []mark{{9, no, 0}, {1, no, 0}, {2, no, 0}, {3, no, 0}}, Nearer, true},
		{"fewer pass than in the last three", []mark{{9, no, 0}, {1, no, 0}, {2, no, 0}, {3, no, 0}}, 3, false},
		{"none passed, one does", []mark{{0, no, 0}, {1, no, 0}}, Window, true},
		{"unknown how many passed", []mark{{no, no, 0}, {1, no, 0}}, Window, false},
		{"fewer fail than at first", []mark{{no, 2, 0}, {no, 1, 0}}, Nearer, true},
		{"none failed, one does", []mark{{no, 3, 0}, {no, 0, 0}, {no, 1, 0}}, Nearer, false},
		{"none fails any more", []mark{{no, 2, 0}, {no, 0, 0}}, Nearer, true},
		{"fewer fail and none passes any more", []mark{{5, 3, 0}, {0, 1, 0}}, Nearer, false},
	} {
		if got := nearer(c.marks, c.n); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// An attempt whose gates counted no tests differs from one in which no test failed.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		task  Task
		want  mark
		known bool
	}{
		{Task{Passing: -1}, mark{-1, -1, 0}, false},
		{Task{Passing: 0}, mark{0, 0, 0}, true},
		{Task{Passing: 5}, mark{5, 0, 0}, true},
		{Task{Passing: 5, Failing: 7}, mark{5, -1, 7}, true},
		{Task{Passing: 0, Failing: 7}, mark{0, -1, 7}, true},
		{Task{Passing: -1, Failed: 2}, mark{-1, 2, 0}, true},
	} {
		if got := marks([]attempt{{0, &c.task}})[0]; got != c.want || got.known() != c.known {
			t.Errorf("%+v: got %+v, known %t; want %+v, %t", c.task, got, got.known(), c.want, c.known)
		}
	}
	if !(mark{-1, 0, 0}).known() {
		t.Error("a mark without failing tests is not known")
	}
}

// A reason of exactly the maximum length is not cut.
func TestReasonOfFullLength(t *testing.T) {
	why := strings.Repeat("x", ReasonMax)
	if got := verdictOf(pawl.HealthStalled, why).Reason; got != why {
		t.Errorf("a reason of %d bytes became one of %d", len(why), len(got))
	}
}
