package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/egress"
	"pawl/internal/engine"
	"pawl/internal/gate/command"
	"pawl/internal/prompt"
	"pawl/internal/room"
	"pawl/internal/runner"
	"pawl/internal/sandbox"
	"pawl/internal/store/sqlite"
	"pawl/internal/tool"
	"pawl/internal/tool/submit"
	"pawl/internal/workspace/gitworktree"
)

// Iteration is what the harness itself costs in one iteration, with a model that
// answers at once and no gates: the prompt, three model calls, a read, two
// writes, the record of the worktree after each, the commit, all of it durable.
type Iteration struct {
	Files int `json:"files"` // in the repository
	Runs  int `json:"runs"`
	// Open is making the worktree, which happens once in a run, not in each iteration.
	Open     time.Duration `json:"open_median"`
	Overhead time.Duration `json:"overhead_median"`
	P10      time.Duration `json:"overhead_p10"`
	P90      time.Duration `json:"overhead_p90"`
	Min, Max time.Duration
	// Recordings says how the worktrees were recorded.
	Recordings gitworktree.Recordings `json:"recordings"`
}

// MeasureIteration starts runs one after the other on a repository of its own.
func MeasureIteration(ctx context.Context, dir string, files, runs int) (Iteration, error) {
	dir, err := os.MkdirTemp(dir, "iteration-")
	if err != nil {
		return Iteration{}, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	repo := filepath.Join(dir, "repo")
	if err := layRepository(ctx, repo, files, 0); err != nil {
		return Iteration{}, err
	}
	var spaces *gitworktree.Workspaces
	e, closeAll, err := newEngine(ctx, sandbox.Unconfined(), repo, filepath.Join(dir, "state"), prompter{}, oneAttempt(),
		func(r *runner.Runner) { spaces, _ = r.Spaces.(*gitworktree.Workspaces) })
	if err != nil {
		return Iteration{}, err
	}
	defer closeAll()
	out := Iteration{Files: files, Runs: runs}
	var opens, overheads []time.Duration
	for range runs {
		open, over, err := oneIteration(ctx, e)
		if err != nil {
			return out, err
		}
		opens, overheads = append(opens, open), append(overheads, over)
	}
	over := percentiles(overheads) // which sorts them
	out.Open, out.Overhead = percentiles(opens).Median, over.Median
	out.Recordings = spaces.Recordings()
	out.P10, out.P90, out.Min, out.Max = over.P10, over.P90, overheads[0], overheads[runs-1]
	return out, nil
}

// oneAttempt is a run whose first attempt ends it.
func oneAttempt() pawl.RunSpec {
	m := pawl.ModelChoice{Provider: "bench", Name: "bench", MaxOutput: 4000}
	return pawl.RunSpec{
		Recipe: pawl.Recipe{Name: "bench", Start: "task", Kinds: []pawl.LoopKind{{
			Name: "task", Steps: []pawl.Step{{Name: "implement", Role: "implementation", Prompt: "p.md",
				Tools: []string{"read", "write", "edit"}, Output: "result"}}, Iterations: 1,
		}}},
		Prompts: map[string]string{"p.md": "Work.\n---user---\n{{.Goal}}\n"}, Unsandboxed: true,
		Settings: pawl.Settings{Limits: pawl.DefaultLimits, Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, OutputFloor: 100},
	}
}

// oneIteration runs a task whose first attempt ends it, and measures from the
// event that starts the iteration to the one that ends it.
func oneIteration(ctx context.Context, e *engine.Engine) (open, over time.Duration, err error) {
	info, err := e.Start(ctx, pawl.StartRequest{Goal: "bench"})
	if err != nil {
		return 0, 0, err
	}
	var requested, opened, began, ended time.Time
	for u, err := range e.Watch(ctx, info.ID, 0) {
		if err != nil {
			return 0, 0, err
		}
		if u.Event == nil {
			continue
		}
		switch b := u.Event.Body.(type) {
		case *pawl.LoopStarted:
			requested = u.Event.Time
		case *pawl.WorkspaceOpened:
			opened = u.Event.Time
		case *pawl.IterationStarted:
			began = u.Event.Time
		case *pawl.IterationEnded:
			ended = u.Event.Time
		case *pawl.RunEnded:
			if b.Outcome != pawl.OutcomeUnverified {
				return 0, 0, fmt.Errorf("the bench's run ended %s: %s", b.Outcome, b.Reason)
			}
		}
	}
	return opened.Sub(requested), ended.Sub(began), nil
}

// layRepository makes a repository of the given number of files, each of at least the given
// number of bytes.
func layRepository(ctx context.Context, dir string, files, least int) error {
	for i := range files {
		name := filepath.Join(dir, fmt.Sprintf("pkg%03d", i/50), fmt.Sprintf("file%02d.txt", i%50))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("make the repository: %w", err)
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "file %d\n%s\n", i, strings.Repeat(text(), least/len(text())+1)), 0o644); err != nil {
			return fmt.Errorf("make the repository: %w", err)
		}
	}
	return commitAll(ctx, dir)
}

