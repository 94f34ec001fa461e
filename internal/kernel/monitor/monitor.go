// Package monitor judges how the batches of a loop develop, from facts alone: which
// tests pass, which errors come again, which trees and changes return. It is a pure
// function of the history it is shown.
package monitor

import "pawl"

// Batch is what is known of one batch that has ended.
type Batch struct {
	N int // its number in the run, from 1
	// Attempted counts the tasks that came to an end of their own, those that wait for
	// a person not among them; Approved those that are in the parent's branch now.
	Attempted, Approved int
	Tasks               []Task // in list order
	// Tree is a fingerprint of the tree of the parent's branch after the batch.
	Tree uint64
	// Passing counts the tests that pass there; -1 = not known.
	Passing int
	// Broke are fingerprints of tests that passed at the last good checkpoint and fail
	// on the parent's branch after the batch. Those that are flaky are not among them.
	Broke []uint64
	// Hunks are the changes of the approved work against the branch before, as pairs of
	// fingerprints of what went and what came: the pair the other way round undoes it.
	Hunks []uint64
}

// Task is what one task of a batch came to.
type Task struct {
	Task   int // its position in the plan, from 0
	Result Result
	// Error is the signature of what was objected, and Failing that of the tests that
	// fail, Failed how many do; 0 = nothing, or not known.
	Error, Failing uint64
	Failed         int
	// Passing counts the tests that pass with its work; -1 = not known.
	Passing int
	// Tree is a fingerprint of its candidate's tree; 0 = it made none.
	Tree uint64
	// Hunks are the changes of its last attempt against the attempt before, as of [Batch].
	Hunks []uint64
	// Blocker says what it needs when it is blocked, in a few words.
	Blocker string
}

// Result is how a task's part in a batch ended.
type Result uint8

// The results.
const (
	Approved Result = iota // its work is in the parent's branch
	Rejected               // the batch's gates or its review want changes
	Failed                 // its own gates did not let it pass, and its ladder is used up or goes on
	Blocked                // it needs what only a person can give
	Waiting                // it waits for a person: it was not attempted
)

// Verdict is what the monitor makes of a history.
type Verdict struct {
	Health pawl.Health
	// Reason is the evidence in words, at most 300 bytes: batches, tasks, tests.
	Reason string
}
