package kernel

import (
	"fmt"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/verdict"
)

// past is a loop that has been tried: one word per attempt, each the failing
// tests, e: the error, f: the files, s: the security finding, or ok for a pass.
func past(words string) []ladder.Attempt {
	var out []ladder.Attempt
	for i, word := range strings.Fields(words) {
		a := ladder.Attempt{N: i + 1, Failed: !strings.HasPrefix(word, "ok")}
		a.Tests, a.Error, a.Files, a.Security = prints(word)
		out = append(out, a)
	}
	return out
}

// prints are the fingerprints of "Test,e:panic,f:a.go,s:G101"; a dash is nothing.
func prints(word string) (tests, errors, files, security uint64) {
	for _, part := range strings.Split(word, ",") {
		kind, value, ok := strings.Cut(part, ":")
		switch {
		case part == "ok" || part == "-":
		case !ok:
			tests = brief.Fingerprint(part)
		case kind == "e":
			errors = brief.Fingerprint(value)
		case kind == "f":
			files = brief.Fingerprint(value)
		case kind == "s":
			security = brief.Fingerprint(value)
		}
	}
	return tests, errors, files, security
}

// tried is a loop of the tests' recipe that has just ended one more attempt.
func tried(words string) (*State, *Loop, *pawl.IterationEnded) {
	history := past(words)
	last := history[len(history)-1]
	r := taskLoop()
	s := &State{Recipe: r, Settings: settings()}
	s.Limits.Iterations = 10
	l := newLoop(1, &r.Kinds[0])
	l.Iteration, l.Tier, l.ladder.History, l.cand = last.N, 1, history[:len(history)-1], &land.Candidate{}
	if last.Security != 0 {
		l.cand.Results = []*pawl.GateJudged{{Gate: "security", Kind: pawl.GateSecurity, Verdict: pawl.VerdictFail, Found: last.Security}}
		l.ladder.History = append([]ladder.Attempt(nil), l.ladder.History...)
		for i := range l.ladder.History { // as the gate's fingerprint is made of the finding
			if l.ladder.History[i].Security != 0 {
				l.ladder.History[i].Security = brief.Mix(0, l.ladder.History[i].Security)
			}
		}
	}
	return s, l, &pawl.IterationEnded{N: last.N, Tests: last.Tests, Error: last.Error, Files: last.Files}
}

