package local_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/driver/local"
	"pawl/internal/kernel"
	"pawl/internal/store/mem"
)

func TestMain(m *testing.M) {
	if os.Getenv(local.PrintsForm) != "" {
		local.PrintForm()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestDriver(t *testing.T) {
	drivertest.Run(t,
		func(testing.TB) pawl.Log { return mem.New() },
		func(_ testing.TB, o drivertest.Options) drivertest.Driver {
			return &local.Driver{Log: o.Log, Performer: o.Performer, Places: o.Places, Observe: o.Observe, Left: o.Left, SpaceRetry: time.Millisecond}
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

func (s *slow) Waits(driver.Job) (pawl.PoolLoad, bool) { return pawl.PoolLoad{}, false }

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

func (blocked) Waits(driver.Job) (pawl.PoolLoad, bool) { return pawl.PoolLoad{}, false }

// fullLog is a log whose first appends to an existing run fail for lack of space.
type fullLog struct {
	pawl.Log
	failures int // how many appends still fail
}

func (l *fullLog) Append(ctx context.Context, u pawl.Unit) error {
	if u.After > 0 && l.failures > 0 {
		l.failures--
		return pawl.Errorf(pawl.CodeUnavailable, "no space left").WithHint("free some")
	}
	return l.Log.Append(ctx, u)
}

// A driver waits for SpaceRetry between two attempts to append. If SpaceRetry is zero, it waits
// for the default time.
func TestSpaceRetry(t *testing.T) {
	for pause, want := range map[time.Duration]time.Duration{0: 15 * time.Second, time.Minute: 3 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			left := make(chan error, 1)
			d := &local.Driver{Log: &fullLog{mem.New(), 3}, Performer: &drivertest.World{}, SpaceRetry: pause, Left: func(_ pawl.RunID, err error) { left <- err }}
			t.Cleanup(d.Close)
			begun := time.Now()
			if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
				t.Fatal(err)
			}
			if err := <-left; err != nil {
				t.Fatal(err)
			}
			if got := time.Since(begun); got != want {
				t.Errorf("a run with three failed appends and SpaceRetry %s took %s, want %s", pause, got, want)
			}
		})
	}
}

// A unit contains at most as many inputs as the queue holds.
func TestUnitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := drivertest.Hold(mem.New())
		d := &local.Driver{Log: log, Performer: &drivertest.World{}}
		t.Cleanup(d.Close)
		go func() { _ = d.Start(t.Context(), "001-small", drivertest.Started(), nil) }()
		<-log.Begun
		for range 257 { // as many as the queue holds, and one more
			go func() {
				_ = d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerLimits, Limits: &pawl.Limits{Money: pawl.Dollars}})
			}()
		}
		synctest.Wait()
		for i, want := range []int{256, 1} {
			log.Word <- nil
			unit, got := <-log.Begun, 0
			for _, e := range unit.Events {
				if e.Body.EventKind() == pawl.KindLimitsChanged {
					got++
				}
			}
			if got != want {
				t.Errorf("unit %d contains the events of %d commands, want %d", i+2, got, want)
			}
		}
	})
}

// A driver passes live text on with its effect. Without a receiver it drops the text.
func TestLive(t *testing.T) {
	for _, receiver := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var want, got []pawl.Live // need no lock: effects are performed one at a time
			world := &drivertest.World{Before: func(_ context.Context, job driver.Job) {
				if job.Effect.Do.Verb() == pawl.VerbCallModel {
					job.Live("hello")
					want = append(want, pawl.Live{Effect: job.Effect.ID, Place: job.Effect.Place, Text: "hello"})
				}
			}}
			left := make(chan error, 1)
			d := &local.Driver{Log: mem.New(), Performer: world, Left: func(_ pawl.RunID, err error) { left <- err }}
			t.Cleanup(d.Close)
			if receiver {
				d.Live = func(run pawl.RunID, l pawl.Live) {
					if run != "001-small" {
						t.Errorf("live text of run %s, want 001-small", run)
					}
					got = append(got, l)
				}
			}
			if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
				t.Fatal(err)
			}
			if err := <-left; err != nil {
				t.Fatal(err)
			}
			if receiver && (len(got) == 0 || !slices.Equal(got, want)) {
				t.Errorf("live text %+v, want %+v", got, want)
			}
		})
	}
}

