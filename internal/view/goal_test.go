package view

import (
	"testing"

	"pawl"
)

// How the line about goal tests looks: red ones warn, weak ones too, and that there are still none matters least.
func TestLookOfGoals(t *testing.T) {
	for _, row := range []struct {
		why  string
		body pawl.GoalsWeighed
		want Look
	}{
		{"all are green", pawl.GoalsWeighed{Commit: "c1", Count: 2}, Look{Important, TonePlain}},
		{"one is red", pawl.GoalsWeighed{Commit: "c1", Count: 2, Red: 1}, Look{Important, ToneWarning}},
		{"a weak one is red", pawl.GoalsWeighed{Commit: "c1", Count: 2, RedWeak: 1}, Look{Important, ToneWarning}},
		{"there are none", pawl.GoalsWeighed{}, Look{Normal, ToneQuiet}},
		{"there are still none", pawl.GoalsWeighed{Commit: "c1"}, Look{Detail, ToneQuiet}},
		{"gates run once more", pawl.GoalsWeighed{Commit: "c1", Again: []string{"tests"}}, Look{Normal, ToneQuiet}},
		{"one is flaky", pawl.GoalsWeighed{Commit: "c1", Flaky: []pawl.GoalTest{{Name: "TestA"}}}, Look{Important, TonePlain}},
	} {
		if got := LookOf(pawl.Event{Body: &row.body}); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.why, got, row.want)
		}
	}
}

// What proves a result stands behind a good end alone. F-67
func TestProvenStandsBehindAGoodEnd(t *testing.T) {
	for outcome, want := range map[pawl.Outcome]bool{
		pawl.OutcomeComplete: true, pawl.OutcomeUnverified: true, pawl.OutcomeIncomplete: false, pawl.OutcomeBlocked: false, pawl.OutcomeFailed: false, pawl.OutcomeHalted: false,
	} {
		r := New()
		r.Outcome, r.proof = outcome, pawl.Proof{Goals: 2}
		if got := r.proven(); (got != "") != want {
			t.Errorf("a run that is %s is shown to be proven by %q", outcome, got)
		}
	}
}

// Where no test is a goal test, none is shown, though some were weighed. F-67
func TestNoGoalsAreShown(t *testing.T) {
	for count, want := range map[int]string{0: "", 2: "2 of 2 pass"} {
		r, l := New(), &Loop{}
		r.Loops = append(r.Loops, l)
		r.applyGoals(l, pawl.Event{Body: &pawl.GoalsWeighed{Commit: "c1", Count: count}})
		if got := r.goals(); got != want {
			t.Errorf("%d goal tests are shown as %q", count, got)
		}
	}
}
