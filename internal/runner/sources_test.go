package runner_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/driver"
)

// passes hands in a verdict that passes both criteria by this evidence, and returns what is
// wrong with it.
func (w *world) passes(tb testing.TB, evidence string, more ...effect) string {
	tb.Helper()
	args := fmt.Sprintf(`{"criteria": [{"id": "AC-001", "status": "pass", "evidence": [%q]}, {"id": "AC-002", "status": "pass", "evidence": ["README:1"]}], "summary": "s"}`, evidence)
	got := must[*pawl.ModelReplied](tb, w, w.asks(tb, replies(pawl.StopToolUse, use("1", "submit_verdict", args)), "submit_verdict"), more...)
	return got.Calls[0].Problem
}

// F-09: evidence is looked up in the candidate and, for what was removed, in the base; tests
// also in the reports of the gates that judged them.
func TestEvidenceIsLookedUp(t *testing.T) {
	w := MustWorld(t, map[string]string{
		"old.go": "1\n2\n3", "same.go": "1\n2\n", "shrunk.go": "1\n2\n3\n4\n", "old_test.go": "func TestRemoved(t *testing.T) {}\n", "empty": "",
		"src/lib.rs": "fn parses() {}\n", "notes.md": "TestInNotes\n",
	})
	w.MustOpen(t)
	for name, content := range map[string]string{"new.go": "1\n2\n", "shrunk.go": "1\n", "new_test.go": "func TestAdded(t *testing.T) {}\n"} {
		MustWrite(t, w.dir(name), content)
	}
	MustLink(t, "new.go", w.dir("link"))
	for _, name := range []string{"old.go", "old_test.go"} {
		if err := os.Remove(w.dir(name)); err != nil {
			t.Fatal(err)
		}
	}
	candidate := must[*pawl.Committed](t, w, &pawl.Commit{Branch: branch, Parent: w.base, Base: w.base, Message: "Work", Time: time.Unix(1, 0)}).Commit
	judged := func(gate string, onBase bool, tests ...string) {
		rep := pawl.GateReport{Verdict: pawl.VerdictPass}
		for _, name := range tests {
			rep.Tests = append(rep.Tests, pawl.TestResult{Name: name, Status: pawl.TestPass})
		}
		w.store(t, &pawl.GateJudged{Gate: gate, Kind: pawl.GateTests, Verdict: pawl.VerdictPass, OnBase: onBase, Evidence: w.MustKeep(t, rep)}, nil)
	}
	judged("tests", true, "m.TestOnBase")
	judged("tests", false, "m.TestEarlier")
	judged("more", false, "m.TestReused")
	w.store(t, &pawl.Committed{Commit: candidate}, nil)
	w.store(t, &pawl.GatesReused{From: 1, Gates: []string{"more"}}, nil)
	judged("tests", false, "m.TestRuns/sub_1")
	mixed := w.MustKeep(t, pawl.GateReport{Verdict: pawl.VerdictPass, Tests: []pawl.TestResult{{Name: "m.TestEarlier", Status: pawl.TestPass}}})
	w.store(t, &pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictPass, On: pawl.TreeReverted, Evidence: mixed}, nil)
	w.store(t, &pawl.GateJudged{Gate: "requirements", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, `{"criteria": []}`)}, nil)
	w.shows(t, candidate)
	MustWrite(t, w.dir("loose.go"), "1\n") // of no commit

	for _, evidence := range []string{"new.go:2", "same.go:2", "old.go:3", "shrunk.go:4", "link:7", "empty", "old.go", "TestRuns/sub_1", "TestOnBase", "TestReused", "TestAdded", "TestRemoved", "lib::parses"} {
		if problem := w.passes(t, evidence); problem != "" {
			t.Errorf("%s: %q", evidence, problem)
		}
	}
	for evidence, says := range map[string]string{
		"new.go:3": "new.go has 2 lines: line 3 is not there", "old.go:4": "old.go has 3 lines", "empty:1": "empty has 0 lines",
		"loose.go:1": "there is no file loose.go in the candidate or the base", "TestEarlier": "there is no test TestEarlier", "TestInNotes": "there is no test TestInNotes",
	} {
		if problem := w.passes(t, evidence); !strings.HasPrefix(problem, "AC-001: "+says) {
			t.Errorf("%s: %q, want %q", evidence, problem, says)
		}
	}

	t.Run("Step", func(t *testing.T) { // what it judges may be in no commit yet
		w.store(t, &pawl.SessionStarted{Session: 7, Purpose: pawl.ForStep}, nil)
		do := &pawl.AssemblePrompt{Template: "check.md", Output: "verdict", Commit: candidate, Base: w.base}
		w.store(t, &pawl.EffectRequested{Effect: pawl.Effect{Session: 7, Class: pawl.CrashRepeat, Do: do}}, nil)
		seventh := func(j *driver.Job) { j.Effect.Session = 7 }
		if problem := w.passes(t, "loose.go:1", seventh); problem != "" {
			t.Error(problem)
		}
		if problem := w.passes(t, "loose.go:2", seventh); !strings.Contains(problem, "loose.go has 1 line:") {
			t.Error(problem)
		}
	})
	t.Run("Gone", func(t *testing.T) {
		w.shows(t, pawl.CommitHash(strings.Repeat("1", len(w.base))))
		args := `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": ["README:1"]}, {"id": "AC-002", "status": "fail", "evidence": [], "gap": "g"}], "summary": "s"}`
		if f := w.fails(t, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_verdict", args)), "submit_verdict")); !strings.Contains(f.Message, "look up evidence") || f.Used.Input != 10 {
			t.Errorf("failed with %+v", f)
		}
	})
}

