package servicetest

import (
	"sync"
	"testing"

	"pawl"
)

func (s *suite) steer(t *testing.T) {
	t.Run("PauseAndResume", s.steerPause)
	t.Run("Cancel", s.steerCancel)
	t.Run("Limits", s.steerLimits)
	t.Run("ResumesAnEndedRunWithMore", s.steerEnded)
	t.Run("RefusedChangesNothing", s.steerRefused)
	t.Run("UnknownRun", s.steerUnknown)
	t.Run("CleansUpAtTheEndOnly", s.steerCleans)
}

func isPause(e pawl.Event) bool { return e.Body.EventKind() == pawl.KindRunPaused }

func (s *suite) steerPause(t *testing.T) {
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	receive(t, begun, "effect")
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerPause, Reason: "lunch"})
	if got := b.info(run); got.Status != pawl.StatusPaused || got.Reason != "lunch" {
		t.Errorf("the run is %s: %s", got.Status, got.Reason)
	}
	b.mustSee(run, isPause)
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerResume})
	letGo()
	if got := b.mustRest(run); got.Outcome != pawl.OutcomeComplete {
		t.Errorf("it ended %s: %s", got.Outcome, got.Reason)
	}
}

func (s *suite) steerCancel(t *testing.T) {
	for _, how := range []pawl.Draining{"", pawl.DrainFinish, pawl.DrainBoundary, pawl.DrainNow} {
		t.Run(string(how), func(t *testing.T) {
			b := s.bed(t)
			begun, letGo := b.holding(pawl.VerbCallTool)
			run := b.mustStart("do it").ID
			receive(t, begun, "effect")
			b.mustSteer(run, pawl.Steering{Verb: pawl.SteerCancel, Running: how, Reason: "wrong approach"})
			if how != pawl.DrainNow {
				if got := b.info(run); got.Status != pawl.StatusStopping {
					t.Errorf("the run is %s", got.Status)
				}
				letGo()
			}
			if got := b.mustRest(run); got.Status != pawl.StatusEnded || how != pawl.DrainFinish && got.Outcome != pawl.OutcomeCancelled {
				t.Errorf("the run is %s, %s: %s", got.Status, got.Outcome, got.Reason)
			}
		})
	}
}

func (s *suite) steerLimits(t *testing.T) {
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	receive(t, begun, "effect")
	want := pawl.Limits{Money: 7, Tokens: 8_000_000, Iterations: 3}
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerLimits, Limits: &want})
	events := b.mustEvents(run, 0)
	if got, ok := events[len(events)-1].Body.(*pawl.LimitsChanged); !ok || got.Limits != want {
		t.Errorf("the last event is %+v", events[len(events)-1].Body)
	}
	if got := b.info(run).Max; got != 3 {
		t.Errorf("at most %d iterations", got)
	}
	letGo()
	b.mustRest(run)
}

func (s *suite) steerEnded(t *testing.T) {
	b := s.bed(t)
	b.world.GateVerdict = func(n int, _ string) pawl.Verdict {
		if n == 1 {
			return pawl.VerdictFail
		}
		return pawl.VerdictPass
	}
	req := request("do it")
	req.Settings.Limits.Iterations = 1
	info, err := b.begin(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.mustRest(info.ID); got.Outcome != pawl.OutcomeIncomplete {
		t.Fatalf("it ended %s", got.Outcome)
	}
	before := len(b.mustEvents(info.ID, 0))
	b.mustBe(b.Steer(t.Context(), info.ID, pawl.Steering{Verb: pawl.SteerResume}), pawl.CodeState, true)
	if n := len(b.mustEvents(info.ID, 0)); n != before {
		t.Errorf("a refused resumption appended %d events", n-before)
	}
	more := req.Settings.Limits
	more.Iterations = 5
	b.mustSteer(info.ID, pawl.Steering{Verb: pawl.SteerResume, Limits: &more})
	if got := b.mustRest(info.ID); got.Outcome != pawl.OutcomeComplete || got.Iteration != 2 {
		t.Errorf("it ended %s after %d iterations", got.Outcome, got.Iteration)
	}
}

func (s *suite) steerRefused(t *testing.T) {
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	receive(t, begun, "effect")
	refused := func(state string, code pawl.Code, steerings ...pawl.Steering) {
		t.Helper()
		before := len(b.mustEvents(run, 0))
		for _, x := range steerings {
			err := b.Steer(t.Context(), run, x)
			if pawl.CodeOf(err) != code || err == nil {
				t.Errorf("%s, %+v: got %v, want code %s", state, x, err, code)
			}
		}
		if n := len(b.mustEvents(run, 0)); n != before {
			t.Errorf("%s: refused commands appended %d events", state, n-before)
		}
	}
	wrong := []pawl.Steering{{Verb: ""}, {Verb: "explode"}, {Verb: pawl.SteerCancel, Running: "later"},
		{Verb: pawl.SteerLimits}, {Verb: pawl.SteerLimits, Limits: &pawl.Limits{Tokens: -1}}}
	refused("running", pawl.CodeState, pawl.Steering{Verb: pawl.SteerResume})
	refused("running", pawl.CodeInvalid, wrong...)
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerPause})
	refused("paused", pawl.CodeState, pawl.Steering{Verb: pawl.SteerPause})
	refused("paused", pawl.CodeInvalid, wrong...)
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerResume})
	letGo()
	b.mustRest(run)
	refused("ended", pawl.CodeState, pawl.Steering{Verb: pawl.SteerPause}, pawl.Steering{Verb: pawl.SteerResume},
		pawl.Steering{Verb: pawl.SteerCancel}, pawl.Steering{Verb: pawl.SteerLimits, Limits: &pawl.Limits{}})
	refused("ended", pawl.CodeInvalid, wrong...)
}

