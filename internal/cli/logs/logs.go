// Package logs is pawl logs: a run's log in lines for people.
package logs

import (
	"context"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/view"
)

type options struct {
	follow, verbose, full bool
	lines                 int
}

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

With --full it prints what was said and done in every session, turn by turn: the
prompt, the model's text, each tool call with its arguments and its output, the
tokens and the cost. Of each text it shows the first and the last lines, --lines
of them, and counts the others. With --full --json it prints these entries, one
per line, with their texts whole.

` + cli.FollowExitCodes,
		Example: "  pawl logs\n  pawl logs 7 -f\n  pawl logs 7 -v | grep gate\n  pawl logs 7 --full --lines 0 | less\n  pawl logs 7 --full -f",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckLines(cmd, "full"); err != nil {
				return err
			}
			ctx := cmd.Context()
			s, info, err := app.OpenRun(ctx, cli.Read, args, nil)
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			follow := o.following(ctx, app, s, info.ID)
			if o.follow {
				return app.FollowOn(ctx, s, info.ID, follow)
			}
			return printLog(ctx, app, s, info.ID, follow)
		},
	}
	cli.RunArgs(c, app, false)
	f := c.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "continue until the run ends")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "include the bookkeeping")
	f.BoolVar(&o.full, "full", false, "show what was said and done, turn by turn")
	cli.LinesFlag(f, &o.lines, "full")
	return c
}

// following says what is shown of the run.
func (o *options) following(ctx context.Context, app *cli.App, s *cli.Session, run pawl.RunID) cli.FollowOptions {
	out := cli.FollowOptions{Least: view.Normal, Clock: true}
	if o.verbose {
		out.Least = view.Detail
	}
	switch {
	case o.full && app.JSON:
		out.Show = func(e pawl.Event, r *view.Run) error {
			entry, ok := view.EntryOf(e, r, cli.Blobs(ctx, s, run))
			if !ok {
				return nil
			}
			return app.EncodeLine(entry)
		}
	case o.full:
		out.Transcript = cli.TranscriptOptions(o.lines)
		out.Transcript.Place = true
	case app.JSON:
		out.Show = func(e pawl.Event, r *view.Run) error { return app.EncodeEvent(e, r, cli.Blobs(ctx, s, run)) }
	}
	return out
}

// printLog shows what there is.
func printLog(ctx context.Context, app *cli.App, s *cli.Session, run pawl.RunID, o cli.FollowOptions) error {
	_, color := app.Screen()
	p := view.NewProgress(view.New(), view.ProgressOptions{Out: app.Out, Color: color, Least: o.Least, Clock: true, Blobs: cli.Blobs(ctx, s, run), Transcript: o.Transcript, Documents: cli.LiveDocuments(cli.Blobs(ctx, s, run))})
	for e, err := range s.Events(ctx, run, 0) {
		if err == nil && o.Show != nil {
			p.Run().Apply(e)
			err = o.Show(e, p.Run())
		} else if err == nil {
			err = p.Write(pawl.Update{Event: &e})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
