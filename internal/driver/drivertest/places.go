package drivertest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"pawl"
	"pawl/internal/driver"
)

// desk is places as a test wants them. It counts what is taken and given back.
type desk struct {
	// take is asked for every effect; nil gives places at once.
	take func(ctx context.Context, job driver.Job) error

	mu     sync.Mutex // guards the rest
	held   map[pawl.Seq]bool
	given  map[pawl.Seq]pawl.Answer
	twice  int
	wanted int
}

// Take implements [driver.Places].
func (d *desk) Take(ctx context.Context, job driver.Job) (func(pawl.Answer), error) {
	if d.take != nil {
		if err := d.take(ctx, job); err != nil {
			return nil, err
		}
	}
	id := job.Effect.ID
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		d.held, d.given = map[pawl.Seq]bool{}, map[pawl.Seq]pawl.Answer{}
	}
	d.held[id] = true
	return func(a pawl.Answer) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.held[id] {
			d.twice++
		}
		delete(d.held, id)
		d.given[id] = a
	}, nil
}

// Waits implements [driver.Places].
func (d *desk) Waits(job driver.Job) (pawl.PoolLoad, bool) {
	return pawl.PoolLoad{Name: "lane:heavy", Slots: 1, Used: 1, Waiting: 1}, !d.holds(job.Effect.ID)
}

// Wanted implements [driver.Places].
func (d *desk) Wanted() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted++
}

func (d *desk) holds(id pawl.Seq) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[id]
}

// waiting are places that effects of one verb do not get before they are withdrawn.
func waiting(verb pawl.Verb) (d *desk, waits <-chan driver.Job) {
	w := make(chan driver.Job, 8)
	return &desk{take: func(ctx context.Context, job driver.Job) error {
		if job.Effect.Do.Verb() != verb {
			return nil
		}
		w <- job
		<-ctx.Done()
		return ctx.Err()
	}}, w
}

func (s *suite) placesComeFirst(t *testing.T) {
	d := &desk{}
	w := &World{Calls: 2, Before: func(_ context.Context, job driver.Job) {
		if !d.holds(job.Effect.ID) {
			t.Errorf("effect %d (%s) is performed and has no places", job.Effect.ID, job.Effect.Do.Verb())
		}
	}}
	b := s.bedWith(t, s.newLog(t), w, d)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	must(t, b.atRest("001-small"))
	if got := b.state("001-small").Outcome; got != pawl.OutcomeComplete {
		t.Errorf("outcome %s", got)
	}
}

// Each effect gives its places back once, with its answer; also one whose performer has
// a defect.
func (s *suite) placesGivenBack(t *testing.T) {
	d := &desk{}
	broken := map[pawl.Seq]bool{} // commits come one at a time
	w := &World{Calls: 2, GateVerdict: failsTwice, Before: func(_ context.Context, job driver.Job) {
		if job.Effect.Place.Iteration == 3 && job.Effect.Do.Verb() == pawl.VerbCommit {
			broken[job.Effect.ID] = true
			panic("a defect")
		}
	}}
	b := s.bedWith(t, s.newLog(t), w, d)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	must(t, b.atRest("001-small"))
	b.d.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.held) > 0 || d.twice > 0 || len(d.given) < 20 {
		t.Errorf("%d places are not given back, %d twice, %d once", len(d.held), d.twice, len(d.given))
	}
	for id, a := range d.given {
		switch {
		case broken[id] && a != nil:
			t.Error("a defect gave an answer")
		case !broken[id] && (a == nil || a.Answers() != id):
			t.Errorf("effect %d gave its places back with %v", id, a)
		}
	}
}

// An effect's time begins when it has its places.
func (s *suite) waitingIsFree(t *testing.T) {
	var mu sync.Mutex
	timed := 0
	d := &desk{take: func(ctx context.Context, job driver.Job) error {
		if _, has := ctx.Deadline(); has {
			t.Errorf("the time of effect %d runs while it waits for places", job.Effect.ID)
		}
		return nil
	}}
	w := &World{Before: func(ctx context.Context, job driver.Job) {
		_, has := ctx.Deadline()
		mu.Lock()
		defer mu.Unlock()
		if has && job.Effect.Timeout > 0 {
			timed++
		}
	}}
	b := s.bedWith(t, s.newLog(t), w, d)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	must(t, b.atRest("001-small"))
	if timed == 0 {
		t.Error("no effect had a time of its own")
	}
}

