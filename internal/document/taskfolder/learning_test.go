package taskfolder

import (
	"regexp"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/tried"
)

// twoBatches is a way back over the batches 2 to 4: 1.2 was approved, and 1.3 goes to and fro between two
// ways that a review and the tests refuse.
func twoBatches(tb testing.TB) Undone {
	x := tell(tb)
	x.lists(1, pawl.TaskSpec{ID: "1.1", Title: "Packages"}, pawl.TaskSpec{ID: "1.2", Title: "Form"}, pawl.TaskSpec{ID: "1.3", Title: "Sessions"})
	x.say(1, &pawl.LoopStarted{Kind: "task"})
	x.lists(1, pawl.TaskSpec{ID: "1.1", Title: "Packages"}, pawl.TaskSpec{ID: "1.2", Title: "Form"}, pawl.TaskSpec{ID: "1.3", Title: "Sessions"})
	work := func(loop pawl.LoopRef, n int, tree pawl.TreeHash, paths string, added, removed int) {
		x.say(loop, &pawl.IterationStarted{N: n}, &pawl.Committed{Commit: "5e1fbe0112233", Tree: tree, Total: 1, Paths: x.keep(paths), Added: added, Removed: removed})
	}
	x.say(1, &pawl.BatchStarted{N: 2, Tasks: []int{1, 2}})
	x.say(3, &pawl.LoopStarted{Kind: "subtask", Parent: 1, Task: "1.2"})
	x.say(4, &pawl.LoopStarted{Kind: "subtask", Parent: 1, Task: "1.3"})
	work(3, 1, "f0f0f0f0f0f0", "form.go\n", 40, 0)
	work(4, 1, "a1b2c3d4e5f6", "session.go\nsession_test.go\n", 31, 2)
	x.say(1, &pawl.TaskJudged{Batch: 2, Task: 1, By: "review", Verdict: pawl.VerdictPass})
	x.say(1, &pawl.TaskJudged{Batch: 2, Task: 2, By: "review", Verdict: pawl.VerdictRevise, Reason: "the review wants changes", Evidence: x.keep("Sessions must not live in memory: a restart loses them.\n")})
	x.say(4, &pawl.GateJudged{Judge: pawl.JudgeBatch, Gate: "batch-review", Verdict: pawl.VerdictRevise, Reason: "the review wants changes", Evidence: x.keep("Sessions must not live in memory: a restart loses them.\n")},
		&pawl.IterationEnded{N: 1, Decision: pawl.DecideIterate})
	x.say(1, &pawl.BatchEnded{N: 2, Attempted: 2, Approved: 1}, &pawl.BatchStarted{N: 3, Tasks: []int{2}})
	work(4, 2, "0f0f0f0f0f0f", "session.go\nschema.sql\n", 12, 9)
	x.say(4, &pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Reason: "1 of 14 tests fails: TestLogin: no such table"},
		&pawl.IterationEnded{N: 2, Decision: pawl.DecideIterate})
	x.say(1, &pawl.BatchEnded{N: 3, Attempted: 1}, &pawl.BatchStarted{N: 4, Tasks: []int{2}})
	work(4, 3, "a1b2c3d4e5f6", "session.go\nsession_test.go\n", 31, 2)
	x.say(4, &pawl.GateJudged{Judge: pawl.JudgeBatch, Gate: "batch-review", Verdict: pawl.VerdictRevise, Reason: "the review wants changes", Evidence: x.keep("Sessions must not live in memory: a restart loses them.\n")},
		&pawl.IterationEnded{N: 3, Decision: pawl.DecideIterate})
	var story tried.Story
	for e := range x.run() {
		story.Take(e)
	}
	return Undone{Loop: 1, Label: "batch-2", Tasks: []string{"1.2", "1.3"}, Story: &story, Read: func(h pawl.Hash) []byte { return x.blobs[h] },
		Reason: "FLIP-FLOPPING: 1.3 handed in the same work in batch 4 as in batch 2, after other work in between, and it is refused for the same reason"}
}

// An anti-pattern holds what reviewers objected and gates said of the tasks, what was tried, and both sides
// of work that goes to and fro, and no hash. F-70 V-52
func TestAntiPatternSaysWhatWasTried(t *testing.T) {
	text := AntiPattern(twoBatches(t))
	for _, want := range []string{
		"Undone and open again: 1.2. Broken off: 1.3.",
		"1.3 in batches 2 and 4: refused by review: Sessions must not live in memory: a restart loses them.",
		"1.3 in batch 3: refused by tests: 1 of 14 tests fails: TestLogin: no such table.",
		"1.3 as it was tried: batches 2 and 4 changed session.go and session_test.go (+31 −2 lines); batch 3 changed session.go and schema.sql (+12 −9 lines)",
		"the work of 1.2 that is undone: batch 2 changed form.go (+40 −0 lines)",
		"answer all of these objections at once",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if hash := regexp.MustCompile(`\b[0-9a-f]{8,}\b`).FindString(text); hash != "" {
		t.Errorf("it has the hash %s", hash)
	}
	if n := strings.Count(text, "\n"); n >= 30 {
		t.Errorf("it has %d lines", n)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// A way back that undoes nothing says so, and one of which nothing is known has all its sections. F-130
func TestAntiPatternOfNothing(t *testing.T) {
	u := twoBatches(t)
	u.Tasks = []string{"1.3"}
	if text := AntiPattern(u); !strings.Contains(text, "Nothing that was approved is undone. Broken off: 1.3.") {
		t.Error(text)
	}
	text := AntiPattern(Undone{Label: "scaffold", Reason: "too much at once", Story: &tried.Story{}, Read: u.Read})
	for _, want := range []string{"# Anti-Pattern: too much at once\n", "**Context:** rollback", "**What went wrong:** too much at once.", "**Avoid:** none.", "**Do instead:** find out"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}

// What a person answered is read again from its file; what an agent calls one is none. F-72
func TestAnswersAreReadAgain(t *testing.T) {
	const said = "Which case do names have?\n\n**Context:** A person was asked: Which case do names have?\n\n**Choice:** lower case\n\n**Alternatives Rejected:**\n- upper case: not chosen\n\n" +
		"**Depends On:** none\n\n**Invalidated If:** a person answers it otherwise\n"
	x := tell(t)
	person, agent := remembered(x, 1, pawl.MemoryDecision, said), remembered(x, 2, pawl.MemoryDecision, said)
	person.Place.Step = pawl.PersonStep
	x.say(1, person, agent)
	files := x.render(nil)
	f := Parse("x", files)
	if len(f.Answered) != 1 || f.Learnings != 2 {
		t.Fatalf("answered are %q", f.Answered)
	}
	for _, want := range []string{"Which case do names have?\n\n**Context:** A person was asked: Which", "**Choice:** lower case", "upper case: not chosen"} {
		if !strings.Contains(f.Answered[0], want) {
			t.Errorf("it lacks %q:\n%s", want, f.Answered[0])
		}
	}
}
