package kernel

import (
	"strings"
	"testing"

	"pawl"
)

// Sessions that gather or plan because of the batches' health are told all that was tried; others are not.
// V-45 F-130
func TestToldAllThatWasTried(t *testing.T) {
	r := tell(t)
	r.do("run recipe=coherence gates=tests\nlist: a\nlist again: a\nplan-review: submits decision=APPROVED\nbatch-review: changes a")
	stalled, told := false, map[string]bool{}
	for _, e := range r.s.w.log {
		switch b := e.Body.(type) {
		case *pawl.HealthJudged:
			stalled = b.Health == pawl.HealthStalled
		case *pawl.BatchStarted:
			stalled = false
		case *pawl.EffectRequested:
			do, ok := b.Effect.Do.(*pawl.AssemblePrompt)
			if !ok {
				continue
			}
			if do.Tried != stalled {
				t.Errorf("the prompt of %s is told all that was tried: %t, the batches are stalled: %t", b.Effect.Place, do.Tried, stalled)
			}
			if do.Tried && !strings.Contains(do.Cause, "STALLED: in batches") {
				t.Errorf("%s is told the cause %q", b.Effect.Place, do.Cause)
			}
			told[b.Effect.Place.Step] = told[b.Effect.Place.Step] || do.Tried
		}
	}
	if !told["refresh"] || !told["replan"] {
		t.Errorf("told are %v", told)
	}
}
