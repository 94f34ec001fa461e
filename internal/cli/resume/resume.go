// Package resume is pawl resume: go on with a run.
package resume

import (
	"context"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/view"
)

type options struct {
	reason  string
	verbose bool
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Continue a run that was paused, interrupted or stopped early",
		Long: `Resume continues a run that is paused, that was interrupted because its process
died, or that ended incomplete, blocked, halted or failed. Limits given here
replace the run's; those of an active run can be changed too. Nothing is done
twice: resume first checks what was in progress. A run whose plan you rejected
makes another plan and is told why. Without RUN it continues the latest run, the
one that pawl show shows, if that can be resumed.

The run continues in the daemon and is followed from here to its end, as with
pawl run; Ctrl-C only stops following. With --local this process drives the run
itself.

` + cli.RunExitCodes,
		Example: "  pawl resume\n  pawl resume 7\n  pawl resume 7 --max-iterations 15 --budget 20",
		RunE: func(cmd *cobra.Command, args []string) error {
			return execute(cmd.Context(), cmd, app, &o, args)
		},
	}
	cli.RunArgs(c, app, false)
	f := c.Flags()
	cli.LimitFlags(f)
	f.StringVar(&o.reason, "reason", "", "why, a `SENTENCE` for the log")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show every event")
	return c
}

func execute(ctx context.Context, cmd *cobra.Command, app *cli.App, o *options, args []string) error {
	given, err := cli.GivenLimits(cmd)
	if err != nil {
		return err
	}
	s, info, from, err := app.SteerFrom(ctx, args, func(info pawl.RunInfo, r *view.Run) (pawl.Steering, error) {
		if len(args) == 0 {
			if err := resumable(info, given != nil); err != nil {
				return pawl.Steering{}, err
			}
		}
		steering := pawl.Steering{Verb: pawl.SteerResume, Reason: o.reason}
		if given != nil {
			limits := given(r.Limits)
			steering.Limits = &limits
			if info.Status == pawl.StatusRunning || info.Status == pawl.StatusStopping {
				steering.Verb = pawl.SteerLimits // it goes on already
			}
		}
		return steering, nil
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if !app.JSON {
		app.Printf("%s\n\n", cli.GoesOn(s, info))
	}
	least := view.Important
	if o.verbose {
		least = view.Detail
	}
	return app.Attend(ctx, s, info.ID, cli.FollowOptions{From: from, Least: least})
}

// resumable refuses to resume the latest run, which nobody has named, when it is at work or
// there is nothing to go on with. Limits can be given to a run that is at work.
func resumable(info pawl.RunInfo, limits bool) error {
	const other = "name another one: pawl resume RUN; pawl list shows them"
	switch {
	case info.Status == pawl.StatusQuarantined:
		return pawl.Errorf(pawl.CodeDamaged, "the latest run, %s, is damaged and cannot be resumed", info.ID).WithHint("%s", other)
	case info.Status == pawl.StatusEnded && !info.Outcome.Resumable():
		return pawl.Errorf(pawl.CodeState, "the latest run, %s, ended %s: there is nothing to resume", info.ID, info.Outcome).WithHint("%s", other)
	case !limits && (info.Status == pawl.StatusRunning || info.Status == pawl.StatusStopping):
		return pawl.Errorf(pawl.CodeState, "the latest run, %s, is %s already", info.ID, info.Status).
			WithHint("pawl logs -f %s follows it; or %s", info.ID, other)
	}
	return nil
}
