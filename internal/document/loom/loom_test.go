package loom

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/document/documenttest"
	"pawl/internal/recorded"
	"pawl/internal/view"
)

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
	s := recorded.Story(t, "loom-replanned")
	r := documenttest.Fold(s.Events)
	got, err := New(r, s.Blob)
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

	s = recorded.Story(t, "loom-parallel") // up to the plan, of which nothing has started yet
	planned := slices.IndexFunc(s.Events, func(e pawl.Event) bool { return e.Body.EventKind() == pawl.KindPlanAccepted })
	if got, err = New(documenttest.Fold(s.Events[:planned+1]), s.Blob); err != nil {
		t.Fatal(err)
	}
	deps, lexer := got.Plan.Subtasks[0], got.Plan.Subtasks[1]
	if deps.ModelTier != 1 || lexer.ModelTier != 2 { // L-36
		t.Errorf("the tiers are %d and %d", deps.ModelTier, lexer.ModelTier)
	}
	if got, err = New(documenttest.Fold(s.Events), s.Blob); err != nil || got.Plan.Subtasks[1].ModelTier != 2 { // L-34: whatever tier it is on
		t.Errorf("%v: %+v", err, got.Plan)
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
	s := recorded.Story(t, "loom-failed")
	got, err := New(documenttest.Fold(s.Events), s.Blob)
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
	s := recorded.Story(t, "loom-cancelled")
	var got []string
	for i := range s.Events {
		task, err := New(documenttest.Fold(s.Events[:i+1]), s.Blob)
		if err == nil && (len(got) == 0 || got[len(got)-1] != task.Status) {
			got = append(got, task.Status)
		}
	}
	if want := []string{"planning", "executing", "verifying", "cancelled"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s = recorded.Story(t, "pandora-blocked")
	last := slices.IndexFunc(s.Events, func(e pawl.Event) bool { b, ok := e.Body.(*pawl.IterationEnded); return ok && e.Loop == 1 && b != nil })
	asked := append(slices.Clone(s.Events[:last]), pawl.Event{Seq: s.Events[last].Seq, Loop: 1, Body: &pawl.QuestionAsked{N: 1, Kind: pawl.AskBlocked}})
	for want, events := range map[string][]pawl.Event{"verifying": s.Events[:last], "executing": asked} {
		if task, err := New(documenttest.Fold(events), s.Blob); err != nil || task.Status != want {
			t.Errorf("%v: it is %s, want %s", err, task.Status, want)
		}
	}
	if task, err := New(documenttest.Fold(s.Events), s.Blob); err != nil || task.Plan.Subtasks[0].Result.Tokens != 4300 { // L-39
		t.Errorf("%v: %+v", err, task.Plan.Subtasks[0].Result)
	}
	if task, err := New(documenttest.Fold(s.Events), s.Blob); err != nil || task.Status != "failed" || task.Plan.Subtasks[0].Result.Status != "partial" || task.Plan.Subtasks[2].Status != "blocked" {
		t.Errorf("%v: %+v", err, task.Plan)
	}
}

func TestDocument(t *testing.T) {
	documenttest.Exercise(t, func(tb testing.TB, r *view.Run, blobs view.Blobs) *txtar.Archive {
		task, err := JSON(r, blobs)
		if err != nil {
			tb.Fatal(err)
		}
		return &txtar.Archive{Files: []txtar.File{{Name: "task.json", Data: task}}}
	})
}
