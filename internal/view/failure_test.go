package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl"
)

// refusals is a run whose council fails: each of its members' calls as many times as tries, alike.
func refusals(t *testing.T, why pawl.Failure, tries int) (*story, []*pawl.SessionStarted) {
	s := begin(t, 12, 3, nil)
	s.iterate(3, "")
	s.implement(1)
	s.fail(pawl.DecideCouncil, "stuck", "tests: 2 of 12 tests fail")
	s.add(s.ref, &pawl.CouncilCalled{Members: 5, Reason: "stuck"})
	var all []*pawl.SessionStarted
	for i := range 5 {
		place := s.place("council", "proposal", 3)
		place.Lens = fmt.Sprint("lens-", i)
		all = append(all, s.start(pawl.ForProposal, place, i, 1))
	}
	for try := 1; try <= tries; try++ {
		for _, x := range all {
			id := s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 3, Try: try})
			s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: why})
			if try < tries {
				s.ask(x.Session, x.Place, &pawl.Wait{For: time.Second, Reason: fmt.Sprintf("back-off %d of 2: %s", try, why.Code)})
			}
		}
	}
	return s, all
}

// stop ends the run because of a reason.
func (s *story) stop(all []*pawl.SessionStarted, reason string) {
	s.add(0, &pawl.RunStopping{Outcome: pawl.OutcomeHalted, Reason: reason})
	for _, x := range all {
		s.done(x, pawl.SessionAbandoned, reason)
	}
	s.close(pawl.OutcomeHalted, reason)
}

// log returns what run prints of the events, without the report.
func (s *story) printed(t *testing.T, least Level) string {
	t.Helper()
	var out bytes.Buffer
	p := NewProgress(New(), ProgressOptions{Out: &out, Least: least, Blobs: s.read})
	for _, e := range s.events {
		mustProgress(t, p.Write(pawl.Update{Event: &e}))
	}
	return out.String()
}

// One failure of many calls side by side is said once in the log, once in the report, once by show
// and once by why; the next step is last. F-49
func TestOneFailureIsSaidOnce(t *testing.T) {
	why := pawl.Failure{Code: "auth", Message: "HTTP 401: api.test refuses the key in TEST_KEY: no", Fix: "set TEST_KEY to a key that is valid at api.test"}
	for name, reason := range map[string]string{
		"Now":     "council (lens-0) in iteration 1: " + why.Text(),
		"Earlier": "task/1/council/lens-0: auth: " + why.Message,
	} {
		t.Run(name, func(t *testing.T) {
			s, all := refusals(t, why, 1)
			s.stop(all, reason)
			r := fold(s.events)
			report, err := CompletionReport(r, s.read)
			if err != nil {
				t.Fatal(err)
			}
			log := s.printed(t, Important)
			for what, text := range map[string]string{"log": log, "report": report, "show": Show(r, s.read), "why": WhyText(r)} {
				if n := strings.Count(text, why.Message); n != 1 {
					t.Errorf("%s says it %d times:\n%s", what, n, text)
				}
			}
			if !strings.Contains(log, "\n! HALTED (") {
				t.Errorf("the log ends with\n%s", log)
			}
			if name == "Earlier" {
				return
			}
			last := why.Fix + ", then pawl resume 001-add-login\n"
			for what, text := range map[string]string{"show": Show(r, s.read), "why": WhyText(r)} {
				if !strings.HasSuffix(text, "Next: "+last) {
					t.Errorf("%s does not end with %q:\n%s", what, last, text)
				}
			}
			if want := "Fix:     " + why.Fix + "\nResume:  pawl resume 001-add-login\n"; !strings.HasSuffix(report, want) {
				t.Errorf("the report does not end with %q:\n%s", want, report)
			}
			if got := Summarize(r, s.read); got.Fix != why.Fix || got.Next != "pawl resume 001-add-login" || len(got.Problems) != 1 || got.Problems[0].Times != 5 {
				t.Errorf("the summary has %q, %q, %+v", got.Fix, got.Next, got.Problems)
			}
		})
	}
}

// Tries that fail alike and their waits are said once each; after a reply the same failure is a
// new one. F-49
func TestRepeatedFailures(t *testing.T) {
	why := pawl.Failure{Code: "overloaded", Message: "HTTP 500: Overloaded"}
	s, all := refusals(t, why, 3)
	log := s.printed(t, Important)
	for _, want := range []string{"the provider cannot answer (HTTP 500: Overloaded)", "Trying again in 1s: back-off 1 of 2: overloaded", "Trying again in 1s: back-off 2 of 2"} {
		if n := strings.Count(log, want); n != 1 {
			t.Errorf("%q stands %d times in\n%s", want, n, log)
		}
	}
	if all := s.printed(t, Detail); strings.Count(all, "the provider cannot answer") != 15 {
		t.Errorf("not every failure is in the whole log:\n%s", all)
	}
	if show := Show(fold(s.events), s.read); !strings.Contains(show, ", and 14 others like it until ") || strings.Count(show, "Overloaded") != 1 {
		t.Errorf("show says\n%s", show)
	}

	s.turn(all[0], "It is the clock.", 50_000, 4_000)
	id := s.ask(all[1].Session, at(all[1], 1), &pawl.CallModel{Tier: 3, Try: 4})
	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: why})
	if log := s.printed(t, Important); strings.Count(log, "the provider cannot answer") != 2 {
		t.Errorf("the failure after a reply is not said:\n%s", log)
	}
}

// Sessions side by side that wait for the same are one line of why, with what failed once. F-49
func TestWhyOfManyWaits(t *testing.T) {
	s, _ := refusals(t, pawl.Failure{Code: "overloaded", Message: "HTTP 500: Overloaded"}, 2)
	text := WhyText(fold(s.events))
	if strings.Count(text, "waits 1s until") != 1 || strings.Count(text, "HTTP 500") != 1 {
		t.Errorf("why says\n%s", text)
	}
}

// A wait for an account is said once until it is over. F-49
func TestWaitsForAnAccount(t *testing.T) {
	s := begin(t, 12, 3, nil)
	s.iterate(3, "")
	do := &pawl.Wait{For: time.Minute, Reason: "the provider asked for it: rate_limit", Account: pawl.Account{Provider: "openai", Address: "https://api.test"}}
	s.ask(1, s.place("implement", "", 3), do)
	s.ask(2, s.place("implement", "", 3), do)
	if n := strings.Count(s.printed(t, Important), "Waiting 1m"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
	s.wait(time.Minute)
	s.ask(2, s.place("implement", "", 3), do)
	if n := strings.Count(s.printed(t, Important), "Waiting 1m"); n != 2 {
		t.Errorf("a minute later it is said %d times", n)
	}
}
