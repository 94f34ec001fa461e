// Package exam holds how far the examination of a candidate for findings has come, and what was
// answered to the findings of a run.
package exam

import (
	"slices"

	"pawl"
)

// Exam is the examination of a commit against a base. It outlives its candidate, so that another
// one with the same tree need not be examined.
type Exam struct {
	Commit, Base pawl.CommitHash
	Tree         pawl.TreeHash

	Request
	Looked bool // it is known which gates have to run
	Runs   Runs // these gates
	Over   bool // everything is known

	Report   pawl.Hash // a JSON EvidenceReport
	Findings []string  // IDs
	Added    int       // tests that the candidate added or changed and that fail on the base's code
	Docs     bool      // it changes only documentation
}

// Request is how far a request has come that may be made again. The zero value is one that was not
// made.
type Request struct {
	Effect pawl.Seq // the request that is open; 0 = none is
	Tries  int      // of the request that is open or was last
	Failed *pawl.Failure
}

// Requested records that the request is made.
func (r *Request) Requested(id pawl.Seq) {
	r.Effect, r.Failed = id, nil
	r.Tries++
}

// Fail records why the request with this ID gave no answer.
func (r *Request) Fail(id pawl.Seq, why *pawl.Failure) {
	if r.Effect == id {
		r.Effect, r.Failed = 0, why
	}
}

// Clone returns a copy that shares nothing that changes; of nil, nil.
func (x *Exam) Clone() *Exam {
	if x == nil {
		return nil
	}
	c := *x
	c.Runs = slices.Clone(x.Runs)
	return &c
}

// Is reports whether the examination is of this candidate, or of one with the same tree, against
// this base.
func (x *Exam) Is(c *pawl.Committed, base pawl.CommitHash) bool {
	return x != nil && x.Base == base && (x.Commit == c.Commit || x.Tree != "" && x.Tree == c.Tree)
}

// Fail records why a look at the candidate, or a run of a gate, gave no answer.
func (x *Exam) Fail(id pawl.Seq, why *pawl.Failure) {
	x.Request.Fail(id, why)
	x.Runs.Fail(id, why)
}

// Examined records what a look led to: gates that have to run, or all that there is to know.
func (x *Exam) Examined(b *pawl.Examined) {
	if x.Effect != b.Effect {
		return
	}
	x.Effect, x.Tries = 0, 0
	if x.Looked || len(b.Runs) == 0 {
		x.Looked, x.Over, x.Report, x.Findings, x.Added = true, true, b.Evidence, b.Findings, b.Added
		x.Docs = len(b.Paths) > 0 && !slices.ContainsFunc(b.Paths, func(n pawl.ClassCount) bool { return n.Class != pawl.ClassDocs })
		return
	}
	x.Looked = true
	for _, r := range b.Runs {
		for _, gate := range r.Gates {
			x.Runs = append(x.Runs, Run{FurtherRun: r, Gate: gate})
		}
	}
}
