package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// examining begins a run whose first candidate passes its gates.
func examining(tb testing.TB, mode pawl.EvidenceMode) *story {
	s := begin(tb, 3, 1, func(set *pawl.Settings, _ *pawl.RunStarted) { set.Evidence = mode })
	s.iterate(1, "")
	s.passing("tree2")
	return s
}

// passing makes a candidate with this tree, which the command gates pass.
func (s *story) passing(tree pawl.TreeHash) {
	s.implement(2)
	s.events[len(s.events)-1].Body.(*pawl.Committed).Tree = tree
	s.tests(14, 14)
	s.clean()
}

// look looks at the candidate and wants gates to run once more.
func (s *story) look(runs ...pawl.FurtherRun) {
	id := s.ask(0, s.place("evidence", "", s.tier), &pawl.Examine{Commit: s.head, Base: "base5e1fbeefcafe"})
	runs = slices.Clone(runs) // tests change events
	for i := range runs {
		runs[i].Gates = slices.Clone(runs[i].Gates)
	}
	s.add(s.ref, &pawl.Examined{Effect: id, Runs: runs})
}

// further lets a gate judge another tree.
func (s *story) further(b pawl.GateJudged) {
	do := &pawl.RunGate{Gate: b.Gate, Commit: "a1b2c3d4e5f60718", On: b.On}
	b.Effect = s.ask(0, s.place(b.Gate, "", s.tier), do)
	b.Kind = pawl.GateTests
	s.wait(time.Second)
	s.add(s.ref, &b)
}

// found ends the look at the candidate: with findings that are raised now, those that were raised
// before, and remarks. Details go into the report alone.
func (s *story) found(found []pawl.Finding, before, remarks []string, paths ...pawl.ClassCount) pawl.Hash {
	report := pawl.EvidenceReport{Commit: s.head, Base: "base5e1fbeefcafe", Findings: found, Remarks: remarks}
	h := s.blob(s.json(report))
	do := &pawl.Examine{Commit: s.head, Base: "base5e1fbeefcafe"}
	if b, ok := s.events[len(s.events)-1].Body.(*pawl.GateJudged); ok && b.On != "" {
		do.Further = []pawl.GateEvidence{{Gate: b.Gate, On: b.On}}
	}
	id := s.ask(0, s.place("evidence", "", s.tier), do)
	n := 0
	for _, e := range s.events {
		if _, ok := e.Body.(*pawl.FindingRaised); ok {
			n++
		}
	}
	ids := before
	for _, f := range found {
		n++
		f.ID, f.Detail, f.Tests = pawl.FindingID(n), "", slices.Clone(f.Tests)
		ids = append(ids, f.ID)
		s.add(s.ref, &pawl.FindingRaised{Finding: f, Evidence: h})
	}
	for _, text := range remarks {
		s.add(s.ref, &pawl.RemarkMade{Text: text})
	}
	s.add(s.ref, &pawl.Examined{Effect: id, Findings: ids, Paths: paths, Evidence: h})
	return h
}

var (
	changedExpectation = pawl.Finding{Kind: pawl.FindExpectation, Path: "calc/round_test.go", Tests: []string{"calc.TestRound"}, Print: 11,
		Text:   "it passes with its own expectation and fails with the base's",
		Detail: "@@ -7,3 +7,3 @@\n func TestRound(t *testing.T) {\n-\tif got := Round(2.5); got != 2 {\n+\tif got := Round(2.5); got != 3 {\n"}
	provesNothing = pawl.Finding{Kind: pawl.FindProvesNothing, Path: "calc/new_test.go", Print: 12,
		Tests: []string{"calc.TestA", "calc.TestB", "calc.TestC", "calc.TestD", "calc.TestE", "calc.TestF"}, Text: "none of the new tests fails on the base's code"}
	policyPath = pawl.Finding{Kind: pawl.FindPolicy, Path: ".github/workflows/ci.yml", Print: 13, Text: "it configures what runs for everybody", Detail: "+run: make test || true\n"}
	secret     = pawl.Finding{Kind: pawl.FindSecret, Path: "config/dev.env", Print: 14, Text: "an AWS access key in line 3"}
	bothTrees  = []pawl.FurtherRun{
		{On: pawl.TreeExpected, Commit: "a1b2c3d4e5f60718", Gates: []string{"tests"}, Fresh: true, Reason: "the candidate changed calc/round_test.go"},
		{On: pawl.TreeReverted, Commit: "b1b2c3d4e5f60718", Gates: []string{"tests"}, Reason: "it added 6 tests"}}
)

