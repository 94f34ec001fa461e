// Package drivertest is the suite every driver passes: what is performed was
// durable first, each effect is answered once, a run that was cut off anywhere
// goes on and ends the same, a command is obeyed or refused whole, and one run's
// trouble is not another's.
package drivertest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel"
)

// Driver is what the suite needs of a driver.
type Driver interface {
	Start(ctx context.Context, id pawl.RunID, started *pawl.RunStarted, blobs []pawl.Blob) error
	Adopt(ctx context.Context, id pawl.RunID, first ...pawl.Steering) error
	Steer(ctx context.Context, id pawl.RunID, in pawl.Steering) error
	Close()
}

// Options are what a driver under test is made with.
type Options struct {
	Log       pawl.Log
	Performer driver.Performer
	// Places say when an effect may be performed; nil means at once.
	Places driver.Places
	// Observe must be called with every event once, in order, after the event is durable.
	// The info is the run's line after these events. Observe may be nil.
	Observe func(run pawl.RunID, events []pawl.Event, info pawl.RunInfo)
	// Left must be told when a run comes to rest, and why.
	Left func(run pawl.RunID, err error)
}

// Run runs the suite. Every test runs in a synctest bubble, where time advances only when
// every goroutine is blocked, so a driver that hangs fails at once. The log must therefore
// be in memory, and the driver must block only on channels, timers and the like.
func Run(t *testing.T, newLog func(testing.TB) pawl.Log, newDriver func(testing.TB, Options) Driver) {
	s := &suite{newLog: newLog, newDriver: newDriver}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"RunsToTheEnd", s.runsToTheEnd},
		{"PerformsOnlyWhatIsDurable", s.performsOnlyWhatIsDurable},
		{"NothingBeforeItIsDurable", s.nothingBeforeItIsDurable},
		{"NothingBeforeARefusedAppendIsDurable", s.nothingBeforeARefusedAppendIsDurable},
		{"CommandsWaitForTheirUnit", s.commandsWaitForTheirUnit},
		{"FailedStartShowsNothing", s.nothingOfAFailedStart},
		{"FailedCommandShowsNothing", s.nothingOfAFailedCommand},
		{"ClosedDuringAnAppend", s.closedDuringAnAppend},
		{"CutOffAnywhereEndsTheSame", s.cutOffAnywhere},
		{"RefusedCommandChangesNothing", s.refused},
		{"RefusedStartLeavesNoRun", s.refusedStart},
		{"PausedRunWaits", s.paused},
		{"AdoptedWithACommand", s.adoptedWithCommand},
		{"AdoptedWithARefusedCommand", s.adoptedWithRefusedCommand},
		{"WithdrawnEffectIsCancelled", s.withdrawn},
		{"ResumesAnEndedRun", s.resumesEnded},
		{"AnswerInWordsIsABlob", s.answered},
		{"DefectOfThePerformerIsAnAnswer", s.defect},
		{"StoreWithoutSpaceIsWaitedFor", s.noSpace},
		{"CommandWithoutSpaceIsToldAndTakenLater", s.commandWithoutSpace},
		{"DamageStopsOneRunOnly", s.damage},
		{"ManyAtOnce", s.many},
		{"PlacesComeFirst", s.placesComeFirst},
		{"PlacesAreGivenBackOnce", s.placesGivenBack},
		{"WaitingIsNotTheEffectsTime", s.waitingIsFree},
		{"WithdrawnWhileItWaits", s.withdrawnWhileItWaits},
		{"PlacesAfterWithdrawal", s.placesTooLate},
		{"ClosesWhileItWaits", s.closesWhileItWaits},
		{"NotWorthSending", s.notWorthSending},
		{"APersonIsWanted", s.aPersonIsWanted},
	} {
		t.Run(test.name, func(t *testing.T) { synctest.Test(t, test.run) })
	}
}

type suite struct {
	newLog    func(testing.TB) pawl.Log
	newDriver func(testing.TB, Options) Driver
}

// bed is one driver with its log and the runs that came to rest.
type bed struct {
	tb  testing.TB
	log pawl.Log
	d   Driver

	mu   sync.Mutex // guards left
	left map[pawl.RunID]chan error
}

func (s *suite) bed(tb testing.TB, log pawl.Log, p driver.Performer) *bed {
	return s.bedWith(tb, log, p, nil)
}

