package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// Only the findings of a security gate that fails without a critical one are compared with
// those of the previous attempt. D-B02
func TestSecurityPrint(t *testing.T) {
	for _, row := range []struct {
		judged pawl.GateJudged
		want   bool
	}{
		{pawl.GateJudged{Kind: pawl.GateSecurity, Verdict: pawl.VerdictFail, Found: 7}, true},
		{pawl.GateJudged{Kind: pawl.GateSecurity, Verdict: pawl.VerdictFail, Found: 7, Critical: 1}, false},
		{pawl.GateJudged{Kind: pawl.GateSecurity, Verdict: pawl.VerdictPass, Found: 7}, false},
		{pawl.GateJudged{Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Found: 7}, false},
		{pawl.GateJudged{Kind: pawl.GateTests, Verdict: pawl.VerdictPass, Found: 7}, false},
	} {
		if got := Diagnostics([]*pawl.GateJudged{&row.judged}) != 0; got != row.want {
			t.Errorf("%s %s, %d critical: findings are compared: %t", row.judged.Kind, row.judged.Verdict, row.judged.Critical, got)
		}
	}
}

// gate returns the verdict of a command gate, review that of a review.
func gate(v pawl.Verdict) *pawl.GateJudged {
	return &pawl.GateJudged{Gate: "unit", Kind: pawl.GateTests, Verdict: v}
}

func review(v pawl.Verdict) *pawl.GateJudged { return &pawl.GateJudged{Gate: "review", Verdict: v} }

func TestOfReview(t *testing.T) {
	for _, row := range []struct {
		decision string
		unmet    int
		want     pawl.Verdict
	}{
		{"pass", 0, pawl.VerdictPass},
		{"pass", 1, pawl.VerdictFail},
		{"halt", 0, pawl.VerdictHalt},
		{"halt", 2, pawl.VerdictHalt},
		{"retry", 1, pawl.VerdictRetry},
		{"revise", 0, pawl.VerdictRevise},
		{"fail", 0, pawl.VerdictFail},
		{"skip", 0, pawl.VerdictFail}, // only gates can be skipped
		{"Pass", 0, pawl.VerdictFail},
		{"", 0, pawl.VerdictFail},
	} {
		if got := OfReview(row.decision, row.unmet); got != row.want {
			t.Errorf("%q with %d unmet is %s, want %s", row.decision, row.unmet, got, row.want)
		}
	}
	for s, want := range map[string]int{"": 0, "x": 0, "7.5": 0, "-1": 0, "0": 0, "42": 42, "100": 100, "101": 100} {
		if got := Percent(s); got != want {
			t.Errorf("%q is %d percent, want %d", s, got, want)
		}
	}
}

func TestTogether(t *testing.T) {
	for _, row := range []struct{ verdicts, want string }{
		{"", ""},
		{"pass", "pass"},
		{"skip", "pass"},
		{"pass skip pass", "pass"},
		{"pass fail pass", "fail"},
		{"fail pass", "fail"},
		{"revise", "fail"},
		{"retry", "fail"},
		{"fail pass halt pass", "halt"},
		{"halt fail", "halt"},
	} {
		var gates, reviews []*pawl.GateJudged
		for _, v := range strings.Fields(row.verdicts) {
			gates, reviews = append(gates, gate(pawl.Verdict(v))), append(reviews, review(pawl.Verdict(v)))
		}
		other := []*pawl.GateJudged{review(pawl.VerdictHalt)}
		if got := Quality(append(other, gates...)); string(got) != row.want {
			t.Errorf("gates that say %q are %q together, want %q", row.verdicts, got, row.want)
		}
		other[0] = gate(pawl.VerdictHalt)
		if got := Requirements(append(other, reviews...)); string(got) != row.want {
			t.Errorf("reviews that say %q are %q together, want %q", row.verdicts, got, row.want)
		}
		if got, want := Object(gates), row.want == "fail" || row.want == "halt"; got != want {
			t.Errorf("gates that say %q object: %t", row.verdicts, got)
		}
	}
}

