// Package cancel is pawl cancel: end a run.
package cancel

import (
	"context"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
)

type options struct {
	finish, soon, now bool
	reason            string
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run; its commits stay on its branch",
		Long: `Cancel ends a run for good. What may finish first is what the run's recipe says
(cancel): with loom, the iterations in progress, with the other built-in recipes
the calls and commands in progress. --finish, --soon and --now say it for this
run. Commits stay on the branch, and uncommitted work is kept under refs/pawl/.
The command returns at once if another process drives the run; a run that no
process drives ends here.

` + cli.ExitCodes,
		Example: "  pawl cancel 7\n  pawl cancel 7 --now --reason \"wrong approach\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, from, err := app.SteerRun(ctx, args, pawl.Steering{Verb: pawl.SteerCancel, Running: o.draining(), Reason: o.reason})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			if !s.Owner {
				how, err := o.how(ctx, s, info.ID)
				if err != nil {
					return err
				}
				return app.Said(ctx, s, info.ID, "Run %s is ending; %s. See: pawl logs -f %s", info.ID, how, info.ID)
			}
			if _, err := app.Follow(ctx, s, info.ID, cli.FollowOptions{From: from, Show: cli.Silent}); err != nil {
				return err
			}
			if err := app.Said(ctx, s, info.ID, "Run %s is cancelled. Its commits are on %s", info.ID, info.Branch); err != nil {
				return err
			}
			return app.Settle(ctx, s)
		},
	}
	cli.RunArgs(c, app, true)
	c.Flags().BoolVar(&o.finish, "finish", false, "let the iterations in progress finish first")
	c.Flags().BoolVar(&o.soon, "soon", false, "let the calls and commands in progress finish first")
	c.Flags().BoolVar(&o.now, "now", false, "interrupt what is in progress")
	c.Flags().StringVar(&o.reason, "reason", "", "why, a `SENTENCE` for the log")
	c.MarkFlagsMutuallyExclusive("finish", "soon", "now")
	return c
}

// how says what is still done before the run ends.
func (o *options) how(ctx context.Context, s *cli.Session, run pawl.RunID) (string, error) {
	running := o.draining()
	if running == "" {
		r, err := cli.Fold(ctx, s, run)
		if err != nil {
			return "", err
		}
		running = r.Recipe.Cancel
	}
	switch running {
	case pawl.DrainFinish:
		return "iterations in progress finish first (--soon and --now end them)", nil
	case pawl.DrainNow:
		return "calls and commands in progress are interrupted", nil
	}
	return "calls and commands in progress finish first (--now interrupts them)", nil
}

// draining returns what the flags say; empty = what the recipe says.
func (o *options) draining() pawl.Draining {
	switch {
	case o.finish:
		return pawl.DrainFinish
	case o.soon:
		return pawl.DrainBoundary
	case o.now:
		return pawl.DrainNow
	}
	return ""
}