// Driven reports true for a run from its start to its end.
func TestDriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := drivertest.Hold(mem.New())
		d := &local.Driver{Log: log, Performer: &drivertest.World{}}
		t.Cleanup(d.Close)
		if d.Driven("001-small") {
			t.Error("a run that was never started is driven")
		}
		go func() { _ = d.Start(t.Context(), "001-small", drivertest.Started(), nil) }()
		<-log.Begun
		if !d.Driven("001-small") || d.Driven("002-other") {
			t.Error("the run that has started is not the one that is driven")
		}
		close(log.Word) // from now on every append completes
		for ended := false; !ended; {
			unit := <-log.Begun
			ended = unit.Events[len(unit.Events)-1].Body.EventKind() == pawl.KindRunEnded
		}
		if synctest.Wait(); d.Driven("001-small") {
			t.Error("a run that has ended is driven")
		}
	})
}

// A run whose log cannot be written says why and what to do, each time it was tried, takes no
// commands meanwhile, and says that the wait is over; it then goes on by itself. F-18
func TestWaitForTheLogIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []pawl.Waiting // needs no lock: the run's goroutine says it
		left := make(chan error, 1)
		d := &local.Driver{Log: &fullLog{mem.New(), 3}, Performer: &drivertest.World{}, Left: func(_ pawl.RunID, err error) { left <- err }}
		t.Cleanup(d.Close)
		d.Live = func(run pawl.RunID, l pawl.Live) {
			if l.Waiting != nil && l.Waiting.Pool == pawl.PoolStore {
				said = append(said, *l.Waiting)
			}
		}
		if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second) // virtual; the first try has failed
		w := d.Waiting("001-small")
		if w == nil || w.Pool != pawl.PoolStore || w.For != time.Second || !strings.Contains(w.Why, "no space left. free some") {
			t.Fatalf("it waits for %+v", w)
		}
		err := d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerPause})
		if pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("steered meanwhile: %v", err)
		}
		if err := <-left; err != nil {
			t.Fatal(err)
		}
		if w := d.Waiting("001-small"); w != nil {
			t.Errorf("it waits for %+v still", w)
		}
		if len(said) != 4 || said[2].Over || said[2].For != 10*time.Second || !said[3].Over || said[3].For != 15*time.Second {
			t.Errorf("said: %+v", said)
		}
	})
}

// A panic while deciding one run stops only that run. The caller receives it as an error.
func TestDefectInDeciding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan error, 1)
		d := &local.Driver{Log: mem.New(), Performer: &drivertest.World{}, Left: func(_ pawl.RunID, err error) { left <- err }}
		t.Cleanup(d.Close)
		err := d.AdoptFolded(t.Context(), "001-broken", &kernel.State{Seq: 1}) // no log leads to this state
		if err == nil || !strings.Contains(err.Error(), "deciding panicked") {
			t.Errorf("AdoptFolded of a state that cannot be decided: %v", err)
		}
		if why := <-left; why != err {
			t.Errorf("Left was called with %v, want %v", why, err)
		}
		if err := d.Start(t.Context(), "002-small", drivertest.Started(), nil); err != nil {
			t.Fatal(err)
		}
		if err := <-left; err != nil {
			t.Error(err)
		}
	})
}

// A clock that somebody sets is noticed, and what it jumped over is no time of the run.
func TestClockJumps(t *testing.T) { synctest.Test(t, clockJumps) }

func clockJumps(t *testing.T) {
	var ahead atomic.Int64 // of what passes
	begun, left, log := time.Now(), make(chan error, 1), mem.New()
	calls := 0
	w := &drivertest.World{Calls: 4}
	d := &local.Driver{Log: log, Performer: w, Left: func(_ pawl.RunID, err error) { left <- err }, Places: &slow{},
		Now:    func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		Steady: func() time.Duration { return time.Since(begun) },
		Observe: func(_ pawl.RunID, events []pawl.Event, _ pawl.RunInfo) {
			for _, e := range events {
				if e.Body.EventKind() == pawl.KindModelReplied {
					calls++
					switch calls {
					case 1:
						ahead.Store(int64(400 * 24 * time.Hour))
					case 2:
						ahead.Store(int64(-time.Hour))
					case 3:
						ahead.Add(int64(3 * time.Second)) // as a clock is adjusted
					}
				}
			}
		}}
	defer d.Close()
	if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	var jumps []time.Duration
	for e, err := range log.Events(t.Context(), "001-small", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*pawl.ClockJumped); ok {
			jumps = append(jumps, b.By)
		}
	}
	if want := []time.Duration{400 * 24 * time.Hour, -400*24*time.Hour - time.Hour}; !slices.Equal(jumps, want) {
		t.Errorf("it noticed the jumps %v, want %v", jumps, want)
	}
	state, err := local.Fold(t.Context(), log, "001-small")
	if err != nil {
		t.Fatal(err)
	}
	if state.Alive > time.Minute {
		t.Errorf("the run was driven for %s", state.Alive)
	}
}

