package kernel

import (
	"cmp"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
)

// steer applies a user's command, or refuses it.
func (d *draft) steer(in *pawl.Steering) error {
	switch in.Verb {
	case pawl.SteerPause:
		return d.pause(in)
	case pawl.SteerResume:
		return d.resume(in)
	case pawl.SteerOverride:
		return d.steerOverride(in)
	case pawl.SteerCancel:
		return d.cancel(in)
	case pawl.SteerLimits:
		return d.limits(in)
	case pawl.SteerReplan:
		return d.steerReplan(in)
	case pawl.SteerAnswer:
		return d.answerQuestion(in.Answer)
	case pawl.SteerForget:
		return d.forget(in)
	case pawl.SteerRollback:
		return d.steerRollback(in)
	case pawl.SteerContinue:
		return d.steerContinue(in)
	case pawl.SteerSignal:
		return d.steerSignal(in)
	case pawl.SteerArchive:
		return d.steerArchive(in)
	}
	return pawl.Errorf(pawl.CodeInvalid, "unknown command %q: want pause, resume, cancel, limits, replan, answer, forget, rollback, continue, signal, override or archive", in.Verb)
}

// steerReplan calls for a new plan of the root because the user wants one.
func (d *draft) steerReplan(in *pawl.Steering) error {
	root := d.s.Loop(1)
	switch {
	case d.s.Status == pawl.StatusEnded || d.s.Stopping != nil:
		return d.refuse("only an active run can get a new plan")
	case root.Kind.Children == nil || root.Kind.Children.Replan == nil:
		return d.refuse("the recipe %s does not make new plans", d.s.Recipe.Name)
	case root.gen.plan == nil || !root.gen.planned:
		return d.refuse("it has no plan yet")
	case root.finishing() || root.Phase == PhaseClosing:
		return d.refuse("its tasks have ended")
	case root.gen.plan.Calling != "":
		return d.refuse("a new plan is already being made")
	case root.gen.plan.Version >= root.maxPlans():
		return d.refuse("the limit of plan versions (%d) is reached", root.gen.plan.Version)
	}
	d.emit(1, &pawl.ReplanCalled{Cause: pawl.ReplanUser, Reason: brief.Cut(cmp.Or(in.Reason, "the user asked for it"), 300)})
	return nil
}

// steerArchive archives the run, or a loop of it, if it has ended.
func (d *draft) steerArchive(in *pawl.Steering) error {
	b := &pawl.Archived{Reason: brief.Cut(in.Reason, 300), By: brief.Cut(cmp.Or(in.By, "a person"), 60)}
	if in.Loop == "" {
		switch {
		case d.s.Status != pawl.StatusEnded:
			return d.refuse("only a run that has ended can be archived")
		case d.s.archived:
			return d.refuse("it is archived already")
		}
		d.emit(0, b)
		return nil
	}
	l := d.s.loopNamed(in.Loop)
	switch {
	case l == nil:
		return pawl.Errorf(pawl.CodeNotFound, "run %s has no loop %q", d.s.Run, in.Loop)
	case l.Phase != PhaseDone:
		return d.refuse("its loop %s is active: only a loop that has ended can be archived", l.ID)
	case l.archived:
		return d.refuse("its loop %s is archived already", l.ID)
	}
	d.emit(l.Ref, b)
	return nil
}

func (d *draft) pause(in *pawl.Steering) error {
	if d.s.Status != pawl.StatusRunning {
		return d.refuse("only a running run can be paused")
	}
	d.emit(0, &pawl.RunPaused{Reason: brief.Cut(in.Reason, 300)})
	return nil
}

// changeAccounts records which accounts are different for the user who resumes the run.
func (d *draft) changeAccounts(in *pawl.Steering) {
	for _, to := range in.Accounts {
		models := d.s.Settings.AllModels()
		i := slices.IndexFunc(models, func(m pawl.ModelChoice) bool { return m.Provider == to.Provider })
		if i < 0 {
			continue
		}
		if from := models[i].Account(); from != to {
			d.emit(0, &pawl.AccountChanged{From: from, To: to})
		}
	}
}

func (d *draft) resume(in *pawl.Steering) error { return d.resumeWith(in, nil, 0) }

