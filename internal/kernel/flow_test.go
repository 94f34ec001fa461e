package kernel

import (
	"slices"
	"testing"

	"pawl"
)

// What is for tasks that lay the ground is left out of others, and the other way round.
func TestWhenScaffold(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		when     *bool
		scaffold bool
		skips    bool
	}{{nil, true, false}, {nil, false, false}, {&yes, true, false}, {&yes, false, true}, {&no, true, true}, {&no, false, false}} {
		l := newLoop(1, nil)
		l.task.Scaffold = tc.scaffold
		if got := l.skips(&pawl.When{Scaffold: tc.when}); got != tc.skips {
			t.Errorf("%v of a task with scaffold %v is skipped: %v", mustJSON(t, tc.when), tc.scaffold, got)
		}
	}
}

// The steps of a kind stand in the order in which they have their turn.
func TestFlowOrder(t *testing.T) {
	named := func(names ...string) (out []pawl.Step) {
		for _, n := range names {
			out = append(out, pawl.Step{Name: n})
		}
		return out
	}
	for _, tc := range []struct {
		name                       string
		kind                       pawl.LoopKind
		main, before, after, total int
	}{
		{"steps alone", pawl.LoopKind{Steps: named("a")}, 1, 1, 1, 1},
		{"a final step", pawl.LoopKind{Steps: named("a"), FinalSteps: named("f")}, 1, 1, 1, 2},
		{"around batches", pawl.LoopKind{Steps: named("a"), FinalSteps: named("f"),
			Children: &pawl.Children{BeforeBatch: named("b", "c"), AfterBatch: named("d")}}, 1, 3, 4, 5},
		{"after batches only", pawl.LoopKind{Steps: named("a"), Children: &pawl.Children{AfterBatch: named("d")}}, 1, 1, 2, 2},
	} {
		f := flowOf(&tc.kind)
		if f.main != tc.main || f.before != tc.before || f.after != tc.after || len(f.steps) != tc.total {
			t.Errorf("%s: the sorts end at %d, %d, %d and %d", tc.name, f.main, f.before, f.after, len(f.steps))
		}
		if !slices.IsSortedFunc(f.steps, func(a, b *pawl.Step) int { return int(a.Name[0]) - int(b.Name[0]) }) {
			t.Errorf("%s: the steps are in another order", tc.name)
		}
	}
}
