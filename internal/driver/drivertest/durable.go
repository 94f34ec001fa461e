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

// The tests in this file hold every append and look at what the run has let out while the
// append has not returned. Whatever a driver does too early it has done when
// [synctest.Wait] returns.

const smallRun pawl.RunID = "001-small"

// HeldLog is a log whose appends wait for a word from the test. Make one with [Hold].
type HeldLog struct {
	pawl.Log
	Begun chan pawl.Unit // receives each append as it begins
	Word  chan error     // nil lets the append through, an error fails it
}

// Hold makes the appends to a log wait for the test.
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

// observer records what a driver shows of the small run.
type observer struct {
	mu     sync.Mutex // guards the rest
	calls  int
	events []pawl.Event
	last   pawl.RunInfo
	left   []error
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

// forgetLeft returns what Left was called with, and starts anew.
func (o *observer) forgetLeft() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.left
	o.left = nil
	return left
}

// heldRun is the small run under a driver whose appends are held.
type heldRun struct {
	tb    testing.TB
	log   *HeldLog
	world *World
	d     Driver
	seen  observer

	state    kernel.State // folded from the units that were let through
	requests []pawl.Seq   // the effects they request, but for timers
}

func (s *suite) heldRun(tb testing.TB) *heldRun {
	h := &heldRun{
		tb:    tb,
		log:   Hold(s.newLog(tb)),
		world: &World{GateVerdict: failsTwice, Calls: 1},
	}
	h.d = s.newDriver(tb, Options{Log: h.log, Performer: h.world, Observe: h.seen.observe, Left: h.seen.leave})
	tb.Cleanup(h.d.Close)
	return h
}

func (h *heldRun) start() <-chan error {
	return ask(func() error { return h.d.Start(h.tb.Context(), smallRun, Started(), nil) })
}

func (h *heldRun) steer(verb pawl.SteerVerb) <-chan error {
	return ask(func() error { return h.d.Steer(h.tb.Context(), smallRun, pawl.Steering{Verb: verb}) })
}

// ask asks a driver for something. The channel has the driver's answer once there is one.
func ask(f func() error) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- f() }()
	synctest.Wait()
	return answer
}

// next waits until an append is held and nothing else can go on.
func (h *heldRun) next() pawl.Unit {
	h.tb.Helper()
	unit := receive(h.tb, h.log.Begun, "append")
	synctest.Wait()
	return unit
}

// letThrough makes the held unit durable and waits until everything that follows is held too.
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

// letAllThrough lets appends through until the run has nothing more to do.
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

// check compares what the driver has performed and shown with what is durable: all of that
// once, and nothing else.
func (h *heldRun) check(when string) {
	h.tb.Helper()
	performed := h.world.Performed(smallRun)
	for _, id := range h.requests {
		if n := performed[id]; n != 1 {
			h.tb.Errorf("%s: effect %d, whose request is durable, was performed %d times", when, id, n)
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
			h.tb.Fatalf("%s: event %d was observed where event %d belongs", when, e.Seq, i+1)
		}
	}
	if n := pawl.Seq(len(h.seen.events)); n != h.state.Seq || h.seen.last.Seq != n {
		h.tb.Errorf("%s: %d events are durable, %d were observed with the run's line at event %d", when, h.state.Seq, n, h.seen.last.Seq)
	}
	if ended := h.state.Status == pawl.StatusEnded; ended != (len(h.seen.left) > 0) || len(h.seen.left) > 1 {
		h.tb.Errorf("%s: the run's end is durable: %t; Left was called %d times", when, ended, len(h.seen.left))
	}
	if h.tb.Failed() {
		h.tb.FailNow()
	}
}

// notAnswered fails when a driver has answered.
func notAnswered(tb testing.TB, answer <-chan error, what string) {
	tb.Helper()
	if len(answer) > 0 {
		tb.Fatalf("%s was answered with %v before its events were durable", what, <-answer)
	}
}

// answered returns what a driver has answered, and fails when it has not.
func answered(tb testing.TB, answer <-chan error, what string) error {
	tb.Helper()
	if len(answer) == 0 {
		tb.Fatalf("%s was not answered", what)
	}
	return <-answer
}

// F-60: nothing is performed, observed or answered while its append has not returned, and
// each happens once when it has.
func (s *suite) nothingBeforeItIsDurable(t *testing.T) { s.holdEveryAppend(t, 0) }

// F-60: appends that fail for want of space are tried again, and let nothing out.
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
				t.Fatalf("events %d to %d were refused; the next append has other ones", unit.After+1, int(unit.After)+len(unit.Events))
			}
			h.check("during an append that was refused before")
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

// F-60: whoever gives a command hears nothing before what follows from all commands of the
// same unit is durable. That holds for a refused one too: it may be refused because of
// another one that is not durable yet.
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
	calls := h.seen.calls // a command without events needs no append, and shows nothing
	if err := answered(t, h.steer(pawl.SteerPause), "another refused command"); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("pausing a paused run: %v", err)
	}
	if h.seen.calls != calls {
		t.Error("a command without events was shown")
	}
}

// twoCommands starts the run and gives it two commands while its first unit is held, so
// that the second unit has both: resuming is refused, pausing is not.
func (h *heldRun) twoCommands() (refused, accepted <-chan error) {
	h.start()
	first := h.next()
	refused, accepted = h.steer(pawl.SteerResume), h.steer(pawl.SteerPause)
	h.letThrough(first)
	return refused, accepted
}

var errBroken = errors.New("the disk is gone")

// F-60: of a unit that cannot be appended nothing is performed or observed, and whoever
// asked for it hears why.
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

// F-60
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

// checkFailed checks that the run was given up, and let nothing out that is not durable.
func (h *heldRun) checkFailed() {
	h.tb.Helper()
	if left := h.seen.forgetLeft(); len(left) != 1 || !errors.Is(left[0], errBroken) {
		h.tb.Errorf("Left was called with %v, want once with %v", left, errBroken)
	}
	h.check("after a failed append")
}

// F-60: a driver that is closed during an append lets nothing of it out, and whoever has
// the run taken over hears so when that is durable.
func (s *suite) closedDuringAnAppend(t *testing.T) {
	h := s.heldRun(t)
	h.start()
	h.letThrough(h.next())
	h.next()
	h.d.Close()
	h.seen.forgetLeft()
	h.check("after closing")

	h.d = s.newDriver(t, Options{Log: h.log, Performer: h.world, Observe: h.seen.observe, Left: h.seen.leave})
	t.Cleanup(h.d.Close)
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
