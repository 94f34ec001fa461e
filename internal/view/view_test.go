package view

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func fold(events []pawl.Event) *Run {
	r := New()
	for _, e := range events {
		r.Apply(e)
	}
	return r
}

// projections are all of them of a run, by the name of a golden section.
func projections(tb testing.TB, r *Run, blobs Blobs) *txtar.Archive {
	a := &txtar.Archive{}
	add := func(name, content string, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(content)})
	}
	state, err := StateYAML(r, blobs)
	add("state.yaml", string(state), err)
	for i := range r.Loops[0].Iterations {
		report, err := IterationReport(r, i+1, blobs)
		add(fmt.Sprintf("iteration-%d.txt", i+1), report, err)
	}
	report, err := CompletionReport(r, blobs)
	add("completion.txt", report, err)
	add("why.txt", WhyText(r), nil)
	add("show.txt", Show(r, blobs), nil)
	if open := Questions(r, r.Updated.Add(time.Hour), blobs); len(open) > 0 {
		add("questions.txt", QuestionsText(open), nil)
		add("questions.json", indented(tb, open), nil)
	}
	if r.Plan() != nil {
		tree(tb, r, blobs, add)
	}
	return a
}

// tree adds the projections of a run that has a list of tasks.
func tree(tb testing.TB, r *Run, blobs Blobs, add func(name, content string, err error)) {
	tb.Helper()
	if r.inBatches(r.root()) {
		add("todos.txt", TodosText(r), nil)
		add("todos.json", indented(tb, Todos(r)), nil)
		add("checkpoints.txt", CheckpointsText(r, 0), nil)
		add("checkpoints.json", indented(tb, Checkpoints(r)), nil)
	}
	add("tasks.txt", TasksText(r, r.Updated, 0), nil)
	add("list.json", indented(tb, Tasks(r, r.Updated)), nil)
}

func indented(tb testing.TB, v any) string {
	tb.Helper()
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	return string(out) + "\n"
}

// log is the run's log with each line's level: "!" important, "·" normal, " " detail.
func log(events []pawl.Event, blobs Blobs) string {
	var b strings.Builder
	r := New()
	for _, e := range events {
		r.Apply(e)
		level := map[Level]string{Detail: " ", Normal: "·", Important: "!"}[LevelOf(e)]
		fmt.Fprintf(&b, "%3d %s %s\n", e.Seq, level, Line(e, r, blobs))
	}
	return b.String()
}

func TestStories(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(stories)) {
		t.Run(name, func(t *testing.T) {
			s := stories[name](t)
			a := projections(t, fold(s.events), s.read)
			a.Files = append(a.Files, txtar.File{Name: "log.txt", Data: []byte(log(s.events, s.read))})
			golden(t, name+".txtar", txtar.Format(a))
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs; go test -update rewrites it:\n%s", path, d)
	}
}

// Every projection exists after every event, is the same when it is made again
// from stored events, and shows only what is safe. Making projections after each event
// does not change the run: at the end it equals a run that is folded all at once.
func TestEveryPrefix(t *testing.T) {
	every := 1
	if testing.Short() {
		every = 5
	}
	for _, name := range slices.Sorted(maps.Keys(stories)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stories[name](t)
			r, again := New(), New()
			var stored []pawl.Event
			for i, e := range s.events {
				d, err := pawl.DecodeEvent(e.Run, e.Seq, pawl.AppendEvent(nil, e))
				if err != nil {
					t.Fatal(err)
				}
				stored = append(stored, d)
				r.Apply(e)
				again.Apply(d)
				if i == 0 {
					if _, err := StateYAML(r, s.read); pawl.CodeOf(err) != pawl.CodeNotFound {
						t.Fatalf("a run without a loop: %v", err)
					}
					mustBeSafe(t, WhyText(r)+Show(r, s.read))
					continue
				}
				if m := r.Records.Loops[0].Money; m != r.Money() { // F-38
					t.Fatalf("after event %d the root's record has %+v, the run %+v", i+1, m, r.Money())
				}
				last := i == len(s.events)-1
				if i%every != 0 && !last {
					continue
				}
				if last {
					again = fold(stored)
				}
				got := string(txtar.Format(projections(t, r, s.read))) + transcript(t, r, s.read)
				mustBeSafe(t, got)
				if again := string(txtar.Format(projections(t, again, s.read))) + transcript(t, again, s.read); got != again {
					t.Fatalf("after event %d, made again: %s", i+1, cmp.Diff(got, again))
				}
				mustBeYAML(t, r, s.read)
				if d := cmp.Diff(r.Info(), Info(stored)); d != "" {
					t.Fatalf("after event %d: %s", i+1, d)
				}
			}
		})
	}
}

