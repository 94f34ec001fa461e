// Package archive is pawl archive: put a run, or a loop, out of the way.
package archive

import (
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "archive RUN [LOOP]",
		Short: "Hide a run that has ended, or one of its loops",
		Long: `Archive hides a run from lists, or a loop that has ended from its run's tree,
and moves the folders of its loops to archive/. Nothing is removed: events,
branches and files stay, and pawl list --all and pawl loops RUN --all show it.
An active run or loop is refused. LOOP is a loop's id or its task.

` + cli.ExitCodes,
		Example: "  pawl archive 7\n  pawl archive 7 auth --reason \"superseded\"",
		Args:    cli.Args(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			what := ""
			s, info, from, err := app.SteerFrom(ctx, args[:1], func(_ pawl.RunInfo, r *view.Run) (pawl.Steering, error) {
				c := pawl.Steering{Verb: pawl.SteerArchive, Reason: reason, By: app.User()}
				if len(args) > 1 {
					rec, err := r.Records.Find(args[1])
					if err != nil {
						return c, err
					}
					c.Loop, what = rec.ID, "Loop "+plain.Line(rec.ID, 0)+" of run "
				}
				return c, nil
			})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			if what == "" {
				what = "Run "
			}
			return app.Steered(ctx, s, from, "%s%s is archived", what, info.ID)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return app.CompleteRuns(cmd.Context(), func(r pawl.RunInfo) string { return cli.State(r) + ", " + plain.Line(r.Title, 60) })
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, a `SENTENCE` for the log")
	return c
}
