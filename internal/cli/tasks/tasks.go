// Package tasks is pawl tasks: where each task of a run's plan stands.
package tasks

import (
	"time"

	"github.com/spf13/cobra"

	"pawl/internal/cli"
	"pawl/internal/view"
)

// New is the command. now is the clock that ages are told by.
func New(app *cli.App, now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "tasks [RUN]",
		Short: "Show a run's tasks and where each of them stands",
		Long: `Tasks lists the tasks of a run's plan: where each stands, what it waits for or is
blocked by, how often it was tried, on which tier, and what it has cost. The
longest chain of what is left is marked with *, a task that nothing is worth
doing without with !. Below stand why tasks failed, open questions, and what the
tasks have told each other. Without RUN it is the latest one.

With --json it is an object: run, status, version (of the plan), progress (total,
completed, failed, pending, running, blocked, skipped, percent_complete),
critical_path, tasks (id, title, status, waits_for, blocked_by, reason, attempts,
tier, priority, depends_on, is_critical_path, on_critical_path, calls, tokens,
cost in millionths of a dollar, seconds, loop, loop_id, branch, event),
plan_versions, questions, blackboard and memory.

` + cli.ExitCodes,
		Example: "  pawl tasks\n  pawl tasks 7 --json | jq .progress.percent_complete\n  pawl tasks 7 --json | jq -r '.tasks[] | select(.status == \"failed\") | .reason'",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, info, r, err := app.ReadRun(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.Close()
			at := now()
			if r.Outcome != "" || info.Status == cli.StatusInterrupted {
				at = r.Updated // nobody works on it
			}
			if app.JSON {
				return app.Encode(view.Tasks(r, at))
			}
			width := 0
			if app.Terminal {
				width = app.Width()
			}
			app.Printf("%s", view.TasksText(r, at, width))
			app.WarnInterrupted(info)
			return nil
		},
	}
	cli.RunArgs(c, app, false)
	return c
}