func (s *suite) withdrawnWhileItWaits(t *testing.T) {
	d, waits := waiting(pawl.VerbCallModel)
	w := &World{}
	b := s.bedWith(t, s.newLog(t), w, d)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	job := receive(t, waits, "model call")
	must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}))
	must(t, b.atRest("001-small"))
	if got := b.state("001-small").Outcome; got != pawl.OutcomeCancelled {
		t.Errorf("outcome %s, want cancelled", got)
	}
	if n := w.Performed("001-small")[job.Effect.ID]; n != 0 {
		t.Errorf("what waited for places was performed %d times", n)
	}
}

// An effect that is withdrawn just before it receives its places returns them and is not
// performed.
func (s *suite) placesTooLate(t *testing.T) {
	late := make(chan struct{}, 1)
	d := &desk{take: func(ctx context.Context, job driver.Job) error {
		if job.Effect.Do.Verb() == pawl.VerbCallModel {
			late <- struct{}{}
			<-ctx.Done()
		}
		return nil
	}}
	w := &World{}
	b := s.bedWith(t, s.newLog(t), w, d)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	receive(t, late, "model call")
	must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}))
	must(t, b.atRest("001-small"))
	synctest.Wait()
	for e, err := range b.log.Events(t.Context(), "001-small", 0) {
		must(t, err)
		if r, ok := e.Body.(*pawl.EffectRequested); ok && r.Effect.Do.Verb() == pawl.VerbCallModel && w.Performed("001-small")[e.Seq] > 0 {
			t.Error("the withdrawn model call was performed")
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.held) > 0 {
		t.Errorf("%d places were not given back", len(d.held))
	}
}

// Whoever waits for places does not keep a driver from closing, and is asked for again.
func (s *suite) closesWhileItWaits(t *testing.T) {
	d, waits := waiting(pawl.VerbRunGate)
	log, w := s.newLog(t), &World{}
	b := s.bedWith(t, log, w, d)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	receive(t, waits, "gate")
	b.d.Close()
	after := s.bed(t, log, w)
	must(t, after.d.Adopt(t.Context(), "001-small"))
	must(t, after.atRest("001-small"))
	if got := after.state("001-small").Outcome; got != pawl.OutcomeComplete {
		t.Errorf("outcome %s", got)
	}
}

// A call that is known to fail is answered with that, and not sent: it costs nothing, whatever
// the error says of that. F-38
func (s *suite) notWorthSending(t *testing.T) {
	d := &desk{take: func(_ context.Context, job driver.Job) error {
		if job.Effect.Do.Verb() == pawl.VerbCallModel {
			return &pawl.ModelError{Kind: pawl.ModelQuota, Message: "nothing is left"}
		}
		return nil
	}}
	w := &World{Before: func(_ context.Context, job driver.Job) {
		if job.Effect.Do.Verb() == pawl.VerbCallModel {
			t.Error("it is sent anyway")
		}
	}}
	b := s.bedWith(t, s.newLog(t), w, d)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	must(t, b.atRest("001-small"))
	st := b.state("001-small")
	if st.Outcome != pawl.OutcomeHalted || st.Spent.Tokens != 0 {
		t.Errorf("outcome %s, %d tokens spent", st.Outcome, st.Spent.Tokens)
	}
	for e, err := range b.log.Events(t.Context(), "001-small", 0) {
		must(t, err)
		if f, ok := e.Body.(*pawl.EffectFailed); ok && (f.Failure.Code != pawl.FailureCode(pawl.ModelQuota) || !f.Failure.Unsent || f.Failure.Message != "nothing is left") {
			t.Errorf("it failed with %+v", f.Failure)
		}
	}
}

// Places hear that a person starts or resumes a run, and of no other command.
func (s *suite) aPersonIsWanted(t *testing.T) {
	d := &desk{}
	wanted := func(want int, after string) {
		t.Helper()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.wanted != want {
			t.Errorf("after %s Wanted was called %d times, want %d", after, d.wanted, want)
		}
	}
	w, held, letGo := holding(pawl.VerbCallModel)
	b := s.bedWith(t, s.newLog(t), w, d)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	receive(t, held, "model call")
	wanted(1, "the start")
	must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerPause}))
	wanted(1, "the pause")
	must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerResume}))
	wanted(2, "the resumption")
	close(letGo)
	must(t, b.atRest("001-small"))
}
