package plan

import (
	"slices"
	"testing"

	"pawl"
)

// A task that is dropped needs no more work: what depends on it may start, and the plan succeeds
// without it. Its failure, if it had failed, calls for nothing.
func TestDrop(t *testing.T) {
	p := planOf(t, "list", entries("a", "b", "c", "d after b"))
	p.Fail(0, true, true, false)
	p.Fail(1, false, false, false)
	before := p.Clone()
	p.Drop(0, 4)
	if !slices.Equal(p.Dead, []int{1}) || p.Excused != 0 || p.At(0).Status != pawl.TaskDropped || p.At(0).Batch != 4 || len(before.Dead) != 2 {
		t.Errorf("the dead are %v, %d excused; a is %+v", p.Dead, p.Excused, p.At(0))
	}
	p.Drop(1, 4)
	if len(p.Dead) != 0 || p.Excused != 0 || p.At(3).Open != 0 {
		t.Errorf("the dead are %v, and d waits for %d", p.Dead, p.At(3).Open)
	}
	p.Pass(2, 4, true, true)
	if p.Pass(3, 5, true, true); !p.Succeeded() || p.Unmet() != "" {
		t.Errorf("it has not succeeded: %s", p.Unmet())
	}
}

// What a rollback opens again is what passed or was dropped after the batch of the checkpoint.
func TestApprovedAfterAndReopen(t *testing.T) {
	p := planOf(t, "list", entries("a", "b", "c", "d", "e after c"))
	p.Pass(0, 1, true, true)
	p.Pass(1, 2, true, true)
	p.Pass(2, 3, true, true)
	p.Drop(3, 3)
	for batch, want := range [][]int{{0, 1, 2, 3}, {1, 2, 3}, {2, 3}, nil} {
		if got := p.ApprovedAfter(batch); !slices.Equal(got, want) {
			t.Errorf("after batch %d were approved %v, want %v", batch, got, want)
		}
	}
	for _, i := range []int{2, 3} {
		if err := p.Reopen(i); err != nil || p.At(i).Status != pawl.TaskPending || p.At(i).Batch != 0 {
			t.Errorf("%v: %+v", err, p.At(i))
		}
	}
	if p.At(4).Open != 1 || p.Reopen(2) == nil || p.Reopen(4) == nil || p.Reopen(-1) == nil || p.Reopen(5) == nil {
		t.Error("a task that is open is opened again, or e does not wait")
	}
}

// An event without tasks says that the failures have been dealt with.
func TestBlockAll(t *testing.T) {
	p := planOf(t, "list", entries("a", "b after a", "c"))
	p.Fail(2, true, true, false)
	p.Fail(0, false, false, false)
	if err := p.BlockAll(&pawl.TasksBlocked{Cause: "a", Tasks: []int{1}}); err != nil || p.At(1).Status != pawl.TaskBlocked || p.At(1).Cause != 0 || len(p.Dead) != 2 {
		t.Errorf("%v: %s, the dead are %v", err, p.States(), p.Dead)
	}
	if err := p.BlockAll(&pawl.TasksBlocked{Cause: "a"}); err != nil || len(p.Dead) != 0 || p.Excused != 0 || !p.Excuses(2) {
		t.Errorf("%v: the dead are %v, %d excused", err, p.Dead, p.Excused)
	}
	if p.BlockAll(&pawl.TasksBlocked{Cause: "x"}) == nil || p.BlockAll(&pawl.TasksBlocked{Cause: "a", Tasks: []int{3}}) == nil || p.SkipAll(&pawl.TasksSkipped{Tasks: []int{3}}) == nil {
		t.Error("a task that does not exist is blocked or skipped")
	}
}

func TestRetried(t *testing.T) {
	p := planOf(t, "list", entries("a", "b"))
	p.Fail(0, false, false, false)
	p.Fail(1, false, false, false)
	if err := p.Retried(&pawl.TaskRetried{Task: 0}); err != nil || !slices.Equal(p.Dead, []int{1}) || p.At(0).Status != pawl.TaskPending || !p.At(0).Again {
		t.Errorf("%v: the dead are %v, a is %+v", err, p.Dead, p.At(0))
	}
	if p.Retried(&pawl.TaskRetried{Task: 0}) == nil || p.Retried(&pawl.TaskRetried{Task: 2}) == nil {
		t.Error("a task that has not failed is tried again")
	}
}