// What steps handed in is evidence where it is the work: a plan, and anything when no file
// has changed.
func TestEvidenceIsTheWork(t *testing.T) {
	w := MustWorld(t, nil)
	w.MustOpen(t)
	plan := w.MustKeep(t, `{"title": "t", "specs": [{"name": "core"}]}`)
	account := w.MustKeep(t, `{"summary": "Nothing has to be done, as it is there"}`)
	inputs := []pawl.Input{{Name: "create_plan", Blob: plan}, {Name: "result", Blob: account}, {Name: "signal", Blob: w.MustKeep(t, "Please hurry up now")}}
	unchanged := must[*pawl.Committed](t, w, &pawl.Commit{Branch: branch, Parent: w.base, Base: w.base, Message: "Nothing", Time: time.Unix(1, 0)}).Commit
	if unchanged == w.base {
		t.Fatal("there is no commit of nothing")
	}
	w.shows(t, unchanged, inputs...)
	for _, evidence := range []string{"specs: core", "result: Nothing has to be done"} {
		if problem := w.passes(t, evidence); problem != "" {
			t.Errorf("%s: %q", evidence, problem)
		}
	}
	const none = "its evidence names no entry of create_plan"
	if problem := w.passes(t, "signal: please hurry up now"); !strings.Contains(problem, none) {
		t.Error(problem)
	}
	MustWrite(t, w.dir("new"), "1\n")
	w.shows(t, must[*pawl.Committed](t, w, &pawl.Commit{Branch: branch, Parent: unchanged, Base: w.base, Message: "Work", Time: time.Unix(1, 0)}).Commit, inputs...)
	if problem := w.passes(t, "specs: core"); problem != "" {
		t.Error(problem)
	}
	if problem := w.passes(t, "result: Nothing has to be done"); !strings.Contains(problem, none) {
		t.Error(problem)
	}
}

// Answers to findings quote the goal, the task or its criteria. Which finding is accepted is
// in the facts whatever the answers say, and one that does not fit there is not accepted.
func TestFindingsAreAnswered(t *testing.T) {
	w := MustWorld(t, nil)
	goal := w.MustKeep(t, "Remove the old exporter.")
	show := func(n int) {
		do := &pawl.AssemblePrompt{Template: "requirements.md", Output: "verdict", Goal: goal, Commit: w.base, Base: w.base}
		for i := range n {
			do.Findings = append(do.Findings, pawl.OpenFinding{ID: pawl.FindingID(i + 1)})
		}
		w.store(t, &pawl.EffectRequested{Effect: pawl.Effect{Class: pawl.CrashRepeat, Do: do}}, nil)
	}
	hand := func(findings string, more ...effect) pawl.ToolUse {
		args := `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": ["README:1"]}], "summary": "s", "findings": [` + findings + `]}`
		return must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, use("1", "submit_verdict", args)), "submit_verdict"), more...).Calls[0]
	}
	task := w.MustKeep(t, pawl.TaskSpec{ID: "a", Title: "Drop its tests", Description: "And the fixtures of them.", Criteria: []string{"No exporter is left."}})
	of := func(j *driver.Job) { j.Task = task }

	show(5)
	got := hand(`{"id": "F-1", "accepted": true, "quote": "the old exporter"}, {"id": "F-2", "accepted": true, "quote": "drop its tests"}, {"id": "F-3", "accepted": true, "quote": "fixtures of them"},
		{"id": "F-4", "accepted": false, "why": "Put it back."}`, of)
	want := pawl.Facts{{Name: "decision", Value: "pass"}, {Name: "reason", Value: "s"}, {Name: "met", Value: "1"}, {Name: "total", Value: "1"}, {Name: "unanswered", Value: "F-5"},
		{Name: "accepted", Value: "F-1"}, {Name: "quote", Value: "the old exporter"}, {Name: "accepted", Value: "F-2"}, {Name: "quote", Value: "drop its tests"},
		{Name: "accepted", Value: "F-3"}, {Name: "quote", Value: "fixtures of them"}, {Name: "refused", Value: "F-4"}, {Name: "why", Value: "Put it back."}}
	if diff := cmp.Diff(want, got.Facts); diff != "" || got.Problem != "" {
		t.Errorf("problem %q, facts (-want +got):\n%s", got.Problem, diff)
	}
	if got := hand(`{"id": "F-1", "accepted": true, "quote": "what nobody asked for"}`, of); !strings.Contains(got.Problem, "is not in the goal and in no criterion") || got.Facts != nil {
		t.Errorf("the call is %+v", got)
	}

	answers := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id": "F-%d", "accepted": %t, "quote": "the old exporter", "why": %q}`, i+1, i%2 == 0, strings.Repeat("Put the test back. ", 20)))
		}
		return strings.Join(list, ", ")
	}
	for _, test := range []struct{ findings, accepted, refused, texts int }{{10, 5, 5, 10}, {40, 20, 20, 0}, {90, 31, 30, 0}} {
		show(test.findings)
		got := hand(answers(test.findings), of)
		accepted, refused, texts := got.Facts.All("accepted"), got.Facts.All("refused"), len(got.Facts.All("quote"))+len(got.Facts.All("why"))
		if got.Problem != "" || len(accepted) != test.accepted || len(refused) != test.refused || texts != test.texts || accepted[1] != "F-3" {
			t.Errorf("of %d findings %q are accepted, %q refused, with %d texts, %q", test.findings, accepted, refused, texts, got.Problem)
		}
	}
}
