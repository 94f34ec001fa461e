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
		return nil, pawl.Errorf(pawl.CodeInvalid, "there is no tool %q", do.Tool)
	}
	args, err := read(ctx, job, "the arguments", do.Args)
	if err != nil {
		return nil, err
	}
	if job.Again && t.Class() == pawl.CrashProbe {
		told, err := r.probe(ctx, job, do, t, args, a)
		if told != nil || err != nil {
			return told, err
		}
	}
	temp, err := r.Temp(job.Run)
	if err != nil {
		return nil, err
	}
	at, err := r.Spaces.Locate(ctx, job.Workspace)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", do.Tool, err)
	}
	var changes pawl.Dependencies
	if len(job.Settings.Prepare) > 0 && r.Updates != nil {
		changes = dependencies{r, job}
	}
	res, err := t.Call(ctx, pawl.ToolEnv{
		Dependencies: changes, Prepared: at.Furniture.Paths,
		Dir: at.Reach, Temp: temp, Owner: r.Rooms.Owner(), Progress: written(job), Redact: r.Redact,
		Room: func(ctx context.Context) (pawl.Room, error) {
			room, err := r.Rooms.Agent(ctx, pawl.AgentRoom{Run: job.Run, Name: job.Workspace, Tree: at.Dir, Prepared: at.Furniture.Key, Limits: job.Settings.Room})
			return discreet{room, r.Redact}, err
		},
	}, args)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", do.Tool, err)
	}
	if t.Class() == pawl.CrashRepeat {
		return returned(job, res, a), nil
	}
	// What a tool that can write left behind is recorded as a tree, so that recovery
	// can tell what happened since.
	var wrote []string
	if t.Class() == pawl.CrashProbe { // it changes nothing else
		wrote = res.Wrote
	}
	recording, err := r.Spaces.Tree(ctx, job.Workspace, wrote...)
	if err != nil {
		return nil, fmt.Errorf("record the worktree after %s: %w", do.Tool, err)
	}
	out := recorded(job, res, recording, a)
	out.Prepared = res.Prepared
	return out, nil
}

func returned(job driver.Job, res pawl.ToolResult, a *answer) *pawl.ToolReturned {
	out := &pawl.ToolReturned{Effect: job.Effect.ID, IsError: res.IsError, Met: res.Met}
	out.Output, out.Bytes = a.text(res.Text)
	return out
}
