package kernel

import (
	"fmt"

	"pawl"
	"pawl/internal/kernel/brief"
)

// recordsDue reports whether something has happened since the task's folder was last committed.
func (d *draft) recordsDue(l *Loop) bool {
	return d.s.Recipe.Records && l.Parent == 0 && l.unrecorded && l.HasWorkspace && l.Head != ""
}

// record commits the task's folder to the run's branch.
func (d *draft) record(l *Loop) {
	if len(l.open) == 0 {
		d.onWorktree(l, "records", pawl.CrashProbe, &pawl.WriteRecords{Branch: d.s.branch(l), From: l.Head, Time: d.at,
			Message: fmt.Sprintf("pawl %s: records of the task\n\n%s", d.s.Run, brief.Cut(d.s.Started.Title, 120))})
	}
}

// recorded records that the task's folder is in the branch.
func (l *Loop) recorded(b *pawl.Recorded) {
	l.unrecorded = false
	if b.Commit != l.Head {
		l.Head, l.worktreeBehind = b.Commit, true
		if l.cand != nil {
			n := *l.cand.Committed
			n.Commit = b.Commit
			l.cand.Committed = &n
		}
	}
}