func (s *suite) bedWith(tb testing.TB, log pawl.Log, p driver.Performer, places driver.Places) *bed {
	b := &bed{tb: tb, log: log, left: map[pawl.RunID]chan error{}}
	b.d = s.newDriver(tb, Options{Log: log, Performer: p, Places: places, Left: func(run pawl.RunID, err error) {
		b.leftCalls(run) <- err
	}})
	tb.Cleanup(b.d.Close)
	return b
}

// leftCalls returns the channel that receives the error of each call of Left for a run.
func (b *bed) leftCalls(run pawl.RunID) chan error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left[run] == nil {
		b.left[run] = make(chan error, 8)
	}
	return b.left[run]
}

// atRest waits until Left is called for the run, and returns the error of the call.
func (b *bed) atRest(run pawl.RunID) error {
	b.tb.Helper()
	return receive(b.tb, b.leftCalls(run), fmt.Sprintf("call of Left for run %s", run))
}

func (b *bed) state(run pawl.RunID) *kernel.State {
	b.tb.Helper()
	st := &kernel.State{}
	for e, err := range b.log.Events(context.Background(), run, 0) {
		if err == nil {
			err = kernel.Apply(st, e)
		}
		if err != nil {
			b.tb.Fatal(err)
		}
	}
	return st
}

// verdicts tells what each iteration came to, and how the run ended.
func (b *bed) verdicts(run pawl.RunID) string {
	b.tb.Helper()
	var out string
	for e, err := range b.log.Events(context.Background(), run, 0) {
		if err != nil {
			b.tb.Fatal(err)
		}
		switch x := e.Body.(type) {
		case *pawl.IterationEnded:
			out += fmt.Sprintf("%d %s %s %s %s; ", x.N, x.Quality, x.Requirements, x.Decision, x.Commit)
		case *pawl.RunEnded:
			out += fmt.Sprintf("ended %s", x.Outcome)
		}
	}
	return out
}

// failsTwice fails the first two iterations.
func failsTwice(iteration int, gate string) pawl.Verdict {
	if iteration <= 2 && gate == "tests" {
		return pawl.VerdictFail
	}
	return pawl.VerdictPass
}

const failsTwiceEnds = "1 fail pass iterate commit-1; 2 fail pass escalate commit-2; 3 pass pass complete commit-3; ended complete"

func (s *suite) runsToTheEnd(t *testing.T) {
	b := s.bed(t, s.newLog(t), &World{GateVerdict: failsTwice, Calls: 2})
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	must(t, b.atRest("001-small"))
	if got := b.verdicts("001-small"); got != failsTwiceEnds {
		t.Errorf("got  %s\nwant %s", got, failsTwiceEnds)
	}
	runs, err := b.log.Runs(t.Context())
	must(t, err)
	if len(runs) != 1 || runs[0].Status != pawl.StatusEnded || runs[0].Outcome != pawl.OutcomeComplete || runs[0].Iteration != 3 {
		t.Errorf("the log lists the run as %+v", runs)
	}
}

func (s *suite) performsOnlyWhatIsDurable(t *testing.T) {
	log := s.newLog(t)
	var early atomic.Int32
	w := &World{Calls: 1}
	w.Before = func(ctx context.Context, job driver.Job) {
		var last pawl.Event
		n := pawl.Seq(0)
		for e, err := range job.Events(ctx) {
			if err != nil {
				t.Error(err)
			}
			last = e
			n++
		}
		if last.Seq != job.Effect.ID || n != last.Seq || last.Body.EventKind() != pawl.KindEffectRequested {
			early.Add(1)
		}
	}
	b := s.bed(t, log, w)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	must(t, b.atRest("001-small"))
	if n := early.Load(); n > 0 {
		t.Errorf("%d effects began before their request was in the log", n)
	}
	for id, n := range w.Performed("001-small") {
		if n != 1 {
			t.Errorf("effect %d was performed %d times without a crash", id, n)
		}
	}
}

