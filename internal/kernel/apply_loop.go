package kernel

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/exam"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/session"
	"pawl/internal/kernel/verdict"
	"pawl/internal/kernel/worktree"
)

func (l *Loop) startIteration(b *pawl.IterationStarted) {
	l.Iteration, l.Attempt, l.inIteration = b.N, 1, true
	l.Tier, l.tierWhy = b.Tier, ""
	if l.ladder.Afterward > 0 {
		l.ladder.Afterward--
	}
	l.baseRuns = nil
	if l.person.rejudge = false; !b.Rejudges {
		l.person.overrulings = nil
	}
	l.beginSteps(&Iteration{spentAt: l.spent, rejudges: b.Rejudges})
}

// beginSteps starts an attempt of the iteration at its first step, or behind its steps if it judges what
// the last iteration left.
func (l *Loop) beginSteps(it *Iteration) {
	l.Phase, l.iter, l.sessions = PhaseSteps, it, nil
	l.setCandidate(nil)
	if it.rejudges {
		l.Phase = PhaseCommit
		return
	}
	l.left.Drop(l.keeps)
	l.moveToStep(0)
}

// setCandidate replaces the loop's candidate. No verdict, list or answer for the old one
// counts for the new one.
func (l *Loop) setCandidate(c *land.Candidate) {
	l.cand, l.gen.listing = c, listing{}
	l.person.reply, l.person.approved = nil, false
	if l.iter.outOfTime != "" && c.Total == 0 { // there is nothing to judge
		l.iter.stepFailed = l.iter.outOfTime
	}
}

// recordBranchMoved records that children or the harness moved the loop's branch to a commit. The
// verdicts on the candidate stay.
func (l *Loop) recordBranchMoved(to *pawl.Committed) {
	if l.cand == nil {
		l.cand = &land.Candidate{}
	}
	l.cand.Committed = to
}

// keeps reports whether the output with this name outlives the iteration.
func (l *Loop) keeps(name string) bool {
	for i, st := range l.flow.Steps {
		if flow.OutputName(st) == name {
			return st.Keep || l.isAssessingStep(i)
		}
	}
	return false
}

// isAssessingStep reports whether a step assesses the task's complexity.
func (l *Loop) isAssessingStep(step int) bool {
	return l.Kind.Complexity != nil && l.Kind.Complexity.From == l.flow.Steps[step].Name
}

func (l *Loop) startSession(s *State, b *pawl.SessionStarted) error {
	if b.Session != l.session+1 {
		return fmt.Errorf("session %d follows session %d", b.Session, l.session)
	}
	if !s.sessionTargetExists(l, b) {
		return fmt.Errorf("there is no %s %d", b.Purpose, b.Index)
	}
	x := session.Start(b, s.Alive)
	l.session = b.Session
	l.sessions = append(l.sessions, x)
	if b.Purpose == pawl.ForStep && l.iter != nil && slices.ContainsFunc(l.flow.Steps[b.Index].Tools, pawl.ChangesFiles) {
		l.iter.worked = true
	}
	return nil
}

// sessionTargetExists reports whether the session's step, gate, batch or council member exists.
func (s *State) sessionTargetExists(l *Loop, b *pawl.SessionStarted) bool {
	n := 0
	switch b.Purpose {
	case pawl.ForStep:
		n = len(l.flow.Steps)
		if b.Item != 0 && (b.Index < 0 || b.Index >= n || b.Item < 0 || b.Item > len(l.entriesOf(b.Index))) {
			return false
		}
	case pawl.ForReplan:
		n = l.flow.Main
	case pawl.ForExtract:
		n = 1
	case pawl.ForBatch:
		if l.gen.batch != nil && len(s.candidates(l)) > 0 {
			n = 1
		}
	case pawl.ForReview:
		n = l.stages()
	case pawl.ForProposal, pawl.ForBallot:
		if l.ladder.Council != nil {
			n = len(l.ladder.Council.Members)
		}
	}
	return b.Index >= 0 && b.Index < n && (b.Purpose != pawl.ForReview || l.stage(b.Index).Review != nil && b.Vote <= max(l.stage(b.Index).Review.Votes, 1))
}

