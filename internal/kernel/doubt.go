package kernel

import (
	"pawl"
	"pawl/internal/kernel/verdict"
)

// A test may be flaky: it fails by chance. A test gate that fails on a candidate is therefore asked
// once more about the same commit if a test fails that was green, or if the attempt, as it stands,
// would not just be followed by another one on the same tier. The second answer takes the place of
// the first one. If there is none, the first one holds. It is done only for runs that look for
// evidence, and for batches by rules of their own: see [land.Batch.Doubts].

// settleDoubts has the test gates asked again whose verdicts are in doubt, and reports whether none
// is.
func (d *draft) settleDoubts(l *Loop) bool {
	settled := true
	for i := range d.s.Settings.Gates {
		r := l.result(d.s.Settings.Gates[i].Name)
		if r == nil || !d.s.doubts(l, i, r) {
			continue
		}
		settled = false
		do := d.s.candidateRun(l, i)
		do.Doubt, do.FailsNew = r.Evidence, true
		d.runGate(l, i, do)
		l = d.s.Loop(l.Ref)
	}
	return settled
}

// doubts reports whether the gate that gave r on the candidate has to judge it once more, or is doing
// so.
func (s *State) doubts(l *Loop, gate int, r *pawl.GateJudged) bool {
	run := l.cand.Gates.Of(gate)
	switch {
	case run.Doubted:
		return run.Effect != 0 || run.Failed != nil && run.Tries < gateTries && run.Failed.Code != pawl.FailTimeout
	case !s.looksForEvidence(), r.Again, r.Kind != pawl.GateTests, r.Partial, r.Evidence.IsZero(), verdict.Passes(r.Verdict):
		return false
	}
	return r.WasGreen || s.isDecisive(l)
}

// looksForEvidence reports whether the run looks for evidence; runs of earlier versions do not.
func (s *State) looksForEvidence() bool {
	return s.Settings.Evidence != "" && s.Settings.Evidence != pawl.EvidenceOff
}

// isDecisive reports whether the attempt, with the verdicts there are, would lead to more than
// another attempt: to a stronger tier, a council, the end of the loop, or what the recipe says about
// the health of its attempts. A gate that halts decides alone.
func (s *State) isDecisive(l *Loop) bool {
	if verdict.Halt(l.verdicts()) != nil {
		return false
	}
	j := s.withFailure(l, l.withChildren(l.judgement()))
	b := s.iterationEnd(l, j)
	switch s.ruling(l, j, b).Decision {
	case pawl.DecideEscalate, pawl.DecideCouncil, pawl.DecideHalt:
		return true
	}
	return s.recovers(l, b)
}
