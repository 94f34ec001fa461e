package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/driver"
)

// probe tells what became of a write that was under way when a driver died.
//
//   - The worktree is as before the call: it is made now (no answer).
//   - It is as the call would leave it: it was made.
//   - It is anything else: a conflict, after which the worktree is restored.
//   - The call changes a file that no tree records, because .gitignore names it.
//     Writing such a file once more does no harm, so it is written. An edit may
//     have been made, and made twice it could spoil the file: the model is told
//     that the call was interrupted, and looks for itself.
func (r *Runner) probe(ctx context.Context, job driver.Job, do *pawl.CallTool, t pawl.Tool, args []byte, a *answer) (pawl.Answer, error) {
	recording, err := r.Spaces.Tree(ctx, job.Workspace)
	if err != nil {
		return nil, fmt.Errorf("look at the worktree: %w", err)
	}
	now := recording.Tree
	change, err := r.replay(ctx, do.Before, t, args)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look at the worktree: %w", err)
	case now == do.Before && change.wants != "" && r.holds(ctx, job.Workspace, change.wants):
		return &pawl.ToolReturned{Effect: job.Effect.ID, IsError: true, Interrupted: true, Tree: now}, nil
	case now == do.Before:
		return nil, nil
	case now == change.tree:
		return recorded(job, pawl.ToolResult{Text: fmt.Sprintf("%s: done, %d bytes", change.path, change.size)}, recording, a), nil
	}
	out := returned(job, pawl.ToolResult{Text: "the worktree is not as this call found it", IsError: true}, a)
	out.Tree, out.Conflict = now, true
	return out, nil
}

// change is what a call would have changed.
type change struct {
	path  string
	size  int
	tree  pawl.TreeHash // the tree afterwards; empty when the call would change none
	wants string        // a file the call needs that the tree does not have
}

// replay finds out what a call would have changed in a recorded tree.
func (r *Runner) replay(ctx context.Context, before pawl.TreeHash, t pawl.Tool, args []byte) (change, error) {
	rep, ok := t.(pawl.Replayer)
	if !ok {
		return change{}, nil
	}
	var c change
	var failed error
	path, after, changes := rep.Effect(args, func(path string) []byte {
		data, err := r.Spaces.FileAt(ctx, before, path)
		switch {
		case pawl.CodeOf(err) == pawl.CodeInvalid: // no file is in its place: the tool refuses
		case err != nil:
			failed = err
		case data == nil:
			c.wants = path
		}
		return data
	})
	if failed != nil || !changes {
		return c, failed
	}
	tree, err := r.Spaces.WithFile(ctx, before, path, after)
	switch {
	case pawl.CodeOf(err) == pawl.CodeInvalid: // no file can be in this place
		return c, nil
	case err != nil:
		return c, err
	}
	c.path, c.size, c.tree = path, len(after), tree
	return c, nil
}

// holds reports whether there is something at a path of a worktree, which the
// tool that named it keeps within.
func (r *Runner) holds(ctx context.Context, workspace, path string) bool {
	if !filepath.IsLocal(path) {
		return false
	}
	at, err := r.Spaces.Locate(ctx, workspace)
	if err == nil {
		_, err = os.Lstat(filepath.Join(at.Reach, path))
	}
	return err == nil
}
