package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/answer"
	"pawl/internal/cli/archive"
	"pawl/internal/cli/export"
	"pawl/internal/cli/inbox"
	"pawl/internal/cli/list"
	"pawl/internal/cli/loops"
	"pawl/internal/cli/plan"
	"pawl/internal/cli/show"
	"pawl/internal/cli/signal"
	"pawl/internal/view"
)

// grove is a service with one run of loopr whose plan waits for a person. It obeys
// answers as the kernel does, and remembers what else it was told.
type grove struct {
	pawl.Service
	mu      sync.Mutex
	events  []pawl.Event
	blobs   map[pawl.Hash][]byte
	steered []pawl.Steering
	refuse  error
	more    chan struct{} // is closed when there are more events
}

const (
	groveRun = pawl.RunID("007-login")
	planID   = "1738231200000-a1b2"
	aPlan    = `{"title":"Login","overview":"A login with a password.","specs":[{"name":"auth","title":"Who is it","description":"Login with a password."},{"name":"api","title":"What may they","description":"The endpoints.","dependencies":["auth"]}]}`
)

func newGrove(tb testing.TB) *grove {
	g := &grove{blobs: map[pawl.Hash][]byte{}, more: make(chan struct{})}
	cascade := func(from, kind string) *pawl.Children {
		return &pawl.Children{From: from, Kind: kind, Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}
	}
	recipe, err := json.Marshal(pawl.Recipe{Name: "loopr", Start: "plan", Kinds: []pawl.LoopKind{
		{Name: "plan", Iterations: 50, Approval: &pawl.Approval{By: "human"}, Children: cascade("draft", "spec"), Steps: []pawl.Step{{Name: "draft", Prompt: "plan.md", Output: "create_plan"}}},
		{Name: "spec", Iterations: 30, Children: cascade("draft", "phase"), Steps: []pawl.Step{{Name: "draft", Prompt: "spec.md", Output: "create_spec"}}}}})
	if err != nil {
		tb.Fatal(err)
	}
	list := g.blob(aPlan)
	place := pawl.Place{Loop: "plan", Iteration: 1, Step: "draft"}
	g.add(0, &pawl.RunStarted{Task: 7, Title: "Add login", Goal: g.blob("Add login"), Branch: "pawl/007-login", Recipe: recipe, Settings: pawl.JSON("{}")})
	g.add(1, &pawl.LoopStarted{ID: planID, Kind: "plan"})
	g.add(1, &pawl.IterationStarted{N: 1, Max: 50, Tier: 2})
	g.add(1, &pawl.SessionStarted{Session: 1, Purpose: pawl.ForStep, Place: place})
	g.add(1, &pawl.SessionEnded{Session: 1, Result: pawl.SessionDone, Output: list})
	g.add(1, &pawl.TasksListed{Entries: []pawl.TaskEntry{
		{ID: "auth", Title: "Who is it", Spec: g.blob(`{"id":"auth","title":"Who is it","description":"Login with a password."}`)},
		{ID: "api", Title: "What may they", DependsOn: []string{"auth"}, Spec: g.blob(`{"id":"api","title":"What may they","description":"The endpoints."}`)}}})
	g.add(1, &pawl.PlanAccepted{Version: 1, Count: 2, List: list})
	g.add(1, &pawl.QuestionAsked{N: 1, Kind: pawl.AskPlan, Text: "May this plan be carried out?", Choices: []string{"approve", "iterate", "reject"}, About: list})
	return g
}

func (g *grove) blob(text string) pawl.Hash {
	h := pawl.HashOf([]byte(text))
	g.blobs[h] = []byte(text)
	return h
}

func (g *grove) add(loop pawl.LoopRef, body pawl.Body) {
	n := len(g.events)
	g.events = append(g.events, pawl.Event{Run: groveRun, Seq: pawl.Seq(n + 1), Loop: loop, Time: noon.Add(time.Duration(n) * time.Second), Body: body})
	close(g.more)
	g.more = make(chan struct{})
}

func (g *grove) Runs(context.Context) ([]pawl.RunInfo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return []pawl.RunInfo{view.Info(g.events)}, nil
}

