// Package override is pawl override: overrule the halt of a review.
package override

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
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
		Use:   "override RUN GATE --reason WHY",
		Short: "Overrule the halt of a reviewer, and continue",
		Long: `Override overrules the halt of the review GATE that ended a run: a false alarm.
What the review halted is judged once more, without the steps that made it.
Verdicts of commands on the same tree stand, GATE passes by your word and with
your reason, and the other reviewers judge again. Then the run continues as
usual.

A reviewer halts when a person must look before anything else happens, such as
at a secret that was committed. So it takes a person: standard input must be a
terminal. What the review said is shown, and you type its name to overrule it.
No program that uses the API can do it. Who overruled what, and why, is in the
log, in pawl show and in the report.

What a command gate finds is mended, not overruled: pawl resume. If somebody has
committed to the branch since, the next iteration runs its steps as usual.

` + cli.RunExitCodes,
		Example: "  pawl override 7 requirements --reason \"the key is made up, for a test\"",
		Args:    cli.Args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return execute(cmd.Context(), cmd, app, &o, args[0], args[1])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd.Context(), app, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.reason, "reason", "", "why it is overruled, `WORDS` for the log; it must be given, at most 1000 bytes")
	cli.LimitFlags(f)
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show every event")
	return c
}

func execute(ctx context.Context, cmd *cobra.Command, app *cli.App, o *options, run, gate string) error {
	given, err := cli.GivenLimits(cmd)
	if err != nil {
		return err
	}
	if strings.TrimSpace(o.reason) == "" {
		return pawl.Errorf(pawl.CodeInvalid, "a halt is overruled for a reason: give --reason").WithHint("pawl override RUN GATE --reason WHY")
	}
	seen, err := look(ctx, app, run, gate)
	if err != nil {
		return err
	}
	s, info, from, err := app.SteerFrom(ctx, []string{run}, func(_ pawl.RunInfo, r *view.Run) (pawl.Steering, error) {
		steering := pawl.Steering{Verb: pawl.SteerOverride, Gate: gate, Reason: o.reason, By: app.User()}
		h := r.Halt(gate)
		steering.Terminal = seen != 0 && h != nil && h.Seq == seen // of what was shown, and of nothing else
		if given != nil {
			limits := given(r.Limits)
			steering.Limits = &limits
		}
		return steering, nil
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if !app.JSON {
		app.Printf("The halt of %s is overruled. %s\n\n", plain.Line(gate, 60), cli.GoesOn(s, info))
	}
	least := view.Important
	if o.verbose {
		least = view.Detail
	}
	return app.Attend(ctx, s, info.ID, cli.FollowOptions{From: from, Least: least})
}

// look shows a person what they are about to overrule and returns the event of the verdict when they
// mean it. It returns 0 if nobody can be asked, or if there is nothing to overrule: the run says then what
// is wrong.
func look(ctx context.Context, app *cli.App, run, gate string) (pawl.Seq, error) {
	s, _, r, err := app.ReadRun(ctx, []string{run})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	h := r.Halt(gate)
	if h == nil || !app.Interactive {
		return 0, nil
	}
	// Standard output may be a file, or JSON.
	_, _ = fmt.Fprintf(app.Err, "%s\n\nType the name of the review to overrule its halt: ", view.HaltText(r, h, cli.Blobs(ctx, s, r.ID)))
	line, _ := app.ReadAnswer(ctx) // no answer overrules nothing
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if line != gate {
		return 0, pawl.Errorf(pawl.CodeState, "nothing is overruled; run %s stays halted", r.ID).WithHint("pawl show %s", r.ID)
	}
	return h.Seq, nil
}

// complete offers the runs that a review has halted, and that review.
func complete(ctx context.Context, app *cli.App, args []string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return app.CompleteRuns(ctx, func(r pawl.RunInfo) string { return cli.State(r) + ", " + plain.Line(r.Title, 60) })
	case 1:
		if s, _, r, err := app.ReadRun(ctx, args); err == nil {
			defer s.Close()
			if h := r.Halt(""); h != nil {
				return []string{h.Gate.Gate + "\t" + plain.Line(h.Reason, 60)}, cobra.ShellCompDirectiveNoFileComp
			}
		}
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
