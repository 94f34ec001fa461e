package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/document/pandora"
	"pawl/internal/engine"
	"pawl/internal/store/mem"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)

// service is a project in memory in which an entry is forgotten as the kernel does.
type service struct {
	engine.Reader
	t *testing.T
}

func (s service) Steer(ctx context.Context, run pawl.RunID, c pawl.Steering) error {
	if c.Verb != pawl.SteerForget {
		s.t.Errorf("it was steered to %s", c.Verb)
	}
	s.tell(run, nil, &pawl.MemoryForgotten{N: c.Memory, Reason: c.Reason})
	return nil
}

// tell appends events of loop 2, and the texts they name.
func (s service) tell(run pawl.RunID, texts []string, bodies ...pawl.Body) {
	s.t.Helper()
	u := pawl.Unit{Run: run}
	for e, err := range s.Log.Events(s.t.Context(), run, 0) {
		if err == nil {
			u.After = e.Seq
		}
	}
	for i, b := range bodies {
		u.Events = append(u.Events, pawl.Event{Run: run, Seq: u.After + pawl.Seq(i) + 1, Loop: loopOf(b), Time: start, Body: b})
	}
	for _, text := range texts {
		u.Blobs = append(u.Blobs, pawl.NewBlob([]byte(text)))
	}
	if u.After == 0 {
		u.Info = &pawl.RunInfo{ID: run, Task: int(run[2] - '0'), Recipe: "mine", Status: pawl.StatusEnded}
	}
	if err := s.Log.Append(s.t.Context(), u); err != nil {
		s.t.Fatal(err)
	}
}

func loopOf(b pawl.Body) pawl.LoopRef {
	switch b := b.(type) {
	case *pawl.RunStarted, *pawl.MemoryForgotten:
		return 0
	case *pawl.TasksListed, *pawl.PlanAccepted:
		return 1
	case *pawl.LoopStarted:
		if b.Task == "" {
			return 1
		}
	}
	return 2
}

func learn(n int, kind pawl.MemoryKind, task, text string) *pawl.MemoryAdded {
	return &pawl.MemoryAdded{N: n, Kind: kind, Scope: pawl.ScopeProject, Task: task, Text: pawl.HashOf([]byte(text)),
		Place: pawl.Place{Loop: "task", Task: task, Iteration: 1, Step: "learn", Turn: 1}}
}

type bed struct {
	service
	app      *cli.App
	out, err bytes.Buffer
}

func newBed(t *testing.T) *bed {
	b := &bed{service: service{engine.Reader{Log: mem.New()}, t}}
	b.app = &cli.App{Out: &b.out, Err: &b.err, Open: func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: b.service, Close: func() error { return nil }}, nil
	}}
	return b
}

// recipe learns from what passed only.
const recipe = `{"kinds":[{"name":"task","extract":{"name":"learn","output":"learnings","when":{"verdict":["pass"]}}}]}`

const spec = `{"id":"parser","title":"Write the parser"}`

// filled is a bed with a run whose task "parser" passed and whose task "cli" did not, and another run.
func filled(t *testing.T) *bed {
	b := newBed(t)
	failed := learn(4, pawl.MemoryError, "cli", "flags were parsed twice")
	failed.Failed = true
	texts := []string{"Tests live beside the code.", "Tabs are refused\x1b[2J\nby the lexer", "cobra is in use", "flags were parsed twice", "Use table tests.", spec}
	b.tell("001-add-parser", texts,
		&pawl.RunStarted{Task: 1, Recipe: pawl.JSON(recipe)}, &pawl.LoopStarted{ID: "request", Kind: "request"},
		&pawl.TasksListed{Entries: []pawl.TaskEntry{{ID: "parser", Title: "Write", Spec: pawl.HashOf([]byte(spec))}, {ID: "cli", Title: "CLI"}}},
		&pawl.PlanAccepted{Version: 1, Count: 2},
		&pawl.LoopStarted{ID: "t1", Kind: "task", Parent: 1, Task: "parser", Entry: 1, Version: 1},
		learn(1, pawl.MemoryLearning, "parser", texts[0]), learn(2, pawl.MemoryDiscovery, "parser", texts[1]),
		learn(3, pawl.MemoryLearning, "cli", texts[2]), failed, learn(5, pawl.MemoryLearning, "parser", texts[4]),
		&pawl.LoopEnded{Outcome: pawl.OutcomeComplete})
	b.tell("002-fix", []string{"Errors name the file."}, &pawl.RunStarted{Task: 2}, learn(1, pawl.MemoryDecision, "", "Errors name the file."))
	return b
}