// cutOffAnywhere closes the driver while the n-th effect is under way, for every
// n, and lets another one take over. Again is then true for the effects that were
// pending and for no other effect (F-62).
func (s *suite) cutOffAnywhere(t *testing.T) {
	again := 0
	for n := int32(1); ; n++ {
		log := s.newLog(t)
		var begun atomic.Int32
		w := &World{GateVerdict: failsTwice, Calls: 1}
		w.Before = func(ctx context.Context, job driver.Job) {
			if job.Again {
				t.Errorf("effect %d has Again set without a crash", job.Effect.ID)
			}
			if begun.Add(1) == n {
				<-ctx.Done() // the driver goes while this is under way
			}
		}
		b := s.bed(t, log, w)
		must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
		synctest.Wait()
		if begun.Load() < n {
			must(t, b.atRest("001-small"))
			if n < 20 || again < 10 {
				t.Errorf("the run had only %d effects, and only %d were performed again", n, again)
			}
			return
		}
		b.d.Close()
		var mu sync.Mutex
		pending := map[pawl.Seq]bool{}
		for _, f := range kernel.Pending(b.state("001-small")) {
			pending[f.ID] = true
		}
		w.Before = func(_ context.Context, job driver.Job) {
			mu.Lock()
			defer mu.Unlock()
			if id := job.Effect.ID; job.Again != pending[id] {
				t.Errorf("cut off in effect %d: effect %d has Again %[4]t, and pending is %[3]t", n, id, pending[id], job.Again)
			}
			if job.Again {
				again++
			}
		}
		after := s.bed(t, log, w)
		must(t, after.d.Adopt(t.Context(), "001-small"))
		must(t, after.atRest("001-small"))
		if got := after.verdicts("001-small"); got != failsTwiceEnds {
			t.Errorf("cut off in effect %d:\ngot  %s\nwant %s", n, got, failsTwiceEnds)
		}
		after.d.Close()
	}
}

// holding is a world that holds effects of one verb until they are let go.
func holding(verb pawl.Verb) (w *World, held <-chan driver.Job, letGo chan<- struct{}) {
	h, g := make(chan driver.Job, 8), make(chan struct{}, 8)
	w = &World{Before: func(ctx context.Context, job driver.Job) {
		if job.Effect.Do.Verb() != verb {
			return
		}
		h <- job
		select {
		case <-g:
		case <-ctx.Done():
		}
	}}
	return w, h, g
}

func (s *suite) refused(t *testing.T) {
	w, held, letGo := holding(pawl.VerbCallModel)
	b := s.bed(t, s.newLog(t), w)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	receive(t, held, "model call")
	before := b.state("001-small").Seq
	err := b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerResume})
	if pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("resuming a running run: %v", err)
	}
	if after := b.state("001-small").Seq; after != before {
		t.Errorf("a refused command appended %d events", after-before)
	}
	close(letGo)
	must(t, b.atRest("001-small"))
}

// A run whose start is refused is not driven. Another run can start under its id.
func (s *suite) refusedStart(t *testing.T) {
	b := s.bed(t, s.newLog(t), &World{})
	err := b.d.Start(t.Context(), "001-small", nil, nil)
	if pawl.CodeOf(err) != pawl.CodeInternal {
		t.Errorf("Start without an event: %v", err)
	}
	if why := b.atRest("001-small"); why == nil || why.Error() != err.Error() {
		t.Errorf("Left was called with %v, want %v", why, err)
	}
	synctest.Wait()
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	must(t, b.atRest("001-small"))
}

// cutOff returns a log with a run whose driver was closed during the first model call.
func (s *suite) cutOff(t *testing.T) pawl.Log {
	t.Helper()
	log := s.newLog(t)
	w, held, _ := holding(pawl.VerbCallModel)
	b := s.bed(t, log, w)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	receive(t, held, "model call")
	b.d.Close()
	return log
}

// A command that comes with a takeover applies before any effect begins.
func (s *suite) adoptedWithCommand(t *testing.T) {
	for name, command := range map[string]func(d Driver, in pawl.Steering) error{
		"Adopt": func(d Driver, in pawl.Steering) error { return d.Adopt(t.Context(), "001-small", in) },
		"Steer": func(d Driver, in pawl.Steering) error { return d.Steer(t.Context(), "001-small", in) },
	} {
		w := &World{}
		b := s.bed(t, s.cutOff(t), w)
		must(t, command(b.d, pawl.Steering{Verb: pawl.SteerPause}))
		synctest.Wait()
		if st := b.state("001-small"); st.Status != pawl.StatusPaused || len(w.Performed("001-small")) > 0 {
			t.Errorf("%s: the run is %s with %d effects begun, want paused with none", name, st.Status, len(w.Performed("001-small")))
		}
		must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerResume}))
		must(t, b.atRest("001-small"))
	}
}

// A refused command does not prevent the takeover of the run.
func (s *suite) adoptedWithRefusedCommand(t *testing.T) {
	b := s.bed(t, s.cutOff(t), &World{})
	err := b.d.Adopt(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerResume})
	if pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("resuming a running run: %v", err)
	}
	must(t, b.atRest("001-small"))
	if got := b.state("001-small").Outcome; got != pawl.OutcomeComplete {
		t.Errorf("outcome %s", got)
	}
}

