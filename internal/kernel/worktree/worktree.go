// Package worktree holds what is recorded of a loop's worktree, and what is known to be wrong
// with it. A worktree is trusted only as far as it is recorded.
package worktree

import (
	"fmt"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// State is what is recorded of a worktree. Its zero value is one that was just opened, and of
// which nothing is known.
type State struct {
	Tree    pawl.TreeHash // what it holds
	Dirty   bool          // that is not known to be its commit's tree
	Unsure  bool          // a call that could write failed: look what it holds
	Verify  bool          // after a crash: look whether it is as recorded
	Restore bool          // it is not as recorded: reset it
	Leaving bool          // it is being closed because the parent wants the loop to leave off

	Furnished string // the key of what was prepared that is in it; empty = nothing is
	Rested    bool   // the wait after a failure is over

	trouble  *pawl.Failure // why the last effect on it failed; nil = it did not
	troubled pawl.Verb     // which effect that was
	troubles int           // how often in a row

	// first is the first in a row of failed effects of a kind, which may have succeeded in spite
	// of its failure; see [State.Settle].
	first  pawl.Seq
	failed pawl.Verb // its kind; 0 = there is none
}

// tries is how often an effect on a worktree is requested before the run stops.
const tries = 3

// First is the first failed effect of this kind, if another one repeats it; 0 = there is none.
func (w *State) First(verb pawl.Verb) pawl.Seq {
	if w.failed == verb {
		return w.first
	}
	return 0
}

// Settle records that an effect succeeded. A failed effect of the same kind is then no longer
// repeated; after the worktree was opened or reset, no failed effect is.
func (w *State) Settle(verb pawl.Verb) {
	if verb == w.failed || verb == pawl.VerbOpenWorkspace || verb == pawl.VerbResetWorkspace {
		w.first, w.failed = 0, 0
	}
}

// Calm records that the last effect on the worktree succeeded.
func (w *State) Calm() { w.trouble, w.troubles, w.Rested = nil, 0, false }

// Fail records why the last effect on the worktree failed.
func (w *State) Fail(verb pawl.Verb, why *pawl.Failure) {
	if w.troubled != verb {
		w.troubles = 0
	}
	w.trouble, w.troubled, w.Rested = why, verb, false
	w.troubles++
}

// FailEffect does so for an effect that may have succeeded in spite of its failure.
func (w *State) FailEffect(id pawl.Seq, verb pawl.Verb, why *pawl.Failure) {
	w.Fail(verb, why)
	if w.failed != verb {
		w.first, w.failed = id, verb
	}
}

// Trouble is why the last effect failed; nil = it did not.
func (w *State) Trouble() *pawl.Failure { return w.trouble }

// Reason tells the trouble in words, with the effect that had it.
func (w *State) Reason() string {
	return fmt.Sprintf("%s: %s: %s", w.troubled, w.trouble.Code, w.trouble.Message)
}

// MayGoOn reports whether nothing is wrong, or what was may be tried again now.
func (w *State) MayGoOn() bool { return w.trouble == nil || w.MayRetry() && w.Rested }

// MayRetry reports whether what failed may succeed when it is tried again.
func (w *State) MayRetry() bool {
	again := w.trouble.Code == pawl.FailMachine || w.trouble.Code == pawl.FailTimeout
	return again && w.troubles < tries
}

// BackOff is the wait before that.
func (w *State) BackOff() *pawl.Wait {
	return &pawl.Wait{For: time.Second << w.troubles, Reason: "the worktree: " + brief.Cut(w.trouble.Message, 120)}
}

// IsStuckOpen reports whether it could not be closed the last time that was tried.
func (w *State) IsStuckOpen() bool {
	return w.trouble != nil && w.troubled == pawl.VerbCloseWorkspace
}

// IsLost reports whether something else than to close the worktree failed for good.
func (w *State) IsLost() bool {
	return w.trouble != nil && w.troubled != pawl.VerbCloseWorkspace && !w.MayRetry()
}

// IsSound reports whether it is known to be as recorded.
func (w *State) IsSound() bool { return !w.Unsure && !w.Verify && !w.Restore }

// Inspected takes over what it holds.
func (w *State) Inspected(tree pawl.TreeHash) {
	w.Restore = w.Verify && (w.Unsure || tree != w.Tree)
	w.Wrote(tree)
	w.Verify, w.Unsure = false, false
}

// Wrote takes over that it holds another tree now, if it does.
func (w *State) Wrote(tree pawl.TreeHash) {
	w.Dirty = w.Dirty || tree != w.Tree
	w.Tree = tree
}

// IsAt takes over that it holds a commit's tree and nothing else.
func (w *State) IsAt(tree pawl.TreeHash) { w.Tree, w.Dirty = tree, false }

// Forget takes over that there is nothing to look at.
func (w *State) Forget() { w.Restore, w.Verify, w.Unsure = false, false, false }
