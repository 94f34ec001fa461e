package kernel

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
)

// prepareTries is how often it is requested that a commit is prepared that could not be.
const prepareTries = 2

// maxPreparations is of how many commits a loop remembers how they were prepared. What is
// forgotten is requested again, and was prepared already.
const maxPreparations = 16

// preparation is what is known of how a commit was prepared.
type preparation struct {
	commit   pawl.CommitHash
	key      string // of what was prepared; empty = it is not known yet
	failed   string // why the commands failed; empty = they did not
	said     string // what they printed of that
	evidence pawl.Hash
	tries    int
	why      *pawl.Failure // why the last try gave no result
}

// over reports whether it is known how it came out.
func (p *preparation) over() bool {
	return p != nil && (p.key != "" || p.why != nil && (p.tries >= prepareTries || p.why.Code == pawl.FailTimeout))
}

// preparationOf returns what the loop knows of a commit's preparation, or nil.
func (l *Loop) preparationOf(commit pawl.CommitHash) *preparation {
	for i := range l.preparations {
		if l.preparations[i].commit == commit {
			return &l.preparations[i]
		}
	}
	return nil
}

// prepared returns how a commit was prepared; nil = it is not known, and was requested. To
// furnish the worktree, it must be at the commit.
func (d *draft) prepared(l *Loop, commit pawl.CommitHash, furnish bool) *preparation {
	p := l.preparationOf(commit)
	if p.over() && (!furnish || p.key == "" || p.failed != "" || p.key == l.worktree.furnished) {
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
		d.request(l, pawl.Effect{Class: pawl.CrashRepeat, Place: place, Timeout: d.s.Settings.PrepareTime(),
			Do: &pawl.Prepare{Commit: commit, Furnish: furnish}})
	}
	return nil
}

// prepares reports whether the run has commands that prepare a commit.
func (s *State) prepares() bool { return len(s.Settings.Prepare) > 0 }

// offered returns the tools of a step that can be used in this run.
func (s *State) offered(tools []string) []string {
	if s.prepares() || !slices.Contains(tools, updateTool) {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(name string) bool { return name == updateTool })
}

// furnished reports whether the worktree has what was prepared for its head, as far as that
// was possible, and requests it otherwise.
func (d *draft) furnished(l *Loop) bool {
	if !d.s.prepares() || !l.HasWorkspace {
		return true
	}
	p := d.prepared(l, l.Head, true)
	return p != nil && !d.unprepared(p)
}

// unprepared ends the run if what it starts from could not be prepared, and reports whether it
// did: no candidate could be judged, and each would cost money. The goal may be to mend just
// that, which the user says by allowing it.
func (d *draft) unprepared(p *preparation) bool {
	if p.commit != d.s.Started.Base || p.key != "" && p.failed == "" || slices.Contains(d.s.Settings.AllowMissingGates, pawl.PrepareGate) {
		return false
	}
	const next = "; mend it and resume the run, or begin one with --allow-missing-gate " + pawl.PrepareGate
	d.stop(pawl.OutcomeRefused, brief.Cut(p.told(), maxStop-len(next))+next)
	return true
}

// reason returns why the commit could not be prepared.
func (p *preparation) reason() string {
	if p.failed != "" {
		return p.failed
	}
	return "the commit could not be prepared: " + p.why.Message
}

// told returns the reason and what the commands said. Two attempts that fail alike have the same
// reason, whatever is said.
func (p *preparation) told() string {
	if p.said == "" {
		return p.reason()
	}
	return p.reason() + ": " + p.said
}

// preparedFor returns the key of what was prepared for a gate's commit. It reports false if
// the gate has to wait for that, or has failed by it.
func (d *draft) preparedFor(l *Loop, spec *pawl.GateSpec, do *pawl.RunGate) (key string, ok bool) {
	if !d.s.prepares() {
		return "", true
	}
	p := d.prepared(l, do.Commit, false)
	switch {
	case p == nil:
		return "", false
	case p.key != "" && p.failed == "":
		return p.key, true
	case do.OnBase && d.unprepared(p):
		return "", false
	}
	b := &pawl.GateJudged{Gate: spec.Name, Kind: spec.Kind, Optional: spec.Optional, OnBase: do.OnBase, Verdict: pawl.VerdictFail,
		Partial: p.failed == "", Reason: brief.Cut(p.told(), 300), Error: brief.Fingerprint(p.reason()), Evidence: p.evidence}
	d.emit(l.Ref, b)
	return "", false
}

// asksToPrepare takes over that it is requested to prepare a commit.
func (l *Loop) asksToPrepare(commit pawl.CommitHash, furnish bool) {
	if furnish { // until that is answered nobody knows what is in the worktree
		l.worktree.furnished = ""
	}
	l.preparations = slices.Clone(l.preparations)
	p := l.preparationOf(commit)
	if p == nil {
		if len(l.preparations) == maxPreparations {
			l.preparations = slices.Delete(l.preparations, 0, 1)
		}
		l.preparations = append(l.preparations, preparation{commit: commit})
		p = &l.preparations[len(l.preparations)-1]
	}
	p.tries++
	p.why = nil
}

// prepared takes over how a commit was prepared.
func (l *Loop) prepared(do *pawl.Prepare, b *pawl.Prepared) error {
	if b.Key == "" {
		return fmt.Errorf("what was prepared has no key")
	}
	l.changePreparation(do.Commit, func(p *preparation) { p.key, p.failed, p.said, p.evidence = b.Key, b.Failed, b.Said, b.Evidence })
	if do.Furnish {
		l.worktree.calm()
	}
	if do.Furnish && b.Failed == "" {
		l.worktree.furnished = b.Key
	}
	return nil
}

// changePreparation changes what is known of how a commit was prepared, if anything is.
func (l *Loop) changePreparation(commit pawl.CommitHash, change func(*preparation)) {
	l.preparations = slices.Clone(l.preparations)
	if p := l.preparationOf(commit); p != nil {
		change(p)
	}
}
