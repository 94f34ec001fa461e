package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

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

// sameTree is the last attempt, if its candidate had the tree this one has and
// there are verdicts on it that stand.
func (l *Loop) sameTree() *attempt {
	a := l.lastAttempt()
	if a == nil || a.tree == "" || a.tree != l.candidate.Tree || a.stepFailed != "" || l.stepFailed != "" || len(a.whole()) == 0 {
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
		if selects(st, g.Kind) && l.result(g.Name) == nil {
			done = false
			d.runGate(l, i, pawl.RunGate{Gate: g.Name, Commit: l.candidate.Commit, Base: l.base[i].evidence, Start: l.Base})
		}
	}
	return done
}

func selects(st *pawl.Stage, k pawl.GateKind) bool {
	return slices.Contains(st.Commands, "*") || slices.Contains(st.Commands, string(k))
}

// gateTries is how often a gate that could not run is requested.
const gateTries = 2

// defaultGateTimeout bounds a gate whose settings and stage say nothing.
const defaultGateTimeout = 10 * time.Minute

// runGate requests one command gate unless it is under way. A gate that could
// not run twice, or did not end in its time, has not passed.
func (d *draft) runGate(l *Loop, gate int, do pawl.RunGate) {
	spec := &d.s.Settings.Gates[gate]
	run := l.gateRun(gate)
	switch why := run.failed; {
	case run.effect != 0:
		return
	case why != nil && (run.tries >= gateTries || why.Code == pawl.FailTimeout):
		d.emit(l.Ref, &pawl.GateJudged{
			Gate: spec.Name, Kind: spec.Kind, Optional: spec.Optional, OnBase: do.OnBase, Verdict: pawl.VerdictFail,
			Partial: true, Reason: cut("it gave no verdict: "+why.Message, 300), Error: print64(why.Message),
		})
		return
	}
	place := l.place(spec.Name)
	if do.OnBase {
		place.Iteration = 0
	}
	d.request(l, pawl.Effect{Class: pawl.CrashRepeat, Place: place, Timeout: gateTimeout(l.Kind, spec), Do: &do})
}

// gateTimeout is a gate's own timeout, or that of the first stage it runs in.
func gateTimeout(k *pawl.LoopKind, spec *pawl.GateSpec) time.Duration {
	if spec.Timeout > 0 {
		return spec.Timeout
	}
	for i := range k.Gates {
		if st := &k.Gates[i]; st.Timeout > 0 && selects(st, spec.Kind) {
			return st.Timeout
		}
	}
	return defaultGateTimeout
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

// reviewed turns a review's result into a verdict. Only a review that says pass
// and leaves no criterion unmet passes. One that hands in no result is
// inconclusive, which is a failure.
func (d *draft) reviewed(l *Loop, x *Session, r pawl.SessionResult, reason string, output pawl.Hash, f pawl.Facts) {
	b := &pawl.GateJudged{Gate: l.Kind.Gates[x.Index].Name, Evidence: output, Verdict: pawl.VerdictFail}
	if r != pawl.SessionDone {
		b.Partial, b.Total = true, d.s.Started.Count
		b.Reason, b.Error = cut("inconclusive: "+reason, 300), print64(string(r))
		d.emit(l.Ref, b)
		return
	}
	b.Passed, _ = strconv.Atoi(f.Get("met"))
	b.Total, _ = strconv.Atoi(f.Get("total"))
	b.Reason = cut(cmp.Or(f.Get("reason"), fmt.Sprintf("%d of %d criteria are met", b.Passed, b.Total)), 300)
	unmet := f.All("unmet")
	slices.Sort(unmet)
	for _, id := range slices.Compact(unmet) {
		b.Failing = mix(b.Failing, print64(id))
	}
	switch decision := f.Get("decision"); {
	case decision == "pass" && len(unmet) == 0:
		b.Verdict = pawl.VerdictPass
	case decision == "halt":
		b.Verdict = pawl.VerdictHalt
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
		case lets(r.Verdict):
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

// errorPrint is the fingerprint of everything that was objected, as far as it
// can be told apart; 0 = there is no such thing.
func errorPrint(l *Loop) uint64 {
	p := print64(l.stepFailed)
	for _, r := range sortedByGate(l.results) {
		if said := mix(r.Error, r.Failing, r.Found); said != 0 && !lets(r.Verdict) {
			p = mix(p, print64(r.Gate), said)
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
	return slices.SortedStableFunc(slices.Values(results), func(a, b *pawl.GateJudged) int { return cmp.Compare(a.Gate, b.Gate) })
}

// objections are the failures in short.
func objections(l *Loop) []string {
	var out []string
	if l.stepFailed != "" {
		out = append(out, cut(l.stepFailed, 160))
	}
	for _, r := range sortedByGate(l.results) {
		if !lets(r.Verdict) && len(out) < 3 {
			out = append(out, cut(fmt.Sprintf("%s: %s", r.Gate, cmp.Or(r.Reason, string(r.Verdict))), 160))
		}
	}
	return out
}
