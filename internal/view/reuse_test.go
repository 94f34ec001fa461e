package view

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl"
)

// Whoever looks at a run sees which verdicts are those of an earlier iteration, and which review
// looked at the same tree again. F-33
func TestReuseIsShown(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.iterate(1, "")
	s.tests(12, 12)
	s.review(pawl.VerdictFail, 4, "AC-002 is not met")
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictFail, Decision: pawl.DecideIterate})
	s.iterate(1, "")
	s.add(s.ref, &pawl.GatesReused{From: 1, Gates: []string{"tests"}, Anew: []string{"requirements"}})
	s.review(pawl.VerdictFail, 4, "AC-002 is still not met")
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictFail, Decision: pawl.DecideIterate})
	s.iterate(1, "")
	s.add(s.ref, &pawl.GatesReused{From: 2, Gates: []string{"tests", "requirements"}})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictFail, Decision: pawl.DecideHalt, Reason: "3 of 3", Outcome: pawl.OutcomeIncomplete})
	s.close(pawl.OutcomeIncomplete, "3 of 3")
	r := fold(s.events)
	report, err := CompletionReport(r, s.read)
	if err != nil {
		t.Fatal(err)
	}
	for face, text := range map[string]string{"show": Show(r, s.read), "why": WhyText(r), "report": report} {
		if !strings.Contains(text, "AC-002 is still not met (from iteration 2, a second look)\n") && face != "why" ||
			face == "why" && !strings.Contains(text, "AC-002 is still not met (from iteration 2, a second look) (event") {
			t.Errorf("%s says nothing of the second look:\n%s", face, text)
		}
	}
	if text := Show(r, s.read); !strings.Contains(text, "all tests pass (from iteration 1)\n") {
		t.Errorf("show says\n%s", text)
	}
	doc, err := ShowJSON(r, s.read)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Gates []SummaryGate `json:"gates"`
	}
	if err := json.Unmarshal(doc, &got); err != nil || len(got.Gates) != 2 {
		t.Fatalf("%v: %s", err, doc)
	}
	if g := got.Gates[0]; g.From != 1 || g.Second {
		t.Errorf("%+v", g)
	}
	if g := got.Gates[1]; g.From != 2 || !g.Second {
		t.Errorf("%+v", g)
	}
	if first := r.root().Iterations[0].Gates; first[0].From != 0 || first[1].Second {
		t.Error("the first iteration's own verdicts have changed")
	}
}

// Why names what passed, and where; a session that ended early is no reason for a run that is complete. F-36
func TestWhyOfWhatPassed(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.iterate(1, "")
	s.tests(12, 12)
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Decision: pawl.DecideIterate, Mends: true, Reason: "others are still red"})
	s.iterate(1, "")
	if text := WhyText(fold(s.events)); !strings.Contains(text, "iteration 1 on haiku passed, and the run continues: others are still red") { // F-26
		t.Errorf("why says\n%s", text)
	}
	s.done(s.implementing(), pawl.SessionTurns, "it used all 20 turns")
	s.add(s.ref, &pawl.GatesReused{From: 1})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Decision: pawl.DecideComplete, Reason: "every gate passed", Outcome: pawl.OutcomeComplete})
	s.close(pawl.OutcomeComplete, "every gate passed")
	text := WhyText(fold(s.events))
	if !strings.Contains(text, "← passed before on the same tree: tests (event") || strings.Contains(text, "turns") {
		t.Errorf("why says\n%s", text)
	}
}

// A run that a review halted can be resumed, or the halt be overruled: why says both. F-33
func TestWhyOfAHalt(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.iterate(1, "")
	s.review(pawl.VerdictHalt, 4, "a key in login.go")
	s.end(pawl.IterationEnded{Requirements: pawl.VerdictHalt, Decision: pawl.DecideHalt, Reason: "a key", Outcome: pawl.OutcomeHalted})
	s.close(pawl.OutcomeHalted, "a key")
	if text := WhyText(fold(s.events)); !strings.HasSuffix(text, "\nNext: pawl resume 001-add-login\nOr:   pawl override 001-add-login requirements --reason WHY, if the halt is a mistake\n") {
		t.Errorf("why says\n%s", text)
	}
}
