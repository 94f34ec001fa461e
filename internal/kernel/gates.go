package kernel

import (
	"fmt"
	"slices"
	"strconv"

	"pawl"
)

// judge lets the gates look at the candidate, stage by stage. The gates of one
// stage run side by side and one's failure does not stop the others; a halt
// ends the stages.
func (d *draft) judge(l *Loop) {
	if len(l.results) == 0 && len(l.gates) == 0 && len(l.sessions) == 0 {
		if a := l.sameTree(); a != nil {
			d.emit(l.Ref, &pawl.GatesReused{From: a.n})
		}
	}
	for i := range l.Kind.Gates {
		st := &l.Kind.Gates[i]
		if l.halted() || l.skips(st.When) {
			continue
		}
		if st.Review != nil {
			if l.result(st.Name) != nil || l.stepFailed != "" {
				continue
			}
			d.review(l, i)
			return
		}
		if !d.judgeCommands(l, st) {
			return
		}
	}
	if len(l.open) == 0 {
		d.conclude(l)
	}
}

// sameTree is the last attempt if its candidate had the tree this one has and
// was judged whole.
func (l *Loop) sameTree() *attempt {
	if len(l.history) == 0 || l.stepFailed != "" {
		return nil
	}
	a := &l.history[len(l.history)-1]
	if a.tree == "" || a.tree != l.candidate.Tree || len(a.results) == 0 || a.stepFailed != "" {
		return nil
	}
	return a
}

// judgeCommands requests the command gates of a stage and reports whether all
// of them have judged.
func (d *draft) judgeCommands(l *Loop, st *pawl.Stage) bool {
	done := true
	for i := range d.s.Settings.Gates {
		g := &d.s.Settings.Gates[i]
		if !selects(st, g.Kind) || l.result(g.Name) != nil {
			continue
		}
		done = false
		base := pawl.Hash{}
		if b := l.base[i]; b != nil {
			base = b.Evidence
		}
		d.runGate(l, i, pawl.RunGate{Gate: g.Name, Commit: l.candidate.Commit, Base: base, Start: l.Base}, int64(st.Timeout))
	}
	return done
}

func selects(st *pawl.Stage, k pawl.GateKind) bool {
	return slices.Contains(st.Commands, "*") || slices.Contains(st.Commands, string(k))
}

// gateTries is how often a gate that could not run is requested.
const gateTries = 2

// runGate requests one command gate unless it is under way. A gate that could
// not run twice has not passed.
func (d *draft) runGate(l *Loop, gate int, do pawl.RunGate, timeout int64) {
	spec := &d.s.Settings.Gates[gate]
	run := l.gateRun(gate)
	if run.effect != 0 {
		return
	}
	if run.tries >= gateTries {
		d.emit(l.Ref, &pawl.GateJudged{Gate: spec.Name, Kind: spec.Kind, Verdict: pawl.VerdictFail, OnBase: do.OnBase,
			Reason: cut("it could not be run: "+run.failed, 300), Error: print64(run.failed)})
		return
	}
	place := l.place(spec.Name)
	if do.OnBase {
		place.Iteration = 0
	}
	limit := spec.Timeout
	if limit == 0 {
		limit = defaultGateTimeout
		if timeout > 0 {
			limit = duration(timeout)
		}
	}
	d.request(l, pawl.Effect{Class: pawl.CrashRepeat, Place: place, Timeout: limit, Do: &do})
}

// result is what a gate or review said of the present candidate, or nil.
func (l *Loop) result(name string) *pawl.GateJudged {
	for _, r := range l.results {
		if r.Gate == name {
			return r
		}
	}
	return nil
}

func (l *Loop) halted() bool {
	return slices.ContainsFunc(l.results, func(r *pawl.GateJudged) bool { return r.Verdict == pawl.VerdictHalt })
}

// review lets a model judge the candidate in a session of its own.
func (d *draft) review(l *Loop, stage int) {
	if len(l.sessions) > 0 {
		d.converse(l, l.sessions[0])
		return
	}
	st := &l.Kind.Gates[stage]
	place := l.place(st.Name)
	place.Role, place.Tier = st.Review.Role, st.Review.Tier
	d.emit(l.Ref, &pawl.SessionStarted{
		Session: l.session + 1, Purpose: pawl.ForReview, Place: place, Index: stage,
		Turns: orDefault(st.Review.Turns, defaultTurns), Timeout: st.Timeout, Try: 1,
	})
}

