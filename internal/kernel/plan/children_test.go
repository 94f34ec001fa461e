package plan

import (
	"slices"
	"testing"

	"pawl"
)

// A task's loop is started once, for a task that is pending under the name of its entry.
func TestSpawn(t *testing.T) {
	p := planOf(t, "list", entries("a", "b", "c"))
	p.Kids = []pawl.LoopRef{2}
	before := p.Clone()
	if e, err := p.Spawn(&pawl.LoopStarted{Entry: 2, Task: "b"}, 5); err != nil || e != &p.Entries[1] || p.At(1).Status != pawl.TaskRunning || p.At(1).Loop != 5 {
		t.Errorf("%v: %+v", err, p.At(1))
	}
	if _, err := p.Spawn(&pawl.LoopStarted{Entry: 3, Task: "c", Pending: true}, 6); err != nil || p.At(2).Status != pawl.TaskPending || p.At(2).Loop != 6 {
		t.Errorf("%v: %+v", err, p.At(2))
	}
	if p.Started != 2 || !slices.Equal(p.Kids, []pawl.LoopRef{2, 5, 6}) || before.Started != 0 || len(before.Kids) != 1 {
		t.Errorf("%d were started: %v", p.Started, p.Kids)
	}
	for _, b := range []pawl.LoopStarted{{Entry: 0, Task: "a"}, {Entry: 4, Task: "d"}, {Entry: 1, Task: "b"}, {Entry: 2, Task: "b"}} {
		if _, err := p.Spawn(&b, 7); err == nil {
			t.Errorf("entry %d with the task %s is started", b.Entry, b.Task)
		}
	}
	if _, err := (*Plan)(nil).Spawn(&pawl.LoopStarted{Entry: 1, Task: "a"}, 7); err == nil {
		t.Error("a task of no plan is started")
	}
}

// The children are those that have not ended, in the order in which they began or were resumed.
func TestLeaveAndRejoin(t *testing.T) {
	p := planOf(t, "list", entries("a"))
	p.Kids = []pawl.LoopRef{2, 3, 4}
	before := *p
	p.Leave(3)
	left := *p
	if p.Rejoin(3); !slices.Equal(p.Kids, []pawl.LoopRef{2, 4, 3}) || !slices.Equal(before.Kids, []pawl.LoopRef{2, 3, 4}) || !slices.Equal(left.Kids, []pawl.LoopRef{2, 4}) {
		t.Errorf("the children are %v, before %v, then %v", p.Kids, before.Kids, left.Kids)
	}
	p.Kids = append(make([]pawl.LoopRef, 0, 4), 2)
	one, other := *p, *p
	one.Rejoin(3)
	if other.Rejoin(4); one.Kids[1] != 3 {
		t.Error("two copies of a plan share their children")
	}
}

func TestHolds(t *testing.T) {
	p := planOf(t, "list", entries("a", "b"))
	p.Version, p.Edit(1).Loop = 3, 7
	if !p.Holds(1, 3, 7) || p.Holds(1, 2, 7) || p.Holds(1, 3, 6) || p.Holds(0, 3, 7) || (*Plan)(nil).Holds(1, 3, 7) {
		t.Error("a loop has its task under one version of the plan only")
	}
}

// Those that depend on a failed task wait, unless its failure is void. An excused one is first
// among the dead, behind the others that are excused.
func TestFail(t *testing.T) {
	p := planOf(t, "list", entries("a", "b", "c", "d", "e after d"))
	before := p.Clone()
	p.Fail(0, false, false, false)
	p.Fail(1, true, true, false)
	p.Fail(2, true, false, false)
	if !slices.Equal(p.Dead, []int{1, 2, 0}) || p.Excused != 2 || !slices.Equal(p.Ended, []int{1}) || !p.Excuses(1) || p.Excuses(2) {
		t.Errorf("the dead are %v, %d excused; a person ended %v", p.Dead, p.Excused, p.Ended)
	}
	if len(before.Dead)+len(before.Ended) != 0 || p.Count[pawl.TaskFailed] != 3 {
		t.Errorf("%d failed: %+v", p.Count[pawl.TaskFailed], before)
	}
	for _, void := range []bool{false, true} {
		q := p.Clone()
		if q.Fail(3, false, false, void); q.At(3).Void != void || q.At(4).Open == 0 != void || q.Next() == 4 != void {
			t.Errorf("void is %t: e waits for %d, and %d goes next", void, q.At(4).Open, q.Next())
		}
		if q.Set(3, pawl.TaskPending); q.At(3).Void || q.At(4).Open != 1 {
			t.Errorf("d is pending again, void is %t, and e waits for %d", q.At(3).Void, q.At(4).Open)
		}
	}
}

