package kernel

import (
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/budget"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/plan"
	"pawl/internal/kernel/session"
	"pawl/internal/kernel/verdict"
)

// applyEffectRequested opens an effect. A model call sends the session's transcript as it is now.
func (s *State) applyEffectRequested(l *Loop, id pawl.Seq, b *pawl.EffectRequested) error {
	f := b.Effect
	f.ID, f.Loop = id, l.Ref
	x := l.sessionByN(f.Session)
	if f.Do == nil {
		return fmt.Errorf("it asks for nothing")
	}
	if f.Session != 0 && x == nil {
		return fmt.Errorf("session %d is not active", f.Session)
	}
	switch do := f.Do.(type) {
	case *pawl.AssemblePrompt, *pawl.CallModel, *pawl.CallTool:
		if x == nil {
			return fmt.Errorf("%s without a session", do.Verb())
		}
		if do.Verb() == pawl.VerbAssemblePrompt && x.Purpose == pawl.ForStep && len(l.inbox.Infos) > 0 {
			l.inbox.Tell()
		}
		switch do := f.Do.(type) {
		case *pawl.CallTool:
			if do.Tool == updateTool {
				l.worktree.Furnished = ""
			}
		case *pawl.CallModel:
			if !ladder.IsTier(do.Tier) {
				return fmt.Errorf("a call of tier %d", do.Tier)
			}
		}
		s.Reserved = s.Reserved.Add(budget.Of(&f))
	case *pawl.ReadTasks:
		if l.Kind.Children == nil {
			return fmt.Errorf("a list of tasks for a loop without children")
		}
	case *pawl.Merge:
		if l.gen.batch != nil {
			l.gen.batch.Seal(func(m *land.Member) bool { return s.isQueued(l, m) })
		}
	case *pawl.Restore:
		if l.gen.Back == nil {
			return fmt.Errorf("nobody called for a rollback")
		}
		l.gen.Back.Requested = true
	case *pawl.CloseWorkspace:
		l.worktree.Leaving = s.stopReason(l) != ""
	case *pawl.Notify:
		l.callback.lastTry, l.worktree.Rested = do, false
	case *pawl.Announce:
		if l.person.question == nil || l.person.question.n != do.Question {
			return fmt.Errorf("question %d is not open", do.Question)
		}
		l.person.question.announced, l.person.question.failed, l.person.question.rested = do, nil, false
	case *pawl.Examine:
		if err := l.examineRequested(id, do); err != nil {
			return err
		}
	case *pawl.WeighGoals:
		if err := l.weighRequested(id, do); err != nil {
			return err
		}
	case *pawl.RunGate:
		if err := s.gateRequested(l, id, do); err != nil {
			return err
		}
	case *pawl.Prepare:
		l.asksToPrepare(do.Commit, do.Furnish)
	}
	if x != nil {
		if err := x.Request(&f); err != nil {
			return err
		}
		if isTurn(&f) {
			x.Limit(s.Settings.Session.Filled().Time, s.Alive)
		}
	}
	s.addOpen(&f)
	l.open = append(l.open, &f)
	return nil
}

// gateRequested records that a gate was asked to judge a commit.
func (s *State) gateRequested(l *Loop, id pawl.Seq, do *pawl.RunGate) error {
	i := s.gateOf(l, do.Gate)
	switch {
	case i == noGate:
		return fmt.Errorf("there is no gate %q", do.Gate)
	case do.On != "" && (i < 0 || l.further(do.On) == nil),
		do.OnBase && (i < 0 || i >= len(l.base)), !do.OnBase && do.On == "" && l.cand == nil:
		return fmt.Errorf("gate %q has no commit of loop %d to judge", do.Gate, l.Ref)
	case do.On != "":
		l.further(do.On).Asked(do.Gate, do.On, id)
		return nil
	}
	anew := !do.OnBase && s.gaveLonger(i, do.Longer) // what a gate said before is no failed try
	if anew && l.lastAnswerTo(pawl.AskUnjudged) != nil {
		l.person.reply = nil
	}
	switch {
	case do.Doubt.IsZero():
	case l.gen.batch != nil:
		anew = l.gen.batch.Doubt(do.Gate)
	default:
		anew = l.gateRuns(do.OnBase).Doubt(i)
	}
	l.gateRuns(do.OnBase).Requested(i, id, anew)
	return nil
}

