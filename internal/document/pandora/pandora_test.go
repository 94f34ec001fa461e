package pandora

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/document/documenttest"
	"pawl/internal/recipe"
	"pawl/internal/recorded"
	"pawl/internal/view"
)

func TestPlanDocumentOfPandora(t *testing.T) { // P-87 P-88 P-89 P-90
	s := recorded.Story(t, "pandora-done")
	got, err := PlanDocument(documenttest.Fold(s.Events), s.Blob)
	if err != nil {
		t.Fatal(err)
	}
	want := `## 3. Task Plan

**Decision:** PANDORA_LOOP
**Reasoning:** Complex multi-step feature with 3+ tasks and dependencies

### Task Breakdown

| ID | Title | Priority | Depends On |
|----|-------|----------|------------|
| TASK-001 | OAuth integration | 1 | - |
| TASK-002 | Password reset | 2 | - |
| TASK-003 | Session management | 3 | TASK-001 |

### Acceptance Criteria

**TASK-001:**
- OAuth config in .env.example
- Callback route at /auth/callback
- Tests pass

**TASK-002:**
- Forgot password endpoint works
- Reset token expires correctly
- Tests pass

**TASK-003:**
- Sessions stored in database
- Auto-expire works
- Tests pass

**Route To:** pandora_loop
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestValidationReportOfPandora(t *testing.T) { // P-78 P-B13
	s := recorded.Story(t, "pandora-done")
	r := documenttest.Fold(s.Events)
	got, err := ValidationReport(r, "TASK-002", s.Blob)
	if err != nil {
		t.Fatal(err)
	}
	want := `## 6. Validation

### Task: TASK-002 (Password reset)

**Acceptance Criteria Check:**
| Criteria | Status | Evidence |
|----------|--------|----------|
| Forgot password endpoint works | ✓ | Route added in §4, test passes |
| Reset token expires correctly | ✓ | Route added in §4, test passes |
| Tests pass | ✓ | Route added in §4, test passes |

**Result:** APPROVE
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	s = recorded.Story(t, "pandora-blocked")
	got, err = ValidationReport(documenttest.Fold(s.Events), "TASK-001", s.Blob)
	if err != nil || !strings.Contains(got, "| Tests pass | ✗ | Route added in §4, test passes; there is no test |\n\n**Result:** FAIL\n") {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := ValidationReport(r, "TASK-009", s.Blob); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Error(err)
	}
}

