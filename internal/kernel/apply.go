package kernel

import (
	"encoding/json"
	"fmt"
	"slices"

	"pawl"
)

// Apply folds one event into the state, which it changes. It fails for an event
// that does not follow: a gap in the numbers, an answer to no request. A log
// that was written by a driver never fails; a damaged one may.
func Apply(s *State, e pawl.Event) error {
	if e.Seq != s.Seq+1 {
		return pawl.Errorf(pawl.CodeDamaged, "event %d of run %s follows event %d", e.Seq, e.Run, s.Seq)
	}
	if _, first := e.Body.(*pawl.RunStarted); first != (e.Seq == 1) {
		return pawl.Errorf(pawl.CodeDamaged, "event %d of run %s is %s", e.Seq, e.Run, e.Body.EventKind())
	}
	switch e.Body.(type) {
	case *pawl.RunStarted, *pawl.Recovered, *pawl.RunResumed: // the time before does not count
	default:
		if d := e.Time.Sub(s.Last); d > 0 && s.Status != pawl.StatusPaused {
			s.Alive += d
		}
	}
	s.Seq = e.Seq
	if e.Time.After(s.Last) {
		s.Last = e.Time
	}
	if e.Loop == 0 {
		return s.applyRun(e)
	}
	if b, ok := e.Body.(*pawl.LoopStarted); ok {
		return s.addLoop(e.Loop, b)
	}
	l := s.Loop(e.Loop)
	if l == nil {
		return pawl.Errorf(pawl.CodeDamaged, "event %d of run %s is about loop %d, which does not exist", e.Seq, e.Run, e.Loop)
	}
	if err := s.applyLoop(l, e); err != nil {
		return pawl.Errorf(pawl.CodeDamaged, "event %d of run %s (%s): %w", e.Seq, e.Run, e.Body.EventKind(), err)
	}
	return nil
}

func (s *State) applyRun(e pawl.Event) error {
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		return s.start(e, b)
	case *pawl.RunPaused:
		s.Status = pawl.StatusPaused
	case *pawl.RunResumed:
		s.resume(b)
	case *pawl.CancelRequested:
		s.Drain = b.Running
	case *pawl.RunStopping:
		s.Stopping, s.Status = b, pawl.StatusStopping
		if s.Drain == "" {
			s.Drain = pawl.DrainBoundary
		}
	case *pawl.LimitsChanged:
		s.Limits = b.Limits
		s.warned = [2]bool{}
	case *pawl.BudgetWarned:
		s.warned[warnIndex(b.Limit)] = true
	case *pawl.Recovered:
		s.Interruptions++
		for _, l := range s.loops {
			l.verify = l.HasWorkspace && len(l.sessions) > 0
		}
	case *pawl.RunEnded:
		s.Status, s.Outcome, s.Reason = pawl.StatusEnded, b.Outcome, b.Reason
		s.Stopping, s.Drain = nil, ""
	case *pawl.LimitReached, *pawl.AnswerIgnored: // for people
	default:
		return pawl.Errorf(pawl.CodeDamaged, "event %d of run %s: %s belongs to a loop", e.Seq, e.Run, e.Body.EventKind())
	}
	return nil
}

func (s *State) start(e pawl.Event, b *pawl.RunStarted) error {
	var recipe pawl.Recipe
	var settings pawl.Settings
	if err := json.Unmarshal(b.Recipe, &recipe); err != nil {
		return pawl.Errorf(pawl.CodeDamaged, "recipe of run %s: %w", e.Run, err)
	}
	if err := json.Unmarshal(b.Settings, &settings); err != nil {
		return pawl.Errorf(pawl.CodeDamaged, "settings of run %s: %w", e.Run, err)
	}
	s.Run, s.Started, s.Recipe, s.Settings = e.Run, b, &recipe, &settings
	s.Limits, s.Status, s.began = settings.Limits, pawl.StatusRunning, e.Time
	return nil
}

