// Package override is pawl continue: let a run go on in spite of its health.
package override

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
		Short: "Let a run go on in spite of what is said of its health",
		Long: `Continue overrides the monitor: when the batches of a run are said to be stalled,
regressing, flip-flopping or blocked and you know better, the run goes on, what
spoke for it does not count any more, and the question it may wait with is
answered. Who said so and why is part of the log. A run that is paused or has
ended goes on with pawl resume.

It returns at once when another process drives the run; a run that was interrupted
goes on here.

` + cli.RunExitCodes,
		Example: "  pawl why 7\n  pawl continue 7 --reason \"the slow test is being fixed step by step\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, from, err := app.SteerRun(ctx, args, pawl.Steering{Verb: pawl.SteerContinue, Reason: reason, By: app.User()})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			return app.Steered(ctx, s, from, "Run %s goes on in spite of its health. See: pawl tasks %s", info.ID, info.ID)
		},
	}
	cli.RunArgs(c, app, true)
	c.Flags().StringVar(&reason, "reason", "", "why, a `SENTENCE` for the log")
	return c
}
