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

// judgeCandidate takes a candidate through what the kind prescribes: the gates, stage by stage; the
// session that extracts what the attempt taught; the children; the final gates; and for a child,
// the way into its parent's branch.
func (d *draft) judgeCandidate(l *Loop) {
	switch {
	case l.person.question != nil:
		return
	case l.iter.restart != "":
		d.restartSteps(l, l.iter.restart)
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
		d.decideBlocked(l)
		return
	case l.cand.Merge != nil:
		if d.mergeOn(l) {
			d.conclude(l)
		}
		return
	case l.gen.refused || l.finishing(): // there is no plan to judge, or everything has been judged
		d.conclude(l)
		return
	}
	if l.Parent != 0 && l.cand.Kept > 0 && l.cand.Refusal(pawl.JudgeFolder) == nil {
		d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeFolder, Gate: gateKept, Verdict: pawl.VerdictFail, Error: brief.Fingerprint(gateKept),
			Reason: fmt.Sprintf("%d paths below .pawl/tasks are changed: the harness keeps that folder, put it back as it was", l.cand.Kept)})
	}
	if l.cand.LeftOut != nil && l.cand.Refusal(pawl.JudgeFiles) == nil {
		d.emit(l.Ref, &pawl.GateJudged{Judge: pawl.JudgeFiles, Gate: gateRecorded, Verdict: pawl.VerdictFail, Error: brief.Fingerprint(gateRecorded),
			Reason: missingFiles(l.cand.LeftOut), Evidence: l.cand.Report})
	}
	d.reuse(l)
	d.probeSiblings(l)
	before := !l.gen.planned // a candidate with a plan has passed these gates already
	if before && !d.judgeStages(l, 0, len(l.Kind.Gates)) || len(l.open) > 0 && !l.inBatches() || before && d.extract(l) {
		return
	}
	if l.judgement().Pass() && !d.runChildren(l) {
		return
	}
	if l.spawns() && l.judgement().Pass() && l.gen.plan.Succeeded() && !d.findMarkers(l) { // its children may have resolved them
		return
	}
	if l.Kind.FinalGates != nil && l.judgement().Pass() && (!l.gen.planned || l.gen.plan.Succeeded()) {
		if !d.syncHead(l) {
			return
		}
		d.reuseCommands(l)
		if l = d.s.Loop(l.Ref); !d.judgeStages(l, len(l.Kind.Gates), l.stages()) {
			return
		}
	}
	if len(l.open) == 0 && d.examine(l) && d.weighGoals(d.s.Loop(l.Ref)) {
		d.conclude(d.s.Loop(l.Ref))
	}
}

// judgesLast reports whether no stage after this one, up to but not including another, has command gates.
func (l *Loop) judgesLast(stage, to int) bool {
	for i := stage + 1; i < to; i++ {
		if st := l.stage(i); len(st.Commands) > 0 && !l.skips(st.When) {
			return false
		}
	}
	return true
}

// The names under which people and prompts see judges that are not gates. A gate may have the same
// name, so what follows from a verdict depends on its Judge and never on its name.
const (
	gateKept     = "pawl-folder"
	gateRecorded = "unrecorded-files"
	batchGate    = "batch-" // followed by the review, the gate or the merge that objects
)

