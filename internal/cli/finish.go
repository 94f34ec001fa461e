package cli

import (
	"context"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/view"
)

// Attend follows a run that the user has started or resumed, and finishes it. If
// another process drives the run and goes away in the middle, this one takes the
// run over.
func (a *App) Attend(ctx context.Context, s *Session, run pawl.RunID, o FollowOptions) error {
	o.typed = &typing{done: make(chan struct{})}
	defer close(o.typed.done)
	for {
		in := a.daemonOf(ctx, s)
		r, err := a.Follow(ctx, s, run, o)
		abandoned := err == nil && !s.Owner && unfinished(r)
		if !abandoned {
			return a.Finish(ctx, s, r, err)
		}
		if in.Pid != 0 && !s.Daemon && a.ended(ctx, in) {
			return stoppedWith(run)
		}
		if err := a.takeOver(ctx, s, run); err != nil {
			return err
		}
		o.From = r
	}
}

// daemonOf is the daemon that a session is with; zero when it is with none.
func (a *App) daemonOf(ctx context.Context, s *Session) project.Holder {
	if !s.Daemon {
		return project.Holder{}
	}
	holder, _, _ := project.HomeAt(a.StateHome).Holder(ctx)
	return holder
}

// stoppedWith is the error of a run whose daemon was stopped.
func stoppedWith(run pawl.RunID) error {
	return pawl.Errorf(pawl.CodeStopped, "the daemon was stopped, and run %s with it; it continues in the next one", run).
		WithHint("pawl resume %s continues the run", run)
}

// endingTime is how long a daemon may take to end, and another one to take its place.
const endingTime = 15 * time.Second

// ended reports whether a daemon that does not answer any more was ended on purpose, and
// waits for it when it is just ending. One that died, or made room for another, is to be
// replaced.
func (a *App) ended(ctx context.Context, was project.Holder) (stopped bool) {
	home, said := project.HomeAt(a.StateHome), false
	_ = eventually(ctx, func() bool {
		_, died := home.LastHolder() // before the lock: one that begins has it while it writes its name
		now, held, err := home.Holder(ctx)
		if err == nil && held && now.Started.Equal(was.Started) {
			if !said {
				a.Notef("the daemon, process %d, is ending", now.Pid)
			}
			said = true
			return false
		}
		stopped = err == nil && !held && !died
		return true
	})
	return stopped
}

// rejoin makes s a session with a daemon that drives the run. It returns false when there
// is none in time.
func (a *App) rejoin(ctx context.Context, s *Session, run pawl.RunID) (found bool, err error) {
	home := project.HomeAt(a.StateHome)
	err = eventually(ctx, func() bool {
		if _, held, err := home.Holder(ctx); err != nil || !held || a.reopen(ctx, s) != nil || !s.Daemon {
			return false
		}
		info, err := Find(ctx, s, string(run))
		found = err == nil && info.Status != StatusInterrupted
		return found
	})
	return found, err
}

// adopted is like rejoin, for a run that nobody drives yet although a daemon has just started:
// that takes over what was interrupted.
func (a *App) adopted(ctx context.Context, s *Session, run pawl.RunID, r *view.Run) (found bool, err error) {
	if a.Local || s.Owner || !unfinished(r) {
		return false, nil
	}
	holder, held, err := project.HomeAt(a.StateHome).Holder(ctx)
	if err != nil || !held || time.Since(holder.Started) > endingTime {
		return false, nil //nolint:nilerr // then nobody is known to take it over
	}
	return a.rejoin(ctx, s, run)
}

