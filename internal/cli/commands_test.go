package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/cancel"
	"pawl/internal/cli/diff"
	"pawl/internal/cli/events"
	"pawl/internal/cli/pause"
	"pawl/internal/cli/replay"
	"pawl/internal/cli/resume"
	"pawl/internal/cli/show"
	"pawl/internal/driver/drivertest"
	"pawl/internal/kernel"
	"pawl/internal/project"
	"pawl/internal/view"
)

// refold is what the program gives to replay.
func refold(events []pawl.Event) (pawl.RunInfo, error) {
	var s kernel.State
	for _, e := range events {
		if err := kernel.Apply(&s, e); err != nil {
			return pawl.RunInfo{}, err
		}
	}
	return kernel.Info(&s), nil
}

func TestReplay(t *testing.T) {
	b, run := finished(t)
	t.Run("Agrees", func(t *testing.T) {
		if err := b.execute(t, replay.New(b.app, refold)); err != nil {
			t.Fatalf("%v\n%s", err, b.out.String())
		}
		for _, name := range []string{"events", "kernel's line", "log lines", "state.yaml", "iteration-001.txt", "report.txt", "show --json", "line: kernel, view, store"} {
			if !strings.Contains(b.out.String(), "OK       "+name) {
				t.Errorf("%s is not compared:\n%s", name, b.out.String())
			}
		}
	})
	t.Run("KernelDiffers", func(t *testing.T) {
		err := b.execute(t, replay.New(b.app, func(events []pawl.Event) (pawl.RunInfo, error) {
			info, err := refold(events)
			info.Cost++
			return info, err
		}))
		if pawl.CodeOf(err) != pawl.CodeDamaged || !strings.Contains(b.out.String(), `DIFFERS  line: kernel, view, store: kernel and view: at byte`) {
			t.Errorf("%v\n%s", err, b.out.String())
		}
	})
	t.Run("FoldDiffersFromItself", func(t *testing.T) {
		n := pawl.Micros(0)
		err := b.execute(t, replay.New(b.app, func(events []pawl.Event) (pawl.RunInfo, error) {
			n++
			return pawl.RunInfo{Cost: n}, nil
		}))
		if pawl.CodeOf(err) != pawl.CodeDamaged || !strings.Contains(b.out.String(), "DIFFERS  kernel's line: at byte") {
			t.Errorf("%v\n%s", err, b.out.String())
		}
	})
	t.Run("StoreDiffers", func(t *testing.T) {
		runs, err := b.engine.Runs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		runs[0].Outcome = pawl.OutcomeBlocked
		s := b.session()
		s.Service = listed{s.Service, runs}
		b.app.Open = func(context.Context, cli.Access) (*cli.Session, error) { return s, nil }
		b.app.JSON = true
		err = b.execute(t, replay.New(b.app, refold), string(run))
		var got replay.Result
		if json.Unmarshal(b.out.Bytes(), &got) != nil || pawl.CodeOf(err) != pawl.CodeDamaged {
			t.Fatalf("%v\n%s", err, b.out.String())
		}
		for _, p := range got.Projections {
			if differs := strings.HasPrefix(p.Difference, "view and store: "); differs != (p.Name == "line: kernel, view, store") {
				t.Errorf("%s: %q", p.Name, p.Difference)
			}
		}
	})
}

