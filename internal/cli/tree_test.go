package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/answer"
	"pawl/internal/cli/events"
	"pawl/internal/cli/export"
	"pawl/internal/cli/logs"
	"pawl/internal/cli/replan"
	"pawl/internal/cli/tasks"
	"pawl/internal/view"
)

// planned is a service with one run that has a list of tasks, of which one is
// worked on and asks a question. It remembers what it was steered to.
type planned struct {
	pawl.Service
	events  []pawl.Event
	blobs   map[pawl.Hash][]byte
	steered []pawl.Steering
	refuse  error
}

const plannedRun pawl.RunID = "007-parser"

var noon = time.Date(2025, 1, 30, 12, 0, 0, 0, time.UTC)

func newPlanned(t *testing.T) *planned {
	p := &planned{blobs: map[pawl.Hash][]byte{}}
	blob := func(text string) pawl.Hash {
		h := pawl.HashOf([]byte(text))
		p.blobs[h] = []byte(text)
		return h
	}
	recipe := pawl.Recipe{Name: "loom", Start: "task", Kinds: []pawl.LoopKind{
		{Name: "task", Children: &pawl.Children{From: "planner", Kind: "subtask"}}, {Name: "subtask"}}}
	frozen, err := json.Marshal(recipe)
	if err != nil {
		t.Fatal(err)
	}
	entry := func(id string, deps ...string) pawl.TaskEntry {
		return pawl.TaskEntry{ID: id, Title: "The " + id + "\x1b[2J", DependsOn: deps, Spec: blob(`{"id":"` + id + `","title":"The ` + id + `","description":"Write it."}`)}
	}
	for i, e := range []pawl.Event{
		{Body: &pawl.RunStarted{Task: 7, Title: "A parser", Goal: blob("A parser"), Branch: "pawl/007-parser", Recipe: frozen, Settings: pawl.JSON("{}")}},
		{Loop: 1, Body: &pawl.LoopStarted{ID: "root-id", Kind: "task"}},
		{Loop: 1, Body: &pawl.IterationStarted{N: 1, Tier: 1}},
		{Loop: 1, Body: &pawl.TasksListed{Entries: []pawl.TaskEntry{entry("lexer"), entry("parser", "lexer")}}},
		{Loop: 1, Body: &pawl.PlanAccepted{Version: 1, Count: 2, List: blob("[]")}},
		{Loop: 2, Body: &pawl.LoopStarted{ID: "child-id", Kind: "subtask", Parent: 1, Task: "lexer", Entry: 1, Version: 1}},
		{Loop: 2, Body: &pawl.QuestionAsked{N: 1, Kind: pawl.AskStart, Text: "May the task lexer start?", Choices: []string{"approve", "reject"}, About: blob(`{"id":"lexer","x":"` + "\u009b31m" + `"}`)}},
	} {
		e.Run, e.Seq, e.Time = plannedRun, pawl.Seq(i+1), noon.Add(time.Duration(i)*time.Second)
		p.events = append(p.events, e)
	}
	return p
}

func (p *planned) Runs(context.Context) ([]pawl.RunInfo, error) {
	return []pawl.RunInfo{view.Info(p.events)}, nil
}

func (p *planned) Events(_ context.Context, _ pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		for _, e := range p.events[min(int(after), len(p.events)):] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (p *planned) Blob(_ context.Context, run pawl.RunID, h pawl.Hash) ([]byte, error) {
	if b, ok := p.blobs[h]; ok && run == plannedRun {
		return b, nil
	}
	return nil, errors.New("no such blob")
}

func (p *planned) Steer(_ context.Context, run pawl.RunID, s pawl.Steering) error {
	if run != plannedRun {
		return errors.New("another run")
	}
	p.steered = append(p.steered, s)
	return p.refuse
}

// plannedBed is the world of commands on that run, which another process drives.
func plannedBed(t *testing.T) (*bed, *planned) {
	p := newPlanned(t)
	b := &bed{}
	b.app = &cli.App{Out: &b.out, Err: &b.err, Environ: []string{"TERM=dumb", "USER=ada"}, Open: func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: p, Close: func() error { return nil }}, nil
	}}
	return b, p
}