func (s *suite) steerUnknown(t *testing.T) {
	b := s.bed(t)
	for _, verb := range []pawl.SteerVerb{pawl.SteerPause, pawl.SteerResume, pawl.SteerCancel, pawl.SteerLimits} {
		for _, run := range []pawl.RunID{"007-nobody", "../etc", "a b/c?d#e"} {
			err := b.Steer(t.Context(), run, pawl.Steering{Verb: verb, Limits: &pawl.Limits{}})
			b.mustBe(err, pawl.CodeNotFound, false)
		}
	}
	if runs := b.mustRuns(); len(runs) > 0 {
		t.Errorf("there are runs: %+v", runs)
	}
}

func (s *suite) steerCleans(t *testing.T) {
	b := s.bed(t)
	cleaned := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.cleaned)
	}
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	receive(t, begun, "effect")
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerPause})
	if cleaned() > 0 {
		t.Error("what a run that can continue has left was removed")
	}
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerResume})
	letGo()
	b.mustRest(run)
	if cleaned() != 1 || b.cleaned[0] != run {
		t.Errorf("cleaned up after %v", b.cleaned)
	}
}

func (s *suite) interrupted(t *testing.T) {
	t.Run("ResumeTakesItOver", s.interruptedResume)
	t.Run("ResumeWithLimits", s.interruptedLimits)
	t.Run("PausePerformsNothingFirst", s.interruptedPause)
	t.Run("CancelPerformsNothingFirst", s.interruptedCancel)
	t.Run("PausedStaysSoUntilResumed", s.interruptedPaused)
	t.Run("RefusedTakesNothingOver", s.interruptedRefused)
	t.Run("ManyCommandsAtOnce", s.interruptedMany)
	t.Run("NotTakenOverIsLeftAlone", s.interruptedLeft)
	t.Run("NotTakenOutOfItsSandbox", s.interruptedUnconfined)
}

// cut is a run that was cut off in its first model call, and a new service over
// its log.
func (s *suite) cut(t *testing.T, first ...pawl.Steering) (*bed, pawl.RunID) {
	t.Helper()
	return s.cutAt(t, pawl.VerbCallModel, first...)
}

func (s *suite) cutAt(t *testing.T, verb pawl.Verb, first ...pawl.Steering) (*bed, pawl.RunID) {
	t.Helper()
	old := s.bed(t)
	begun, _ := old.holding(verb)
	run := old.mustStart("do it").ID
	receive(t, begun, "effect")
	for _, x := range first {
		old.mustSteer(run, x)
	}
	old.end()
	return s.over(t, old.log), run
}

func (s *suite) interruptedResume(t *testing.T) {
	b, run := s.cut(t)
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerResume})
	if got := b.mustRest(run); got.Outcome != pawl.OutcomeComplete {
		t.Errorf("it ended %s: %s", got.Outcome, got.Reason)
	}
	recovered := 0
	for _, e := range b.mustEvents(run, 0) {
		if e.Body.EventKind() == pawl.KindRecovered {
			recovered++
		}
	}
	if recovered != 1 {
		t.Errorf("it was taken over %d times", recovered)
	}
}

func (s *suite) interruptedLimits(t *testing.T) {
	b, run := s.cut(t)
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerResume, Limits: &pawl.Limits{Iterations: 4}})
	if got := b.mustRest(run); got.Outcome != pawl.OutcomeComplete || got.Max != 4 {
		t.Errorf("it ended %s, with at most %d iterations", got.Outcome, got.Max)
	}
}

// A run that was started in a sandbox does not go on without one, and neither
// does what it had under way: a gate would be run again for any command that
// lets it finish.
func (s *suite) interruptedUnconfined(t *testing.T) {
	b, run := s.cutAt(t, pawl.VerbRunGate)
	b.confined = false
	before := len(b.mustEvents(run, 0))
	for _, x := range []pawl.Steering{
		{Verb: pawl.SteerResume}, {Verb: pawl.SteerPause}, {Verb: pawl.SteerLimits, Limits: &pawl.Limits{Iterations: 4}},
		{Verb: pawl.SteerCancel}, {Verb: pawl.SteerCancel, Running: pawl.DrainBoundary}, {Verb: pawl.SteerCancel, Running: pawl.DrainFinish},
	} {
		b.mustBe(b.Steer(t.Context(), run, x), pawl.CodeUnavailable, true)
	}
	if n := len(b.mustEvents(run, 0)); n != before {
		t.Errorf("%d events were appended", n-before)
	}
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow})
	if got := b.mustRest(run); got.Outcome != pawl.OutcomeCancelled {
		t.Errorf("it ended %s: %s", got.Outcome, got.Reason)
	}
	b.end()
	b.mustHaveOnlyClosed(run, pawl.Seq(before))
}

