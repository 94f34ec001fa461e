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
	close(letGo)
	mustDrain(t, d)
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

// mustDrain drains a driver in a bubble: one that hangs reaches the deadline at once.
func mustDrain(t *testing.T, d *local.Driver) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if d.Drain(ctx); ctx.Err() != nil {
		t.Error("the driver does not drain")
	}
}