// missingFiles returns a sentence that says how many files a commit lacks, and why.
func missingFiles(limits []pawl.LimitMet) string {
	words := map[pawl.LimitName]string{
		pawl.LimitGitName: "with names that git refuses", pawl.LimitGitContent: "that git cannot store",
		pawl.LimitFile: "that are too large", pawl.LimitNewFiles: "because there are too many new ones", pawl.LimitNewBytes: "because they are too large together",
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

// reuse keeps verdicts of the last attempt if the candidate has the same tree. If it has the tree of the
// candidate that this iteration was sent back for, it keeps those of command gates.
func (d *draft) reuse(l *Loop) {
	if l.cand.IsJudged() || l.cand.Second != nil || len(l.sessions) > 0 || l.Kind.Children != nil {
		return
	}
	if j := &l.iter.judged; j.tree != "" && j.tree == l.cand.Tree && len(j.results) > 0 && l.iter.stepFailed == "" {
		b := &pawl.GatesReused{From: l.Iteration}
		for _, r := range j.results {
			b.Gates = append(b.Gates, r.Gate)
		}
		d.emit(l.Ref, b)
		return
	}
	if a := l.sameTree(); a != nil {
		if gates, anew := l.standing(a); len(gates)+len(anew) > 0 {
			d.emit(l.Ref, &pawl.GatesReused{From: a.N, Gates: gates, Anew: anew})
		}
	}
}

// standing returns the names of the gates whose verdicts on an attempt hold for the same tree in
// another one, and those of the reviews that look at it a second time. Command gates judged the tree.
// What the agent's commands led to is not in it, and what a reviewer or a person said is asked again
// if a gate halted the attempt. A reviewer may be wrong: one that did not pass the tree looks again,
// once.
func (l *Loop) standing(a *ladder.Attempt) (gates, anew []string) {
	halted := verdict.Halt(a.Results) != nil
	for _, r := range reusableVerdicts(a.Results) {
		st := l.stageNamed(r.Gate)
		switch {
		case r.Kind != "":
		case st == nil, st.Builtin == toolResults, halted && (st.Review != nil || st.Human):
			continue
		case st.Review != nil && r.By == "" && !verdict.Passes(r.Verdict) && !slices.Contains(a.Looked, r.Gate):
			anew = append(anew, r.Gate)
			continue
		}
		gates = append(gates, r.Gate)
	}
	return gates, anew
}

// looksAgain reports whether a review judges the candidate's tree a second time.
func (l *Loop) looksAgain(gate string) bool { return slices.Contains(l.cand.Second, gate) }

// stageNamed returns the stage of the loop's gates with this name, or nil.
func (l *Loop) stageNamed(name string) *pawl.Stage {
	for i := range l.stages() {
		if st := l.stage(i); st.Name == name {
			return st
		}
	}
	return nil
}

// judgeStages lets the stages from a position up to, but not including, another judge in order, and
// reports whether all have. The gates of one stage run side by side, and the failure of one does
// not stop the others. A halt skips the remaining stages.
func (d *draft) judgeStages(l *Loop, from, to int) bool {
	for i := from; i < to; i++ {
		st := l.stage(i)
		if verdict.Halt(l.verdicts()) != nil || l.skips(st.When) {
			continue
		}
		switch {
		case len(st.Commands) > 0:
			if !d.judgeCommands(l, st) || !d.judgeHeldOut(d.s.Loop(l.Ref), i) {
				return false
			}
			if l = d.s.Loop(l.Ref); l.judgesLast(i, to) && !d.weighGoals(l) {
				return false
			}
		case validates(st):
			if !d.validate(l, i) {
				return false
			}
		case l.result(st.Name) == nil && l.iter.stepFailed == "":
			if (st.Review != nil || st.Human) && !(d.examine(l) && d.weighGoals(d.s.Loop(l.Ref))) {
				return false
			}
			if l = d.s.Loop(l.Ref); l.result(st.Name) == nil {
				d.judgeStage(l, i, st)
			}
			return false
		}
		if d.reroute(l, st) {
			return false
		}
	}
	return true
}

// judgeStage asks a judge that is not a command: a model, a person, or the harness itself. A review
// whose halt a person has overruled is not asked.
func (d *draft) judgeStage(l *Loop, i int, st *pawl.Stage) {
	switch o := l.overruling(st.Name); {
	case o != nil:
		d.emit(l.Ref, o.pass())
	case st.Review != nil && st.Review.Votes > 1:
		d.vote(l, i)
	case st.Review != nil:
		d.review(l, i)
	case st.Human:
		d.askVerdict(l, st.Name, d.withFindings(l, fmt.Sprintf("Does the work of %s pass?", l.judgedNow())))
	default:
		d.check(l, st)
	}
}

// syncHead resets a parent's worktree to the head of its branch, which its children have moved, and
// reports whether it is there.
func (d *draft) syncHead(l *Loop) bool {
	if l.worktreeBehind && len(l.open) == 0 {
		d.onWorktree(l, "sync", pawl.CrashProbe, &pawl.ResetWorkspace{Commit: l.Head, Salvage: d.salvage("sync")})
	}
	return !l.worktreeBehind
}

// sameTree returns the last attempt if its candidate had the tree of the present one and its
// verdicts can be reused, or nil.
func (l *Loop) sameTree() *ladder.Attempt {
	a := l.lastAttempt()
	if a == nil || a.Tree == "" || a.Tree != l.cand.Tree || a.StepFailed != "" || l.iter.stepFailed != "" || len(reusableVerdicts(a.Results)) == 0 {
		return nil
	}
	return a
}

// judgeCommands requests the command gates of a stage, and reports whether all of them have judged
// and no verdict is in doubt. It is called again after each later stage, whose verdict may be why
// something rests on an earlier one.
func (d *draft) judgeCommands(l *Loop, st *pawl.Stage) bool {
	done := true
	for i := range d.s.Settings.Gates {
		g := &d.s.Settings.Gates[i]
		if selects(st, g.Kind) && !d.s.isLeftOut(i) && l.result(g.Name) == nil {
			done = false
			d.runGate(l, i, d.s.candidateRun(l, i))
		}
	}
	return done && d.settleUnjudged(l, (*State).candidateRun) && d.settleDoubts(d.s.Loop(l.Ref))
}

// candidateRun returns the request for a gate's verdict on the candidate.
func (s *State) candidateRun(l *Loop, gate int) pawl.RunGate {
	name := s.Settings.Gates[gate].Name
	return pawl.RunGate{Gate: name, Commit: l.gateCommit(), Base: l.base[gate].evidence, Start: l.Base, Before: l.best().Report(gate), Part: !l.isWhole()}
}

// isWhole reports whether the candidate is the whole of what the run makes, and no task's work or plan.
func (l *Loop) isWhole() bool { return l.Parent == 0 && (l.gen.planned || !l.spawns()) }

// judgeHeldOut requests the verdict of the held-out checks in the stage that has them, and reports
// whether there is nothing to wait for. They are a run's and not a task's: its parts cannot pass them
// by themselves. They judge only what everything else so far lets pass, so that no more becomes
// known of them than needed.
func (d *draft) judgeHeldOut(l *Loop, stage int) bool {
	i := d.s.gateIndex(pawl.HeldOutGate)
	if i < 0 || d.s.Settings.Gates[i].Kind != pawl.GateHeldOut || l.Parent != 0 || stage != l.Kind.HeldOutStage() {
		return true
	}
	if l.result(pawl.HeldOutGate) != nil || l.iter.stepFailed != "" || verdict.Object(l.verdicts()) {
		return true
	}
	d.runGate(l, i, pawl.RunGate{Gate: pawl.HeldOutGate, Commit: l.gateCommit(), Start: l.Base})
	return false
}

// gateCommit returns the commit that command gates judge: the candidate, or the merge commit of a
// candidate that lands alone.
func (l *Loop) gateCommit() pawl.CommitHash {
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
	if k == pawl.GateValidation || k == pawl.GateHeldOut { // it has a stage of its own; see judgeHeldOut
		return false
	}
	return slices.Contains(st.Commands, "*") || slices.Contains(st.Commands, string(k))
}

// gateTries bounds how often a gate that gives no verdict is requested.
const gateTries = 2

// Timeouts of a gate that has none of its own and whose stages name none: on the base, where caches
// are cold, and on candidates. A gate that took long on the base has slowGate times as long on a
// candidate.
const (
	baseGateTimeout    = 30 * time.Minute
	defaultGateTimeout = 10 * time.Minute
	slowGate           = 3
)

// runGate requests a command gate unless it is in flight. A gate fails if it could not run in
// gateTries tries, or if it ran out of time once.
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
	do.Longer = d.s.longerOf(gate)
	d.requestGate(l, gate, do)
}

// requestGate requests a command gate, once what it needs is prepared.
func (d *draft) requestGate(l *Loop, gate int, do pawl.RunGate) {
	spec := d.s.gateSpec(l, gate)
	key, ok := d.preparedFor(l, spec, &do)
	if !ok {
		return
	}
	do.Prepared = key
	place := l.place(spec.Name)
	timeout := l.gateTimeout(gate, spec, do.OnBase)
	if do.OnBase {
		place.Iteration = 0
		if l.base[gate].cut { // it had too little time before
			do.Longer = max(do.Longer, 1)
		}
	}
	timeout = longerTimeout(timeout, do.Longer)
	do.Light = !do.OnBase && l.isLight(gate)
	d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: place, Timeout: timeout, Do: &do})
}

