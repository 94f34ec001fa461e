package runner

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// The two sides of a merge, as conflict markers name them.
const (
	parentSide = "the parent's branch"
	taskSide   = "this task"
)

// maxProbed is how many bytes of conflicts a probe tells of.
const maxProbed = 24_000

// merge makes a merge commit, and looks whether an earlier conflict was resolved.
func (r *Runner) merge(ctx context.Context, job driver.Job, do *pawl.Merge, a *answer) (pawl.Answer, error) {
	out := &pawl.Merged{Effect: job.Effect.ID}
	if do.Suspect != (pawl.Hash{}) {
		lines, err := read(ctx, job, "the paths of the last conflict", do.Suspect)
		if err != nil {
			return nil, err
		}
		marked, err := r.Spaces.Marked(ctx, do.Theirs, linePaths(string(lines)))
		if err != nil {
			return nil, err
		}
		out.Unresolved = len(marked)
	}
	info, err := r.Spaces.Merge(ctx, pawl.MergeSpec{
		Ours: do.Ours, Theirs: do.Theirs, OursLabel: parentSide, TheirsLabel: taskSide, Message: do.Message, Time: do.Time,
	})
	if err != nil {
		return nil, err
	}
	out.Commit, out.Tree, out.Conflicts = info.Commit, info.Tree, len(info.Conflicts)
	out.Changes = info.Changes
	out.Hunks, _ = a.text(info.Hunks)
	out.Paths, _ = a.text(pathLines(info.Conflicts))
	return out, nil
}

// probeConflicts merges a commit with each of its siblings' for the sake of what
// conflicts. The commits that this makes are on no branch.
func (r *Runner) probeConflicts(ctx context.Context, job driver.Job, do *pawl.ProbeConflicts, a *answer) (pawl.Answer, error) {
	out := &pawl.ConflictsProbed{Effect: job.Effect.ID}
	var told []string
	for _, other := range do.Others {
		name := "task " + strconv.Quote(other.Task)
		info, err := r.Spaces.Merge(ctx, pawl.MergeSpec{
			Ours: other.Commit, Theirs: do.Commit, OursLabel: name, TheirsLabel: taskSide,
			Message: "Probe for conflicts", Time: time.Unix(0, 0),
		})
		if err != nil {
			return nil, fmt.Errorf("compare with %s: %w", name, err)
		}
		if len(info.Conflicts) > 0 {
			out.With = append(out.With, other.Loop)
			told = append(told, fmt.Sprintf("%s, files in conflict: %d\n\n%s", name, len(info.Conflicts), info.Hunks))
		}
	}
	out.Hunks, _ = a.text(share(told, maxProbed))
	return out, nil
}

// share joins texts, each cut behind a line so that all of them together have
// at most so many bytes. What one does not need is left to those behind it.
func share(texts []string, room int) string {
	const more = "(there is more)\n"
	var b strings.Builder
	for i, text := range texts {
		mine := (room - b.Len()) / (len(texts) - i)
		if len(text) > mine {
			text = text[:max(0, mine-len(more))]
			text = text[:strings.LastIndexByte(text, '\n')+1] + more
		}
		b.WriteString(text)
	}
	return b.String()
}
