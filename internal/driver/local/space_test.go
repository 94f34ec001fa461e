package local_test

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
	"pawl/internal/driver/local"
	"pawl/internal/store/mem"
)

// full is a world on a disk without space for the first two tries of every effect; of those
// that are not tried twice, for the first one.
type full struct {
	drivertest.World
	mu    sync.Mutex          // guards the rest
	again map[pawl.Seq][]bool // what each try of an effect was told
	once  map[pawl.Verb]bool  // kinds that are not tried twice and have failed
}

func (f *full) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	id, verb := job.Effect.ID, job.Effect.Do.Verb()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.again[id] = append(f.again[id], job.Again)
	lacks := len(f.again[id]) <= 2
	if job.Effect.Class == pawl.CrashOnce || verb == pawl.VerbCallModel {
		lacks, f.once[verb] = !f.once[verb], true
	}
	if lacks {
		return &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: pawl.FailSpace, Message: "write x: no space left on device"}}, nil
	}
	return f.World.Perform(ctx, job)
}

// An effect that a disk has no space for is performed again until it has, as after a crash, and
// says meanwhile what it waits for. What must not be done twice, and a model call, fails. F-18
func TestEffectWaitsForSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, left := mem.New(), make(chan error, 1)
		world := &full{World: drivertest.World{Calls: 1}, again: map[pawl.Seq][]bool{}, once: map[pawl.Verb]bool{}}
		var said []pawl.Waiting
		d := &local.Driver{Log: log, Performer: world, SpaceRetry: 2500 * time.Millisecond, Left: func(_ pawl.RunID, err error) { left <- err },
			Live: func(_ pawl.RunID, l pawl.Live) {
				if l.Waiting != nil && len(said) < 3 {
					said = append(said, *l.Waiting)
				}
			}}
		t.Cleanup(d.Close)
		if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
			t.Fatal(err)
		}
		if err := <-left; err != nil {
			t.Fatal(err)
		}
		failed, class := 0, map[pawl.Seq]pawl.CrashClass{}
		for e, err := range log.Events(t.Context(), "001-small", 0) {
			if err != nil {
				t.Fatal(err)
			}
			switch b := e.Body.(type) {
			case *pawl.EffectRequested:
				class[b.Effect.ID] = b.Effect.Class
				if b.Effect.Do.Verb() == pawl.VerbCallModel {
					class[b.Effect.ID] = pawl.CrashOnce
				}
			case *pawl.EffectFailed:
				if failed++; class[b.Effect] != pawl.CrashOnce || b.Failure.Code != pawl.FailMachine {
					t.Errorf("effect %d of class %s has failed: %+v", b.Effect, class[b.Effect], b.Failure)
				}
			}
		}
		if failed != 2 {
			t.Errorf("%d effects have failed, want a model call and a tool call", failed)
		}
		for id, again := range world.again {
			want := []bool{false, true, true}
			if class[id] == pawl.CrashOnce {
				want = want[:1]
			}
			if !slices.Equal(again, want) {
				t.Errorf("effect %d of class %s was tried with again %v, want %v", id, class[id], again, want)
			}
		}
		// The first effect waits from the first try on, and its wait is over after the third.
		for i, want := range []pawl.Waiting{{For: 2 * time.Second}, {For: 4 * time.Second}, {For: 5 * time.Second, Over: true}} {
			if i >= len(said) || said[i].Name != "open workspace" || said[i].Pool != pawl.PoolDisk || said[i].Why != "write x: no space left on device" || said[i].For != want.For || said[i].Over != want.Over {
				t.Fatalf("said %d is %+v, want %+v", i, said[i:min(i+1, len(said))], want)
			}
		}
	})
}

// What waits for space is not waited for when the driver drains. F-18
func TestDrainLeavesWhatWaitsForSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := &full{again: map[pawl.Seq][]bool{}, once: map[pawl.Verb]bool{}}
		d := &local.Driver{Log: mem.New(), Performer: world, SpaceRetry: time.Hour}
		if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		begun := time.Now()
		mustDrain(t, d)
		d.Close()
		if took := time.Since(begun); took != 0 || len(world.again) != 1 {
			t.Errorf("draining took %s, with %v", took, world.again)
		}
	})
}
