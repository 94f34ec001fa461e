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
		Short: "Plan what is left of a run again",
		Long: `Replan has the planner look at the results so far and plan the rest again.
Active tasks end first, and passed tasks are kept with their results. The
planner is given the reason. A new plan that drops a passed task, names a task
twice or cannot be carried out is refused, and the plan before it stays.

The command returns at once if another process drives the run. An interrupted
run continues here.

` + cli.RunExitCodes,
		Example: "  pawl replan 7\n  pawl replan 7 --reason \"the API has changed: see docs/api.md\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, from, err := app.SteerRun(ctx, args, pawl.Steering{Verb: pawl.SteerReplan, Reason: reason})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			return app.Steered(ctx, s, from, "Run %s gets a new plan when its active tasks have ended. See: pawl tasks %s", info.ID, info.ID)
		},
	}
	cli.RunArgs(c, app, true)
	c.Flags().StringVar(&reason, "reason", "", "why, a `SENTENCE` for the planner and the log")
	return c
}