// lightGate is the time on the base up to which a gate is light.
const lightGate = 2 * time.Second

// isLight reports whether a gate took little time on the base.
func (l *Loop) isLight(gate int) bool {
	return gate >= 0 && gate < len(l.base) && l.base[gate].took > 0 && l.base[gate].took <= lightGate
}

// limitHint returns a hint at the setting that gives more time to a gate that timed out, or "" for
// any other failure.
func limitHint(why *pawl.Failure, spec *pawl.GateSpec) string {
	if why.Code != pawl.FailTimeout {
		return ""
	}
	return "; " + pawl.GateLimitHint(spec)
}

// gateTimeout returns a gate's own timeout, or that of the first stage it runs in. If neither has one, the timeout
// depends on how long the gate took on the base. The first judgement finds no cache that helps it, so that it has long
// whatever the stage gives, and a gate that took longer there than its stage gives has several times as much after it:
// with less it could never pass.
func (l *Loop) gateTimeout(gate int, spec *pawl.GateSpec, onBase bool) time.Duration {
	if spec.Timeout > 0 {
		return spec.Timeout
	}
	given := time.Duration(0)
	for i := 0; i < l.stages() && given == 0; i++ {
		if st := l.stage(i); selects(st, spec.Kind) || spec.Kind == pawl.GateHeldOut && i == l.Kind.HeldOutStage() {
			given = st.Timeout
		}
	}
	switch took := l.base[gate].took; {
	case onBase:
		return max(given, baseGateTimeout)
	case given > 0 && took <= given:
		return given
	default:
		return max(given, defaultGateTimeout, slowGate*took)
	}
}

