package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/recorded"
)

// Each recipe's answer is what its last words are, in real runs. F-37
func TestAnswersOfRecipes(t *testing.T) {
	report := "the lists are there\n\nGoal: lists are there\n\nCompleted:\n- all\n\nVerification: all green\n\nDecision adherence: they are followed"
	for name, want := range map[string][]string{ // the steps, the text
		"pandora-5":           {"answer close", "The shop is a folder with a README.\n\nThe question was answered."}, // COMPLETE
		"pandora-4":           {"answer close", "It is fixed."},                                                      // EXECUTE; both say the same
		"pandora-1":           {"close", "All three are there."},
		"pandora-2":           {"close", "What could be done was done."}, // blocked
		"loom-1":              {"summary", "cart and till are listed"},   // L-27
		"loom-4":              {"executor", "one: It is done."},          // cancelled before the summary
		"coherence-1":         {"report", report},
		"coherence-health-3":  {"report", report}, // incomplete
		"loopr-small-1":       {"code code code", "core/words/code: The file is written.\n\ncore/parse/code: The file is written.\n\ncore/empty/code: The file is written."},
		"loopr-reject-2":      nil,
		"pawl-odd-files-1":    {"implement", "made"},
		"pawl-limits-1":       {"implement", "done"}, // incomplete
		"pawl-cancel-1":       nil,
		"taskloop-escalate-1": {"implement", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			l := recorded.Read(t, name)
			a := AnswerOf(fold(l.Events), l.Blob)
			if want == nil {
				if a != nil {
					t.Errorf("the answer is %+v", a)
				}
				return
			}
			if a == nil {
				t.Fatal("no answer")
			}
			var steps []string
			for _, p := range a.Parts {
				steps = append(steps, p.Step)
			}
			if got := strings.Join(steps, " "); got != want[0] || a.Text != want[1] {
				t.Errorf("%s: %q, want %s: %q", got, a.Text, want[0], want[1])
			}
			ended := fold(l.Events)
			for _, text := range []string{Show(ended, l.Blob), mustReport(t, ended, l.Blob)} {
				if first, _, _ := strings.Cut(a.Parts[0].Text, "\n"); !strings.Contains(text, "\n  "+first+"\n") && !strings.Contains(text, ": "+first+"\n") {
					t.Errorf("it is not shown:\n%s", text)
				}
			}
		})
	}
}

