package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/store/mem"
)

// shown is what an engine has made visible of a run.
type shown struct {
	told    pawl.Seq // the event of the last RunInfo passed to Told
	watched pawl.Seq // the last event a watcher has received
	cleaned bool     // Clean was called
	effects int      // how many effects were performed
}

// F-60: an event becomes visible to Start, Watch, Told and Clean when it is durable: not
// earlier, and not only with the next event.
func TestNothingIsShownBeforeItIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, world, got := drivertest.Hold(mem.New()), &drivertest.World{}, shown{}
		c := engineConfig(log, world)
		c.Told = func(info pawl.RunInfo) { got.told = info.Seq }
		c.Clean = func(pawl.RunID) error { got.cleaned = true; return nil }
		e := engine.New(c)
		t.Cleanup(e.Close)
		started := make(chan error, 1)
		go func() {
			info, err := start(t.Context(), e, spec())
			started <- err
			for u, err := range e.Watch(t.Context(), info.ID, 0) {
				if err != nil {
					return
				}
				got.watched = u.Event.Seq
			}
		}()
		check := func(when string, want shown) {
			t.Helper()
			synctest.Wait()
			if got.effects = len(world.Performed("001-do-it")); got != want {
				t.Fatalf("%s: the engine has shown %+v, want %+v", when, got, want)
			}
		}
		for want, ended := (shown{}), false; !ended; {
			var unit pawl.Unit
			select {
			case unit = <-log.Begun:
			case <-time.After(time.Minute):
				t.Fatalf("nothing more is appended; the engine has shown %+v", got)
			}
			check("during an append", want)
			if unit.After == 0 && len(started) > 0 {
				t.Fatalf("Start returned %v before the run was durable", <-started)
			}
			last := unit.Events[len(unit.Events)-1]
			_, ended = last.Body.(*pawl.RunEnded)
			want = shown{told: last.Seq, watched: last.Seq, cleaned: ended, effects: want.effects}
			for _, ev := range unit.Events {
				if ev.Body.EventKind() == pawl.KindEffectRequested {
					want.effects++
				}
			}
			log.Word <- nil
			check("after an append", want)
			if unit.After == 0 && len(started) == 0 {
				t.Fatal("Start has not returned")
			}
		}
		if err := <-started; err != nil {
			t.Error(err)
		}
	})
}