func TestHalt(t *testing.T) {
	first := &pawl.GateJudged{Gate: "a", Verdict: pawl.VerdictHalt, Reason: "a key"}
	all := []*pawl.GateJudged{gate(pawl.VerdictFail), first, {Gate: "b", Verdict: pawl.VerdictHalt}}
	if Halt(all) != first || HaltReason(all) != "a halts: a key" {
		t.Errorf("it is %+v that halts: %s", Halt(all), HaltReason(all))
	}
	if Halt(all[:1]) != nil || HaltReason(all[:1]) != "a gate halts" {
		t.Error("a failure halts")
	}
}

func TestGreen(t *testing.T) {
	for _, row := range []struct {
		judged pawl.GateJudged
		want   bool
	}{
		{*gate(pawl.VerdictPass), true},
		{*gate(pawl.VerdictSkip), false},
		{*gate(pawl.VerdictFail), false},
		{*review(pawl.VerdictPass), false},
		{pawl.GateJudged{Kind: pawl.GateValidation, Verdict: pawl.VerdictPass}, false},
		{pawl.GateJudged{Kind: pawl.GateTests, Verdict: pawl.VerdictPass, RedAtBase: true}, false},
		{pawl.GateJudged{Kind: pawl.GateSecurity, Verdict: pawl.VerdictPass}, true},
	} {
		if got := Green(&row.judged); got != row.want {
			t.Errorf("%+v is green: %t", row.judged, got)
		}
	}
}

// A gate of tests that is as red as on the base and names no test says nothing of the goal, unless a person said that
// it need not be green. F-86
func TestMute(t *testing.T) {
	red := pawl.GateJudged{Gate: "smoke", Kind: pawl.GateTests, Judge: pawl.JudgeGate, Verdict: pawl.VerdictPass, RedAtBase: true}
	for _, row := range []struct {
		why    string
		change func(*pawl.GateJudged)
		except []string
		want   string
	}{
		{"it is red and names no test", func(*pawl.GateJudged) {}, []string{"other"}, "smoke"},
		{"it need not be green", func(*pawl.GateJudged) {}, []string{"smoke"}, ""},
		{"it is green", func(r *pawl.GateJudged) { r.RedAtBase = false }, nil, ""},
		{"it names tests", func(r *pawl.GateJudged) { r.Total = 2 }, nil, ""},
		{"it runs no tests", func(r *pawl.GateJudged) { r.Kind = pawl.GateLint }, nil, ""},
		{"it is the judge of goal tests", func(r *pawl.GateJudged) { r.Judge = pawl.JudgeGoal }, nil, ""},
	} {
		r := red
		row.change(&r)
		if got := Mute([]*pawl.GateJudged{gate(pawl.VerdictPass), &r}, row.except); got != row.want {
			t.Errorf("%s: got %q, want %q", row.why, got, row.want)
		}
	}
}

