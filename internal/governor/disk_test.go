package governor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
)

// No effect gets its places while a disk lacks space, whatever it is, and each says what it
// waits for. F-18
func TestOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lacks atomic.Pointer[string]
		has := func(why string) { lacks.Store(&why) }
		has("/state has 12 kB free")
		g := New(Limits{Machine: 1, Calls: 1}, nil)
		places := OnDisk(g.Places("p"), func() string { return *lacks.Load() })
		first, commit := call("001-x", 1, 1), job("001-x", 2, &pawl.Commit{})
		begun := time.Now()
		got := make(chan time.Duration, 2)
		take := func(ctx context.Context, n pawl.Seq) error {
			j := first
			if n == 2 {
				j = commit
			}
			give, err := places.Take(ctx, j)
			if err == nil {
				got <- time.Since(begun)
				give(nil)
			}
			return err
		}
		for n := range pawl.Seq(2) {
			go func() { _ = take(t.Context(), n+1) }()
		}
		<-time.After(time.Hour)
		for _, j := range []pawl.Seq{1, 2} {
			if l, waits := places.Waits(job("001-x", j, nil)); !waits || l.Name != pawl.PoolDisk || l.Why != "/state has 12 kB free" {
				t.Errorf("effect %d waits (%t) for %+v", j, waits, l)
			}
		}
		if l := g.Load(); l.Pools[0].Used+l.Pools[0].Waiting > 0 {
			t.Errorf("what waits for space has a place: %+v", l.Pools[0])
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := take(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a withdrawn effect: %v", err)
		}
		has("")
		for range 2 {
			if after := <-got; after < time.Hour+time.Minute || after > time.Hour+time.Minute+diskPause {
				t.Errorf("got its places after %s", after)
			}
		}
		if l, waits := places.Waits(first); waits {
			t.Errorf("with space it waits for %+v", l)
		}
	})
}
