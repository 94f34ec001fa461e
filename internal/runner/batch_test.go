package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/callback"
	"pawl/internal/driver"
	"pawl/internal/runner"
)

// A worktree can show a commit that is on no branch. V-38
func TestShow(t *testing.T) {
	w := MustWorld(t, nil)
	w.MustOpen(t)
	other := w.MustBranch(t, "other", "a", "of another branch\n")
	must[*pawl.WorkspaceReset](t, w, &pawl.ResetWorkspace{Commit: other, Salvage: "refs/pawl/salvage/x", Detached: true})
	if got := MustRead(t, w.dir("a")); got != "of another branch\n" || w.head(t) != w.base {
		t.Errorf("the worktree shows %q, the branch is at %s", got, w.head(t))
	}
	must[*pawl.WorkspaceReset](t, w, &pawl.ResetWorkspace{Commit: w.base, Salvage: "refs/pawl/salvage/y"})
	if got := w.git(t, "-C", w.dir(), "status", "--porcelain"); got != "" {
		t.Errorf("left over: %s", got)
	}
}

// What a candidate changes is told by fingerprints, and what of it only the
// harness may write. V-48
func TestCommittedHunks(t *testing.T) {
	w := MustWorld(t, map[string]string{"a": "one\n"})
	w.MustOpen(t)
	MustWrite(t, w.dir("a"), "two\n")
	MustWrite(t, w.dir(".pawl/recipes/x.yaml"), "x\n") // a policy path, and not the harness's
	do := func() *pawl.Commit {
		return &pawl.Commit{Branch: branch, Parent: w.head(t), Base: w.base, Message: "attempt", Time: time.Unix(1000, 0)}
	}
	there := must[*pawl.Committed](t, w, do())
	if there.Kept != 0 || len(there.Hunks) != 2 {
		t.Errorf("committed %+v", there)
	}
	MustWrite(t, w.dir("a"), "one\n")
	back := must[*pawl.Committed](t, w, do())
	if len(back.Hunks) != 2 || back.Hunks[0] != there.Hunks[1] || back.Hunks[1] != there.Hunks[0] {
		t.Errorf("undone it is %v, before %v", back.Hunks, there.Hunks)
	}
}

// V-49 V-50 V-51 V-52 V-B12
func TestRestore(t *testing.T) {
	w := MustWorld(t, map[string]string{"a": "one\n"})
	w.MustOpen(t)
	MustWrite(t, w.dir("a"), "good\n")
	good := w.MustCandidate(t)
	const ref = "refs/pawl/checkpoints/001-add-login/1"
	mark := &pawl.MarkCheckpoint{Checkpoint: pawl.Checkpoint{N: 1, Commit: good, Label: "batch-1"}, Ref: ref}
	must[*pawl.CheckpointMarked](t, w, mark)
	must[*pawl.CheckpointMarked](t, w, mark, again)
	if got := w.git(t, "rev-parse", ref); got != string(good) {
		t.Errorf("%s is %s", ref, got)
	}
	mark.Commit = w.base
	if f := w.fails(t, mark); f.Code != pawl.FailConflict {
		t.Errorf("a checkpoint that moves: %+v", f)
	}

	MustWrite(t, w.dir("a"), "bad\n")
	bad := w.MustCandidate(t)
	w.r.Redact = func(text []byte) []byte { return []byte(strings.ReplaceAll(string(text), "hush", "[redacted]")) }
	do := &pawl.Restore{Branch: branch, From: bad, To: good, Message: "rollback: it got worse", Time: time.Unix(2000, 0),
		Label: "batch-1", Reason: "TestLogin passed and fails with hush", Tasks: []string{"1.2", "1.3"}}
	said := w.MustKeep(t, "say hush no more")
	paths := w.MustKeep(t, "a\n")
	for _, e := range []pawl.Event{{Loop: 1, Body: &pawl.LoopStarted{}}, {Loop: 1, Body: &pawl.BatchStarted{N: 2}},
		{Loop: 2, Body: &pawl.LoopStarted{Parent: 1, Task: "1.3"}}, {Loop: 2, Body: &pawl.IterationStarted{N: 1}},
		{Loop: 2, Body: &pawl.Committed{Tree: "0123456789abcdef", Total: 1, Paths: paths}},
		{Loop: 2, Body: &pawl.GateJudged{Gate: "batch-review", Verdict: pawl.VerdictRevise, Reason: "the review wants changes", Evidence: said}},
	} {
		w.storeOf(t, e.Loop, e.Body, nil)
	}
	got := must[*pawl.Restored](t, w, do, func(j *driver.Job) { j.Effect.Loop = 1 })
	if f := w.fails(t, do); f.Code != pawl.FailConflict { // another effect: the branch has moved
		t.Errorf("from where the branch was: %+v", f)
	}
	if w.head(t) != got.Commit || w.git(t, "show", string(got.Commit)+":a") != "good" || w.git(t, "log", "-1", "--format=%P", string(got.Commit)) != string(bad) {
		t.Errorf("restored %+v", got)
	}
	const want = "# Anti-Pattern: TestLogin passed and fails with [redacted]\nStatus: ANTI-PATTERN\n\n" +
		"**Context:** rollback to checkpoint batch-1. Nothing that was approved is undone. Broken off: 1.2, 1.3.\n\n" +
		"**What went wrong:** TestLogin passed and fails with [redacted]. 1.3 in batch 2: refused by review: say [redacted] no more.\n\n**Avoid:** 1.3 as it was tried: batch 2 changed a.\n\n**Do instead:** answer that objection"
	if text := w.MustBlob(t, got.Text); !strings.HasPrefix(text, want) || strings.Count(text, "\n") >= 30 {
		t.Errorf("to be remembered is\n%s\nwant\n%s", text, want)
	}
}

