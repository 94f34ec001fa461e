package exam

import (
	"slices"

	"pawl"
)

// Runs are gates that judge trees besides what they judge anyway.
type Runs []Run

// Run is a gate that judges another tree, or the candidate once more.
type Run struct {
	pawl.FurtherRun
	Gate   string
	Effect pawl.Seq // 0 = not in flight
	Tries  int
	Failed *pawl.Failure // why the last try gave no verdict
	Done   bool
	Report pawl.Hash // zero = it gave no verdict
}

// Asked records that a gate judges another tree.
func (x Runs) Asked(gate string, on pawl.Tree, id pawl.Seq) {
	if r := x.run(gate, on); r != nil {
		r.Effect, r.Failed = id, nil
		r.Tries++
	}
}

// Judged records what a gate says of another tree.
func (x Runs) Judged(b *pawl.GateJudged) {
	if r := x.run(b.Gate, b.On); r != nil {
		r.Effect, r.Done, r.Report = 0, true, b.Evidence
	}
}

// Fail records why the run with this ID gave no verdict.
func (x Runs) Fail(id pawl.Seq, why *pawl.Failure) {
	for i := range x {
		if x[i].Effect == id {
			x[i].Effect, x[i].Failed = 0, why
		}
	}
}

func (x Runs) run(gate string, on pawl.Tree) *Run {
	if i := slices.IndexFunc(x, func(r Run) bool { return r.Gate == gate && r.On == on }); i >= 0 {
		return &x[i]
	}
	return nil
}

// Ran reports whether all gates have judged that had to.
func (x Runs) Ran() bool {
	return !slices.ContainsFunc(x, func(r Run) bool { return !r.Done })
}

// Further returns the reports of the gates that have run.
func (x Runs) Further() []pawl.GateEvidence {
	var out []pawl.GateEvidence
	for _, r := range x {
		out = append(out, pawl.GateEvidence{Gate: r.Gate, On: r.On, Report: r.Report})
	}
	return out
}
