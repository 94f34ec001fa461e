package view

import (
	"fmt"
	"slices"

	"pawl"
)

// saved says where uncommitted work is kept.
func saved(ref string) string {
	if ref == "" {
		return ""
	}
	return ", what it held is saved in " + ref
}

// leftOut says how many files a recording left out, and by which limits.
func leftOut(limits []pawl.LimitMet) string {
	var s string
	for _, m := range limits {
		s += fmt.Sprintf(", %s left out: ", count(m.Files, "file"))
		switch m.Limit {
		case pawl.LimitGitName:
			s += "git refuses the name"
		case pawl.LimitGitContent:
			s += "git cannot store the content"
		case pawl.LimitFile:
			s += "more than " + count(int(m.Max), "byte")
		case pawl.LimitNewFiles:
			s += "more than " + count(int(m.Max), "new file")
		case pawl.LimitNewBytes:
			s += "more than " + count(int(m.Max), "byte") + " of new content"
		default:
			s += "limit " + string(m.Limit)
		}
		if setting := m.Limit.Setting(); setting != "" {
			s += " (" + setting + ")"
		}
	}
	return s
}

// applyWorkspace folds the events of worktrees and of what is committed; f is the effect that the
// event answers, or nil.
func (r *Run) applyWorkspace(l *Loop, e pawl.Event, f *pawl.Effect) {
	switch b := e.Body.(type) {
	case *pawl.WorkspaceOpened:
		if r.Head == "" && l.Branch == "" {
			r.Head = b.Head
		}
		if b.Note != "" && !slices.Contains(r.Notes, b.Note) {
			r.Notes = append(r.Notes, b.Note)
		}
	case *pawl.Committed:
		if l.Branch == "" || l.Branch == r.Start.WorkRef() {
			r.Head = b.Commit
		}
		if it := l.last(); it != nil {
			it.Commit, it.Files = b, max(it.Files, b.Files)
		}
		if b.Files > 0 {
			r.moved = mark(e, "%scommit %s changed %s", r.lead(l), short(b.Commit), count(b.Files, "file"))
		}
	case *pawl.Recorded:
		if do, ok := doOf[*pawl.WriteRecords](f); ok && do.Branch == r.Start.WorkRef() {
			r.Head = b.Commit
		}
	}
}

func (t teller) tellWorkspace() string {
	switch b := t.e.Body.(type) {
	case *pawl.WorkspaceOpened:
		s := fmt.Sprintf("worktree open at %s%s", short(b.Head), saved(b.Salvage))
		if b.Note != "" {
			s += " · " + b.Note
		}
		return s
	case *pawl.WorkspaceInspected:
		return "looked at the worktree"
	case *pawl.WorkspaceReset:
		if do, ok := doOf[*pawl.ResetWorkspace](t.r.closed); ok && do.Detached {
			return fmt.Sprintf("worktree shows %s%s", short(do.Commit), saved(b.Salvage))
		}
		return fmt.Sprintf("worktree reset to %s%s", short(b.Head), saved(b.Salvage))
	case *pawl.WorkspaceClosed:
		return "worktree closed" + saved(b.Salvage)
	case *pawl.Committed:
		return fmt.Sprintf("Commit %s: %s changed, %s against the base%s", short(b.Commit), count(b.Files, "file"), count(b.Total, "file"), leftOut(b.LeftOut))
	case *pawl.Recorded:
		if do, ok := doOf[*pawl.WriteRecords](t.r.closed); ok && t.r.closed.ID == b.Effect && do.From == b.Commit {
			return "the task's records are as they were"
		}
		return "the task's records are committed: " + short(b.Commit)
	}
	return ""
}

func (k *Look) lookWorkspace(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.WorkspaceOpened:
		if b.Note == "" {
			k.Level = Normal
		}
	case *pawl.WorkspaceReset:
		if b.Salvage == "" {
			k.Level = Normal
		}
	case *pawl.WorkspaceInspected, *pawl.WorkspaceClosed:
		k.Level = Detail
	case *pawl.Recorded:
		k.Level = Normal
	}
}
