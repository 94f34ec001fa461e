package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// What is red at the base: single tests without the flaky ones and without those that only stand around others, or
// else the gate as one. F-67
func TestRed(t *testing.T) {
	red := func(names ...string) (out []pawl.TestResult) {
		for _, name := range names {
			out = append(out, pawl.TestResult{Name: name, Status: pawl.TestFail})
		}
		return append(out, pawl.TestResult{Name: "shop.TestFine", Status: pawl.TestPass})
	}
	for _, row := range []struct {
		why  string
		base *pawl.GateReport
		want []pawl.GoalTest
	}{
		{"single tests", &pawl.GateReport{Verdict: pawl.VerdictFail, Tests: red("shop.TestA", "shop.TestA/one")}, []pawl.GoalTest{{Gate: "tests", Name: "shop.TestA/one"}}},
		{"one is flaky", &pawl.GateReport{Verdict: pawl.VerdictFail, Tests: red("shop.TestA", "shop.TestB"), Flaky: []string{"shop.TestA"}}, []pawl.GoalTest{{Gate: "tests", Name: "shop.TestB"}}},
		{"it names none", &pawl.GateReport{Verdict: pawl.VerdictFail}, []pawl.GoalTest{{Gate: "tests"}}},
		{"it passed", &pawl.GateReport{Verdict: pawl.VerdictPass, Tests: red("shop.TestA")}, nil},
		{"it was cut short", &pawl.GateReport{Verdict: pawl.VerdictFail, Partial: true, Tests: red("shop.TestA")}, nil},
		{"there is none", nil, nil},
	} {
		if d := cmp.Diff(row.want, Red("tests", row.base)); d != "" {
			t.Errorf("%s:\n%s", row.why, d)
		}
	}
}