// Asked again after a crash, the same effect gives the same commit. V-50
func TestRestoreAgain(t *testing.T) {
	w := MustWorld(t, map[string]string{"a": "one\n"})
	w.MustOpen(t)
	MustWrite(t, w.dir("a"), "two\n")
	head := w.MustCandidate(t)
	job := w.job
	job.Events = func(ctx context.Context) iter.Seq2[pawl.Event, error] { return w.log.Events(ctx, runID, 0) }
	job.Effect = &pawl.Effect{ID: 77, Do: &pawl.Restore{Branch: branch, From: head, To: w.base, Message: "back", Time: time.Unix(2000, 0), Label: "start", Reason: "x"}}
	first, _ := w.r.Perform(t.Context(), job)
	job.Again = true
	second, _ := w.r.Perform(t.Context(), job)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("-first +second:\n%s", diff)
	}
}

// The task's folder is what the events make it, on the run's branch. V-10 V-14 V-17 V-B02 V-B05
func TestWriteRecords(t *testing.T) {
	const folder = ".pawl/tasks/001-add-login/"
	w := MustWorld(t, map[string]string{folder + "learnings/001-old.md": "# Decision 001: Old\n", folder + "report.md": "old\n", "a": "one\n"})
	w.MustOpen(t)
	say := func(body pawl.Body) { w.store(t, body, nil) }
	say(&pawl.RunStarted{Task: 1, Title: "Add hush", Goal: w.MustKeep(t, "Add hush to it."), Criteria: w.job.Started.Criteria, Branch: branch})
	say(&pawl.MemoryAdded{N: 1, Kind: pawl.MemoryDecision, Learning: 2, Text: w.MustKeep(t, "Use cookies\n\n**Choice:** cookies\n")})
	w.r.Redact = func(text []byte) []byte { return []byte(strings.ReplaceAll(string(text), "hush", "[redacted]")) }
	do := &pawl.WriteRecords{Branch: branch, From: w.base, Message: "Records", Time: time.Unix(1000, 0)}
	got := must[*pawl.Recorded](t, w, do)
	if got.Commit == w.base || w.head(t) != got.Commit {
		t.Errorf("the branch is at %s, recorded %s", w.head(t), got.Commit)
	}
	files := w.git(t, "ls-tree", "-r", "--name-only", string(got.Commit), folder)
	want := []string{"context.md", "learnings/001-old.md", "learnings/002-cookies.md", "loop-state.md", "plan.json", "plan.md"}
	if diff := cmp.Diff(want, strings.Split(strings.ReplaceAll(files, folder, ""), "\n")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if text := w.git(t, "show", string(got.Commit)+":"+folder+"plan.md"); !strings.HasPrefix(text, "# Plan: Add [redacted]\n") {
		t.Errorf("plan.md is\n%s", text)
	}
	if text := w.git(t, "show", string(got.Commit)+":"+folder+"learnings/001-old.md"); text != "# Decision 001: Old" {
		t.Errorf("a learning of an earlier run is %q", text)
	}
	do.From = got.Commit
	if next := must[*pawl.Recorded](t, w, do); next.Commit != got.Commit {
		t.Errorf("nothing has changed, and there is the commit %s", next.Commit)
	}
	say(&pawl.MemoryAdded{N: 2, Kind: pawl.MemoryLearning, Learning: 3, Text: w.MustKeep(t, "Run make.")})
	job := w.job
	job.Effect = &pawl.Effect{ID: w.seq, Do: do}
	job.Events = func(ctx context.Context) iter.Seq2[pawl.Event, error] { return w.log.Events(ctx, runID, 0) }
	first, _ := w.r.Perform(t.Context(), job)
	job.Again = true // after a crash
	second, _ := w.r.Perform(t.Context(), job)
	if diff := cmp.Diff(first, second); diff != "" || w.head(t) == got.Commit {
		t.Errorf("again (-first +second):\n%s", diff)
	}

	damaged := func(j *driver.Job) {
		j.Events = func(context.Context) iter.Seq2[pawl.Event, error] {
			return func(yield func(pawl.Event, error) bool) {
				yield(pawl.Event{}, pawl.Errorf(pawl.CodeDamaged, "a damaged row"))
			}
		}
	}
	if f := must[*pawl.EffectFailed](t, w, do, damaged).Failure; f.Code != pawl.FailDefect || !strings.Contains(f.Message, "write .pawl/tasks/001-add-login: a damaged row") {
		t.Errorf("failed with %+v", f)
	}
}

// Whoever is to be told of a question is told the same at every try, and what led to it. V-77 F-71
func TestAnnounce(t *testing.T) {
	w, to := told(t, http.StatusNoContent)
	w.r.Announce, w.r.Project = new(callback.Sender).Announce, "shop"
	w.r.Redact = func(text []byte) []byte { return []byte(strings.ReplaceAll(string(text), "hush", "[redacted]")) }
	w.job.Settings.Announce = &pawl.Announcing{Callback: w.job.Settings.Callback}
	w.job.Blob = func(ctx context.Context, h pawl.Hash) ([]byte, error) { return w.log.Blob(ctx, runID, h) }
	plan := pawl.NewBlob([]byte(`{"questions": ["Is it hush?", "Or not?"]}`))
	for _, body := range []pawl.Body{&pawl.LoopStarted{}, &pawl.IterationStarted{N: 1}, &pawl.Committed{Tree: "0123456789abcdef", Total: 2},
		&pawl.GateJudged{Gate: "tests", Verdict: pawl.VerdictFail, Reason: "TestHush prints hush"}} {
		w.storeOf(t, 1, body, nil)
	}
	w.storeOf(t, 1, &pawl.QuestionAsked{N: 3, Kind: pawl.AskClarify, Text: "Which?", About: plan.Hash()}, []pawl.Blob{plan})
	do := &pawl.Announce{Question: 3, Kind: pawl.AskClarify, Text: "Which hush?", Choices: []string{"answer", "stop"}, Try: 1}
	if n := must[*pawl.Notified](t, w, do); n.Status != http.StatusNoContent {
		t.Errorf("got %+v", n)
	}
	const form = `{"event":"question_asked","delivery":"001-add-login/question-3","run":"001-add-login","project":"shop","goal":"Add a login","question":3,"kind":"clarify",` +
		`"text":"Which [redacted]?","asks":["Is it [redacted]?","Or not?"],"context":["attempt 1 changed 2 files, refused by tests: TestHush prints [redacted]"],"choices":["answer","stop"],"about":"%s","answer":"pawl answer 001-add-login 3","at":"1970-01-01T00:00:01Z"}`
	want := fmt.Sprintf(form, plan.Hash())
	if d := cmp.Diff(want, to.bodies[0]); d != "" {
		t.Error(d)
	}
	do.Try = 2
	must[*pawl.Notified](t, w, do)
	if to.bodies[1] != to.bodies[0] || to.ids[1] != to.ids[0] || to.ids[0] != "001-add-login/question-3" {
		t.Errorf("two tries are %q", to.bodies)
	}
	var env []string
	w.r.Announce = func(_ context.Context, _ pawl.Announcing, _ string, _ []byte, e []string) (int, error) {
		env = e
		return 0, pawl.Errorf(pawl.CodeUnavailable, "busy")
	}
	if f := w.fails(t, do); f.Code != pawl.FailMachine || f.Message != "busy" {
		t.Errorf("failed with %+v", f)
	}
	if d := cmp.Diff([]string{"PAWL_RUN=001-add-login", "PAWL_QUESTION=3", "PAWL_KIND=clarify"}, env); d != "" {
		t.Error(d)
	}
	w.r.Announce = nil
	if f := w.fails(t, do); f.Code != pawl.FailDefect {
		t.Errorf("failed with %+v", f)
	}
}

// What broke and what was mended is told against an earlier report. V-47
func TestBrokeAndMended(t *testing.T) {
	w := MustWorld(t, map[string]string{"test.sh": tap("a", "not b", "c")})
	w.MustOpen(t)
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "sh test.sh", Report: pawl.ReportTAP})
	before := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base})
	MustWrite(t, w.dir("test.sh"), tap("not a", "b", "c", "not d"))
	commit := w.MustCandidate(t)
	got := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: commit, Before: before.Evidence})
	if d := cmp.Diff([][]string{{"a"}, {"b"}, nil}, [][]string{got.Broke, got.Mended, got.Flaky}); d != "" || got.Verdict != pawl.VerdictFail || got.Passed != 2 || got.Total != 4 {
		t.Errorf("judged %+v: %s", got, d)
	}
	if got := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: commit}); len(got.Broke)+len(got.Mended) > 0 {
		t.Errorf("without a report before it broke %q and mended %q", got.Broke, got.Mended)
	}

	// A second look that comes out differently is no break.
	doubt := w.MustKeep(t, pawl.GateReport{Verdict: pawl.VerdictPass, Tests: []pawl.TestResult{
		{Name: "a", Status: pawl.TestPass}, {Name: "b", Status: pawl.TestFail}, {Name: "c", Status: pawl.TestPass}, {Name: "d", Status: pawl.TestPass}}})
	got = must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: commit, Before: before.Evidence, Doubt: doubt})
	if d := cmp.Diff([]string{"a", "b", "d"}, got.Flaky); d != "" || got.Verdict != pawl.VerdictPass || len(got.Broke)+len(got.Mended) > 0 || got.Passed != 4 || got.Total != 4 || got.Failing != 0 {
		t.Errorf("judged again %+v: %s", got, d)
	}
	for what, do := range map[string]*pawl.RunGate{"the report before": {Gate: "tests", Commit: commit, Before: pawl.HashOf([]byte("gone"))},
		"the earlier report on this commit": {Gate: "tests", Commit: commit, Doubt: pawl.HashOf([]byte("gone"))}} {
		if f := w.fails(t, do); f.Code != pawl.FailDefect || !strings.Contains(f.Message, "read "+what) {
			t.Errorf("failed with %+v", f)
		}
	}
}