// Which gate was faster does not matter to fingerprints, and everything that was objected does.
func TestFingerprints(t *testing.T) {
	base := []pawl.GateJudged{
		{Gate: "unit", Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Failing: 1},
		{Gate: "race", Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Failing: 2, Error: 3},
		{Gate: "audit", Kind: pawl.GateSecurity, Verdict: pawl.VerdictFail, Found: 4},
		{Gate: "scan", Kind: pawl.GateSecurity, Verdict: pawl.VerdictFail, Found: 5},
		{Gate: "review", Verdict: pawl.VerdictRevise, Error: 6},
		{Gate: "lint", Kind: pawl.GateKind("lint"), Verdict: pawl.VerdictPass, Error: 7},
	}
	of := func(results []pawl.GateJudged, failed string) (tests, errors, findings uint64) {
		var all []*pawl.GateJudged
		for i := range results {
			all = append(all, &results[i])
		}
		return FailingTests(all), Errors(all, failed), Diagnostics(all)
	}
	tests, errors, findings := of(base, "")
	if tests == 0 || errors == 0 || findings == 0 {
		t.Fatalf("the fingerprints are %x, %x and %x", tests, errors, findings)
	}
	for i := range base {
		turned := slices.Concat(base[i:], base[:i])
		slices.Reverse(turned[1:])
		order := ""
		for _, r := range turned {
			order += " " + r.Gate
		}
		if a, b, c := of(turned, ""); a != tests || b != errors || c != findings {
			t.Errorf("in the order%s the fingerprints differ", order)
		}
		if turned[0].Gate != base[i].Gate {
			t.Error("the results are sorted in place")
		}
	}
	for _, row := range []struct {
		name   string
		change func([]pawl.GateJudged)
		want   string // which fingerprints change: t, e and f
	}{
		{"other failing tests", func(r []pawl.GateJudged) { r[0].Failing = 9 }, "te"},
		{"no failing tests", func(r []pawl.GateJudged) { r[0].Failing = 0 }, "te"},
		{"another gate's tests", func(r []pawl.GateJudged) { r[0].Gate = "zoo" }, "te"},
		{"another error", func(r []pawl.GateJudged) { r[1].Error = 9 }, "e"},
		{"another error of a review", func(r []pawl.GateJudged) { r[4].Error = 9 }, "e"},
		{"failing criteria of a review", func(r []pawl.GateJudged) { r[4].Failing = 9 }, "e"},
		{"another error of a gate that passed", func(r []pawl.GateJudged) { r[5].Error = 9 }, ""},
		{"another finding", func(r []pawl.GateJudged) { r[2].Found = 9 }, "ef"},
		{"a critical finding", func(r []pawl.GateJudged) { r[2].Critical = 1 }, "f"},
		{"a gate with findings that halts", func(r []pawl.GateJudged) { r[2].Verdict = pawl.VerdictHalt }, "f"},
		{"a gate that passes", func(r []pawl.GateJudged) { r[3].Verdict = pawl.VerdictPass }, "ef"},
		{"a gate that is skipped", func(r []pawl.GateJudged) { r[0].Verdict = pawl.VerdictSkip }, "e"},
		{"a reason", func(r []pawl.GateJudged) { r[0].Reason = "x" }, ""},
	} {
		other := slices.Clone(base)
		row.change(other)
		a, b, c := of(other, "")
		got := ""
		for i, changed := range []bool{a != tests, b != errors, c != findings} {
			if changed {
				got += "tef"[i : i+1]
			}
		}
		if got != row.want {
			t.Errorf("%s: %q change, want %q", row.name, got, row.want)
		}
	}
	if _, b, _ := of(base, "no plan"); b == errors {
		t.Error("why the steps failed does not matter")
	}
	if _, b, _ := of(nil, "no plan"); b == 0 {
		t.Error("why the steps failed has no fingerprint")
	}
	if a, b, c := of([]pawl.GateJudged{*gate(pawl.VerdictFail), *review(pawl.VerdictFail)}, ""); a != 0 || b != 0 || c != 0 {
		t.Errorf("objections without a fingerprint have %x, %x and %x", a, b, c)
	}
}