func clock() time.Time { return noon.Add(time.Minute) }

func TestTasks(t *testing.T) {
	b, _ := plannedBed(t)
	if err := b.execute(t, tasks.New(b.app, clock), "7"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0 of 2 tasks passed (0%), 1 running, 1 pending", "lexer   running            0      -     $0.00  55s   -           The lexer", "waiting for lexer", "waits for you: pawl answer 007-parser 1 approve (or reject)"} {
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("no %q in\n%s", want, b.out.String())
		}
	}
	b.app.JSON = true
	if err := b.execute(t, tasks.New(b.app, clock), "7"); err != nil {
		t.Fatal(err)
	}
	var got view.TaskList
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil || got.Progress.Total != 2 || got.Tasks[0].Seconds != 55 || got.Tasks[1].WaitsFor[0] != "lexer" || len(got.Path) != 2 || len(got.Questions) != 1 {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestAnswer(t *testing.T) {
	b, p := plannedBed(t)
	for _, args := range [][]string{{}, {"7"}, {"007", "1"}} {
		if err := b.execute(t, answer.New(b.app), args...); err != nil {
			t.Fatal(err)
		}
		about := p.events[6].Body.(*pawl.QuestionAsked).About
		for _, want := range []string{"question 1 (start) about task lexer: May the task lexer start?", "about   " + about.Short(), "choices approve, reject", "      \"id\": \"lexer\"", `pawl answer 007-parser 1 CHOICE`} {
			if !strings.Contains(b.out.String(), want) || strings.ContainsRune(b.out.String(), 0x9b) {
				t.Errorf("%v: no %q in\n%q", args, want, b.out.String())
			}
		}
	}
	if len(p.steered) > 0 {
		t.Fatalf("looking steered: %+v", p.steered)
	}
	if err := b.execute(t, answer.New(b.app), "7", "1", "approve", "--text", "go on"); err != nil || !strings.Contains(b.out.String(), "Question 1 of run 007-parser is answered: approve") {
		t.Errorf("%v: %s", err, b.out.String())
	}
	about := p.events[6].Body.(*pawl.QuestionAsked).About
	if got := *p.steered[0].Answer; p.steered[0].Verb != pawl.SteerAnswer || got != (pawl.Reply{Question: 1, Choice: "approve", Text: "go on", By: "ada", About: about}) {
		t.Errorf("steered to %+v", got)
	}
	if err := b.execute(t, answer.New(b.app), "7", "1", "approve", "--about", about.Short()); err != nil || p.steered[1].Answer.About != about {
		t.Errorf("the beginning of the hash: %v", err)
	}
	other := pawl.HashOf([]byte("what was shown before"))
	if err := b.execute(t, answer.New(b.app), "7", "1", "approve", "--about", other.String()); err != nil || p.steered[2].Answer.About != other {
		t.Errorf("what was shown is what the answer is for: %v", err)
	}
	for _, c := range []struct {
		code pawl.Code
		args []string
	}{
		{pawl.CodeConflict, []string{"7", "1", "approve", "--about", other.Short()}},
		{pawl.CodeInvalid, []string{"7", "1", "approve", "--about", "abc"}},
		{pawl.CodeInvalid, []string{"7", "one"}},
		{pawl.CodeInvalid, []string{"7", "1", "--text", "x"}},
		{pawl.CodeInvalid, []string{"7", "1", "approve", "--text", strings.Repeat("x", 1001)}},
		{pawl.CodeNotFound, []string{"7", "2"}},
		{pawl.CodeNotFound, []string{"8", "1", "approve"}},
	} {
		if err := b.execute(t, answer.New(b.app), c.args...); pawl.CodeOf(err) != c.code {
			t.Errorf("%v: %v", c.args, err)
		}
	}
	if len(p.steered) != 3 {
		t.Errorf("steered %d times", len(p.steered))
	}
}

// Who comes too late is told who was faster.
func TestLateAnswer(t *testing.T) {
	b, p := plannedBed(t)
	p.refuse = pawl.Errorf(pawl.CodeConflict, "question 1 of run 007-parser was answered already: approve, by bob")
	if err := b.execute(t, answer.New(b.app), "7", "1", "reject"); pawl.CodeOf(err) != pawl.CodeConflict || b.app.Report(err) != cli.ExitState || !strings.Contains(b.err.String(), "approve, by bob") {
		t.Errorf("%v", err)
	}
	p.events = append(p.events, pawl.Event{Run: plannedRun, Seq: 8, Loop: 2, Time: noon, Body: &pawl.QuestionAnswered{N: 1, Choice: "approve", By: "bob"}})
	if err := b.execute(t, answer.New(b.app), "7", "1"); pawl.CodeOf(err) != pawl.CodeConflict || !strings.Contains(err.Error(), "approve, by bob") {
		t.Errorf("%v", err)
	}
	if err := b.execute(t, answer.New(b.app), "7"); err != nil || !strings.Contains(b.err.String(), "nothing waits for an answer") {
		t.Errorf("%v: %s", err, b.err.String())
	}
}

func TestReplan(t *testing.T) {
	b, p := plannedBed(t)
	if err := b.execute(t, replan.New(b.app), "7", "--reason", "the API has changed"); err != nil {
		t.Fatal(err)
	}
	if s := p.steered[0]; s.Verb != pawl.SteerReplan || s.Reason != "the API has changed" || !strings.Contains(b.out.String(), "gets a new plan") {
		t.Errorf("steered to %+v; %s", s, b.out.String())
	}
	p.refuse = pawl.Errorf(pawl.CodeState, "it has no plan yet")
	if err := b.execute(t, replan.New(b.app), "7"); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("%v", err)
	}
}

