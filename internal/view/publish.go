package view

import (
	"cmp"
	"fmt"

	"pawl"
)

// applyPublish folds what becomes of the run's branch, where attempts are made elsewhere; f is the
// effect that the event answers, or nil.
func (r *Run) applyPublish(l *Loop, e pawl.Event, f *pawl.Effect) {
	switch b := e.Body.(type) {
	case *pawl.WorkspaceOpened:
		r.result = cmp.Or(b.Result, r.result)
	case *pawl.Published:
		r.result = b.Commit
		if do, ok := doOf[*pawl.Publish](f); ok && do.From != b.Commit {
			r.moved = mark(e, "%scommit %s on %s: %s", r.lead(l), short(b.Commit), do.Branch, do.Title)
		}
	}
}

func (t teller) tellPublish() string {
	b, ok := t.e.Body.(*pawl.Published)
	if !ok {
		return ""
	}
	do, ok := doOf[*pawl.Publish](t.r.closed)
	switch {
	case !ok || t.r.closed.ID != b.Effect:
		return "the run's branch is at " + short(b.Commit)
	case do.From == b.Commit:
		return fmt.Sprintf("nothing new for %s, which is at %s", do.Branch, short(b.Commit))
	}
	return fmt.Sprintf("Commit %s on %s: %s", short(b.Commit), do.Branch, do.Title)
}

// BranchHead returns the head of the run's branch as far as is known; empty = there is none yet.
func (r *Run) BranchHead() pawl.CommitHash {
	if r.Start.Attempts == "" {
		return r.Head
	}
	return r.result
}

// hasCommits reports whether the run has committed anything on the branch or ref it uses that its base does not have.
func (r *Run) hasCommits() bool {
	return r.Head != "" && r.Head != r.Start.Base && !r.changedNothing()
}

// changedNothing reports whether a run without tasks ended well with an attempt that has its base's files.
func (r *Run) changedNothing() bool {
	l := r.root()
	if !r.Outcome.Succeeded() || !l.isAlone() {
		return false
	}
	it := l.lastEnded()
	return it != nil && it.Commit != nil && it.Commit.Total == 0
}

// hasLanded reports whether the run's branch has all of the work. Otherwise some of it is on the
// ref of the attempts alone.
func (r *Run) hasLanded() bool {
	return r.Start.Attempts == "" || r.Outcome.Succeeded()
}
