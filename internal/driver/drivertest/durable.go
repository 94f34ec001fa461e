package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"pawl"
	"pawl/internal/kernel"
)

// The tests in this file block every append and check what the driver has performed,
// reported and answered in the meantime. They check after [synctest.Wait], when a driver
// that acts too early has already acted.

const smallRun pawl.RunID = "001-small"

// HeldLog is a log whose appends block until the test completes or fails them. [Hold] makes
// one.
type HeldLog struct {
	pawl.Log
	Begun chan pawl.Unit // receives the unit of each append when the append begins
	Word  chan error     // the test sends nil to complete the append, or an error to fail it
}

// Hold returns a log that blocks every append to log until the test completes or fails it.
func Hold(log pawl.Log) *HeldLog {
	return &HeldLog{Log: log, Begun: make(chan pawl.Unit), Word: make(chan error)}
}

// Append implements [pawl.Log].
func (l *HeldLog) Append(ctx context.Context, u pawl.Unit) error {
	select {
	case l.Begun <- u:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-l.Word:
		if err != nil {
			return err
		}
		return l.Log.Append(ctx, u)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// observer records the calls of Observe and Left for the small run.
type observer struct {
	mu     sync.Mutex // guards the rest
	calls  int
	events []pawl.Event
	last   pawl.RunInfo
	left   []error // the errors that Left was called with
}

func (o *observer) observe(_ pawl.RunID, events []pawl.Event, info pawl.RunInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	o.events = append(o.events, events...)
	o.last = info
}

func (o *observer) leave(_ pawl.RunID, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = append(o.left, err)
}

// forgetLeft returns the errors that Left was called with, and clears them.
func (o *observer) forgetLeft() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.left
	o.left = nil
	return left
}

// heldRun is the small run under a driver with a [HeldLog].
type heldRun struct {
	tb    testing.TB
	log   *HeldLog
	world *World
	d     Driver
	seen  observer

	state    kernel.State // folded from the durable units
	requests []pawl.Seq   // the effects that the durable units request, except timers
}

func (s *suite) heldRun(tb testing.TB) *heldRun {
	h := &heldRun{
		tb:    tb,
		log:   Hold(s.newLog(tb)),
		world: &World{GateVerdict: failsTwice, Calls: 1},
	}
	h.open(s)
	return h
}

// open gives the run a new driver.
func (h *heldRun) open(s *suite) {
	h.d = s.newDriver(h.tb, Options{Log: h.log, Performer: h.world, Observe: h.seen.observe, Left: h.seen.leave})
	h.tb.Cleanup(h.d.Close)
}

func (h *heldRun) start() <-chan error {
	return ask(func() error { return h.d.Start(h.tb.Context(), smallRun, Started(), nil) })
}

func (h *heldRun) steer(verb pawl.SteerVerb) <-chan error {
	return ask(func() error { return h.d.Steer(h.tb.Context(), smallRun, pawl.Steering{Verb: verb}) })
}

// ask calls f in a goroutine and waits until nothing can go on. The channel receives the
// result of f.
func ask(f func() error) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- f() }()
	synctest.Wait()
	return answer
}

// next waits until an append is blocked and nothing else can go on, and returns its unit.
func (h *heldRun) next() pawl.Unit {
	h.tb.Helper()
	unit := receive(h.tb, h.log.Begun, "append")
	synctest.Wait()
	return unit
}

// letThrough completes the blocked append and waits until nothing can go on.
func (h *heldRun) letThrough(u pawl.Unit) {
	h.tb.Helper()
	h.log.Word <- nil
	synctest.Wait()
	for _, e := range u.Events {
		must(h.tb, kernel.Apply(&h.state, e))
		if b, ok := e.Body.(*pawl.EffectRequested); ok && b.Effect.Do.Verb() != pawl.VerbWait {
			h.requests = append(h.requests, e.Seq)
		}
	}
}

// letAllThrough completes appends until the run appends nothing more.
func (h *heldRun) letAllThrough() {
	h.tb.Helper()
	for {
		select {
		case u := <-h.log.Begun:
			h.letThrough(u)
		default:
			return
		}
	}
}

// check reports an error unless the driver has performed every effect whose request is
// durable once, has observed every durable event once, and has done nothing else.
func (h *heldRun) check(when string) {
	h.tb.Helper()
	performed := h.world.Performed(smallRun)
	for _, id := range h.requests {
		if n := performed[id]; n != 1 {
			h.tb.Errorf("%s: effect %d, whose request is durable, was performed %d times, want 1", when, id, n)
		}
		delete(performed, id)
	}
	for id := range performed {
		h.tb.Errorf("%s: effect %d was performed before its request was durable", when, id)
	}
	h.seen.mu.Lock()
	defer h.seen.mu.Unlock()
	for i, e := range h.seen.events {
		if e.Seq != pawl.Seq(i+1) {
			h.tb.Fatalf("%s: event %d was observed, want event %d", when, e.Seq, i+1)
		}
	}
	if n := pawl.Seq(len(h.seen.events)); n != h.state.Seq || h.seen.last.Seq != n {
		h.tb.Errorf("%s: %d events are durable; %d were observed, and the run's line is at event %d", when, h.state.Seq, n, h.seen.last.Seq)
	}
	if ended := h.state.Status == pawl.StatusEnded; ended != (len(h.seen.left) > 0) || len(h.seen.left) > 1 {
		h.tb.Errorf("%s: the run's end is durable: %t; Left was called %d times", when, ended, len(h.seen.left))
	}
	if h.tb.Failed() {
		h.tb.FailNow()
	}
}

// notAnswered fails the test if the driver has answered.
func notAnswered(tb testing.TB, answer <-chan error, what string) {
	tb.Helper()
	if len(answer) > 0 {
		tb.Fatalf("%s was answered with %v before its events were durable", what, <-answer)
	}
}

