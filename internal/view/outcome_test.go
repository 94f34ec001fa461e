package view

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/recorded"
)

// Every end, status of a run and status of a loop has one entry, and no end has the sign of
// another one's success. docs/outcomes.md is the same table. F-50
func TestStates(t *testing.T) {
	var want []string
	for _, o := range []pawl.Outcome{pawl.OutcomeComplete, pawl.OutcomeUnverified, pawl.OutcomeIncomplete, pawl.OutcomeBlocked, pawl.OutcomeHalted,
		pawl.OutcomeCancelled, pawl.OutcomeFailed, pawl.OutcomeRefused, pawl.OutcomeInvalid} {
		want = append(want, string(o))
	}
	for _, s := range []pawl.RunStatus{pawl.StatusRunning, pawl.StatusPaused, pawl.StatusStopping, "interrupted", pawl.StatusQuarantined, pawl.StatusEnded} {
		want = append(want, string(s))
	}
	want = append(want, string(pawl.LoopPending), string(pawl.LoopRebasing))
	page, err := os.ReadFile("../../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	exits := map[int]string{}
	for _, s := range States() {
		got = append(got, s.Word)
		exit := "-"
		if s.Exit >= 0 {
			if other := exits[s.Exit]; other != "" {
				t.Errorf("%s has the exit code of %s", s.Word, other)
			}
			exits[s.Exit], exit = s.Word, fmt.Sprint(s.Exit)
		}
		if s.Sign == "✓" != (s.Word == string(pawl.OutcomeComplete)) {
			t.Errorf("%s has the sign %s", s.Word, s.Sign)
		}
		if row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", s.Sign, s.Word, exit, s.Meaning); !strings.Contains(string(page), row) {
			t.Errorf("docs/outcomes.md has no row\n%s", row)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, s := range []pawl.LoopStatus{pawl.LoopRunning, pawl.LoopPaused, pawl.LoopComplete, pawl.LoopFailed, pawl.LoopInvalidated} {
		if StateOf(s).Sign == "·" {
			t.Errorf("%s has no entry", s)
		}
	}
	if s := StateOf("no\nword"); s.Word != "no word" || s.Exit != -1 {
		t.Errorf("got %+v", s)
	}
}

// A run that is complete over a gate that is red at the base says so wherever its end is shown. F-50
func TestCompleteOverRed(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.iterate(1, "")
	s.implement(1)
	s.tests(4, 4)
	s.gate(pawl.GateJudged{Gate: "lint", Kind: pawl.GateLint, Verdict: pawl.VerdictPass, RedAtBase: true, Reason: "not worse than the base"})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Decision: pawl.DecideComplete, Reason: "every gate passed", Outcome: pawl.OutcomeComplete})
	s.close(pawl.OutcomeComplete, "every gate passed")
	s.events[len(s.events)-1].Body.(*pawl.RunEnded).RedAtBase = []string{"lint"}
	r := fold(s.events)
	if got := r.Info().RedAtBase; got != "lint" {
		t.Errorf("the line in lists says %q", got)
	}
	report, err := CompletionReport(r, s.read)
	if err != nil {
		t.Fatal(err)
	}
	last := s.events[len(s.events)-1]
	for text, want := range map[string]string{
		Show(r, s.read):       "  Status     ✓ complete, red at base: lint: every gate passed\n",
		report:                "Status: COMPLETE, red at base: lint\n",
		Line(last, r, s.read): "✓ COMPLETE, red at base: lint: every gate passed (",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// What may stand behind the word of a good end is in one table, which docs/outcomes.md has too.
func TestAdditions(t *testing.T) {
	page, err := os.ReadFile("../../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range Additions() {
		if row := fmt.Sprintf("| , %s | %s |\n", a.Words, a.Meaning); !strings.Contains(string(page), row) {
			t.Errorf("docs/outcomes.md has no row\n%s", row)
		}
	}
	for n, want := range map[int]string{0: "", 1: ", 1 finding nobody accepted", 12: ", 12 findings nobody accepted"} {
		if got := Unaccepted(n); got != want {
			t.Errorf("%d findings: %q, want %q", n, got, want)
		}
	}
	if got, want := LeftOpen(pawl.RunInfo{RedAtBase: "li\nnt", Findings: 2}), ", red at base: li nt, 2 findings nobody accepted"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A run that is complete with findings that nobody accepted says so wherever its end is shown, and
// its exit code is that of any other complete run.
func TestCompleteWithFindings(t *testing.T) {
	s := begin(t, 2, 1, nil)
	s.iterate(1, "")
	s.implement(1)
	s.pass()
	s.events[len(s.events)-1].Body.(*pawl.RunEnded).Findings = 2
	r := fold(s.events)
	if got := r.Info(); got.Findings != 2 || StateOfRun(got).Exit != 0 {
		t.Errorf("the line in lists has %d findings and exit code %d", got.Findings, StateOfRun(got).Exit)
	}
	report, err := CompletionReport(r, s.read)
	if err != nil {
		t.Fatal(err)
	}
	last := s.events[len(s.events)-1]
	for text, want := range map[string]string{
		Show(r, s.read):       "  Status     ✓ complete, 2 findings nobody accepted: every gate passed\n",
		report:                "Status: COMPLETE, 2 findings nobody accepted\n",
		Line(last, r, s.read): "✓ COMPLETE, 2 findings nobody accepted: every gate passed (",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got := LookOf(last).Tone; got != ToneWarning {
		t.Errorf("its last line has the tone %d, want that of a warning", got)
	}
	s.add(0, &pawl.RunResumed{From: pawl.OutcomeComplete})
	if got := fold(s.events).Info().Findings; got != 0 {
		t.Errorf("the line of the resumed run has %d findings", got)
	}
}

// What a run was started ago is told by one function. F-50
func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59 * time.Minute: "59m",
		time.Hour: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 1000 * time.Hour: "41d",
	} {
		if got := Age(d); got != want {
			t.Errorf("age(%s) = %s, want %s", d, got, want)
		}
	}
}

// The report of a run that judged a merge does not ask for a merge of its own: pawl merge continues
// with what was judged. F-47
func TestMergeLine(t *testing.T) {
	l := recorded.Read(t, "taskloop-escalate-1")
	for _, o := range []pawl.Outcome{pawl.OutcomeComplete, pawl.OutcomeUnverified} {
		for begin, want := range map[pawl.CommitHash]bool{"": true, "0123456789abcdef0123456789abcdef01234567": false} {
			r := fold(l.Events)
			r.Outcome, r.Start.Begin = o, begin
			if got := strings.Contains(mustReport(t, r, l.Blob), "\nMerge:   pawl merge "); got != want {
				t.Errorf("%s, begun at %q: the report has a line about merging: %t", o, begin, got)
			}
		}
	}
}

// A run that ended well and whose stored data was found damaged later is not shown as complete. F-50
func TestStateOfDamagedRun(t *testing.T) {
	for status, want := range map[pawl.RunStatus]string{pawl.StatusEnded: "complete", pawl.StatusQuarantined: "quarantined"} {
		if got := StateOfRun(pawl.RunInfo{Status: status, Outcome: pawl.OutcomeComplete}); got.Word != want {
			t.Errorf("%s: %q, want %q", status, got.Word, want)
		}
	}
}