func (s *suite) paused(t *testing.T) {
	w, held, letGo := holding(pawl.VerbCallModel)
	b := s.bed(t, s.newLog(t), w)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	receive(t, held, "model call")
	must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerPause}))
	letGo <- struct{}{}
	synctest.Wait() // the active call ends
	if n := len(kernel.Pending(b.state("001-small"))); n > 0 {
		t.Errorf("%d effects are pending, want 0", n)
	}
	if st := b.state("001-small"); st.Status != pawl.StatusPaused {
		t.Errorf("status %s, want paused", st.Status)
	}
	must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerResume}))
	close(letGo)
	must(t, b.atRest("001-small"))
	if got := b.state("001-small").Outcome; got != pawl.OutcomeComplete {
		t.Errorf("outcome %s", got)
	}
}

// The driver drops the answer of a withdrawn effect.
func (s *suite) withdrawn(t *testing.T) {
	closing := make(chan struct{})
	w, held, _ := holding(pawl.VerbCallModel)
	ended := make(chan struct{}, 1)
	hold := w.Before
	w.Before = func(ctx context.Context, job driver.Job) {
		if job.Effect.Do.Verb() == pawl.VerbCloseWorkspace {
			<-closing
		}
		hold(ctx, job)
		if ctx.Err() != nil {
			ended <- struct{}{}
		}
	}
	b := s.bed(t, s.newLog(t), w)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	receive(t, held, "model call")
	must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}))
	receive(t, ended, "cancelled effect")
	synctest.Wait() // the effect has answered
	close(closing)
	must(t, b.atRest("001-small"))
	if got := b.state("001-small").Outcome; got != pawl.OutcomeCancelled {
		t.Errorf("outcome %s, want cancelled", got)
	}
	for e, err := range b.log.Events(t.Context(), "001-small", 0) {
		must(t, err)
		if e.Body.EventKind() == pawl.KindAnswerIgnored {
			t.Errorf("event %d: the run received the answer of the withdrawn effect", e.Seq)
		}
	}
}

func (s *suite) resumesEnded(t *testing.T) {
	w := &World{GateVerdict: func(n int, _ string) pawl.Verdict {
		if n <= 4 {
			return pawl.VerdictFail
		}
		return pawl.VerdictPass
	}}
	b := s.bed(t, s.newLog(t), w)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	must(t, b.atRest("001-small"))
	if got := b.state("001-small").Outcome; got != pawl.OutcomeBlocked {
		t.Fatalf("outcome %s, want blocked", got)
	}
	must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerResume}))
	must(t, b.atRest("001-small"))
	if got := b.state("001-small").Outcome; got != pawl.OutcomeComplete {
		t.Errorf("outcome %s after resuming, want complete", got)
	}
}

// hearing is a log that passes on the questions that are asked.
type hearing struct {
	pawl.Log
	asked chan *pawl.QuestionAsked
}

func (h hearing) Append(ctx context.Context, u pawl.Unit) error {
	err := h.Log.Append(ctx, u)
	for _, e := range u.Events {
		if q, ok := e.Body.(*pawl.QuestionAsked); ok && err == nil {
			h.asked <- q
		}
	}
	return err
}

// answered gives an answer in words, which prompts read as a blob.
func (s *suite) answered(t *testing.T) {
	log := hearing{s.newLog(t), make(chan *pawl.QuestionAsked, 1)}
	b := s.bed(t, log, &World{GateVerdict: func(int, string) pawl.Verdict { return pawl.VerdictFail }})
	must(t, b.d.Start(t.Context(), "001-small", Asking(), nil))
	question := receive(t, log.asked, "question")
	const text = "no: \"it\" is\nhopeless"
	reply := &pawl.Reply{Question: question.N, Choice: question.Choices[len(question.Choices)-1], Text: text, About: question.About}
	must(t, b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerAnswer, Answer: reply}))
	must(t, b.atRest("001-small"))
	for e, err := range log.Events(t.Context(), "001-small", 0) {
		must(t, err)
		if a, ok := e.Body.(*pawl.QuestionAnswered); ok {
			data, err := log.Blob(t.Context(), "001-small", a.Said)
			if string(data) != text || err != nil {
				t.Errorf("what was said is %q, %v", data, err)
			}
			return
		}
	}
	t.Error("the answer is no event")
}