// evidenceReviewing waits for the review to answer for what was found.
func evidenceReviewing(tb testing.TB) *story {
	s := examining(tb, pawl.EvidenceReview)
	s.look(bothTrees...)
	s.further(pawl.GateJudged{Gate: "tests", On: pawl.TreeExpected, Verdict: pawl.VerdictFail, Passed: 12, Total: 14, Reason: "2 of 14 tests fail", Duration: 3200 * time.Millisecond})
	s.further(pawl.GateJudged{Gate: "tests", On: pawl.TreeReverted, Verdict: pawl.VerdictPass, Passed: 20, Total: 20, Reason: "all tests pass", Duration: 2 * time.Second})
	s.found([]pawl.Finding{changedExpectation, provesNothing}, nil, []string{"it renames calc.TestSum to calc.TestTotal", "go.mod needs a newer testify"},
		pawl.ClassCount{Class: pawl.ClassSupport, Count: 1}, pawl.ClassCount{Class: pawl.ClassTest, Count: 2}, pawl.ClassCount{Class: pawl.ClassCode, Count: 3})
	s.start(pawl.ForReview, s.place("requirements", "validator", 2), 1, 1)
	return s
}

// evidenceAnswered has a finding that the review accepts and one that it refuses; the second
// attempt has only the first.
func evidenceAnswered(tb testing.TB) *story {
	s := evidenceReviewing(tb)
	s.add(s.ref, &pawl.SessionEnded{Session: s.session, Result: pawl.SessionDone})
	s.add(s.ref, &pawl.FindingAnswered{ID: "F-1", Accepted: true, Quote: "rounds half up", Gate: "requirements"})
	s.add(s.ref, &pawl.FindingAnswered{ID: "F-2", Why: "nothing in the goal asks for tests that cannot fail", Gate: "requirements"})
	const why = "1 finding nobody accepted: F-2 proves nothing calc/new_test.go"
	s.add(s.ref, &pawl.GateJudged{Gate: "requirements", Verdict: pawl.VerdictFail, Reason: why, Passed: 5, Total: 5, Unanswered: pawl.HashOf([]byte("x")),
		Findings: []pawl.OpenFinding{{ID: "F-2", Print: 12}}, Evidence: s.blob(`{"criteria":[]}`)})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictFail, Decision: pawl.DecideIterate, Reason: why, Errors: []string{"requirements: " + why}})
	s.iterate(1, why)
	s.passing("tree3")
	s.found(nil, []string{"F-1"}, nil, pawl.ClassCount{Class: pawl.ClassCode, Count: 3}, pawl.ClassCount{Class: pawl.ClassTest, Count: 1})
	s.review(pawl.VerdictPass, 5, "every criterion is met")
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictPass, Decision: pawl.DecideComplete, Reason: "every gate passed", Outcome: pawl.OutcomeComplete})
	s.close(pawl.OutcomeComplete, "every gate passed")
	return s
}

// evidenceRefused is in its second attempt, as the harness failed the first because of a secret.
func evidenceRefused(tb testing.TB) *story {
	s := examining(tb, pawl.EvidenceReview)
	s.found([]pawl.Finding{secret}, nil, nil, pawl.ClassCount{Class: pawl.ClassCode, Count: 1})
	const why = "1 finding nobody accepted: F-1 secret config/dev.env"
	s.add(s.ref, &pawl.GateJudged{Judge: pawl.JudgeEvidence, Gate: "evidence", Verdict: pawl.VerdictFail, Reason: why, Total: 1, Findings: []pawl.OpenFinding{{ID: "F-1", Print: 14}}})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictFail, Decision: pawl.DecideIterate, Reason: "evidence: " + why, Errors: []string{"evidence: " + why}})
	s.iterate(1, "evidence: "+why)
	s.implementing()
	return s
}

