package tried

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// told is a story of a plan with the task a, which is tried once for each of the trees, and what was said of each.
func told(tries ...[2]string) (*Story, Blobs) {
	texts := map[pawl.Hash][]byte{}
	keep := func(text string) pawl.Hash {
		texts[pawl.HashOf([]byte(text))] = []byte(text)
		return pawl.HashOf([]byte(text))
	}
	s, n := &Story{}, 0
	take := func(loop pawl.LoopRef, b pawl.Body) {
		n++
		s.Take(pawl.Event{Seq: pawl.Seq(n), Loop: loop, Body: b})
	}
	take(1, &pawl.LoopStarted{})
	take(1, &pawl.TasksListed{Entries: []pawl.TaskEntry{{ID: "a"}, {ID: "b"}}})
	take(1, &pawl.PlanAccepted{Version: 1, Count: 2})
	take(2, &pawl.LoopStarted{Parent: 1, Task: "a"})
	for i, x := range tries {
		take(1, &pawl.BatchStarted{N: i + 1, Tasks: []int{0}})
		take(2, &pawl.IterationStarted{N: i + 1})
		take(2, &pawl.Committed{Tree: pawl.TreeHash(x[0]), Total: 1, Paths: keep("a.go\n"), Added: i + 1})
		take(1, &pawl.TaskJudged{Batch: i + 1, Task: 0, By: "review", Verdict: pawl.VerdictRevise, Reason: "the review wants changes", Evidence: keep(x[1])})
		take(2, &pawl.GateJudged{Gate: "batch-review", Verdict: pawl.VerdictRevise, Reason: "the review wants changes", Evidence: keep(x[1])})
		take(1, &pawl.BatchEnded{N: i + 1, Attempted: 1})
	}
	return s, func(h pawl.Hash) []byte { return texts[h] }
}

// Work that goes to and fro is told as its sides, what is refused alike as one, and what is said over time is
// all told. F-71
func TestTried(t *testing.T) {
	for name, row := range map[string]struct {
		tries [][2]string
		want  string
	}{
		"to and fro": {[][2]string{{"X", "tabs"}, {"Y", "spaces"}, {"X", "tabs"}, {"Y", "spaces"}},
			"a in batches 1 and 3 changed a.go (+3 −0 lines), refused by review: tabs\na in batches 2 and 4 changed a.go (+4 −0 lines), refused by review: spaces"},
		"to and fro, refused alike": {[][2]string{{"X", "no"}, {"Y", "no"}, {"X", "no"}},
			"a in batches 1 and 3 changed a.go (+3 −0 lines), refused by review: no\na in batch 2 changed a.go (+2 −0 lines), refused by review: no"},
		"the same reason": {[][2]string{{"X", "no"}, {"Y", "no"}, {"Z", "no"}}, "a in batches 1 to 3 changed a.go (+3 −0 lines), refused by review: no"},
		"other reasons": {[][2]string{{"X", "no"}, {"Y", "why?"}, {"Z", "no"}},
			"a in batches 1 and 3 changed a.go (+3 −0 lines), refused by review: no\na in batch 2 changed a.go (+2 −0 lines), refused by review: why?"},
	} {
		s, read := told(row.tries...)
		if got := strings.Join(Tried("a", s.Of(1, "a"), read), "\n"); got != row.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, row.want)
		}
		if open := s.Open(1); len(open) != 1 || open[0] != "a" {
			t.Errorf("%s: open are %v", name, open)
		}
	}
	var many [][2]string
	for i := range 20 {
		many = append(many, [2]string{fmt.Sprint("tree", i), fmt.Sprint("reason ", i)})
	}
	s, read := told(many...)
	if got := Tried("a", s.Of(1, "a"), read); len(got) != maxTries+1 || got[0] != "a was tried in 14 other ways before" || !strings.Contains(got[maxTries], "reason 19") {
		t.Errorf("of many: %q", got)
	}
}

// Tries are counted over all loops of a task where no batch has one alone, and each says what became of it. F-71
func TestTriedInWords(t *testing.T) {
	s, n := &Story{}, 0
	take := func(loop pawl.LoopRef, b pawl.Body) {
		n++
		s.Take(pawl.Event{Seq: pawl.Seq(n), Loop: loop, Body: b})
	}
	try := func(loop pawl.LoopRef, attempt int, events ...pawl.Body) {
		take(loop, &pawl.IterationStarted{N: attempt})
		take(loop, &pawl.Committed{Tree: pawl.TreeHash(fmt.Sprint(n)), Total: 1})
		for _, b := range events {
			take(loop, b)
		}
	}
	judged := func(gate string, v pawl.Verdict, why string) *pawl.GateJudged {
		return &pawl.GateJudged{Gate: gate, Verdict: v, Reason: why, Partial: why == "partial; raise the limit"}
	}
	take(1, &pawl.LoopStarted{})
	take(2, &pawl.LoopStarted{Parent: 1, Task: "a"})
	try(2, 1, judged("tests", pawl.VerdictFail, "TestA"), judged("lint", pawl.VerdictFail, "partial; raise the limit"))
	take(3, &pawl.LoopStarted{Parent: 1, Task: "a"})
	try(3, 1, &pawl.SessionEnded{Result: pawl.SessionDone, Facts: pawl.Facts{{Name: "decision", Value: "BLOCKED"}}})
	try(3, 2, judged("tests", pawl.VerdictPass, ""), &pawl.Examined{Findings: []string{"F-1", "F-2"}}, &pawl.FindingAnswered{ID: "F-2", Accepted: true})
	try(3, 3, judged("tests", pawl.VerdictPass, ""), judged("review", pawl.VerdictPass, ""))
	want := []string{
		"a, try 1: changed 1 file, refused by tests: TestA, without a verdict of lint (partial)",
		"a, try 2: changed 1 file, then reported itself blocked",
		"a, try 3: changed 1 file, passed tests; 1 finding is open",
		"a, try 4: changed 1 file, passed tests and review; no objection",
	}
	if got := Tried("a", s.Of(1, "a"), func(pawl.Hash) []byte { return nil }); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Without a blob or an event that it needs, a story tells less and does not fail.
func TestTriedOfLittle(t *testing.T) {
	var s Story
	none := func(pawl.Hash) []byte { return nil }
	if s.Led(1, none) != nil || s.Open(1) != nil || s.Of(1, "a") != nil {
		t.Error("an empty story tells something")
	}
	full, _ := told([2]string{"X", "tabs"})
	if got := Tried("a", full.Of(1, "a"), none); len(got) != 1 || got[0] != "a in batch 1 changed 1 file (+1 −0 lines), refused by review: the review wants changes" {
		t.Errorf("%q", got)
	}
	for all, want := range map[string]string{"[1]": "1", "[1 2]": "1 and 2", "[1 2 3]": "1 to 3", "[1 3 4 5 9]": "1, 3 to 5 and 9"} {
		var list []int
		for _, w := range strings.Fields(strings.Trim(all, "[]")) {
			n := 0
			if _, err := fmt.Sscan(w, &n); err != nil {
				t.Fatal(err)
			}
			list = append(list, n)
		}
		if got := Numbers(list); got != want {
			t.Errorf("%s is %q, want %q", all, got, want)
		}
	}
}
