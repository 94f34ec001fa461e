package kernel

import (
	"slices"
	"testing"

	"pawl"
	"pawl/internal/kernel/session"
)

// What the sessions of a step leave stands in the order of the entries, in whatever
// order they ended: prompts and replays are the same. V-B05
func TestForEachOrder(t *testing.T) {
	k := &pawl.LoopKind{Steps: []pawl.Step{{Name: "think"}, {Name: "decide", ForEach: "think.decisions", Append: true}, {Name: "work"}}}
	l := newLoop(1, k)
	l.flow, l.iter.step, l.Phase = flowOf(k), 1, PhaseSteps
	l.flow.fields = []string{"decisions"}
	l.keepLists(&k.Steps[0], &pawl.SessionEnded{Result: pawl.SessionDone, Output: blobOf("thought"), Facts: pawl.Facts{{Name: "decisions", Value: "3"}}})
	for i := range 3 {
		l.sessions = append(l.sessions, &session.Session{N: i + 1, Purpose: pawl.ForStep, Index: 1, Item: i + 1, Try: 1})
	}
	for _, n := range []int{3, 1, 2} {
		if err := (&State{}).endSession(l, &pawl.SessionEnded{Session: n, Result: pawl.SessionDone, Output: blobOf(string(rune('0' + n)))}); err != nil {
			t.Fatal(err)
		}
	}
	want := []pawl.Input{{Name: "decide", Blob: blobOf("1")}, {Name: "decide", Blob: blobOf("2")}, {Name: "decide", Blob: blobOf("3")}}
	if !slices.Equal(l.left.outputs, want) || l.iter.step != 2 || l.iter.items != nil {
		t.Errorf("the outputs are %v at step %d, and %v is left", l.left.outputs, l.iter.step, l.iter.items)
	}
}

// A step after a batch runs for what the batch's children handed in, not for the
// loop's own results; a newer result takes the place of one of the same step.
func TestEntries(t *testing.T) {
	k := &pawl.LoopKind{Steps: []pawl.Step{{Name: "plan", Output: "tasks"}, {Name: "own", ForEach: "tasks.decisions"}},
		Children: &pawl.Children{AfterBatch: []pawl.Step{{Name: "record", ForEach: "result.decisions"}}}}
	l := newLoop(1, k)
	l.flow = flowOf(k)
	l.flow.fields = []string{"decisions"}
	for _, n := range []string{"5", "2"} {
		l.keepLists(&k.Steps[0], &pawl.SessionEnded{Result: pawl.SessionDone, Output: blobOf(n), Facts: pawl.Facts{{Name: "decisions", Value: n}}})
	}
	l.gen.handed = []list{{"implement", "result", "decisions", blobOf("a"), 1}, {"implement", "result", "other", blobOf("a"), 4}, {"implement", "result", "decisions", blobOf("b"), 2}}
	own := []entry{{blobOf("2"), "decisions", 1}, {blobOf("2"), "decisions", 2}}
	batch := []entry{{blobOf("a"), "decisions", 1}, {blobOf("b"), "decisions", 1}, {blobOf("b"), "decisions", 2}}
	if got := l.entriesOf(1); !slices.Equal(got, own) {
		t.Errorf("the own entries are %v", got)
	}
	if got := l.entriesOf(2); !slices.Equal(got, batch) {
		t.Errorf("the batch's entries are %v", got)
	}
}