func mustBeYAML(t *testing.T, r *Run, blobs Blobs) {
	t.Helper()
	state, err := StateYAML(r, blobs)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.UnmarshalWithOptions(state, &v, yaml.Strict()); err != nil {
		t.Fatalf("%v:\n%s", err, state)
	}
}

// The document's state file, but for three places: it shows current_model sonnet
// while opus has run iteration 3, it has no reason for the change of model, and no
// money. F-38
func TestStateFileOfTheDocument(t *testing.T) { // D-43 D-44 D-45 D-46
	s := escalated(t)
	seq := slices.IndexFunc(s.events, func(e pawl.Event) bool {
		b, ok := e.Body.(*pawl.IterationEnded)
		return ok && b.N == 3
	})
	got, err := StateYAML(fold(s.events[:seq+1]), s.read)
	if err != nil {
		t.Fatal(err)
	}
	want := `tasks:
  TASK-001:
    status: in_progress
    started_at: "2025-01-30T10:00:00Z"
    complexity:
      score: 6
      tier: moderate
    current_model: opus
    iteration: 3
    model_history:
      - iteration: 1
        model: sonnet
        quality_status: FAIL
        requirements_status: FAIL
        errors: ["Test failure in auth module"]
        money: {spent: 31200, spent_tokens: 12431, held: 0, held_tokens: 0, lost: 0, lost_tokens: 0}
      - iteration: 2
        model: sonnet
        quality_status: FAIL
        requirements_status: FAIL
        errors: ["Same test still failing"]
        money: {spent: 31200, spent_tokens: 12431, held: 0, held_tokens: 0, lost: 0, lost_tokens: 0}
      - iteration: 3
        model: opus
        quality_status: PASS
        requirements_status: PASS
        reason: "2 consecutive failures"
        money: {spent: 31200, spent_tokens: 12431, held: 0, held_tokens: 0, lost: 0, lost_tokens: 0}
    escalations:
      - from: sonnet
        to: opus
        reason: "2 consecutive failures"
        iteration: 3
    money: {spent: 94400, spent_tokens: 38493, held: 0, held_tokens: 0, lost: 0, lost_tokens: 0}
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

// What the iteration cost is below the document's report. F-38
func TestIterationReportOfTheDocument(t *testing.T) { // D-47 D-48
	s := escalated(t)
	got, err := IterationReport(fold(s.events), 2, s.read)
	if err != nil {
		t.Fatal(err)
	}
	want := `═══════════════════════════════════════════════════════════════
 TASK LOOP - Iteration 2/10
═══════════════════════════════════════════════════════════════

[Task] TASK-001: Add login
[Model] sonnet (complexity: 6/14)

[Implementation]
  Agent: developer
  Status: completed
  Files: 1 modified

[Quality Gates]
  Tests:     FAIL (10/12)
  Types:     PASS
  Lint:      PASS
  Security:  PASS

[Requirements]
  Status: FAIL
  Criteria: 3/5

[Decision]
  ESCALATE
  Reason: 2 consecutive failures

═══════════════════════════════════════════════════════════════

Spent:   3 calls, 12,431 tokens, $0.0312
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := strings.Count(strings.SplitN(got, "\n", 2)[0], "═"); n != 63 {
		t.Errorf("the rule is %d wide", n)
	}
}

