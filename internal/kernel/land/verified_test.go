package land

import (
	"slices"
	"testing"

	"pawl"
)

// gateOf knows the gates tests (0), lint (1) and race (2).
func gateOf(name string) int { return slices.Index([]string{"tests", "lint", "race"}, name) }

// A state counts if command gates judged all of it.
func TestVerifiedOf(t *testing.T) {
	commit := &pawl.Committed{Commit: "c", Tree: "t"}
	tests := func(v pawl.Verdict, passed int) *pawl.GateJudged {
		return &pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: v, Passed: passed, Judge: pawl.JudgeGate, Evidence: pawl.Hash{1}}
	}
	lint := &pawl.GateJudged{Gate: "lint", Kind: pawl.GateLint, Verdict: pawl.VerdictPass, Passed: 7, Judge: pawl.JudgeGate, Evidence: pawl.Hash{2}}
	review := &pawl.GateJudged{Gate: "requirements", Verdict: pawl.VerdictFail, Passed: 2, Judge: pawl.JudgeGate}
	cut := *lint
	cut.Partial = true
	skipped := *lint
	skipped.Verdict = pawl.VerdictSkip
	halt := *review
	halt.Verdict = pawl.VerdictHalt
	unknown := *tests(pawl.VerdictPass, 9)
	unknown.Gate = "own"
	for name, row := range map[string]struct {
		commit  *pawl.Committed
		results []*pawl.GateJudged
		want    Verified
	}{
		"nothing was committed":         {nil, []*pawl.GateJudged{lint}, Verified{}},
		"no gate judged":                {commit, nil, Verified{}},
		"only a review":                 {commit, []*pawl.GateJudged{review}, Verified{}},
		"red tests count":               {commit, []*pawl.GateJudged{tests(pawl.VerdictFail, 3)}, Verified{N: 4, Commit: "c", Tree: "t", Passing: 3}},
		"all of it":                     {commit, []*pawl.GateJudged{tests(pawl.VerdictPass, 3), lint, review}, Verified{N: 4, Commit: "c", Tree: "t", Passing: 3, Gates: 2, Criteria: 2}},
		"one was cut short":             {commit, []*pawl.GateJudged{tests(pawl.VerdictPass, 3), &cut}, Verified{}},
		"one was not there":             {commit, []*pawl.GateJudged{tests(pawl.VerdictPass, 3), &skipped}, Verified{N: 4, Commit: "c", Tree: "t", Passing: 3, Gates: 1}},
		"only one that was not there":   {commit, []*pawl.GateJudged{&skipped}, Verified{}},
		"a reviewer halts":              {commit, []*pawl.GateJudged{tests(pawl.VerdictPass, 3), &halt}, Verified{}},
		"a gate that is not the run's":  {commit, []*pawl.GateJudged{&unknown}, Verified{}},
		"files are left out":            {&pawl.Committed{Commit: "c", LeftOut: []pawl.LimitMet{{}}}, []*pawl.GateJudged{lint}, Verified{}},
		"it touches the harness's own":  {&pawl.Committed{Commit: "c", Kept: 1}, []*pawl.GateJudged{lint}, Verified{}},
		"a report of no tests is empty": {commit, []*pawl.GateJudged{lint}, Verified{N: 4, Commit: "c", Tree: "t", Gates: 1}},
	} {
		got := VerifiedOf(4, row.commit, row.results, gateOf)
		if r := got.Report(0); (r == pawl.Hash{1}) != (got.N > 0 && got.Passing > 0) {
			t.Errorf("%s: the report on the tests is %s", name, r)
		}
		if r := got.Report(1); !r.IsZero() {
			t.Errorf("%s: the report of lint on the tests is %s", name, r)
		}
		if got.N != row.want.N || got.Commit != row.want.Commit || got.Tree != row.want.Tree ||
			got.Criteria != row.want.Criteria || got.Passing != row.want.Passing || got.Gates != row.want.Gates {
			t.Errorf("%s: got %+v, want %+v", name, got, row.want)
		}
	}
}

// The tests of several gates are counted together, and each gate has its own report. What a batch
// objected to is no criterion.
func TestVerifiedReports(t *testing.T) {
	gate := func(name string, passed int) *pawl.GateJudged {
		return &pawl.GateJudged{Gate: name, Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Passed: passed, Evidence: pawl.HashOf([]byte(name))}
	}
	refused := &pawl.GateJudged{Gate: "batch-review", Judge: pawl.JudgeBatch, Verdict: pawl.VerdictRevise, Passed: 9}
	v := VerifiedOf(1, &pawl.Committed{}, []*pawl.GateJudged{gate("race", 2), refused, gate("tests", 3)}, gateOf)
	if v.Passing != 5 || v.Criteria != 0 || v.Gates != 0 {
		t.Errorf("got %+v", v)
	}
	for i, name := range []string{"tests", "lint", "race"} {
		want := pawl.HashOf([]byte(name))
		if name == "lint" {
			want = pawl.Hash{}
		}
		if got := v.Report(i); got != want {
			t.Errorf("the report of %s is %s, want %s", name, got, want)
		}
	}
}

// Criteria count before tests, tests before gates; of two that are alike the newer one is better.
func TestBelow(t *testing.T) {
	for _, row := range []struct {
		why    string
		old, o Verified
		want   bool
	}{
		{"the first", Verified{}, Verified{N: 1}, true},
		{"none", Verified{N: 1}, Verified{}, false},
		{"alike", Verified{N: 1, Passing: 3}, Verified{N: 2, Passing: 3}, true},
		{"fewer tests", Verified{N: 1, Passing: 3}, Verified{N: 2, Passing: 2, Gates: 9}, false},
		{"more tests", Verified{N: 1, Passing: 3, Gates: 9}, Verified{N: 2, Passing: 4}, true},
		{"fewer gates", Verified{N: 1, Passing: 3, Gates: 2}, Verified{N: 2, Passing: 3, Gates: 1}, false},
		{"more criteria", Verified{N: 1, Passing: 3}, Verified{N: 2, Criteria: 1}, true},
		{"fewer criteria", Verified{N: 1, Criteria: 1}, Verified{N: 2, Passing: 9}, false},
	} {
		if got := row.old.Below(&row.o); got != row.want {
			t.Errorf("%s: %+v is below %+v: %t", row.why, row.old, row.o, got)
		}
	}
}
