package view

import (
	"strings"
	"testing"

	"pawl"
)

// Gates that did not run count nothing, and warnings are no errors. F-50
func TestTally(t *testing.T) {
	gate := func(name string, kind pawl.GateKind, v pawl.Verdict, counts ...int) *Gate {
		g := &Gate{GateJudged: pawl.GateJudged{Gate: name, Kind: kind, Verdict: v}}
		for i, n := range counts {
			*[]*int{&g.Critical, &g.High, &g.Medium, &g.Low}[i] = n
		}
		return g
	}
	lint := func(v pawl.Verdict, counts ...int) *Gate { return gate("lint", pawl.GateLint, v, counts...) }
	format := gate("format", pawl.GateFormat, pawl.VerdictPass)
	for name, c := range map[string]struct {
		gates        []*Gate
		errors, word string
	}{
		"None":        {nil, "-", "-"},
		"Passed":      {[]*Gate{lint(pawl.VerdictPass)}, "0", "PASS"},
		"Warnings":    {[]*Gate{lint(pawl.VerdictPass, 0, 0, 3)}, "0, and 3 warnings", "PASS"},
		"Errors":      {[]*Gate{lint(pawl.VerdictFail, 0, 2, 1)}, "2, and 1 warning", "FAIL"},
		"OnWarnings":  {[]*Gate{lint(pawl.VerdictFail, 0, 0, 1)}, "0, and 1 warning (FAIL)", "FAIL"},
		"Uncounted":   {[]*Gate{lint(pawl.VerdictFail)}, "unknown (FAIL)", "FAIL"},
		"Skipped":     {[]*Gate{lint(pawl.VerdictSkip)}, "-, lint skipped", "-, lint skipped"},
		"SomeSkipped": {[]*Gate{lint(pawl.VerdictSkip), format}, "0, lint skipped", "PASS, lint skipped"},
	} {
		got := together(c.gates, pawl.GateLint, pawl.GateFormat)
		if got.errors() != c.errors || got.word(false) != c.word {
			t.Errorf("%s: %q and %q, want %q and %q", name, got.errors(), got.word(false), c.errors, c.word)
		}
	}
	scan := together([]*Gate{gate("scan", pawl.GateSecurity, pawl.VerdictFail, 1, 0, 2, 4)}, pawl.GateSecurity)
	if got, want := scan.issues(), "3, and 4 low"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A run that is blocked after a council that proposed nothing is explained by its red gates too. F-50
func TestWhyNamesTheRedGate(t *testing.T) {
	s := begin(t, 12, 3, nil)
	s.iterate(3, "")
	s.implement(1)
	s.fail(pawl.DecideCouncil, "stuck", "tests: 2 of 12 tests fail")
	s.add(s.ref, &pawl.CouncilCalled{Members: 2, Reason: "stuck"})
	s.add(s.ref, &pawl.CouncilDecided{})
	s.close(pawl.OutcomeBlocked, "the council made no proposal")
	why := WhyText(fold(s.events))
	for _, want := range []string{"the council after iteration 1 made no proposal", "gate tests: FAIL: 2 of 12 tests fail"} {
		if !strings.Contains(why, want) {
			t.Errorf("no %q in\n%s", want, why)
		}
	}
}

// A member of a group that lost to a better one is dropped, in the log as in the list of tasks. F-50
func TestDroppedMember(t *testing.T) {
	s := planned(t)
	s.add(1, &pawl.BatchStarted{N: 1, Tasks: []int{0, 1}})
	s.spawn(2, "1.1", 1, 1)
	s.in(1)
	s.spawn(3, "1.2", 2, 1)
	s.add(1, &pawl.TaskJudged{Batch: 1, Task: 1, By: "review", Verdict: pawl.VerdictSkip, Reason: "1.1 is better"})
	s.in(3)
	s.finish(pawl.OutcomeCancelled, "1.1 is better")
	r := fold(s.events)
	line := Line(s.events[len(s.events)-1], r, s.read)
	if !strings.HasPrefix(line, "[1.2] Subtask dropped: 1.1 is better · ") || Tasks(r, s.now).Tasks[1].Status != "dropped" {
		t.Errorf("the log says %q, the list %+v", line, Tasks(r, s.now).Tasks[1])
	}
}

// What stands for the count of a council's votes says who voted. A tally of zeros says nothing.
func TestBallots(t *testing.T) {
	for rounds, want := range map[string]string{
		"A2 B1 C2 | A3 C2":    "A2 B1 C2 | A3 C2",
		"A0 B0 | A0":          "nobody cast a valid ballot, so the surest wins",
		"A0 B0 C0 D0 E0 | A0": "nobody cast a valid ballot, so the surest wins",
		"A0":                  "the only one",
	} {
		if got := ballots(rounds); got != want {
			t.Errorf("%s: %q", rounds, got)
		}
	}
}

// What judged a plan says nothing of the criteria of what was asked for. R-47
func TestPlanJudgeMeetsNoCriteria(t *testing.T) {
	s := planted(t)
	list := s.hands(`{"title":"Login","specs":[]}`)
	s.add(1, &pawl.GateJudged{Gate: "plan-review", Verdict: pawl.VerdictPass, Reason: "it covers the request", Passed: 1, Total: 1})
	s.accepts(1, list, specs...)
	s.end(pawl.IterationEnded{Requirements: pawl.VerdictPass, Decision: pawl.DecideHalt, Reason: "rejected by a person", Outcome: pawl.OutcomeFailed})
	s.close(pawl.OutcomeFailed, "rejected by a person")
	report, err := CompletionReport(fold(s.events), s.read)
	if err != nil || !strings.Contains(report, "All criteria met: - (-/0)") {
		t.Errorf("%v\n%s", err, report)
	}
}

// A child that cannot pass does not halt the run, and one that waited to the end never started. R-20
func TestEndsOfChildren(t *testing.T) {
	s := cascade(t)
	s.in(6)
	s.end(pawl.IterationEnded{Quality: pawl.VerdictFail, Decision: pawl.DecideHalt, Reason: "validation: exit 1", Outcome: pawl.OutcomeFailed})
	if got := Line(s.events[len(s.events)-1], s.fold(), s.read); !strings.Contains(got, " · FAILED · Reason: validation") {
		t.Errorf("the log says %q", got)
	}
	s.add(5, &pawl.LoopEnded{Outcome: pawl.OutcomeBlocked, Reason: "blocked by table"})
	r := s.fold()
	if got := Line(s.events[len(s.events)-1], r, s.read); got != "[auth/form] Phase never started: blocked by table · 0 of 2 passed" {
		t.Errorf("the log says %q", got)
	}
	if tree := TreeText(r, TreeOptions{Now: s.now}); !strings.Contains(tree, "never started: blocked by table") {
		t.Errorf("the tree:\n%s", tree)
	}
}