func TestCompletionReportOfTheDocument(t *testing.T) { // D-49 D-50 D-B09 F-95
	s := escalated(t)
	got, err := CompletionReport(fold(s.events), s.read)
	if err != nil {
		t.Fatal(err)
	}
	want := `═══════════════════════════════════════════════════════════════
 TASK LOOP - COMPLETE
═══════════════════════════════════════════════════════════════

Task: TASK-001
Status: COMPLETE
Iterations: 3
Final Model: opus

[Quality Summary]
  All tests passing: YES
  Type errors: 0
  Lint errors: 0
  Security issues: 0

[Requirements]
  All criteria met: YES (5/5)

[Model Usage]
  Haiku:  0 calls
  Sonnet: 2 calls
  Opus:   1 call

[Escalations]
  sonnet → opus (iteration 3): 2 consecutive failures

═══════════════════════════════════════════════════════════════
`
	block, footer, ok := strings.Cut(got, "═\n\nBranch:")
	if d := cmp.Diff(want, block+"═\n"); !ok || d != "" {
		t.Error(d)
	}
	if !strings.Contains(footer, "pawl merge 001-add-login") {
		t.Errorf("the footer does not say how to merge: %s", footer)
	}
}

// F-11: what commands do not see of the history is said once, and remembered.
func TestNoteOfAWorktree(t *testing.T) {
	const note = "Commands see only the latest 500 commits of the history before the run."
	s := begin(t, 6, 2, func(_ *pawl.Settings, b *pawl.RunStarted) { b.Notes = []string{"The repository is bare."} })
	for range 2 { // it is opened again when the run goes on
		open := s.ask(0, s.place("open", "", 0), &pawl.OpenWorkspace{Name: "x", Branch: "pawl/x", Base: s.head})
		s.add(s.ref, &pawl.WorkspaceOpened{Effect: open, Head: s.head, Tree: "tree0", Note: note})
	}
	r := New()
	for _, e := range s.events {
		r.Apply(e)
	}
	last := s.events[len(s.events)-1]
	if line := Line(last, r, s.read); LevelOf(last) != Important || !strings.HasSuffix(line, " · "+note) {
		t.Errorf("the event is told as %q at level %v", line, LevelOf(last))
	}
	if shown := Show(r, s.read); strings.Count(shown, "  Note       "+note+"\n") != 1 || !strings.Contains(shown, "The repository is bare.") {
		t.Errorf("the run is shown as\n%s", shown)
	}
}

// How long gates took is told wherever their verdicts are. One that was cut short on the base
// is not called red there. F-27
func TestDurationsOfGates(t *testing.T) {
	s := begin(t, 2, 1, nil)
	id := s.ask(0, pawl.Place{Loop: "task", Step: "tests"}, &pawl.RunGate{Gate: "tests", Commit: "base", OnBase: true})
	s.add(s.ref, &pawl.GateJudged{Effect: id, Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictFail, OnBase: true, Partial: true, Reason: "timed out after 30m", Duration: 30 * time.Minute})
	s.iterate(1, "")
	s.gate(pawl.GateJudged{Gate: "tests", Verdict: pawl.VerdictPass, Passed: 4, Total: 4, Duration: 90 * time.Second})
	r, blobs := New(), Blobs(s.read)
	for _, e := range s.events {
		r.Apply(e)
	}
	lines := log(s.events, s.read)
	report, err := CompletionReport(r, blobs)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string][2]string{
		"the line of the base": {lines, "Gate tests on the base: NO VERDICT, so it excuses no failure: timed out after 30m"},
		"the line":             {lines, "Gate tests: PASS (4/4) in 1m30s"},
		"the report":           {report, "No verdict at base: tests: timed out after 30m\nGates:   tests 1m30s; on the base tests 30m\n"},
		"show":                 {Show(r, blobs), "No verdict at base: it excuses no failure\n  tests  NO VERDICT  in 30m  timed out after 30m\n"},
		"show's gates":         {Show(r, blobs), "Gates\n  tests  PASS  4/4 in 1m30s\n"},
	} {
		if !strings.Contains(text[0], text[1]) {
			t.Errorf("%s lacks %q:\n%s", what, text[1], text[0])
		}
	}
}

func TestIterationStartIsLogged(t *testing.T) { // D-29
	s := escalated(t)
	text := log(s.events, s.read)
	for _, want := range []string{"Starting iteration 1/10", "Starting iteration 2/10", "Starting iteration 3/10"} {
		if n := strings.Count(text, " "+want+" ("); n != 1 {
			t.Errorf("%q is logged %d times", want, n)
		}
	}
}

