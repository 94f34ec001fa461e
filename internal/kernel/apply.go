package kernel

import (
	"encoding/json"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/budget"
	"pawl/internal/kernel/exam"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/session"
)

// Apply folds one event into the state, which it changes. It fails for an event
// that does not follow, such as one after a gap in the numbers or an answer to no
// request. The log of a driver never fails; a damaged log may, and then the state
// must not be used.
func Apply(s *State, e pawl.Event) error {
	if e.Seq != s.Seq+1 {
		return pawl.Errorf(pawl.CodeDamaged, "event %d of run %s follows event %d", e.Seq, e.Run, s.Seq)
	}
	if _, first := e.Body.(*pawl.RunStarted); first != (e.Seq == 1) {
		return pawl.Errorf(pawl.CodeDamaged, "event %d of run %s is %s", e.Seq, e.Run, e.Body.EventKind())
	}
	s.advanceTime(e)
	head := s.head()
	if err := s.fold(e); err != nil {
		return pawl.Errorf(pawl.CodeDamaged, "event %d of run %s (%s): %w", e.Seq, e.Run, e.Body.EventKind(), err)
	}
	if s.busy != nil {
		s.recount(e)
	}
	if s.head() != head {
		s.headAt = e.Seq
	}
	return nil
}

// advanceTime advances the state's time to that of an event. Neither the time between two drivers
// nor the time that a clock jumped over counts as time that the run was alive.
func (s *State) advanceTime(e pawl.Event) {
	k := e.Body.EventKind()
	counts := k != pawl.KindRecovered && k != pawl.KindClockJumped
	if counts {
		s.Alive = s.alive(e.Time)
	}
	s.Seq = e.Seq
	if !counts || e.Time.After(s.Last) {
		s.Last = e.Time
	}
}

func (s *State) fold(e pawl.Event) error {
	if e.Loop == 0 {
		return s.applyRun(e)
	}
	if b, ok := e.Body.(*pawl.LoopStarted); ok {
		return s.addLoop(e, b)
	}
	l := s.Loop(e.Loop)
	if l == nil {
		return fmt.Errorf("there is no loop %d", e.Loop)
	}
	return s.applyLoop(l, e)
}

func (s *State) applyRun(e pawl.Event) error {
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		return s.start(e, b)
	case *pawl.RunPaused:
		s.Status, s.Reason = pawl.StatusPaused, b.Reason
	case *pawl.RunResumed:
		s.resume(b)
	case *pawl.Forked:
		return s.forked(e, b)
	case *pawl.CancelRequested:
		s.Drain = stricter(s.Drain, b.Running)
	case *pawl.RunStopping:
		s.Stopping, s.Status, s.Reason = b, pawl.StatusStopping, ""
		if b.Outcome != pawl.OutcomeCancelled {
			s.Drain = stricter(s.Drain, pawl.DrainBoundary)
		}
	case *pawl.AccountChanged:
		s.changeAccount(b)
	case *pawl.ModelSwitched:
		return s.modelSwitched(nil, b, e.Time)
	case *pawl.ClockJumped:
	case *pawl.LimitsChanged:
		s.SetLimits(b.Limits)
	case *pawl.BudgetWarned:
		s.Warned(b.Limit)
	case *pawl.LimitReached:
		if b.Limit == pawl.LimitLoops {
			s.reached(b)
		} else {
			s.Stopped(b)
		}
	case *pawl.MemoryForgotten: // it concerns the memory, which is a projection
	case *pawl.Recovered:
		s.Interruptions++
		for l := range s.each {
			l.worktree.Verify = l.HasWorkspace && l.Phase < PhaseClosing
		}
	case *pawl.RunEnded:
		s.Status, s.Outcome, s.Reason, s.leftOpen = pawl.StatusEnded, b.Outcome, b.Reason, leftOpen{b.RedAtBase, b.Findings, b.Proof, b.Failing, b.RefusedPlan}
		s.Stopping, s.Drain = nil, ""
	case *pawl.Archived:
		s.archived = true
	case *pawl.AnswerIgnored: // only informs people
	default:
		return fmt.Errorf("it belongs to a loop")
	}
	return nil
}