// A gate that is asked again says so, and which tests are flaky. The one that the candidate added fails
// it; the one that the base has does not. Every second run of this gate's tests fails.
func TestAskedAgain(t *testing.T) {
	w := MustWorld(t, map[string]string{"test.sh": tap("old", "other")})
	w.MustOpen(t)
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "sh test.sh", Report: pawl.ReportTAP})
	base := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base, OnBase: true})

	odd := filepath.Join(t.TempDir(), "odd")
	everySecond := func(fails, passes string) string {
		return fmt.Sprintf("if rm '%s' 2>/dev/null; then %s; else touch '%s'; %s; fi\n", odd, passes, odd, fails)
	}
	ask := func(tests string, doubt pawl.Hash, failsNew bool) *pawl.GateJudged {
		MustWrite(t, w.dir("test.sh"), tests)
		return must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.MustCandidate(t), Base: base.Evidence, Doubt: doubt, FailsNew: failsNew})
	}
	old := everySecond(tap("not old", "other"), tap("old", "other"))
	first := ask(old, pawl.Hash{}, false)
	if first.Verdict != pawl.VerdictFail || !first.WasGreen || first.Again || len(first.Flaky) > 0 || len(first.Broke) > 0 {
		t.Errorf("a test that was green fails: %+v", first)
	}
	second := ask(old, first.Evidence, true)
	if d := cmp.Diff([]string{"old"}, second.Flaky); d != "" || second.Verdict != pawl.VerdictPass || second.WasGreen || !second.Again || second.Failing != 0 || second.Error != 0 {
		t.Errorf("it passes now: %+v: %s", second, d)
	}

	added := everySecond(tap("old", "other", "not new"), tap("old", "other", "new"))
	for _, failsNew := range []bool{true, false} {
		first = ask(added, pawl.Hash{}, false)
		if first.Verdict != pawl.VerdictFail || first.WasGreen || first.Again {
			t.Errorf("a new test fails: %+v", first)
		}
		second = ask(added, first.Evidence, failsNew)
		if d := cmp.Diff([]string{"new"}, second.Flaky); d != "" || (second.Verdict == pawl.VerdictFail) != failsNew || second.WasGreen || !second.Again {
			t.Errorf("it passes now, and new tests fail: %t: %+v: %s", failsNew, second, d)
		}
		if failsNew && (second.Failing != first.Failing || !strings.Contains(second.Reason, "new is new and flaky: it failed once and passed once on the same commit")) {
			t.Errorf("it says %q, and its fingerprint is %x", second.Reason, second.Failing)
		}
	}
}

