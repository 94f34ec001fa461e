// Package fork is pawl fork: another run that goes on from a point of a run.
package fork

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/view"
)

type options struct {
	at      uint64
	verbose bool
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "fork RUN --at EVENT",
		Short: "Start a new run from a point in another run",
		Long: `Fork starts a new run of a run's task. The two have everything up to an event in
common; the new run continues from there on a branch of its own,
pawl/NNN-slug-r2 and so on. Its code is the newest commit of the run's branch at
that event; the command says how far before the event that is. What was in
progress there starts again. What the old run had spent is shown but not
charged. Its open questions and approvals are not taken over. The old run stays
as it is and must not be active.

pawl events lists the events with their numbers, pawl checkpoints those at which
a batch ended.

` + cli.RunExitCodes,
		Example: "  pawl checkpoints 7\n  pawl fork 7 --at 1250",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("at") {
				return pawl.Errorf(pawl.CodeInvalid, "pawl fork needs the number of the last event that both have").
					WithHint("pawl events %s lists them; then pawl fork %s --at EVENT", plain.Line(args[0], 60), plain.Line(args[0], 60))
			}
			return o.execute(cmd.Context(), app, args)
		},
	}
	cli.RunArgs(c, app, true)
	c.Flags().Uint64Var(&o.at, "at", 0, "the number of the last `EVENT` that both runs have")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show every event")
	_ = c.RegisterFlagCompletionFunc("at", func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd.Context(), app, args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	})
	return c
}

func (o *options) execute(ctx context.Context, app *cli.App, args []string) error {
	var forked pawl.RunInfo
	s, info, err := app.OpenRun(ctx, cli.Steer, args, func(s *cli.Session, info pawl.RunInfo) (err error) {
		forked, err = s.Fork(ctx, info.ID, pawl.Seq(o.at))
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	from, err := common(ctx, s, forked.ID, pawl.Seq(o.at))
	if err != nil {
		return err
	}
	if !app.JSON {
		app.Printf("Run %s continues from event %d of run %s\n", forked.ID, o.at, info.ID)
		say := func(what, format string, args ...any) {
			app.Printf("  %-8s %s\n", what, plain.Line(fmt.Sprintf(format, args...), 0))
		}
		say("branch", "%s", forked.Branch)
		if f := from.forked; f != nil {
			say("commit", "%.12s, %d events before", f.Commit, f.Lost)
			say("spent", "%s and %d tokens by run %s, which are not charged here", f.Cost, f.Tokens, info.ID)
		}
		app.Printf("\n")
	}
	least := view.Important
	if o.verbose {
		least = view.Detail
	}
	return app.Attend(ctx, s, forked.ID, cli.FollowOptions{From: from.run, Least: least})
}

type start struct {
	run    *view.Run // up to the event
	forked *pawl.Forked
}

// common is the forked run as far as it is the other one's, with how it began
// after that: only what is new is shown.
func common(ctx context.Context, s *cli.Session, run pawl.RunID, at pawl.Seq) (start, error) {
	out := start{run: view.New()}
	for e, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return out, err
		}
		if e.Seq > at {
			out.forked, _ = e.Body.(*pawl.Forked)
			return out, nil
		}
		out.run.Apply(e)
	}
	return out, nil
}

// complete offers the events after which checkpoints were made, newest first.
func complete(ctx context.Context, app *cli.App, args []string) []string {
	s, _, r, err := app.ReadRun(ctx, args)
	if err != nil {
		return nil
	}
	defer s.Close()
	var out []string
	all := view.Checkpoints(r).Checkpoints
	for i := len(all) - 1; i >= 0; i-- {
		out = append(out, fmt.Sprintf("%d\tcheckpoint %d (%s)", all[i].Event, all[i].N, pawl.CheckpointAfter(all[i].Label)))
	}
	return out
}