// verdicts returns the verdicts on the present candidate, in the order they came.
func (l *Loop) verdicts() []*pawl.GateJudged { return l.cand.Verdicts() }

// result returns the verdict of a gate or review on the present candidate, or nil.
func (l *Loop) result(name string) *pawl.GateJudged { return l.cand.Result(name) }

// review asks a model to judge the candidate in a session of its own.
func (d *draft) review(l *Loop, stage int) {
	if len(l.sessions) > 0 {
		d.converse(l, l.sessions[0])
		return
	}
	st := l.stage(stage)
	switch _, again := l.cand.NextReviewer(stage, 0, st.Review.Tier); {
	case again:
		d.seatReviewer(l, stage, 0)
	case l.isLost(st.Name):
		d.emit(l.Ref, d.s.inconclusive(st, "no reviewer handed in a verdict"))
	default:
		d.askVerdict(l, st.Name, d.withFindings(l, fmt.Sprintf("The review %s gave no verdict on %s, even by the strongest model. Does the work pass?", st.Name, l.judgedNow())))
	}
}

// inconclusive returns the verdict of a review that gave none.
func (s *State) inconclusive(st *pawl.Stage, why string) *pawl.GateJudged {
	return &pawl.GateJudged{Gate: st.Name, Verdict: pawl.VerdictFail, Partial: true, Total: s.Started.Count, Reason: brief.Cut("inconclusive: "+why, 300)}
}