func (g *grove) after(seq pawl.Seq) ([]pawl.Event, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.events[min(int(seq), len(g.events)):], g.more
}

func (g *grove) Events(_ context.Context, _ pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		events, _ := g.after(after)
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (g *grove) Watch(ctx context.Context, _ pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		for {
			events, more := g.after(after)
			for _, e := range events {
				after = e.Seq
				if _, over := e.Body.(*pawl.RunEnded); !yield(pawl.Update{Event: &e}, nil) || over {
					return
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (g *grove) Blob(_ context.Context, run pawl.RunID, h pawl.Hash) ([]byte, error) {
	if b, ok := g.blobs[h]; ok && run == groveRun {
		return b, nil
	}
	return nil, errors.New("no such blob")
}

func (g *grove) Steer(_ context.Context, _ pawl.RunID, s pawl.Steering) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse != nil {
		return g.refuse
	}
	g.steered = append(g.steered, s)
	switch {
	case s.Answer != nil:
		g.obey(s.Answer)
	case s.Signal != nil:
		g.add(2, &pawl.SignalSent{N: 1, Signal: s.Signal.Signal, Selector: s.Signal.To, Reason: s.Signal.Text, By: s.By})
	case s.Verb == pawl.SteerArchive:
		g.add(0, &pawl.Archived{Reason: s.Reason, By: s.By})
	}
	return nil
}

func (g *grove) obey(a *pawl.Reply) {
	g.add(1, &pawl.QuestionAnswered{N: a.Question, Choice: a.Choice, Text: a.Text, By: a.By})
	switch a.Choice {
	case "approve":
		for i, task := range []string{"auth", "api"} {
			g.add(pawl.LoopRef(i+2), &pawl.LoopStarted{ID: "1738231300000-" + task, Kind: "spec", Parent: 1, Task: task, Entry: i + 1, Pending: true, ParentIteration: 1, ParentGeneration: 1})
		}
		g.add(2, &pawl.LoopAdmitted{Score: 60})
	case "reject":
		g.add(1, &pawl.LoopEnded{Outcome: pawl.OutcomeFailed, Reason: "rejected"})
		g.add(0, &pawl.RunEnded{Outcome: pawl.OutcomeFailed, Reason: "rejected"})
	}
}

// groveBed is the world of commands on that run, which another process drives.
func groveBed(tb testing.TB) (*bed, *grove) {
	g := newGrove(tb)
	b := &bed{}
	b.app = &cli.App{Out: &b.out, Err: &b.err, Environ: []string{"TERM=dumb", "USER=ada", "PATH=" + os.Getenv("PATH")}, Open: func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: g, Close: func() error { return nil }}, nil
	}}
	return b, g
}

// onTerminal lets a person sit at the terminal and type.
func (b *bed) onTerminal(typed string) {
	b.app.Interactive, b.app.Terminal, b.app.In = true, true, strings.NewReader(typed)
}

// typist is what a person types, decided when its first byte is read.
type typist struct {
	decide func() string
	typed  io.Reader
}

func (x *typist) Read(p []byte) (int, error) {
	if x.typed == nil {
		x.typed = strings.NewReader(x.decide())
	}
	return x.typed.Read(p)
}

func about() string { h := pawl.HashOf([]byte(aPlan)); return h.Short() }

// R-40 R-50 R-52 R-B26
func TestPlanShow(t *testing.T) {
	b, _ := groveBed(t)
	if err := b.execute(t, plan.New(b.app), "show"); err != nil {
		t.Fatal(err)
	}
	want := `PLAN AWAITING APPROVAL

  Plan:       Login
  Loop ID:    1738231200000-a1b2
  Iterations: 1/50

Overview
  A login with a password.

Phases
  1. Who is it
  2. What may they

Specs to Create (2)
  auth: Login with a password.
  api: The endpoints. (after auth)

  about   ` + about() + `
  approve pawl plan approve 007-login --about ` + about() + `
  iterate pawl plan iterate 007-login "what should be different"
  reject  pawl plan reject 007-login --reason "why"
`
	if got := b.out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b.app.JSON = true
	if err := b.execute(t, plan.New(b.app), "show", "7"); err != nil {
		t.Fatal(err)
	}
	var p view.PlanPreview
	if err := json.Unmarshal(b.out.Bytes(), &p); err != nil || p.Approval != pawl.ApprovalAwaiting || p.Status != pawl.LoopComplete || len(p.Specs) != 2 ||
		p.Specs[0].Description != "Login with a password." || !strings.HasPrefix(p.Content, "# Plan: Login\n") {
		t.Errorf("%v: %+v", err, p)
	}
}

// a person approves a plan, rejects it or asks for another iteration.
func TestPlanDecisions(t *testing.T) {
	t.Run("Approve", func(t *testing.T) {
		b, g := groveBed(t)
		if err := b.execute(t, plan.New(b.app), "approve", "7", "--about", about()); err != nil {
			t.Fatal(err)
		}
		if got := b.out.String(); got != "Plan 1738231200000-a1b2 of run 007-login is approved: 2 specs spawned\n" { // R-39 R-46 R-B04
			t.Errorf("it says %q", got)
		}
		if a := g.steered[0].Answer; a.Choice != "approve" || a.By != "ada" || a.About != pawl.HashOf([]byte(aPlan)) || a.Question != 1 {
			t.Errorf("the answer is %+v", a)
		}
		// R-53 R-B03: the plan is complete, so that is not what is wrong
		err := b.execute(t, plan.New(b.app), "approve", "7", "--about", about())
		if pawl.CodeOf(err) != pawl.CodeState || !strings.Contains(err.Error(), "Plan 1738231200000-a1b2 was approved by ada already") || len(g.steered) != 1 {
			t.Errorf("a second approval: %v", err)
		}
		if err := b.execute(t, plan.New(b.app), "show", "7"); err != nil || !strings.HasPrefix(b.out.String(), "PLAN APPROVED (ada)\n") || strings.Contains(b.out.String(), "--about") {
			t.Errorf("%v\n%s", err, b.out.String())
		}
	})
	t.Run("Reject", func(t *testing.T) {
		b, g := groveBed(t)
		if err := b.execute(t, plan.New(b.app), "reject", "7", "--reason", "not now"); err != nil {
			t.Fatal(err)
		}
		if a := g.steered[0].Answer; a.Choice != "reject" || a.Text != "not now" {
			t.Errorf("the answer is %+v", a)
		}
	})
	for name, args := range map[string][]string{
		"IterateArgument":   {"iterate", "7", "think of logout too"},
		"IterateLoop":       {"iterate", "7", planID, "think of logout too"},
		"IterateFlag":       {"iterate", "7", "--feedback", "think of logout too"},
		"IterateStandardIn": {"iterate", "7", planID, "--feedback", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			b, g := groveBed(t)
			b.app.In = strings.NewReader("think of logout too\n")
			if err := b.execute(t, plan.New(b.app), args...); err != nil {
				t.Fatal(err)
			}
			if a := g.steered[0].Answer; a.Choice != "iterate" || a.Text != "think of logout too" {
				t.Errorf("the answer is %+v", a)
			}
		})
	}
	t.Run("IterateEditor", func(t *testing.T) {
		b, g := groveBed(t)
		b.onTerminal("")
		script := filepath.Join(t.TempDir(), "editor")
		if err := os.WriteFile(script, []byte("#!/bin/sh\ngrep -q 'Specs' \"$2\" || exit 1\n{ echo 'think of logout too'; cat \"$2\"; } > \"$2.new\" && mv \"$2.new\" \"$2\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		b.app.Environ = append(b.app.Environ, "EDITOR="+script+" --wait")
		if err := b.execute(t, plan.New(b.app), "iterate"); err != nil {
			t.Fatal(err)
		}
		if a := g.steered[0].Answer; a.Text != "think of logout too" {
			t.Errorf("the answer is %+v", a)
		}
	})
	t.Run("OtherWords", func(t *testing.T) { // Loom's plans are revised
		b, g := groveBed(t)
		g.events[7].Body.(*pawl.QuestionAsked).Choices = []string{"approve", "revise", "reject"}
		if err := b.execute(t, plan.New(b.app), "iterate", "7", "smaller tasks, please"); err != nil || g.steered[0].Answer.Choice != "revise" {
			t.Errorf("%v: %+v", err, g.steered)
		}
	})
}

// Nothing is approved that was not seen, and silence approves nothing. R-42 R-43 R-49
// R-51 R-B05
func TestPlanRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		typed string // on a terminal; empty = there is none
		code  pawl.Code
		says  string
	}{
		"NobodyThere":  {args: []string{"approve", "7"}, code: pawl.CodeInvalid, says: "names the plan that was shown"},
		"AnotherPlan":  {args: []string{"approve", "7", "--about", "00000000aaaa"}, code: pawl.CodeConflict, says: "not 00000000aaaa"},
		"TooShort":     {args: []string{"approve", "7", "--about", about()[:4]}, code: pawl.CodeInvalid, says: "at least 8"},
		"No":           {args: []string{"approve"}, typed: "n\n", code: pawl.CodeState, says: "nothing is approved"},
		"Silence":      {args: []string{"approve"}, typed: "\n", code: pawl.CodeState, says: "nothing is approved"},
		"HalfAWord":    {args: []string{"approve"}, typed: "ye", code: pawl.CodeState, says: "nothing is approved"},
		"NoFeedback":   {args: []string{"iterate", "7"}, code: pawl.CodeInvalid, says: "what should be different"},
		"OtherReject":  {args: []string{"reject", "7", "--about", "00000000aaaa"}, code: pawl.CodeConflict, says: "not 00000000aaaa"},
		"UnknownLoop":  {args: []string{"reject", "7", "nothing"}, code: pawl.CodeNotFound, says: `no loop "nothing"`},
		"TooLong":      {args: []string{"reject", "7", "--reason", strings.Repeat("x", 1001)}, code: pawl.CodeInvalid, says: "1001 bytes"},
		"NothingThere": {args: []string{"aprove", "7"}, code: pawl.CodeInvalid, says: "there is no command"},
	} {
		t.Run(name, func(t *testing.T) {
			b, g := groveBed(t)
			if c.typed != "" {
				b.onTerminal(c.typed)
			}
			err := b.execute(t, plan.New(b.app), c.args...)
			if pawl.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) || len(g.steered) > 0 {
				t.Errorf("%v (%s), steered to %+v", err, pawl.CodeOf(err), g.steered)
			}
		})
	}
	t.Run("Yes", func(t *testing.T) {
		b, g := groveBed(t)
		b.onTerminal("y\n")
		if err := b.execute(t, plan.New(b.app), "approve"); err != nil || len(g.steered) != 1 || !strings.Contains(b.out.String(), "Specs to Create (2)") {
			t.Errorf("%v\n%s", err, b.out.String())
		}
	})
	t.Run("CtrlC", func(t *testing.T) {
		b, g := groveBed(t)
		b.onTerminal("")
		in, typed := io.Pipe()
		defer typed.Close()
		ctx, cancel := context.WithCancel(t.Context())
		b.app.In = in
		b.app.Out = &watched{b: &b.out, until: []string{"[y/N]"}, then: cancel}
		c := plan.New(b.app)
		c.SetArgs([]string{"approve"})
		c.SilenceErrors, c.SilenceUsage = true, true
		if err := c.ExecuteContext(ctx); !errors.Is(err, context.Canceled) || len(g.steered) > 0 {
			t.Errorf("%v: steered to %+v", err, g.steered)
		}
	})
	t.Run("AnotherOneMeanwhile", func(t *testing.T) { // while it is read
		b, g := groveBed(t)
		b.onTerminal("")
		b.app.In = &typist{decide: func() string {
			g.add(0, &pawl.QuestionAnswered{N: 1, Choice: "iterate", Text: "smaller", By: "kim"})
			g.add(1, &pawl.QuestionAsked{N: 2, Kind: pawl.AskPlan, Text: "And this one?", Choices: []string{"approve", "iterate", "reject"}, About: g.blob(strings.Replace(aPlan, "Login", "Logout", 1))})
			return "y\n"
		}}
		err := b.execute(t, plan.New(b.app), "approve")
		if pawl.CodeOf(err) != pawl.CodeConflict || !strings.Contains(err.Error(), "has changed since it was shown") || len(g.steered) > 0 {
			t.Errorf("%v: steered to %+v", err, g.steered)
		}
	})
	t.Run("AnswerBlindly", func(t *testing.T) {
		b, g := groveBed(t)
		if err := b.execute(t, answer.New(b.app), "7", "1", "approve"); pawl.CodeOf(err) != pawl.CodeInvalid || len(g.steered) > 0 {
			t.Errorf("%v: steered to %+v", err, g.steered)
		}
		for _, args := range [][]string{{"7", "1", "approve", "--about", about()}, {"7", "1", "reject"}} {
			b, g := groveBed(t)
			if err := b.execute(t, answer.New(b.app), args...); err != nil || len(g.steered) != 1 {
				t.Errorf("%v: %v", args, err)
			}
		}
	})
	t.Run("NotAPlan", func(t *testing.T) {
		b, g := groveBed(t)
		g.obey(&pawl.Reply{Question: 1, Choice: "approve"})
		for _, verb := range []string{"reject", "show"} {
			err := b.execute(t, plan.New(b.app), verb, "7", "auth")
			if pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), "Loop 1738231300000-auth is not a Plan") {
				t.Errorf("%s: %v", verb, err)
			}
		}
	})
	t.Run("NotComplete", func(t *testing.T) {
		b, g := groveBed(t)
		g.events = g.events[:4]
		err := b.execute(t, plan.New(b.app), "reject", "7")
		if pawl.CodeOf(err) != pawl.CodeState || !strings.Contains(err.Error(), "Plan 1738231200000-a1b2 not in Complete state") {
			t.Errorf("%v", err)
		}
		if err := b.execute(t, plan.New(b.app), "show", "7"); err == nil || !strings.Contains(err.Error(), "Plan has no output artifact") {
			t.Errorf("%v", err)
		}
	})
}

