package kernel

import (
	"fmt"
	"slices"

	"pawl"
)

// rebaseStep is the step of the effects that bring a loop onto its parent's head.
const rebaseStep = "rebase"

// onto returns the loop on whose head the children of p work: the nearest one upwards from p whose branch
// has work of its own. A parent that has none yet would only hide from them what has landed above it.
// Groups land as a whole, on the head of their parent.
func (s *State) onto(p *Loop) *Loop {
	for p.Parent != 0 && p.cand != nil && p.cand.Total == 0 && p.Phase == PhaseGates {
		up := s.Loop(p.Parent)
		if p.Kind.Children.Groups() || up.Kind.Children.Groups() {
			break
		}
		p = up
	}
	return p
}

// rebase brings a loop that is between two attempts onto the head that it works on, and reports whether it
// is there. Files that conflict get conflict markers, which the next attempt has to resolve. A file
// that cannot hold markers is taken from the parent, so that nothing that was merged is lost.
func (d *draft) rebase(l *Loop) bool {
	if l.Parent == 0 || l.Iteration == 0 {
		return true
	}
	p, m := d.s.onto(d.s.Loop(l.Parent)), l.upstream.rebase
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
		d.onWorktree(l, "conflict", pawl.CrashRepeat, &pawl.Merge{Ours: d.s.onto(d.s.Loop(l.Parent)).Head, Theirs: l.cand.Commit,
			Message: "pawl: probe", Time: d.at, Suspect: l.upstream.suspect})
	}
	return false
}

// maxProbed bounds the siblings that a candidate is compared with.
const maxProbed = 8

// probeSiblings compares a new candidate with those of others at work on what its parents stand on, so that
// both learn of a conflict before both are done.
func (d *draft) probeSiblings(l *Loop) {
	if l.Parent == 0 || l.cand == nil || l.cand.Probed || l.cand.Effect == 0 || l.wants(pawl.VerbProbeConflicts) {
		return
	}
	if d.s.Loop(l.Parent).Kind.Children.Land == pawl.LandBest { // only one of them lands
		return
	}
	do := &pawl.ProbeConflicts{Commit: l.cand.Commit}
	for _, o := range d.s.beside(l) {
		if o.cand != nil && o.cand.Total > 0 && len(do.Others) < maxProbed {
			do.Others = append(do.Others, pawl.Sibling{Loop: o.Ref, Task: o.task.ID, Commit: o.cand.Commit})
		}
	}
	if len(do.Others) > 0 {
		d.onWorktree(l, "probe", pawl.CrashRepeat, do)
	}
}

// beside returns the loops whose work and l's go into the same branch, the nearest first: its siblings, and
// where its parent has no work of its own, those of its parent with their children, and so on.
func (s *State) beside(l *Loop) (out []*Loop) {
	for end := s.onto(s.Loop(l.Parent)); l != end; l = s.Loop(l.Parent) {
		for _, ref := range s.Loop(l.Parent).gen.plan.Kids {
			if ref != l.Ref {
				out = append(out, s.Loop(ref))
				for _, b := range s.below(ref) {
					out = append(out, s.Loop(b))
				}
			}
		}
	}
	return out
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
