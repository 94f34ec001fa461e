package land

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/verdict"
)

// voted is the end of a reviewer's session: "pass 90" is a decision with its confidence, and a
// session without a result is "failed".
func voted(words string) *pawl.SessionEnded {
	decision, sure, _ := strings.Cut(words, " ")
	if decision == "failed" {
		return &pawl.SessionEnded{Result: pawl.SessionFailed, Output: pawl.HashOf([]byte(words))}
	}
	return &pawl.SessionEnded{Result: pawl.SessionDone, Output: pawl.HashOf([]byte(words)),
		Facts: pawl.Facts{{Name: "decision", Value: decision}, {Name: "confidence", Value: sure}}}
}

func TestCandidateClone(t *testing.T) {
	made := func() *Candidate {
		c := &Candidate{Committed: &pawl.Committed{Commit: "c"}, Merge: Enter(1, 0, false)}
		c.Gates.Requested(0, 7, false)
		c.Judged(tests("unit", pawl.VerdictFail), pawl.JudgeGate)
		c.Voted(1, 2, voted("pass 90"))
		return c
	}
	c := made()
	n := c.Clone()
	n.Gates[0].Tries, n.Results[0], n.Merge.Done = 9, nil, true
	n.Voted(1, 2, voted("revise 10"))
	if diff := cmp.Diff(made(), c, cmp.AllowUnexported(Candidate{}, vote{})); diff != "" {
		t.Errorf("the original has changed:\n%s", diff)
	}
	if (*Candidate)(nil).Clone() != nil || c.Landing() != c.Merge || (*Candidate)(nil).Landing() != nil {
		t.Error("no candidate has a clone or is on its way, or one is not")
	}
}

// A verdict replaces that of the same judge and name only, so a gate may have the name that a batch
// gives to what it objects.
func TestCandidateJudged(t *testing.T) {
	c := &Candidate{}
	long := strings.Repeat("x", verdict.MaxReason+1)
	first := &pawl.GateJudged{Gate: "batch-unit", Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Reason: long}
	c.Judged(first, pawl.JudgeGate)
	c.Judged(&pawl.GateJudged{Gate: "batch-unit", Verdict: pawl.VerdictRevise}, pawl.JudgeBatch)
	c.Judged(&pawl.GateJudged{Gate: "review", Verdict: pawl.VerdictPass}, pawl.JudgeGate)
	if len(c.Results) != 3 || first.Reason != long || c.Results[0].Reason != brief.Cut(long, verdict.MaxReason) {
		t.Fatalf("the results are %v", c.Results)
	}
	c.Judged(&pawl.GateJudged{Gate: "batch-unit", Kind: pawl.GateTests, Verdict: pawl.VerdictPass}, pawl.JudgeGate)
	if r := c.Result("batch-unit"); len(c.Results) != 3 || r != c.Results[2] || r.Verdict != pawl.VerdictPass {
		t.Errorf("the gate says %+v", r)
	}
	if r := c.Refusal(pawl.JudgeBatch); r != c.Results[0] || r.Verdict != pawl.VerdictRevise || c.Refusal(pawl.JudgeMerge) != nil {
		t.Errorf("the batch says %+v", r)
	}
	c = &Candidate{}
	c.Judged(&pawl.GateJudged{Gate: "unit", Verdict: pawl.VerdictRevise}, pawl.JudgeBatch)
	if c.Result("unit") != nil {
		t.Error("what a batch says is taken for what a gate says")
	}
	if none := (*Candidate)(nil); none.Result("unit") != nil || none.Refusal(pawl.JudgeBatch) != nil || none.Verdicts() != nil {
		t.Error("no candidate has a verdict")
	}
}

// To judge a candidate again asks all gates anew, and keeps the verdicts that are not dropped.
func TestRejudge(t *testing.T) {
	made := func() *Candidate {
		c := &Candidate{}
		c.Judged(tests("unit", pawl.VerdictPass), pawl.JudgeGate)
		c.Judged(&pawl.GateJudged{Gate: "review"}, pawl.JudgeGate)
		c.Gates.Requested(0, 7, false)
		return c
	}
	c := made()
	before := c.Results
	if c.Rejudge(func(r *pawl.GateJudged) bool { return r.Kind != "" }); c.Gates != nil || len(c.Results) != 1 || c.Result("review") == nil || before[0].Gate != "unit" {
		t.Errorf("judged anew: %+v, before %v", c, before)
	}
	c = made()
	if c.Again(); c.Gates != nil || len(c.Results) != 2 {
		t.Errorf("asked again: %+v", c)
	}
	none := (*Candidate)(nil)
	none.Again()
	none.Rejudge(nil)
	asked := &Candidate{}
	asked.Gates.Requested(0, 7, false)
	if (&Candidate{}).IsJudged() || !asked.IsJudged() || !c.IsJudged() {
		t.Error("a candidate is judged when a gate was asked or has judged")
	}
}

