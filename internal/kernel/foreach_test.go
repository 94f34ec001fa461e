package kernel

import (
	"slices"
	"testing"

	"pawl"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/session"
)

// What the sessions of a step leave stands in the order of the entries, in whatever
// order they ended: prompts and replays are the same. V-B05
func TestForEachOrder(t *testing.T) {
	k := &pawl.LoopKind{Steps: []pawl.Step{{Name: "think"}, {Name: "decide", ForEach: "think.decisions", Append: true}, {Name: "work"}}}
	l := newLoop(1, k)
	l.flow, l.iter.Step, l.Phase = flow.Of(k), 1, PhaseSteps
	l.flow.Fields = []string{"decisions"}
	l.left.KeepLists(l.flow, &k.Steps[0], &pawl.SessionEnded{Result: pawl.SessionDone, Output: blobOf("thought"), Facts: pawl.Facts{{Name: "decisions", Value: "3"}}})
	for i := range 3 {
		l.sessions = append(l.sessions, &session.Session{N: i + 1, Purpose: pawl.ForStep, Index: 1, Item: i + 1, Try: 1})
	}
	for _, n := range []int{3, 1, 2} {
		if err := (&State{}).applySessionEnded(l, &pawl.SessionEnded{Session: n, Result: pawl.SessionDone, Output: blobOf(string(rune('0' + n)))}); err != nil {
			t.Fatal(err)
		}
	}
	want := []pawl.Input{{Name: "decide", Blob: blobOf("1")}, {Name: "decide", Blob: blobOf("2")}, {Name: "decide", Blob: blobOf("3")}}
	if !slices.Equal(l.left.Outputs, want) || l.iter.Step != 2 || l.iter.items != nil {
		t.Errorf("the outputs are %v at step %d, and %v is left", l.left.Outputs, l.iter.Step, l.iter.items)
	}
}

// A step after a batch runs for what the batch's children handed in, not for the
// loop's own results; a newer result takes the place of one of the same step.
func TestEntries(t *testing.T) {
	k := &pawl.LoopKind{Steps: []pawl.Step{{Name: "plan", Output: "tasks"}, {Name: "own", ForEach: "tasks.decisions"}},
		Children: &pawl.Children{AfterBatch: []pawl.Step{{Name: "record", ForEach: "result.decisions"}}}}
	l := newLoop(1, k)
	l.flow = flow.Of(k)
	l.flow.Fields = []string{"decisions"}
	for _, n := range []string{"5", "2"} {
		l.left.KeepLists(l.flow, &k.Steps[0], &pawl.SessionEnded{Result: pawl.SessionDone, Output: blobOf(n), Facts: pawl.Facts{{Name: "decisions", Value: n}}})
	}
	handed := func(blob string, facts ...pawl.Fact) {
		var left flow.Leavings
		left.KeepLists(&flow.Flow{Fields: []string{"decisions", "other"}}, &pawl.Step{Name: "implement", Output: "result"},
			&pawl.SessionEnded{Result: pawl.SessionDone, Output: blobOf(blob), Facts: facts})
		l.gen.childLists = append(l.gen.childLists, left.Lists...)
	}
	handed("a", pawl.Fact{Name: "decisions", Value: "1"}, pawl.Fact{Name: "other", Value: "4"})
	handed("b", pawl.Fact{Name: "decisions", Value: "2"})
	own := []flow.Entry{{Blob: blobOf("2"), Field: "decisions", N: 1}, {Blob: blobOf("2"), Field: "decisions", N: 2}}
	batch := []flow.Entry{{Blob: blobOf("a"), Field: "decisions", N: 1}, {Blob: blobOf("b"), Field: "decisions", N: 1}, {Blob: blobOf("b"), Field: "decisions", N: 2}}
	if got := l.entriesOf(1); !slices.Equal(got, own) {
		t.Errorf("the own entries are %v", got)
	}
	if got := l.entriesOf(2); !slices.Equal(got, batch) {
		t.Errorf("the batch's entries are %v", got)
	}
}
