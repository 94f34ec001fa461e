package local_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/driver/local"
	"pawl/internal/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDriver(t *testing.T) {
	drivertest.Run(t,
		func(testing.TB) pawl.Log { return mem.New() },
		func(_ testing.TB, o drivertest.Options) drivertest.Driver {
			return &local.Driver{Log: o.Log, Performer: o.Performer, Places: o.Places, Observe: o.Observe, Left: o.Left, AppendRetry: time.Millisecond}
		})
}

// slow lets time pass on a clock before it gives a place to a model call.
type slow struct{ passed atomic.Int64 }

func (s *slow) now() time.Time {
	return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC).Add(time.Duration(s.passed.Load()))
}

func (s *slow) Take(_ context.Context, job driver.Job) (func(pawl.Answer), error) {
	if job.Effect.Do.Verb() == pawl.VerbCallModel {
		s.passed.Add(int64(3 * time.Second))
	}
	return func(pawl.Answer) {}, nil
}

func (s *slow) Wanted() {}

// An answer says how long its effect waited, and nothing when it did not.
func TestWaitedIsSaid(t *testing.T) { synctest.Test(t, waitedIsSaid) }

func waitedIsSaid(t *testing.T) {
	log, places, left := mem.New(), &slow{}, make(chan error, 1)
	d := &local.Driver{Log: log, Performer: &drivertest.World{Calls: 1}, Places: places, Now: places.now, Left: func(_ pawl.RunID, err error) { left <- err }}
	defer d.Close()
	if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	replies, results := 0, 0
	for e, err := range log.Events(t.Context(), "001-small", 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *pawl.ModelReplied:
			if replies++; b.Waited != 3*time.Second {
				t.Errorf("a call waited for %s", b.Waited)
			}
		case *pawl.ToolReturned:
			if results++; b.Waited != 0 {
				t.Errorf("a tool waited for %s", b.Waited)
			}
		}
	}
	if replies == 0 || results == 0 {
		t.Errorf("%d replies, %d results", replies, results)
	}
}

// Drain does not wait for what waits for places, and does not begin it.
func TestDrainLeavesWhatWaits(t *testing.T) { synctest.Test(t, drainLeavesWhatWaits) }

func drainLeavesWhatWaits(t *testing.T) {
	waits := make(chan struct{}, 1)
	places := blocked{waits}
	w := &drivertest.World{}
	d := &local.Driver{Log: mem.New(), Performer: w, Places: places}
	if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
		t.Fatal(err)
	}
	<-waits
	mustDrain(t, d)
	d.Close()
	if n := len(w.Performed("001-small")); n != 0 {
		t.Errorf("%d effects were begun", n)
	}
}

// blocked gives no places.
type blocked struct{ waits chan struct{} }

func (b blocked) Take(ctx context.Context, _ driver.Job) (func(pawl.Answer), error) {
	b.waits <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (blocked) Wanted() {}