// However many tests broke and however long their names are, the event is small,
// and other names stay other names.
func TestManyBroke(t *testing.T) {
	w := MustWorld(t, nil)
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "true"})
	var before, now []pawl.TestResult
	for i := range 100 {
		name := fmt.Sprintf("%sTest%03d", strings.Repeat("long/", 30), i)
		was, is := pawl.TestPass, pawl.TestFail
		if i%2 == 0 {
			was, is = is, was
		}
		before, now = append(before, pawl.TestResult{Name: name, Status: was}), append(now, pawl.TestResult{Name: name, Status: is})
	}
	before = append(before, pawl.TestResult{Name: "A", Status: pawl.TestPass}, pawl.TestResult{Name: "A-1", Status: pawl.TestPass}, pawl.TestResult{Name: "A/x", Status: pawl.TestPass})
	now = append(now, pawl.TestResult{Name: "A", Status: pawl.TestFail}, pawl.TestResult{Name: "A-1", Status: pawl.TestFail}, pawl.TestResult{Name: "A/x", Status: pawl.TestFail})
	flaky := []string{"z1", "z2"}
	w.r.Gate = gateFunc(func(context.Context, pawl.GateRequest) (pawl.GateReport, error) {
		return pawl.GateReport{Verdict: pawl.VerdictFail, Reason: strings.Repeat("r", 500), Tests: now, Flaky: flaky}, nil
	})
	got := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base, Before: w.MustKeep(t, pawl.GateReport{Tests: before})})
	if len(got.Broke) != 8 || len(got.Mended) < 1 || got.Broke[0] != "A-1" || got.Broke[1] != "A/x" || !slices.IsSorted(got.Broke[:2]) {
		t.Errorf("broke %q, mended %q", got.Broke, got.Mended)
	}
	for _, name := range slices.Concat(got.Broke, got.Mended, got.Flaky) {
		if len(name) > 80 {
			t.Errorf("%q has %d bytes", name, len(name))
		}
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(got.Broke))); len(unique) != len(got.Broke) {
		t.Errorf("names are the same: %q", got.Broke)
	}
}