func (s *State) note(l *Loop, b *pawl.NoteAdded) error {
	x := l.sessionByN(b.Session)
	if x == nil {
		return fmt.Errorf("session %d is not active", b.Session)
	}
	return x.Note(b, s.Alive)
}

// applySessionEnded ends a session. If what it was for is gone, its result is ignored.
func (s *State) applySessionEnded(l *Loop, b *pawl.SessionEnded) error {
	x := l.sessionByN(b.Session)
	if x == nil {
		return fmt.Errorf("session %d is not active", b.Session)
	}
	l.sessions = slices.DeleteFunc(l.sessions, func(o *session.Session) bool { return o == x })
	switch {
	case b.Result == pawl.SessionAbandoned:
	case x.Purpose == pawl.ForReview: // a verdict follows, or another reviewer
		if l.cand == nil {
			return nil
		}
		last := b.Result == pawl.SessionDone || l.cand.Empty(x.Index, x.Vote, x.Place.Tier)
		if x.Vote > 0 && last {
			l.cand.Voted(x.Vote, l.stage(x.Index).Review.Votes, b)
		}
	case x.Purpose == pawl.ForExtract:
		if l.cand != nil {
			l.cand.Extracted = true
		}
	case x.Purpose == pawl.ForReplan:
		l.endReplan(b)
	case x.Purpose == pawl.ForBatch:
		if bt := l.gen.batch; bt != nil && b.Result != pawl.SessionDone {
			bt.Empty.Empty(x.Place.Tier)
		} else if bt != nil {
			bt.Reviews++
		}
	case x.Purpose == pawl.ForStep:
		s.endStep(l, x, b)
	case l.ladder.Council == nil:
	case x.Purpose == pawl.ForProposal:
		l.ladder.Council.Proposed(x.Index, b)
	case x.Purpose == pawl.ForBallot:
		l.ladder.Council.Voted(x.Index, b)
	}
	return nil
}

func (s *State) endStep(l *Loop, x *session.Session, b *pawl.SessionEnded) {
	st := l.flow.Steps[x.Index]
	if x.Item > 0 { // a step that runs for each entry makes no decision
		l.endItem(x, b)
		return
	}
	if decision := b.Facts.Get("decision"); decision != "" {
		l.left.Decision = brief.Cut(decision, 60)
	}
	l.left.KeepOutput(st, b.Output)
	l.left.KeepLists(l.flow, st, b)
	if l.isAssessingStep(x.Index) && b.Facts.Get(pawl.FactGoalTests) != "" {
		l.goals.Assessment = b.Output
	}
	switch {
	case l.needsTime(x, b) && !l.isAssessingStep(x.Index):
		l.iter.Try = 2
		return
	case l.recordQuestions(x, b):
		return
	}
	s.applyBlocked(l, b.Facts)
	l.stepOver(x.Index, b.Result, brief.Cut(fmt.Sprintf("%s: %s", st.Name, b.Reason), 160))
}

// needsTime records that a step of the iteration has run out of time, and reports whether it can have
// more. A coding agent had its turn to hand in what it has, and no other session.
func (l *Loop) needsTime(x *session.Session, b *pawl.SessionEnded) bool {
	if b.Result != pawl.SessionTimeout || x.Index >= l.flow.Main || x.HandsIn() {
		return false
	}
	st := l.flow.Steps[x.Index]
	l.left.RanOut(st)
	return x.Try == 1 && (st.Timeout == 0 || x.Timeout() <= st.Timeout)
}

// stepOver records that a step has ended. If its result is not done, why is the reason
// of its failure.
func (l *Loop) stepOver(step int, r pawl.SessionResult, why string) {
	switch {
	case l.isAssessingStep(step): // ComplexityScored follows
	case step >= l.flow.After: // a final step may fail
		l.iter.final = step - l.flow.After + 1
	case l.flow.AroundBatch(step):
		l.endAround(step)
	case r == pawl.SessionDone, r == pawl.SessionTurns && l.flow.Steps[step].TurnCap == pawl.TurnCapJudge:
		l.passStep()
	case r == pawl.SessionTimeout && l.flow.Steps[step].TimeCap == pawl.TurnCapJudge:
		l.iter.outOfTime = why
		l.passStep()
	default:
		l.iter.stepFailed, l.Phase = why, PhaseCommit
	}
}

