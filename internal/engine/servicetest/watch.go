package servicetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/driver"
)

func (s *suite) watch(t *testing.T) {
	t.Run("SeesEveryEventOnceFromAnywhere", s.watchAll)
	t.Run("OfAnEndedRunEnds", s.watchEnded)
	t.Run("GoesOnOverAPause", s.watchPaused)
	t.Run("ShowsLiveTextAfterItsRequest", s.watchLive)
	t.Run("SlowWatcherLosesLiveTextOnly", s.watchSlow)
	t.Run("EndsWithItsContext", s.watchContext)
	t.Run("EndsWhenItsReaderStops", s.watchStops)
	t.Run("StartsWhileTheRunEnds", s.watchRace)
	t.Run("UnknownRun", s.watchUnknown)
}

// follow watches a run to its end and says what was wrong with what it saw.
func follow(ctx context.Context, s pawl.Service, run pawl.RunID, after pawl.Seq) (last pawl.Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	next := after + 1
	for u, err := range s.Watch(ctx, run, after) {
		switch {
		case err != nil:
			return last, err
		case (u.Event == nil) == (u.Live == nil):
			return last, fmt.Errorf("an update with both or neither: %+v", u)
		case u.Live != nil && u.Live.Effect >= next:
			return last, fmt.Errorf("text of effect %d before event %d", u.Live.Effect, next)
		case u.Event != nil && (u.Event.Seq != next || u.Event.Run != run):
			return last, fmt.Errorf("event %d of %s where event %d was due", u.Event.Seq, u.Event.Run, next)
		case u.Event != nil:
			last = *u.Event
			next++
		}
	}
	return last, nil
}

func (s *suite) watchAll(t *testing.T) {
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	receive(t, begun, "effect")
	now := pawl.Seq(len(b.mustEvents(run, 0)))
	var wg sync.WaitGroup
	for after := range now + 3 { // some of them wait for what has not happened yet
		for range 2 {
			wg.Go(func() {
				last, err := follow(t.Context(), b, run, after)
				if err != nil {
					t.Errorf("after %d: %v", after, err)
				} else if _, ok := last.Body.(*pawl.RunEnded); !ok {
					t.Errorf("after %d: the last event is %d, %T", after, last.Seq, last.Body)
				}
			})
		}
	}
	letGo()
	wg.Wait()
}

func (s *suite) watchEnded(t *testing.T) {
	b := s.bed(t)
	run := b.mustStart("do it").ID
	b.mustRest(run)
	end := pawl.Seq(len(b.mustEvents(run, 0)))
	for after := range end + 2 {
		last, err := follow(t.Context(), b, run, after)
		if err != nil || after < end && last.Seq != end || after >= end && last.Seq != 0 {
			t.Errorf("after %d the last event is %d, %v; want %d", after, last.Seq, err, end)
		}
	}
}

func (s *suite) watchPaused(t *testing.T) {
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	receive(t, begun, "effect")
	paused, done := make(chan struct{}), make(chan error, 1)
	go func() {
		var end bool
		for u, err := range b.Watch(bounded(t), run, 0) {
			if err != nil {
				done <- err
				return
			}
			if u.Event != nil && isPause(*u.Event) {
				close(paused)
			}
			end = u.Event != nil && u.Event.Body.EventKind() == pawl.KindRunEnded
		}
		if !end {
			done <- errors.New("it ended before the run did")
		}
		close(done)
	}()
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerPause})
	receive(t, paused, "pause in the watched events")
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerResume})
	letGo()
	if err := receive(t, done, "end of the watched events"); err != nil {
		t.Error(err)
	}
}

func (s *suite) watchLive(t *testing.T) {
	b := s.bed(t)
	b.world.Before = func(_ context.Context, job driver.Job) { job.Live("said: ") }
	begun, letGo := b.holding(pawl.VerbCallTool)
	hold := b.world.Before
	heard := make(chan struct{})
	b.world.Before = func(ctx context.Context, job driver.Job) {
		if job.Effect.Do.Verb() == pawl.VerbCallTool {
			job.Live("<one> & ")
			job.Live("two\n")
		}
		hold(ctx, job)
	}
	run := b.mustStart("do it").ID
	job := receive(t, begun, "effect")
	go func() { // until both have arrived, more is said
		for {
			select {
			case <-heard:
				letGo()
				return
			default:
				job.Live("more")
			}
		}
	}()
	var text string
	var once sync.Once
	requested := false
	for u, err := range b.Watch(bounded(t), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case u.Event != nil && u.Event.Seq == job.Effect.ID:
			requested = true
		case u.Live != nil && !requested:
			t.Errorf("text before its effect was requested: %+v", u.Live)
		case u.Live != nil:
			if u.Live.Effect != job.Effect.ID || u.Live.Place != job.Effect.Place {
				t.Errorf("text of another effect: %+v", u.Live)
			}
			text += u.Live.Text
			once.Do(func() { close(heard) })
		}
	}
	if text == "" {
		t.Error("no text was heard")
	}
}

func (s *suite) watchSlow(t *testing.T) {
	const said = 20_000
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallTool)
	run := b.mustStart("do it").ID
	job := receive(t, begun, "effect")
	next, stopped := pawl.Seq(1), false
	live := 0
	for u, err := range b.Watch(bounded(t), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Live != nil {
			live++
			continue
		}
		if u.Event.Seq != next {
			t.Fatalf("event %d where event %d was due", u.Event.Seq, next)
		}
		if next++; next > job.Effect.ID && !stopped {
			stopped = true // while it does not read, the run goes on to its end
			for range said {
				job.Live("0123456789012345678901234567890123456789012345678901234567890123456789")
			}
			letGo()
			b.mustRest(run)
		}
	}
	if end := pawl.Seq(len(b.mustEvents(run, 0))) + 1; next != end {
		t.Errorf("it ended before event %d of %d", next, end-1)
	}
	if live >= said {
		t.Errorf("all %d pieces of text were kept for a watcher that did not read", live)
	}
}

func (s *suite) watchContext(t *testing.T) {
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	job := receive(t, begun, "effect")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for u, err := range b.Watch(ctx, run, 0) {
		if last = err; u.Event != nil && u.Event.Seq == job.Effect.ID {
			cancel() // there is nothing more to see
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("it ended with %v", last)
	}
	letGo()
	b.mustRest(run)
}

func (s *suite) watchStops(t *testing.T) {
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	receive(t, begun, "effect")
	for range 10 {
		for range b.Watch(bounded(t), run, 0) {
			break
		}
	}
	letGo()
	b.mustRest(run)
}

// Watchers that begin at any moment of a run's last events see its end.
func (s *suite) watchRace(t *testing.T) {
	b := s.bed(t)
	for round := range 20 {
		begun, letGo := b.holding(pawl.VerbCloseWorkspace)
		run := b.mustStart("do it").ID
		receive(t, begun, "effect")
		var started atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if int(started.Add(1)) == 1+round%8 {
					letGo()
				}
				last, err := follow(t.Context(), b, run, pawl.Seq(i))
				if _, ok := last.Body.(*pawl.RunEnded); !ok || err != nil {
					t.Errorf("the last event is %d, %T: %v", last.Seq, last.Body, err)
				}
			})
		}
		wg.Wait()
	}
}

func (s *suite) watchUnknown(t *testing.T) {
	b := s.bed(t)
	_, err := follow(t.Context(), b, "007-nobody", 0)
	b.mustBe(err, pawl.CodeNotFound, false)
}