// applyPlan folds an event of a loop's plan.
func (s *State) applyPlan(l *Loop, body pawl.Body) error {
	switch b := body.(type) {
	case *pawl.TasksListed:
		l.gen.listed = append(slices.Clone(l.gen.listed), b.Entries...)
		return nil
	case *pawl.PlanAccepted:
		return s.acceptPlan(l, b)
	case *pawl.PlanRefused:
		l.refusePlan(b)
		return nil
	}
	p := l.gen.plan
	if p == nil {
		return fmt.Errorf("loop %d has no plan", l.Ref)
	}
	switch b := body.(type) {
	case *pawl.ReplanCalled:
		p.Call(b.Cause, b.Reason)
		if b.Cause == pawl.ReplanHealth {
			l.gen.RecoveredBy(pawl.RecoverRevise)
		} else {
			l.gen.Recover = nil
		}
	case *pawl.TasksBlocked:
		return p.BlockAll(b)
	case *pawl.TasksSkipped:
		return p.SkipAll(b)
	case *pawl.TaskRetried:
		return p.Retried(b)
	}
	return nil
}

// applyBatch folds an event of a loop's batches, or of its attempts if it has no children.
func (s *State) applyBatch(l *Loop, body pawl.Body) error {
	if l.ratchets() {
		return l.applyOwn(body)
	}
	if l.gen.plan == nil || !l.Kind.Children.Groups() {
		return fmt.Errorf("loop %d has no batches", l.Ref)
	}
	switch b := body.(type) {
	case *pawl.BatchStarted:
		return l.startBatch(b)
	case *pawl.TaskJudged:
		return s.judgedTask(l, b)
	case *pawl.BatchEnded:
		return s.endBatch(l, b)
	case *pawl.HealthJudged:
		if l.gen.Judged(b, l.gen.batch != nil) {
			l.beginAround()
		}
	case *pawl.HealthOverridden:
		l.gen.Override()
		if l.lastAnswerTo(pawl.AskHealth) != nil {
			l.person.reply = nil
		}
	case *pawl.RollbackCalled:
		return l.calledBack(b)
	case *pawl.RolledBack:
		return l.rolledBack(b)
	case *pawl.TaskHeld:
		return l.gen.plan.Hold(b)
	}
	return nil
}