// eventually asks until something is so, for [endingTime] at most. It fails when ctx ends.
func eventually(ctx context.Context, so func() bool) error {
	until := time.Now().Add(endingTime)
	for wait := 5 * time.Millisecond; !so() && time.Now().Before(until); wait = min(2*wait, 100*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// takeOver makes s a session in which the run goes on: here, or where somebody
// else has taken it over already.
func (a *App) takeOver(ctx context.Context, s *Session, run pawl.RunID) error {
	again, err := a.With(ctx, Steer, func(s *Session) error {
		err := s.Steer(ctx, run, pawl.Steering{Verb: pawl.SteerResume, Reason: "the process that drove it has gone"})
		if pawl.CodeOf(err) == pawl.CodeState && s.Remote {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	where := "here"
	switch {
	case again.Daemon:
		where = "in the daemon"
	case again.Remote:
		where = "in another one"
	}
	a.Notef("the process that drove run %s has ended; the run continues %s", run, where)
	err = s.Close()
	*s = *again
	return err
}

// Finish says how a followed run ended, waits for what else this process drives,
// and returns the exit code of the run's end.
func (a *App) Finish(ctx context.Context, s *Session, r *view.Run, err error) error {
	if err != nil {
		return err
	}
	if err := a.refresh(ctx, s); err != nil {
		return err
	}
	var end error
	switch r.Status {
	case pawl.StatusEnded:
		end = StateExit(view.StateOf(r.Outcome))
		if err := a.report(ctx, s, r); err != nil {
			return err
		}
	case pawl.StatusPaused:
		end = StateExit(view.StateOf(r.Status))
		if !a.JSON {
			a.Printf("\nRun %s is paused. Continue: pawl resume %s\n", r.ID, r.ID)
		}
	default:
		return lost(ctx, s, r.ID)
	}
	if err := a.Settle(ctx, s); err != nil {
		return err
	}
	return end
}

func (a *App) report(ctx context.Context, s *Session, r *view.Run) error {
	if a.JSON {
		return nil
	}
	report, err := view.CompletionReport(r, Blobs(ctx, s, r.ID))
	if err != nil {
		return err
	}
	a.Printf("\n%s", report)
	return nil
}

// lost says why a run that has not come to rest is not driven any more.
func lost(ctx context.Context, s *Session, run pawl.RunID) error {
	info, err := Find(ctx, s, string(run))
	if err != nil {
		return err
	}
	if info.Status == pawl.StatusQuarantined {
		return pawl.Errorf(pawl.CodeDamaged, "run %s is quarantined: %s", run, info.Reason).
			WithHint("its commits are on %s; pawl doctor looks at what is stored", info.Branch)
	}
	return pawl.Errorf(pawl.CodeUnavailable, "run %s is not driven any more; %s says why", run, filepath.Join(s.Project.Dir, "pawl.log")).
		WithHint("pawl resume %s continues where it stopped", run)
}

// Settle waits until nothing is under way in the runs this process drives:
// other processes may have started some here, and they would be cut off. Ctrl-C
// pauses them.
func (a *App) Settle(ctx context.Context, s *Session) error {
	for s.Owner {
		run, err := Busy(ctx, s)
		if run == "" || err != nil {
			return err
		}
		a.Notef("waiting for run %s, which was started here from another terminal; Ctrl-C pauses it", run)
		from, err := Fold(ctx, s, run)
		if err != nil {
			return err
		}
		if _, err := a.Follow(ctx, s, run, FollowOptions{From: from, Rest: true, Show: Silent}); err != nil {
			return err
		}
	}
	return nil
}

// Silent shows nothing of a run that is followed.
func Silent(pawl.Event, *view.Run) error { return nil }

// Said ends a command that steered a run: with a sentence for people, or as
// JSON with the run's line as it is now.
func (a *App) Said(ctx context.Context, s *Session, run pawl.RunID, format string, args ...any) error {
	if !a.JSON {
		a.Printf(format+"\n", args...)
		return nil
	}
	info, err := Find(ctx, s, string(run))
	if err != nil {
		return err
	}
	return a.Encode(info)
}

// Busy is a run that this process drives and that is at work; empty when there is none.
func Busy(ctx context.Context, s *Session) (pawl.RunID, error) {
	runs, err := s.Runs(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		if s.Driven(r.ID) && (r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping) {
			return r.ID, nil
		}
	}
	return "", nil
}