// reviewed turns a review's result into a verdict. A review that hands in no
// result is inconclusive, which is a failure.
func (d *draft) reviewed(l *Loop, x *Session, r pawl.SessionResult, reason string, output pawl.Hash, f pawl.Facts) {
	if r == pawl.SessionAbandoned {
		return
	}
	b := &pawl.GateJudged{Gate: l.Kind.Gates[x.Index].Name, Evidence: output, Verdict: pawl.VerdictFail}
	if r == pawl.SessionDone {
		b.Reason = cut(f.Get("reason"), 300)
		b.Passed, _ = strconv.Atoi(f.Get("met"))
		b.Total, _ = strconv.Atoi(f.Get("total"))
		for _, id := range f.All("unmet") {
			b.Failing = mix(b.Failing, print64(id))
		}
		switch f.Get("decision") {
		case "pass":
			b.Verdict = pawl.VerdictPass
		case "halt":
			b.Verdict = pawl.VerdictHalt
		}
	} else {
		b.Reason = cut("inconclusive: "+reason, 300)
		b.Total = d.s.Started.Count
		b.Error = print64(string(r))
	}
	d.emit(l.Ref, b)
}

// conclude ends the iteration with what the gates said.
func (d *draft) conclude(l *Loop) {
	j := judgement{quality: quality(l.results), requirements: requirements(l.results), stepFailed: l.stepFailed}
	for _, r := range l.results {
		if r.Kind != "" && r.Verdict == pawl.VerdictPass && !r.RedAtBase {
			j.proven = true
		}
	}
	b := &pawl.IterationEnded{
		N: l.Iteration, Tier: l.Tier, Quality: j.quality, Requirements: j.requirements, Commit: l.candidate.Commit,
		Files: l.candidate.FileSet, Tests: testsPrint(l.results), Error: errorPrint(l),
		Errors: objections(l), Cost: l.spent.Money - l.spentAt.Money, Tokens: l.spent.Tokens - l.spentAt.Tokens,
	}
	d.rule(l, j, b)
}

// quality is the verdict of the command gates together; empty when none ran.
func quality(results []*pawl.GateJudged) pawl.Verdict {
	return together(results, func(r *pawl.GateJudged) bool { return r.Kind != "" })
}

// requirements is the verdict of the reviews together; empty when none ran.
func requirements(results []*pawl.GateJudged) pawl.Verdict {
	return together(results, func(r *pawl.GateJudged) bool { return r.Kind == "" })
}

// together is halt before all pass, and anything else is a failure.
func together(results []*pawl.GateJudged, in func(*pawl.GateJudged) bool) pawl.Verdict {
	v := pawl.Verdict("")
	for _, r := range results {
		switch {
		case !in(r):
		case r.Verdict == pawl.VerdictHalt:
			return pawl.VerdictHalt
		case r.Verdict == pawl.VerdictPass || r.Verdict == pawl.VerdictSkip:
			if v == "" {
				v = pawl.VerdictPass
			}
		default:
			v = pawl.VerdictFail
		}
	}
	return v
}

// testsPrint is the fingerprint of the failing tests of all test gates; 0 = none fail.
func testsPrint(results []*pawl.GateJudged) uint64 {
	var p uint64
	for _, r := range sortedByGate(results) {
		if r.Kind == pawl.GateTests && r.Failing != 0 {
			p = mix(p, print64(r.Gate), r.Failing)
		}
	}
	return p
}

// errorPrint is the fingerprint of everything that was objected; 0 = nothing was.
func errorPrint(l *Loop) uint64 {
	p := print64(l.stepFailed)
	for _, r := range sortedByGate(l.results) {
		if r.Verdict != pawl.VerdictPass && r.Verdict != pawl.VerdictSkip {
			p = mix(p, print64(r.Gate), r.Error, r.Failing, r.Found)
		}
	}
	return p
}

// securityPrint is the fingerprint of the security findings below critical that
// failed a gate; 0 = there are none.
func securityPrint(results []*pawl.GateJudged) uint64 {
	var p uint64
	for _, r := range sortedByGate(results) {
		if r.Kind == pawl.GateSecurity && r.Verdict == pawl.VerdictFail && r.Critical == 0 {
			p = mix(p, r.Found)
		}
	}
	return p
}

// sortedByGate makes fingerprints independent of which gate was faster.
func sortedByGate(results []*pawl.GateJudged) []*pawl.GateJudged {
	out := slices.Clone(results)
	slices.SortStableFunc(out, func(a, b *pawl.GateJudged) int {
		switch {
		case a.Gate < b.Gate:
			return -1
		case a.Gate > b.Gate:
			return 1
		}
		return 0
	})
	return out
}

// objections are the failures in short.
func objections(l *Loop) []string {
	var out []string
	if l.stepFailed != "" {
		out = append(out, cut(l.stepFailed, 160))
	}
	for _, r := range sortedByGate(l.results) {
		if r.Verdict != pawl.VerdictPass && r.Verdict != pawl.VerdictSkip && len(out) < 3 {
			out = append(out, cut(fmt.Sprintf("%s: %s", r.Gate, r.Reason), 160))
		}
	}
	return out
}
