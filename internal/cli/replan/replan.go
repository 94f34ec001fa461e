// Package replan is pawl replan: have a run's plan made anew.
package replan

import (
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "replan RUN",
		Short: "Have the plan of what is left made anew",
		Long: `Replan lets the planner look at what a run has come to and plan the rest anew. The
tasks that run come to their end first; what has passed is kept with its results.
The planner is told the reason. A new plan that drops what has passed, names a
task twice or cannot be worked is refused, and the one before it stays.

It returns at once when another process drives the run; a run that was interrupted
goes on here.

` + cli.RunExitCodes,
		Example: "  pawl replan 7\n  pawl replan 7 --reason \"the API has changed: see docs/api.md\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, from, err := app.SteerRun(ctx, args, pawl.Steering{Verb: pawl.SteerReplan, Reason: reason})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			return app.Steered(ctx, s, from, "The plan of run %s is made anew once the tasks that run have come to their end. See: pawl tasks %s", info.ID, info.ID)
		},
	}
	cli.RunArgs(c, app, true)
	c.Flags().StringVar(&reason, "reason", "", "why, a `SENTENCE` for the planner and the log")
	return c
}
