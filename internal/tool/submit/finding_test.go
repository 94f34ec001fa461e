package submit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/tool/submit"
)

// answered hands in a verdict that passes with these answers to three findings.
func answered(t *testing.T, answers ...submit.FindingAnswer) (pawl.Facts, string) {
	t.Helper()
	args, err := json.Marshal(submit.Verdict{Summary: "s", Findings: answers, Criteria: []submit.Criterion{
		{ID: "AC-001", Status: submit.Pass, Evidence: []string{"e"}}, {ID: "AC-002", Status: submit.Pass, Evidence: []string{"e"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return check(t, "verdict", string(args), pawl.Submission{
		Goal:     []string{"Remove the “legacy” exporter,\nand its tests — all of them.", "Übergröße prüfen", "Refactor"},
		Criteria: []pawl.Criterion{{ID: "AC-001", Text: "The parser's golden files show the new form."}, {ID: "AC-002", Text: pawl.GoalIsMet + "Done."}},
		Findings: []string{"F-1", "F-2", "F-3"},
	})
}

// The words that ask for what was found are found in the goal or a criterion, whatever
// their case, their spaces and the form of their quotes.
func TestQuotes(t *testing.T) {
	for _, quote := range []string{
		"Remove the “legacy” exporter", "remove the \"legacy\" EXPORTER", "'legacy'   exporter, and its\ttests", "and its tests - all of them", "`golden files` show", "the parser’s golden files",
		"“Refactor”", "refactor.", "done", "ubergroße", "U\u0308BERGRÖSSE PRÜFEN", "golden\u00a0files", "…golden files show…",
	} {
		f, problem := answered(t, submit.FindingAnswer{ID: "F-2", Accepted: true, Quote: quote})
		switch quote {
		case "ubergroße", "U\u0308BERGRÖSSE PRÜFEN", "`golden files` show":
			if problem == "" {
				t.Errorf("%q is found, though it is written otherwise: %s", quote, facts(f))
			}
		default:
			if problem != "" || !strings.HasPrefix(facts(f), "decision=pass reason=s met=2 total=2 accepted=F-2 quote=") || !strings.HasSuffix(facts(f), " unanswered=F-1 unanswered=F-3") {
				t.Errorf("%q gives %q, %q", quote, facts(f), problem)
			}
		}
	}
	if f, problem := answered(t, submit.FindingAnswer{ID: "F-2", Accepted: true, Quote: "U\u0308BERGRO\u0308ßE prüfen"}); problem != "" {
		t.Errorf("composed otherwise it gives %q, %q", facts(f), problem)
	}
}

func TestAnswers(t *testing.T) {
	accepts := func(id string) submit.FindingAnswer {
		return submit.FindingAnswer{ID: id, Accepted: true, Quote: "and its tests", Why: "w"}
	}
	refuses := submit.FindingAnswer{ID: "F-1", Why: "Put the\n test back."}
	f, problem := answered(t, refuses, accepts("F-3"), submit.FindingAnswer{ID: "F-2"})
	if want := "decision=pass reason=s met=2 total=2 refused=F-1 why=Put the test back. accepted=F-3 quote=and its tests refused=F-2"; problem != "" || facts(f) != want {
		t.Errorf("got %q, %q, want %q", facts(f), problem, want)
	}
	// F-68
	f, problem = answered(t, accepts("F-9"), refuses, accepts("F-3"), submit.FindingAnswer{ID: "F-2"}, refuses)
	if want := "decision=pass reason=s met=2 total=2 surplus=answer to F-9 refused=F-1 why=Put the test back. accepted=F-3 quote=and its tests refused=F-2 surplus=second answer to F-1"; problem != "" || facts(f) != want {
		t.Errorf("got %q, %q, want %q", facts(f), problem, want)
	}
	long := submit.FindingAnswer{ID: "F-1", Why: strings.Repeat("ü", 200)}
	if f, problem := answered(t, long); problem != "" || len(f.Get("why")) > 160 || !strings.HasSuffix(f.Get("why"), "ü…") {
		t.Errorf("got %q, %q", facts(f), problem)
	}
	const copyWords = "copy the words of the goal or of a criterion that ask for it, or do not accept it"
	quotes := func(quote string) []submit.FindingAnswer {
		return []submit.FindingAnswer{{ID: "F-1", Accepted: true, Quote: quote}}
	}
	for _, test := range []struct {
		answers []submit.FindingAnswer
		says    string
	}{
		{[]submit.FindingAnswer{accepts("F-2"), refuses, accepts("F-1")}, "F-1 is answered twice, and not alike"},
		{quotes(""), "F-1 is accepted without a quote: " + copyWords},
		{quotes(" “…” "), "F-1 is accepted without a quote: " + copyWords},
		{quotes("remove every test there is"), `the quote of F-1, "remove every test there is", is not in the goal and in no criterion: ` + copyWords},
		{quotes("emove the legacy exporte"), `is not in the goal and in no criterion`},
		{quotes("nd its test"), `is not in the goal and in no criterion`},
		{quotes("all of them. Übergröße"), `is not in the goal and in no criterion`}, // across two texts
		{quotes("the"), `the quote of F-1, "the", says too little: want at least 2 words with 8 letters, or the whole text; ` + copyWords},
		{quotes("exporter"), `the quote of F-1, "exporter", says too little`},
		{quotes("The goal is met"), `is not in the goal and in no criterion`},
		{quotes("all of"), `the quote of F-1, "all of", says too little`},
	} {
		if f, problem := answered(t, test.answers...); !strings.Contains(problem, test.says) {
			t.Errorf("%+v gives %q, %q, want %q", test.answers, facts(f), problem, test.says)
		}
	}
	none := `{"criteria": [{"id": "GOAL", "status": "pass", "evidence": ["e"]}], "summary": "s", "findings": [{"id": "F-1", "accepted": false}]%s}`
	if f, problem := check(t, "verdict", strings.Replace(none, "%s", "", 1), pawl.Submission{}); problem != "" || facts(f) != "decision=pass reason=s met=1 total=1 surplus=answer to F-1" {
		t.Errorf("without findings: %q, %q", facts(f), problem)
	}
	if f, problem := check(t, "verdict", strings.Replace(none, "%s", `, "halt": "a secret"`, 1), pawl.Submission{}); problem != "" || f.Get("decision") != "halt" || len(f.All("refused")) > 0 {
		t.Errorf("a halt: %q, %q", facts(f), problem)
	}
}