// handed is a reply that hands in a result, and the facts of it.
func (w *world) handed(t *testing.T, name string, args any) pawl.ToolUse {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_"+name, string(data))), name),
		transcript(pawl.Item{Kind: pawl.ItemUser, Text: "Do it."}))
	if len(r.Calls) != 1 {
		t.Fatalf("there are %d calls", len(r.Calls))
	}
	return r.Calls[0]
}

// Facts whose value is a text are its hash. V-29 V-38 V-54
func TestTextFacts(t *testing.T) {
	w := MustWorld(t, nil)
	decision := map[string]any{"title": "Cookies", "context": "login", "choice": strings.Repeat("signed ", 100), "invalidated_if": "never", "depends_on": []string{},
		"alternatives_rejected": []map[string]string{{"alternative": "a table", "reason": "more to keep"}}}
	got := w.handed(t, "decision", decision)
	if got.Problem != "" || len(got.Facts) != 1 {
		t.Fatalf("handed in %+v", got)
	}
	if text := w.factText(t, got.Facts, "decision-text", 0); !strings.HasPrefix(text, "Cookies\n\n**Context:** login\n") || !strings.Contains(text, "**Invalidated If:** never") {
		t.Errorf("the decision is\n%s", text)
	}

	verdicts := []map[string]any{}
	for i := range 12 {
		v := map[string]any{"task": fmt.Sprintf("1.%d", i), "verdict": "CHANGES", "feedback": fmt.Sprintf("Fix %d. %s", i, strings.Repeat("y", 700)), "issues": []any{}, "decisions": []any{}}
		if i%3 == 0 {
			v["verdict"], v["feedback"] = "APPROVED", ""
		}
		verdicts = append(verdicts, v)
	}
	got = w.handed(t, "batch", map[string]any{"verdicts": verdicts, "anti_patterns": []string{"do not", "nor this"}})
	if got.Problem != "" || len(got.Facts.All("approved")) != 4 || len(got.Facts.All("changes")) != 8 || len(got.Facts.All("because")) != 8 || len(got.Facts.All("anti-pattern")) != 2 {
		t.Fatalf("handed in %+v", got)
	}
	if text := w.factText(t, got.Facts, "because", 1); !strings.HasPrefix(text, "Fix 2. yyy") {
		t.Errorf("why it is not approved: %q", text)
	}
	if text := w.factText(t, got.Facts, "anti-pattern", 1); text != "nor this" {
		t.Errorf("the anti-pattern is %q", text)
	}
	if i := slices.IndexFunc(got.Facts, func(f pawl.Fact) bool { return f.Value == "1.1" }); got.Facts[i+1].Name != "why" || got.Facts[i+2].Name != "because" {
		t.Errorf("the order is %v", got.Facts)
	}

	// Where not all fits, each task has its verdict all the same.
	for i := range verdicts {
		verdicts[i]["task"], verdicts[i]["verdict"], verdicts[i]["feedback"] = fmt.Sprintf("%02d%s", i, strings.Repeat("x", 58)), "CHANGES", "Fix it."
	}
	got = w.handed(t, "batch", map[string]any{"verdicts": verdicts, "anti_patterns": []string{"do not"}})
	if len(got.Facts.All("changes")) != 12 || len(got.Facts.All("because")) == 0 || len(got.Facts.All("anti-pattern")) != 0 {
		t.Errorf("handed in %+v", got)
	}
}

