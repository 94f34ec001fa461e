package prompt_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"pawl"
)

// A plan that is made anew because nothing gets anywhere is told what reviewers kept saying of the open tasks
// all the time, and what was tried, not only the last refusal. F-130 V-45
func TestAllThatWasTriedIsTold(t *testing.T) {
	w := MustWorldOf(t, "coherence")
	events := []pawl.Event{{Loop: 1, Body: &pawl.LoopStarted{Kind: "task"}},
		{Loop: 1, Body: &pawl.TasksListed{Entries: []pawl.TaskEntry{{ID: "1.1"}, {ID: "1.2"}, {ID: "1.3"}}}}, {Loop: 1, Body: &pawl.PlanAccepted{Version: 1, Count: 3}},
		{Loop: 2, Body: &pawl.LoopStarted{Kind: "subtask", Parent: 1, Task: "1.1"}}, {Loop: 3, Body: &pawl.LoopStarted{Kind: "subtask", Parent: 1, Task: "1.2"}}}
	for n, why := range []string{"The port is fixed in the code.", "The port is fixed in the code.", "No test starts the server twice."} {
		events = append(events, pawl.Event{Loop: 1, Body: &pawl.BatchStarted{N: n + 1, Tasks: []int{0, 1}}})
		for loop := pawl.LoopRef(2); loop < 4; loop++ {
			events = append(events, pawl.Event{Loop: loop, Body: &pawl.IterationStarted{N: n + 1}},
				pawl.Event{Loop: loop, Body: &pawl.Committed{Tree: pawl.TreeHash("a1b2c3d4e5f6" + why), Total: 1, Paths: w.MustKeep(t, "server.go\n"), Added: 12, Removed: 3}})
			if loop == 2 {
				events = append(events, pawl.Event{Loop: 2, Body: &pawl.GateJudged{Gate: "batch-review", Verdict: pawl.VerdictRevise, Reason: "the review wants changes", Evidence: w.MustKeep(t, why)}})
			} else {
				events = append(events, pawl.Event{Loop: 3, Body: &pawl.GateJudged{Gate: "tests", Verdict: pawl.VerdictPass}})
			}
		}
	}
	w.job.Events = func(context.Context) iter.Seq2[pawl.Event, error] {
		return func(yield func(pawl.Event, error) bool) {
			for i, e := range events {
				if e.Seq = pawl.Seq(i + 1); !yield(e, nil) {
					return
				}
			}
		}
	}
	w.at(pawl.Place{Loop: "task", Iteration: 1, Step: "replan", Tier: 3})
	w.job.Effect.Loop = 1
	for _, template := range []string{"replan.md", "gather.md"} {
		do := w.request(t, template)
		do.Cause, do.Tried = "health: STALLED: nothing was approved", true
		text := w.MustAssemble(t, do).User
		for _, want := range []string{"all attempts at 1.1", "1.1 in batches 1 and 2 changed server.go (+12 −3 lines), refused by review: The port is fixed in the code.",
			"1.1 in batch 3 changed server.go (+12 −3 lines), refused by review: No test starts the server twice."} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", template, want, text)
			}
		}
		if strings.Contains(text, "a1b2c3d4e5f6") || strings.Contains(text, "attempts at 1.2") {
			t.Errorf("%s tells of what is no matter, or has a hash:\n%s", template, text)
		}
		do.Tried = false
		if text := w.MustAssemble(t, do).User; strings.Contains(text, "all attempts") {
			t.Errorf("%s tells it unasked:\n%s", template, text)
		}
	}
}
