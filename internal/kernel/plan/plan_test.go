package plan

import (
	"reflect"
	"testing"

	"pawl"
)

func planOf(t *testing.T, order string, tasks []pawl.TaskEntry) *Plan {
	t.Helper()
	g, err := NewGraph(tasks, order)
	if err != nil {
		t.Fatal(err)
	}
	return New(g, 1, pawl.HashOf([]byte("list")))
}

// A task is ready when everything it depends on has passed. No other status counts.
func TestReady(t *testing.T) {
	p := planOf(t, "list", entries("a", "b after a", "c after a b"))
	if p.Next() != 0 {
		t.Fatalf("%d goes first", p.Next())
	}
	for _, status := range []pawl.TaskStatus{pawl.TaskRunning, pawl.TaskFailed, pawl.TaskSkipped, pawl.TaskBlocked} {
		if p.Set(0, status); p.Next() != -1 { // P-65 P-69 P-71
			t.Errorf("with a %s, %d goes next", status, p.Next())
		}
	}
	p.Set(0, pawl.TaskPassed)
	if p.Next() != 1 || p.At(2).Open != 1 { // P-72 L-72
		t.Errorf("%d goes next, and c waits for %d", p.Next(), p.At(2).Open)
	}
	p.Set(1, pawl.TaskPassed)
	if p.Next() != 2 || p.States() != "aap" { // P-66: passed, passed, pending
		t.Errorf("%d goes next: %s", p.Next(), p.States())
	}
}

// A new version keeps what has passed, and how often the others were tried; what
// it adds waits for what has not passed. L-B11, L-B12
func TestSuccessor(t *testing.T) {
	p := planOf(t, "list", entries("a", "b after a", "c after b", "d"))
	p.Set(0, pawl.TaskPassed).Loop = 7
	p.Set(1, pawl.TaskFailed).Tries = 3
	p.Set(2, pawl.TaskBlocked)
	p.Started, p.Unproven, p.Settled = 2, 1, true
	g, err := NewGraph(entries("n", "b after n a", "a", "m after a"), "list")
	if err != nil {
		t.Fatal(err)
	}
	if dropped := p.Drops(g); dropped != "" {
		t.Errorf("it drops %s", dropped)
	}
	n := p.Successor(g, pawl.HashOf([]byte("new")))
	if n.Version != 2 || n.Started != 2 || n.Unproven != 1 || !n.Settled || n.Count[pawl.TaskPassed] != 1 || n.Count[pawl.TaskPending] != 3 {
		t.Errorf("got %+v", n)
	}
	if a, b := n.At(2), n.At(1); a.Status != pawl.TaskPassed || a.Loop != 7 || b.Status != pawl.TaskPending || b.Tries != 3 || b.Open != 1 {
		t.Errorf("a is %+v, b %+v", *n.At(2), *n.At(1))
	}
	if n.Next() != 0 || n.At(3).Open != 0 || p.Changes(g) != "2 kept, 2 new, 2 dropped" {
		t.Errorf("%d goes next: %s", n.Next(), p.Changes(g))
	}
	if g, err = NewGraph(entries("b", "d"), "list"); err != nil || p.Drops(g) != "a" {
		t.Errorf("what has passed may be dropped: %v", err)
	}
}

// A new version keeps in which batch a task passed or was dropped, as a rollback asks for it.
func TestSuccessorKeepsBatches(t *testing.T) {
	p := planOf(t, "list", entries("a", "b", "c after b"))
	p.Pass(0, 3, true, true)
	p.Drop(1, 4)
	g, err := NewGraph(entries("c after b", "b", "a"), "list")
	if err != nil {
		t.Fatal(err)
	}
	n := p.Successor(g, pawl.Hash{})
	if a, b := n.At(2), n.At(1); a.Status != pawl.TaskPassed || a.Batch != 3 || b.Status != pawl.TaskDropped || b.Batch != 4 || n.At(0).Open != 0 || n.Next() != 0 {
		t.Errorf("a is %+v, b %+v, c %+v", *a, *b, *n.At(0))
	}
}

// A copy of a plan shares nothing that changes.
func TestPlanClone(t *testing.T) {
	p := planOf(t, "list", numbered(200))
	want := p.States()
	c := p.Clone()
	for i := range 200 {
		c.Set(i, pawl.TaskPassed)
	}
	c.Kids, c.Dead = append(c.Kids, 1), append(c.Dead, 1)
	if p.States() != want || p.Next() != 0 || p.Count[pawl.TaskPassed] != 0 || len(p.Kids)+len(p.Dead) != 0 || c.Next() != -1 || !c.Succeeded() {
		t.Errorf("the plan is %s", p.States())
	}
	if !reflect.DeepEqual(p, planOf(t, "list", numbered(200))) {
		t.Error("the plan has changed")
	}
}

// What failed runs again when its run is resumed, what waited for it, and what was
// left out because of it. P-B01
func TestRetry(t *testing.T) {
	p := planOf(t, "list", entries("a", "b after a", "c", "d"))
	p.Set(0, pawl.TaskFailed)
	p.Set(1, pawl.TaskBlocked)
	p.Set(2, pawl.TaskPassed)
	p.Set(3, pawl.TaskSkipped)
	p.Dead, p.Excused, p.Ended, p.Capped = []int{0}, 1, []int{0}, 1
	if p.Retry(); p.Next() != 0 || p.Count[pawl.TaskPending] != 3 || p.Dead != nil || p.Excused != 0 || p.Ended != nil || p.Capped != 0 {
		t.Errorf("got %s, %d goes next", p.States(), p.Next())
	}
}

// Outcomes: blocked when nothing could run any more and something is blocked.
func TestPlanOutcome(t *testing.T) {
	p := planOf(t, "list", entries("a", "b after a", "c"))
	if p.Outcome("") != pawl.OutcomeIncomplete || p.Unmet() != "0 of 3 tasks passed; 3 not begun: a, b, c" {
		t.Errorf("%s: %s", p.Outcome(""), p.Unmet())
	}
	p.Capped = 1 // P-B04
	if got := p.Unmet(); got != "max iterations reached: 0 of 3 tasks passed; 3 not begun: a, b, c" {
		t.Error(got)
	}
	p.Set(0, pawl.TaskFailed)
	p.Set(1, pawl.TaskBlocked)
	p.Capped = 0
	if p.Outcome("") != pawl.OutcomeIncomplete { // c could run
		t.Errorf("%s: %s", p.Outcome(""), p.Unmet())
	}
	p.Set(2, pawl.TaskPassed)
	if p.Outcome("") != pawl.OutcomeBlocked || p.Outcome("fail") != pawl.OutcomeFailed || p.Unmet() != "1 of 3 tasks passed; 1 failed: a; 1 blocked: b" {
		t.Errorf("%s: %s", p.Outcome(""), p.Unmet())
	}
}
