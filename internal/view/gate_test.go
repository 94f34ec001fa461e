package view

import (
	"testing"

	"pawl"
)

// A gate that was cut short before it showed anything gave no verdict; one that showed results, or passed, did.
// Of the base every cut counts, as it excuses no failure.
func TestVerdictWord(t *testing.T) {
	const pass, fail = pawl.VerdictPass, pawl.VerdictFail
	for _, row := range []struct {
		why    string
		judged pawl.GateJudged
		want   string
	}{
		{"it ran whole", pawl.GateJudged{Verdict: fail}, "FAIL"},
		{"it was cut short with no result", pawl.GateJudged{Verdict: fail, Partial: true}, noVerdict},
		{"it was cut short with results", pawl.GateJudged{Verdict: fail, Partial: true, Total: 4}, "FAIL"},
		{"it passes, and a part is missing", pawl.GateJudged{Verdict: pass, Partial: true}, "PASS"},
		{"on the base it was cut short with results", pawl.GateJudged{Verdict: fail, Partial: true, Total: 4, OnBase: true}, noVerdict},
		{"on the base it ran whole", pawl.GateJudged{Verdict: fail, Total: 4, OnBase: true}, "FAIL"},
	} {
		if got := verdictWord(&row.judged); got != row.want {
			t.Errorf("%s: got %s, want %s", row.why, got, row.want)
		}
	}
}