func (b *bed) run(args ...string) error {
	b.t.Helper()
	b.out.Reset()
	b.err.Reset()
	c := New(b.app)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetOut(&b.out)
	c.SetErr(&b.err)
	return c.ExecuteContext(b.t.Context())
}

func (b *bed) want(out string, args ...string) {
	b.t.Helper()
	if err := b.run(args...); err != nil {
		b.t.Fatalf("%v: %v", args, err)
	}
	if diff := cmp.Diff(out, b.out.String()); diff != "" {
		b.t.Errorf("%v (-want +got):\n%s", args, diff)
	}
}

func TestList(t *testing.T) {
	b := filled(t)
	const header = "ID                KIND       TASK    TEXT\n"
	all := header + `001-add-parser/1  learning   parser  Tests live beside the code.
001-add-parser/2  discovery  parser  Tabs are refused by the lexer
001-add-parser/3  learning   cli     cobra is in use
001-add-parser/5  learning   parser  Use table tests.
002-fix/1         decision   -       Errors name the file.
`
	b.want(all)
	b.want(all, "list")
	b.want("ID                KIND      TASK    TEXT\n001-add-parser/5  learning  parser  Use table tests.\n001-add-parser/1  learning  parser  Tests live beside the code.\n",
		"search", "tests", "--kind", "learning")
	b.want("ID         KIND      TASK  TEXT\n002-fix/1  decision  -     Errors name the file.\n", "list", "--run", "2")
	b.want("ID                KIND   TASK  TEXT\n001-add-parser/4  error  cli   (failed) flags were parsed twice\n", "list", "--all", "--kind", "error")
	b.want("", "search", `"*" NEAR(`)
	if !strings.Contains(b.err.String(), "pawl memory list --all") {
		t.Errorf("it said %q", b.err.String())
	}
	b.want("ID         KIND      TASK  TEXT\n002-fix/1  decision  -     Errors name the file.\n", "--limit", "1")
	if !strings.Contains(b.err.String(), "--limit 10") {
		t.Errorf("it said %q", b.err.String())
	}
	b.app.JSON = true
	if err := b.run("list", "--run", "2"); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil || len(got) != 1 || got[0]["id"] != "002-fix/1" || got[0]["text"] != "Errors name the file." {
		t.Errorf("%v: %s", err, b.out.String())
	}
	b.want("[]\n", "search", "nobody")
}

func TestTableFitsTheTerminal(t *testing.T) {
	var entries []pawl.MemoryEntry
	for i, run := range []pawl.RunID{"001-a", "002-a-very-long-name-that-somebody-thought-of", "003-\x1b[31m-数据库"} {
		entries = append(entries, pawl.MemoryEntry{Run: run, N: i + 98, Kind: pawl.MemoryAntiPattern, Task: strings.Repeat("task", 10), Text: strings.Repeat("数据 text\n", 30)})
	}
	for width := 1; width <= 200; width++ {
		for _, line := range table(entries, width) {
			if got := ansi.StringWidth(line); got > width || strings.ContainsAny(line, "\x1b\n") {
				t.Errorf("%d columns in a terminal of %d: %q", got, width, line)
			}
		}
	}
	if line := table(entries, 100)[2]; !strings.Contains(line, "…/99 ") {
		t.Errorf("the number is lost: %q", line)
	}
}

func TestShow(t *testing.T) {
	b := filled(t)
	b.app.Terminal = true
	b.want(`001-add-parser/2  discovery, for the project
task    parser
source  task:parser/1/learn/turn-1, event 7
time    2026-01-02 03:04:05

Tabs are refused
by the lexer
`, "show", "1/2")

	// P-80
	b.app.JSON = true
	if err := b.run("show", "001-add/1"); err != nil {
		t.Fatal(err)
	}
	var got struct {
		ID   string
		Note map[string]any
	}
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil || got.ID != "001-add-parser/1" {
		t.Fatalf("%v: %s", err, b.out.String())
	}
	want := map[string]any{
		"artifact_type": "research", "topic": "pandora-loop-learnings-parser", "source": "pandora_loop", "confidence": 0.9, // P-80 P-B18
		"tags":    []any{"pandora-loop", "code-patterns", "parser"},
		"content": map[string]any{"summary": "Patterns learned from: Write the parser", "findings": []any{"Tests live beside the code.", "Use table tests."}},
	}
	if diff := cmp.Diff(want, got.Note); diff != "" {
		t.Errorf("the note (-want +got):\n%s", diff)
	}
}

