package engine

import (
	"context"
	"sync"

	"pawl"
	"pawl/internal/driver/local"
	"pawl/internal/kernel"
)

// Ahead holds the states of runs that are folded before there is an engine to drive them. A nil
// Ahead holds none.
type Ahead struct {
	mu     sync.Mutex
	states map[pawl.RunID]<-chan folded // each has one
	done   sync.WaitGroup
	cancel context.CancelFunc
}

// folded is the result of folding a run.
type folded struct {
	state *kernel.State // nil after an error
	err   error
}

// FoldAhead starts folding runs of a log. An engine over the same log takes their states from
// [Config.Ahead]. Call End before closing the log.
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

// End stops folding, waits until that has stopped, and drops the states that were not taken.
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

// take waits until a run is folded, and returns the result once. The result is zero if the run is not
// one of those that are folded ahead, or was taken before.
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
