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

	Effect pawl.Seq // the request that is open; 0 = none is
	Tries  int      // of the request that is open or was last
	Failed *pawl.Failure
	Looked bool  // it is known which gates have to run
	Runs   []Run // these gates
	Over   bool  // everything is known

	Report   pawl.Hash // a JSON EvidenceReport
	Findings []string  // IDs
}

// Run is a gate that judges another tree for an examination.
type Run struct {
	pawl.FurtherRun
	Gate   string
	Effect pawl.Seq // 0 = not in flight
	Tries  int
	Failed *pawl.Failure // why the last try gave no verdict
	Done   bool
	Report pawl.Hash // zero = it gave no verdict
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

// Requested records that the candidate is being examined.
func (x *Exam) Requested(id pawl.Seq) {
	x.Effect, x.Failed = id, nil
	x.Tries++
}

// Fail records why a look at the candidate, or a run of a gate, gave no answer.
func (x *Exam) Fail(id pawl.Seq, why *pawl.Failure) {
	if x.Effect == id {
		x.Effect, x.Failed = 0, why
	}
	for i := range x.Runs {
		if x.Runs[i].Effect == id {
			x.Runs[i].Effect, x.Runs[i].Failed = 0, why
		}
	}
}

// Examined records what a look led to: gates that have to run, or all that there is to know.
func (x *Exam) Examined(b *pawl.Examined) {
	if x.Effect != b.Effect {
		return
	}
	x.Effect, x.Tries = 0, 0
	if x.Looked || len(b.Runs) == 0 {
		x.Looked, x.Over, x.Report, x.Findings = true, true, b.Evidence, b.Findings
		return
	}
	x.Looked = true
	for _, r := range b.Runs {
		for _, gate := range r.Gates {
			x.Runs = append(x.Runs, Run{FurtherRun: r, Gate: gate})
		}
	}
}

// Asked records that a gate judges another tree.
func (x *Exam) Asked(gate string, on pawl.Tree, id pawl.Seq) {
	if r := x.run(gate, on); r != nil {
		r.Effect, r.Failed = id, nil
		r.Tries++
	}
}

// Judged records what a gate says of another tree.
func (x *Exam) Judged(b *pawl.GateJudged) {
	if r := x.run(b.Gate, b.On); r != nil {
		r.Effect, r.Done, r.Report = 0, true, b.Evidence
	}
}

func (x *Exam) run(gate string, on pawl.Tree) *Run {
	if i := slices.IndexFunc(x.Runs, func(r Run) bool { return r.Gate == gate && r.On == on }); i >= 0 {
		return &x.Runs[i]
	}
	return nil
}

// Ran reports whether all gates have judged that had to.
func (x *Exam) Ran() bool {
	return !slices.ContainsFunc(x.Runs, func(r Run) bool { return !r.Done })
}

// Further returns the reports of the gates that have run for the examination.
func (x *Exam) Further() []pawl.GateEvidence {
	var out []pawl.GateEvidence
	for _, r := range x.Runs {
		out = append(out, pawl.GateEvidence{Gate: r.Gate, On: r.On, Report: r.Report})
	}
	return out
}