func TestDiff(t *testing.T) {
	b, run := finished(t)
	var got []string
	compare := func(_ context.Context, _ project.Project, from, to pawl.CommitHash, stat int, raw bool) ([]byte, int, error) {
		got = append(got, string(from)+".."+string(to))
		switch {
		case stat > 0:
			return []byte(" file | 1 +\n"), 0, nil
		case raw:
			return []byte("+\x1b[2Jcleared hunter2\n"), 0, nil
		}
		return []byte("+\x1b[2Jcleared [redacted:PW]\n"), 1, nil
	}
	for _, args := range [][]string{{}, {string(run), "--stat"}, {"1", "--attempt", "1", "--raw"}} {
		if err := b.execute(t, diff.New(b.app, compare), args...); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	if want := "base..commit-1"; len(got) != 3 || got[0] != want || got[1] != want || got[2] != want {
		t.Errorf("compared %v", got)
	}
	if out := b.out.String(); out != "+\x1b[2Jcleared hunter2\n" {
		t.Errorf("raw it is not what git printed: %q", out)
	}
	if err := b.execute(t, diff.New(b.app, compare)); err != nil || b.out.String() != "+cleared [redacted:PW]\n" || !strings.Contains(b.err.String(), "git apply cannot use this patch") { // F-107
		t.Errorf("off a terminal: %q, %q, %v", b.out.String(), b.err.String(), err)
	}
	b.app.JSON = true
	if err := b.execute(t, diff.New(b.app, compare)); err != nil || !strings.Contains(b.out.String(), "cleared [redacted:PW]") || !strings.Contains(b.out.String(), `"redacted": 1`) { // F-107
		t.Errorf("as JSON: %q, %v", b.out.String(), err)
	}
	if err := b.execute(t, diff.New(b.app, compare), "--raw"); err != nil || !strings.Contains(b.out.String(), "hunter2") || strings.Contains(b.out.String(), `"redacted"`) {
		t.Errorf("as JSON and raw: %q, %v", b.out.String(), err)
	}
	b.app.JSON = false
	b.app.Terminal = true
	if err := b.execute(t, diff.New(b.app, compare)); err != nil || b.out.String() != "+cleared [redacted:PW]\n" {
		t.Errorf("on a terminal: %q, %v", b.out.String(), err)
	}
	if err := b.execute(t, diff.New(b.app, compare), "--attempt", "4"); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("an iteration that is not there: %v", err)
	}
}

func TestShowPrompt(t *testing.T) {
	b, _ := finished(t)
	if err := b.execute(t, show.New(b.app), "--prompt=implement", "--part", "prompt"); err != nil || b.out.String() != "prompt of task/1/implement" {
		t.Errorf("%q, %v", b.out.String(), err)
	}
	if err := b.execute(t, show.New(b.app), "--prompt"); err != nil || !strings.HasPrefix(b.out.String(), "=== task/1/requirements, session 2, event ") {
		t.Errorf("%q, %v", b.out.String(), err)
	}
	if err := b.execute(t, show.New(b.app), "--part", "system"); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("a part that was not sent: %v", err)
	}
}

func TestShowJSON(t *testing.T) {
	b, _ := finished(t)
	b.app.JSON = true
	var got view.Summary
	if err := b.execute(t, show.New(b.app)); err != nil || json.Unmarshal(b.out.Bytes(), &got) != nil || got.Goal != "do it" || got.Outcome != pawl.OutcomeComplete {
		t.Errorf("%v: %s", err, b.out.String())
	}
}