// A plan is decided on where its run is followed, by whoever has seen it. R-37 R-51 R-53
func TestPlanInPlace(t *testing.T) {
	digits := about()[:4]
	for name, c := range map[string]struct {
		typed, choice, text, says string
	}{
		"Reject":        {typed: "r " + digits + " not now\n", choice: "reject", text: "not now"},
		"Iterate":       {typed: "i think of logout too\nr " + digits + "\n", choice: "iterate", text: "think of logout too"},
		"NotByAWord":    {typed: "a\ny\nyes\na 0000\nr\nr " + digits + "\n", choice: "reject"},
		"ApproveByHash": {typed: "a " + digits + "\n", choice: "approve"},
		"Later":         {typed: "\nr " + digits + "\n", says: "the plan still waits"},
		"NoInput":       {typed: "", says: "the plan still waits"},
	} {
		t.Run(name, func(t *testing.T) {
			b, g := groveBed(t)
			b.onTerminal(c.typed)
			b.signals = make(chan os.Signal, 1)
			b.app.Interrupts = func() (<-chan os.Signal, func()) { return b.signals, func() {} }
			out := &watched{b: &b.out, until: []string{"is rejected", "Question 1 answered", "the plan still waits"}, then: func() {
				select {
				case b.signals <- os.Interrupt:
				default:
				}
			}}
			b.app.Out, b.app.Err = out, out
			s, err := b.app.Open(t.Context(), cli.Read)
			if err != nil {
				t.Fatal(err)
			}
			_ = b.app.Attend(t.Context(), s, groveRun, cli.FollowOptions{})
			got := out.String()
			if !strings.Contains(got, "Specs to Create (2)") || !strings.Contains(got, "a "+digits) || !strings.Contains(got, c.says) {
				t.Errorf("it shows\n%s", got)
			}
			switch {
			case c.choice == "" && len(g.steered) > 0:
				t.Errorf("steered to %+v", g.steered[0].Answer)
			case c.choice != "" && (len(g.steered) == 0 || g.steered[0].Answer.Choice != c.choice || g.steered[0].Answer.Text != c.text || g.steered[0].Answer.About != pawl.HashOf([]byte(aPlan))):
				t.Errorf("steered to %+v\n%s", g.steered, got)
			}
		})
	}
}

