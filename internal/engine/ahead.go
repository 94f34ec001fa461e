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
	states map[pawl.RunID]<-chan *kernel.State // each takes one; nil after an error
	done   sync.WaitGroup
	cancel context.CancelFunc
}

// FoldAhead begins to fold runs of a log. An engine over the same log adopts them from there if its
// [Config] says so. End has to be called before the log is closed.
func FoldAhead(ctx context.Context, log pawl.Log, runs []pawl.RunID) *Ahead {
	ctx, cancel := context.WithCancel(ctx)
	a := &Ahead{states: map[pawl.RunID]<-chan *kernel.State{}, cancel: cancel}
	for _, run := range runs {
		state := make(chan *kernel.State, 1)
		a.states[run] = state
		a.done.Go(func() {
			s, err := local.Fold(ctx, log, run)
			if err != nil {
				s = nil // whoever adopts the run meets the error
			}
			state <- s
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

// take waits for the state of a run, and returns it to the first who asks. It returns nil if there is none.
func (a *Ahead) take(run pawl.RunID) *kernel.State {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	state := a.states[run]
	delete(a.states, run)
	a.mu.Unlock()
	if state == nil {
		return nil
	}
	return <-state
}

// fold folds a run, from the state that was folded ahead if there is one.
func (e *Engine) fold(ctx context.Context, run pawl.RunID) (*kernel.State, error) {
	if s := e.c.Ahead.take(run); s != nil && local.Follow(ctx, e.c.Log, run, s) == nil {
		return s, nil
	}
	return local.Fold(ctx, e.c.Log, run)
}