// resumeWith lets a paused or ended run go on. If over is not nil, a person has overruled the halt of
// a review of a loop.
func (d *draft) resumeWith(in *pawl.Steering, over *pawl.GateOverruled, of pawl.LoopRef) error {
	d.changeAccounts(in)
	if in.Limits != nil && (d.s.Status == pawl.StatusPaused || d.s.Status == pawl.StatusEnded) {
		if err := d.limits(in); err != nil {
			return err
		}
	}
	switch {
	case d.s.Status == pawl.StatusPaused, d.s.isSuspended():
		b := &pawl.RunResumed{Reason: brief.Cut(in.Reason, 300)}
		d.emit(0, b)
		b.Max = d.eventMax()
		return nil
	case d.s.Status != pawl.StatusEnded:
		return d.refuse("only a paused or ended run can be resumed")
	case !d.s.Outcome.Resumable():
		return d.refuse("a run that ended %s is finished; start a new one", d.s.Outcome)
	}
	if err := d.roomToResume(over != nil); err != nil {
		return err
	}
	b := &pawl.RunResumed{From: d.s.Outcome, Reason: brief.Cut(in.Reason, 300), PlanAnew: d.s.Loop(1).gen.rejected, Timeouts: d.s.newTimeouts(in.Timeouts)}
	d.emit(0, b)
	if over != nil {
		d.emit(of, over)
	}
	b.Max = d.eventMax()
	for l := range d.s.each {
		if l.Phase == PhaseOpening && l.haltedForSecurity() && l.Tier < l.top() && len(l.person.overrulings) == 0 {
			d.escalate(l, l.top(), "resumed after a security halt", false)
		}
	}
	return nil
}

// newTimeouts returns those of the time limits that are of gates which could not judge the base.
func (s *State) newTimeouts(now []pawl.GateTimeout) []pawl.GateTimeout {
	root := s.Loop(1)
	return slices.DeleteFunc(slices.Clone(now), func(t pawl.GateTimeout) bool {
		i := s.gateIndex(t.Gate)
		return i < 0 || i >= len(root.base) || !root.base[i].cut || s.Settings.Gates[i].Timeout == t.Timeout
	})
}

// roomToResume refuses to resume a run that would stop at once because a limit is used up. What is only
// judged once more takes no further task and no iteration of the limit.
func (d *draft) roomToResume(rejudges bool) error {
	for l := range d.s.each {
		if rejudges {
			break
		}
		if p := l.gen.plan; p != nil {
			if limit := d.s.childLimit(l); p.Capped > 0 && limit > 0 && p.Started >= limit {
				return d.refuse("%d of %d tasks were started", p.Started, limit).
					WithHint("raise the limit: pawl resume %s --max-iterations %d", d.s.Run, limit+5)
			}
			continue
		}
		if l.Parent != 0 || l.Kind.Children != nil {
			continue
		}
		if m := d.s.maxIterations(l); m > 0 && l.Iteration >= m && !l.inIteration {
			return d.refuse("%d of %d iterations are used", l.Iteration, m).
				WithHint("raise the limit: pawl resume %s --max-iterations %d", d.s.Run, l.Iteration+5)
		}
	}
	if b := d.s.Blocks(d.s.alive(d.at)); b != nil {
		limit, wanted := b.Amounts()
		return d.refuse("its limit on %s is used up: it is %s, and %s are wanted", b.Limit, limit, wanted).
			WithHint("raise the limit: pawl resume %s --budget, --max-tokens or --max-time", d.s.Run)
	}
	return nil
}

func (d *draft) cancel(in *pawl.Steering) error {
	if d.s.Status == pawl.StatusEnded {
		return d.refuse("it has ended already")
	}
	running := in.Running
	switch running {
	case "":
		running = cmp.Or(d.s.Recipe.Cancel, pawl.DrainBoundary)
	case pawl.DrainFinish, pawl.DrainBoundary, pawl.DrainNow:
	default:
		return pawl.Errorf(pawl.CodeInvalid, "unknown way to cancel %q: want finish, boundary or now", running)
	}
	reason := brief.Cut(in.Reason, 300)
	d.emit(0, &pawl.CancelRequested{Running: running, Reason: reason})
	if d.s.Stopping == nil {
		if reason == "" {
			reason = "cancelled by the user"
		}
		d.emit(0, &pawl.RunStopping{Outcome: pawl.OutcomeCancelled, Reason: reason})
	}
	return nil
}

func (d *draft) limits(in *pawl.Steering) error {
	if in.Limits == nil && len(in.Accounts) > 0 { // an interrupted run is resumed as it was
		d.changeAccounts(in)
		return nil
	}
	if in.Limits == nil {
		return pawl.Errorf(pawl.CodeInvalid, "no limits given")
	}
	if d.s.Status == pawl.StatusEnded && !d.s.Outcome.Resumable() {
		return d.refuse("it is finished, and no limit matters any more")
	}
	d.changeAccounts(in)
	l := *in.Limits
	if l.Money < 0 || l.Tokens < 0 || l.Time < 0 || l.Iterations < 0 {
		return pawl.Errorf(pawl.CodeInvalid, "a limit below zero: want a positive number, or 0 for none")
	}
	b := &pawl.LimitsChanged{Limits: l}
	d.emit(0, b)
	b.Max = d.eventMax()
	return nil
}

func (d *draft) refuse(format string, args ...any) *pawl.Error {
	err := pawl.Errorf(pawl.CodeState, format, args...)
	state := string(d.s.Status)
	if d.s.Outcome != "" {
		state = string(d.s.Outcome)
	}
	err.Message = "run " + string(d.s.Run) + " is " + state + ": " + err.Message
	return err
}