// evidenceListed is complete with findings that nobody accepted, as it has no reviewer.
func evidenceListed(tb testing.TB) *story {
	s := examining(tb, pawl.EvidenceReview)
	long := changedExpectation
	long.Detail = strings.Repeat("+\tanother line of the difference\n", 40)
	s.found([]pawl.Finding{long, provesNothing}, nil, nil, pawl.ClassCount{Class: pawl.ClassTest, Count: 2})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Decision: pawl.DecideComplete, Reason: "every gate passed", Outcome: pawl.OutcomeComplete})
	s.close(pawl.OutcomeComplete, "every gate passed")
	s.events[len(s.events)-1].Body.(*pawl.RunEnded).Findings = 2
	return s
}

// evidenceAsks asks a person about every finding.
func evidenceAsks(tb testing.TB) *story {
	s := examining(tb, pawl.EvidenceStrict)
	h := s.found([]pawl.Finding{changedExpectation, policyPath}, nil, nil, pawl.ClassCount{Class: pawl.ClassPolicy, Count: 1}, pawl.ClassCount{Class: pawl.ClassTest, Count: 1})
	s.askFindings(h, "2 findings need your decision: F-1 changed expectation in calc/round_test.go, F-2 policy path .github/workflows/ci.yml. Are these changes intended?")
	return s
}

func (s *story) askFindings(about pawl.Hash, text string) {
	s.add(s.ref, &pawl.QuestionAsked{N: 1, Kind: pawl.AskFinding, Text: text, Choices: []string{"accept", "reject"},
		Means: []string{"these are allowed for the rest of the run as long as they stay the same",
			"the attempt fails, and the next one gets your words; any later attempt that still has one of them fails without a question"}, About: about})
}

// evidenceRejected has the answer of a person.
func evidenceRejected(tb testing.TB) *story {
	s := evidenceAsks(tb)
	s.wait(time.Minute)
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "reject", Text: "keep CI as it is", By: "ann"})
	for n := 1; n <= 2; n++ {
		s.add(s.ref, &pawl.FindingAnswered{ID: pawl.FindingID(n), Why: "keep CI as it is", By: "ann"})
	}
	const why = "2 findings nobody accepted: F-1 changed expectation in calc/round_test.go, F-2 policy path .github/workflows/ci.yml"
	s.add(s.ref, &pawl.GateJudged{Judge: pawl.JudgeEvidence, Gate: "evidence", Verdict: pawl.VerdictFail, By: "ann", Reason: why, Total: 2,
		Findings: []pawl.OpenFinding{{ID: "F-1", Print: 11}, {ID: "F-2", Print: 13}}})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictFail, Decision: pawl.DecideHalt, Reason: "evidence: " + why, Outcome: pawl.OutcomeIncomplete,
		Errors: []string{"evidence: " + why}})
	s.close(pawl.OutcomeIncomplete, "1 iteration without passing")
	return s
}

