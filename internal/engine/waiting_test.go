package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/store/mem"
)

// oneGate gives no gate a place before it is freed, and everything else at once.
type oneGate struct {
	free chan struct{}
	mu   sync.Mutex
	has  map[pawl.Seq]bool
}

func (p *oneGate) Take(ctx context.Context, job driver.Job) (func(pawl.Answer), error) {
	if job.Effect.Do.Verb() == pawl.VerbRunGate {
		select {
		case <-p.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.has[job.Effect.ID] = true
	return func(pawl.Answer) {}, nil
}

func (p *oneGate) Waits(job driver.Job) (pawl.PoolLoad, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pawl.PoolLoad{Name: "lane:heavy", Slots: 1, Used: 1, Waiting: 1}, !p.has[job.Effect.ID]
}

func (*oneGate) Wanted() {}

// That an effect waits for its places is said after two seconds, again and again, in the
// run's line and to who watches, and so is its end; none of it is in the log. F-24
func TestWaitingIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := &oneGate{free: make(chan struct{}), has: map[pawl.Seq]bool{}}
		c := engineConfig(mem.New(), &drivertest.World{})
		c.Places = places
		e := engine.New(c)
		t.Cleanup(e.Close)
		run := mustStart(t, e)
		var mu sync.Mutex
		var all []pawl.Waiting
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for u, err := range e.Watch(t.Context(), run, 0) {
				if err != nil {
					return
				}
				if u.Live != nil && u.Live.Waiting != nil {
					mu.Lock()
					all = append(all, *u.Live.Waiting)
					mu.Unlock()
				}
			}
		}()
		var heard []pawl.Waiting // so far
		waiting := func() *pawl.Waiting {
			synctest.Wait()
			mu.Lock()
			heard = slices.Clone(all)
			mu.Unlock()
			runs, err := e.Runs(t.Context())
			if err != nil || len(runs) != 1 {
				t.Fatalf("%d runs, %v", len(runs), err)
			}
			return runs[0].Waiting
		}
		elapse := func(d time.Duration) { <-time.After(d) }
		elapse(1900 * time.Millisecond)
		if w := waiting(); w != nil || len(heard) > 0 {
			t.Errorf("after 1.9 s it is said that %+v waits, and %d times to who watches", w, len(heard))
		}
		elapse(200 * time.Millisecond)
		w := waiting()
		if w == nil || w.Name != "gate tests" || w.Pool != "lane:heavy" || w.Slots != 1 || w.For != 2100*time.Millisecond || w.Others != 0 || w.Over {
			t.Fatalf("after 2.1 s the run's line has %+v", w)
		}
		elapse(2 * time.Second)
		if w := waiting(); w == nil || w.For != 4100*time.Millisecond || len(heard) != 2 || heard[1].For != 4*time.Second || heard[1].Pool != "lane:heavy" {
			t.Errorf("after 4.1 s the run's line has %+v, and who watches heard %+v", w, heard)
		}
		close(places.free)
		if w := waiting(); w != nil {
			t.Errorf("it has its place, and the run's line has %+v", w)
		}
		<-ended
		waiting()
		if n := len(heard); n != 3 || !heard[2].Over || heard[2].Effect != w.Effect || heard[2].For != 4100*time.Millisecond {
			t.Errorf("who watches heard %+v", heard)
		}
	})
}
