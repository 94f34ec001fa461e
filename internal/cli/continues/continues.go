// Package continues is pawl continue: let a run go on in spite of its health.
package continues

import (
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "continue RUN",
		Short: "Continue a run despite what the health monitor says",
		Long: `Continue overrides the health monitor. If the monitor says that the batches of a
run are stalled, regressing, flip-flopping or blocked and you know better, the
run continues, the evidence so far no longer counts, and the question it may
wait with is answered. The log records who did this and why. For a run that is
paused or has ended, use pawl resume.

The command returns at once if another process drives the run. An interrupted
run continues here.

` + cli.RunExitCodes,
		Example: "  pawl why 7\n  pawl continue 7 --reason \"the slow test is being fixed step by step\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, from, err := app.SteerRun(ctx, args, pawl.Steering{Verb: pawl.SteerContinue, Reason: reason, By: app.User()})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			return app.Steered(ctx, s, from, "Run %s continues despite its health. See: pawl tasks %s", info.ID, info.ID)
		},
	}
	cli.RunArgs(c, app, true)
	c.Flags().StringVar(&reason, "reason", "", "why, a `SENTENCE` for the log")
	return c
}
