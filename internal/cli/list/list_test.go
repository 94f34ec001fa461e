package list

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/project"
)

var now = time.Date(2025, 1, 30, 12, 0, 0, 0, time.UTC)

var runs = []pawl.RunInfo{
	{ID: "001-add-login", Title: "Add a login form with a password and a way to reset it by mail", Status: pawl.StatusEnded, Outcome: pawl.OutcomeComplete,
		Iteration: 3, Max: 10, Tier: "sonnet", Cost: 1_230_000, Started: now.Add(-50 * time.Hour)},
	{ID: "002-a-very-long-name-that-somebody-has-thought-of", Title: "数据库 migration", Status: pawl.StatusPaused,
		Iteration: 1, Tier: "haiku", Cost: 31_200, Started: now.Add(-3 * time.Hour)},
	{ID: "003-fix-\x1b[31mred", Title: "Fix\x07 it\nnow", Status: cli.StatusInterrupted, Max: 10, Started: now.Add(-90 * time.Second)},
}

func TestTable(t *testing.T) {
	t.Run("FitsTheTerminal", func(t *testing.T) {
		for width := 1; width <= 200; width++ {
			for _, line := range table(runs, now, width, false) {
				if got := ansi.StringWidth(line); got > width {
					t.Errorf("%d columns in a terminal of %d: %q", got, width, line)
				}
			}
		}
	})
	t.Run("80Columns", func(t *testing.T) {
		want := []string{
			"RUN                       STATUS         ITER  TIER    COST     AGE  TITLE",
			"001-add-login             ✓ complete     3/10  sonnet  $1.23    2d   Add a logi…",
			"002-a-very-long-name-th…  ‖ paused       1/-   haiku   $0.0312  3h   数据库 mig…",
			"003-fix-red               ‖ interrupted  -     -       $0.00    1m   Fix it now",
		}
		if d := cmp.Diff(want, table(runs, now, 80, false)); d != "" {
			t.Error(d)
		}
	})
	t.Run("HeldAndLost", func(t *testing.T) { // F-38
		some := slices.Clone(runs[1:])
		some[0].Money = &pawl.Money{Spent: 20_000, Lost: 11_200}
		want := []string{
			"RUN                       STATUS         ITER  TIER   COST     LOST     AGE  TI…",
			"002-a-very-long-name-th…  ‖ paused       1/-   haiku  $0.0200  $0.0112  3h   数…",
			"003-fix-red               ‖ interrupted  -     -      $0.00    -        1m   Fi…",
		}
		if d := cmp.Diff(want, table(some, now, 80, false)); d != "" {
			t.Error(d)
		}
		some[1].Money = &pawl.Money{Held: 41_000}
		if got := table(some, now, 120, false)[2]; !strings.Contains(got, "$0.00    $0.0410  -        1m") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("RunsOfOneTask", func(t *testing.T) {
		again := []pawl.RunInfo{runs[1], runs[1]}
		again[1].ID += "-r12"
		got := table(again, now, 60, false)
		if !strings.HasPrefix(got[1], "002-a-very-long-name-th…  ") || !strings.HasPrefix(got[2], "002-a-very-long-nam…-r12  ") {
			t.Errorf("%q", got)
		}
	})
	t.Run("TasksAndQuestions", func(t *testing.T) {
		got := table([]pawl.RunInfo{{ID: "004-parser", Title: "A parser", Status: pawl.StatusRunning, Iteration: 1, Max: 1, Tasks: 7, Passed: 2, Questions: 1, Started: now}}, now, 0, false)
		if want := "004-parser  ● running, asks  1/1   2/7    -     $0.00  0s   A parser"; got[1] != want {
			t.Errorf("got %q, want %q", got[1], want)
		}
	})
	t.Run("Health", func(t *testing.T) { // V-60
		for health, want := range map[pawl.Health]string{"": "● running", pawl.HealthProgressing: "● running", pawl.HealthFlipFlop: "● running, flip-flopping"} {
			if got := state(pawl.RunInfo{Status: pawl.StatusRunning, Health: health}); got != want {
				t.Errorf("%s: got %q, want %q", health, got, want)
			}
		}
		if got := state(pawl.RunInfo{Status: pawl.StatusEnded, Outcome: pawl.OutcomeBlocked, Health: pawl.HealthStalled}); got != "✗ blocked" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("Ends", func(t *testing.T) { // F-50
		some := []pawl.RunInfo{runs[0], runs[0], runs[0]}
		some[1].Outcome, some[2].RedAtBase = pawl.OutcomeUnverified, "tests"
		got := table(some, now, 0, true)[1:]
		for i, want := range []string{"\x1b[32m✓ complete             \x1b[0m", "\x1b[33m~ unverified           \x1b[0m", "\x1b[33m✓ complete, red at base\x1b[0m"} {
			if !strings.Contains(got[i], "  "+want+"  ") {
				t.Errorf("got %q, want %q", got[i], want)
			}
		}
		some[0].Findings = 2
		if got := table(some, now, 0, true)[1]; !strings.Contains(got, "\x1b[33m✓ complete, 2 findings nobody accepted\x1b[0m") {
			t.Errorf("got %q", got)
		}
		for _, line := range table(some, now, 60, true) {
			if ansi.StringWidth(line) > 60 {
				t.Errorf("%q", line)
			}
		}
	})
	t.Run("WholeOffTheTerminal", func(t *testing.T) {
		all := strings.Join(table(runs, now, 0, false), "\n")
		for _, want := range []string{"002-a-very-long-name-that-somebody-has-thought-of", "a way to reset it by mail"} {
			if !strings.Contains(all, want) {
				t.Errorf("no %q in\n%s", want, all)
			}
		}
	})
}

// A model that sends nothing is named below the list. F-49
func TestSilent(t *testing.T) {
	run := pawl.RunInfo{ID: "004-parser", Title: "A parser", Status: pawl.StatusRunning, Started: now,
		Waiting: &pawl.Waiting{Name: "model call 1 of implement in iteration 1", Pool: pawl.PoolModel, Model: "openai/gpt", For: 42 * time.Second}}
	var out, err bytes.Buffer
	if e := show(&cli.App{Out: &out, Err: &err}, []pawl.RunInfo{run}, now); e != nil {
		t.Fatal(e)
	}
	if want := "pawl: run 004-parser: openai/gpt has sent nothing for 42s (model call 1 of implement in iteration 1)\n"; err.String() != want {
		t.Errorf("it said %q, want %q", err.String(), want)
	}
}

func TestShow(t *testing.T) {
	var out, err bytes.Buffer
	app := &cli.App{Out: &out, Err: &err, Terminal: true, Columns: func() int { return 60 }}
	if e := show(app, runs, now); e != nil {
		t.Fatal(e)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07") || ansi.StringWidth(strings.SplitN(out.String(), "\n", 3)[1]) > 60 {
		t.Errorf("%q", out.String())
	}
	if want := "pawl: run 003-fix-red was interrupted: no process drives it. Continue: pawl resume 003-fix-red\n"; err.String() != want {
		t.Errorf("it said %q", err.String())
	}
}

// A run of which an effect waits for its places is told apart, and what it waits for is said. F-24
func TestWaiting(t *testing.T) {
	run := pawl.RunInfo{ID: "004-parser", Title: "A parser", Status: pawl.StatusRunning, Started: now,
		Waiting: &pawl.Waiting{Name: "gate tests", Pool: "lane:heavy", Slots: 1, For: 12 * time.Second}}
	var out, err bytes.Buffer
	if e := show(&cli.App{Out: &out, Err: &err}, []pawl.RunInfo{run}, now); e != nil {
		t.Fatal(e)
	}
	if !strings.Contains(out.String(), "004-parser  ● running, waits  ") {
		t.Errorf("%s", out.String())
	}
	if want := "pawl: run 004-parser: gate tests waits for the one heavy place, 12s so far; pawl top shows who has the places\n"; err.String() != want {
		t.Errorf("it said %q, want %q", err.String(), want)
	}
}

// The time at which a run was started is not shown if its events are lost. F-16
func TestLostRun(t *testing.T) {
	lost := []pawl.RunInfo{{ID: "002-lost", Task: 2, Status: pawl.StatusQuarantined}, runs[0]}
	lost[1].Updated = now
	if got, want := table(lost, now, 0, false)[1], "002-lost       ✗ quarantined  -     -       $0.00  -"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var out bytes.Buffer
	if err := show(&cli.App{Out: &out, JSON: true}, lost, now); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "0001-01-01") || strings.Count(out.String(), `"started"`) != 1 {
		t.Errorf("%s", out.String())
	}
	var again []pawl.RunInfo
	if err := json.Unmarshal(out.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(lost, again); d != "" {
		t.Error(d)
	}
	out.Reset()
	if err := show(&cli.App{Out: &out, JSON: true}, nil, now); err != nil || out.String() != "[]\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// The runs of all projects are listed with their project. F-31
func TestEverywhere(t *testing.T) {
	var out, notes bytes.Buffer
	app := &cli.App{Out: &out, Err: &notes, Each: func(_ context.Context, a cli.Access, do func(project.Project, *cli.Session, error) error) error {
		if a != cli.Read {
			t.Error("it does not only read")
		}
		away := runs[1]
		away.Archived = true
		for _, p := range []struct {
			root string
			runs []pawl.RunInfo
			err  error
		}{
			{"/docs", runs[:1], nil}, {"/empty", nil, nil}, {"/gone", nil, pawl.Errorf(pawl.CodeDamaged, "it is damaged")},
			{"/shop", []pawl.RunInfo{away, runs[2]}, nil},
		} {
			s := &cli.Session{Service: stored{runs: p.runs}}
			if p.err != nil {
				s = nil
			}
			if err := do(project.Project{Repo: pawl.Repository{Root: p.root, GitDir: t.TempDir()}, Dir: "/state/x"}, s, p.err); err != nil {
				return err
			}
		}
		return nil
	}}
	execute := func(args ...string) error {
		out.Reset()
		notes.Reset()
		c := New(app, func() time.Time { return now })
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(args)
		return c.ExecuteContext(t.Context())
	}
	err := execute("--everywhere")
	want := `/docs
RUN            STATUS      ITER  TIER    COST   AGE  TITLE
001-add-login  ✓ complete  3/10  sonnet  $1.23  2d   Add a login form with a password and a way to reset it by mail

/shop
RUN          STATUS         ITER  TIER  COST   AGE  TITLE
003-fix-red  ‖ interrupted  -     -     $0.00  1m   Fix it now
`
	if exit, ok := errors.AsType[cli.Exit](err); !ok || exit != cli.ExitUnavailable || notes.String() != "pawl: /gone cannot be read: it is damaged\n" {
		t.Errorf("%v, %s", err, notes.String())
	}
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
	app.JSON = true
	_ = execute("--everywhere", "--all")
	var lines []struct {
		Project, Root string
		pawl.RunInfo
	}
	if err := json.Unmarshal(out.Bytes(), &lines); err != nil || len(lines) != 3 || lines[1].Root != "/shop" || lines[1].Project != "x" || lines[1].ID != runs[1].ID {
		t.Errorf("%v: %s", err, out.String())
	}
}

// stored is a service that only lists.
type stored struct {
	pawl.Service
	runs []pawl.RunInfo
}

func (s stored) Runs(context.Context) ([]pawl.RunInfo, error) { return slices.Clone(s.runs), nil }
