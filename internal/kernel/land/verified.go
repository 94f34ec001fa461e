package land

import (
	"cmp"

	"pawl"
	"pawl/internal/kernel/verdict"
)

// Verified is a state of a branch that the gates judged in full, with what they said of it. A loop
// that went back to it on the work of others has another commit of it, which they have not judged. The
// zero Verified is no state.
type Verified struct {
	N        int // the iteration that led to it; 0 = none did
	Commit   pawl.CommitHash
	Tree     pawl.TreeHash
	Base     pawl.CommitHash // the head of the parent's branch that it stands on, or the run's base
	Goals    int             // goal tests that pass
	Passes   bool            // nothing objects
	Weak     bool            // nothing objects but that weak goal tests are red
	Strong   int             // goal tests that were strong then
	Criteria int             // that reviews found met
	Passing  int             // tests that pass
	Gates    int             // command gates that pass
	Reports  []Report        // on its tests
	// Candidate is the state as it was committed, where Weak is set; else nil.
	Candidate *pawl.Committed
}

// Report is what a gate of the settings said of tests.
type Report struct {
	Gate     int // its index in the settings
	Evidence pawl.Hash
}

// VerifiedOf returns the state of a commit. It is none if no command gate judged it, if one of them
// was cut short or halts, or if the commit lacks files.
func VerifiedOf(n int, c *pawl.Committed, results []*pawl.GateJudged, gate func(name string) int) Verified {
	if c == nil || c.LeftOut != nil || c.Kept > 0 {
		return Verified{}
	}
	v := Verified{N: n, Commit: c.Commit, Tree: c.Tree}
	judged := false
	for _, r := range results {
		i := gate(r.Gate)
		switch {
		case r.Verdict == pawl.VerdictHalt:
			return Verified{}
		case r.Kind == "" && r.Judge == pawl.JudgeGate:
			v.Criteria += r.Passed
		case i < 0 || r.Judge != pawl.JudgeGate || r.Verdict == pawl.VerdictSkip:
		case r.Partial:
			return Verified{}
		default:
			judged = true
			if r.Kind == pawl.GateTests {
				v.Reports = append(v.Reports, Report{i, r.Evidence})
				v.Passing += r.Passed
			}
			if verdict.Passes(r.Verdict) {
				v.Gates++
			}
		}
	}
	if !judged {
		return Verified{}
	}
	return v
}

// Below reports whether another state is at least as good, which makes it the better one if it is
// newer: nothing objects to it, or only that weak goal tests are red, or that is the same and more goal tests pass,
// or as many and more criteria are met, or as many and more tests pass, or as many and more gates pass. It
// is true for the zero state, and false if the other one is that.
func (v *Verified) Below(o *Verified) bool {
	return o.N > 0 && cmp.Or(cmp.Compare(v.rank(), o.rank()), cmp.Compare(v.Goals, o.Goals), cmp.Compare(v.Criteria, o.Criteria),
		cmp.Compare(v.Passing, o.Passing), cmp.Compare(v.Gates, o.Gates)) <= 0
}

func (v *Verified) rank() int {
	switch {
	case v.Passes:
		return 2
	case v.Weak:
		return 1
	}
	return 0
}

// Report returns the report that a gate of the settings gave on the tests of the state; zero = none.
func (v *Verified) Report(gate int) pawl.Hash {
	for _, r := range v.Reports {
		if r.Gate == gate {
			return r.Evidence
		}
	}
	return pawl.Hash{}
}
