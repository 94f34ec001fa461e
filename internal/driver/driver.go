// Package driver says what driving a run means. A driver takes inputs, lets the
// kernel decide, makes the events durable, folds them, and performs what is
// pending: append first, then perform, answer once. internal/driver/local does
// it in this process; drivertest is the suite every driver passes.
package driver

import (
	"context"
	"iter"

	"pawl"
)

// Performer performs effects: it is the whole outside world of a run.
type Performer interface {
	// Perform performs one effect and returns the fact it gave and the blobs the
	// fact refers to. A failure is a *pawl.EffectFailed. When ctx ends the
	// answer does not matter any more. It is called from many goroutines.
	Perform(ctx context.Context, job Job) (pawl.Answer, []pawl.Blob)
}

// Job is one effect to perform, with what it may need of its run.
type Job struct {
	Effect *pawl.Effect
	// Run is what the run was started with; Settings and Recipe are its frozen parts.
	Run      pawl.RunID
	Started  *pawl.RunStarted
	Settings *pawl.Settings
	Recipe   *pawl.Recipe
	// Workspace names the loop's worktree.
	Workspace string
	// Task is the loop's own task, a JSON TaskSpec; zero = the run's goal is.
	Task pawl.Hash
	// Again reports that the effect may have been under way when a driver died:
	// one of class probe looks first whether it has happened.
	Again bool
	// Blob reads a blob of the run.
	Blob func(ctx context.Context, h pawl.Hash) ([]byte, error)
	// Events reads the run's events from the first to the effect's request. Each call
	// reads them anew.
	Events func(ctx context.Context) iter.Seq2[pawl.Event, error]
	// Live shows text to whoever watches; it never blocks and may drop.
	Live func(text string)
}