func TestStuck(t *testing.T) {
	for _, row := range []struct {
		why      string
		attempts string // the last one has just ended
		from     int    // stuck detection spoke after this attempt
		off      bool
		want     string
	}{
		{"D-22 two attempts are too few", "A A", 0, false, ""},
		{"D-25 the same tests", "A A A", 0, false, "stuck: the same tests fail in 3 attempts"},
		{"D-26 the same error", "A,e:nil B,e:nil C,e:nil", 0, false, "stuck: the same error in 3 attempts"},
		{"D-24 the same files", "A,f:x B,f:x C,f:x", 0, false, "stuck: the same files modified in 3 failed attempts"},
		{"D-27 one of three differs", "A B A", 0, false, ""},
		{"D-23 only the last three count", "B A A A", 0, false, "stuck: the same tests fail in 3 attempts"},
		{"D-23 the last three differ", "A A A B", 0, false, ""},
		{"D-B03 three failures with nothing to compare", "- - -", 0, false, ""},
		{"D-B03 files alike, but one attempt passed", "A,f:x ok,f:x C,f:x", 0, false, ""},
		{"D-B04 attempts before the last time do not count", "A A A A A", 3, false, ""},
		{"D-B04 three new ones do", "A A A A A A", 3, false, "stuck: the same tests fail in 3 attempts"},
		{"D-53 it is turned off", "A A A", 0, true, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			s, l, ended := tried(row.attempts)
			s.Settings.NoStuckDetection, l.ladder.StuckFrom = row.off, row.from
			r, got := s.ruling(l, ladder.Judgement{Quality: pawl.VerdictFail}, ended), ""
			if r.Stuck {
				got = r.Reason
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestLadder(t *testing.T) {
	const pass, fail, halt = pawl.VerdictPass, pawl.VerdictFail, pawl.VerdictHalt
	for _, row := range []struct {
		why          string
		tier, failed int    // failures on this tier before this attempt
		attempts     string // the last one has just ended
		quality, req pawl.Verdict
		change       func(*State, *Loop)
		want         string
	}{
		{"D-38 everything passed", 1, 0, "-", pass, pass, nil, "complete complete"},
		{"D-10 after failures too", 3, 2, "A B -", pass, pass, nil, "complete complete"},
		{"nothing was proven", 1, 0, "-", "", pass, nil, "complete unverified"},
		{"D-21 fewer than 2 failures: the same model", 1, 0, "A", fail, pass, nil, "iterate"},
		{"D-39 requirements alone may fail", 1, 0, "A", pass, fail, nil, "iterate"},
		{"D-16 2 consecutive failures on the first tier", 1, 1, "A B", fail, fail, nil, "escalate 2: 2 consecutive failures"},
		{"D-17 2 on the second", 2, 1, "A B C D", fail, pass, nil, "escalate 3: 2 consecutive failures"},
		{"D-B01 2 on the third are not enough", 3, 1, "A B", fail, pass, nil, "iterate"},
		{"D-18 3 on the third", 3, 2, "A B C", fail, pass, nil, "council: 3 consecutive failures"},
		{"D-B05 failures on another tier do not count", 2, 0, "A B C", fail, pass, nil, "iterate"},
		{"D-37 D-62 a halt ends the run", 1, 0, "A", halt, "", nil, "halt halted"},
		{"D-B07 a halt wins over everything", 1, 0, "A", halt, pass, nil, "halt halted"},
		{"D-19 with the condition off: the top tier", 1, 0, "A", halt, "", goesOn, "escalate 3: "},
		{"D-B02 at the top it is a failure", 3, 0, "A", halt, "", goesOn, "iterate"},
		{"D-B02 the same finding twice: the top tier", 1, 0, "A,s:G1 B,s:G1", fail, pass, nil, "escalate 3: the same security finding twice in a row"},
		{"D-B02 … before the tier's patience is asked", 1, 1, "A,s:G1 B,s:G1", fail, pass, nil, "escalate 3: the same security finding twice in a row"},
		{"D-B02 another finding", 1, 0, "A,s:G1 B,s:G2", fail, pass, nil, "iterate"},
		{"D-20 D-B04 stuck below the top: the next tier", 1, 1, "A A A", fail, pass, nil, "escalate 2: stuck: the same tests fail in 3 attempts (stuck)"},
		{"D-20 D-B04 stuck at the top: the council", 3, 1, "A A A", fail, pass, nil, "council: stuck: the same tests fail in 3 attempts (stuck)"},
		{"D-40 the user asks for a council", 1, 0, "A", fail, pass, flagged, "council: the user asked for a council, then 1"},
		{"D-40 … once", 1, 0, "A B", fail, pass, func(s *State, l *Loop) { flagged(s, l); l.ladder.Councils = 1 }, "iterate"},
		{"F-94 C8 … and the ladder goes on, on no lower tier", 3, 0, "A B", fail, pass, func(s *State, l *Loop) {
			flagged(s, l)
			l.ladder.Councils, l.ladder.Afterward, l.ladder.Resume = 1, 0, ladder.Rung{Tier: 1, Failures: 1}
		}, "iterate"},
		{"F-94 … on the next tier if it is due", 1, 1, "A B", fail, pass, flagged, "council: the user asked for a council, then 2"},
		{"F-94 … which may be the council's own", 3, 2, "A B", fail, pass, flagged, "council: 3 consecutive failures"},
		{"D-B06 D-63 the tenth failure is the last", 1, 0, "A B C D E F G H I J", fail, pass, nil, "halt incomplete"},
		{"D-B06 the ninth is not", 1, 0, "A B C D E F G H I", fail, pass, nil, "iterate"},
		{"D-B13 the attempt after the council failed", 3, 0, "A B C D", fail, pass, func(_ *State, l *Loop) { l.ladder.Afterward = 0 }, "halt blocked"},
		{"… and the ladder ends in fail", 3, 0, "A B C D", fail, pass, func(_ *State, l *Loop) { l.ladder.Afterward, l.Kind.Ladder.Then = 0, "fail" }, "halt failed"},
		{"more attempts after the council are left", 3, 9, "A B C D", fail, pass, func(_ *State, l *Loop) { l.ladder.Afterward = 1 }, "iterate"},
		{"there is no council", 3, 2, "A B C", fail, pass, func(_ *State, l *Loop) { l.Kind.Ladder.Council = nil }, "halt blocked"},
	} {
		t.Run(row.why, func(t *testing.T) {
			s, l, ended := tried(row.attempts)
			l.Tier, l.ladder.Failures = row.tier, row.failed
			if row.quality == halt {
				l.cand.Results = append(l.cand.Results, &pawl.GateJudged{Gate: "security", Kind: pawl.GateSecurity, Verdict: halt})
			}
			if row.change != nil {
				row.change(s, l)
			}
			r := s.ruling(l, ladder.Judgement{Quality: row.quality, Requirements: row.req, Green: row.quality == pass, Proof: pawl.Proof{Kept: 1}}, ended)
			if got := spell(r); !strings.HasPrefix(got, row.want) || (row.want == "iterate" && got != "iterate") {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func goesOn(s *State, _ *Loop)  { s.Settings.HaltOn = []pawl.HaltCondition{pawl.HaltIterations} }
func flagged(s *State, _ *Loop) { s.Settings.Council = true }

// spell is a ruling in words.
func spell(r ladder.Ruling) string {
	out := string(r.Decision)
	switch r.Decision {
	case pawl.DecideEscalate:
		out += " " + string(rune('0'+r.Tier)) + ": " + r.Reason
	case pawl.DecideCouncil:
		out += ": " + r.Reason
		if r.Tier > 0 {
			out += fmt.Sprint(", then ", r.Tier)
		}
	case pawl.DecideComplete, pawl.DecideHalt:
		out += " " + string(r.Outcome)
	}
	if r.Stuck {
		out += " (stuck)"
	}
	return out
}

// A council starts the window of stuck detection anew, whatever called it.
func TestCouncilResetsStuck(t *testing.T) { // D-B04
	for _, stuck := range []bool{true, false} {
		_, l, _ := tried("A A A")
		if err := l.callCouncil(&pawl.CouncilCalled{Members: 5, Stuck: stuck}); err != nil {
			t.Fatal(err)
		}
		if l.ladder.StuckFrom != 3 {
			t.Errorf("called by stuck detection: %v; attempts count from %d, want 3", stuck, l.ladder.StuckFrom)
		}
	}
}

// On the top tier the ladder calls a council at once and does not escalate as well. The log
// says whether stuck detection called it. The attempts before it do not count again.
// D-B04
func TestStuckCallsTheCouncil(t *testing.T) { // F-63
	for _, stuck := range []bool{true, false} {
		var lines []string
		for i := range 3 {
			test := "TestA"
			if !stuck { // the tier's limit of failures calls the council
				test = fmt.Sprint("Test", i)
			}
			lines = append(lines, fmt.Sprintf("iteration %d tests: fail %s", i+1, test))
		}
		top := 14
		w := play(t, func(_ *pawl.Recipe, set *pawl.Settings) { set.Complexity = &top }, lines...)
		if n := len(all[*pawl.Escalated](w)); n > 0 {
			t.Errorf("stuck %t: %d escalations besides the council, want none", stuck, n)
		}
		s, called := &State{}, 0
		for _, e := range w.log {
			if err := Apply(s, e); err != nil {
				t.Fatal(err)
			}
			b, ok := e.Body.(*pawl.CouncilCalled)
			if !ok {
				continue
			}
			called++
			if l := s.Loop(1); b.Stuck != stuck || l.ladder.StuckFrom != 3 || l.Iteration != 3 {
				t.Errorf("stuck %t: the council is called after attempt %d with %+v, and attempts count from %d", stuck, l.Iteration, b, l.ladder.StuckFrom)
			}
		}
		if called != 1 {
			t.Errorf("stuck %t: %d councils were called, want 1", stuck, called)
		}
	}
}

// An escalation that stuck detection causes is logged as such. D-B04
func TestStuckEscalates(t *testing.T) {
	w := play(t, func(r *pawl.Recipe, set *pawl.Settings) {
		easy(r, set)
		for i := range r.Kinds[0].Ladder.Rungs {
			r.Kinds[0].Ladder.Rungs[i].Failures = 9
		}
	}, "iteration 1 tests: fail TestA", "iteration 2 tests: fail TestA", "iteration 3 tests: fail TestA")
	if got := all[*pawl.Escalated](w); len(got) != 1 || !got[0].Stuck || got[0].To != 2 || len(all[*pawl.CouncilCalled](w)) > 0 {
		t.Errorf("got escalations %+v", got)
	}
}

func TestTogether(t *testing.T) { // D-B07
	judged := func(words string) (out []*pawl.GateJudged) {
		for _, w := range strings.Fields(words) {
			out = append(out, &pawl.GateJudged{Kind: pawl.GateTests, Verdict: pawl.Verdict(w)})
		}
		return out
	}
	for _, row := range []struct{ gates, want string }{
		{"", ""}, {"pass pass", "pass"}, {"pass skip", "pass"}, {"pass fail pass", "fail"}, {"fail halt", "halt"}, {"halt pass", "halt"},
		{"pass revise", "fail"}, {"retry", "fail"}, {"nonsense pass", "fail"},
	} {
		if got := verdict.Quality(judged(row.gates)); string(got) != row.want {
			t.Errorf("%q together are %q, want %q", row.gates, got, row.want)
		}
	}
}