// answered returns the driver's answer. It fails the test if there is none.
func answered(tb testing.TB, answer <-chan error, what string) error {
	tb.Helper()
	if len(answer) == 0 {
		tb.Fatalf("%s was not answered", what)
	}
	return <-answer
}

// F-60: a driver performs, reports and answers nothing before the append of its unit has
// returned, and everything once afterwards.
func (s *suite) nothingBeforeItIsDurable(t *testing.T) { s.holdEveryAppend(t, 0) }

// F-60: a driver repeats an append that failed for lack of space. Until the append succeeds,
// nothing is performed, reported or answered.
func (s *suite) nothingBeforeARefusedAppendIsDurable(t *testing.T) { s.holdEveryAppend(t, 2) }

func (s *suite) holdEveryAppend(t *testing.T, refusals int) {
	h := s.heldRun(t)
	started := h.start()
	for h.state.Status != pawl.StatusEnded {
		unit := h.next()
		h.check("during an append")
		for range refusals {
			h.log.Word <- pawl.Errorf(pawl.CodeUnavailable, "no space left")
			if again := h.next(); !slices.Equal(again.Events, unit.Events) {
				t.Fatalf("events %d to %d were refused; the next append has other events", unit.After+1, int(unit.After)+len(unit.Events))
			}
			h.check("during a repeated append")
		}
		if unit.After > 0 {
			h.letThrough(unit)
		} else {
			notAnswered(t, started, "Start")
			h.letThrough(unit)
			must(t, answered(t, started, "Start"))
		}
		h.check("after an append")
	}
	if h.state.Outcome != pawl.OutcomeComplete || len(h.requests) < 20 {
		t.Errorf("the run ended %s with %d effects", h.state.Outcome, len(h.requests))
	}
}

// F-60: a command is answered after the events of all commands in its unit are durable.
// That includes a refused command: the reason for the refusal may be another command
// whose events are not durable yet.
func (s *suite) commandsWaitForTheirUnit(t *testing.T) {
	h := s.heldRun(t)
	refused, accepted := h.twoCommands()
	unit := h.next()
	h.check("during the commands' append")
	notAnswered(t, refused, "the refused command")
	notAnswered(t, accepted, "the accepted command")
	h.letThrough(unit)
	if err := answered(t, refused, "the refused command"); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("resuming a running run: %v", err)
	}
	must(t, answered(t, accepted, "the accepted command"))
	if h.state.Status != pawl.StatusPaused {
		t.Errorf("the unit left the run %s, want paused", h.state.Status)
	}
	h.check("after the commands' append")

	h.letAllThrough()
	calls := h.seen.calls // a command that leads to no events needs no append
	if err := answered(t, h.steer(pawl.SteerPause), "another refused command"); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("pausing a paused run: %v", err)
	}
	if h.seen.calls != calls {
		t.Error("a command that led to no events was observed")
	}
}

// twoCommands starts the run and gives it two commands while the append of its first unit
// is blocked. The second unit therefore contains both commands: resuming is refused and
// pausing is accepted.
func (h *heldRun) twoCommands() (refused, accepted <-chan error) {
	h.start()
	first := h.next()
	refused, accepted = h.steer(pawl.SteerResume), h.steer(pawl.SteerPause)
	h.letThrough(first)
	return refused, accepted
}

var errBroken = errors.New("the disk is gone")

// F-60: if the first unit of a run cannot be appended, Start returns the error, and nothing
// of the unit is performed or observed.
func (s *suite) nothingOfAFailedStart(t *testing.T) {
	h := s.heldRun(t)
	started := h.start()
	h.next()
	h.log.Word <- errBroken
	synctest.Wait()
	if err := answered(t, started, "Start"); !errors.Is(err, errBroken) {
		t.Errorf("Start: %v", err)
	}
	h.checkFailed()
}

// F-60: if the unit of two commands cannot be appended, both commands return the error,
// and nothing of the unit is performed or observed.
func (s *suite) nothingOfAFailedCommand(t *testing.T) {
	h := s.heldRun(t)
	refused, accepted := h.twoCommands()
	h.next()
	h.log.Word <- errBroken
	synctest.Wait()
	if err := answered(t, refused, "the refused command"); !errors.Is(err, errBroken) {
		t.Errorf("the refused command: %v", err)
	}
	if err := answered(t, accepted, "the accepted command"); !errors.Is(err, errBroken) {
		t.Errorf("the accepted command: %v", err)
	}
	h.checkFailed()
}

// checkFailed reports an error unless Left was called once with [errBroken] and the driver
// has performed and observed only what is durable.
func (h *heldRun) checkFailed() {
	h.tb.Helper()
	if left := h.seen.forgetLeft(); len(left) != 1 || !errors.Is(left[0], errBroken) {
		h.tb.Errorf("Left was called with %v, want once with %v", left, errBroken)
	}
	h.check("after a failed append")
}

// F-60: a driver that is closed during an append performs and observes nothing of its unit.
// Adopt returns after the events of the takeover are durable.
func (s *suite) closedDuringAnAppend(t *testing.T) {
	h := s.heldRun(t)
	h.start()
	h.letThrough(h.next())
	h.next()
	h.d.Close()
	h.seen.forgetLeft()
	h.check("after closing")

	h.open(s)
	adopted := ask(func() error { return h.d.Adopt(t.Context(), smallRun) })
	unit := h.next()
	h.check("during the append of the takeover")
	notAnswered(t, adopted, "Adopt")
	h.letThrough(unit)
	must(t, answered(t, adopted, "Adopt"))
	if n := len(h.seen.events); n != int(h.state.Seq) {
		t.Errorf("%d events are durable, %d were observed", h.state.Seq, n)
	}
}