// machineWait returns how long an effect waited for a place on the machine before it began.
func machineWait(a pawl.Answer) time.Duration {
	switch b := a.(type) {
	case *pawl.ModelReplied:
		return b.Waited
	case *pawl.ToolReturned:
		return b.Waited
	case *pawl.EffectFailed:
		return b.Waited
	}
	return 0
}

// closeLostEffect closes an effect without a usable answer, as closeEffect does, and counts its
// cost as lost: the real cost of a model call is not known then. Other effects cost nothing.
func (s *State) closeLostEffect(l *Loop, id pawl.Seq, cost budget.Purse, then func(*session.Session, *pawl.Effect)) error {
	if err := s.closeEffect(l, id, cost, then); err != nil {
		return err
	}
	s.Lost = s.Lost.Add(cost)
	return nil
}

// closeEffect closes an effect, charges its cost and calls then with it and its session, which
// is nil if the effect has none. It does not call then if the session has ended.
func (s *State) closeEffect(l *Loop, id pawl.Seq, cost budget.Purse, then func(*session.Session, *pawl.Effect)) error {
	f := s.Find(id)
	if f == nil || f.Loop != l.Ref {
		return fmt.Errorf("effect %d is not open", id)
	}
	s.removeOpen(id)
	l.open = removeEffect(l.open, id)
	s.Reserved = s.Reserved.Sub(budget.Of(f))
	s.Spent, l.spent = s.Spent.Add(cost), l.spent.Add(cost)
	x := l.sessionByN(f.Session)
	if x != nil {
		x.Closed()
	}
	if then != nil && (f.Session == 0 || x != nil) {
		then(x, f)
	}
	return nil
}

func (s *State) applyAnswer(l *Loop, a pawl.Answer) error {
	switch b := a.(type) {
	case *pawl.GateJudged:
		if b.Effect == 0 { // a review, or a gate that could not run
			s.applyVerdict(l, b)
			return nil
		}
	case *pawl.Committed:
		if b.Effect == 0 { // there was nothing to commit
			l.applyWorktreeAnswer(b, false)
			return nil
		}
	}
	f := s.Find(a.Answers())
	if f == nil || !fits(f, a) {
		return fmt.Errorf("it answers effect %d, which is not open or of another kind", a.Answers())
	}
	var cost budget.Purse
	end := s.closeEffect
	switch b := a.(type) {
	case *pawl.ModelReplied:
		cost = budget.Purse{Money: b.Cost, Tokens: b.Usage.Total()}
	case *pawl.EffectFailed:
		cost = budget.Purse{Money: b.Charged, Tokens: b.ChargedTokens}
		if b.Lost() {
			end = s.closeLostEffect
		}
	}
	var err error
	closed := end(l, f.ID, cost, func(x *session.Session, f *pawl.Effect) { err = s.dispatchAnswer(l, x, f, a) })
	if closed != nil {
		return closed
	}
	return err
}