func (w *world) factText(t *testing.T, facts pawl.Facts, name string, i int) string {
	t.Helper()
	var h pawl.Hash
	if err := h.UnmarshalText([]byte(facts.All(name)[i])); err != nil {
		t.Fatal(err)
	}
	return w.MustBlob(t, h)
}

// A result that is only too long is kept as the harness cuts it. V-26
func TestTrimmed(t *testing.T) {
	w := MustWorld(t, nil)
	long := map[string]any{"phase": "EXECUTE", "current_state": slices.Repeat([]string{strings.Repeat("state ", 30)}, 40), "patterns": []string{}, "decisions": []string{}, "anti_patterns": []string{"never again"}}
	got := w.handed(t, "context", long)
	if got.Problem == "" || got.Trimmed.IsZero() {
		t.Fatalf("handed in %+v", got)
	}
	cut := w.MustBlob(t, got.Trimmed)
	if _, problem := w.r.Submits.Facts("context", json.RawMessage(cut), pawl.Submission{}); problem != "" || !strings.Contains(cut, "never again") {
		t.Errorf("what it is cut to is not right: %s: %s", problem, cut)
	}
	long["phase"] = "SLEEP"
	if got := w.handed(t, "context", long); got.Problem == "" || !got.Trimmed.IsZero() {
		t.Errorf("what is wrong in another way is cut: %+v", got)
	}
	w.r.Submits = struct{ runner.Submits }{w.r.Submits} // one that cuts nothing
	long["phase"] = "EXECUTE"
	if got := w.handed(t, "context", long); got.Problem == "" || !got.Trimmed.IsZero() {
		t.Errorf("it is cut without anyone who could: %+v", got)
	}
}

// A plan says more than its tasks. V-27 V-28 V-33
func TestPlanThatSaysMore(t *testing.T) {
	w := MustWorld(t, nil)
	list := w.MustKeep(t, `{"reasoning":"r","status":"DRAFT","questions":[],"decisions":[{"title":"x"}],"goal":"g","context":"c","risks":["r"],
		"subtasks":[{"id":"1","description":"Make the packages and the tests."}]}`)
	got := must[*pawl.TasksRead](t, w, &pawl.ReadTasks{List: list})
	if got.Problem != "" || got.Count != 1 {
		t.Errorf("read %+v", got)
	}
}