// A list's line, in every state.
func TestInfo(t *testing.T) {
	type row struct {
		Status    pawl.RunStatus
		Outcome   pawl.Outcome
		Tier      string
		Iteration int
		Max       int
		Cost      pawl.Micros
		Tokens    int64
	}
	for name, want := range map[string]row{
		"escalated":  {pawl.StatusEnded, pawl.OutcomeComplete, "opus", 3, 10, 94_400, 38_493},
		"from-haiku": {pawl.StatusRunning, "", "sonnet", 3, 10, 57_200, 24_862},
		"halted":     {pawl.StatusEnded, pawl.OutcomeHalted, "haiku", 1, 10, 26_000, 12_431},
		"cancelled":  {pawl.StatusEnded, pawl.OutcomeCancelled, "sonnet", 1, 10, 111_800, 40_200},
		"paused":     {pawl.StatusPaused, "", "sonnet", 1, 10, 21_800, 10_200},
		"recovered":  {pawl.StatusRunning, "", "sonnet", 1, 10, 90_800, 31_200},
		"incomplete": {pawl.StatusEnded, pawl.OutcomeIncomplete, "sonnet", 1, 1, 21_800, 10_200},
		"unverified": {pawl.StatusEnded, pawl.OutcomeUnverified, "sonnet", 1, 0, 32_000, 13_631},
	} {
		t.Run(name, func(t *testing.T) {
			s := stories[name](t)
			i := Info(s.events)
			got := row{i.Status, i.Outcome, i.Tier, i.Iteration, i.Max, i.Cost, i.Tokens}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if i.ID != "001-add-login" || i.Task != 1 || i.Title != "Add login" || i.Recipe != "taskloop" || i.Branch != "pawl/001-add-login" ||
				!i.Started.Equal(s.events[0].Time) || !i.Updated.Equal(s.now) || i.Seq != pawl.Seq(len(s.events)) {
				t.Errorf("the header is %+v", i)
			}
		})
	}
}

// Time passes for a run while a process has it, and not in between.
func TestAlive(t *testing.T) {
	for name, want := range map[string]time.Duration{
		"recovered": 15 * time.Second,
		"paused":    33 * time.Second,
		"resumed":   79 * time.Second,
	} {
		s := stories[name](t)
		r := fold(s.events)
		if r.Alive != want {
			t.Errorf("%s: alive for %s, want %s", name, r.Alive, want)
		}
		if want := map[string]int{"recovered": 1, "paused": 1}[name]; r.UnderWay() != want {
			t.Errorf("%s: %d effects under way, want %d", name, r.UnderWay(), want)
		}
		later := r.AliveAt(s.now.Add(time.Minute)) - r.Alive
		if want := map[bool]time.Duration{true: time.Minute}[r.Status == pawl.StatusRunning]; later != want {
			t.Errorf("%s: a minute later it is %s more", name, later)
		}
	}
}