// stricter returns the one of two ways to drain that waits for less.
func stricter(a, b pawl.Draining) pawl.Draining {
	order := []pawl.Draining{"", pawl.DrainFinish, pawl.DrainBoundary, pawl.DrainNow}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// frozen decodes the recipe and the settings in a run's first event.
func frozen(b *pawl.RunStarted) (*pawl.Recipe, *pawl.Settings, error) {
	var recipe pawl.Recipe
	var settings pawl.Settings
	if err := json.Unmarshal(b.Recipe, &recipe); err != nil {
		return nil, nil, fmt.Errorf("its recipe: %w", err)
	}
	if err := json.Unmarshal(b.Settings, &settings); err != nil {
		return nil, nil, fmt.Errorf("its settings: %w", err)
	}
	return &recipe, &settings, nil
}

func (s *State) start(e pawl.Event, b *pawl.RunStarted) (err error) {
	if s.Recipe, s.Settings, err = frozen(b); err != nil {
		return err
	}
	fields := flow.Fields(s.Recipe)
	for i := range s.Recipe.Kinds {
		f := flow.Of(&s.Recipe.Kinds[i])
		f.Fields, f.Criteria = fields, b.CriteriaGiven
		s.flows = append(s.flows, f)
	}
	if hasEagerKinds(s.Recipe) {
		s.busy, s.full = make([]int, len(s.Recipe.Kinds)), make([]bool, len(s.Recipe.Kinds)+1)
	}
	s.Run, s.Started, s.Status, s.began = e.Run, b, pawl.StatusRunning, e.Time
	s.Limits, s.Halts = s.Settings.Limits, s.haltsOn(pawl.HaltBudget)
	return nil
}

// changeAccount changes the account with a provider. It changes a copy of the settings, because
// effects in flight still use the old ones.
func (s *State) changeAccount(b *pawl.AccountChanged) {
	settings := *s.Settings
	settings.SetAccount(b.To)
	s.Settings = &settings
}

// changeTimeouts changes the time limits of gates. It changes a copy of the settings, because effects
// in flight still use the old ones.
func (s *State) changeTimeouts(b *pawl.RunResumed) {
	if len(b.Timeouts) == 0 {
		return
	}
	settings := *s.Settings
	settings.Gates = slices.Clone(settings.Gates)
	for _, t := range b.Timeouts {
		if i := s.gateIndex(t.Gate); i >= 0 {
			settings.Gates[i].Timeout = t.Timeout
			if i < len(s.gates.longer) {
				s.gates.longer = slices.Clone(s.gates.longer)
				s.gates.longer[i] = 0
			}
		}
	}
	s.Settings = &settings
}

// forgetCutBase lets gates that were cut short on the base judge it again.
func (l *Loop) forgetCutBase() {
	l.base = slices.Clone(l.base)
	for i := range l.base {
		if l.base[i].cut {
			l.base[i] = baseline{}
		}
	}
}

// resume continues a paused or ended run. One that was halted because nobody answered continues as if it
// had been paused. A loop that had ended starts with the
// opening of its worktree, and then continues the iteration or council that was
// interrupted.
func (s *State) resume(b *pawl.RunResumed) {
	if s.isSuspended() {
		s.notified = false
		for l := range s.each {
			l.wake()
		}
	}
	s.Status, s.Outcome, s.Reason, s.archived = pawl.StatusRunning, "", "", false
	s.inUse = [3]inUse{} // whoever resumes a run may have mended what was wrong
	s.changeTimeouts(b)
	if b.From == "" {
		return
	}
	s.Budget.Resume()
	s.notified = false
	for l := range s.each {
		anew := l.resumesInNewGeneration()
		if l.Phase != PhaseDone || !s.tryReopen(l) {
			continue
		}
		if l.inbox.Held {
			s.heldLoops++
		}
		s.reopen(l)
		l.exit.ender, l.preparations = 0, nil // so that failed preparations are tried again
		if l.slot.born != 0 {
			s.joinAdmissionQueue(l)
			continue
		}
		l.lookAgain()
		l.forgetCutBase()
		if b.From == pawl.OutcomeBlocked {
			l.ladder.Failures, l.ladder.Afterward, l.ladder.StuckFrom = 0, -1, l.Iteration
		}
		switch {
		case anew:
		case b.PlanAnew && l.gen.rejected:
			s.planAnew(l)
		case l.gen.plan != nil:
			l.requestReplan()
			l.gen.batch = l.gen.batch.Again()
			l.gen.plan.Retry()
			l.gen.planned, l.inIteration, l.gen.refused = true, true, false
		case l.Kind.Children != nil && !l.inIteration: // it makes a new plan
			l.ladder.Freed = l.Iteration
		}
	}
}

// planAnew lets another iteration make the plan that a person has rejected, also at the limit on
// iterations.
func (s *State) planAnew(l *Loop) {
	l.gen.listing = listing{}
	if !l.inIteration && s.isLastIteration(l) {
		l.ladder.Freed++
	}
}

// reopen restarts an ended loop with the opening of its worktree.
func (s *State) reopen(l *Loop) {
	s.live++
	l.Phase, l.Outcome, l.Reason, l.callback = PhaseOpening, "", "", callback{}
	if l.iter == nil {
		l.iter = &Iteration{}
	}
	if l.base == nil {
		l.base = make([]baseline, len(s.Settings.Gates))
	}
	l.goals.Picking = exam.Request{}
}

// requestReplan asks for a new plan if the loop failed although every task has passed:
// judging the same commit again would not help.
func (l *Loop) requestReplan() {
	a := l.lastAttempt()
	if l.inIteration || a == nil || !a.Failed || !l.gen.plan.Succeeded() || l.Kind.Children.Replan == nil {
		return
	}
	l.gen.plan.AskFor(brief.Cut("every task has passed, but not the whole: "+a.Line, 200))
}

// tryReopen reports whether an ended loop continues in a resumed run, and returns such
// a child to its parent's plan. The root continues, and so does a child that was
// stopped by the run's end, if its parent continues and still has its task.
func (s *State) tryReopen(l *Loop) bool {
	p := s.Loop(l.Parent)
	if p == nil {
		return true
	}
	if !l.stopped || p.Phase == PhaseDone || p.Kind.Children.RestartsParent() && !p.inIteration || !p.gen.plan.Holds(l.slot.entry, l.slot.version, l.Ref) {
		return false
	}
	if was := p.gen.plan.At(l.slot.entry).Status; was != pawl.TaskRunning && (was != pawl.TaskPending || l.slot.born == 0) {
		return false
	}
	p.gen.plan.Rejoin(l.Ref)
	l.stopped = false
	return true
}

func (s *State) addLoop(e pawl.Event, b *pawl.LoopStarted) error {
	ref := e.Loop
	if int(ref) != len(s.loops)+1 {
		return fmt.Errorf("loop %d follows loop %d", ref, len(s.loops))
	}
	kind := s.Recipe.Kind(b.Kind)
	if kind == nil {
		return fmt.Errorf("its recipe has no kind %q", b.Kind)
	}
	l := newLoop(ref, kind)
	l.ID, l.Parent, l.flow, l.Base, l.base = b.ID, b.Parent, s.flow(kind), s.Started.Base, make([]baseline, len(s.Settings.Gates))
	switch p := s.Loop(b.Parent); {
	case p != nil:
		if err := s.startChild(p, l, b); err != nil {
			return err
		}
	case b.Parent != 0:
		return fmt.Errorf("its parent is loop %d, which there is not", b.Parent)
	case kind.Children != nil && !s.Started.Tasks.IsZero():
		l.givenList = s.Started.Tasks
	}
	s.live++
	s.loops = append(s.loops, l)
	if b.Pending {
		l.slot.born = e.Time.UnixMilli()
		s.joinAdmissionQueue(l)
	}
	return nil
}

func (s *State) applyLoop(l *Loop, e pawl.Event) error {
	switch e.Body.(type) {
	case *pawl.Invalidated:
		return l.invalidated()
	case *pawl.Archived:
		l.archived = true
		return nil
	}
	if l.Phase == PhaseDone {
		return fmt.Errorf("loop %d has ended", l.Ref)
	}
	switch b := e.Body.(type) {
	case *pawl.SignalSent:
		return s.signaled(l, b)
	case *pawl.SignalAcknowledged:
		return s.acknowledged(l, b)
	case *pawl.GenerationStarted:
		return l.beginGeneration(b)
	case *pawl.EffectRequested:
		return s.applyEffectRequested(l, e.Seq, b)
	case *pawl.EffectWithdrawn:
		return s.closeLostEffect(l, b.Effect, budget.Purse{Money: b.Charged, Tokens: b.ChargedTokens}, nil)
	case *pawl.EffectLost:
		return s.closeLostEffect(l, b.Effect, budget.Purse{Money: b.Charged, Tokens: b.ChargedTokens}, func(x *session.Session, f *pawl.Effect) {
			if x != nil {
				x.Lost()
				l.worktree.Continues = isTurn(f) && x.CanContinue()
				l.worktree.Lost = isTurn(f)
			}
		})
	case *pawl.ModelSwitched:
		return s.modelSwitched(l, b, e.Time)
	case *pawl.AgentProgressed:
		return s.agentProgressed(l, b)
	case *pawl.LimitReached:
		l.applyLimitReached(b)
	case *pawl.ComplexityScored:
		l.Score, l.Tier = b.Score, b.Tier
	case *pawl.LoopAdmitted:
		return s.admitted(l, b)
	case *pawl.GateLeftOut:
		return s.gateLeftOut(b)
	case *pawl.GateOverruled:
		return s.overruled(l, b)
	case *pawl.FindingRaised, *pawl.FindingAnswered:
		s.applyFinding(l, b)
	case *pawl.RemarkMade: // only informs people
	case *pawl.LoopEnded:
		s.applyLoopEnded(l, b)
	case *pawl.QuestionAsked:
		return l.asked(s, b)
	case *pawl.QuestionAnswered:
		return l.applyAnswered(s, b)
	case *pawl.QuestionWithdrawn:
		return l.withdrawn(s, b)
	case *pawl.MergeQueued:
		return s.joinMergeQueue(l, e.Seq)
	case *pawl.NotePosted:
		s.post(l, b)
	case *pawl.MemoryAdded:
		return s.applyMemoryAdded(l, b)
	case *pawl.TasksListed, *pawl.PlanAccepted, *pawl.PlanRefused, *pawl.ReplanCalled, *pawl.TasksBlocked, *pawl.TasksSkipped, *pawl.TaskRetried:
		return s.applyPlan(l, b)
	case *pawl.BatchStarted, *pawl.TaskJudged, *pawl.BatchEnded, *pawl.HealthJudged, *pawl.HealthOverridden,
		*pawl.RollbackCalled, *pawl.RolledBack, *pawl.TaskHeld:
		return s.applyBatch(l, b)
	case pawl.Answer:
		return s.applyAnswer(l, b)
	default:
		return s.applyIteration(l, b)
	}
	return nil
}

// applyIteration folds an event in or between a loop's iterations.
func (s *State) applyIteration(l *Loop, body pawl.Body) error {
	switch b := body.(type) {
	case *pawl.IterationStarted:
		l.startIteration(b)
		if l.Parent == 0 { // it makes another plan
			s.leftOpen.plan = false
		}
	case *pawl.IterationRestarted:
		l.Attempt = b.Attempt
		l.beginSteps(&Iteration{spentAt: l.iter.spentAt, rejudges: l.iter.rejudges, salvaged: l.iter.salvaged, questionRoundsByStep: l.iter.questionRoundsByStep})
	case *pawl.SessionStarted:
		return l.startSession(s, b)
	case *pawl.NoteAdded:
		return s.note(l, b)
	case *pawl.SessionEnded:
		return s.applySessionEnded(l, b)
	case *pawl.RoundsEnded:
		l.applyRoundsEnded(b)
		s.leftOpen.plan = s.leftOpen.plan || !b.Refused.IsZero()
	case *pawl.Rerouted:
		return l.rerouted(b)
	case *pawl.GatesReused:
		l.applyGatesReused(b)
	case *pawl.IterationEnded:
		return s.endIteration(l, b)
	case *pawl.Escalated:
		l.Tier, l.tierWhy = b.To, b.Reason
		if b.To > b.From { // else the ladder goes on where it was, in logs of earlier versions
			l.ladder.Failures, l.ladder.StuckFrom = 0, b.Iteration-1
		}
		l.gen.RecoveredBy(pawl.RecoverEscalate)
	case *pawl.CouncilCalled:
		return l.callCouncil(b)
	case *pawl.CouncilDecided:
		return l.endCouncil(b)
	default:
		return fmt.Errorf("it belongs to no loop")
	}
	return nil
}

// applyLimitReached records that the loop reached a limit, if later decisions depend on that.
func (l *Loop) applyLimitReached(b *pawl.LimitReached) {
	p := l.gen.plan
	switch {
	case b.Limit == pawl.LimitTasks && p != nil:
		p.Capped = int(b.Max)
	case b.Limit == pawl.LimitRoutes && l.cand != nil:
		l.cand.Astray = true
	case b.Limit == pawl.LimitLoops && p != nil:
		p.Full = true
	case b.Limit == pawl.LimitAnswer && l.person.question != nil:
		q := *l.person.question
		q.overdue = true
		l.person.question = &q
	case b.Limit == pawl.LimitSignal && l.exit.clearing != nil:
		l.exit.clearing.effectsWithdrawn = true
	}
}
