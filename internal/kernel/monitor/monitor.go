// Package monitor judges how the batches of a loop develop, from facts alone: which tests pass, and
// which errors, trees and changes recur. It is a pure function of the history it is shown.
package monitor

import "pawl"

// Batch is what is known of a batch that has ended.
type Batch struct {
	N int // its number in the run, from 1
	// Attempted counts the tasks whose result is not [Waiting], Approved those that are in the
	// parent's branch now.
	Attempted, Approved int
	Tasks               []Task // in list order
	// Tree is a fingerprint of the tree of the parent's branch after the batch.
	Tree uint64
	// Passing counts the tests that pass there; -1 = not known.
	Passing int
	// Broke holds fingerprints of tests that passed at the last good checkpoint and fail on the
	// parent's branch after the batch, without those that are flaky.
	Broke []uint64
	// Hunks holds the changes that the approved work made to the branch, as pairs of fingerprints
	// of the lines before and after. The reversed pair undoes the change.
	Hunks []uint64
}

// Task is the result of one task of a batch.
type Task struct {
	Task   int // its position in the plan, from 0
	Result Result
	// Error is the fingerprint of what was objected, Failing that of the failing tests, and Failed
	// counts these; 0 = nothing, or not known.
	Error, Failing uint64
	Failed         int
	// Passing counts the tests that pass with its work; -1 = not known.
	Passing int
	// Tree is a fingerprint of its candidate's state, apart from what others merged; 0 = it made none.
	Tree uint64
	// Hunks holds the changes of its last attempt to the attempt before, as in [Batch].
	Hunks []uint64
	// Blocker says in a few words what a blocked task needs.
	Blocker string
}

// Result is how a task ended in a batch.
type Result uint8

// The results.
const (
	Approved Result = iota // its work is in the parent's branch
	Rejected               // the batch's gates or its review want changes
	Failed                 // its own gates did not pass it; its ladder may be used up or continue
	Blocked                // it needs what only a person can give
	Waiting                // it waits for a person: it was not attempted
)

// Verdict is the monitor's judgement of a history.
type Verdict struct {
	Health pawl.Health
	// Reason is the evidence in words, at most 300 bytes: batches, tasks, tests.
	Reason string
	// Merged is the first batch whose approved work is part of what went wrong; 0 = none is, as what
	// went wrong was not approved.
	Merged int
}
