package cli

import (
	"context"

	"pawl"
	"pawl/internal/view"
)

// Steered ends a command after which a run goes on: it says what was done, and
// where this process has taken the run over for it, follows it to its end. from
// is the run as it was before the command.
func (a *App) Steered(ctx context.Context, s *Session, from *view.Run, format string, args ...any) error {
	if from.Status == pawl.StatusPaused && !a.JSON {
		format += ". The run is paused; go on: pawl resume %s"
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