func TestObjections(t *testing.T) {
	fail := func(gate, reason string) *pawl.GateJudged {
		return &pawl.GateJudged{Gate: gate, Verdict: pawl.VerdictFail, Reason: reason}
	}
	long := strings.Repeat("x", 200)
	for _, row := range []struct {
		results []*pawl.GateJudged
		others  []string
		want    []string
	}{
		{nil, nil, nil},
		{[]*pawl.GateJudged{gate(pawl.VerdictPass), gate(pawl.VerdictSkip)}, []string{""}, nil},
		{[]*pawl.GateJudged{fail("c", "3"), fail("a", "1"), fail("d", "4"), fail("b", "")}, nil, []string{"a: 1", "b: fail", "c: 3"}},
		{[]*pawl.GateJudged{fail("c", "3"), fail("a", "1"), fail("b", "2")}, []string{"", "late"}, []string{"late", "a: 1", "b: 2"}},
		{[]*pawl.GateJudged{fail("a", long)}, []string{long}, []string{long[:157] + "…", "a: " + long[:154] + "…"}},
	} {
		if got := Objections(row.results, row.others...); !cmp.Equal(got, row.want) {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}

// A verdict that stands says why it objects, as it did the first time. F-33
func TestRemembered(t *testing.T) {
	evidence := pawl.HashOf([]byte("report"))
	full := pawl.GateJudged{Gate: "g", Judge: pawl.JudgeBatch, Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Reason: "r", Partial: true, RedAtBase: true, Critical: 1, High: 2,
		Passed: 3, Total: 4, Failing: 5, Found: 6, Error: 7, Confidence: 8, Broke: []string{"b"}, By: "ann"}
	kept := pawl.GateJudged{Gate: "g", Judge: pawl.JudgeBatch, Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Reason: "r", Partial: true, RedAtBase: true, Critical: 1,
		Passed: 3, Total: 4, Broke: []string{"b"}, Failing: 5, Found: 6, Error: 7, By: "ann"}
	proved, passed := full, full
	proved.Evidence, passed.Verdict = evidence, pawl.VerdictPass
	keptProved, keptPassed := kept, kept
	keptProved.Evidence = evidence
	keptPassed.Verdict, keptPassed.Reason = pawl.VerdictPass, ""
	got := Remembered([]*pawl.GateJudged{&full, &proved, &passed})
	if diff := cmp.Diff([]*pawl.GateJudged{&kept, &keptProved, &keptPassed}, got); diff != "" {
		t.Errorf("what is kept differs:\n%s", diff)
	}
}

// The weights are 3 for the commands, 3 for the reviews if there are any, 2 for the first attempt
// and 1 each for the last command and an attempt that was not cut short.
func TestConfidence(t *testing.T) {
	met := func(passed, total, sure int) *pawl.GateJudged {
		return &pawl.GateJudged{Verdict: pawl.VerdictPass, Passed: passed, Total: total, Confidence: sure}
	}
	proven := gate(pawl.VerdictPass)
	for _, row := range []struct {
		results                []*pawl.GateJudged
		first, commands, uncut bool
		want                   int
	}{
		{nil, false, false, false, 0},
		{nil, true, true, true, 400 / 7},
		{nil, true, false, false, 200 / 7},
		{nil, false, true, false, 100 / 7},
		{nil, false, false, true, 100 / 7},
		{[]*pawl.GateJudged{proven}, false, false, false, 300 / 7},
		{[]*pawl.GateJudged{proven, proven}, true, true, true, 100},
		{[]*pawl.GateJudged{gate(pawl.VerdictFail)}, false, false, false, 0},
		{[]*pawl.GateJudged{met(4, 4, 0)}, false, false, false, 300 / 10},
		{[]*pawl.GateJudged{met(3, 4, 0)}, false, false, false, 3 * 75 / 10},
		{[]*pawl.GateJudged{met(4, 4, 60)}, false, false, false, 3 * 60 / 10},
		{[]*pawl.GateJudged{met(1, 4, 60)}, false, false, false, 3 * 25 / 10},
		{[]*pawl.GateJudged{met(4, 4, 0), met(1, 2, 0), met(9, 9, 0)}, false, false, false, 3 * 50 / 10},
		{[]*pawl.GateJudged{met(0, 0, 60)}, true, false, false, 200 / 7}, // a review without criteria does not count
		{[]*pawl.GateJudged{{Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Passed: 1, Total: 2}}, false, false, false, 0},
		{[]*pawl.GateJudged{met(1, 1, 0)}, false, false, false, 30},
		{[]*pawl.GateJudged{met(4, 4, 1)}, false, false, false, 0},
		{[]*pawl.GateJudged{met(199, 200, 0)}, false, false, false, 3 * 99 / 10},
		{[]*pawl.GateJudged{proven, met(99, 100, 0)}, true, true, true, (300 + 297 + 400) / 10},
		{[]*pawl.GateJudged{proven, met(1, 2, 0)}, true, true, true, (300 + 150 + 400) / 10},
	} {
		if got, why := Confidence(row.results, row.first, row.commands, row.uncut); got != row.want || (len(why) > 0) != (got < 100) {
			t.Errorf("%d results, first %t, commands %t, uncut %t: %d percent because of %q, want %d", len(row.results), row.first, row.commands, row.uncut, got, why, row.want)
		}
	}
}