func (l *Loop) applyGatesReused(b *pawl.GatesReused) {
	if b.From == l.Iteration && l.cand != nil && len(l.iter.judged.results) > 0 {
		l.cand.Results = slices.DeleteFunc(slices.Clone(l.iter.judged.results), func(r *pawl.GateJudged) bool { return !slices.Contains(b.Gates, r.Gate) })
		return
	}
	a := l.lastAttempt()
	if a == nil || a.N != b.From || l.cand == nil {
		return
	}
	l.cand.Results, l.cand.Second = reusableVerdicts(a.Results), b.Anew
	if len(b.Gates)+len(b.Anew) > 0 {
		l.cand.Results = slices.DeleteFunc(l.cand.Results, func(r *pawl.GateJudged) bool { return !slices.Contains(b.Gates, r.Gate) })
	}
}

// lastAttempt returns the attempt that ended last, or nil.
func (l *Loop) lastAttempt() *ladder.Attempt { return l.ladder.Last() }

// reusableVerdicts returns the gates' verdicts that were reached in full. Verdicts of other judges
// do not hold for another attempt with the same tree: a batch depends on the siblings in
// it, and the tree does not show changes to the harness's folder or files left out.
func reusableVerdicts(results []*pawl.GateJudged) []*pawl.GateJudged {
	return slices.DeleteFunc(slices.Clone(results), func(r *pawl.GateJudged) bool {
		return r.Partial || r.Judge != pawl.JudgeGate
	})
}

// byCommands returns the verdicts that hold for another attempt with the same tree, whatever is said of what
// the agent did: those of command gates.
func byCommands(results []*pawl.GateJudged) []*pawl.GateJudged {
	return slices.DeleteFunc(reusableVerdicts(results), func(r *pawl.GateJudged) bool { return r.Kind == "" })
}

// lineSize returns how many bytes of an objection to an iteration are kept. It is more
// for a loop that its children can restart, whose prompts list all iterations.
func (l *Loop) lineSize() int {
	if l.Kind.Children.RestartsParent() {
		return 100
	}
	return 36
}

func (s *State) endIteration(l *Loop, b *pawl.IterationEnded) error {
	l.worktree.Furnished = "" // commands may have changed it
	if b.Decision == pawl.DecideComplete && b.Quality != "" {
		s.leftOpen.red = verdict.RedAtBase(l.verdicts())
	}
	if b.Decision == pawl.DecideComplete {
		s.leftOpen.findings = len(s.unaccepted(l))
		s.leftOpen.proof, s.leftOpen.failing = b.Proof, nil
		if l.redWeak() > 0 {
			s.leftOpen.failing = l.cand.Goals.Failing
		}
	}
	s.noteAttempt(l, b)
	if l.ratchets() {
		s.noteOwn(l, b)
	}
	a := ladder.Attempt{
		N: b.N, Failed: !passes(b), Passed: b.Unproven, Mends: b.Mends,
		Shown: b.Decision == pawl.DecideComplete && b.Proof.ShowsGoal(),
		Files: b.Files, Tests: b.Tests, Error: b.Error, Line: brief.Cut(ladder.FirstError(b), l.lineSize()),
		Security: verdict.Diagnostics(l.verdicts()), Results: verdict.Remembered(l.verdicts()), StepFailed: l.iter.stepFailed, Children: s.failures(l),
	}
	l.inbox.ForgetTold()
	// A failure that no gate has named is kept for the next attempt's prompt.
	if len(b.Errors) > 0 && !l.wantsAnother() && (b.Conflict || a.Failed && !l.objected()) {
		a.StepFailed = b.Errors[0]
	}
	if l.cand != nil {
		a.Tree, a.Looked = l.cand.Tree, l.cand.Second
		if b.Outcome == pawl.OutcomeHalted {
			a.Halted = l.cand.Committed
		}
		if last := l.lastAttempt(); last != nil && last.Tree == a.Tree {
			a.Looked = slices.Concat(last.Looked, a.Looked)
		}
		l.cand = &land.Candidate{Committed: l.cand.Committed} // its verdicts are not needed any more
	}
	l.ladder.History = ladder.Remember(l.ladder.History, a)
	l.inIteration, l.ladder.Advice = false, pawl.Hash{}
	l.Phase = PhaseReady
	switch {
	case l.wantsAnother(): // not a failure
		if s.isLastIteration(l) {
			l.ladder.Freed++
		}
	case passes(b):
		l.ladder.Failures, l.ladder.Conflicts = 0, 0
	case b.Conflict && l.ladder.Conflicts+1 < ladder.ConflictTries:
		l.ladder.Conflicts++
		l.ladder.Freed++
	case b.Conflict:
		l.ladder.Failures++
		l.ladder.Conflicts++
	default:
		l.ladder.Failures++
		l.ladder.Conflicts = 0
	}
	if b.Outcome == "" && l.ladder.Afterward == 0 && l.ladder.Resume.Tier > 0 && !b.Conflict {
		l.resumeLadder()
	}
	if !b.Conflict {
		l.upstream.hunks = pawl.Hash{}
	}
	l.unrecorded = true
	if b.Outcome != "" {
		l.Phase, l.Outcome, l.Reason = PhaseClosing, b.Outcome, b.Reason
	}
	if b.Settles != 0 {
		return l.settles(b.Settles)
	}
	return nil
}