func (s *State) dispatchAnswer(l *Loop, x *session.Session, f *pawl.Effect, a pawl.Answer) error {
	if do, ok := f.Do.(*pawl.CallModel); ok && s.model(do) == nil { // a damaged log
		return fmt.Errorf("effect %d calls model %d of tier %d, which there is not", f.ID, do.Choice, do.Tier)
	}
	if x != nil { // the wait for a place is not the session's time
		x.Extend(machineWait(a))
	}
	if _, failed := a.(*pawl.EffectFailed); !failed {
		l.worktree.Settle(f.Do.Verb())
	}
	switch b := a.(type) {
	case *pawl.TasksRead:
		if b.Count < 0 {
			return fmt.Errorf("a list of %d tasks", b.Count)
		}
		l.tasksRead(f.Do.(*pawl.ReadTasks), b)
	case *pawl.Merged:
		l.worktree.Calm()
		return s.merged(l, f.Do.(*pawl.Merge), b)
	case *pawl.BranchAdvanced:
		l.worktree.Calm()
		return s.advanced(l, b)
	case *pawl.ConflictsProbed:
		l.worktree.Calm()
		l.probed()
		s.applySiblingConflicts(l, b)
	case *pawl.CheckpointMarked:
		l.worktree.Calm()
		l.gen.Marked(f.Do.(*pawl.MarkCheckpoint).Checkpoint)
	case *pawl.Restored:
		l.worktree.Calm()
		l.restored(b)
		s.wentBackTo(l, b, f.Do.(*pawl.Restore).Label)
	case *pawl.Recorded:
		l.worktree.Calm()
		l.recorded(b)
	case *pawl.Published:
		l.worktree.Calm()
		return s.published(f.Do.(*pawl.Publish), b)
	case *pawl.Notified:
		s.notified = s.notified || f.Do.Verb() == pawl.VerbNotify
	case *pawl.EffectFailed:
		if do, ok := f.Do.(*pawl.CallModel); ok && do.Agent != nil {
			x.Spent(b.Failure.Used, s.model(do).Price.Cost(b.Failure.Used))
		}
		l.effectFailed(x, f, b)
	case *pawl.PromptAssembled:
		x.Prompt(b)
	case *pawl.ModelReplied:
		x.Reply(b)
		l.turned(x, f.ID, s.model(f.Do.(*pawl.CallModel)).Hides, b.Agent)
	case *pawl.ToolReturned:
		l.toolReturned(x, f, b)
	case *pawl.WaitEnded:
		l.applyWaitEnded(x, f)
	case *pawl.GateJudged:
		s.applyVerdict(l, b)
	case *pawl.Prepared:
		return l.prepared(f.Do.(*pawl.Prepare), b)
	case *pawl.Examined:
		l.applyExamined(b)
	case *pawl.GoalsWeighed:
		l.goalsWeighed(f.Do.(*pawl.WeighGoals), b)
	default:
		if opened, ok := a.(*pawl.WorkspaceOpened); ok {
			s.resultFound(l, opened)
		}
		do, ok := f.Do.(*pawl.ResetWorkspace)
		l.applyWorktreeAnswer(a, ok && do.Detached && l.gen.plan != nil)
	}
	return nil
}

// tasksRead records a list of tasks, whose entries came in earlier events. Only the last
// of these count, because a run that was forked between them reads the list again.
func (l *Loop) tasksRead(do *pawl.ReadTasks, b *pawl.TasksRead) {
	l.gen.read, l.gen.listed = plan.Read(do.List, l.gen.listed, b, l.Kind.Children.Order), nil
}

// probed records that the candidate was compared with those of siblings, or could not be.
func (l *Loop) probed() {
	if l.cand != nil {
		l.cand.Probed = true
	}
}

// applySiblingConflicts records a conflict between siblings for both sides, so that their prompts
// show it.
func (s *State) applySiblingConflicts(l *Loop, b *pawl.ConflictsProbed) {
	l.upstream.probe = b.Hunks
	for _, ref := range b.With {
		if o := s.Loop(ref); o != nil && o.Phase != PhaseDone {
			o.upstream.probe = b.Hunks
		}
	}
}

// applyWorktreeAnswer records the state in which an effect left the worktree. A detached
// worktree shows a commit that is not its branch's head.
func (l *Loop) applyWorktreeAnswer(a pawl.Answer, detached bool) {
	w := &l.worktree
	if _, closed := a.(*pawl.WorkspaceClosed); !closed || !w.IsLost() {
		w.Calm()
	}
	switch b := a.(type) {
	case *pawl.WorkspaceOpened:
		if b.Head != l.Head {
			l.branchMoved()
		}
		l.HasWorkspace, l.Head, l.Phase, l.worktree.Furnished = true, b.Head, PhaseBase, ""
		w.IsAt(b.Tree)
		if l.worktreeBehind = l.gen.planned; l.gen.planned && l.inIteration { // resumed: its children continue
			l.Phase, l.cand = PhaseGates, &land.Candidate{Committed: &pawl.Committed{Commit: b.Head, Tree: b.Tree}}
			if b.Head != l.Base {
				l.cand.Total = 1
			}
		}
		if l.ladder.Council != nil {
			l.Phase = PhaseCouncil
		}
	case *pawl.WorkspaceInspected:
		w.Inspected(b.Tree)
	case *pawl.WorkspaceReset:
		if detached {
			w.IsAt(b.Tree)
			l.worktreeBehind = true
			if l.gen.batch != nil { // a rollback may have been called meanwhile
				l.gen.batch.Shown = b.Head
			}
			return
		}
		if p := l.gen.plan; p != nil && l.gen.batch != nil {
			l.gen.batch.Shown = ""
		}
		if l.worktreeBehind { // what its children made has not been judged
			l.cand.Rejudge(l.judgesWhole)
		}
		l.Head = b.Head
		w.IsAt(b.Tree)
		w.Forget()
		l.worktreeBehind = false
		if l.iter != nil && !b.Diff.IsZero() {
			l.iter.salvaged = b.Diff
		}
		if m := l.upstream.rebase; m != nil && m.Made != nil && m.Made.Commit == b.Head {
			l.rebased()
		}
		if l.working() {
			l.iter.restart = "the worktree was not as recorded"
			l.worktree.Furnished = "" // nor are the prepared files in it
		}
	case *pawl.WorkspaceClosed:
		w.Dirty = false
		w.Forget()
		if l.HasWorkspace = false; l.worktree.Leaving && l.Phase < PhaseClosing { // if it continues after all, it is opened again
			l.Phase = PhaseOpening
		}
		l.worktree.Leaving = false
	case *pawl.Committed:
		l.Head = b.Commit
		w.IsAt(b.Tree)
		l.Phase = PhaseGates
		l.setCandidate(&land.Candidate{Committed: b})
	}
}

