package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// A task whose loop was ended before its first iteration has not failed.
func TestNeverStarted(t *testing.T) {
	s := cascade(t)
	s.add(5, &pawl.LoopEnded{Outcome: pawl.OutcomeCancelled, Reason: "the phase table failed"})
	last := s.events[len(s.events)-1]
	if got, want := Line(last, fold(s.events), s.read), "[auth/form] Phase never started: the phase table failed · 0 of 2 passed"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
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
		d, err := Document(e, r, nil)
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

// Where nobody says what time it is, nothing is said of how long a question is open. V-20
func TestQuestionsWithoutATime(t *testing.T) {
	s := loomReplanned(t)
	r := fold(s.events)
	if text := QuestionsText(Questions(r, s.now.Add(9*time.Second), s.read)); !strings.Contains(text, "question 1 (plan), open for ") {
		t.Error(text)
	}
	if text := QuestionsText(Questions(r, time.Time{}, s.read)); !strings.Contains(text, "question 1 (plan)\n") {
		t.Error(text)
	}
}

// Who answers about a plan is told what is wrong, and only that. R-42 R-53
func TestPlanQuestionSaysWhatIsWrong(t *testing.T) {
	s := planted(t)
	wrong := func(want string) {
		t.Helper()
		r := s.fold()
		if _, err := r.PlanQuestion(r.Records.Loops[0]); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	wrong("Plan 1738231200000-a1b2 not in Complete state: it is running")
	list := s.hands(`{"title":"Login","specs":[]}`)
	s.accepts(1, list, specs...)
	s.asksForPlan(1, list)
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "approve", By: "ada"})
	wrong("Plan 1738231200000-a1b2 was approved by ada already")
}
