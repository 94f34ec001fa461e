// Package pause is pawl pause: let a run rest.
package pause

import (
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "pause RUN",
		Short: "Pause a run: what is in progress finishes, nothing new starts",
		Long: `Pause lets what is in progress finish and starts nothing new until pawl resume.
It returns at once if another process drives the run; an interrupted run is
first brought to rest here.

` + cli.ExitCodes,
		Example: "  pawl pause 7\n  pawl pause 7 --reason \"waiting for the schema\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, from, err := app.SteerRun(ctx, args, pawl.Steering{Verb: pawl.SteerPause, Reason: reason})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			if s.Owner {
				o := cli.FollowOptions{From: from, Rest: true, Show: cli.Silent}
				if _, err := app.Follow(ctx, s, info.ID, o); err != nil {
					return err
				}
			}
			if err := app.Said(ctx, s, info.ID, "Run %s is paused. Continue: pawl resume %s", info.ID, info.ID); err != nil {
				return err
			}
			return app.Settle(ctx, s)
		},
	}
	cli.RunArgs(c, app, true)
	c.Flags().StringVar(&reason, "reason", "", "why, a `SENTENCE` for the log")
	return c
}
