package cost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/project"
	"pawl/internal/view"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // rows are of days
	os.Exit(m.Run())
}

// stored is a project with runs whose events are known.
type stored struct {
	pawl.Service
	runs   []pawl.RunInfo
	events map[pawl.RunID][]pawl.Event
	stones []pawl.Tombstone
}

func (s *stored) Runs(context.Context) ([]pawl.RunInfo, error)          { return s.runs, nil }
func (s *stored) DeletedRuns(context.Context) ([]pawl.Tombstone, error) { return s.stones, nil }
func (s *stored) Events(_ context.Context, run pawl.RunID, _ pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		events, ok := s.events[run]
		if !ok {
			yield(pawl.Event{}, pawl.Errorf(pawl.CodeDamaged, "it is damaged"))
		}
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// newStored has a run with calls on two days by two models in two roles, one that is damaged
// and one that was deleted.
func newStored() *stored {
	at := time.Date(2026, 11, 26, 22, 50, 0, 0, time.UTC)
	s := &stored{
		runs:   []pawl.RunInfo{{ID: "001-a"}, {ID: "002-b", Money: &pawl.Money{Spent: 5, Lost: 2}}},
		events: map[pawl.RunID][]pawl.Event{},
		stones: []pawl.Tombstone{{Run: pawl.RunInfo{ID: "000-z", Money: &pawl.Money{Spent: 1_000_000}}}},
	}
	call := func(role string, tier int) pawl.Body {
		return &pawl.EffectRequested{Effect: pawl.Effect{Class: pawl.CrashCharge, Session: 1, Place: pawl.Place{Step: "x", Role: role}, Do: &pawl.CallModel{Tier: tier, Reserved: 100}}}
	}
	for i, b := range []pawl.Body{
		&pawl.RunStarted{Settings: pawl.JSON(`{"models":[{"provider":"p","name":"small"},{"provider":"p","name":"large"},{"provider":"p","name":"x"}]}`), Recipe: pawl.JSON(`{"name":"x"}`)},
		&pawl.LoopStarted{ID: "1-a", Kind: "task"},
		call("coder", 1), &pawl.ModelReplied{Effect: 3, Cost: 30, Usage: pawl.Usage{Input: 10}},
		call("judge", 2), &pawl.ModelReplied{Effect: 5, Cost: 70, Usage: pawl.Usage{Input: 20_000}},
		call("coder", 2),
	} {
		e := pawl.Event{Run: "001-a", Seq: pawl.Seq(i + 1), Time: at.Add(time.Duration(i) * 20 * time.Minute), Body: b}
		if i > 0 {
			e.Loop = 1
		}
		s.events["001-a"] = append(s.events["001-a"], e)
	}
	return s
}

func run(t *testing.T, app *cli.App, args ...string) (out, notes string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	app.Out, app.Err = &o, &e
	c := New(app)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func here(s *stored) *cli.App {
	return &cli.App{Open: func(_ context.Context, a cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: s, Project: project.Project{Repo: pawl.Repository{Root: "/shop"}}, Close: func() error { return nil }}, nil
	}}
}

// However it is told apart, the sum is what show says of each run. F-31
func TestCost(t *testing.T) {
	s := newStored()
	_, r, err := view.Charges(s.Events(t.Context(), "001-a", 0), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	want := r.Money()
	want.Add(*s.runs[1].Money)
	app := here(s)
	app.JSON = true
	for by, rows := range map[string]string{
		"":        "001-a 002-b",
		"run":     "001-a 002-b",
		"day":     "2026-11-26 2026-11-27 unknown",
		"model":   "p/large p/small unknown",
		"role":    "coder judge unknown",
		"project": "/shop",
	} {
		args := []string{}
		if by != "" {
			args = append(args, "--by", by)
		}
		out, _, err := run(t, app, args...)
		var got costs
		if err != nil || json.Unmarshal([]byte(out), &got) != nil {
			t.Fatalf("%s: %v\n%s", by, err, out)
		}
		var names []string
		var sum pawl.Money
		calls := 0
		for _, r := range got.Rows {
			names = append(names, r.Name)
			sum.Add(r.Money)
			calls += r.Calls
		}
		if strings.Join(names, " ") != rows || sum != want || got.Money != want || calls != 2 || got.Calls != 2 {
			t.Errorf("by %s: %v, %+v of %d calls, want %s, %+v", by, names, got.Money, got.Calls, rows, want)
		}
		if got.Deleted.Runs != 1 || got.Deleted.Money.Spent != 1_000_000 {
			t.Errorf("%+v", got.Deleted)
		}
	}
	app.JSON = false
	out, notes, err := run(t, app, "--by", "model")
	wantText := `MODEL    CALLS  TOKENS  SPENT    HELD     LOST
p/large  1      20,000  $0.0001  $0.0001  -
p/small  1      10      $0.0000  -        -
unknown  0      0       $0.0000  -        $0.0000
all      2      20,010  $0.0001  $0.0001  $0.0000
Not counted: 1 deleted run, which had cost $1.00.
`
	if err != nil || out != wantText || notes != "pawl: run 002-b is damaged: it is counted as far as it can be read\n" {
		t.Errorf("%v, got\n%s%swant\n%s", err, out, notes, wantText)
	}
	if _, _, err := run(t, app, "--by", "colour"); pawl.CodeOf(err) != pawl.CodeInvalid || err.Error() != "--by colour: want day, run, model, role, project" {
		t.Errorf("%v", err)
	}
	s.runs, s.stones = nil, nil
	if out, notes, err := run(t, app); err != nil || out != "" || notes != "pawl: no run has cost anything yet\n" {
		t.Errorf("%v, %s%s", err, out, notes)
	}
}

// Outside of a repository it is all projects. F-31
func TestCostEverywhere(t *testing.T) {
	outside := pawl.Errorf(pawl.CodeInvalid, "/x is not in a git repository")
	outside.Err = project.ErrOutside
	app := &cli.App{
		Open: func(context.Context, cli.Access) (*cli.Session, error) { return nil, outside },
		Each: func(_ context.Context, _ cli.Access, do func(project.Project, *cli.Session, error) error) error {
			for i, root := range []string{"/docs", "/gone", "/shop"} {
				var s *cli.Session
				var err error
				if s = (&cli.Session{Service: newStored()}); root == "/gone" {
					s, err = nil, pawl.Errorf(pawl.CodeDamaged, "it is damaged")
				}
				if err := do(project.Project{Repo: pawl.Repository{Root: root}, Dir: "/state/" + string(rune('a'+i))}, s, err); err != nil {
					return err
				}
			}
			return nil
		},
	}
	out, notes, err := run(t, app)
	if exit, ok := errors.AsType[cli.Exit](err); !ok || exit != cli.ExitUnavailable || !strings.Contains(notes, "/gone cannot be read, and is not counted: it is damaged") {
		t.Errorf("%v, %s", err, notes)
	}
	if want := "PROJECT  CALLS  TOKENS  SPENT    HELD     LOST\n/docs    2      20,010  $0.0001  $0.0001  $0.0000\n/shop  "; !strings.HasPrefix(out, want) || !strings.Contains(out, "\nNot counted: 2 deleted runs, which had cost $2.00.\n") {
		t.Errorf("got\n%swant\n%s", out, want)
	}
	out, _, _ = run(t, app, "--by", "run")
	if !strings.Contains(out, "001-a  /docs ") || !strings.Contains(out, "001-a  /shop ") {
		t.Errorf("got\n%s", out)
	}
	app.JSON = true
	out, _, _ = run(t, app, "--by", "run")
	var got struct {
		Rows []struct{ Name, Project, Root string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Rows) != 4 || got.Rows[2].Project != "c" || got.Rows[2].Root != "/shop" {
		t.Errorf("%v, %+v", err, got)
	}
}