// resume lets a paused or ended run go on. A loop that had ended starts at its
// beginning again: its worktree is opened anew and the iteration that was under
// way is started again.
func (s *State) resume(b *pawl.RunResumed) {
	s.Status, s.Outcome, s.Reason, s.Stopping, s.Drain = pawl.StatusRunning, "", "", nil, ""
	if b.From == "" {
		return
	}
	for _, l := range s.loops {
		if l.Phase != PhaseDone {
			continue
		}
		l.Phase, l.Outcome, l.Reason = PhaseOpening, "", ""
		switch b.From {
		case pawl.OutcomeHalted:
			if l.haltedForSecurity() {
				l.Tier, l.tierWhy, l.failures = topTier, "resumed after a security halt", 0
			}
		case pawl.OutcomeBlocked:
			l.failures, l.afterward, l.stuckFrom = 0, -1, l.Iteration
		}
	}
}

func (s *State) addLoop(ref pawl.LoopRef, b *pawl.LoopStarted) error {
	if int(ref) != len(s.loops)+1 {
		return pawl.Errorf(pawl.CodeDamaged, "loop %d of run %s follows loop %d", ref, s.Run, len(s.loops))
	}
	kind := s.Recipe.Kind(b.Kind)
	if kind == nil {
		return pawl.Errorf(pawl.CodeDamaged, "loop %d of run %s has kind %q, which its recipe does not know", ref, s.Run, b.Kind)
	}
	s.loops = append(s.loops, &Loop{Ref: ref, ID: b.ID, Parent: b.Parent, Kind: kind,
		Base: s.Started.Base, Score: -1, afterward: -1, base: make([]*pawl.GateJudged, len(s.Settings.Gates))})
	return nil
}

func (s *State) applyLoop(l *Loop, e pawl.Event) error {
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		return s.request(l, e.Seq, b)
	case *pawl.EffectWithdrawn:
		s.charge(l, Purse{b.Charged, b.ChargedTokens})
		return s.answered(l, b.Effect, func(x *Session, _ *pawl.Effect) {})
	case *pawl.EffectLost:
		s.charge(l, Purse{b.Charged, b.ChargedTokens})
		return s.answered(l, b.Effect, func(x *Session, _ *pawl.Effect) {
			if x != nil {
				x.dispatches-- // it does not count as a failure of the model
			}
		})
	case *pawl.EffectFailed:
		s.charge(l, Purse{b.Charged, b.ChargedTokens})
		return s.answered(l, b.Effect, func(x *Session, f *pawl.Effect) { l.effectFailed(x, f, b) })
	case *pawl.LimitReached: // for people
	case *pawl.ComplexityScored:
		l.Score, l.Tier, l.Phase = b.Score, b.Tier, PhaseReady
	case *pawl.IterationStarted:
		l.startIteration(b)
	case *pawl.IterationRestarted:
		l.Attempt, l.Phase, l.verify, l.restore = b.Attempt, PhaseSteps, false, false
		l.beginSteps()
	case *pawl.SessionStarted:
		l.startSession(s, b)
	case *pawl.NoteAdded:
		l.note(b)
	case *pawl.SessionEnded:
		l.endSession(b)
	case *pawl.GatesReused:
		l.reuse(b)
	case *pawl.IterationEnded:
		l.endIteration(b)
	case *pawl.Escalated:
		l.Tier, l.tierWhy, l.failures = b.To, b.Reason, 0
		if b.Stuck {
			l.stuckFrom = b.Iteration - 1
		}
	case *pawl.CouncilCalled:
		l.callCouncil(b)
	case *pawl.CouncilDecided:
		l.endCouncil(b)
	case *pawl.LoopEnded:
		l.Phase, l.Outcome, l.Reason = PhaseDone, b.Outcome, b.Reason
	default:
		return s.applyAnswer(l, e.Body)
	}
	return nil
}

