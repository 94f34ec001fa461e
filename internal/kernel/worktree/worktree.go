// Package worktree records what a loop's worktree holds, what went wrong with it, and how its
// commits were prepared. A worktree is trusted only as far as it is recorded: after a crash, or
// after a call that may have written and failed, it is inspected before anything uses it.
package worktree

import (
	"cmp"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// State is what is recorded of a worktree. The zero value is a worktree that was not opened, with
// nothing to inspect.
type State struct {
	Tree    pawl.TreeHash // the tree that it holds, as far as is known
	Dirty   bool          // Tree may differ from the tree of its commit
	Unsure  bool          // a call that may have written failed, so it must be inspected
	Verify  bool          // a driver died, so it must be inspected
	Restore bool          // it is not as recorded, so it must be reset
	Leaving bool          // it is being closed because the parent wants the loop to stop
	// Continues reports that the coding agent that was writing when a driver died can continue its
	// session, so that what it has written stays.
	Continues bool
	// Lost reports that a coding agent's turn was lost. If what it has written is removed, that is told
	// to the agent that starts again.
	Lost bool

	Furnished string // the key of the preparation whose files are in it; empty = none, or not known
	Rested    bool   // the wait after a failure is over

	trouble  *pawl.Failure // why the last effect on it failed; nil = it did not
	troubled pawl.Verb     // the kind of that effect
	troubles int           // how often effects of that kind have failed in a row

	// first is the first in a row of failed effects of one kind, each of which may have succeeded
	// in spite of its failure. A repetition names it, so that it finds what first made.
	first  pawl.Seq
	failed pawl.Verb // the kind of first; 0 = there is none
}

// tries bounds how often an effect on a worktree is requested before the run stops.
const tries = 3

// First returns the failed effect that the next effect of this kind repeats, or 0.
func (w *State) First(verb pawl.Verb) pawl.Seq {
	if w.failed == verb {
		return w.first
	}
	return 0
}

// Settle records that an effect succeeded. The next effect of this kind then repeats none; after
// the worktree was opened or reset, no effect does.
func (w *State) Settle(verb pawl.Verb) {
	if verb == w.failed || verb == pawl.VerbOpenWorkspace || verb == pawl.VerbResetWorkspace {
		w.first, w.failed = 0, 0
	}
}

// Calm records that the last effect on the worktree succeeded: nothing is wrong with it.
func (w *State) Calm() { w.trouble, w.troubles, w.Rested = nil, 0, false }

// Fail records why the last effect on the worktree failed. An effect of another kind counts its
// failures from the start.
func (w *State) Fail(verb pawl.Verb, why *pawl.Failure) {
	if w.troubled != verb {
		w.troubles = 0
	}
	w.trouble, w.troubled, w.Rested = why, verb, false
	w.troubles++
}

// FailEffect does what [State.Fail] does, for an effect that may have succeeded in spite of its
// failure. The next effect of its kind repeats the first that failed. An inspection makes nothing
// that a repetition could find, and comes between others: it leaves what the next one repeats.
func (w *State) FailEffect(id pawl.Seq, verb pawl.Verb, why *pawl.Failure) {
	w.Fail(verb, why)
	if w.failed != verb && verb != pawl.VerbInspectWorkspace {
		w.first, w.failed = id, verb
	}
}

// Trouble returns why the last effect failed, or nil if it did not.
func (w *State) Trouble() *pawl.Failure { return w.trouble }

// Reason returns which effect failed, and why, in words. There must be trouble.
func (w *State) Reason() string {
	return fmt.Sprintf("%s failed: %s", deed(w.troubled), cmp.Or(w.trouble.Message, string(w.trouble.Code)))
}

// deed returns what an effect on a worktree or its branch does, in words.
func deed(verb pawl.Verb) string {
	switch verb {
	case pawl.VerbOpenWorkspace:
		return "opening the worktree"
	case pawl.VerbInspectWorkspace:
		return "looking at the worktree"
	case pawl.VerbResetWorkspace:
		return "resetting the worktree"
	case pawl.VerbCloseWorkspace:
		return "closing the worktree"
	case pawl.VerbPrepare:
		return "preparing the worktree"
	case pawl.VerbCommit:
		return "committing"
	case pawl.VerbWriteRecords:
		return "committing the task's records"
	case pawl.VerbReadTasks:
		return "reading the list of tasks"
	case pawl.VerbMerge:
		return "merging"
	case pawl.VerbProbeConflicts:
		return "looking for conflicts"
	case pawl.VerbAdvanceBranch, pawl.VerbPublish:
		return "moving the branch"
	case pawl.VerbMarkCheckpoint:
		return "keeping the checkpoint"
	case pawl.VerbRestore:
		return "going back to an earlier state"
	}
	return verb.String()
}

// MayGoOn reports whether nothing is wrong, or whether what failed may be tried again now.
func (w *State) MayGoOn() bool { return w.trouble == nil || w.MayRetry() && w.Rested }

// MayRetry reports whether what failed may be tried again: it failed by the machine or ran out of
// time, and has tries left. There must be trouble.
func (w *State) MayRetry() bool {
	again := w.trouble.Code == pawl.FailMachine || w.trouble.Code == pawl.FailTimeout
	return again && w.troubles < tries
}

// BackOff returns the wait before what failed is tried again: two seconds after the first failure
// and twice as long after each further one. There must be trouble.
func (w *State) BackOff() *pawl.Wait {
	return &pawl.Wait{For: time.Second << w.troubles, Reason: "the worktree: " + brief.Cut(w.trouble.Message, 120)}
}

// IsStuckOpen reports whether the last effect tried to close the worktree and failed.
func (w *State) IsStuckOpen() bool {
	return w.trouble != nil && w.troubled == pawl.VerbCloseWorkspace
}

// IsLost reports whether the last effect failed for good, unless it was to close the worktree.
func (w *State) IsLost() bool {
	return w.trouble != nil && w.troubled != pawl.VerbCloseWorkspace && !w.MayRetry()
}

// IsOfPreparing reports whether the last effect tried to prepare the worktree and failed: git can
// still work on it.
func (w *State) IsOfPreparing() bool {
	return w.trouble != nil && w.troubled == pawl.VerbPrepare
}

// IsSound reports whether the worktree is known to be as recorded.
func (w *State) IsSound() bool { return !w.Unsure && !w.Verify && !w.Restore }

// Inspected records the tree that an inspection found. After a crash, the worktree must be reset
// if that is not the recorded tree, or if it was unsure what it holds, unless its coding agent
// continues. Without a crash, the tree that was found is believed.
func (w *State) Inspected(tree pawl.TreeHash) {
	w.Restore = w.Restore || w.Verify && !w.Continues && (w.Unsure || tree != w.Tree)
	w.Wrote(tree)
	w.Verify, w.Unsure, w.Continues, w.Lost = false, false, false, w.Lost && w.Restore
}

// Wrote records the tree after a call that may have written. Another tree makes the worktree dirty.
func (w *State) Wrote(tree pawl.TreeHash) {
	w.Dirty = w.Dirty || tree != w.Tree
	w.Tree = tree
}

// IsAt records that the worktree holds the tree of its commit and nothing else.
func (w *State) IsAt(tree pawl.TreeHash) { w.Tree, w.Dirty = tree, false }

// Forget records that there is nothing to inspect or reset, as when the worktree was opened or
// closed.
func (w *State) Forget() {
	w.Restore, w.Verify, w.Unsure, w.Continues, w.Lost = false, false, false, false, false
}