func mustReport(t *testing.T, r *Run, blobs Blobs) string {
	t.Helper()
	out, err := CompletionReport(r, blobs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A run has an answer when it has ended and not before, nor after it is resumed; what it said at
// an earlier end is no answer of a later one. F-37
func TestAnswerAtTheEnd(t *testing.T) {
	l := recorded.Read(t, "pandora-1")
	r := New()
	for i, e := range l.Events {
		r.Apply(e)
		if a, last := AnswerOf(r, l.Blob), i == len(l.Events)-1; (a != nil) != last {
			t.Fatalf("after event %d of %d the answer is %+v", i+1, len(l.Events), a)
		}
	}
	next := func(body pawl.Body) {
		r.Apply(pawl.Event{Run: r.ID, Seq: r.Seq + 1, Time: r.Updated.Add(time.Second), Body: body})
	}
	next(&pawl.RunResumed{From: pawl.OutcomeComplete})
	if a := AnswerOf(r, l.Blob); a != nil {
		t.Errorf("resumed: %+v", a)
	}
	next(&pawl.RunEnded{Outcome: pawl.OutcomeCancelled, Reason: "enough"})
	a := AnswerOf(r, l.Blob)
	if a == nil || slices.ContainsFunc(a.Parts, func(p AnswerPart) bool { return p.Step == "close" }) || a.Parts[0].Task != "TASK-001" || a.Parts[0].Text != "The file is there." {
		t.Errorf("ended again: %+v", a)
	}
	if report := mustReport(t, r, l.Blob); !strings.Contains(report, "No answer was written for the whole run. What its tasks say:\n  TASK-001: The file is there.\n") {
		t.Error(report)
	}
}

// try is an attempt whose implementation says something; it fails unless it passes.
func (s *story) try(output string, passes bool) {
	s.iterate(1, "")
	x := s.implementing()
	s.turn(x, "Done.", 1, 300)
	s.says(x, pawl.SessionDone, output)
	s.commit(1)
	if passes {
		s.pass()
		return
	}
	s.fail(pawl.DecideIterate, "1 of 12 tests fails", "1 of 12 tests fails")
}

// What is shown is what was said of the attempt that is delivered. F-37
func TestAnswerOfTheAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		tell    func(*story)
		attempt int
		text    string
		heading string
	}{
		"Passed": {func(s *story) {
			s.try(`{"summary":"no"}`, false)
			s.try(`{"summary":"yes","details":"in\n\n    a.go"}`, true)
			s.close(pawl.OutcomeComplete, "every gate passed")
		},
			2, "yes\n\nin\n\n    a.go", "\nAnswer:\n  yes\n\n  in\n\n      a.go\n\n"},
		// F-96: an answer is somebody's words, which stand below an end that they may contradict.
		"Claims": {func(s *story) { s.try("the goal is reached", true); s.close(pawl.OutcomeBlocked, "a finding") },
			1, "the goal is reached", "\nThe agent's answer in step implement, though the run ended blocked:\n  the goal is reached\n\n"},
		"ClaimsAfterFailure": {func(s *story) { s.try("the goal is reached", true); s.close(pawl.OutcomeFailed, "disk") },
			1, "the goal is reached", "\nThe agent's answer in step implement, though the run ended failed:\n  the goal is reached\n\n"},
		"Unverified": {func(s *story) { s.try("the goal is reached", true); s.close(pawl.OutcomeUnverified, "no gates") },
			1, "the goal is reached", "\nThe agent's answer in step implement, which nothing verified:\n  the goal is reached\n\n"},
		"Last": {func(s *story) { s.try("first", false); s.try("second", false); s.close(pawl.OutcomeIncomplete, "max") },
			2, "second", "\nThe agent's answer at attempt 2, which did not pass:\n  second\n\n"},
		"Delivered": {func(s *story) {
			s.try("first", false)
			s.try("second", false)
			s.deliver(1, pawl.OutcomeHalted, "budget")
		},
			1, "first", "\nThe agent's answer at attempt 1, which did not pass:\n  first\n\n"},
		"CutShort": {func(s *story) {
			s.try("first", false)
			s.iterate(1, "")
			s.says(s.implementing(), pawl.SessionAbandoned, "half")
			s.close(pawl.OutcomeHalted, "budget")
		}, 1, "first", "\nThe agent's answer at attempt 1, which did not pass:\n  first\n\n"},
		"AtTheCap": {func(s *story) {
			s.iterate(1, "")
			s.says(s.implementing(), pawl.SessionTurns, "all turns are used")
			s.commit(1)
			s.fail(pawl.DecideIterate, "red", "red")
			s.close(pawl.OutcomeIncomplete, "max")
		}, 1, "all turns are used", "\nThe agent's answer at attempt 1, which did not pass:\n  all turns are used\n\n"},
		"Blocked": {func(s *story) {
			s.try(`{"summary":"no key","status":"blocked","reason":"there is none"}`, false)
			s.close(pawl.OutcomeBlocked, "blocked")
		},
			1, "no key\n\nBlocked: there is none", "  no key\n\n  Blocked: there is none\n"},
		"JSON":    {func(s *story) { s.try(`{"a":1}`, false); s.close(pawl.OutcomeIncomplete, "max") }, 1, `{"a":1}`, "  {\"a\":1}\n"},
		"Hostile": {func(s *story) { s.try("a\x1b[2Jb\rc\u202e", false); s.close(pawl.OutcomeIncomplete, "max") }, 1, "abc", "  abc\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, 2, 1, nil)
			test.tell(s)
			r := fold(s.events)
			a := AnswerOf(r, s.read)
			if a == nil || len(a.Parts) != 1 || a.Parts[0].Iteration != test.attempt || a.Text != test.text {
				t.Fatalf("the answer is %+v", a)
			}
			for _, text := range []string{Show(r, s.read), mustReport(t, r, s.read)} {
				if !strings.Contains(text, test.heading) {
					t.Errorf("want %q in:\n%s", test.heading, text)
				}
			}
			if got := Summarize(r, s.read).Answer; got == nil || got.Text != test.text {
				t.Errorf("the summary has %+v", got)
			}
			last := s.events[len(s.events)-1]
			d, err := Document(last, r, s.read)
			if err != nil || d.Kind != "run_ended" || d.Answer == nil || d.Answer.Text != test.text {
				t.Errorf("the last event has %+v, %v", d.Answer, err)
			}
		})
	}
}

// A long answer is shown in part, with what is left out and how to see it; another command has it
// whole.
func TestLongAnswer(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		text.WriteString("line " + string(rune('a'+i%26)) + "\n")
	}
	s := begin(t, 2, 1, nil)
	s.try(text.String(), true)
	s.close(pawl.OutcomeComplete, "every gate passed")
	r := fold(s.events)
	report := mustReport(t, r, s.read)
	if !strings.Contains(report, "\n  … 76 lines left out, 532 bytes: pawl show 001-add-login --answer\n") || strings.Count(report, "\n  line ") != answerLines {
		t.Error(report)
	}
	if a := AnswerOf(r, s.read); strings.Count(a.Text, "line ") != 100 {
		t.Errorf("the answer has %d bytes", len(a.Text))
	}
}