// watched is a writer that does something when one of some words has been written.
type watched struct {
	mu    sync.Mutex
	b     *bytes.Buffer
	until []string
	then  func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.b.Write(p)
	for _, word := range w.until {
		if strings.Contains(string(p), word) {
			w.then()
		}
	}
	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

var _ io.Writer = &watched{}

// What waits for approval is seen wherever runs are listed. R-50 R-B26
func TestAwaitingIsSeen(t *testing.T) {
	b, _ := groveBed(t)
	for name, c := range map[string]struct {
		run  func() error
		want []string
	}{
		"list":  {func() error { return b.execute(t, list.New(b.app, clock)) }, []string{"asks", "waits for you: pawl inbox 007-login"}},
		"show":  {func() error { return b.execute(t, show.New(b.app)) }, []string{"AWAITS APPROVAL", "Next: pawl plan approve 007-login (shows it first; or iterate, reject)"}},
		"inbox": {func() error { return b.execute(t, inbox.New(b.app, clock)) }, []string{"pawl plan approve 007-login"}},
		"loops": {func() error { return b.execute(t, loops.New(b.app, clock)) }, []string{"AWAITS APPROVAL", "pawl plan approve 007-login"}},
	} {
		if err := c.run(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if got := b.out.String() + b.err.String(); !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
	}
}

// Loops can be listed by status, type, parent and staleness, and exported.
func TestLoops(t *testing.T) {
	b, g := groveBed(t)
	g.obey(&pawl.Reply{Question: 1, Choice: "approve", By: "ada"})
	ids := func(args ...string) string {
		t.Helper()
		b.app.JSON = true
		defer func() { b.app.JSON = false }()
		if err := b.execute(t, loops.New(b.app, clock), append([]string{"7"}, args...)...); err != nil {
			t.Fatal(err)
		}
		var all []view.Record
		if err := json.Unmarshal(b.out.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, rec := range all {
			out = append(out, rec.Name())
		}
		return strings.Join(out, " ")
	}
	for args, want := range map[string]string{
		"": "plan auth api", "--status running": "auth", "--status pending": "api", "--type spec": "auth api",
		"--children-of " + planID: "auth api", "--children-of auth": "", "--stale": "",
	} {
		if got := ids(strings.Fields(args)...); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if err := b.execute(t, loops.New(b.app, clock), "7"); err != nil || !strings.Contains(b.out.String(), "├─ auth") {
		t.Errorf("%v\n%s", err, b.out.String())
	}
	if err := b.execute(t, loops.New(b.app, clock), "7", "--status", "asleep"); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Error(err)
	}
	if err := b.execute(t, loops.New(b.app, clock), "7", "--type", "task"); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Error(err)
	}
	g.add(1, &pawl.IterationEnded{N: 1, Decision: pawl.DecideIterate, Reason: "auth failed"})
	if got := ids("--stale"); got != "auth api" {
		t.Errorf("stale are %q", got)
	}

	dir := t.TempDir()
	g.add(2, &pawl.SignalSent{N: 1, Signal: pawl.SignalInvalidate, Source: 1, Selector: "descendants:" + planID, Reason: "Parent re-iterating"})
	if err := b.execute(t, export.New(b.app), "7", "--folders", "--dir", dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"loops.jsonl": {`"id":"1738231200000-a1b2","loop_type":"plan"`, `"parent_id":"1738231200000-a1b2","input_artifact":"loops/1738231200000-a1b2/iterations/001/artifacts/plan.md"`, `"status":"running","iteration":0`}, // R-63 R-69
		"loops/" + planID + "/current/artifacts/plan.md": {"# Plan: Login"}, // R-64 R-77
		"signals.jsonl": {`"signal_type":"invalidate","source_loop":"1738231200000-a1b2","target_loop":"1738231300000-auth","target_selector":"descendants:1738231200000-a1b2","reason":"Parent re-iterating"`}, // R-60 R-63 R-B22
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(data), w) {
				t.Errorf("%s: no %s in\n%s", name, w, data)
			}
		}
	}
	inTheWay := t.TempDir()
	if err := os.WriteFile(filepath.Join(inTheWay, "loops"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.execute(t, export.New(b.app), "7", "--folders", "--dir", inTheWay); err == nil {
		t.Errorf("folders below a file are no error: %s", b.out.String())
	}
}

// R-21 R-22 R-25
func TestSignal(t *testing.T) {
	for args, want := range map[string]string{
		"pause --to auth":                       "1738231300000-auth",
		"stop --to descendants:" + planID:       "descendants:" + planID,
		"resume --to children:auth":             "children:1738231300000-auth",
		"rebase --to type:spec":                 "type:spec",
		"info --to status:running --text hello": "status:running",
	} {
		b, g := groveBed(t)
		g.obey(&pawl.Reply{Question: 1, Choice: "approve", By: "ada"})
		if err := b.execute(t, signal.New(b.app), append([]string{"7"}, strings.Fields(args)...)...); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		if s := g.steered[0]; s.Verb != pawl.SteerSignal || s.Signal.To != want || s.By != "ada" || string(s.Signal.Signal) != strings.Fields(args)[0] {
			t.Errorf("%s: steered to %+v, %+v", args, s, s.Signal)
		}
		if got := b.out.String(); !strings.HasSuffix(got, "is sent to auth\n") {
			t.Errorf("%s: it says %q", args, got)
		}
	}
	b, g := groveBed(t)
	for args, code := range map[string]pawl.Code{
		"pause": pawl.CodeInvalid, "error --to auth": pawl.CodeInvalid, "invalidate --to auth": pawl.CodeInvalid, "info --to " + planID: pawl.CodeInvalid,
		"pause --to nobody": pawl.CodeNotFound, "pause --to tree:all": pawl.CodeInvalid, "pause --to children:nobody": pawl.CodeNotFound,
	} {
		if err := b.execute(t, signal.New(b.app), append([]string{"7"}, strings.Fields(args)...)...); pawl.CodeOf(err) != code || len(g.steered) > 0 {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// R-57 R-B24
func TestArchive(t *testing.T) {
	b, g := groveBed(t)
	g.obey(&pawl.Reply{Question: 1, Choice: "approve"})
	if err := b.execute(t, archive.New(b.app), "7", "auth", "--reason", "superseded"); err != nil {
		t.Fatal(err)
	}
	if s := g.steered[0]; s.Verb != pawl.SteerArchive || s.Loop != "1738231300000-auth" || s.Reason != "superseded" || s.By != "ada" {
		t.Errorf("steered to %+v", s)
	}
	for _, c := range []struct {
		args []string
		runs int
	}{{nil, 0}, {[]string{"--all"}, 1}} { // the bed archives the run
		b.app.JSON = true
		if err := b.execute(t, list.New(b.app, clock), c.args...); err != nil {
			t.Fatal(err)
		}
		var runs []pawl.RunInfo
		if err := json.Unmarshal(b.out.Bytes(), &runs); err != nil || len(runs) != c.runs {
			t.Errorf("%v: %d runs, %v", c.args, len(runs), err)
		}
	}
	b, g = groveBed(t)
	if err := b.execute(t, archive.New(b.app), "7", "poem"); pawl.CodeOf(err) != pawl.CodeNotFound || len(g.steered) > 0 {
		t.Errorf("a loop that does not exist: %v, steered to %+v", err, g.steered)
	}
	g.refuse = pawl.Errorf(pawl.CodeState, "it is at work")
	if err := b.execute(t, archive.New(b.app), "7"); pawl.CodeOf(err) != pawl.CodeState {
		t.Error(err)
	}
}

// Every command of trees says what it does, with an example and exit codes.
func TestHelpOfTrees(t *testing.T) {
	b, _ := groveBed(t)
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if c.Short == "" || c.Example == "" || !strings.Contains(c.Long, "Exit codes:") {
			t.Errorf("%s: help is not whole", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	for _, c := range []*cobra.Command{plan.New(b.app), signal.New(b.app), loops.New(b.app, clock), archive.New(b.app)} {
		check(c)
	}
}
