// Package events is pawl events: a run's events as they are stored.
package events

import (
	"context"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/view"
)

type options struct {
	after  uint64
	follow bool
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "events [RUN]",
		Short: "Show a run's events as they are stored",
		Long: `Events prints every event of a run: its number, time, kind and content. With
--json it prints whole events, one JSON object per line, with hashes in place of
texts. A program that remembers the number of the last event it saw continues
with --after. Where an event concerns the progress of a loop, it also has a
name, which is the loop's kind in the recipe and what happened, such as
task_plan_ready or subtask_retrying, and task_id, subtask_id and correlation_id
(the loop, its iteration, the attempt). With -f it continues until the run ends.
Without RUN it shows the latest run.

` + cli.FollowExitCodes,
		Example: "  pawl events 7\n  pawl events 7 --json | jq -c 'select(.kind == \"gate_judged\") | .body'\n  pawl events 7 --json --after 120 -f",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, err := app.OpenRun(ctx, cli.Read, args, nil)
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			show := o.printer(ctx, app, s, info.ID)
			if !o.follow {
				return each(ctx, s, info.ID, show)
			}
			return app.FollowOn(ctx, s, info.ID, cli.FollowOptions{Show: show})
		},
	}
	cli.RunArgs(c, app, false)
	c.Flags().Uint64Var(&o.after, "after", 0, "only the events after number `N`")
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "continue until the run ends")
	return c
}

// each folds the run and shows its events on the way: what a line says depends
// on the events before it.
func each(ctx context.Context, s *cli.Session, run pawl.RunID, show func(pawl.Event, *view.Run) error) error {
	r := view.New()
	for e, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return err
		}
		r.Apply(e)
		if err := show(e, r); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) printer(ctx context.Context, app *cli.App, s *cli.Session, run pawl.RunID) func(pawl.Event, *view.Run) error {
	blobs := func(h pawl.Hash) ([]byte, error) { return s.Blob(ctx, run, h) }
	return func(e pawl.Event, r *view.Run) error {
		switch {
		case uint64(e.Seq) <= o.after:
			return nil
		case app.JSON:
			return app.EncodeEvent(e, r, blobs)
		}
		app.Printf("%5d  %s  %-20s  %s\n", e.Seq, e.Time.Local().Format("15:04:05.000"), e.Body.EventKind(), view.Line(e, r, blobs))
		return nil
	}
}
