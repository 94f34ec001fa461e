package pawl_test

import (
	"testing"

	"pawl"
)

// What a proof is, in words: that nothing broke is said only where nothing says more. F-67
func TestProof(t *testing.T) {
	for _, row := range []struct {
		proof pawl.Proof
		want  string
		shows bool
	}{
		{pawl.Proof{}, "nothing shows that the goal is reached", false},
		{pawl.Proof{Kept: 1}, "nothing broke (1 test); no test shows the goal", false},
		{pawl.Proof{Kept: 14}, "nothing broke (14 tests); no test shows the goal", false},
		{pawl.Proof{Goals: 1, Kept: 14}, "1 goal test is green", true},
		{pawl.Proof{Unbroken: 3, Kept: 14}, "nothing broke in 3 tasks; no test shows the goal", false},
		{pawl.Proof{Tasks: 1, Unbroken: 3}, "1 task is proven; of 3 more only that nothing broke", true},
		{pawl.Proof{Goals: 1, Unproven: 1}, "1 goal test is green; nothing shows the work of 1 task", true},
		{pawl.Proof{Kept: 2, Unproven: 3}, "nothing broke (2 tests); no test shows the goal; nothing shows the work of 3 tasks", false},
		{pawl.Proof{Unproven: 3}, "nothing shows that the goal is reached", false},
		{pawl.Proof{Goals: 1, Unbroken: 3}, "1 goal test is green", true}, // and not "of 3 more": more than what?
		{pawl.Proof{Goals: 2, Added: 3, HeldOut: true, Person: "Ada", Tasks: 4, Kept: 1}, "2 goal tests are green, 3 new or changed tests fail on the base's code, the held-out checks fail on the base and pass now, Ada passed the result, 4 tasks are proven", true},
		{pawl.Proof{Docs: true}, "only documentation changed", true},
		{pawl.Proof{Docs: true, Kept: 2}, "only documentation changed", true},
	} {
		if got := row.proof.Words(); got != row.want {
			t.Errorf("%+v: got %q, want %q", row.proof, got, row.want)
		}
		if got := row.proof.ShowsGoal(); got != row.shows || row.proof.IsNone() != (row.proof == pawl.Proof{Unproven: row.proof.Unproven}) {
			t.Errorf("%+v: it shows the goal: %t", row.proof, got)
		}
	}
}
