package worktree

import (
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
)

// prepareTries is how often it is requested that a commit is prepared that could not be.
const prepareTries = 2

// maxPreparations is of how many commits a loop remembers how they were prepared. What is
// forgotten is requested again, and was prepared already.
const maxPreparations = 16

// Preparation is what is known of how a commit was prepared.
type Preparation struct {
	Commit   pawl.CommitHash
	Key      string // of what was prepared; empty = it is not known yet
	Failed   string // why the commands failed; empty = they did not
	said     string // what they printed of that
	evidence pawl.Hash
	tries    int
	why      *pawl.Failure // why the last try gave no result
}

// Over reports whether it is known how it came out.
func (p *Preparation) Over() bool {
	return p != nil && (p.Key != "" || p.why != nil && (p.tries >= prepareTries || p.why.Code == pawl.FailTimeout))
}

// Preparations is how the last commits were prepared, by when that was first requested.
type Preparations []Preparation

// Of is what is known of a commit's preparation, or nil.
func (p Preparations) Of(commit pawl.CommitHash) *Preparation {
	for i := range p {
		if p[i].Commit == commit {
			return &p[i]
		}
	}
	return nil
}

// Requested takes over that a commit is to be prepared.
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

// Prepared takes over how a commit was prepared.
func (p *Preparations) Prepared(commit pawl.CommitHash, b *pawl.Prepared) {
	p.change(commit, func(at *Preparation) { at.Key, at.Failed, at.said, at.evidence = b.Key, b.Failed, b.Said, b.Evidence })
}

// Fail takes over that a commit could not be prepared.
func (p *Preparations) Fail(commit pawl.CommitHash, why *pawl.Failure) {
	p.change(commit, func(at *Preparation) { at.why = why })
}

func (p *Preparations) change(commit pawl.CommitHash, change func(*Preparation)) {
	out := slices.Clone(*p)
	if at := out.Of(commit); at != nil {
		change(at)
	}
	*p = out
}

// Verdict is that of a gate whose commit could not be prepared.
func (p *Preparation) Verdict() pawl.GateJudged {
	return pawl.GateJudged{Verdict: pawl.VerdictFail, Partial: p.Failed == "", Reason: brief.Cut(p.Told(), 300), Error: brief.Fingerprint(p.reason()), Evidence: p.evidence}
}

// Ok reports whether the commit was prepared.
func (p *Preparation) Ok() bool { return p.Key != "" && p.Failed == "" }

// reason returns why the commit could not be prepared.
func (p *Preparation) reason() string {
	if p.Failed != "" {
		return p.Failed
	}
	return "the commit could not be prepared: " + p.why.Message
}

// Told returns the reason and what the commands said. Two attempts that fail alike have the same
// reason, whatever is said.
func (p *Preparation) Told() string {
	if p.said == "" {
		return p.reason()
	}
	return p.reason() + ": " + p.said
}
