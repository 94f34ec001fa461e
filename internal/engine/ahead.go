package engine

import (
	"context"
	"sync"

	"pawl"
	"pawl/internal/driver/local"
	"pawl/internal/kernel"
)

// Ahead folds runs while what their engine needs beside the log is still being found out. Nil has
// folded none.
type Ahead struct {
	mu     sync.Mutex
	states map[pawl.RunID]<-chan folded // each has one
	done   sync.WaitGroup
	cancel context.CancelFunc
}

// folded is what came of folding a run.
type folded struct {
	state *kernel.State // nil after an error
	err   error
}

// FoldAhead begins to fold runs of a log. An engine over the same log adopts them from there if its
// [Config] says so. End has to be called before the log is closed.
func FoldAhead(ctx context.Context, log pawl.Log, runs []pawl.RunID) *Ahead {
	ctx, cancel := context.WithCancel(ctx)
	a := &Ahead{states: map[pawl.RunID]<-chan folded{}, cancel: cancel}
	for _, run := range runs {
		state := make(chan folded, 1)
		a.states[run] = state
		a.done.Go(func() {
			s, err := local.Fold(ctx, log, run)
			state <- folded{s, err}
		})
	}
	return a
}

// End drops the states that were not taken. Nothing of it is under way when it returns.
func (a *Ahead) End() {
	if a == nil {
		return
	}
	a.cancel()
	a.done.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.states)
}

// take waits for what came of folding a run, and returns it to the first who asks. It is the zero value
// if the run was not folded.
func (a *Ahead) take(run pawl.RunID) folded {
	if a == nil {
		return folded{}
	}
	a.mu.Lock()
	state := a.states[run]
	delete(a.states, run)
	a.mu.Unlock()
	if state == nil {
		return folded{}
	}
	return <-state
}