// judgesWhole reports whether a verdict judges the whole commit, as those of command gates and
// of final gates do.
func (l *Loop) judgesWhole(r *pawl.GateJudged) bool {
	return r.Kind != "" || !slices.ContainsFunc(l.Kind.Gates, func(st pawl.Stage) bool { return st.Name == r.Gate })
}

// effectFailed records why an effect failed; advance decides what follows.
func (l *Loop) effectFailed(x *session.Session, f *pawl.Effect, b *pawl.EffectFailed) {
	why := &b.Failure
	switch do := f.Do.(type) {
	case *pawl.CallModel:
		l.turnFailed(x, do, why)
		x.Fail(why, b.Transcript)
	case *pawl.AssemblePrompt:
		x.Fail(why, pawl.Hash{})
	case *pawl.CallTool:
		text := brief.Cut("the tool could not work: "+why.Message, 300)
		x.Answer(do.Call, pawl.Item{Text: text, IsError: true}, int64(len(text)))
		l.worktree.Unsure = l.worktree.Unsure || f.Class != pawl.CrashRepeat
		l.worktree.Restore = l.worktree.Restore || why.Code == pawl.FailConflict
	case *pawl.Examine:
		l.gen.exam.Fail(f.ID, why)
	case *pawl.WeighGoals:
		if r := l.weighing(do); r != nil {
			r.Fail(f.ID, why)
		}
	case *pawl.RunGate:
		if do.On != "" {
			l.further(do.On).Fail(f.ID, why)
			break
		}
		l.gateRuns(do.OnBase).Fail(f.ID, why)
	case *pawl.Prepare:
		l.preparations.Fail(do.Commit, why)
		if do.Furnish {
			l.worktree.Fail(do.Verb(), why)
		}
	case *pawl.Wait: // a wait that failed is over
		l.applyWaitEnded(x, f)
	case *pawl.ProbeConflicts: // the comparison is optional
		l.probed()
	case *pawl.Notify:
		l.callback.lastFailure = why
	case *pawl.Announce:
		if q := l.person.question; q != nil && q.n == do.Question {
			q.failed = why
		}
	default:
		l.worktree.FailEffect(f.ID, do.Verb(), why)
	}
}

// turnFailed records that a turn of a coding agent failed. The agent may have written before. If the
// agent does not have the session that a driver's death interrupted, what it had written is set
// aside.
func (l *Loop) turnFailed(x *session.Session, do *pawl.CallModel, why *pawl.Failure) {
	if do.Agent == nil {
		return
	}
	l.worktree.Unsure = l.worktree.Unsure || !why.Unsent
	if x.WasLost() && pawl.ModelErrorKind(why.Code) == pawl.ModelNoSession {
		l.worktree.Restore, l.worktree.Lost = true, true
	}
}

// turned records what a turn of a coding agent left in the worktree, how its last command ended, and
// what the agent heard. Hides reports whether the agent does not show all of its calls.
func (l *Loop) turned(x *session.Session, turn pawl.Seq, hides bool, b *pawl.AgentTurned) {
	if b == nil {
		return
	}
	if x.Purpose == pawl.ForStep {
		switch {
		case hides:
			l.left.RunHidden = true
		case b.Commands > 0:
			l.left.RunFailed, l.left.RunHidden = b.CommandFailed, false
		}
	}
	if b.Heard > 0 {
		l.inbox.Hear(turn, b.Heard)
	}
	l.worktree.Wrote(b.Tree)
	l.worktree.Restore = l.worktree.Restore || b.Changed
}