func (s *suite) defect(t *testing.T) {
	w := &World{Before: func(_ context.Context, job driver.Job) {
		if job.Effect.Do.Verb() == pawl.VerbAssemblePrompt {
			panic("a defect")
		}
	}}
	b := s.bed(t, s.newLog(t), w)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	must(t, b.atRest("001-small"))
	if st := b.state("001-small"); st.Outcome != pawl.OutcomeFailed {
		t.Errorf("outcome %s (%s), want failed", st.Outcome, st.Reason)
	}
}

// fullLog refuses a number of appends for want of space.
type fullLog struct {
	pawl.Log
	refuse atomic.Int32
}

func (l *fullLog) Append(ctx context.Context, u pawl.Unit) error {
	if l.refuse.Add(-1) >= 0 {
		return pawl.Errorf(pawl.CodeUnavailable, "no space left")
	}
	return l.Log.Append(ctx, u)
}

func (s *suite) noSpace(t *testing.T) {
	log := &fullLog{Log: s.newLog(t)}
	w, held, letGo := holding(pawl.VerbCallModel)
	b := s.bed(t, log, w)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	receive(t, held, "model call")
	log.refuse.Store(3)
	close(letGo)
	must(t, b.atRest("001-small"))
	if got := b.state("001-small").Outcome; got != pawl.OutcomeComplete {
		t.Errorf("outcome %s", got)
	}
}

// A command that cannot be stored is answered with an error, and takes effect once it can be. F-18
func (s *suite) commandWithoutSpace(t *testing.T) {
	log := &fullLog{Log: s.newLog(t)}
	w, held, letGo := holding(pawl.VerbCallModel)
	b := s.bed(t, log, w)
	must(t, b.d.Start(t.Context(), "001-small", Started(), nil))
	receive(t, held, "model call")
	log.refuse.Store(math.MaxInt32)
	err := b.d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerPause})
	if pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.Contains(err.Error(), "will act on this once its log can be written") {
		t.Errorf("pausing a run whose log cannot be written: %v", err)
	}
	log.refuse.Store(0)
	letGo <- struct{}{}
	synctest.Wait()
	time.Sleep(time.Second) //nolint:forbidigo // fake time, in which the append is tried again
	synctest.Wait()
	if st := b.state("001-small"); st.Status != pawl.StatusPaused {
		t.Errorf("status %s, want paused", st.Status)
	}
}

// brokenLog finds one run damaged from some moment on.
type brokenLog struct {
	pawl.Log
	broken atomic.Bool
	run    pawl.RunID
}

func (l *brokenLog) Append(ctx context.Context, u pawl.Unit) error {
	if l.broken.Load() && u.Run == l.run {
		return pawl.Errorf(pawl.CodeDamaged, "a damaged row")
	}
	return l.Log.Append(ctx, u)
}

func (s *suite) damage(t *testing.T) {
	log := &brokenLog{Log: s.newLog(t), run: "001-bad"}
	w, held, letGo := holding(pawl.VerbCallModel)
	b := s.bed(t, log, w)
	must(t, b.d.Start(t.Context(), "001-bad", Started(), nil))
	must(t, b.d.Start(t.Context(), "002-good", Started(), nil))
	receive(t, held, "model call")
	receive(t, held, "model call")
	log.broken.Store(true)
	close(letGo)
	if err := b.atRest("001-bad"); pawl.CodeOf(err) != pawl.CodeDamaged {
		t.Errorf("the damaged run came to rest with %v", err)
	}
	must(t, b.atRest("002-good"))
	if got := b.state("002-good").Outcome; got != pawl.OutcomeComplete {
		t.Errorf("the other run ended %s", got)
	}
}

func (s *suite) many(t *testing.T) {
	const runs = 50
	b := s.bed(t, s.newLog(t), &World{GateVerdict: failsTwice, Calls: 1})
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			if err := b.d.Start(t.Context(), runID(i), Started(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range runs {
		must(t, b.atRest(runID(i)))
		if got := b.verdicts(runID(i)); got != failsTwiceEnds {
			t.Errorf("run %d: %s", i, got)
		}
	}
}

func runID(i int) pawl.RunID { return pawl.RunID(fmt.Sprintf("%03d-small", i+1)) }

// receive returns the next value of a channel. It fails the test if nothing is sent within
// a minute, which passes at once in a bubble where every goroutine is blocked.
func receive[T any](tb testing.TB, from <-chan T, what string) (v T) {
	tb.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		tb.Fatalf("there is no %s", what)
	}
	return v
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
