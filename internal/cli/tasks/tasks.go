// Package tasks is pawl tasks: the project's tasks, and where each task of a run's
// plan stands.
package tasks

import (
	"context"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/spf13/cobra"

	"pawl/internal/cli"
	"pawl/internal/view"
)

// New is the command. now is the clock that ages are told by.
func New(app *cli.App, now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "tasks [RUN]",
		Short: "List the project's tasks, or the tasks of a run",
		Long: `Tasks without RUN lists the tasks of this project with their status: those of
runs here, and those whose folder, .pawl/tasks/NNN-slug, is at HEAD or on a
branch pawl/NNN-slug. A task of runs here has the status of its latest run, any
other task the one in its plan.md. pawl run "continue NNN-slug" continues a
task.

With RUN it lists the tasks of the run's plan: where each stands, what it waits
for or is blocked by, how often it was tried, on which tier, and what it has
cost. A * marks the longest chain of what is left, a ! a task whose failure
blocks what depends on it. Why tasks failed, open questions, and what the tasks
have told each other follow.

With --json the list of tasks is a list of objects: id, title, status, run (the
latest one), runs (how many), recipe, branch, tasks, passed, questions, updated,
and folder (where it was found). With RUN it is an object: run, status, version
(of the plan), progress (total, completed, failed, pending, running, blocked,
skipped, percent_complete), critical_path, tasks (id, title, status, waits_for,
blocked_by, reason, attempts, tier, priority, depends_on, is_critical_path,
on_critical_path, calls, tokens, cost in millionths of a dollar, seconds, loop,
loop_id, branch, event), plan_versions, questions, blackboard and memory.

` + cli.ExitCodes,
		Example: "  pawl tasks\n  pawl tasks 7\n  pawl tasks 7 --json | jq .progress.percent_complete\n  pawl tasks 7 --json | jq -r '.tasks[] | select(.status == \"failed\") | .reason'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return List(cmd.Context(), app)
			}
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

// List shows the tasks of the project.
func List(ctx context.Context, app *cli.App) error {
	var all []cli.KnownTask
	s, err := app.With(ctx, cli.Read, func(s *cli.Session) (err error) {
		all, err = app.KnownTasks(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	defer s.Close()
	if app.JSON {
		return app.Encode(all)
	}
	if len(all) == 0 {
		app.Notef(`this project has no tasks yet. Begin one: pawl run "what should be there when it is done"`)
	}
	for _, k := range all {
		line := k.String()
		if app.Terminal {
			line = ansi.Truncate(line+"  "+k.Title, app.Width(), "…")
		}
		app.Printf("%s\n", line)
	}
	for _, k := range all {
		if k.Of != nil && k.Of.Problem != "" {
			app.Notef("task %s: %s", k.ID, k.Of.Problem)
		}
	}
	return nil
}