// mustHaveOnlyClosed checks that nothing was performed but the closing of a
// worktree, requested after an event.
func (b *bed) mustHaveOnlyClosed(run pawl.RunID, after pawl.Seq) {
	b.t.Helper()
	events, err := collect(b.log.Events(b.t.Context(), run, after))
	if err != nil {
		b.t.Fatal(err)
	}
	verbs := map[pawl.Seq]pawl.Verb{}
	for _, e := range events {
		if r, ok := e.Body.(*pawl.EffectRequested); ok {
			verbs[e.Seq] = r.Effect.Do.Verb()
		}
	}
	for id := range b.world.Performed(run) {
		if verb, ok := verbs[id]; !ok || verb != pawl.VerbCloseWorkspace {
			b.t.Errorf("performed effect %d (%s)", id, verb)
		}
	}
}

func (s *suite) interruptedPause(t *testing.T) {
	b, run := s.cut(t)
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerPause})
	if got := b.info(run); got.Status != pawl.StatusPaused {
		t.Errorf("the run is %s", got.Status)
	}
	b.end()
	if done := b.world.Performed(run); len(done) > 0 {
		t.Errorf("performed %v", done)
	}
}

func (s *suite) interruptedCancel(t *testing.T) {
	b, run := s.cut(t)
	before := len(b.mustEvents(run, 0))
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow})
	if got := b.mustRest(run); got.Outcome != pawl.OutcomeCancelled {
		t.Errorf("it ended %s: %s", got.Outcome, got.Reason)
	}
	b.mustHaveOnlyClosed(run, pawl.Seq(before))
}

func (s *suite) interruptedPaused(t *testing.T) {
	b, run := s.cut(t, pawl.Steering{Verb: pawl.SteerPause})
	if got := b.info(run); got.Status != pawl.StatusPaused {
		t.Fatalf("the run is %s", got.Status)
	}
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerResume})
	if got := b.mustRest(run); got.Outcome != pawl.OutcomeComplete {
		t.Errorf("it ended %s: %s", got.Outcome, got.Reason)
	}
}

func (s *suite) interruptedRefused(t *testing.T) {
	for _, x := range []struct {
		name string
		in   pawl.Steering
		code pawl.Code
	}{
		{"PauseOfPaused", pawl.Steering{Verb: pawl.SteerPause}, pawl.CodeState},
		{"Unknown", pawl.Steering{Verb: "explode"}, pawl.CodeInvalid},
		{"ResumeWithBadLimits", pawl.Steering{Verb: pawl.SteerResume, Limits: &pawl.Limits{Money: -1}}, pawl.CodeInvalid},
		{"OverrideOfNoReview", pawl.Steering{Verb: pawl.SteerOverride, Reason: "a false alarm", Terminal: true}, pawl.CodeInvalid},
		{"OverrideOfWhatIsNotHalted", pawl.Steering{Verb: pawl.SteerOverride, Gate: "safety", Reason: "a false alarm", Terminal: true}, pawl.CodeState},
		{"LimitsWithoutLimits", pawl.Steering{Verb: pawl.SteerLimits}, pawl.CodeInvalid},
		{"CancelSomehow", pawl.Steering{Verb: pawl.SteerCancel, Running: "somehow"}, pawl.CodeInvalid},
	} {
		t.Run(x.name, func(t *testing.T) {
			b, run := s.cut(t, pawl.Steering{Verb: pawl.SteerPause})
			before := len(b.mustEvents(run, 0))
			b.mustBe(b.Steer(t.Context(), run, x.in), x.code, false)
			b.mustRest(run) // it is not driven
			if n := len(b.mustEvents(run, 0)); n != before {
				t.Errorf("%d events were appended", n-before)
			}
			if done := b.world.Performed(run); len(done) > 0 {
				t.Errorf("performed %v", done)
			}
		})
	}
}

func (s *suite) interruptedMany(t *testing.T) {
	b, run := s.cut(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := b.Steer(t.Context(), run, pawl.Steering{Verb: pawl.SteerLimits, Limits: &pawl.DefaultLimits}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	receive(t, begun, "effect")
	letGo()
	if got := b.mustRest(run); got.Outcome != pawl.OutcomeComplete {
		t.Errorf("it ended %s: %s", got.Outcome, got.Reason)
	}
}

func (s *suite) interruptedLeft(t *testing.T) {
	b, run := s.cut(t)
	before := len(b.mustEvents(run, 0))
	other := b.mustStart("something else")
	b.mustRest(other.ID)
	if n := len(b.mustEvents(run, 0)); n != before {
		t.Errorf("%d events were appended to a run that nobody resumed", n-before)
	}
	if got := b.mustRest(run); got.Status != pawl.StatusRunning {
		t.Errorf("the log says it is %s", got.Status)
	}
}
