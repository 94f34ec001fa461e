package land

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/exam"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/verdict"
)

// Candidate is the commit that an iteration led to, with all that is known of it. It is dropped
// when another commit is to be judged.
type Candidate struct {
	*pawl.Committed
	Gates   GateRuns           // command gates that were asked to judge it
	Results []*pawl.GateJudged // in the order they came
	votes   []vote             // of the review under way
	empty   []emptyReview      // reviewers who handed in nothing

	Second     []string // reviews that judge its tree a second time
	Probed     bool     // it was compared with those of siblings
	Checked    bool     // it was looked at for conflict markers
	Unresolved int      // in how many paths it has them
	Extracted  bool     // what the attempt taught was taken, or could not be
	Astray     bool     // it has used up its ways back
	Merge      *Entry   // on its way into the parent's branch; nil = it is not

	Goals *exam.Weighing // which goal tests it has red; nil = that was not asked
}

// GateRun is a command gate that was asked to judge a commit.
type GateRun struct {
	Gate   int      // its number among the gates of the loop
	Effect pawl.Seq // 0 = not under way
	Tries  int
	Failed *pawl.Failure // why the last try gave no verdict
	// Doubted reports that the gate was asked again after it had judged the commit.
	Doubted bool
}

// Clone returns a copy that shares nothing that changes; of nil, nil.
func (c *Candidate) Clone() *Candidate {
	if c == nil {
		return nil
	}
	n := *c
	n.Gates, n.Results, n.votes = slices.Clone(c.Gates), slices.Clone(c.Results), slices.Clone(c.votes)
	n.empty = slices.Clone(c.empty)
	n.Merge, n.Goals = c.Merge.Clone(), c.Goals.Clone()
	return &n
}

// Verdicts returns what was said of the candidate, in the order it came; of nil, nothing.
func (c *Candidate) Verdicts() []*pawl.GateJudged {
	if c == nil {
		return nil
	}
	return c.Results
}

// Result returns the verdict of the gate or review of this name, or nil.
func (c *Candidate) Result(name string) *pawl.GateJudged {
	return c.find(func(r *pawl.GateJudged) bool { return r.Gate == name && r.Judge == pawl.JudgeGate })
}

// Refusal returns the verdict of a judge that is no gate, or nil.
func (c *Candidate) Refusal(by pawl.Judge) *pawl.GateJudged {
	return c.find(func(r *pawl.GateJudged) bool { return r.Judge == by })
}

func (c *Candidate) find(is func(*pawl.GateJudged) bool) *pawl.GateJudged {
	if i := slices.IndexFunc(c.Verdicts(), is); i >= 0 {
		return c.Results[i]
	}
	return nil
}

// Rejudge drops verdicts that were on another tree, and forgets which gates were asked.
func (c *Candidate) Rejudge(drop func(*pawl.GateJudged) bool) {
	if c != nil {
		c.Goals = nil
		c.Gates, c.Results = nil, slices.DeleteFunc(slices.Clone(c.Results), drop)
	}
}

// Again forgets which gates were asked. Their verdicts stay.
func (c *Candidate) Again() {
	if c != nil {
		c.Gates = nil
	}
}

// IsJudged reports whether a gate has judged the candidate, or was asked to.
func (c *Candidate) IsJudged() bool { return len(c.Results)+len(c.Gates) > 0 }

// GateRuns are the command gates that were asked to judge a commit, in the order they were.
type GateRuns []GateRun

// Of returns how far a gate has come; the zero run, with its number, if it was not asked.
func (r GateRuns) Of(gate int) GateRun {
	for _, g := range r {
		if g.Gate == gate {
			return g
		}
	}
	return GateRun{Gate: gate}
}

// set replaces the run of a gate, or adds it.
func (r *GateRuns) set(g GateRun) {
	runs := slices.Clone(*r)
	if i := slices.IndexFunc(runs, func(o GateRun) bool { return o.Gate == g.Gate }); i >= 0 {
		runs[i] = g
	} else {
		runs = append(runs, g)
	}
	*r = runs
}

// Requested records that a gate is asked. Anew forgets how often it was asked before.
func (r *GateRuns) Requested(gate int, effect pawl.Seq, anew bool) {
	g := r.Of(gate)
	if anew {
		g.Tries = 0
	}
	g.Effect, g.Failed = effect, nil
	g.Tries++
	r.set(g)
}

// Doubt records that a gate that has judged the commit is asked again, and reports whether this is
// the first time.
func (r *GateRuns) Doubt(gate int) bool {
	g := r.Of(gate)
	if g.Doubted {
		return false
	}
	g.Doubted = true
	r.set(g)
	return true
}

// Fail records that an effect gave no verdict.
func (r *GateRuns) Fail(effect pawl.Seq, why *pawl.Failure) {
	for _, g := range *r {
		if g.Effect == effect {
			g.Effect, g.Failed = 0, why
			r.set(g)
			return
		}
	}
}

// Judged records that a gate is not under way any more.
func (r *GateRuns) Judged(gate int) {
	if g := r.Of(gate); g.Effect != 0 {
		g.Effect = 0
		r.set(g)
	}
}