func TestPass(t *testing.T) {
	p := planOf(t, "list", entries("a", "b", "c after a b"))
	p.Pass(0, 3, true, true)
	p.Pass(1, 0, false, false)
	if p.Since != 2 || p.Unproven != 1 || p.At(0).Batch != 3 || p.At(1).Batch != 0 || p.Next() != 2 {
		t.Errorf("%d passed, %d of them unproven: %+v", p.Since, p.Unproven, p.At(0))
	}
	p.Tried(0, 2)
	if p.Tried(0, 5000); p.At(0).Tries != 1002 {
		t.Errorf("a was tried %d times", p.At(0).Tries)
	}
}

// Only a task that is still pending passes because its list says that it is done.
func TestTakeDone(t *testing.T) {
	list := entries("a", "b", "c", "d after b")
	list[0].Done, list[1].Done = true, true
	p := planOf(t, "list", list)
	p.Set(0, pawl.TaskFailed)
	if p.TakeDone(); p.At(0).Status != pawl.TaskFailed || p.At(1).Status != pawl.TaskPassed || p.At(2).Status != pawl.TaskPending || p.At(3).Open != 0 {
		t.Errorf("got %s", p.States())
	}
}

// A limit counts what was started and what is chosen, but not what goes again. It is said to be met
// if a task is left out because of it.
func TestChoose(t *testing.T) {
	for _, row := range []struct {
		name          string
		again         []int
		places, limit int
		ground        []bool
		want          []int
		capped        bool
	}{
		{"as many as places", nil, 2, 0, nil, []int{1, 2}, false},
		{"all that are ready", nil, 9, 0, nil, []int{1, 2, 4}, false},
		{"again first", []int{0}, 2, 0, nil, []int{0, 1}, false},
		{"no place is left", []int{0}, 1, 1, nil, []int{0}, false},
		{"the limit, with one that was started", nil, 9, 3, nil, []int{1, 2}, true},
		{"the limit, with one that goes again", []int{0}, 9, 3, nil, []int{0, 1, 2}, true},
		{"the limit is not in the way", nil, 9, 4, nil, []int{1, 2, 4}, false},
		{"the limit is reached already", nil, 9, 1, nil, nil, true},
		{"ground only", nil, 9, 0, []bool{true, false, true, true, false}, []int{2}, false},
		{"what lays no ground is not left out by the limit", nil, 9, 2, []bool{false, false, true, false, false}, []int{2}, false},
		{"ground is left out by the limit", nil, 9, 2, []bool{false, true, true, false, false}, []int{1}, true},
	} {
		p := planOf(t, "list", entries("a", "b", "c", "d after a", "e"))
		p.Set(0, pawl.TaskRunning)
		p.Started = 1
		tasks, capped := p.Choose(row.again, row.places, row.limit, row.ground)
		if !slices.Equal(tasks, row.want) || capped != row.capped {
			t.Errorf("%s: got %v, capped is %t", row.name, tasks, capped)
		}
	}
}

// Tasks that a list marks as done show nothing of the work: only what passed in a loop does.
func TestProven(t *testing.T) {
	list := entries("a", "b", "c", "d")
	list[0].Done = true
	p := planOf(t, "list", list)
	p.TakeDone()
	var got []int
	look := func() {
		shown, unbroken := p.Proven()
		got = append(got, shown, unbroken)
	}
	pass := func(i int, proven, shown bool) {
		if _, err := p.Spawn(&pawl.LoopStarted{Entry: i + 1, Task: p.Entries[i].ID}, pawl.LoopRef(i+1)); err != nil {
			t.Fatal(err)
		}
		p.Pass(i, 0, proven, shown)
		look()
	}
	look()
	pass(1, true, true)
	pass(2, true, false)
	if pass(3, false, false); !slices.Equal(got, []int{0, 0, 1, 0, 1, 1, 0, 0}) {
		t.Errorf("proven are %v", got)
	}
}
