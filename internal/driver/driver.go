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

// Places say when an effect may be performed: when what it needs of the machine is free
// and it is its run's turn. internal/governor has them. A driver asks for every effect,
// and the time an effect waits is not its own: its timeout begins afterwards.
type Places interface {
	// Take waits until the effect has its places and returns how they are given back:
	// with the answer it gave, nil when it gave none. Giving back twice is giving back
	// once. When ctx ends first, Take fails with its error and holds nothing. A call
	// that is known to fail fails with a *pawl.ModelError instead of being sent.
	Take(ctx context.Context, job Job) (give func(pawl.Answer), err error)
	// Waits says what the effect waits for in Take; false = it does not wait. Of accounts,
	// only the one that the effect waits for is there.
	Waits(job Job) (pawl.PoolLoad, bool)
	// Wanted says that a person has started or resumed a run: what is known to fail is
	// tried once more.
	Wanted()
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
	// Progressed records how far a turn of a coding agent has come. It may block until the run takes
	// it in; it may be nil.
	Progressed func(*pawl.AgentProgressed)
	// Infos delivers what people tell a coding agent during its turn, in order; it is never closed, and
	// nil for other effects.
	Infos <-chan string
	// Heard says that a model has sent something, shown or not; it never blocks. It may be nil.
	Heard func()
}