// The files of a run with tasks, also as they were after an event.
func TestExportTasks(t *testing.T) { // P-39 P-42 P-43
	b, p := plannedBed(t)
	for at, want := range map[string][]string{
		"5": {`"status": "pending"`, `"status": "blocked"`, `"notes": "waiting for lexer"`, `"current_iteration": 0`},
		"6": {`"status": "in_progress"`, `"current_iteration": 1`, `"_type": "PANDORA_LOOP"`},
	} {
		if err := b.execute(t, export.New(b.app), "--only", "tasks.json", "--at", at, "--dir", "-"); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.out.String(), w) {
				t.Errorf("after event %s: no %q in\n%s", at, w, b.out.String())
			}
		}
	}
	dir := t.TempDir()
	if err := b.execute(t, export.New(b.app), "--dir", dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"state.yaml", "report.txt", "plan.md", "validation.md", "completion.md", "trace.txt", "tasks.json", "prd.json", "task.json", "learnings.json"} {
		if !strings.Contains(b.out.String(), "/"+name+"\n") {
			t.Errorf("no %s in\n%s", name, b.out.String())
		}
	}
	p.add(0, &pawl.RunEnded{Outcome: pawl.OutcomeBlocked})
	if err := b.execute(t, export.New(b.app), "--only", "result.json", "--dir", "-"); err != nil || !strings.HasPrefix(b.out.String(), "{\n  \"status\": \"blocked\"") {
		t.Errorf("%v: no outcome in\n%s", err, b.out.String())
	}
	for _, args := range [][]string{{"--only", "poem.txt", "--dir", dir}, {"--at", "99", "--dir", dir}} {
		if err := b.execute(t, export.New(b.app), args...); pawl.CodeOf(err) != pawl.CodeNotFound {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// Events have their names wherever they are printed as JSON.
func TestEventNames(t *testing.T) { // L-B22
	b, _ := plannedBed(t)
	b.app.JSON = true
	for range 2 {
		if err := b.execute(t, events.New(b.app)); err != nil {
			t.Fatal(err)
		}
		first := b.out.String()
		for _, want := range []string{`"name":"task_created"`, `"name":"task_plan_ready"`, `"name":"subtask_started","task_id":"root-id","subtask_id":"lexer"`, `"name":"approval_requested"`} {
			if !strings.Contains(first, want) {
				t.Errorf("no %s in\n%s", want, first)
			}
		}
		if err := b.execute(t, logs.New(b.app)); err != nil || b.out.String() != first {
			t.Errorf("logs print other events: %v", err)
		}
	}
}