func TestQuarantine(t *testing.T) {
	s := paused(t)
	broken := pawl.Errorf(pawl.CodeDamaged, "event 9 of run 001-add-login: checksum\x1b[2J")
	events := func(err error) iter.Seq2[pawl.Event, error] {
		return func(yield func(pawl.Event, error) bool) {
			for _, e := range s.events[:8] {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(pawl.Event{}, err)
			}
		}
	}
	r, err := Fold(events(broken))
	if !errors.Is(err, broken) || r.Info().Status != pawl.StatusQuarantined {
		t.Fatalf("status %s, error %v", r.Info().Status, err)
	}
	got := WhyText(r)
	mustBeSafe(t, got)
	for _, want := range []string{"001-add-login is quarantined: event 9 of run 001-add-login: checksum\n", "up to number 8 (event 8)", "git log pawl/001-add-login"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if r, err := Fold(events(errors.New("no connection"))); err == nil || r.Info().Status != pawl.StatusRunning {
		t.Errorf("a broken connection: status %s, error %v", r.Info().Status, err)
	}
	if r, err := Fold(events(nil)); err != nil || r.Seq != 8 {
		t.Errorf("event %d, error %v", r.Seq, err)
	}
}

// Events that make no sense do not break the fold.
func TestNonsense(t *testing.T) {
	s := escalated(t)
	r := New()
	for i := len(s.events) - 1; i >= 0; i-- { // nothing but the order is wrong
		r.Apply(s.events[i])
		Show(r, s.read)
		WhyText(r)
		Line(s.events[i], r, s.read)
	}
	r = fold(s.events[:4])
	r.Apply(pawl.Event{Seq: 5, Loop: 9, Body: &pawl.IterationStarted{N: 1}})
	r.Apply(pawl.Event{Seq: 6, Loop: 9, Body: &pawl.ModelReplied{Effect: 77}})
	r.Apply(pawl.Event{Seq: 7, Loop: 1, Body: &pawl.SessionEnded{Session: 5}})
	if r.Info().Iteration != 0 {
		t.Error("an iteration of a loop that does not exist")
	}
	bad := *s.events[0].Body.(*pawl.RunStarted)
	bad.Recipe, bad.Settings = pawl.JSON("{"), pawl.JSON("[]")
	r = fold([]pawl.Event{{Run: "001-add-login", Seq: 1, Body: &bad}})
	if len(r.Problems) != 2 {
		t.Errorf("problems: %v", r.Problems)
	}
	Show(r, nil)
}

func TestIterationThatIsNot(t *testing.T) {
	s := escalated(t)
	if _, err := IterationReport(fold(s.events), 4, s.read); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("got %v", err)
	}
	if _, err := CompletionReport(New(), nil); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

func TestShowJSON(t *testing.T) {
	for _, name := range []string{"escalated", "waiting", "evidence-answered"} {
		s := stories[name](t)
		got, err := ShowJSON(fold(s.events), s.read)
		if err != nil {
			t.Fatal(err)
		}
		var back Summary
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", got)
	}
}

func TestPrompt(t *testing.T) {
	s := councilled(t)
	r := fold(s.events)
	for selector, want := range map[string]string{
		"":                     "task/2/requirements",
		"implement":            "task/2/implement",
		"1/implement":          "task/1/implement",
		"task/0/assess":        "task/0/assess",
		"council/skeptic":      "task/1/council/skeptic",
		"session-2":            "task/1/implement",
		"event-7":              "task/0/assess",
		"event-9":              "task/0/assess",
		"task/1/council/other": "",
		"plement":              "",
	} {
		t.Run(selector, func(t *testing.T) {
			sent, err := Prompt(r, selector)
			if want == "" {
				if pawl.CodeOf(err) != pawl.CodeNotFound || !strings.Contains(err.(*pawl.Error).Hint, "task/2/implement") {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := sent.Place.String(); got != want {
				t.Errorf("found %s, want %s", got, want)
			}
			if len(sent.Parts) != 2 || sent.Parts[0].Name != "system" || sent.Parts[1].Blob != s.blob("Do "+want) {
				t.Errorf("parts: %+v", sent.Parts)
			}
		})
	}
	if _, err := Prompt(fold(s.events[:3]), ""); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		count(0, "call"): "0 calls", count(1, "call"): "1 call", count(2, "call"): "2 calls", // D-50
		count(12_431, "token"): "12,431 tokens", count(1, "query"): "1 query", count(3, "query"): "3 queries",
		pawl.Thousands(-1_234_567): "-1,234,567", pawl.Thousands(-123): "-123", pawl.Thousands(999): "999",
		pawl.Span(0): "0s", pawl.Span(300 * time.Millisecond): "0.3s", pawl.Span(72 * time.Second): "1m12s", pawl.Span(8 * time.Hour): "8h",
		pawl.Span(90 * time.Minute): "1h30m", pawl.Span(2 * time.Minute): "2m", pawl.Span(10 * time.Second): "10s",
		word("haiku"): "haiku", word("true"): `"true"`, word("a b"): `"a b"`, word(""): `""`, word("1x"): `"1x"`, word("gpt-5.1"): "gpt-5.1",
		quote("a\"b\\<é>\n"): `"a\"b\\<é>"`,
		of(2, 10):            "2/10", of(2, 0): "2/-",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
