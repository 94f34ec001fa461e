package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/session"
	"pawl/internal/kernel/verdict"
)

// judge takes a candidate through what the kind has for it: the gates, stage by
// stage; what the attempt taught; the children; the final gates; and for a loop
// that is a child, the way into its parent's branch.
func (d *draft) judge(l *Loop) {
	switch {
	case l.person.question != nil:
		return
	case l.iter.restart != "":
		d.again(l, l.iter.restart)
		return
	case l.cand.Unresolved > 0:
		d.conflicted(l, l.cand.Unresolved)
		return
	}
	if !l.spawns() && !d.findMarkers(l) {
		return
	}
	switch {
	case l.iter.blocked != nil:
		d.blockedBy(l)
		return
	case l.cand.Merge != nil:
		if d.mergeOn(l) {
			d.conclude(l)
		}
		return
	case l.gen.refused || l.finishing(): // there is no plan to judge, or all has been
		d.conclude(l)
		return
	}
	if l.Parent != 0 && l.cand.Kept > 0 && l.cand.Refusal(pawl.JudgeFolder) == nil {
		d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeFolder, Gate: gateKept, Verdict: pawl.VerdictFail, Error: brief.Fingerprint(gateKept),
			Reason: fmt.Sprintf("%d paths below .pawl/ are changed: the harness keeps that folder, put it back as it was", l.cand.Kept)})
	}
	if l.cand.LeftOut != nil && l.cand.Refusal(pawl.JudgeFiles) == nil {
		d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeFiles, Gate: gateRecorded, Verdict: pawl.VerdictFail, Error: brief.Fingerprint(gateRecorded),
			Reason: leftOut(l.cand.LeftOut), Evidence: l.cand.Report})
	}
	d.reuse(l)
	d.probeSiblings(l)
	before := !l.gen.planned // a loop whose children are at work has been judged
	if before && !d.judgeStages(l, 0, len(l.Kind.Gates)) || len(l.open) > 0 && !l.inBatches() || before && d.extract(l) {
		return
	}
	if l.judgement().Pass() && !d.runChildren(l) {
		return
	}
	if l.spawns() && l.judgement().Pass() && l.gen.plan.Succeeded() && !d.findMarkers(l) { // what its own steps cannot resolve, its children can
		return
	}
	if l.Kind.FinalGates != nil && l.judgement().Pass() && (!l.gen.planned || l.gen.plan.Succeeded()) {
		if !d.syncHead(l) || !d.judgeStages(l, len(l.Kind.Gates), l.stages()) {
			return
		}
	}
	if len(l.open) == 0 {
		d.conclude(l)
	}
}

// What people and prompts are told of the judges that are no gates. What follows from their
// verdicts depends on the judge alone: a gate may have the same name.
const (
	gateKept     = "pawl-folder"
	gateRecorded = "unrecorded-files"
	batchGate    = "batch-" // and what of the batch it is
)

// leftOut says in one sentence what a commit lacks.
func leftOut(limits []pawl.LimitMet) string {
	words := map[pawl.LimitName]string{
		pawl.LimitGitName: "with names that git refuses", pawl.LimitGitContent: "that git cannot store",
		pawl.LimitFile: "that are too large", pawl.LimitNewFiles: "as there are too many new ones", pawl.LimitNewBytes: "as there is too much in them",
	}
	var parts []string
	for _, m := range limits {
		part := fmt.Sprintf("%d %s", m.Files, words[m.Limit])
		if setting := m.Limit.Setting(); setting != "" {
			part += " (" + setting + ")"
		}
		parts = append(parts, part)
	}
	return brief.Cut("the commit lacks files of the worktree: "+strings.Join(parts, ", "), 300)
}

// inBatches reports whether the loop's children work in batches that are judged as a whole.
func (l *Loop) inBatches() bool {
	return l.gen.planned && l.gen.plan != nil && l.Kind.Children.Groups()
}

// reuse lets the verdicts of the last attempt stand when the tree is the same.
func (d *draft) reuse(l *Loop) {
	if !l.cand.IsJudged() && len(l.sessions) == 0 && l.Kind.Children == nil {
		if a := l.sameTree(); a != nil {
			d.emit(l.Ref, &pawl.GatesReused{From: a.N})
		}
	}
}

// judgeStages lets stages from one position to another judge, in order. The gates
// of one stage run side by side and one's failure does not stop the others; a
// halt ends the stages. It reports whether all have judged.
func (d *draft) judgeStages(l *Loop, from, to int) bool {
	for i := from; i < to; i++ {
		st := l.stage(i)
		if verdict.Halt(l.verdicts()) != nil || l.skips(st.When) {
			continue
		}
		switch {
		case len(st.Commands) > 0:
			if !d.judgeCommands(l, st) {
				return false
			}
		case validates(st):
			if !d.validate(l, i) {
				return false
			}
		case l.result(st.Name) == nil && l.iter.stepFailed == "":
			d.judgeStage(l, i, st)
			return false
		}
		if d.reroute(l, st) {
			return false
		}
	}
	return true
}

