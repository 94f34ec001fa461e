package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// where tells where each task stands, and what it waits for.
func where(p *Plan) string {
	var out []string
	for _, t := range p.Tasks {
		s := t.ID + " " + t.Status.String()
		if w := p.Waiting(t); len(w) > 0 {
			s += " on " + strings.Join(w, "+")
		}
		if t.Cause != "" {
			s += " by " + t.Cause
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestTasksStand(t *testing.T) { // P-B01 P-72 L-35 L-70 L-77
	for name, want := range map[string]string{
		"pandora-done":    "TASK-001 passed, TASK-002 passed, TASK-003 passed",
		"pandora-blocked": "TASK-001 failed, TASK-002 passed, TASK-003 blocked by TASK-001",
		"loom-parallel":   "install-deps passed, lexer running, grammar passed, parser pending on lexer, docs pending on parser",
		"loom-replanned":  "install-deps passed, tokens pending, lexer pending on tokens, grammar passed, parser pending on lexer",
		"loom-cancelled":  "install-deps passed, tokens passed, lexer skipped, grammar passed, parser skipped",
	} {
		r := fold(stories[name](t).events)
		if got := where(r.Plan()); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		info := r.Info()
		if info.Tasks != len(r.Plan().Tasks) || info.Passed != strings.Count(want, "passed") || info.Questions != map[bool]int{true: 1}[name == "loom-replanned"] {
			t.Errorf("%s: its line says %d tasks, %d passed, %d questions", name, info.Tasks, info.Passed, info.Questions)
		}
	}
}

// A new version keeps what had passed, with its loops, and the attempts of what
// had not; the versions stay. A plan that is refused changes nothing.
func TestNewVersion(t *testing.T) { // L-33 L-69
	s := loomReplanned(t)
	r := fold(s.events)
	l := r.Loops[0]
	if len(l.Plans) != 2 || l.Plans[1].Cause == nil || l.Plans[1].Cause.Cause != pawl.ReplanFailure || l.Plans[0].Cause != nil {
		t.Fatalf("plans: %+v", l.Plans)
	}
	for id, want := range map[string]int{"install-deps": 1, "grammar": 1, "lexer": 2, "tokens": 0} {
		if got := r.Plan().Task(id).Attempts(); got != want { // L-70 L-B12 L-AC7
			t.Errorf("%s: %d attempts, want %d", id, got, want)
		}
	}
	refused := slices.IndexFunc(s.events, func(e pawl.Event) bool { return e.Body.EventKind() == pawl.KindPlanRefused })
	if p := fold(s.events[:refused+1]).Plan(); p.Version != 1 || len(p.Tasks) != 5 { // L-B11
		t.Errorf("a refused plan became version %d", p.Version)
	}
}

// What a loop below was charged is its parent's too, once.
func TestCostsOfATree(t *testing.T) { // L-B17
	r := fold(loomReplanned(t).events)
	if root := r.Loops[0]; root.Spent.Cost != r.Cost || root.Spent.Tokens != r.Tokens || r.Cost != 34_000 {
		t.Errorf("the root was charged %+v of %s", root.Spent, r.Cost)
	}
	if got := r.Plan().Task("lexer").Spent(); got.Cost != 6_000 || got.Tokens != 1_900 {
		t.Errorf("lexer was charged %+v", got)
	}
}

// A loop that the run's end stopped goes on with the run.
func TestStoppedLoopGoesOn(t *testing.T) {
	s := loomParallel(t)
	s.add(3, &pawl.LoopEnded{Outcome: pawl.OutcomeHalted, Reason: "no model", Stopped: true})
	s.add(1, &pawl.LoopEnded{Outcome: pawl.OutcomeHalted, Reason: "no model"})
	s.add(0, &pawl.RunEnded{Outcome: pawl.OutcomeHalted, Reason: "no model"})
	r := fold(s.events)
	if got := r.Plan().Task("lexer").Status; got != pawl.TaskRunning || r.loop(3).End == nil {
		t.Errorf("lexer is %s", got)
	}
	s.add(0, &pawl.RunResumed{From: pawl.OutcomeHalted})
	r = fold(s.events)
	if r.loop(3).End != nil || r.loop(1).End != nil || r.loop(2).End == nil {
		t.Error("the wrong loops go on")
	}
}

func TestCriticalPath(t *testing.T) {
	path := func(entries ...pawl.TaskEntry) string {
		p := &Plan{byID: map[string]*Task{}}
		for i, e := range entries {
			x := &Task{TaskEntry: e, N: i + 1, Status: pawl.TaskStatus(e.Tier)}
			p.Tasks, p.byID[e.ID] = append(p.Tasks, x), x
		}
		var ids []string
		for _, x := range p.Path() {
			ids = append(ids, x.ID)
		}
		return strings.Join(ids, " ")
	}
	e := func(id string, deps ...string) pawl.TaskEntry { return pawl.TaskEntry{ID: id, DependsOn: deps} }
	passed := e("a")
	passed.Tier = int(pawl.TaskPassed)
	failed := e("b", "a")
	failed.Tier = int(pawl.TaskFailed)
	for want, got := range map[string]string{
		"":      path(),
		"a":     path(e("a"), e("b")),
		"a c d": path(e("a"), e("b"), e("c", "a", "a", "b"), e("d", "c"), e("e", "b")),
		"c d":   path(passed, failed, e("c", "a"), e("d", "c")),
		"x":     path(e("p", "q"), e("q", "p"), e("x")), // a circle is on no chain
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPlanDocumentOfPandora(t *testing.T) { // P-87 P-88 P-89 P-90
	s := pandoraDone(t)
	got, err := PlanDocument(fold(s.events), s.read)
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
	s := pandoraDone(t)
	r := fold(s.events)
	got, err := ValidationReport(r, "TASK-002", s.read)
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
	s = pandoraBlocked(t)
	got, err = ValidationReport(fold(s.events), "TASK-001", s.read)
	if err != nil || !strings.Contains(got, "| Tests pass | ✗ | Route added in §4, test passes; there is no test |\n\n**Result:** FAIL\n") {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := ValidationReport(r, "TASK-009", s.read); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Error(err)
	}
}

func TestCompletionMessageOfPandora(t *testing.T) { // P-82 P-86 P-B14
	s := pandoraDone(t)
	got, err := CompletionMessage(fold(s.events), s.read)
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

**Learnings Saved:** 3 patterns to obsidian_memory
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
		s := pandoraBlocked(t)
		s.events[len(s.events)-1].Body = &pawl.RunEnded{Outcome: c.outcome, Reason: c.reason}
		got, err := CompletionMessage(fold(s.events), s.read)
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
	s := pandoraBlocked(t)
	for i, e := range s.events {
		if b, ok := e.Body.(*pawl.LoopEnded); ok && e.Loop > 1 {
			s.events[i].Body = &pawl.LoopEnded{Outcome: pawl.OutcomeFailed, Reason: b.Reason, Stopped: true}
			break
		}
	}
	s.events[len(s.events)-1].Body = &pawl.RunEnded{Outcome: pawl.OutcomeFailed, Reason: "no model: auth"}
	f, err := TasksFile(fold(s.events), s.read)
	if err != nil {
		t.Fatal(err)
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

func TestTraceOfPandora(t *testing.T) { // P-93
	s := pandoraDone(t)
	got, err := Trace(fold(s.events), s.read)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`
[Pandora Loop Starts]

=== Iteration 1: TASK-001 (OAuth integration) ===
  [Planner-Coordinator Loop - 3 iterations]
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
	s := pandoraDone(t)
	got := Learnings(fold(s.events), s.read)
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
	s := pandoraBlocked(t)
	var got []string
	for i := range s.events {
		f, err := TasksFile(fold(s.events[:i+1]), s.read)
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

// fields checks the names of a document's fields.
func fields(tb testing.TB, v any, want string) {
	tb.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		tb.Fatal(err)
	}
	if names := strings.Join(slices.Sorted(maps.Keys(got)), " "); names != want {
		tb.Errorf("%T has the fields %s, want %s", v, names, want)
	}
}

func TestLoomTask(t *testing.T) {
	s := loomReplanned(t)
	r := fold(s.events)
	got, err := Loom(r, s.read)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != "executing" || got.Approval != "confidence_threshold" || got.Callback != "https://ci.example/hook" || got.Context["constraints"] != "Only below lang/" { // L-31 L-32
		t.Errorf("%+v", got)
	}
	fields(t, got, "approval_mode callback_url context created_at goal id metadata plan progress status updated_at workspace_path") // L-30
	fields(t, got.Plan, "created_at replanned_at subtasks version")                                                                 // L-33
	if p := got.Plan; p.Version != 2 || p.Replanned == nil || !p.Created.Before(*p.Replanned) || len(p.Subtasks) != 5 {
		t.Errorf("plan %+v", p)
	}
	grammar := got.Plan.Subtasks[3]
	res := grammar.Result
	if grammar.ID != "grammar" || grammar.Status != "completed" || res == nil || res.Status != "success" || res.Summary != "The grammar is there" || // L-35 L-58
		!slices.Equal(res.Artifacts, []string{"grammar.go", "tokens.go"}) || // L-60
		res.Tokens != 1_500 || res.Seconds != 16 || res.Model == "" || !res.Verification.Passed { // L-B17
		t.Fatalf("grammar %+v, result %+v", grammar, res)
	}
	fields(t, grammar, "depends_on description id is_critical_path max_retries model_tier result retry_count status verification_tier") // L-34
	fields(t, res, "artifacts duration_seconds model_used status summary tokens_used tool_calls verification")                          // L-39
	fields(t, res.ToolCalls[0], "args result timestamp tool")                                                                           // L-40
	if len(res.ToolCalls) != 2 || res.ToolCalls[0].Tool != "edit" || string(res.ToolCalls[0].Args) != `{"new":"b","old":"a","path":"grammar.go"}` || res.ToolCalls[0].Result != "ok" || res.ToolCalls[0].Time.IsZero() {
		t.Errorf("calls %+v", res.ToolCalls)
	}
	if lexer := got.Plan.Subtasks[2]; lexer.RetryCount != 1 || lexer.MaxRetries != 3 || lexer.Result != nil || lexer.Status != "pending" {
		t.Errorf("lexer %+v", lexer)
	}

	s = grow(t, loom, "Write a parser", settings()) // a plan of which nothing has started yet
	s.plan(1, pawl.ForStep, "", "", parser...)
	if got, err = Loom(fold(s.events), s.read); err != nil {
		t.Fatal(err)
	}
	deps, lexer := got.Plan.Subtasks[0], got.Plan.Subtasks[1]
	if deps.ModelTier != 1 || lexer.ModelTier != 2 { // L-36
		t.Errorf("the tiers are %d and %d", deps.ModelTier, lexer.ModelTier)
	}
	if deps.Verification != 1 || lexer.Verification != 2 { // L-37
		t.Errorf("the tiers of verification are %d and %d", deps.Verification, lexer.Verification)
	}
	if !deps.Critical || lexer.Critical { // L-38
		t.Errorf("critical: %t and %t", deps.Critical, lexer.Critical)
	}
}

// L-58 L-59: a subtask that did not pass has failed. Its summary is the beginning of
// the model's reply.
func TestLoomResult(t *testing.T) {
	s := grow(t, loom, "Write a parser", settings())
	s.plan(1, pawl.ForStep, "", "", parser[0])
	s.spawn(2, "install-deps", 1, 1)
	s.work("execute", "executor", strings.Repeat("long ", 100))
	s.candidate("go.mod")
	s.tests(0, 3, "A", "B", "C")
	s.end(pawl.IterationEnded{Quality: pawl.VerdictFail, Decision: pawl.DecideHalt, Reason: "tests fail", Outcome: pawl.OutcomeIncomplete})
	s.finish(pawl.OutcomeIncomplete, "tests fail")
	got, err := Loom(fold(s.events), s.read)
	if err != nil {
		t.Fatal(err)
	}
	sub := got.Plan.Subtasks[0]
	if sub.Status != "failed" || sub.Result == nil || sub.Result.Status != "failed" || sub.Result.Verification.Passed {
		t.Fatalf("%+v, result %+v", sub, sub.Result)
	}
	if n := utf8.RuneCountInString(sub.Result.Summary); n != 200 || !strings.HasPrefix(sub.Result.Summary, "long long ") {
		t.Errorf("the summary has %d characters: %s", n, sub.Result.Summary)
	}
}

func TestLoomStatus(t *testing.T) { // L-31 L-B14 L-B15
	s := loomCancelled(t)
	var got []string
	for i := range s.events {
		task, err := Loom(fold(s.events[:i+1]), s.read)
		if err == nil && (len(got) == 0 || got[len(got)-1] != task.Status) {
			got = append(got, task.Status)
		}
	}
	if want := []string{"planning", "executing", "verifying", "cancelled"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s = pandoraBlocked(t)
	if task, err := Loom(fold(s.events), s.read); err != nil || task.Status != "failed" || task.Plan.Subtasks[0].Result.Status != "partial" || task.Plan.Subtasks[2].Status != "blocked" {
		t.Errorf("%v: %+v", err, task.Plan)
	}
}

// names are the events' names in the order they first come.
func names(s *story) []string {
	r := New()
	var out []string
	for _, e := range s.events {
		r.Apply(e)
		if n := Name(e, r); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func TestNamesOfLoom(t *testing.T) { // L-B22 L-AC10
	s := loomCancelled(t)
	got := names(s)
	want := []string{
		"task_created", "task_planning", "model_call_started", "model_call_completed",
		"task_plan_ready", // L-09
		"subtask_started", // L-47
		"tool_call_started", "tool_call_completed", "verification_started", "verification_passed",
		"subtask_completed", // L-21 L-61
		"subtask_retrying",
		"subtask_failed",  // L-B02
		"task_replanning", // L-24 L-66
		"task_plan_refused", "approval_requested", "approval_granted", "subtask_skipped",
		"task_cancelled", // L-79
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	done := names(pandoraDone(t))
	for _, n := range []string{"request_plan_ready", "task_started", "task_completed", "memory_entry_created", "request_completed"} {
		if !slices.Contains(done, n) {
			t.Errorf("no %s in %v", n, done)
		}
	}
	if blocked := names(pandoraBlocked(t)); !slices.Contains(blocked, "verification_failed") || !slices.Contains(blocked, "task_blocked") || !slices.Contains(blocked, "request_failed") {
		t.Error(blocked)
	}
	s = loomReplanned(t) // granted is the first choice, denied any other
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "reject"})
	if got := names(s); got[len(got)-1] != "approval_denied" {
		t.Error(got)
	}
}

// How a run and its subtasks end is in their last events' names.
func TestNamesOfEnds(t *testing.T) { // L-B22 L-B02 L-28
	for outcome, want := range map[pawl.Outcome]string{
		pawl.OutcomeComplete: "completed", pawl.OutcomeUnverified: "completed", pawl.OutcomeCancelled: "cancelled",
		pawl.OutcomeFailed: "failed", pawl.OutcomeIncomplete: "failed", pawl.OutcomeBlocked: "failed", pawl.OutcomeHalted: "failed",
	} {
		s := loomParallel(t)
		s.add(3, &pawl.LoopEnded{Outcome: outcome})
		s.add(1, &pawl.LoopEnded{Outcome: outcome})
		s.add(0, &pawl.RunEnded{Outcome: outcome})
		r := fold(s.events)
		n := len(s.events)
		if sub, root, run := Name(s.events[n-3], r), Name(s.events[n-2], r), Name(s.events[n-1], r); sub != "subtask_"+want || root != "" || run != "task_"+want {
			t.Errorf("%s: %q, %q, %q", outcome, sub, root, run)
		}
	}
	s := loomParallel(t)
	s.add(3, &pawl.LoopEnded{Outcome: pawl.OutcomeHalted, Stopped: true})
	if got := Name(s.events[len(s.events)-1], fold(s.events)); got != "subtask_stopped" {
		t.Errorf("one that goes on with the run: %q", got)
	}
}

func TestEventDocument(t *testing.T) { // L-B22
	s := loomParallel(t)
	r := New()
	for _, e := range s.events {
		r.Apply(e)
		d, err := Document(e, r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back pawl.Event
		if err := json.Unmarshal(data, &back); err != nil || back.Seq != e.Seq || cmp.Diff(e.Body, back.Body) != "" && e.Body.EventKind() != pawl.KindTasksRead {
			t.Fatalf("event %d does not come back: %v", e.Seq, err)
		}
		if e.Seq == 45 && (d.Task != "20250130-100000-1a2b" || d.Subtask != "lexer" || d.Correlation != "20250130-100003-ffff/1/1" || d.Timestamp != "2025-01-30T10:00:48.000Z" || d.Name != "model_call_completed") {
			t.Errorf("%+v", d)
		}
	}
}

func TestTaskList(t *testing.T) {
	s := loomParallel(t)
	r := fold(s.events)
	got := Tasks(r, s.now)
	if want := (TaskProgress{Total: 5, Completed: 2, Pending: 2, Running: 1, Percent: 40}); got.Progress != want {
		t.Errorf("progress %+v", got.Progress)
	}
	if !slices.Equal(got.Path, []string{"lexer", "parser", "docs"}) || !got.Tasks[0].Critical || got.Tasks[0].OnPath || !got.Tasks[1].OnPath {
		t.Errorf("path %v", got.Path)
	}
	if row := got.Tasks[1]; row.Attempts != 2 || row.Tier != "fast" || row.Cost != 5_000 || row.Seconds <= 0 || row.Branch != "pawl/001-add-login.lexer" || row.LoopID == "" {
		t.Errorf("lexer %+v", row)
	}
	if none := Tasks(fold(s.events[:5]), s.now); none.Version != 0 || none.Tasks == nil {
		t.Errorf("before the plan: %+v", none)
	}
	for _, l := range strings.Split(TasksText(r, s.now, 60), "\n") {
		if strings.Contains(l, "lexer ") && len([]rune(l)) > 60 && !strings.Contains(l, "→") {
			t.Errorf("a row is wider than the terminal: %q", l)
		}
	}
}

// A long list shows what is at work and what is wrong first.
func TestLongTable(t *testing.T) {
	s := grow(t, loom, "Much", settings())
	var many []pawl.TaskSpec
	for i := range 50 {
		many = append(many, pawl.TaskSpec{ID: fmt.Sprintf("t%02d", i), Title: "x"})
	}
	s.list(s.blob("list"), 1, "", many...)
	s.spawn(2, "t40", 41, 1)
	r := fold(s.events)
	list := Tasks(r, s.now)
	rows := r.taskTable(&list, 80, tableRows)
	if len(rows) != tableRows+2 || !strings.Contains(rows[1], "t40") || !strings.Contains(rows[tableRows+1], "and 20 others: pawl tasks 001-add-login") {
		t.Errorf("%d rows:\n%s", len(rows), strings.Join(rows, "\n"))
	}
}

func TestWhyOfATree(t *testing.T) {
	for name, want := range map[string][]string{
		"pandora-blocked": {"is blocked: TASK-003 is blocked by TASK-001", "← task TASK-001 failed after 1 attempt: validation: AC-002 is not met", "← gate validation: FAIL: judged", "← blocked by TASK-001, which cannot pass: TASK-003"},
		"loom-replanned":  {"2 of 5 tasks passed (40%), 3 pending · plan 2", "… waits for your answer to question 1 (plan), since 10:01:36: May these 5 tasks be worked on?", "plan 2 was made because of failure: lexer failed", "Next: pawl answer 001-add-login 1 approve (or reject)"},
	} {
		saysWhy(t, name, want)
	}
}

// saysWhy checks what is said of why a story's run is where it is.
func saysWhy(t *testing.T, name string, want []string) {
	t.Helper()
	got := WhyText(fold(stories[name](t).events))
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s: no %q in\n%s", name, w, got)
		}
	}
}

// Children are found by their task, their place and their session.
func TestPromptOfAChild(t *testing.T) {
	s := loomReplanned(t)
	r := fold(s.events)
	for selector, want := range map[string]string{
		"lexer":                     "subtask:lexer/2/implement",
		"lexer/1/execute":           "subtask:lexer/1/execute",
		"subtask:grammar/1/execute": "subtask:grammar/1/execute",
		"grammar":                   "subtask:grammar/1/execute",
		"loop-3/session-1":          "subtask:lexer/1/execute",
		"session-1":                 "task/1/plan",
		"plan":                      "task/1/plan",
		"loop-4":                    "subtask:grammar/1/execute",
		"loop-4/execute":            "subtask:grammar/1/execute",
		"parser":                    "",
		"loop-9":                    "",
	} {
		sent, err := Prompt(r, selector)
		if (err == nil) != (want != "") || err == nil && sent.Place.String() != want {
			t.Errorf("%s: got %s, %v", selector, sent.Place, err)
		}
	}
}

// The live area has a line for each task that is worked on.
func TestLiveAreaSideBySide(t *testing.T) {
	s := loomParallel(t)
	seq := slices.IndexFunc(s.events, func(e pawl.Event) bool { return e.Loop == 4 && e.Body.EventKind() == pawl.KindCommitted })
	p := NewProgress(fold(s.events[:seq]), ProgressOptions{Live: true, Width: func() int { return 100 }})
	p.run.open = append(p.run.open, pending{&pawl.Effect{Loop: 3, Do: &pawl.RunGate{Gate: "tests"}}, s.now})
	got := strings.Join(plainOf(p.status()), "\n")
	want := "001-add-login · iteration 1/1 · large · tasks 1/5 · 1m4s · $0.0240/$10.00\n  [lexer] 1/4 fast · gate tests\n  [grammar] 1/4 fast · the commit"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	r := fold(loomReplanned(t).events)
	if got := strings.Join(plainOf(NewProgress(r, ProgressOptions{Live: true}).status()), "\n"); !strings.HasSuffix(got, "\n  waits for you: pawl answer 001-add-login 1 approve (or reject)") {
		t.Errorf("got %s", got)
	}
}

// Time in which a run only waits for people does not count.
func TestTimeOfPeople(t *testing.T) {
	before := fold(loomReplanned(t).events)
	after := fold(loomCancelled(t).events) // an hour later somebody answers
	if d := after.Alive - before.Alive; d <= 0 || d >= time.Hour {
		t.Errorf("it was alive for %s more", d)
	}
	if got := before.AliveAt(before.Updated.Add(time.Hour)); got != before.Alive {
		t.Errorf("while it waits it is alive for %s", got)
	}
}

// A child's limit is not what the run ended for; the limit on tasks is.
func TestNextOfATree(t *testing.T) { // P-84 P-B06
	ended := func(loop pawl.LoopRef, name pawl.LimitName) string {
		s := loomReplanned(t)
		s.add(1, &pawl.QuestionAnswered{N: 1, Choice: "approve"})
		s.add(loop, &pawl.LimitReached{Scope: "task", Limit: name, Max: 3, Value: 3})
		s.add(0, &pawl.RunEnded{Outcome: pawl.OutcomeIncomplete, Reason: "2 of 5 tasks passed"})
		text := WhyText(fold(s.events))
		return text[strings.LastIndex(text, "Next: "):]
	}
	for want, got := range map[string]string{
		"Next: pawl resume 001-add-login\n":                    ended(3, pawl.LimitIterations),
		"Next: pawl resume 001-add-login --max-iterations 8\n": ended(1, pawl.LimitTasks),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