func (s *State) applyAnswer(l *Loop, body pawl.Body) error {
	switch b := body.(type) {
	case *pawl.WorkspaceOpened:
		return s.answered(l, b.Effect, func(*Session, *pawl.Effect) {
			l.HasWorkspace, l.Head, l.Tree, l.Phase = true, b.Head, b.Tree, PhasePrepare
		})
	case *pawl.WorkspaceInspected:
		return s.answered(l, b.Effect, func(*Session, *pawl.Effect) {
			l.verify, l.restore = false, b.Tree != l.Tree
		})
	case *pawl.WorkspaceReset:
		return s.answered(l, b.Effect, func(*Session, *pawl.Effect) {
			l.Head, l.Tree, l.restore = b.Head, b.Tree, false
		})
	case *pawl.WorkspaceClosed:
		return s.answered(l, b.Effect, func(*Session, *pawl.Effect) { l.HasWorkspace = false })
	case *pawl.PromptAssembled:
		return s.answered(l, b.Effect, func(x *Session, _ *pawl.Effect) { x.prompt(b) })
	case *pawl.ModelReplied:
		s.charge(l, Purse{b.Cost, b.Usage.Total()})
		return s.answered(l, b.Effect, func(x *Session, _ *pawl.Effect) { x.reply(b) })
	case *pawl.ToolReturned:
		return s.answered(l, b.Effect, func(x *Session, f *pawl.Effect) { l.toolReturned(x, f, b) })
	case *pawl.WaitEnded:
		return s.answered(l, b.Effect, func(x *Session, _ *pawl.Effect) {
			if x != nil {
				x.waited = true
			}
		})
	case *pawl.Committed:
		return s.answered(l, b.Effect, func(*Session, *pawl.Effect) {
			l.Head, l.Tree, l.candidate = b.Commit, b.Tree, b
			l.Phase, l.gates, l.results = PhaseGates, nil, nil
		})
	case *pawl.GateJudged:
		return s.applyGate(l, b)
	}
	return fmt.Errorf("%s belongs to no loop", body.EventKind())
}

// applyGate records a verdict. A review, and a gate that could not run, answer
// no effect.
func (s *State) applyGate(l *Loop, b *pawl.GateJudged) error {
	record := func(*Session, *pawl.Effect) {
		if i := s.gateIndex(b.Gate); b.OnBase && i >= 0 {
			l.base[i] = b
		}
		for i := range l.gates {
			if g := &l.gates[i]; g.effect == b.Effect {
				g.effect = 0
			}
		}
		if !b.OnBase {
			l.results = append(l.results, b)
			l.judged = l.Tree
		}
	}
	if b.Effect == 0 {
		record(nil, nil)
		return nil
	}
	return s.answered(l, b.Effect, record)
}

// gateIndex finds a command gate of the run by name; -1 when there is none.
func (s *State) gateIndex(name string) int {
	return slices.IndexFunc(s.Settings.Gates, func(g pawl.GateSpec) bool { return g.Name == name })
}

// request opens an effect. What a model call sends is the session's transcript as it is now.
func (s *State) request(l *Loop, id pawl.Seq, b *pawl.EffectRequested) error {
	f := b.Effect
	f.ID, f.Loop = id, l.Ref
	x := l.sessionByN(f.Session)
	if f.Session != 0 && x == nil {
		return fmt.Errorf("session %d is not under way", f.Session)
	}
	switch do := f.Do.(type) {
	case *pawl.CallModel:
		f.Transcript = x.items[:do.Items:do.Items]
		f.Place.Run = s.Run
		x.dispatches, x.failed, x.waited = do.Try, nil, false
		s.Reserved = s.Reserved.add(Purse{do.Reserved, do.ReservedTokens})
	case *pawl.CallTool:
		x.calls[do.Call].effect = id
	case *pawl.RunGate:
		l.gateRun(s.gateIndex(do.Gate)).request(id)
	}
	if x != nil {
		x.open++
	}
	s.open = append(s.open, &f)
	l.open = append(l.open, &f)
	return nil
}

// answered closes an effect and lets then see it with its session, which is nil
// when the effect has none.
func (s *State) answered(l *Loop, id pawl.Seq, then func(*Session, *pawl.Effect)) error {
	i, ok := findEffect(s.open, id)
	if !ok {
		return fmt.Errorf("effect %d is not open", id)
	}
	f := s.open[i]
	s.open = slices.Delete(s.open, i, i+1)
	l.trouble = nil
	if i, ok = findEffect(l.open, id); ok {
		l.open = slices.Delete(l.open, i, i+1)
	}
	if do, ok := f.Do.(*pawl.CallModel); ok {
		s.Reserved = s.Reserved.sub(Purse{do.Reserved, do.ReservedTokens})
	}
	x := l.sessionByN(f.Session)
	if x != nil {
		x.open--
	}
	if f.Session == 0 || x != nil {
		then(x, f)
	}
	return nil
}

func (s *State) charge(l *Loop, p Purse) {
	s.Spent = s.Spent.add(p)
	l.spent = l.spent.add(p)
}