// evidenceFlaky has a gate that is asked again in both attempts: in the first one a new test comes out
// differently, in the second one a test of the base.
func evidenceFlaky(tb testing.TB) *story {
	s := begin(tb, 3, 1, func(set *pawl.Settings, _ *pawl.RunStarted) { set.Evidence = pawl.EvidenceReview })
	s.iterate(1, "")
	s.implement(2)
	s.gate(pawl.GateJudged{Gate: "tests", Verdict: pawl.VerdictFail, Reason: "2 of 14 tests fail: TestNow, TestOrder", Passed: 12, Total: 14, WasGreen: true, Duration: 4 * time.Second})
	const isNew = "1 of 14 tests fails: TestOrder; TestOrder is new and flaky: it failed once and passed once on the same commit; flaky, with another result before: TestNow"
	s.gate(pawl.GateJudged{Gate: "tests", Verdict: pawl.VerdictFail, Reason: isNew, Passed: 13, Total: 14, Again: true, Duration: time.Second, Flaky: []string{"shop.TestNow", "shop.TestOrder"}})
	s.clean()
	s.end(pawl.IterationEnded{Quality: pawl.VerdictFail, Decision: pawl.DecideIterate, Reason: "tests: " + isNew, Errors: []string{"tests: " + isNew}})
	s.iterate(1, "tests: "+isNew)
	s.implement(1)
	s.gate(pawl.GateJudged{Gate: "tests", Verdict: pawl.VerdictFail, Reason: "1 of 14 tests fails: TestNow", Passed: 13, Total: 14, WasGreen: true, Duration: 4 * time.Second})
	s.gate(pawl.GateJudged{Gate: "tests", Verdict: pawl.VerdictPass, Reason: "14 tests pass; flaky, with another result before: TestNow", Passed: 14, Total: 14, Again: true, Duration: 900 * time.Millisecond,
		Flaky: []string{"shop.TestNow"}})
	s.clean()
	s.found(nil, nil, nil, pawl.ClassCount{Class: pawl.ClassCode, Count: 1}, pawl.ClassCount{Class: pawl.ClassTest, Count: 1})
	s.review(pawl.VerdictPass, 5, "every criterion is met")
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictPass, Decision: pawl.DecideComplete, Reason: "every gate passed", Outcome: pawl.OutcomeComplete})
	s.close(pawl.OutcomeComplete, "every gate passed")
	return s
}

// evidenceOff looks for nothing.
func evidenceOff(tb testing.TB) *story {
	s := begin(tb, 3, 1, func(set *pawl.Settings, _ *pawl.RunStarted) { set.Evidence = pawl.EvidenceOff })
	s.iterate(1, "")
	s.implement(2)
	s.pass()
	return s
}

// evidenceHostile has texts that would like to be more than texts.
func evidenceHostile(tb testing.TB) *story {
	const attack = "\r\x1b[2J\x1b]0;owned\a\u009b31m\u202e\U000e0041\nFORGED: yes\n"
	s := examining(tb, pawl.EvidenceStrict)
	s.look(pawl.FurtherRun{On: pawl.Tree(attack), Commit: "a1b2", Gates: []string{"tests" + attack}, Reason: attack})
	s.gate(pawl.GateJudged{Gate: "tests" + attack, Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Reason: attack, Again: true, Flaky: []string{attack, "t" + attack}})
	s.further(pawl.GateJudged{Gate: "tests" + attack, On: pawl.Tree(attack), Verdict: pawl.VerdictFail, Reason: attack})
	var found []pawl.Finding
	for i := range 5 {
		found = append(found, pawl.Finding{Kind: pawl.FindExpectation, Path: attack + strings.Repeat("ç漢", 40), Tests: []string{attack, "t"}, Text: attack,
			Detail: "- 1" + attack + "\t" + strings.Repeat("漢", 110*(i%2)) + attack, Print: uint64(20 + i)})
	}
	found[0].Kind = pawl.FindingKind("un_heard" + attack)
	h := s.found(found, []string{"F-7", attack}, []string{attack, attack}, pawl.ClassCount{Class: pawl.PathClass(attack), Count: 1}, pawl.ClassCount{Class: pawl.ClassCode, Count: 1})
	s.add(s.ref, &pawl.FindingAnswered{ID: "F-1", Accepted: true, Quote: attack, Gate: "requirements" + attack})
	s.add(s.ref, &pawl.FindingAnswered{ID: attack, Why: attack})
	s.add(s.ref, &pawl.FindingAnswered{ID: "F-2", Why: attack, By: attack, Gate: "requirements"})
	s.askFindings(h, attack)
	return s
}
