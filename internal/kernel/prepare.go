package kernel

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/exam"
	"pawl/internal/kernel/worktree"
)

// prepared returns how a commit was prepared, or nil if that is not known yet and has been
// requested. If furnish is set, what was prepared also goes into the worktree, which must be at the
// commit.
func (d *draft) prepared(l *Loop, commit pawl.CommitHash, furnish bool) *worktree.Preparation {
	return d.prepare(l, &pawl.Prepare{Commit: commit, Furnish: furnish})
}

// preparedTree returns how another tree was prepared for a gate, as [draft.prepared] does.
func (d *draft) preparedTree(l *Loop, r *exam.Run) *worktree.Preparation {
	return d.prepare(l, &pawl.Prepare{Commit: r.Commit, Fresh: r.Fresh})
}

func (d *draft) prepare(l *Loop, do *pawl.Prepare) *worktree.Preparation {
	commit, furnish := do.Commit, do.Furnish
	p := l.preparations.Of(commit)
	if p.Over() && (!furnish || p.Key == "" || p.Failed != "" || p.Key == l.worktree.Furnished) {
		return p
	}
	under := slices.ContainsFunc(l.open, func(f *pawl.Effect) bool {
		do, ok := f.Do.(*pawl.Prepare)
		return ok && do.Commit == commit
	})
	if !under {
		place := l.place("prepare")
		if commit == l.Base {
			place.Iteration = 0
		}
		d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: place, Timeout: d.s.Settings.PrepareTime(),
			Do: do})
	}
	return nil
}

// prepares reports whether the run has commands that prepare a commit.
func (s *State) prepares() bool { return len(s.Settings.Prepare) > 0 }

// offered returns those of a step's tools that this run can use.
func (s *State) offered(tools []string) []string {
	if s.prepares() || !slices.Contains(tools, updateTool) {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(name string) bool { return name == updateTool })
}

// furnish reports whether the worktree has what was prepared for its head, as far as that was
// possible. If it has not, furnish requests it.
func (d *draft) furnish(l *Loop) bool {
	if !d.s.prepares() || !l.HasWorkspace {
		return true
	}
	p := d.prepared(l, l.Head, true)
	return p != nil && !d.refuseUnprepared(p)
}

// refuseUnprepared ends the run if its base could not be prepared, and reports whether it did: no
// candidate could be judged, and each would cost money. The goal may be to mend the preparation
// itself; the user then allows the run with a flag.
func (d *draft) refuseUnprepared(p *worktree.Preparation) bool {
	if p.Commit != d.s.Started.Base || p.Ok() || slices.Contains(d.s.Settings.AllowMissingGates, pawl.PrepareGate) {
		return false
	}
	const next = "; fix it and resume the run, or start one with --allow-missing-gate " + pawl.PrepareGate
	d.stop(pawl.OutcomeRefused, brief.Cut(p.Told(), maxStop-len(next))+next)
	return true
}

// preparedFor returns the key of what was prepared for a gate's commit. It reports false if the
// gate has to wait for the preparation, or has failed because of it.
func (d *draft) preparedFor(l *Loop, spec *pawl.GateSpec, do *pawl.RunGate) (key string, ok bool) {
	if !d.s.prepares() {
		return "", true
	}
	p := d.prepared(l, do.Commit, false)
	switch {
	case p == nil:
		return "", false
	case p.Ok():
		return p.Key, true
	}
	if do.OnBase && d.refuseUnprepared(p) {
		return "", false
	}
	b := p.Verdict()
	b.Gate, b.Kind, b.Optional, b.OnBase = spec.Name, spec.Kind, spec.Optional, do.OnBase
	d.emit(l.Ref, &b)
	return "", false
}

// asksToPrepare records that the preparation of a commit was requested.
func (l *Loop) asksToPrepare(commit pawl.CommitHash, furnish bool) {
	if furnish { // until the answer comes, it is not known what is in the worktree
		l.worktree.Furnished = ""
	}
	l.preparations.Requested(commit)
}

// prepared records how a commit was prepared.
func (l *Loop) prepared(do *pawl.Prepare, b *pawl.Prepared) error {
	if b.Key == "" {
		return fmt.Errorf("what was prepared has no key")
	}
	l.preparations.Prepared(do.Commit, b)
	if do.Furnish {
		l.worktree.Calm()
	}
	if do.Furnish && b.Failed == "" {
		l.worktree.Furnished = b.Key
	}
	return nil
}
