package gc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/project"
)

var day = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// state is a project with garbage.
type state struct {
	pawl.Service
	found     pawl.Garbage
	collected int
}

func (s *state) DeleteRun(context.Context, pawl.RunID, pawl.DeleteRequest) (pawl.Deletion, error) {
	return pawl.Deletion{}, nil
}
func (s *state) DeletedRuns(context.Context) ([]pawl.Tombstone, error) { return nil, nil }
func (s *state) Garbage(context.Context) (pawl.Garbage, error)         { return s.found, nil }

func (s *state) CollectGarbage(context.Context) (pawl.Garbage, error) {
	s.collected++
	return s.found, nil
}

func full() *state {
	return &state{found: pawl.Garbage{Freed: 1_300_000, Used: 5_000_000,
		Items: []pawl.GarbageItem{
			{Kind: pawl.GarbageRun, Run: "001-old", Name: "deleted on 2026-11-01", Size: 1_000_000},
			{Kind: pawl.GarbageWorktree, Run: "002-a", Name: "002-a-1795290788201-8be2", Size: 300_000, Partial: true},
		},
		Waiting: []pawl.DeletedRun{{Run: "003-b", Deleted: day, Until: day.Add(pawl.KeepDeleted), Size: 2000}},
		Use:     []pawl.DiskUse{{Name: "log", Size: 3_000_000}, {Name: "worktrees", Size: 2_000_000, Partial: true}}}}
}

const shown = `WHAT      FREES            NAME
run       1 MB             001-old: deleted on 2026-11-01
worktree  at least 300 kB  002-a-1795290788201-8be2
1.3 MB can be freed: pawl gc --apply
Run 003-b, deleted on 2026-11-26, is kept until 2026-12-10 (2 kB).
`

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

// Nothing is removed unless it is asked for. F-31
func TestGC(t *testing.T) {
	s := full()
	app := &cli.App{Open: func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: s, Close: func() error { return nil }}, nil
	}}
	out, _, err := run(t, app)
	if want := shown + "This project takes 5 MB of disk: 3 MB log, at least 2 MB worktrees.\n"; err != nil || out != want || s.collected != 0 {
		t.Errorf("%v, got\n%swant\n%s", err, out, want)
	}
	out, _, err = run(t, app, "--apply")
	if err != nil || s.collected != 1 || !strings.Contains(out, "WHAT      FREED ") || !strings.Contains(out, "1.3 MB freed.\n") {
		t.Errorf("%v\n%s", err, out)
	}
	s.found.Items[0].Problem = "it is busy"
	_, notes, err := run(t, app, "--apply")
	if exit, ok := errors.AsType[cli.Exit](err); !ok || exit != cli.ExitState || !strings.Contains(notes, "run deleted on 2026-11-01 could not be removed: it is busy") {
		t.Errorf("%v, %s", err, notes)
	}
	s.found = pawl.Garbage{Items: []pawl.GarbageItem{}, Used: 1000}
	if out, _, err = run(t, app); err != nil || out != "There is nothing to remove.\nThis project takes 1 kB of disk.\n" {
		t.Errorf("%v\n%s", err, out)
	}
	app.JSON = true
	var g pawl.Garbage
	if out, _, err = run(t, app); err != nil || json.Unmarshal([]byte(out), &g) != nil || g.Used != 1000 {
		t.Errorf("%v\n%s", err, out)
	}
	outside := pawl.Errorf(pawl.CodeInvalid, "/x is not in a git repository")
	outside.Err = project.ErrOutside
	app.Open = func(context.Context, cli.Access) (*cli.Session, error) { return nil, outside.WithHint("run git init") }
	_, _, err = run(t, app)
	if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Hint != "pawl gc --everywhere looks at all projects; or run git init" {
		t.Errorf("%v", err)
	}
}

// F-31
func TestEverywhere(t *testing.T) {
	one, two := full(), full()
	app := &cli.App{Each: func(_ context.Context, a cli.Access, do func(project.Project, *cli.Session, error) error) error {
		if a != cli.Steer {
			t.Error("it only reads")
		}
		for root, s := range map[string]*state{"/one": one} {
			if err := do(project.Project{Repo: pawl.Repository{Root: root}, Dir: "/state/1"}, &cli.Session{Service: s}, nil); err != nil {
				return err
			}
		}
		if err := do(project.Project{Repo: pawl.Repository{Root: "/gone"}, Dir: "/state/2"}, nil, pawl.Errorf(pawl.CodeUnavailable, "it is not there").WithHint("attach it")); err != nil {
			return err
		}
		return do(project.Project{Repo: pawl.Repository{Root: "/two"}, Dir: "/state/3"}, &cli.Session{Service: two}, nil)
	}}
	out, _, err := run(t, app, "--everywhere")
	want := "/one\n" + shown + "It takes 5 MB of disk: 3 MB log, at least 2 MB worktrees.\n\n/gone\ncannot be looked at: it is not there: attach it\n\n/two\n" +
		shown + "It takes 5 MB of disk: 3 MB log, at least 2 MB worktrees.\n\nAll projects take 10 MB; 2.6 MB of it can be freed.\n"
	if exit, ok := errors.AsType[cli.Exit](err); !ok || exit != cli.ExitUnavailable || out != want {
		t.Errorf("%v, got\n%swant\n%s", err, out, want)
	}
	app.JSON = true
	out, _, _ = run(t, app, "--everywhere", "--apply")
	var all []found
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 3 || all[0].Root != "/one" || all[0].Freed != 1_300_000 || all[1].Error == "" || one.collected != 1 || two.collected != 1 {
		t.Errorf("%v: %+v", err, all)
	}
}
