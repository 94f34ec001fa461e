package runner

import (
	"context"
	"fmt"

	"pawl"
	"pawl/internal/driver"
)

func (r *Runner) callTool(ctx context.Context, job driver.Job, do *pawl.CallTool, a *answer) (pawl.Answer, error) {
	t, ok := r.Tools.Lookup(do.Tool)
	if !ok {
		return nil, pawl.Errorf(pawl.CodeInvalid, "no tool %q", do.Tool)
	}
	args, err := job.Blob(ctx, do.Args)
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	if job.Again && t.Class() == pawl.CrashProbe {
		answer, err := r.probe(ctx, job, do, t, args, a)
		if answer != nil || err != nil {
			return answer, err
		}
	}
	temp, err := r.Temp(job.Run)
	if err != nil {
		return nil, err
	}
	res, err := t.Call(ctx, pawl.ToolEnv{
		Dir: r.Spaces.Dir(job.Workspace), Temp: temp, Sandbox: r.Sandbox,
		Progress: func(b []byte) { job.Live(string(b)) },
	}, args)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", do.Tool, err)
	}
	return r.returned(ctx, job, t, res, a)
}

// returned makes the fact of a call. What a tool that can write left behind is
// recorded as a tree, so that recovery can tell what happened since.
func (r *Runner) returned(ctx context.Context, job driver.Job, t pawl.Tool, res pawl.ToolResult, a *answer) (pawl.Answer, error) {
	out := &pawl.ToolReturned{Effect: job.Effect.ID, Output: a.text(res.Text), Bytes: int64(len(res.Text)), IsError: res.IsError}
	if t.Class() != pawl.CrashRepeat {
		tree, err := r.Spaces.Tree(ctx, job.Workspace)
		if err != nil {
			return nil, fmt.Errorf("record the worktree after %s: %w", t.Spec().Name, err)
		}
		out.Tree = tree
	}
	return out, nil
}

// probe tells what became of a write that was under way when a driver died. The
// worktree is as before the call: it is made now (no answer). It is as the call
// would leave it: it was made. Anything else is a conflict.
func (r *Runner) probe(ctx context.Context, job driver.Job, do *pawl.CallTool, t pawl.Tool, args []byte, a *answer) (pawl.Answer, error) {
	now, err := r.Spaces.Tree(ctx, job.Workspace)
	if err != nil {
		return nil, fmt.Errorf("look at the worktree: %w", err)
	}
	if now == do.Before {
		return nil, nil
	}
	if rep, ok := t.(pawl.Replayer); ok {
		var readErr error
		path, after, changes := rep.Effect(args, func(path string) []byte {
			data, err := r.Spaces.FileAt(ctx, do.Before, path)
			if err != nil {
				readErr = err
			}
			return data
		})
		if readErr != nil {
			return nil, fmt.Errorf("look at the worktree: %w", readErr)
		}
		if changes {
			want, err := r.Spaces.WithFile(ctx, do.Before, path, after)
			if err != nil {
				return nil, fmt.Errorf("look at the worktree: %w", err)
			}
			if now == want {
				return r.returned(ctx, job, t, pawl.ToolResult{Text: fmt.Sprintf("%s: done (%d bytes)", path, len(after))}, a)
			}
		}
	}
	text := "the worktree is not as this call found it"
	return &pawl.ToolReturned{Effect: job.Effect.ID, Output: a.text(text), Bytes: int64(len(text)), IsError: true, Conflict: true, Tree: now}, nil
}