// reviewed turns a review's result into a verdict. A review passes only if it says pass and leaves
// no criterion unmet. One that hands in no result says nothing of the work: a stronger reviewer
// follows, and after the strongest a person is asked, unless the recipe takes it for a failure or the
// attempt has failed anyway.
func (d *draft) reviewed(l *Loop, x *session.Session, r pawl.SessionResult, reason string, output pawl.Hash, f pawl.Facts) {
	st := l.stage(x.Index)
	b := &pawl.GateJudged{Gate: st.Name, Evidence: output, Verdict: pawl.VerdictFail}
	switch {
	case r != pawl.SessionDone:
		if _, again := l.cand.NextReviewer(x.Index, 0, x.Place.Tier); again || st.Review.Unfilled == pawl.UnfilledAsk {
			return
		}
		b = d.s.inconclusive(st, reason)
		b.Evidence, b.Error = output, brief.Fingerprint(string(r))
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
	if !verdict.Passes(b.Verdict) {
		b.Error = brief.Words(f.Get("reason"))
	}
	if loose := f.All("loose"); verdict.Passes(b.Verdict) && l.looksAgain(b.Gate) && len(loose) > 0 {
		b.Verdict, b.Reason = pawl.VerdictFail, brief.Cut("it passed at the second look without a file and line, or a test, that shows it: "+strings.Join(loose, ", "), 300)
		b.Error = brief.Words(b.Reason)
	}
	b.Confidence = verdict.Percent(f.Get("confidence"))
	d.reviewFindings(l, b, f)
	d.emit(l.Ref, b)
}

// judgement returns what the steps, the verdicts and people's answers say of the attempt. Children
// are not included: see withChildren.
func (l *Loop) judgement() ladder.Judgement {
	j := ladder.Judgement{Quality: verdict.Quality(l.verdicts()), Requirements: verdict.Requirements(l.verdicts()), StepFailed: l.iter.stepFailed}
	j.Green = slices.ContainsFunc(l.verdicts(), verdict.Green)
	j.RedWeak = l.redAtEnd()
	if r := l.lastAnswerTo(pawl.AskMerge); r != nil && j.StepFailed == "" && r.choice == choiceReject {
		j.StepFailed = strings.TrimSuffix("rejected by a person: "+r.text, ": ")
	}
	if j.StepFailed == "" {
		j.StepFailed = l.planRejection()
	}
	return j
}

// withChildren adds the result of the loop's children to a judgement.
func (l *Loop) withChildren(j ladder.Judgement) ladder.Judgement {
	if p := l.gen.plan; p != nil && l.gen.planned {
		j.Children, j.ChildrenOutcome = p.Unmet(), p.Outcome(l.Kind.Ladder.Then)
	}
	return j
}

// withProof adds to a judgement what shows that the work is what was asked for.
func (s *State) withProof(l *Loop, j ladder.Judgement) ladder.Judgement {
	j.Proof, j.Unjudged, j.NoWork, j.Answers, j.Unchanged = s.proof(l), s.unjudgedCriteria(l), l.judgesOnly(), l.onlyAnswers(), l.changedNothing()
	if l.Parent == 0 && !j.NoWork {
		j.Mute = verdict.Mute(l.verdicts(), s.Settings.NotGreen)
	}
	return j
}

// conclude ends the iteration with all that is known of it. A child that passed is merged first,
// and a loop that ends runs its final steps first.
func (d *draft) conclude(l *Loop) {
	if d.failWeak(l) {
		l = d.s.Loop(l.Ref)
	}
	j := d.s.withFailure(l, l.withChildren(l.judgement()))
	if j.Pass() && !d.judgeHeldOutBase(l) {
		return
	}
	j = d.s.withProof(l, j)
	if j.Pass() && j.Children == "" && !d.askAtEnd(l) {
		return
	}
	if j.Pass() && j.Children == "" && l.merge() == nil && d.enqueue(l) {
		return
	}
	d.concludeIteration(l, j)
}

// concludeIteration ends the iteration with a judgement.
func (d *draft) concludeIteration(l *Loop, j ladder.Judgement) {
	d.rule(l, j, d.s.iterationEnd(l, j))
}

// requirements returns the verdict on the requirements as people are told it: that the harness's own checks of a
// form let it pass says nothing of them, so it is "" where no reviewer and no person passed the candidate.
func (l *Loop) requirements(v pawl.Verdict) pawl.Verdict {
	judges := func(r *pawl.GateJudged) bool {
		st := l.stageNamed(r.Gate)
		return r.Kind == "" && r.Judge == pawl.JudgeGate && (st == nil || st.Builtin == "")
	}
	if verdict.Passes(v) && !slices.ContainsFunc(l.verdicts(), judges) {
		return ""
	}
	return v
}

// iterationEnd returns the end of the iteration with a judgement, without what follows from it.
func (s *State) iterationEnd(l *Loop, j ladder.Judgement) *pawl.IterationEnded {
	return &pawl.IterationEnded{
		N: l.Iteration, Tier: l.Tier, Quality: j.Quality, Requirements: l.requirements(j.Requirements), Commit: l.gateCommit(), Conflict: j.Conflict,
		Files: l.cand.FileSet, Tests: verdict.FailingTests(l.cand.Results), Error: verdict.Errors(l.verdicts(), j.StepFailed),
		Errors: verdict.Objections(l.verdicts(), j.StepFailed, j.Children), Cost: l.spent.Money - l.iter.spentAt.Money, Tokens: l.spent.Tokens - l.iter.spentAt.Tokens, Proof: j.Proof,
	}
}
