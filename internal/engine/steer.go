package engine

import (
	"context"

	"pawl"
	"pawl/internal/driver/local"
)

// Steer implements [pawl.Service]. A run that nobody drives is taken over with
// the command, which is obeyed before anything is begun; resuming one that was
// interrupted is taking it over.
func (e *Engine) Steer(ctx context.Context, run pawl.RunID, s pawl.Steering) error {
	if err := checkSteering(s); err != nil {
		return err
	}
	if mayBegin(s.Verb) {
		e.starting.Lock()
		defer e.starting.Unlock()
		task, _ := run.Task()
		if err := e.free(ctx, task, run); err != nil {
			return err
		}
	}
	if err := e.undeleted(ctx, run); err != nil {
		return err
	}
	if s.Accounts, s.Timeouts = nil, nil; s.Verb.Resumes() {
		if e.c.Timeouts != nil {
			s.Timeouts = e.c.Timeouts(ctx, run)
		}
		began, err := e.began(ctx, run)
		if err != nil {
			return err
		}
		if s.Accounts, err = e.accounts(ctx, run, began); err != nil {
			return err
		}
	}
	s = e.answers(ctx, run, s)
	for {
		driven := e.driver.Driven(run)
		err := e.steer(ctx, run, s)
		if driven || pawl.CodeOf(err) != pawl.CodeConflict || !e.driver.Driven(run) {
			return err
		}
		// Another command has just taken it over: it is asked as any that is driven.
	}
}

// began returns what a run was started with.
func (e *Engine) began(ctx context.Context, run pawl.RunID) (*pawl.RunStarted, error) {
	for ev, err := range e.c.Log.Events(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		if b, ok := ev.Body.(*pawl.RunStarted); ok {
			return b, nil
		}
		break
	}
	return nil, pawl.Errorf(pawl.CodeDamaged, "run %s does not begin with its start", run)
}

// mayBegin reports a command after which a run may be at work that was not before.
func mayBegin(v pawl.SteerVerb) bool {
	return v.Resumes() || v == pawl.SteerRollback || v == pawl.SteerContinue || v == pawl.SteerAnswer
}

// checkSteering refuses what no run could obey. A run that nobody drives must
// not be taken over for it.
func checkSteering(s pawl.Steering) error {
	switch s.Verb {
	case pawl.SteerPause, pawl.SteerResume, pawl.SteerCancel, pawl.SteerLimits, pawl.SteerReplan, pawl.SteerForget, pawl.SteerContinue:
	case pawl.SteerRollback:
		if s.Checkpoint < 0 {
			return pawl.Errorf(pawl.CodeInvalid, "checkpoint %d: want 1 or more, or 0 for the last good one", s.Checkpoint)
		}
	case pawl.SteerSignal:
		if err := checkSignal(s.Signal); err != nil {
			return err
		}
	case pawl.SteerArchive:
	case pawl.SteerOverride:
		if s.Gate == "" {
			return pawl.Errorf(pawl.CodeInvalid, "no review is named whose halt is to be overruled")
		}
	case pawl.SteerAnswer:
		if s.Answer == nil {
			return pawl.Errorf(pawl.CodeInvalid, "no answer given")
		}
	default:
		return pawl.Errorf(pawl.CodeInvalid, "unknown command %q: want pause, resume, cancel, limits, replan, answer, forget, rollback, continue, signal, override or archive", s.Verb)
	}
	switch s.Running {
	case "", pawl.DrainFinish, pawl.DrainBoundary, pawl.DrainNow:
	default:
		return pawl.Errorf(pawl.CodeInvalid, "unknown way to cancel %q: want finish, boundary or now", s.Running)
	}
	if s.Limits != nil {
		return checkLimits(*s.Limits)
	}
	if s.Verb == pawl.SteerLimits {
		return pawl.Errorf(pawl.CodeInvalid, "no limits given")
	}
	return nil
}

// checkSignal refuses a signal that no person can give. Whether there are such loops
// is for the run to say.
func checkSignal(s *pawl.Signaling) error {
	switch {
	case s == nil:
		return pawl.Errorf(pawl.CodeInvalid, "no signal given")
	case s.To == "":
		return pawl.Errorf(pawl.CodeInvalid, "the signal does not name a loop").
			WithHint("a loop's id, or descendants:ID, children:ID, type:KIND, status:STATUS")
	}
	switch s.Signal {
	case pawl.SignalStop, pawl.SignalPause, pawl.SignalResume, pawl.SignalRebase, pawl.SignalInfo:
		return nil
	}
	return pawl.Errorf(pawl.CodeInvalid, "unknown signal %q: want stop, pause, resume, rebase or info", s.Signal)
}

func checkLimits(l pawl.Limits) error {
	if l.Money < 0 || l.Tokens < 0 || l.Time < 0 || l.Iterations < 0 {
		return pawl.Errorf(pawl.CodeInvalid, "a limit below zero: want a positive number, or 0 for none")
	}
	return nil
}

func (e *Engine) steer(ctx context.Context, run pawl.RunID, s pawl.Steering) error {
	if e.driver.Driven(run) {
		return e.driver.Steer(ctx, run, s)
	}
	state, err := local.Fold(ctx, e.c.Log, run)
	if err != nil {
		return err
	}
	ended := state.Status == pawl.StatusEnded
	beside := s.Verb == pawl.SteerForget || s.Verb == pawl.SteerArchive || s.Verb == pawl.SteerOverride && !ended // no reason to let a run go on
	answers := s.Verb == pawl.SteerAnswer && ended                                                                // it may have been halted for want of it
	begins := (s.Verb.Resumes() || answers) && !beside || !ended && !beside && (s.Verb != pawl.SteerCancel || s.Running != pawl.DrainNow)
	if begins {
		if err := e.confines(run, state.Started); err != nil {
			return err.WithHint(endUnconfined, run)
		}
	}
	if beside && !ended {
		return pawl.Errorf(pawl.CodeState, "run %s is %s, and no process drives it", run, state.Status).
			WithHint("continue it first: pawl resume %s", run)
	}
	interrupted := state.Status == pawl.StatusRunning || state.Status == pawl.StatusStopping
	switch {
	case s.Verb == pawl.SteerResume && interrupted && (s.Limits != nil || len(s.Accounts) > 0):
		return e.driver.AdoptFolded(ctx, run, state, pawl.Steering{Verb: pawl.SteerLimits, Limits: s.Limits, Accounts: s.Accounts})
	case s.Verb == pawl.SteerResume && interrupted:
		return e.driver.AdoptFolded(ctx, run, state)
	case s.Verb == pawl.SteerPause && !ended && state.Status != pawl.StatusRunning:
		return pawl.Errorf(pawl.CodeState, "run %s is %s: only a running run can be paused", run, state.Status)
	}
	return e.driver.Steer(ctx, run, s)
}

// endUnconfined is what to do with a run that needs a sandbox where there is none.
const endUnconfined = "install bubblewrap, or end it with pawl cancel %s --now and start a new run with --unsandboxed"

// confines refuses to go on without a sandbox with what began in one.
func (e *Engine) confines(run pawl.RunID, began *pawl.RunStarted) *pawl.Error {
	if !began.Confined || e.c.Sandbox.Confined() {
		return nil
	}
	return pawl.Errorf(pawl.CodeUnavailable, "run %s was started in a sandbox, and commands cannot be confined here: %s", run, e.c.Sandbox.Describe())
}

// Driven reports whether a run is at work, or paused, in this process.
func (e *Engine) Driven(run pawl.RunID) bool { return e.driver.Driven(run) }
