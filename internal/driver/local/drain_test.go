package local_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/driver/local"
	"pawl/internal/store/mem"
)

// What is in flight when a driver comes to its end is answered, durably; nothing is
// begun any more, and nothing is taken on.
func TestDrain(t *testing.T) { synctest.Test(t, drain) }

func drain(t *testing.T) {
	log, begun, letGo := mem.New(), make(chan struct{}), make(chan struct{})
	var once sync.Once
	world := &drivertest.World{Calls: 3}
	world.Before = func(ctx context.Context, job driver.Job) {
		if job.Effect.Do.Verb() == pawl.VerbCallTool {
			once.Do(func() { close(begun) })
			select {
			case <-letGo:
			case <-ctx.Done():
			}
		}
	}
	d := &local.Driver{Log: log, Performer: world}
	start := func(id pawl.RunID) error { return d.Start(t.Context(), id, drivertest.Started(), nil) }
	if err := start("001-a"); err != nil {
		t.Fatal(err)
	}
	<-begun
	hurry, cancel := context.WithCancel(t.Context())
	cancel()
	d.Drain(hurry) // it returns, and lets nothing begin from now on
	if err := start("002-b"); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("a run was taken on: %v", err)
	}
	before := len(world.Performed("001-a"))
	close(letGo)
	mustDrain(t, d)
	if synctest.Wait(); len(world.Performed("001-a")) != before {
		t.Error("an effect began while the driver drained")
	}
	d.Close()
	s, err := local.Fold(t.Context(), log, "001-a")
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for e, err := range log.Events(t.Context(), "001-a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Body.EventKind() == pawl.KindToolReturned {
			answered++
		}
	}
	if answered != 1 || s.Status != pawl.StatusRunning {
		t.Errorf("%d calls were answered, and the run is %s", answered, s.Status)
	}
}

// limited is a world in which the first model call of each run fails with a rate limit.
type limited struct {
	drivertest.World
	mu  sync.Mutex // guards met
	met map[pawl.RunID]bool
}

func (l *limited) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	answer, blobs := l.World.Perform(ctx, job)
	l.mu.Lock()
	defer l.mu.Unlock()
	if job.Effect.Do.Verb() == pawl.VerbCallModel && !l.met[job.Run] {
		l.met[job.Run] = true
		return &pawl.EffectFailed{Effect: job.Effect.ID, Failure: pawl.Failure{Code: pawl.FailureCode(pawl.ModelRateLimit)}}, nil
	}
	return answer, blobs
}

// without gives places to every run but one.
type without struct{ run pawl.RunID }

func (w without) Take(ctx context.Context, job driver.Job) (func(pawl.Answer), error) {
	if job.Run != w.run {
		return func(pawl.Answer) {}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (without) Wanted() {}

func (without) Waits(driver.Job) (pawl.PoolLoad, bool) { return pawl.PoolLoad{}, false }

// Drain waits for active effects. Effects that were withdrawn before they began and timers
// that have ended do not make it return early.
func TestDrainCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, letGo := make(chan struct{}, 1), make(chan struct{})
		world := &limited{World: drivertest.World{Calls: 1}, met: map[pawl.RunID]bool{}}
		world.Before = func(_ context.Context, job driver.Job) {
			if job.Effect.Do.Verb() == pawl.VerbCallTool {
				begun <- struct{}{}
				<-letGo
			}
		}
		d := &local.Driver{Log: mem.New(), Performer: world, Places: without{"001-waits"}}
		t.Cleanup(d.Close)
		for _, id := range []pawl.RunID{"001-waits", "002-limited"} {
			if err := d.Start(t.Context(), id, drivertest.Started(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Steer(t.Context(), "001-waits", pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}); err != nil {
			t.Fatal(err)
		}
		<-begun // the timer of the rate limit has ended by then
		drained := make(chan struct{})
		go func() {
			d.Drain(t.Context())
			close(drained)
		}()
		synctest.Wait()
		select {
		case <-drained:
			t.Error("Drain returned while a tool call was active")
		default:
		}
		close(letGo)
		mustDrain(t, d)
	})
}

// mustDrain drains a driver in a bubble. If Drain hangs, the test fails at once.
func mustDrain(t *testing.T, d *local.Driver) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if d.Drain(ctx); ctx.Err() != nil {
		t.Error("Drain did not return in time")
	}
}