// cutOff is a world whose first model call lasts until its context ends, and then fails with a
// transcript, as a turn of a coding agent does.
type cutOff struct {
	drivertest.World
	begun, ended chan struct{}
	once         sync.Once
}

func (c *cutOff) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	first := false
	if job.Effect.Do.Verb() == pawl.VerbCallModel {
		c.once.Do(func() { first = true })
	}
	if !first {
		return c.World.Perform(ctx, job)
	}
	defer close(c.ended)
	close(c.begun)
	<-ctx.Done()
	b := pawl.NewBlob([]byte("what it did"))
	return &pawl.EffectFailed{Effect: job.Effect.ID, Transcript: b.Hash()}, []pawl.Blob{b}
}

// The transcript of a turn is kept if its time is up, or if it is withdrawn.
func TestTranscriptIsKept(t *testing.T) {
	for _, withdrawn := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			log, left := mem.New(), make(chan error, 1)
			world := &cutOff{begun: make(chan struct{}), ended: make(chan struct{})}
			world.Before = func(_ context.Context, job driver.Job) {
				if job.Effect.Do.Verb() == pawl.VerbCloseWorkspace {
					<-world.ended
					synctest.Wait() // until the answer has been taken
				}
			}
			d := &local.Driver{Log: log, Performer: world, Left: func(_ pawl.RunID, err error) { left <- err }}
			t.Cleanup(d.Close)
			if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
				t.Fatal(err)
			}
			<-world.begun
			if withdrawn {
				if err := d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-left; err != nil {
				t.Fatal(err)
			}
			var kept []pawl.Hash
			for e, err := range log.Events(t.Context(), "001-small", 0) {
				if err != nil {
					t.Fatal(err)
				}
				switch b := e.Body.(type) {
				case *pawl.EffectFailed:
					kept = append(kept, b.Transcript)
				case *pawl.AnswerIgnored:
					kept = append(kept, b.Transcript)
				}
			}
			if len(kept) != 1 {
				t.Fatalf("withdrawn %t: %d transcripts", withdrawn, len(kept))
			}
			if data, err := log.Blob(t.Context(), "001-small", kept[0]); err != nil || string(data) != "what it did" {
				t.Errorf("withdrawn %t: transcript %q, %v", withdrawn, data, err)
			}
		})
	}
}

// listener is a world whose turns of coding agents last until as many infos were heard as it waits for.
type listener struct {
	drivertest.World
	begun chan struct{}
	heard chan string
	waits int
}

func (l *listener) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	answer, blobs := l.World.Perform(ctx, job)
	b, ok := answer.(*pawl.ModelReplied)
	if !ok {
		return answer, blobs
	}
	b.Agent = &pawl.AgentTurned{Stop: pawl.AgentEnded, Tree: "tree"}
	if l.waits > 0 {
		close(l.begun)
		for range l.waits {
			l.heard <- <-job.Infos
		}
		b.Agent.Heard, l.waits = l.waits, 0
	}
	return answer, blobs
}

// Infos reach the turn of a coding agent that is being made, in their order.
func TestInfos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := drivertest.Started()
		var settings pawl.Settings
		if err := json.Unmarshal(started.Settings, &settings); err != nil {
			t.Fatal(err)
		}
		for i := range settings.Models {
			settings.Models[i].Agent, settings.Models[i].Hears = true, true
		}
		encoded, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		started.Settings = encoded
		world := &listener{begun: make(chan struct{}), heard: make(chan string, 2), waits: 2}
		left := make(chan error, 1)
		d := &local.Driver{Log: mem.New(), Performer: world, Left: func(_ pawl.RunID, err error) { left <- err }}
		t.Cleanup(d.Close)
		if err := d.Start(t.Context(), "001-small", started, nil); err != nil {
			t.Fatal(err)
		}
		<-world.begun
		s, err := local.Fold(t.Context(), d.Log, "001-small")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"one", "two"} {
			if err := d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerSignal, Signal: &pawl.Signaling{Signal: pawl.SignalInfo, To: s.Loop(1).ID, Text: text}}); err != nil {
				t.Fatal(err)
			}
			if got := <-world.heard; got != text {
				t.Errorf("the agent heard %q, want %q", got, text)
			}
		}
		if err := <-left; err != nil {
			t.Fatal(err)
		}
	})
}
