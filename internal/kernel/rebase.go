package kernel

import (
	"fmt"
	"slices"

	"pawl"
)

// rebaseStep is the step of the effects that bring a loop onto its parent's head.
const rebaseStep = "rebase"

// rebase brings a loop that is between two attempts onto its parent's head, and reports whether it
// is there. Files that conflict get conflict markers, which the next attempt has to resolve. A file
// that cannot hold markers is taken from the parent, so that nothing that was merged is lost.
func (d *draft) rebase(l *Loop) bool {
	if l.Parent == 0 || l.Iteration == 0 {
		return true
	}
	p, m := d.s.Loop(l.Parent), l.upstream.rebase
	switch {
	case l.Base == p.Head && m == nil, !l.upstream.suspect.IsZero() && m == nil: // the last conflict is resolved first
		return true
	case len(l.open) > 0:
	case m == nil || m.Made == nil:
		d.onWorktree(l, rebaseStep, pawl.CrashRepeat, &pawl.Merge{Ours: p.Head, Theirs: l.Head,
			Message: fmt.Sprintf("pawl %s: %s on the work of others", d.s.Run, l.task.ID), Time: d.at})
	default:
		d.onWorktree(l, rebaseStep, pawl.CrashProbe, &pawl.ResetWorkspace{Commit: m.Made.Commit, Salvage: d.salvage("rebase")})
	}
	return false
}

// findMarkers has a candidate searched for conflict markers that a rebase left, and reports whether
// that was done or is not needed.
func (d *draft) findMarkers(l *Loop) bool {
	switch {
	case l.upstream.suspect.IsZero() || l.cand.Checked:
		return true
	case len(l.open) == 0:
		d.onWorktree(l, "conflict", pawl.CrashRepeat, &pawl.Merge{Ours: d.s.Loop(l.Parent).Head, Theirs: l.cand.Commit,
			Message: "pawl: probe", Time: d.at, Suspect: l.upstream.suspect})
	}
	return false
}

// maxProbed bounds the siblings that a candidate is compared with.
const maxProbed = 8

// probeSiblings compares a new candidate with those of siblings at work, so that both learn of a
// conflict before both are done.
func (d *draft) probeSiblings(l *Loop) {
	if l.Parent == 0 || l.cand == nil || l.cand.Probed || l.cand.Effect == 0 || l.wants(pawl.VerbProbeConflicts) {
		return
	}
	if d.s.Loop(l.Parent).Kind.Children.Land == pawl.LandBest { // only one of them lands
		return
	}
	do := &pawl.ProbeConflicts{Commit: l.cand.Commit}
	for _, ref := range d.s.Loop(l.Parent).gen.plan.Kids {
		o := d.s.Loop(ref)
		if ref != l.Ref && o.cand != nil && o.cand.Total > 0 && len(do.Others) < maxProbed {
			do.Others = append(do.Others, pawl.Sibling{Loop: ref, Task: o.task.ID, Commit: o.cand.Commit})
		}
	}
	if len(do.Others) > 0 {
		d.onWorktree(l, "probe", pawl.CrashRepeat, do)
	}
}

// wants reports whether the loop has an open effect of this kind.
func (l *Loop) wants(v pawl.Verb) bool {
	return slices.ContainsFunc(l.open, func(f *pawl.Effect) bool { return f.Do.Verb() == v })
}

// rebased records that the worktree is on the parent's head.
func (l *Loop) rebased() {
	m := l.upstream.rebase
	l.Base, l.upstream.rebase, l.upstream.probe = m.Onto, nil, pawl.Hash{}
	if m.Made.Conflicts > 0 {
		l.markConflict(m.Made)
	}
}

// markConflict records that the worktree has conflict markers, which the next attempt has to
// resolve.
func (l *Loop) markConflict(m *pawl.Merged) { l.upstream.hunks, l.upstream.suspect = m.Hunks, m.Paths }