func TestCompletionMessageOfPandora(t *testing.T) { // P-82 P-86 P-B14
	s := recorded.Story(t, "pandora-done")
	got, err := CompletionMessage(documenttest.Fold(s.Events), s.Blob)
	if err != nil {
		t.Fatal(err)
	}
	want := `## Pandora Loop Complete

**Status:** SUCCESS
**Tasks:** 3/3 passed

| Task | Title | Status |
|------|-------|--------|
| TASK-001 | OAuth integration | ✓ passed |
| TASK-002 | Password reset | ✓ passed |
| TASK-003 | Session management | ✓ passed |

**Learnings Saved:** 3 patterns to pawl memory
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The other ends have the same message with what is missing, and why.
func TestCompletionMessageOfOtherEnds(t *testing.T) {
	for _, c := range []struct {
		outcome pawl.Outcome
		reason  string
		want    []string
	}{
		{pawl.OutcomeBlocked, "TASK-003 is blocked by TASK-001", []string{"## Pandora Loop Blocked", "**Status:** BLOCKED", "- TASK-001: validation: AC-002 is not met", "**Blocked:**\n- TASK-003: TASK-001 cannot pass"}}, // P-49 P-83
		{pawl.OutcomeIncomplete, "max iterations reached", []string{"## Pandora Loop Incomplete", "**Status:** INCOMPLETE", "**Tasks:** 1/3 passed", "**Reason:** max iterations reached", "**Failures:**\n- TASK-001: "}},  // P-84 P-B04 P-B05
		{pawl.OutcomeFailed, "the planner failed: HTTP 500", []string{"## Pandora Loop Failed", "**Status:** FAILED", "**Reason:** the planner failed: HTTP 500"}},                                                          // P-85 P-B15
	} {
		s := recorded.Story(t, "pandora-blocked")
		s.Events[len(s.Events)-1].Body = &pawl.RunEnded{Outcome: c.outcome, Reason: c.reason}
		got, err := CompletionMessage(documenttest.Fold(s.Events), s.Blob)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.want, "| TASK-001 | OAuth integration | ✗ failed |", "**Learnings Saved:** 0 patterns") {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", c.outcome, want, got)
			}
		}
	}
}

// A task that was at work when the run failed for good has failed, with the error.
func TestTaskAtWorkWhenTheRunFails(t *testing.T) { // P-B15 P-85
	s := recorded.Story(t, "pandora-blocked")
	for i, e := range s.Events {
		if b, ok := e.Body.(*pawl.LoopEnded); ok && e.Loop > 1 {
			s.Events[i].Body = &pawl.LoopEnded{Outcome: pawl.OutcomeFailed, Reason: b.Reason, Stopped: true}
			break
		}
	}
	s.Events[len(s.Events)-1].Body = &pawl.RunEnded{Outcome: pawl.OutcomeFailed, Reason: "no model: auth"}
	f, err := TasksFile(documenttest.Fold(s.Events), s.Blob)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := CompletionMessage(documenttest.Fold(s.Events), s.Blob); err != nil || !strings.Contains(got, "| ✗ failed |") || !strings.Contains(got, "**Failures:**\n- TASK-001: no model: auth\n") {
		t.Errorf("%v\n%s", err, got)
	}
	for _, x := range f.Tasks {
		if x.Status == pawl.TaskRunning {
			t.Errorf("%s is still running", x.ID)
		}
		if x.Status == pawl.TaskFailed && x.Reason == "no model: auth" {
			return
		}
	}
	t.Errorf("no task has the run's reason: %+v", f.Tasks)
}

// A task that a cancelled run cut off has failed, in the trace as in the list. P-41
func TestTaskThatACancelCutOff(t *testing.T) {
	s := recorded.Story(t, "pandora-blocked")
	for i, e := range s.Events {
		if b, ok := e.Body.(*pawl.LoopEnded); ok && e.Loop > 1 {
			*b = pawl.LoopEnded{Outcome: pawl.OutcomeCancelled, Reason: "enough", Stopped: true, Task: "failed"}
			s.Events = s.Events[:i+1]
			break
		}
	}
	r := documenttest.Fold(s.Events)
	const why = "cut off at its work: enough"
	if got, err := Trace(r, s.Blob); err != nil || !strings.Contains(got, "  Status: TASK-001 FAILED: "+why+"\n") {
		t.Errorf("%v\n%s", err, got)
	}
	if x := r.Plan().Task("TASK-001"); x.Status != pawl.TaskFailed || x.Reason != why {
		t.Errorf("%s: %s", x.Status, x.Reason)
	}
	if got := view.Line(s.Events[len(s.Events)-1], r, s.Blob); got != "[TASK-001] Task FAILED: "+why {
		t.Errorf("the log says %q", got)
	}
}

// An attempt that the end of a process cut off counts no rounds beside those of the attempt after it. P-93
func TestTraceOfARestart(t *testing.T) {
	s := recorded.Story(t, "pandora-done")
	i := slices.IndexFunc(s.Events, func(e pawl.Event) bool { _, ok := e.Body.(*pawl.LoopStarted); return ok && e.Loop == 2 })
	from := i + slices.IndexFunc(s.Events[i:], func(e pawl.Event) bool { _, ok := e.Body.(*pawl.SessionStarted); return ok })
	to := i + slices.IndexFunc(s.Events[i:], func(e pawl.Event) bool { _, ok := e.Body.(*pawl.Committed); return ok })
	again := slices.Clone(s.Events[from:to])
	last := pawl.Event{Loop: 2, Body: &pawl.IterationRestarted{Attempt: 2, Reason: "the process ended"}}
	s.Events = slices.Concat(s.Events[:to], []pawl.Event{last}, again, s.Events[to:])
	for i := range s.Events {
		s.Events[i].Seq = pawl.Seq(i + 1)
	}
	got, err := Trace(documenttest.Fold(s.Events), s.Blob)
	if err != nil || strings.Contains(got, "[Synthesis] → [Synthesis]") || strings.Count(got, "    - Read existing auth code\n") != 1 {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestTraceOfPandora(t *testing.T) { // P-93
	s := recorded.Story(t, "pandora-done")
	got, err := Trace(documenttest.Fold(s.Events), s.Blob)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`
[Pandora Loop Starts]

=== Iteration 1: TASK-001 (OAuth integration) ===
  [Planner-Coordinator Loop - 2 iterations]
    - Read existing auth code
    - Add OAuth routes
  [Synthesis] → [Tests: PASS] → [Validation: APPROVE]
  Status: TASK-001 PASSED
  Learnings saved: "Uses passport.js, routes in apps/auth/"
`, `
[Pandora Loop Complete]
Status: SUCCESS (3/3 tasks passed)
`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestLearningsOfPandora(t *testing.T) { // P-79 P-80
	s := recorded.Story(t, "pandora-done")
	got := Learnings(documenttest.Fold(s.Events), s.Blob)
	if len(got) != 2 { // TASK-003 taught nothing
		t.Fatalf("%+v", got)
	}
	want := Learning{Type: "research", Topic: "pandora-loop-learnings-TASK-001", Tags: []string{"pandora-loop", "code-patterns", "TASK-001"}, Source: "pandora_loop", Confidence: 0.9}
	want.Content.Summary = "Patterns learned from: OAuth integration"
	want.Content.Findings = []string{"Uses passport.js, routes in apps/auth/", "Callbacks are tested with a fake provider"}
	if d := cmp.Diff(want, got[0]); d != "" {
		t.Error(d)
	}
}

// The list is written when a task is begun and when it has its result: as a
// projection it is right at every event.
func TestTasksFileAtEveryEvent(t *testing.T) { // P-43 P-44 P-B02
	s := recorded.Story(t, "pandora-blocked")
	var got []string
	for i := range s.Events {
		f, err := TasksFile(documenttest.Fold(s.Events[:i+1]), s.Blob)
		if err != nil {
			continue // there is no plan yet
		}
		state := fmt.Sprintf("%d of %d", f.Begun, f.Limit) // P-B09 P-B10
		for _, x := range f.Tasks {
			state += " " + x.Status.String()
			if why := x.Cause + x.Reason; why != "" {
				state += "(" + why + ")"
			}
		}
		if len(got) == 0 || got[len(got)-1] != state {
			got = append(got, state)
		}
	}
	const failed, dead = "failed(validation: AC-002 is not met)", "blocked(TASK-001)" // P-49
	want := []string{
		"0 of 10 pending pending pending",
		"1 of 10 running pending pending",
		"1 of 10 " + failed + " pending pending",
		"1 of 10 " + failed + " pending " + dead,
		"2 of 10 " + failed + " running " + dead,
		"2 of 10 " + failed + " passed " + dead,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDocuments(t *testing.T) {
	documenttest.Exercise(t, func(tb testing.TB, r *view.Run, blobs view.Blobs) *txtar.Archive {
		a := &txtar.Archive{}
		add := func(name, content string, err error) {
			tb.Helper()
			if err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(content)})
		}
		plan, err := PlanDocument(r, blobs)
		add("plan.md", plan, err)
		validation, err := ValidationDocument(r, blobs)
		add("validation.md", validation, err)
		completion, err := CompletionMessage(r, blobs)
		add("completion.md", completion, err)
		trace, err := Trace(r, blobs)
		add("trace.txt", trace, err)
		file, err := TasksFile(r, blobs)
		add("tasks.json", documenttest.Indented(tb, file), err)
		add("learnings.json", documenttest.Indented(tb, Learnings(r, blobs)), nil)
		return a
	})
}

func TestTakesNotes(t *testing.T) {
	for _, name := range recipe.Builtin() {
		r, err := recipe.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := TakesNotes(&r), name == "pandora"; got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
