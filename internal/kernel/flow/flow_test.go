package flow

import (
	"slices"
	"testing"

	"pawl"
)

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
		f := Of(&tc.kind)
		if f.Main != tc.main || f.Before != tc.before || f.After != tc.after || len(f.Steps) != tc.total {
			t.Errorf("%s: the sorts end at %d, %d, %d and %d", tc.name, f.Main, f.Before, f.After, len(f.Steps))
		}
		if !slices.IsSortedFunc(f.Steps, func(a, b *pawl.Step) int { return int(a.Name[0]) - int(b.Name[0]) }) {
			t.Errorf("%s: the steps are in another order", tc.name)
		}
	}
}
