package ladder

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/kernel/verdict"
)

// Whatever an attempt that passes is like, its loop is complete only if it is proven, if a command gate is
// green or a test names the work, and if nothing is left red or unjudged. F-67 F-86
func TestFinished(t *testing.T) {
	proofs := []pawl.Proof{{}, {Goals: 1}, {Added: 2}, {HeldOut: true}, {Person: "Ada"}, {Tasks: 3}, {Kept: 4}, {Unbroken: 2}, {Docs: true}, {Goals: 1, Kept: 4}}
	n := 0
	for _, proof := range proofs {
		for bits := range 512 {
			is := func(bit int) bool { return bits>>bit&1 == 1 }
			j := Judgement{Quality: pawl.VerdictPass, Proof: proof, Green: is(0), NoWork: is(1), Unchanged: is(7) && !is(1), Answers: is(7) && is(8)}
			if is(2) {
				j.RedWeak = "1 of 2 goal tests fails: TestB"
			}
			if is(3) {
				j.Unjudged = 2
			}
			if is(6) {
				j.Mute = "tests"
			}
			c := &Case{Ladder: &pawl.Ladder{}, Judgement: j, AsksForProof: is(4), Ended: &pawl.IterationEnded{}, Tier: 1, Top: 1}
			if is(5) {
				c.Last = "it is the last one"
			}
			r := (&State{Afterward: -1}).Rule(c)
			named := proof.Goals+proof.Added+proof.Tasks+proof.Unbroken > 0
			want := (j.Green || named) && (!proof.IsNone() || j.NoWork) && j.RedWeak == "" && j.Unjudged == 0
			if is(6) && proof.Goals == 0 && proof.Person == "" && !proof.Docs {
				want = false // a gate is red that says no more
			}
			if j.Answers {
				want = j.Unjudged == 0 // there is nothing to prove, and no test to make pass
			}
			again := proof.IsNone() && !j.NoWork && !j.Answers && c.AsksForProof && c.Last == ""
			switch {
			case again != (r.Decision == pawl.DecideIterate) || again && (r.Outcome != "" || r.Reason != NoProof):
				t.Errorf("%+v, asks for proof %t, last %t: got %+v", j, c.AsksForProof, is(5), r)
			case !again && (r.Decision != pawl.DecideComplete || r.Reason == ""):
				t.Errorf("%+v: got %+v", j, r)
			case !again && (r.Outcome == pawl.OutcomeComplete) != want:
				t.Errorf("%+v: it ends %s, complete: want %t", j, r.Outcome, want)
			case !again && (!j.Answers && !strings.Contains(r.Reason, j.RedWeak) || strings.Contains(r.Reason, "nobody judged") != is(3)):
				t.Errorf("%+v: not all reasons are said: %s", j, r.Reason)
			}
			n++
		}
	}
	if n != len(proofs)*512 {
		t.Fatalf("%d cases", n)
	}
}

// A verdict of the harness's own on goal tests is no green gate, though it has the kind of one.
func TestGoalJudgeIsNoGate(t *testing.T) {
	if verdict.Green(&pawl.GateJudged{Kind: pawl.GateTests, Verdict: pawl.VerdictPass, Judge: pawl.JudgeGoal}) {
		t.Error("it is green")
	}
}
