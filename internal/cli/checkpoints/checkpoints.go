// Package checkpoints is pawl checkpoints: where a run's branch can go back to.
package checkpoints

import (
	"github.com/spf13/cobra"

	"pawl/internal/cli"
	"pawl/internal/view"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "checkpoints [RUN]",
		Short: "List the checkpoints that a run can go back to",
		Long: `Checkpoints lists the checkpoints of a run that works in batches: what came
before each, its commit, how many tasks were approved and how many tests passed
there, and whether it is good, the last good one, the best verified one, or was
left by a rollback. An arrow marks where the branch is. The rollbacks follow.
pawl rollback RUN [CHECKPOINT] goes back to one. A run that works on no list of
tasks has its attempts for checkpoints. Without RUN it shows the latest run.

With --json it is an object: run, at, last_good, best, checkpoints (n, label,
batch, plan_version, commit, ref, good, is_last_good, is_best, left, approved,
passing, event, time) and rollbacks (to, reason, by, done, commit, reopen,
event, time).

` + cli.ExitCodes,
		Example: "  pawl checkpoints 7\n  pawl checkpoints 7 --json | jq '.checkpoints[] | select(.is_best)'",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, info, r, err := app.ReadRun(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.Close()
			if app.JSON {
				return app.Encode(view.Checkpoints(r))
			}
			width := 0
			if app.Terminal {
				width = app.Width()
			}
			app.Printf("%s", view.CheckpointsText(r, width))
			app.WarnInterrupted(info)
			return nil
		},
	}
	cli.RunArgs(c, app, false)
	return c
}
