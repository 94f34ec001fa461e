package servicetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func (s *suite) fork(t *testing.T) {
	t.Run("AtManyEvents", s.forkAnywhere)
	t.Run("RefusedStartsNothing", s.forkRefused)
	t.Run("OfAPausedRun", s.forkPaused)
	t.Run("ThatCannotBeStoredLeavesNoRun", s.forkUnstored)
}

// V-50: a fork has its first events in common with the other run,
// which stays as it is, and comes to an end of its own.
func (s *suite) forkAnywhere(t *testing.T) {
	b := s.bed(t)
	b.world.GateVerdict = func(n int, gate string) pawl.Verdict {
		if n == 1 && gate == "tests" {
			return pawl.VerdictFail
		}
		return pawl.VerdictPass
	}
	run := b.mustStart("do it").ID
	whole := b.mustRest(run)
	if whole.Outcome != pawl.OutcomeComplete || whole.Iteration != 2 {
		t.Fatalf("it ended %s after %d iterations", whole.Outcome, whole.Iteration)
	}
	events := b.mustEvents(run, 0)
	began := events[0].Body.(*pawl.RunStarted)
	for n, at := range forkPoints(len(events)) {
		info, err := b.Fork(t.Context(), run, at)
		if err != nil {
			t.Fatalf("at event %d: %v", at, err)
		}
		want := pawl.RunID(fmt.Sprintf("%s-r%d", run, n+2))
		if info.ID != want || info.Branch != "pawl/"+string(want) || info.Task != 1 {
			t.Fatalf("at event %d: it is %+v", at, info)
		}
		if got := b.mustRest(want); got.Status != pawl.StatusEnded {
			t.Errorf("at event %d: it is %s", at, got.Status)
		}
		own := b.mustEvents(want, 0)
		first := *own[0].Body.(*pawl.RunStarted)
		if first.ForkOf != run || first.ForkAt != at || first.ForkEvents.IsZero() || first.Seed == began.Seed || first.Branch == began.Branch {
			t.Errorf("at event %d: it began with %+v", at, first)
		}
		first.ForkOf, first.ForkAt, first.ForkEvents, first.Seed, first.Branch = "", 0, pawl.Hash{}, began.Seed, began.Branch
		own[0].Body = &first
		for i := range own {
			own[i].Run = run
		}
		if diff := cmp.Diff(events[:at], own[:at]); diff != "" {
			t.Fatalf("at event %d the events differ (-its, +the fork's):\n%s", at, diff)
		}
		if _, ok := own[at].Body.(*pawl.Forked); !ok {
			t.Errorf("at event %d: event %d is %T", at, at+1, own[at].Body)
		} else if spent := own[at].Body.(*pawl.Forked).Tokens; int(at) == len(events) && spent != whole.Tokens {
			t.Errorf("the run had spent %d tokens, and the fork says %d", whole.Tokens, spent)
		}
		for _, h := range []pawl.Hash{began.Goal, began.Criteria, began.Prompts[0].Blob} {
			if _, err := b.Blob(t.Context(), want, h); err != nil {
				t.Errorf("at event %d: %v", at, err)
			}
		}
	}
	if diff := cmp.Diff(events, b.mustEvents(run, 0)); diff != "" {
		t.Errorf("the run itself has changed:\n%s", diff)
	}
}

// forkPoints are the events of a run at which it is forked: the first ones, some on
// the way, and the last.
func forkPoints(events int) (out []pawl.Seq) {
	for at := 2; at < events; at++ {
		if at < 8 || at%6 == 0 {
			out = append(out, pawl.Seq(at))
		}
	}
	return append(out, pawl.Seq(events))
}

func (s *suite) forkRefused(t *testing.T) {
	b := s.bed(t)
	run := b.mustStart("do it").ID
	last := b.mustRest(run).Seq
	for _, at := range []pawl.Seq{0, 1, last + 1, 1 << 40} {
		_, err := b.Fork(t.Context(), run, at)
		b.mustBe(err, pawl.CodeInvalid, true)
	}
	_, err := b.Fork(t.Context(), "009-nobody", 2)
	b.mustBe(err, pawl.CodeNotFound, false)
	begun, letGo := b.holding(pawl.VerbCallModel)
	other := b.mustStart("something else").ID
	receive(t, begun, "effect")
	_, err = b.Fork(t.Context(), other, 2)
	b.mustBe(err, pawl.CodeState, true)
	letGo()
	b.mustRest(other)
	b.log.rotten = true
	_, err = b.Fork(t.Context(), run, last)
	b.mustBe(err, pawl.CodeDamaged, false)
	b.confined, b.log.rotten = false, false
	_, err = b.Fork(t.Context(), run, last)
	b.mustBe(err, pawl.CodeUnavailable, true)
	if runs := b.mustRuns(); len(runs) != 2 {
		t.Errorf("there are %d runs", len(runs))
	}
}

func (s *suite) forkPaused(t *testing.T) {
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	receive(t, begun, "effect")
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerPause})
	letGo()
	at := b.info(run).Seq
	info, err := b.Fork(t.Context(), run, at)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.mustRest(info.ID); got.Outcome != pawl.OutcomeComplete {
		t.Errorf("the fork ended %s: %s", got.Outcome, got.Reason)
	}
	if got := b.info(run); got.Status != pawl.StatusPaused {
		t.Errorf("the run is %s", got.Status)
	}
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerResume})
	if got := b.mustRest(run); got.Outcome != pawl.OutcomeComplete {
		t.Errorf("the run ended %s: %s", got.Outcome, got.Reason)
	}
}

func (s *suite) forkUnstored(t *testing.T) {
	b := s.bed(t)
	run := b.mustStart("do it").ID
	last := b.mustRest(run).Seq
	b.log.fail(pawl.Errorf(pawl.CodeUnavailable, "no space left").WithHint("free disk space"))
	_, err := b.Fork(t.Context(), run, last)
	b.mustBe(err, pawl.CodeUnavailable, true)
	b.log.fail(nil)
	if runs := b.mustRuns(); len(runs) != 1 {
		t.Errorf("there are %d runs", len(runs))
	}
}