// A request counts a try and forgets the last failure. What is asked anew counts from the start.
func TestGateRuns(t *testing.T) {
	var r GateRuns
	why := &pawl.Failure{Code: pawl.FailTimeout}
	if r.Of(3) != (GateRun{Gate: 3}) {
		t.Errorf("a gate that was not asked is %+v", r.Of(3))
	}
	r.Requested(1, 5, false)
	for _, step := range []struct {
		name string
		do   func()
		want GateRun
	}{
		{"requested", func() { r.Requested(3, 7, false) }, GateRun{Gate: 3, Effect: 7, Tries: 1}},
		{"another effect fails", func() { r.Fail(99, why) }, GateRun{Gate: 3, Effect: 7, Tries: 1}},
		{"failed", func() { r.Fail(7, why) }, GateRun{Gate: 3, Tries: 1, Failed: why}},
		{"judged without being asked", func() { r.Judged(3) }, GateRun{Gate: 3, Tries: 1, Failed: why}},
		{"requested again", func() { r.Requested(3, 9, false) }, GateRun{Gate: 3, Effect: 9, Tries: 2}},
		{"judged", func() { r.Judged(3) }, GateRun{Gate: 3, Tries: 2}},
		{"requested anew", func() { r.Requested(3, 11, true) }, GateRun{Gate: 3, Effect: 11, Tries: 1}},
		{"doubted", func() { r.Requested(3, 13, r.Doubt(3)) }, GateRun{Gate: 3, Effect: 13, Tries: 1, Doubted: true}},
		{"doubted again", func() { r.Requested(3, 15, r.Doubt(3)) }, GateRun{Gate: 3, Effect: 15, Tries: 2, Doubted: true}},
	} {
		before, was := r, r.Of(3)
		if step.do(); r.Of(3) != step.want || before.Of(3) != was {
			t.Errorf("%s: got %+v, want %+v; what a copy has is %+v", step.name, r.Of(3), step.want, before.Of(3))
		}
	}
	if r.Judged(4); len(r) != 2 || r[0] != (GateRun{Gate: 1, Effect: 5, Tries: 1}) {
		t.Errorf("the runs are %+v", r)
	}
}

func TestVotes(t *testing.T) {
	for _, row := range []struct {
		votes     string
		want      pawl.Verdict
		passed    int
		sure      int
		evidence  string // of the vote that is shown; empty = none
		unanimous bool
	}{
		{"pass 90, pass 70", pawl.VerdictPass, 2, 70, "", true},
		{"pass 70, pass 90", pawl.VerdictPass, 2, 70, "", true},
		{"revise 60, retry 90", pawl.VerdictFail, 0, 60, "revise 60", true},
		{"pass 90, revise 80, retry 85", pawl.VerdictFail, 1, 80, "revise 80", false},
		{"pass 90, halt 80, pass 85", pawl.VerdictHalt, 2, 80, "halt 80", true},
		{"halt 80, pass 90", pawl.VerdictHalt, 1, 80, "halt 80", true},
		{"pass 90, failed", pawl.VerdictFail, 1, 0, "", false},
	} {
		c := &Candidate{}
		votes := strings.Split(row.votes, ", ")
		for i, v := range votes {
			if c.HasVoted(i + 1) {
				t.Errorf("%s: reviewer %d has voted before", row.votes, i+1)
			}
			c.Voted(i+1, len(votes), voted(v))
		}
		b, unanimous := c.Count("review")
		want := &pawl.GateJudged{Gate: "review", Verdict: row.want, Passed: row.passed, Total: len(votes), Confidence: row.sure,
			Reason: fmt.Sprintf("%d of %d votes are for it", row.passed, len(votes))}
		if row.evidence != "" {
			want.Evidence = pawl.HashOf([]byte(row.evidence))
		}
		if diff := cmp.Diff(want, b); diff != "" || unanimous != row.unanimous {
			t.Errorf("%s: unanimous is %t, (-want +got)\n%s", row.votes, unanimous, diff)
		}
	}
}

// Reviewers vote in any order. A review's verdict ends the vote; that of a command gate does not.
func TestHasVoted(t *testing.T) {
	c := &Candidate{}
	c.Voted(2, 3, voted("pass 90"))
	for n, want := range map[int]bool{1: false, 2: true, 3: false, 4: false} {
		if c.HasVoted(n) != want {
			t.Errorf("reviewer %d has voted: %t", n, !want)
		}
	}
	if c.Judged(tests("unit", pawl.VerdictPass), pawl.JudgeGate); !c.HasVoted(2) {
		t.Error("a command gate ends the vote")
	}
	if c.Judged(&pawl.GateJudged{Gate: "review"}, pawl.JudgeGate); c.HasVoted(2) {
		t.Error("the vote is not over")
	}
}
