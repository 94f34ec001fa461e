// Package logs is pawl logs: a run's log in lines for people.
package logs

import (
	"context"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/view"
)

type options struct{ follow, verbose bool }

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "logs [RUN]",
		Short: "Show what a run did, and with -f what it is doing",
		Long: `Logs prints a run's log, one line for each thing that happened: calls, tools,
verdicts, decisions. With -v it includes the bookkeeping. With -f it continues
until the run ends, with live text on a terminal; Ctrl-C leaves, and the run
continues. With --json it prints the events themselves, one per line, as pawl
events does. Without RUN it shows the latest run.

` + cli.FollowExitCodes,
		Example: "  pawl logs\n  pawl logs 7 -f\n  pawl logs 7 -v | grep gate",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, err := app.OpenRun(ctx, cli.Read, args, nil)
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			least := view.Normal
			if o.verbose {
				least = view.Detail
			}
			if !o.follow {
				return printLog(ctx, app, s, info.ID, least)
			}
			return app.FollowOn(ctx, s, info.ID, cli.FollowOptions{Least: least, Clock: true})
		},
	}
	cli.RunArgs(c, app, false)
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "continue until the run ends")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "include the bookkeeping")
	return c
}

// printLog shows what there is.
func printLog(ctx context.Context, app *cli.App, s *cli.Session, run pawl.RunID, least view.Level) error {
	_, color := app.Screen()
	p := view.NewProgress(view.New(), view.ProgressOptions{Out: app.Out, Color: color, Least: least, Clock: true, Blobs: cli.Blobs(ctx, s, run)})
	for e, err := range s.Events(ctx, run, 0) {
		if err == nil && app.JSON {
			p.Run().Apply(e)
			err = app.EncodeEvent(e, p.Run(), cli.Blobs(ctx, s, run))
		} else if err == nil {
			err = p.Write(pawl.Update{Event: &e})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