func TestEventsAfter(t *testing.T) {
	b, run := finished(t)
	r, err := cli.Fold(t.Context(), b.session(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--after", "5"}, {"--after", "5", "-f"}} {
		if err := b.execute(t, events.New(b.app), args...); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(b.out.String(), "\n"); lines != int(r.Seq)-5 || !strings.HasPrefix(b.out.String(), "    6  ") {
			t.Errorf("%v: %d lines for %d events:\n%s", args, lines, r.Seq, b.out.String())
		}
	}
}

func TestResume(t *testing.T) {
	start := func(t *testing.T) (*bed, *held, pawl.RunID) {
		world := holdTools()
		b := newBed(t, world)
		run := b.mustStart(t, "do it")
		<-world.begun
		return b, world, run
	}
	t.Run("PausedWithOtherLimits", func(t *testing.T) {
		b, world, run := start(t)
		if err := b.engine.Steer(t.Context(), run, pawl.Steering{Verb: pawl.SteerPause}); err != nil {
			t.Fatal(err)
		}
		close(world.letGo)
		err := b.execute(t, resume.New(b.app), "1", "--budget", "2.50", "--max-iterations", "7", "--max-tokens", "0", "--max-time", "90")
		if err != nil {
			t.Fatalf("%v\n%s", err, b.err.String())
		}
		r := mustFold(t, b, run)
		if want := (pawl.Limits{Money: 2_500_000, Time: 90 * time.Minute, Iterations: 7}); r.Limits != want || r.Outcome != pawl.OutcomeComplete {
			t.Errorf("limits %+v, %s", r.Limits, r.Outcome)
		}
	})
	t.Run("TheLatest", func(t *testing.T) {
		b, world, run := start(t)
		err := b.execute(t, resume.New(b.app))
		if pawl.CodeOf(err) != pawl.CodeState || err.Error() != "the latest run, "+string(run)+", is running already" {
			t.Errorf("a run that is at work: %v", err)
		}
		if err := b.engine.Steer(t.Context(), run, pawl.Steering{Verb: pawl.SteerPause}); err != nil {
			t.Fatal(err)
		}
		close(world.letGo)
		if err := b.execute(t, resume.New(b.app)); err != nil {
			t.Fatal(err)
		}
		if r := mustFold(t, b, run); r.Outcome != pawl.OutcomeComplete {
			t.Errorf("it ended %s", r.Outcome)
		}
		err = b.execute(t, resume.New(b.app))
		if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Code != pawl.CodeState || e.Message != "the latest run, "+string(run)+", ended complete: there is nothing to resume" || e.Hint == "" {
			t.Errorf("a run that is complete: %v", err)
		}
	})
	t.Run("LimitsOfARunAtWork", func(t *testing.T) {
		b, world, run := start(t)
		s := b.session()
		steered := &steering{Service: s.Service, done: make(chan pawl.SteerVerb, 1)}
		s.Service = steered
		b.app.Open = func(context.Context, cli.Access) (*cli.Session, error) { return s, nil }
		go func() {
			if verb := <-steered.done; verb != pawl.SteerLimits {
				t.Errorf("it was steered to %s", verb)
			}
			close(world.letGo)
		}()
		if err := b.execute(t, resume.New(b.app), string(run), "--budget", "3"); err != nil {
			t.Fatal(err)
		}
		if r := mustFold(t, b, run); r.Limits.Money != 3*pawl.Dollars || r.Limits.Tokens != pawl.DefaultLimits.Tokens {
			t.Errorf("limits %+v", r.Limits)
		}
	})
	t.Run("Refused", func(t *testing.T) {
		b, run := finished(t)
		if err := b.execute(t, resume.New(b.app), string(run)); pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("a run that is complete: %v", err)
		}
		b.opened = nil
		if err := b.execute(t, resume.New(b.app), string(run), "--budget", "much"); pawl.CodeOf(err) != pawl.CodeInvalid || len(b.opened) > 0 {
			t.Errorf("a bad limit: %v, the project was opened %d times", err, len(b.opened))
		}
	})
}

func mustFold(tb testing.TB, b *bed, run pawl.RunID) *view.Run {
	tb.Helper()
	r, err := cli.Fold(context.Background(), b.session(), run)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// A run that nobody drives is brought to rest, or to its end, by whoever says so.
func TestPauseAndCancelAnInterruptedRun(t *testing.T) {
	for name, want := range map[string]string{"pause": "Run 001-do-it is paused", "cancel": "Run 001-do-it is cancelled"} {
		t.Run(name, func(t *testing.T) {
			world := holdTools()
			first := newBed(t, world)
			run := first.mustStart(t, "do it")
			<-world.begun
			first.engine.Close() // as if its process had died

			b := newBed(t, nil)
			b.log, b.engine = first.log, newEngine(t, first.log, &drivertest.World{Calls: 1}, b.home, small)
			c := pause.New(b.app)
			if name == "cancel" {
				c = cancel.New(b.app)
			}
			if err := b.execute(t, c, string(run)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.out.String(), want) {
				t.Errorf("it said %q", b.out.String())
			}
			if r := mustFold(t, b, run); r.UnderWay() != 0 {
				t.Errorf("%d effects are under way", r.UnderWay())
			}
		})
	}
}
