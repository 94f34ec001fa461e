package runner

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"pawl"
)

// waitFor waits until so many hold a folder.
func (p *preparations) waitFor(t *testing.T, dir string, holders int) {
	t.Helper()
	for t.Context().Err() == nil {
		p.mu.Lock()
		x := p.dirs[dir]
		reached := x != nil && x.holders == holders
		p.mu.Unlock()
		if reached {
			return
		}
		runtime.Gosched()
	}
}

// When a preparation comes to no end, one of those who wait begins anew, and all
// of them have what that gave.
func TestOnceBeginsAnew(t *testing.T) {
	var p preparations
	broken, end := errors.New("withdrawn"), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		if _, _, err := p.once(t.Context(), "dir", func() (preparedTree, error) { <-end; return preparedTree{}, broken }); !errors.Is(err, broken) {
			t.Errorf("the first has %v", err)
		}
	})
	p.waitFor(t, "dir", 1)
	var mu sync.Mutex
	runs := 0
	var leaves []func()
	for range 5 {
		group.Go(func() {
			made, leave, err := p.once(t.Context(), "dir", func() (preparedTree, error) {
				mu.Lock()
				defer mu.Unlock()
				runs++
				return preparedTree{report: &pawl.GateReport{Reason: "anew"}}, nil
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil || made.report == nil || made.report.Reason != "anew" {
				t.Errorf("one who waited has %+v, %v", made, err)
				return
			}
			leaves = append(leaves, leave)
		})
	}
	p.waitFor(t, "dir", 6)
	close(end)
	group.Wait()
	if runs != 1 {
		t.Errorf("it was begun anew %d times", runs)
	}
	for _, leave := range leaves {
		leave()
		leave() // once more changes nothing
	}
	if len(p.dirs) != 0 {
		t.Errorf("%d folders are remembered", len(p.dirs))
	}
}

// Who waits for another one's preparation stops waiting when it is withdrawn.
func TestOnceWithdrawn(t *testing.T) {
	var p preparations
	end := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		_, leave, err := p.once(t.Context(), "dir", func() (preparedTree, error) { <-end; return preparedTree{}, nil })
		if err != nil {
			t.Errorf("the first has %v", err)
			return
		}
		leave()
	})
	p.waitFor(t, "dir", 1)
	ctx, cancel := context.WithCancel(t.Context())
	group.Go(func() {
		if _, _, err := p.once(ctx, "dir", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("who was withdrawn has %v", err)
		}
	})
	p.waitFor(t, "dir", 2)
	cancel()
	p.waitFor(t, "dir", 1)
	close(end)
	group.Wait()
	if len(p.dirs) != 0 {
		t.Errorf("%d folders are remembered", len(p.dirs))
	}
}
