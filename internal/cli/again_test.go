package cli_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/run"
	"pawl/internal/cli/tasks"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/start"
)

// recording is a service that remembers what it was asked to start, and starts a
// small run of that task. watching, when it is set, is called by who begins to watch.
type recording struct {
	pawl.Service
	asked    []pawl.RunSpec // as they were resolved
	starting bool
	watching func()
}

func (r *recording) Start(ctx context.Context, req pawl.StartRequest) (pawl.RunInfo, error) {
	r.starting = true
	defer func() { r.starting = false }()
	return r.Service.Start(ctx, req)
}

func (r *recording) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	if r.watching != nil {
		r.watching()
	}
	return r.Service.Watch(ctx, run, after)
}

// again is a project in which goals have been worked on, each to its end.
func again(t *testing.T, world driver.Performer, goals ...string) (*bed, *recording) {
	b := newBed(t, world)
	r := &recording{Service: b.engine}
	root := t.TempDir()
	b.app.Environ = append(b.app.Environ, "HOME="+root, "XDG_CONFIG_HOME="+root)
	b.app.Dir = root
	small := b.resolve
	b.resolve = func(ctx context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
		spec, err := start.Resolver{Root: root, Environ: b.app.Environ, Earlier: engine.Reader{Log: b.log}, Folders: func(ctx context.Context) ([]start.Folder, error) {
			if b.app.Folders == nil {
				return nil, nil
			}
			return b.app.Folders(ctx, project.Project{})
		}}.Resolve(ctx, req)
		if err != nil {
			return spec, err
		}
		if r.starting {
			r.asked = append(r.asked, spec)
		}
		of, err := small(ctx, req)
		of.Goal, of.Task, of.AllowPrepare, of.Notes = spec.Goal, spec.Task, spec.AllowPrepare, spec.Notes
		of.Settings.Prepare, of.Settings.PrepareFrom, of.Unsandboxed = spec.Settings.Prepare, spec.Settings.PrepareFrom, spec.Unsandboxed
		return of, err
	}
	b.app.Open = func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: r, Owner: true, Driven: b.engine.Driven, Project: project.Project{Repo: pawl.Repository{Root: root}},
			Close: func() error { return nil }}, nil
	}
	for _, goal := range goals {
		b.mustEnd(t, b.mustStart(t, goal))
	}
	return b, r
}