// Judged records a verdict, which replaces an earlier one of the same judge and name. A verdict
// that is no command gate's ends a vote.
func (c *Candidate) Judged(b *pawl.GateJudged, by pawl.Judge) {
	r := *b
	r.Reason, r.Judge = brief.Cut(b.Reason, verdict.MaxReason), by
	c.Results = slices.DeleteFunc(c.Results, func(o *pawl.GateJudged) bool { return o.Gate == r.Gate && o.Judge == r.Judge })
	c.Results = append(c.Results, &r)
	if r.Kind == "" {
		c.votes = nil
	}
}

// vote is one reviewer's verdict where several judge.
type vote struct {
	over    bool
	verdict pawl.Verdict
	sure    int // percent
	output  pawl.Hash
	answers pawl.Facts // what it answers to findings
	objects uint64     // the fingerprint of its objection's words; 0 = it has none
}

// Voted records the vote of the nth of so many reviewers, counted from 1. A session without a
// result is a vote against.
func (c *Candidate) Voted(n, of int, b *pawl.SessionEnded) {
	for len(c.votes) < of {
		c.votes = append(c.votes, vote{})
	}
	v := &c.votes[n-1]
	v.over, v.verdict = true, pawl.VerdictFail
	if b.Result == pawl.SessionDone {
		v.verdict, v.output = verdict.OfReview(b.Facts.Get("decision"), len(b.Facts.All("unmet"))), b.Output
		v.sure = verdict.Percent(b.Facts.Get("confidence"))
		if !verdict.Passes(v.verdict) {
			v.objects = brief.Words(b.Facts.Get("reason"))
		}
		for _, f := range b.Facts {
			if isAnswer(f.Name) {
				v.answers = append(v.answers, f)
			}
		}
	}
}

// isAnswer reports whether a fact of this name answers for a finding.
func isAnswer(name string) bool {
	return name == "accepted" || name == "quote" || name == "refused" || name == "why"
}

// VotedFacts returns what reviewers of a vote answer for findings. One is accepted if all accept it,
// with the words of the first.
func (c *Candidate) VotedFacts() pawl.Facts {
	var out pawl.Facts
	for i, f := range c.firstAnswers() {
		if f.Name != "accepted" {
			continue
		}
		all := !slices.ContainsFunc(c.votes, func(v vote) bool { return !slices.Contains(v.answers.All("accepted"), f.Value) })
		if first := c.firstAnswers(); all {
			out = append(out, first[i:min(i+2, len(first))]...)
		}
	}
	return out
}

func (c *Candidate) firstAnswers() pawl.Facts {
	if len(c.votes) == 0 {
		return nil
	}
	return c.votes[0].answers
}

// emptyReview is a reviewer who handed in nothing.
type emptyReview struct{ stage, vote, tier int }

// Empty records that the reviewer of a stage, with this number among several, handed in nothing, and
// reports whether that was the last one: see [Retries].
func (c *Candidate) Empty(stage, vote, tier int) (last bool) {
	c.empty = append(c.empty, emptyReview{stage, vote, tier})
	_, again := c.NextReviewer(stage, vote, tier)
	return !again
}

// NextReviewer returns the tier of a stage's next reviewer, which is tier at first. It reports false if
// no reviewer is left.
func (c *Candidate) NextReviewer(stage, vote, tier int) (next int, again bool) {
	e := Retries{}
	for _, r := range c.empty {
		if r.stage == stage && r.vote == vote {
			e.Empty(r.tier)
		}
	}
	return e.Next(tier)
}

// Retries are the reviewers of one thing who handed in nothing. Each next one is a tier stronger, up to
// the strongest, and there are at least two.
type Retries struct{ n, tier int }

// Empty records one of this tier.
func (e *Retries) Empty(tier int) { e.n, e.tier = e.n+1, max(e.tier, tier) }

// Next returns the tier of the next one, which is tier at first, and whether there is one.
func (e Retries) Next(tier int) (next int, again bool) {
	if e.n == 0 {
		return tier, true
	}
	return min(e.tier+1, ladder.Top), e.tier < ladder.Top || e.n < 2
}

// HasVoted reports whether the nth reviewer has voted, counted from 1.
func (c *Candidate) HasVoted(n int) bool { return n <= len(c.votes) && c.votes[n-1].over }

// Count returns the verdict of the votes. If they are not unanimous it is a failure, which a
// person may decide otherwise. One vote to halt decides alone.
func (c *Candidate) Count(gate string) (b *pawl.GateJudged, unanimous bool) {
	b = &pawl.GateJudged{Gate: gate, Verdict: pawl.VerdictFail, Total: len(c.votes), Confidence: 100}
	for _, v := range c.votes {
		b.Confidence = min(b.Confidence, v.sure)
		if v.objects != 0 {
			b.Error = brief.Mix(b.Error, v.objects)
		}
		switch {
		case v.verdict == pawl.VerdictPass:
			b.Passed++
		case b.Evidence.IsZero():
			b.Evidence = v.output
		}
		if v.verdict == pawl.VerdictHalt {
			b.Verdict = pawl.VerdictHalt
		}
	}
	b.Reason = fmt.Sprintf("%d of %d votes are for it", b.Passed, b.Total)
	if b.Verdict != pawl.VerdictHalt && b.Passed > 0 && b.Passed == b.Total {
		b.Verdict = pawl.VerdictPass
	}
	return b, b.Verdict != pawl.VerdictFail || b.Passed == 0
}

// Landing returns how far the candidate is on its way into the parent's branch; nil means it is
// not on it.
func (c *Candidate) Landing() *Entry {
	if c == nil {
		return nil
	}
	return c.Merge
}
