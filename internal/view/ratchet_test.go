package view

import (
	"strings"
	"testing"

	"pawl"
)

// deliver ends the run on an earlier attempt.
func (s *story) deliver(to int, o pawl.Outcome, reason string) {
	s.add(s.ref, &pawl.RollbackCalled{To: to, Ending: o, Reason: reason})
	id := s.ask(0, s.place("rollback", "", s.tier), &pawl.Restore{Branch: "pawl/001-add-login", From: s.head})
	s.head = "d0d0d0d0d0d0d0d0"
	s.add(s.ref, &pawl.Restored{Effect: id, Commit: s.head, Tree: "tree1"})
	s.add(s.ref, &pawl.RolledBack{To: to, Commit: s.head, Reason: reason})
	s.close(o, reason)
}

// A run that ended on an earlier attempt shows what was said of that, until it goes to work again.
func TestBackAtAnAttempt(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.iterate(1, "")
	s.implement(1)
	s.fail(pawl.DecideIterate, "Same test still failing", "Same test still failing")
	s.iterate(1, "")
	s.implement(1)
	s.tests(3, 12, "auth.TestEverything")
	s.deliver(1, pawl.OutcomeHalted, "the budget is used up")
	r := fold(s.events)
	if got := Summarize(r, s.read); got.BackAt != 1 || got.Gates[0].Passed != 10 {
		t.Errorf("back at %d with %+v", got.BackAt, got.Gates[0])
	}
	if report, err := CompletionReport(r, s.read); err != nil || !strings.Contains(report, "as after attempt 1") || !strings.Contains(report, "Later:   attempt 2: git log c0ffee01") {
		t.Errorf("%v\n%s", err, report)
	}

	// Resumed, the second attempt starts anew and passes.
	s.add(0, &pawl.RunResumed{From: pawl.OutcomeHalted})
	s.add(s.ref, &pawl.IterationRestarted{Attempt: 2, Reason: "the run was resumed"})
	s.implement(1)
	s.pass()
	r = fold(s.events)
	if got := Summarize(r, s.read); got.BackAt != 0 || got.Gates[0].Passed != 12 {
		t.Errorf("after it has gone on, it is back at %d with %+v", got.BackAt, got.Gates[0])
	}
	if report, err := CompletionReport(r, s.read); err != nil || strings.Contains(report, "Later:") || strings.Contains(report, "as after") {
		t.Errorf("%v\n%s", err, report)
	}
}

// A way back that a person's commit ended is not under way when the next attempt starts.
func TestNotGoingBackForever(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.iterate(1, "")
	s.implement(1)
	s.fail(pawl.DecideIterate, "Same test still failing", "Same test still failing")
	s.add(s.ref, &pawl.RollbackCalled{To: 1, Reason: "REGRESSING"})
	if back := fold(s.events).root().goingBack(); back == nil {
		t.Error("it does not go back")
	}
	s.iterate(1, "")
	if back := fold(s.events).root().goingBack(); back != nil {
		t.Errorf("it still goes back: %+v", back)
	}
}
