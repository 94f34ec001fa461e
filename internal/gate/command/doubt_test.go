package command

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// MustDoubt judges a played result of a commit that has a report already.
func MustDoubt(tb testing.TB, now pawl.CommandResult, doubt, base *pawl.GateReport) pawl.GateReport {
	tb.Helper()
	r, err := New().Judge(tb.Context(), pawl.GateRequest{
		Spec: spec(pawl.GateTests), Room: &player{tree: tb.TempDir(), result: now}, Base: base, Doubt: doubt, Timeout: time.Minute,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// A runner that only names what fails, as pytest without -v, names nothing when all pass.
func TestFlakyOfARunnerThatCounts(t *testing.T) {
	fails := pawl.CommandResult{ExitCode: 1, Stdout: []byte("F.\n=== FAILURES ===\nFAILED test_a.py::test_flip - assert 1 == 2\n=== 1 failed, 1 passed in 0.01s ===\n")}
	fails.Output = fails.Stdout
	for now, want := range map[string]pawl.Verdict{"..\n=== 2 passed in 0.01s ===\n": pawl.VerdictPass, ".\n=== 1 passed in 0.01s ===\n": pawl.VerdictFail} {
		first := MustDoubt(t, fails, nil, nil)
		if len(first.Tests) != 1 || first.Failed != 1 {
			t.Fatalf("the first report is %+v", first)
		}
		passes := pawl.CommandResult{Stdout: []byte(now), Output: []byte(now)}
		if r := MustDoubt(t, passes, &first, nil); r.Verdict != want || (len(r.Flaky) == 1) != (want == pawl.VerdictPass) {
			t.Errorf("%q after a failure: %s: %s, flaky %q", now, r.Verdict, r.Reason, r.Flaky)
		}
	}
}

// Only what fails in every run of a commit fails the gate. V-45, V-47: a flaky
// test is no regression.
func TestFlaky(t *testing.T) {
	for name, test := range map[string]struct {
		first, second []string
		verdict       pawl.Verdict
		flaky         string
		passed        int
	}{
		"FailedThen":           {[]string{"-TestA", "+TestB"}, []string{"+TestA", "+TestB"}, pawl.VerdictPass, "shop.TestA", 2},
		"FailsNow":             {[]string{"+TestA", "+TestB"}, []string{"-TestA", "+TestB"}, pawl.VerdictPass, "shop.TestA", 2},
		"AnotherEachTime":      {[]string{"-TestA", "+TestB"}, []string{"+TestA", "-TestB"}, pawl.VerdictPass, "shop.TestA shop.TestB", 2},
		"FailsTwice":           {[]string{"-TestA", "+TestB"}, []string{"-TestA", "+TestB"}, pawl.VerdictFail, "", 1},
		"OneOfTwo":             {[]string{"-TestA", "-TestB"}, []string{"-TestA", "+TestB"}, pawl.VerdictFail, "shop.TestB", 1},
		"NotThere":             {[]string{"-TestA", "+TestB"}, []string{"+TestB"}, pawl.VerdictFail, "", 1},
		"Skipped":              {[]string{"-TestA", "+TestB"}, []string{"~TestA", "+TestB"}, pawl.VerdictFail, "", 1},
		"SubtestOfAnotherName": {[]string{"-TestA/1", "-TestA"}, []string{"+TestA/2", "+TestA"}, pawl.VerdictPass, "shop.TestA shop.TestA/1", 2},
		"AnotherSubtest":       {[]string{"-TestA/1", "+TestA/2", "-TestA"}, []string{"+TestA/1", "-TestA/2", "-TestA"}, pawl.VerdictPass, "shop.TestA shop.TestA/1 shop.TestA/2", 3},
		"SubtestFailsTwice":    {[]string{"-TestA/1", "+TestA/2", "-TestA"}, []string{"-TestA/1", "-TestA/2", "-TestA"}, pawl.VerdictFail, "shop.TestA/2", 1},
	} {
		t.Run(name, func(t *testing.T) {
			first := MustDoubt(t, goResult(test.first...), nil, nil)
			r := MustDoubt(t, goResult(test.second...), &first, nil)
			if r.Verdict != test.verdict || strings.Join(r.Flaky, " ") != test.flaky || r.Passed != test.passed {
				t.Errorf("%s: %s (%d passed), flaky %q", r.Verdict, r.Reason, r.Passed, r.Flaky)
			}
			if (r.Error == "") != (r.Verdict == pawl.VerdictPass) {
				t.Errorf("the error is %q", r.Error)
			}
			if test.flaky != "" && !strings.Contains(r.Reason, "; flaky, with another result before: Test") {
				t.Errorf("the reason is %q", r.Reason)
			}
			if !slices.IsSortedFunc(r.Tests, func(a, b pawl.TestResult) int { return strings.Compare(a.Name, b.Name) }) {
				t.Errorf("the tests are not sorted: %v", r.Tests)
			}
		})
	}
}

// A flaky test that the candidate added fails the gate; one that the base has, in whatever package
// or result, does not. What else is flaky is still excused.
func TestNewFlaky(t *testing.T) {
	for name, test := range map[string]struct {
		base, first, second []string
		verdict             pawl.Verdict
		reason              string
		flaky               string
		passed, failed      int
	}{
		"FailedThen": {[]string{"+TestA"}, []string{"+TestA", "-TestN"}, []string{"+TestA", "+TestN"}, pawl.VerdictFail,
			"1 of 2 tests fails: TestN; TestN is new and flaky: it failed once and passed once on the same commit", "shop.TestN", 1, 1},
		"FailsNow": {[]string{"+TestA"}, []string{"+TestA", "+TestN"}, []string{"+TestA", "-TestN"}, pawl.VerdictFail,
			"1 of 2 tests fails: TestN; TestN is new and flaky: it failed once and passed once on the same commit", "shop.TestN", 1, 1},
		"Two": {[]string{"+TestA"}, []string{"+TestA", "-TestM", "-TestN"}, []string{"+TestA", "+TestM", "+TestN"}, pawl.VerdictFail,
			"2 of 3 tests fail: TestM, TestN; TestM, TestN are new and flaky: each failed once and passed once on the same commit", "shop.TestM shop.TestN", 1, 2},
		"BesideAnOldOne": {[]string{"+TestA"}, []string{"-TestA", "-TestN"}, []string{"+TestA", "+TestN"}, pawl.VerdictFail,
			"1 of 2 tests fails: TestN; TestN is new and flaky: it failed once and passed once on the same commit; flaky, with another result before: TestA", "shop.TestA shop.TestN", 1, 1},
		"Old": {[]string{"+TestA"}, []string{"-TestA"}, []string{"+TestA"}, pawl.VerdictPass,
			"1 test passes; flaky, with another result before: TestA", "shop.TestA", 1, 0},
		"SkippedThere": {[]string{"~TestA", "+TestB"}, []string{"-TestA", "+TestB"}, []string{"+TestA", "+TestB"}, pawl.VerdictPass,
			"2 tests pass; flaky, with another result before: TestA", "shop.TestA", 2, 0},
		"Case": {[]string{"+TestA/1", "+TestA"}, []string{"+TestA/1", "-TestA/2", "-TestA"}, []string{"+TestA/1", "+TestA/2", "+TestA"}, pawl.VerdictFail,
			"2 of 3 tests fail: TestA, TestA/2; TestA/2 is new and flaky: it failed once and passed once on the same commit", "shop.TestA shop.TestA/2", 1, 2},
		"CaseNow": {[]string{"+TestA/1", "+TestA"}, []string{"+TestA/1", "+TestA/2", "+TestA"}, []string{"+TestA/1", "-TestA/2", "-TestA"}, pawl.VerdictFail,
			"2 of 3 tests fail: TestA, TestA/2; TestA/2 is new and flaky: it failed once and passed once on the same commit", "shop.TestA shop.TestA/2", 1, 2},
		"RedBase": {[]string{"-TestA"}, []string{"-TestA", "-TestN"}, []string{"-TestA", "+TestN"}, pawl.VerdictFail,
			"1 test fails that does not fail on the base: TestN; 1 fails there too: TestA; TestN is new and flaky: it failed once and passed once on the same commit", "shop.TestN", 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			base := MustDoubt(t, goResult(test.base...), nil, nil)
			first := MustDoubt(t, goResult(test.first...), nil, &base)
			r := MustAgain(t, goResult(test.second...), &first, &base)
			if r.Verdict != test.verdict || strings.Join(r.Flaky, " ") != test.flaky || r.Passed != test.passed || r.Failed != test.failed {
				t.Errorf("%s (%d passed, %d failed), flaky %q", r.Verdict, r.Passed, r.Failed, r.Flaky)
			}
			if r.Reason != test.reason {
				t.Errorf("the reason is %q, not %q", r.Reason, test.reason)
			}
			if (r.Error == "") != (r.Verdict == pawl.VerdictPass) {
				t.Errorf("the error is %q", r.Error)
			}
		})
	}
}

// MustAgain judges as [MustDoubt] does, and lets new tests fail.
func MustAgain(tb testing.TB, now pawl.CommandResult, doubt, base *pawl.GateReport) pawl.GateReport {
	tb.Helper()
	r, err := New().Judge(tb.Context(), pawl.GateRequest{
		Spec: spec(pawl.GateTests), Room: &player{tree: tb.TempDir(), result: now}, Base: base, Doubt: doubt, FailsNew: true, Timeout: time.Minute,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Which tests are new is only known if the base's are. A base without any test has none.
func TestNewFlakyNeedsABase(t *testing.T) {
	first, second := goResult("-TestN"), goResult("+TestN")
	partial := MustDoubt(t, goResult("+TestA"), nil, nil)
	partial.Complete = false
	none := MustDoubt(t, play(0, "1..0\n"), nil, nil)
	for name, test := range map[string]struct {
		base *pawl.GateReport
		want pawl.Verdict
	}{
		"NotJudged":   {nil, pawl.VerdictPass},
		"NotComplete": {&partial, pawl.VerdictPass},
		"NoTests":     {&none, pawl.VerdictFail},
	} {
		t.Run(name, func(t *testing.T) {
			before := MustDoubt(t, first, nil, test.base)
			if r := MustAgain(t, second, &before, test.base); r.Verdict != test.want || len(r.Flaky) != 1 {
				t.Errorf("%s: %s, flaky %q", r.Verdict, r.Reason, r.Flaky)
			}
		})
	}
}

// A test that failed and is missing from the second run is counted and listed as failed, once.
func TestFailsAgain(t *testing.T) {
	first := MustDoubt(t, goResult("-TestA", "-TestC", "+TestB"), nil, nil)
	r := MustDoubt(t, goResult("~TestA", "+TestB"), &first, nil)
	var got []string
	for _, test := range r.Tests {
		got = append(got, test.Name+" "+string(test.Status))
	}
	if strings.Join(got, ", ") != "shop.TestA fail, shop.TestB pass, shop.TestC fail" || r.Passed != 1 || r.Failed != 2 || r.Skipped != 0 {
		t.Errorf("%q: %d passed, %d failed, %d skipped", got, r.Passed, r.Failed, r.Skipped)
	}
}

// What is no test is not excused by a second look, and a report that cannot be
// read stays one.
func TestFlakyIsATest(t *testing.T) {
	good := MustDoubt(t, goResult("+TestA"), nil, nil)
	broken := play(1, `{"Action":"fail","Package":"shop","FailedBuild":"shop"}`)
	if r := MustDoubt(t, broken, &good, nil); r.Verdict != pawl.VerdictFail || len(r.Flaky) > 0 {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	bad := MustDoubt(t, broken, nil, nil)
	if r := MustDoubt(t, goResult("+TestA"), &bad, nil); r.Verdict != pawl.VerdictPass || len(r.Flaky) != 1 {
		t.Errorf("%s: %s, %q", r.Verdict, r.Reason, r.Flaky)
	}
	late := goResult("-TestA")
	late.TimedOut = true
	if r := MustDoubt(t, late, &good, nil); r.Verdict != pawl.VerdictFail || !r.Partial {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	if r := MustDoubt(t, play(1, "no tests here\n"), &good, nil); r.Verdict != pawl.VerdictFail {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// What the base has too is excused beside what is flaky.
func TestFlakyOnARedBase(t *testing.T) {
	base := MustDoubt(t, goResult("-TestA", "+TestB", "+TestC"), nil, nil)
	first := MustDoubt(t, goResult("-TestA", "-TestB", "+TestC"), nil, &base)
	if first.Verdict != pawl.VerdictFail {
		t.Fatalf("%s: %s", first.Verdict, first.Reason)
	}
	want(t, MustDoubt(t, goResult("-TestA", "+TestB", "+TestC"), &first, &base), pawl.VerdictPass,
		"not worse than the base: 1 test fails there too: TestA; flaky, with another result before: TestB")
	r := MustDoubt(t, goResult("-TestA", "-TestB", "+TestC"), &first, &base)
	want(t, r, pawl.VerdictFail, "1 test fails that does not fail on the base: TestB; 1 fails there too: TestA")
}