// A recipe that learns from failed attempts too has no notes.
func TestShowWithoutNote(t *testing.T) {
	b := newBed(t)
	b.tell("001-add-parser", []string{"Tests live beside the code."}, &pawl.RunStarted{Task: 1, Recipe: pawl.JSON(strings.ReplaceAll(recipe, "when", "then"))},
		learn(1, pawl.MemoryLearning, "parser", "Tests live beside the code."))
	b.app.JSON = true
	if err := b.run("show", "1/1"); err != nil || strings.Contains(b.out.String(), `"note"`) {
		t.Errorf("%v: %s", err, b.out.String())
	}
}

// P-79, P-80: one note for each task that passed and learned something.
func TestExport(t *testing.T) {
	b := filled(t)
	if err := b.run("export", "1"); err != nil {
		t.Fatal(err)
	}
	var got []pandora.Learning
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]pandora.Learning{pandora.Note("parser", "Write the parser", []string{"Tests live beside the code.", "Use table tests."})}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.want("[]\n", "export", "2")
}

func TestForget(t *testing.T) {
	b := filled(t)
	b.want("Entry 001-add-parser/1 is forgotten: no prompt is shown it any more.\n", "forget", "1/1", "--reason", "it was wrong")
	if err := b.run("list", "--run", "1", "--kind", "learning"); err != nil || strings.Contains(b.out.String(), "beside") {
		t.Errorf("%v\n%s", err, b.out.String())
	}
	if err := b.run("list", "--all"); err != nil || !strings.Contains(b.out.String(), "(forgotten) Tests live beside the code.") {
		t.Errorf("%v\n%s", err, b.out.String())
	}
}

func TestRefused(t *testing.T) {
	b := filled(t)
	for _, test := range []struct {
		args string
		code pawl.Code
		says string
	}{
		{"show 1/9", pawl.CodeNotFound, "run 001-add-parser has no memory entry 9: it has 1 to 5"},
		{"forget 1/9", pawl.CodeNotFound, "pawl memory list --all --run 001-add-parser"},
		{"show 9/1", pawl.CodeNotFound, "pawl list"},
		{"show 00/1", pawl.CodeNotFound, ""},
		{"show 1", pawl.CodeInvalid, "RUN/N"},
		{"show /1", pawl.CodeInvalid, "RUN/N"},
		{"forget 1/0", pawl.CodeInvalid, "RUN/N"},
		{"forget 1/x\x1b[2J", pawl.CodeInvalid, "RUN/N"},
		{"list --kind lesson", pawl.CodeInvalid, "the kinds are decision, learning"},
		{"list --run 9", pawl.CodeNotFound, "pawl list"},
		{"list --limit 0", pawl.CodeInvalid, "--limit 0"},
		{"export 9", pawl.CodeNotFound, "pawl list"},
		{"search", pawl.CodeInvalid, "needs an argument"},
		{"shwo 1/1", pawl.CodeInvalid, "memory show"},
	} {
		err := b.run(strings.Split(test.args, " ")...)
		text := fmt.Sprint(err)
		if e, ok := errors.AsType[*pawl.Error](err); ok {
			text += "\n" + e.Hint
		}
		if err == nil || pawl.CodeOf(err) != test.code || !strings.Contains(text, test.says) || strings.Contains(text, "\x1b") {
			t.Errorf("%s: %q", test.args, text)
		}
	}
}

func TestCompletion(t *testing.T) {
	b := filled(t)
	c := New(b.app)
	c.SetContext(t.Context())
	show, _, err := c.Find([]string{"show"})
	if err != nil {
		t.Fatal(err)
	}
	show.SetContext(t.Context())
	got, _ := show.ValidArgsFunction(show, nil, "")
	if len(got) != 6 || got[0] != "002-fix/1\tErrors name the file." {
		t.Errorf("%q", got)
	}
}

// What a fork has in common with the run it is of is listed once, until it is not
// the same any more.
func TestForkListedOnce(t *testing.T) {
	entry := func(run pawl.RunID, seq pawl.Seq, at int, forgotten bool) pawl.MemoryEntry {
		return pawl.MemoryEntry{Run: run, N: int(seq), Seq: seq, Time: start.Add(time.Duration(at)), Text: "x", Forgotten: forgotten}
	}
	got := once([]pawl.MemoryEntry{
		entry("001-x-r2", 3, 0, false), entry("001-x", 3, 0, false),
		entry("001-x", 4, 0, true), entry("001-x-r2", 4, 0, false),
		entry("001-x-r2", 5, 2, false), entry("001-x", 5, 1, false),
	})
	var names []string
	for _, e := range got {
		names = append(names, name(e))
	}
	want := []string{"001-x/3", "001-x/4", "001-x-r2/4", "001-x-r2/5", "001-x/5"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
}