// agentProgressed records how far a turn of a coding agent has come.
func (s *State) agentProgressed(l *Loop, b *pawl.AgentProgressed) error {
	f := s.Find(b.Effect)
	if f == nil || f.Loop != l.Ref || !isTurn(f) {
		return fmt.Errorf("effect %d is no open turn of a coding agent", b.Effect)
	}
	if x := l.sessionByN(f.Session); x != nil {
		x.Progressed(b, f.Do.(*pawl.CallModel).Items)
	}
	return nil
}

// applyWaitEnded records that a wait has ended. A back-off is not the session's time.
func (l *Loop) applyWaitEnded(x *session.Session, f *pawl.Effect) {
	switch {
	case f.Place.Step == signalStep:
		if l.exit.clearing != nil {
			l.exit.clearing.expired = true
		}
		return
	case isAnnouncement(f):
		if l.person.question != nil {
			l.person.question.rested = true
		}
		return
	case x == nil:
		l.worktree.Rested = true
		return
	}
	x.Rested(f.Do.(*pawl.Wait).For)
}

func (l *Loop) toolReturned(x *session.Session, f *pawl.Effect, b *pawl.ToolReturned) {
	item := pawl.Item{Blob: b.Output, IsError: b.IsError}
	if do := f.Do.(*pawl.CallTool); do.Tool == runTool && x.Purpose == pawl.ForStep && !b.Interrupted {
		l.left.RunFailed, l.left.RunHidden = b.IsError, false
	}
	if b.Interrupted {
		item = session.Interrupted(item)
	}
	x.Answer(f.Do.(*pawl.CallTool).Call, item, b.Bytes)
	if b.Tree != "" {
		l.worktree.Wrote(b.Tree)
	}
	l.worktree.Restore = l.worktree.Restore || b.Conflict
	if b.Prepared != "" {
		l.worktree.Furnished = b.Prepared
	}
}

// runTool is the tool that runs commands. updateTool is the tool that changes the prepared
// files in the worktree.
const (
	runTool    = "run"
	updateTool = "update_dependencies"
)

// applyVerdict records a verdict.
func (s *State) applyVerdict(l *Loop, b *pawl.GateJudged) {
	if b.On != "" {
		l.further(b.On).Judged(b)
		return
	}
	i := s.gateOf(l, b.Gate)
	l.gateRuns(b.OnBase).Judged(i)
	s.gates.unjudgedFails = s.gates.unjudgedFails || b.Partial && b.By != ""
	switch {
	case !b.OnBase && l.gen.Back != nil: // on work that is being rolled back
	case !b.OnBase && b.Kind != "" && l.gen.batch != nil:
		s.gated(l, b)
	case !b.OnBase && l.cand == nil: // on a candidate that was dropped
	case !b.OnBase:
		l.cand.Judged(b, s.Recipe.JudgeOf(b))
		if b.Judge == pawl.JudgeGoal && verdict.Passes(b.Verdict) {
			l.goals.Left = b.Reason
		}
		if b.Judge == pawl.JudgeEvidence {
			for _, f := range b.Findings {
				s.findings.Told(f.ID)
			}
		}
		if b.By != "" {
			l.person.reply = nil
		}
	case i >= 0:
		l.base = slices.Clone(l.base)
		again := l.base[i].cut
		cut := s.Settings.Evidence != "" && (b.Partial && b.Missing == "" || again && b.Missing != "")
		l.base[i] = baseline{known: true, evidence: b.Evidence, missing: b.Missing, cut: cut, again: again}
		if !b.Partial { // a gate that was cut short proves nothing
			l.base[i].red, l.base[i].took = !verdict.Passes(b.Verdict), b.Duration
		}
	}
}

// gateIndex returns the index of the run's command gate with this name, or -1.
func (s *State) gateIndex(name string) int {
	return slices.IndexFunc(s.Settings.Gates, func(g pawl.GateSpec) bool { return g.Name == name })
}

// gateRuns returns the gates that were requested on the base or on the candidate. If there
// is no candidate, changes to them are lost.
func (l *Loop) gateRuns(onBase bool) *land.GateRuns {
	switch {
	case onBase:
		return &l.baseRuns
	case l.cand != nil:
		return &l.cand.Gates
	}
	return &land.GateRuns{}
}
