package rm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
)

// project is one whose runs are deleted as it is told.
type project struct {
	pawl.Service
	runs    []pawl.RunInfo
	stones  []pawl.Tombstone
	asked   []string
	request pawl.DeleteRequest
	answer  pawl.Deletion
	refuse  map[pawl.RunID]error
}

func (p *project) Runs(context.Context) ([]pawl.RunInfo, error) { return p.runs, nil }

func (p *project) DeleteRun(_ context.Context, run pawl.RunID, req pawl.DeleteRequest) (pawl.Deletion, error) {
	p.asked = append(p.asked, string(run))
	p.request = req
	d := p.answer
	d.Run = run
	return d, p.refuse[run]
}

func (p *project) DeletedRuns(context.Context) ([]pawl.Tombstone, error) { return p.stones, nil }
func (p *project) Garbage(context.Context) (pawl.Garbage, error)         { return pawl.Garbage{}, nil }
func (p *project) CollectGarbage(context.Context) (pawl.Garbage, error)  { return pawl.Garbage{}, nil }

var day = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func newProject() *project {
	return &project{
		runs: []pawl.RunInfo{{ID: "001-add-login", Task: 1, Started: day}, {ID: "002-fix", Task: 2, Started: day.Add(time.Hour)},
			{ID: "001-add-login-r2", Task: 1, Started: day.Add(2 * time.Hour)}},
		stones: []pawl.Tombstone{{Run: pawl.RunInfo{ID: "003-gone", Task: 3, Started: day}, Deleted: day}},
		answer: pawl.Deletion{Deleted: day, Until: day.Add(pawl.KeepDeleted), Branches: []pawl.DeletedBranch{}, Worktrees: []string{}, Kept: []string{}},
		refuse: map[pawl.RunID]error{},
	}
}

func (p *project) run(t *testing.T, asJSON bool, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	p.asked = nil
	app := &cli.App{Out: &out, Err: &out, JSON: asJSON, Environ: []string{"USER=ada"}, Open: func(_ context.Context, a cli.Access) (*cli.Session, error) {
		if a != cli.Steer {
			t.Error("it only reads")
		}
		return &cli.Session{Service: p, Close: func() error { return nil }}, nil
	}}
	c := New(app)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// F-31
func TestRm(t *testing.T) {
	p := newProject()
	for _, test := range []struct{ args, want string }{
		{"2", "002-fix"},
		{"001-add-login", "001-add-login"},
		{"001-add-login 001-add-login-r2 2 001-add-login", "001-add-login-r2 002-fix 001-add-login"}, // the newest first, each once
		{"003-gone", "003-gone"},
	} {
		if _, err := p.run(t, false, strings.Fields(test.args)...); err != nil || strings.Join(p.asked, " ") != test.want {
			t.Errorf("rm %s deletes %v, %v", test.args, p.asked, err)
		}
	}
	if _, err := p.run(t, false, "2", "--now", "--force"); err != nil || p.request != (pawl.DeleteRequest{Now: true, Force: true, By: "ada"}) {
		t.Errorf("%+v, %v", p.request, err)
	}
	// One that there is not keeps all from being deleted.
	for _, name := range []string{"9", "003", "002-fixes", "001-", "1", "002-f", "001-add-login-"} {
		_, err := p.run(t, false, "2", name)
		if err == nil || len(p.asked) > 0 {
			t.Errorf("rm 2 %s deletes %v, %v", name, p.asked, err)
		}
	}
	_, err := p.run(t, false, "003")
	if e, ok := errors.AsType[*pawl.Error](err); !ok || !strings.Contains(e.Hint, "run 003-gone was deleted on 2026-11-26") {
		t.Errorf("%v", err)
	}
	// What was done before a refusal is told.
	p.refuse["002-fix"] = pawl.Errorf(pawl.CodeState, "it is busy")
	out, err := p.run(t, false, "001-add-login-r2", "2", "001-add-login")
	if pawl.CodeOf(err) != pawl.CodeState || !strings.Contains(out, "Run 001-add-login-r2 is deleted") || slices.Contains(p.asked, "001-add-login") {
		t.Errorf("%v, %v: %s", err, p.asked, out)
	}
	out, err = p.run(t, true, "001-add-login-r2", "2")
	var done []pawl.Deletion
	if jerr := json.Unmarshal([]byte(out), &done); jerr != nil || err == nil || len(done) != 1 || done[0].Run != "001-add-login-r2" {
		t.Errorf("%v, %v: %s", err, jerr, out)
	}
}

func TestReport(t *testing.T) {
	p := newProject()
	p.answer = pawl.Deletion{Deleted: day, Until: day.Add(pawl.KeepDeleted), Refs: 1, Worktrees: []string{"a", "b"}, Kept: []string{"x", "y"},
		Branches: []pawl.DeletedBranch{{Name: "pawl/002-fix", Head: "0123456789abcdef"}, {Name: "pawl/002-fix--1-a\x1b[2J", Head: "1"}, {Name: "c"}, {Name: "d"}},
		Foreign:  []pawl.ForeignCommit{{Commit: "fedcba9876543210", Subject: "Mine\x07"}}}
	out, err := p.run(t, false, "2")
	want := `Run 002-fix is deleted, with branch pawl/002-fix at 0123456789, branch pawl/002-fix--1-a at 1, branch c at , 1 more branch, 2 worktrees, 1 ref.
  1 commit that the run did not make went with it: fedcba9876 Mine
  Kept until 2026-12-10: its log, and 2 refs below refs/pawl/salvage/002-fix/. To remove that too: pawl rm 002-fix --now
`
	if err != nil || out != want {
		t.Errorf("%v, got\n%swant\n%s", err, out, want)
	}
	p.answer = pawl.Deletion{Deleted: day}
	if out, _ = p.run(t, false, "2", "--now"); out != "Run 002-fix is deleted.\n  Nothing is kept.\n" {
		t.Errorf("got %s", out)
	}
}