func (b *bed) runs(tb testing.TB) (out []string) {
	tb.Helper()
	runs, err := b.engine.Runs(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range runs {
		out = append(out, string(r.ID)+" "+cli.State(r))
	}
	return out
}

func (b *bed) mustRuns(tb testing.TB, want ...string) {
	tb.Helper()
	if got := b.runs(tb); strings.Join(got, ", ") != strings.Join(want, ", ") {
		tb.Errorf("the runs are %q, want %q", got, want)
	}
}

// failing is a world in which no attempt passes its gates.
func failing() *drivertest.World {
	return &drivertest.World{GateVerdict: func(int, string) pawl.Verdict { return pawl.VerdictFail }}
}

// V-18 V-19 V-23: a message that means a task goes on with it.
func TestContinueATask(t *testing.T) {
	t.Run("ThatEndedForGood", func(t *testing.T) {
		b, r := again(t, &drivertest.World{}, "Add a login page\n\nWith a password.", "Port the parser")
		if err := b.execute(t, run.New(b.app), "continue the login task: log out too", "--recipe", "pawl"); err != nil {
			t.Fatal(err)
		}
		b.mustRuns(t, "001-add-a-login-page complete", "002-port-the-parser complete", "001-add-a-login-page-r2 complete")
		req := r.asked[0]
		if req.Task != "001-add-a-login-page" || !strings.HasPrefix(req.Goal, "Add a login page\n\nWith a password.\n\n") || !strings.HasSuffix(req.Goal, "continue the login task: log out too") ||
			len(req.Criteria) != 0 { // it had none of its own
			t.Errorf("started %+v", req)
		}
		if err := b.execute(t, run.New(b.app), "resume 001-add-a-login-page", "--recipe", "pawl"); err != nil || strings.Count(r.asked[1].Goal, "The request was") != 1 {
			t.Errorf("%v: started %+v", err, r.asked[1])
		}
	})
	t.Run("ThatCanBeResumed", func(t *testing.T) {
		b, r := again(t, failing(), "Add a login page")
		err := b.execute(t, run.New(b.app), "keep working on the login page")
		if err != cli.Exit(12) || !strings.Contains(b.out.String(), "Task 001-add-a-login-page: run 001-add-a-login-page, which was blocked, continues") {
			t.Errorf("%v: %s", err, b.out.String())
		}
		b.mustRuns(t, "001-add-a-login-page blocked")
		err = b.execute(t, run.New(b.app), "resume 1", "--max-iterations", "33", "--model", "openai/gpt")
		if err != cli.Exit(12) || !strings.Contains(b.err.String(), "started with: --model has no effect on it") {
			t.Errorf("%v: %s", err, b.err.String())
		}
		if runs, err := b.engine.Runs(t.Context()); err != nil || runs[0].Max != 33 {
			t.Errorf("%v: %+v", err, runs)
		}
		if len(r.asked) > 0 {
			t.Errorf("started %+v", r.asked)
		}
	})
	t.Run("ThatIsAtWork", func(t *testing.T) {
		world := holdTools()
		b, r := again(t, world)
		b.mustStart(t, "Add a login page")
		<-world.begun
		r.watching = func() { close(world.letGo) }
		if err := b.execute(t, run.New(b.app), "resume #1"); err != nil || !strings.Contains(b.out.String(), "run 001-add-a-login-page is already active") {
			t.Errorf("%v: %s", err, b.out.String())
		}
		b.mustRuns(t, "001-add-a-login-page complete")
	})
	t.Run("OfWhichThereIsAFolder", func(t *testing.T) {
		b, r := again(t, &drivertest.World{})
		b.app.Folders = func(context.Context, project.Project) ([]start.Folder, error) {
			return []start.Folder{{Task: "007-auth-login", Status: "IN_PROGRESS", Goal: "Users sign in", Where: "HEAD",
				Criteria: []pawl.Criterion{{ID: "AC-001", Text: "wrong passwords are refused"}, {ID: "AC-002", Text: "there is a test"}},
				Tasks:    []pawl.TaskSpec{{ID: "1.1", Title: "Form", Done: true}, {ID: "1.2", Title: "Session", DependsOn: []string{"1.1"}}}}}, nil
		}
		if err := b.execute(t, run.New(b.app), "continue the auth task", "--recipe", "pandora"); err != nil {
			t.Fatal(err)
		}
		req := r.asked[0]
		var list []pawl.TaskSpec
		if err := json.Unmarshal(req.Tasks, &list); err != nil || len(list) != 2 || !list[0].Done || list[1].Done || req.Recipe.Name != "pandora" || len(req.Criteria) != 2 ||
			!strings.HasPrefix(req.Goal, "Users sign in\n") {
			t.Errorf("%v: started %+v", err, req)
		}
		b.mustRuns(t, "007-auth-login-r2 complete")
	})
	t.Run("WhosePlanCannotBeUsed", func(t *testing.T) {
		b, r := again(t, &drivertest.World{})
		b.app.Folders = func(context.Context, project.Project) ([]start.Folder, error) {
			return []start.Folder{{Task: "007-auth-login", Goal: "Users sign in", Where: "HEAD", Tasks: []pawl.TaskSpec{{ID: "1.1", Title: "Form", DependsOn: []string{"1.1"}}}}}, nil
		}
		if err := b.execute(t, run.New(b.app), "continue the auth task", "--recipe", "pandora", "--criteria", "it works"); err != nil {
			t.Fatal(err)
		}
		if req := r.asked[0]; req.Tasks != nil || len(req.Criteria) != 1 || !strings.Contains(b.out.String(), "a new one is made") {
			t.Errorf("started %+v\n%s", req, b.out.String())
		}
	})
}

// V-20 V-25: where it is not clear which task is meant, nothing is begun.
func TestUnclearTask(t *testing.T) {
	goals := []string{"Auth: a login page", "Auth: tokens are refreshed", "Port the parser"}
	for message, want := range map[string]int{"continue the auth task": 2, "resume the payments": 3, "continue": 3} {
		t.Run(message, func(t *testing.T) {
			b, r := again(t, &drivertest.World{}, goals...)
			err := b.execute(t, run.New(b.app), message)
			if code := b.app.Report(err); code != cli.ExitWhich || strings.Count(b.out.String(), "] Status: complete\n") != want || !strings.Contains(b.err.String(), "pawl run --new GOAL") {
				t.Errorf("exit code %d\n%s%s", code, b.out.String(), b.err.String())
			}
			b.app.JSON = true
			err = b.execute(t, run.New(b.app), message)
			var got struct {
				Outcome, Message string
				Tasks            []cli.KnownTask
			}
			if jerr := json.Unmarshal(b.out.Bytes(), &got); jerr != nil || b.app.Report(err) != cli.ExitWhich || len(got.Tasks) != want || got.Message != message || got.Outcome == "" {
				t.Errorf("%v, %v: %s", err, jerr, b.out.String())
			}
			if len(r.asked) > 0 {
				t.Errorf("started %+v", r.asked)
			}
		})
	}
	for name, test := range map[string]struct {
		in   string
		task string // of what is started
		goal string
		code int
	}{
		"Picked":         {"2\n", "002-auth-tokens-are-refreshed", "Auth: tokens are refreshed", 0},
		"PickedAtLast":   {"x\n0\n9\n\n1\n", "001-auth-a-login-page", "Auth: a login page", 0},
		"NewWork":        {"n\n", "", "continue the auth task", 0},
		"NewWorkInWords": {"add a logout button\n", "", "add a logout button", 0},
		"Left":           {"", "", "", cli.ExitWhich},
	} {
		t.Run(name, func(t *testing.T) {
			b, r := again(t, &drivertest.World{}, goals...)
			b.app.Terminal, b.app.Interactive, b.app.In = true, true, strings.NewReader(test.in)
			err := b.execute(t, run.New(b.app), "continue the auth task", "--recipe", "pawl")
			if code := b.app.Report(err); code != test.code || !strings.Contains(b.out.String(), "  2. [002-auth-tokens-are-refreshed] Status: complete  Auth: tokens are refreshed\n") {
				t.Errorf("exit code %d\n%s", code, b.out.String())
			}
			if test.code != 0 {
				if len(r.asked) > 0 {
					t.Errorf("started %+v", r.asked)
				}
				return
			}
			if len(r.asked) != 1 || r.asked[0].Task != test.task || !strings.HasPrefix(r.asked[0].Goal, test.goal) {
				t.Errorf("started %+v", r.asked)
			}
		})
	}
}

// V-21: without a task, or when the user says so, everything is new work.
func TestNewWork(t *testing.T) {
	b, r := again(t, &drivertest.World{})
	for _, args := range [][]string{{"continue the auth task"}, {"--new", "continue the auth task"}, {"Auth in a new way"}} {
		if err := b.execute(t, run.New(b.app), args...); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	if len(r.asked) != 3 || r.asked[0].Task+r.asked[1].Task+r.asked[2].Task != "" || r.asked[1].Goal != "continue the auth task" {
		t.Errorf("started %+v", r.asked)
	}
}

// A message that asks for the tasks lists them and starts nothing. V-24 F-76
func TestListTasksByMessage(t *testing.T) {
	b, r := again(t, failing(), "Add a login page")
	for _, message := range []string{"Show me all the tasks, please.", "list tasks"} {
		if err := b.execute(t, run.New(b.app), message); err != nil || b.out.String() != "[001-add-a-login-page] Status: blocked\n" || len(r.asked) != 0 {
			t.Errorf("%q: %v, started %+v, got\n%s", message, err, r.asked, b.out.String())
		}
	}
	if want := `as new work: pawl run --new "list tasks"`; !strings.Contains(b.err.String(), want) {
		t.Errorf("it says\n%swithout %s", b.err.String(), want)
	}
	_ = b.execute(t, run.New(b.app), "--new", "list tasks") // how it ends is not the point
	if len(r.asked) != 1 || r.asked[0].Goal != "list tasks" {
		t.Errorf("as new work it started %+v", r.asked)
	}
}

// V-24
func TestListTasks(t *testing.T) {
	b, _ := again(t, failing(), "Add a login page", "Port the \x1b[2Jparser")
	b.app.Folders = func(context.Context, project.Project) ([]start.Folder, error) {
		return []start.Folder{{Task: "001-add-a-login-page", Status: "COMPLETE", Goal: "other", Where: "HEAD"},
			{Task: "012-import", Status: "IN_PROGRESS", Goal: "Import customers\nfrom files", Where: "pawl/012-import", Problem: "plan.json cannot be read: x",
				Tasks: []pawl.TaskSpec{{ID: "1", Done: true}, {ID: "2"}}}}, nil
	}
	if err := b.execute(t, tasks.New(b.app, clock)); err != nil {
		t.Fatal(err)
	}
	want := "[001-add-a-login-page] Status: blocked\n[002-port-the-2jparser] Status: blocked\n[012-import] Status: IN_PROGRESS\n"
	if b.out.String() != want || !strings.Contains(b.err.String(), "task 012-import: plan.json cannot be read: x") {
		t.Errorf("got\n%s%s", b.out.String(), b.err.String())
	}
	b.app.JSON = true
	if err := b.execute(t, tasks.New(b.app, clock)); err != nil {
		t.Fatal(err)
	}
	var got []cli.KnownTask
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil || len(got) != 3 {
		t.Fatalf("%v: %s", err, b.out.String())
	}
	if k := got[0]; k.Run != "001-add-a-login-page" || k.Runs != 1 || k.Folder != "HEAD" || k.Branch != "pawl/001-add-a-login-page" || k.Title != "Add a login page" {
		t.Errorf("got %+v", k)
	}
	if k := got[2]; k.Run != "" || k.Runs != 0 || k.Folder != "pawl/012-import" || k.Title != "Import customers" || k.Tasks != 2 || k.Passed != 1 {
		t.Errorf("got %+v", k)
	}
	if got[1].Title != "Port the parser" {
		t.Errorf("the title is %q", got[1].Title)
	}
	b.app.JSON, b.app.Terminal = false, true
	if err := b.execute(t, tasks.New(b.app, clock)); err != nil || !strings.Contains(b.out.String(), "Status: blocked  Add a login page\n") {
		t.Errorf("%v: %s", err, b.out.String())
	}
}