// judgeStage lets one judge that is no command: a model, a person, or the harness.
func (d *draft) judgeStage(l *Loop, i int, st *pawl.Stage) {
	switch {
	case st.Review != nil && st.Review.Votes > 1:
		d.vote(l, i)
	case st.Review != nil:
		d.review(l, i)
	case st.Human:
		d.askVerdict(l, st.Name, fmt.Sprintf("Does the work of %s pass?", cmp.Or(l.task.ID, "the run")))
	default:
		d.check(l, st)
	}
}

// syncHead brings a parent's worktree to its branch's head, which its
// children have moved, and reports whether it is there.
func (d *draft) syncHead(l *Loop) bool {
	if l.ahead && len(l.open) == 0 {
		d.onWorktree(l, "sync", pawl.CrashProbe, &pawl.ResetWorkspace{Commit: l.Head, Salvage: d.salvage("sync")})
	}
	return !l.ahead
}

// sameTree is the last attempt, if its candidate had the tree this one has and
// there are verdicts on it that stand.
func (l *Loop) sameTree() *ladder.Attempt {
	a := l.lastAttempt()
	if a == nil || a.Tree == "" || a.Tree != l.cand.Tree || a.StepFailed != "" || l.iter.stepFailed != "" || len(whole(a.Results)) == 0 {
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
		if selects(st, g.Kind) && !d.s.isLeftOut(i) && l.result(g.Name) == nil {
			done = false
			d.runGate(l, i, pawl.RunGate{Gate: g.Name, Commit: l.judged(), Base: l.base[i].evidence, Start: l.Base, Before: l.best().Report(i)})
		}
	}
	return done
}

// judged is the commit that commands judge: the candidate, or the merge commit
// that it would become.
func (l *Loop) judged() pawl.CommitHash {
	switch m := l.cand.Merge; {
	case m == nil || m.Alone == nil:
	case m.Alone.Clash != nil:
		return m.Alone.Clash.Commit
	case len(m.Alone.Chain) > 0:
		return m.Alone.Subject()
	}
	return l.cand.Commit
}

func selects(st *pawl.Stage, k pawl.GateKind) bool {
	if k == pawl.GateValidation { // it is a stage of its own
		return false
	}
	return slices.Contains(st.Commands, "*") || slices.Contains(st.Commands, string(k))
}

// gateTries is how often a gate that could not run is requested.
const gateTries = 2

// The limits on the time of a gate that has none of its own and whose stage names
// none: on the base, where caches are cold, and on candidates. A gate that took long on
// the base has slowGate times as long on a candidate.
const (
	baseGateTimeout    = 30 * time.Minute
	defaultGateTimeout = 10 * time.Minute
	slowGate           = 3
)

// runGate requests one command gate unless it is under way. A gate that could
// not run twice, or did not end in its time, has not passed.
func (d *draft) runGate(l *Loop, gate int, do pawl.RunGate) {
	spec := d.s.gateSpec(l, gate)
	run := l.gateRuns(do.OnBase).Of(gate)
	switch why := run.Failed; {
	case run.Effect != 0:
		return
	case why != nil && (run.Tries >= gateTries || why.Code == pawl.FailTimeout):
		d.emit(l.Ref, &pawl.GateJudged{
			Gate: spec.Name, Kind: spec.Kind, Optional: spec.Optional, OnBase: do.OnBase, Verdict: pawl.VerdictFail,
			Partial: true, Reason: brief.Cut("it gave no verdict: "+why.Message+limitHint(why, spec), 300), Error: brief.Fingerprint(why.Message),
		})
		return
	}
	key, ok := d.preparedFor(l, spec, &do)
	if !ok {
		return
	}
	do.Prepared = key
	place := l.place(spec.Name)
	if do.OnBase {
		place.Iteration = 0
	}
	d.request(l, pawl.Effect{Class: pawl.CrashRepeat, Place: place, Timeout: l.gateTimeout(gate, spec, do.OnBase), Do: &do})
}

// limitHint names the setting that gives more time to a gate that was cut short.
func limitHint(why *pawl.Failure, spec *pawl.GateSpec) string {
	if why.Code != pawl.FailTimeout {
		return ""
	}
	return "; " + pawl.GateLimitHint(spec)
}

