package worktree

import (
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
)

// prepareTries bounds how often the preparation of one commit is requested.
const prepareTries = 2

// maxPreparations bounds for how many commits a loop keeps the preparation. One that was dropped
// is requested again, which costs little because the commit was prepared before.
const maxPreparations = 16

// Preparation is the preparation of one commit: the commands that make it ready for gates and
// agents, such as those that install its dependencies. It may have been requested only.
type Preparation struct {
	Commit   pawl.CommitHash
	Key      string        // identifies what was prepared; empty = there is no result yet
	Failed   string        // why the commands failed; empty = they did not
	said     string        // what the commands printed about it
	evidence pawl.Hash     // the whole output of commands that failed; zero = none
	tries    int           // how often it was requested
	why      *pawl.Failure // why the last request gave no result; nil = it gave one, or is in flight
}

// Over reports whether the preparation has a result, or is not requested again: it has used up its
// tries, or ran out of time. It is false for nil.
func (p *Preparation) Over() bool {
	return p != nil && (p.Key != "" || p.why != nil && (p.tries >= prepareTries || p.why.Code == pawl.FailTimeout))
}

// Preparations holds the preparations of the last commits, in the order in which they were first
// requested. Its methods replace the slice and never change its elements, so that copies of a
// loop may share it.
type Preparations []Preparation

// Of returns the preparation of a commit, or nil if it was not requested or was dropped.
func (p Preparations) Of(commit pawl.CommitHash) *Preparation {
	for i := range p {
		if p[i].Commit == commit {
			return &p[i]
		}
	}
	return nil
}

// Requested records that the preparation of a commit was requested. If there are too many, the
// oldest is dropped.
func (p *Preparations) Requested(commit pawl.CommitHash) {
	out := slices.Clone(*p)
	at := out.Of(commit)
	if at == nil {
		if len(out) == maxPreparations {
			out = slices.Delete(out, 0, 1)
		}
		out = append(out, Preparation{Commit: commit})
		at = &out[len(out)-1]
	}
	at.tries++
	at.why = nil
	*p = out
}

// Prepared records the result of a preparation. It does nothing if the preparation was dropped.
func (p *Preparations) Prepared(commit pawl.CommitHash, b *pawl.Prepared) {
	p.change(commit, func(at *Preparation) { at.Key, at.Failed, at.said, at.evidence = b.Key, b.Failed, b.Said, b.Evidence })
}

// Fail records why a preparation gave no result. It does nothing if the preparation was dropped.
func (p *Preparations) Fail(commit pawl.CommitHash, why *pawl.Failure) {
	p.change(commit, func(at *Preparation) { at.why = why })
}

// change replaces the slice by a copy in which the preparation of a commit is changed.
func (p *Preparations) change(commit pawl.CommitHash, change func(*Preparation)) {
	out := slices.Clone(*p)
	if at := out.Of(commit); at != nil {
		change(at)
	}
	*p = out
}

// Verdict returns the verdict of a gate whose commit could not be prepared: a failure, which is
// partial if the commands did not run to their end. The caller names the gate.
func (p *Preparation) Verdict() pawl.GateJudged {
	return pawl.GateJudged{Verdict: pawl.VerdictFail, Partial: p.Failed == "", Reason: brief.Cut(p.Told(), 300), Error: brief.Fingerprint(p.reason()), Evidence: p.evidence}
}

// Ok reports whether the commit was prepared.
func (p *Preparation) Ok() bool { return p.Key != "" && p.Failed == "" }

// reason returns why the commit could not be prepared. There must have been a failure.
func (p *Preparation) reason() string {
	if p.Failed != "" {
		return p.Failed
	}
	return "the commit could not be prepared: " + p.why.Message
}

// Told returns why the commit could not be prepared and what the commands printed. There must have
// been a failure. The fingerprint in [Preparation.Verdict] is that of the reason only, so that two
// attempts fail alike even if the output differs.
func (p *Preparation) Told() string {
	if p.said == "" {
		return p.reason()
	}
	return p.reason() + ": " + p.said
}
