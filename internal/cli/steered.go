package cli

import (
	"context"

	"pawl"
	"pawl/internal/view"
)

// SteerRun reaches the run a command was given and steers it. The run comes as it
// was before, for whoever follows what becomes of it. Close the session.
func (a *App) SteerRun(ctx context.Context, args []string, c pawl.Steering) (*Session, pawl.RunInfo, *view.Run, error) {
	return a.SteerFrom(ctx, args, func(pawl.RunInfo, *view.Run) (pawl.Steering, error) { return c, nil })
}

// SteerFrom is [App.SteerRun] where how the run is steered depends on where it is.
func (a *App) SteerFrom(ctx context.Context, args []string, how func(pawl.RunInfo, *view.Run) (pawl.Steering, error)) (*Session, pawl.RunInfo, *view.Run, error) {
	var from *view.Run
	s, info, err := a.OpenRun(ctx, Steer, args, func(s *Session, info pawl.RunInfo) (err error) {
		if from, err = Fold(ctx, s, info.ID); err != nil {
			return err
		}
		c, err := how(info, from)
		if err != nil {
			return err
		}
		return s.Steer(ctx, info.ID, c)
	})
	return s, info, from, err
}

// Steered ends a command after which a run goes on: it says what was done, and
// where this process has taken the run over for it, follows it to its end. from
// is the run as it was before the command.
func (a *App) Steered(ctx context.Context, s *Session, from *view.Run, format string, args ...any) error {
	if from.Status == pawl.StatusPaused && !a.JSON {
		format += ". The run is paused; continue: pawl resume %s"
		args = append(args, from.ID)
	}
	if !s.Owner || from.Status == pawl.StatusPaused || from.Status == pawl.StatusEnded {
		if err := a.Said(ctx, s, from.ID, format, args...); err != nil {
			return err
		}
		return a.Settle(ctx, s)
	}
	if !a.JSON {
		a.Printf(format+"\n", args...)
	}
	return a.Attend(ctx, s, from.ID, FollowOptions{From: from, Least: view.Important})
}