// gateTimeout returns a gate's own timeout, or that of the first stage it runs in. Where
// neither has one, the time that the gate took on the base decides.
func (l *Loop) gateTimeout(gate int, spec *pawl.GateSpec, onBase bool) time.Duration {
	if spec.Timeout > 0 {
		return spec.Timeout
	}
	for i := range l.stages() {
		if st := l.stage(i); st.Timeout > 0 && selects(st, spec.Kind) {
			return st.Timeout
		}
	}
	if onBase {
		return baseGateTimeout
	}
	return max(defaultGateTimeout, slowGate*l.base[gate].took)
}

// verdicts is what was said of the present candidate, in the order it came.
func (l *Loop) verdicts() []*pawl.GateJudged { return l.cand.Verdicts() }

// result is what a gate or review said of the present candidate, or nil.
func (l *Loop) result(name string) *pawl.GateJudged { return l.cand.Result(name) }

// review lets a model judge the candidate in a session of its own.
func (d *draft) review(l *Loop, stage int) {
	if len(l.sessions) > 0 {
		d.converse(l, l.sessions[0])
		return
	}
	d.seatReviewer(l, stage, 0)
}

// reviewed turns a review's result into a verdict. Only a review that says pass
// and leaves no criterion unmet passes. One that hands in no result is
// inconclusive, which is a failure.
func (d *draft) reviewed(l *Loop, x *session.Session, r pawl.SessionResult, reason string, output pawl.Hash, f pawl.Facts) {
	b := &pawl.GateJudged{Gate: l.stage(x.Index).Name, Evidence: output, Verdict: pawl.VerdictFail}
	if r != pawl.SessionDone {
		b.Partial, b.Total = true, d.s.Started.Count
		b.Reason, b.Error = brief.Cut("inconclusive: "+reason, 300), brief.Fingerprint(string(r))
		d.emit(l.Ref, b)
		return
	}
	b.Passed, _ = strconv.Atoi(f.Get("met"))
	b.Total, _ = strconv.Atoi(f.Get("total"))
	b.Reason = brief.Cut(cmp.Or(f.Get("reason"), fmt.Sprintf("%d of %d criteria are met", b.Passed, b.Total)), 300)
	unmet := f.All("unmet")
	slices.Sort(unmet)
	for _, id := range slices.Compact(unmet) {
		b.Failing = brief.Mix(b.Failing, brief.Fingerprint(id))
	}
	b.Verdict = verdict.OfReview(f.Get("decision"), len(unmet))
	b.Confidence = verdict.Percent(f.Get("confidence"))
	d.emit(l.Ref, b)
}

// judgement is what is known of the attempt.
func (l *Loop) judgement() ladder.Judgement {
	j := ladder.Judgement{Quality: verdict.Quality(l.verdicts()), Requirements: verdict.Requirements(l.verdicts()), StepFailed: l.iter.stepFailed}
	for _, r := range l.verdicts() {
		j.Proven = j.Proven || verdict.Proves(r)
	}
	if r := l.said(pawl.AskMerge); r != nil && j.StepFailed == "" && r.choice == choiceReject {
		j.StepFailed = strings.TrimSuffix("rejected by a person: "+r.text, ": ")
	}
	if j.StepFailed == "" {
		j.StepFailed = l.turnedDown()
	}
	return j
}

// withChildren adds to a judgement what the loop's children make of it.
func (l *Loop) withChildren(j ladder.Judgement) ladder.Judgement {
	if p := l.gen.plan; p != nil && l.gen.planned {
		j.Children, j.ChildrenOutcome = p.Unmet(), p.Outcome(l.Kind.Ladder.Then)
		j.Proven = j.Proven || p.Unproven == 0
	}
	return j
}

// conclude ends the iteration with what is known of it: a loop that is a child
// and has passed is merged first, one that ends does its final steps.
func (d *draft) conclude(l *Loop) {
	j := d.s.withFailure(l, l.withChildren(l.judgement()))
	if j.Pass() && j.Children == "" && l.merge() == nil && d.enqueue(l) {
		return
	}
	d.end(l, j)
}

// end ends the iteration with a judgement.
func (d *draft) end(l *Loop, j ladder.Judgement) {
	b := &pawl.IterationEnded{
		N: l.Iteration, Tier: l.Tier, Quality: j.Quality, Requirements: j.Requirements, Commit: l.judged(), Conflict: j.Conflict,
		Files: l.cand.FileSet, Tests: verdict.FailingTests(l.cand.Results), Error: verdict.Errors(l.verdicts(), j.StepFailed),
		Errors: verdict.Objections(l.verdicts(), j.StepFailed, j.Children), Cost: l.spent.Money - l.iter.spentAt.Money, Tokens: l.spent.Tokens - l.iter.spentAt.Tokens,
	}
	d.rule(l, j, b)
}