// applyLoopEnded ends a loop. It keeps what the loop's place in the tree needs and, if the
// loop can be resumed, what its next iteration needs. The rest is found again when
// the worktree is opened.
func (s *State) applyLoopEnded(l *Loop, b *pawl.LoopEnded) {
	s.live--
	byPerson, last := l.endedByPerson(b), l.lastAttempt()
	shown := last != nil && last.Shown
	if l.Phase == PhasePending {
		s.leaveAdmissionQueue(l)
	}
	l.Phase, l.Outcome, l.Reason = PhaseDone, b.Outcome, b.Reason
	s.endSignals(l, b)
	l.sessions, l.cand, l.worktree = nil, nil, worktree.State{}
	*l.iter = Iteration{spentAt: l.iter.spentAt, rejudges: l.iter.rejudges, Cursor: flow.Cursor{Round: l.iter.Round}}
	if l.Parent != 0 {
		l.Reason = brief.Cut(b.Reason, 120)
	}
	l.stopped, l.upstream.rebase, l.person.question, l.person.reply = b.Stopped, nil, nil, nil
	l.gen.listed, l.gen.read = nil, nil
	l.baseRuns = nil
	l.gen.childLists = nil
	if l.gen.Back != nil {
		l.gen.Back.Merged = nil // no ref keeps it
	}
	if l.Parent != 0 {
		s.endChild(l, b, byPerson, shown)
	}
	if !b.Outcome.Resumable() || l.Parent != 0 && !b.Stopped {
		l.dropDetails()
	}
}

// dropDetails drops all of an ended loop except what its place in the tree needs. The loop
// cannot be resumed after that.
func (l *Loop) dropDetails() {
	if l.iter != nil {
		*l.iter = Iteration{} // it may share its allocation with the loop, which lives on: see clone
	}
	l.iter, l.base, l.tierWhy, l.slot.born = nil, nil, "", 0
	l.left, l.upstream, l.person, l.goals = flow.Leavings{}, upstream{}, person{}, exam.Goals{}
	l.ladder = ladder.State{Failures: l.ladder.Failures, Freed: l.ladder.Freed}
	if l.Parent != 0 || l.ratchets() {
		*l.gen = Generation{n: l.gen.n, Course: monitor.Course{Health: l.gen.Health}}
	}
}

// applyRoundsEnded records that a group is not repeated any more.
func (l *Loop) applyRoundsEnded(b *pawl.RoundsEnded) {
	g := l.flow.Group(l.iter.Step - 1)
	if g == nil {
		return
	}
	if b.Then == "continue" {
		l.person.reply = nil
		l.moveToStep(g.To)
		return
	}
	l.iter.stepFailed, l.Phase, l.iter.Exhausted = brief.Cut(fmt.Sprintf("%s: %d rounds, and none decided %s", b.Group, b.Max, strings.Join(g.Repeat.Until, " or ")), 160), PhaseCommit, false
}