// commitAll makes a repository of a folder with one commit.
func commitAll(ctx context.Context, dir string) error {
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A", "-f", "."},
		{"-c", "user.name=Bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "first"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// newEngine joins the real parts, with a model of ours. Every run is of the spec, with a goal of its own; box
// confines commands, and with changes how effects are performed.
func newEngine(ctx context.Context, box *sandbox.Box, repo, state string, model pawl.Model, spec pawl.RunSpec, with ...func(*runner.Runner)) (*engine.Engine, func(), error) {
	found, err := gitworktree.Inspect(ctx, nil, repo)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the state folder: %w", err)
	}
	var rooms *room.Rooms
	opts := gitworktree.Options{Repository: found, State: state}
	if box.Confined() {
		opts.Owner, opts.Trees = box.Owner, func() pawl.Trees { return rooms }
	}
	spaces, err := gitworktree.New(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	log, err := sqlite.Open(state)
	if err != nil {
		return nil, nil, err
	}
	rooms = room.New(room.Options{
		State: state, Enforcer: box, Visible: spaces.Visible,
		Host: func(context.Context) room.Host { return room.NewHost(os.Environ(), "") },
		Proxy: func(_ context.Context, out room.WayOut) (room.Proxy, error) {
			return egress.New(egress.Options{Rules: out.Rules, Gateway: out.Gateway, Refused: out.Refused})
		},
	})
	performer := &runner.Runner{
		Model: func(context.Context, driver.Job, pawl.ModelChoice) (pawl.Model, error) { return model, nil },
		Tools: tool.New(tool.Builtin()...), Submits: submit.Results{}, Prompts: &prompt.Assembler{Diff: spaces.Diff},
		Gate: command.New(), Spaces: spaces, Rooms: rooms,
		Temp: func(pawl.RunID) (string, error) { return state, nil },
	}
	for _, change := range with {
		change(performer)
	}
	e := engine.New(engine.Config{
		Log: log, Sandbox: box, Version: "bench",
		Resolve: func(_ context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
			spec := spec
			spec.Goal = req.Goal
			return spec, nil
		},
		Inspect:   func(context.Context, string) (pawl.Repository, error) { return found, nil },
		Numbers:   spaces.Numbers,
		Performer: performer,
	})
	return e, func() { e.Close(); spaces.Rest(); _ = rooms.Close(); _ = log.Close() }, nil
}

// prompter is a model that answers at once: it reads a file, writes one, edits
// it, and is done.
type prompter struct{}

func (prompter) Call(_ context.Context, req pawl.ModelRequest, _ func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	use := func(name, args string) pawl.Block {
		return pawl.Block{Kind: pawl.BlockToolUse, CallID: fmt.Sprint(name, req.Place.Turn), Tool: name, Args: []byte(args)}
	}
	var blocks []pawl.Block
	switch req.Place.Turn {
	case 1:
		blocks = []pawl.Block{use("read", `{"path":"pkg000/file00.txt"}`), use("write", fmt.Sprintf(`{"path":"new.txt","content":"of run %s\n"}`, req.Place.Run))}
	case 2:
		blocks = []pawl.Block{use("edit", `{"path":"new.txt","old":"of","new":"by"}`)}
	default:
		blocks = []pawl.Block{use("submit_result", `{"summary":"done"}`)}
	}
	return pawl.ModelReply{Message: pawl.Message{Role: pawl.RoleAssistant, Blocks: blocks}, Stop: pawl.StopToolUse, Model: "bench"}, nil
}
