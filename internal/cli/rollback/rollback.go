// Package rollback is pawl rollback: take a run back to a checkpoint.
package rollback

import (
	"context"
	"fmt"
	"slices"
	"strconv"

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
		Use:   "rollback RUN [CHECKPOINT]",
		Short: "Take a run's code and tasks back to a checkpoint",
		Long: `Rollback takes a run back to a checkpoint, by default to the last good one. Its
branch gets a new commit with the code of the checkpoint, and tasks that were
approved later are open again. Nothing is lost: the commits in between stay on
the branch, work in progress is kept under refs/pawl/, and what went wrong is
recorded for the next attempts. Money spent, answers and the plan do not go
back.

A run that works on no list of tasks, such as one of the default recipe, goes
back to an attempt, by default to the best verified one, and continues from
there; an attempt in progress is given up. A run that has ended is resumed for
it, with new limits where they are used up.

The command returns at once if another process drives the run. An interrupted
run continues here.

` + cli.RunExitCodes,
		Example: "  pawl checkpoints 7\n  pawl rollback 7\n  pawl rollback 7 1 --max-iterations 8\n  pawl rollback 7 2 --reason \"the new storage was a mistake\"",
		Args:    cli.Args(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return execute(cmd, app, args, reason)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd.Context(), app, args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		},
	}
	cli.LimitFlags(c.Flags())
	c.Flags().StringVar(&reason, "reason", "", "why, a `SENTENCE` that later attempts are shown")
	return c
}

func execute(cmd *cobra.Command, app *cli.App, args []string, reason string) error {
	ctx, wanted := cmd.Context(), 0
	given, err := cli.GivenLimits(cmd)
	if err != nil {
		return err
	}
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 {
			return pawl.Errorf(pawl.CodeInvalid, "%q is not a checkpoint's number: want 1 or more", plain.Line(args[1], 40)).
				WithHint("pawl checkpoints %s lists them", plain.Line(args[0], 60))
		}
		wanted = n
	}
	var to view.CheckpointRow
	s, info, from, err := app.SteerFrom(ctx, args[:1], func(_ pawl.RunInfo, r *view.Run) (_ pawl.Steering, err error) {
		to, err = find(r, wanted)
		in := pawl.Steering{Verb: pawl.SteerRollback, Checkpoint: to.N, Reason: reason, By: app.User()}
		if given != nil {
			limits := given(r.Limits)
			in.Limits = &limits
		}
		return in, err
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	where := fmt.Sprintf("checkpoint %d (%s)", to.N, pawl.CheckpointAfter(to.Label))
	if to.Ref == "" {
		where = to.Label
	}
	return app.Steered(ctx, s, from, "Run %s goes back to %s. See: pawl checkpoints %s", info.ID, where, info.ID)
}

// find is the checkpoint of a number, or the last good one.
func find(r *view.Run, wanted int) (view.CheckpointRow, error) {
	list := view.Checkpoints(r)
	if len(list.Checkpoints) == 0 {
		return view.CheckpointRow{}, pawl.Errorf(pawl.CodeState, "run %s has no checkpoint", r.ID).
			WithHint("it has its first one when its first batch, or its first attempt, has ended: pawl why %s", r.ID)
	}
	n := wanted
	if n == 0 {
		if n = list.LastGood; list.Checkpoints[0].Ref == "" { // attempts
			n = list.Best
		}
	}
	i := slices.IndexFunc(list.Checkpoints, func(k view.CheckpointRow) bool { return k.N == n })
	switch {
	case n == 0:
		return view.CheckpointRow{}, pawl.Errorf(pawl.CodeState, "run %s has no good checkpoint", r.ID).
			WithHint("name one: pawl checkpoints %s lists them", r.ID)
	case i < 0:
		return view.CheckpointRow{}, pawl.Errorf(pawl.CodeNotFound, "run %s has no checkpoint %d", r.ID, n).
			WithHint("pawl checkpoints %s lists them", r.ID)
	}
	return list.Checkpoints[i], nil
}

// complete offers runs, and the checkpoints of one.
func complete(ctx context.Context, app *cli.App, args []string) []string {
	if len(args) == 0 {
		out, _ := app.CompleteRuns(ctx, func(r pawl.RunInfo) string { return cli.State(r) + ", " + plain.Line(r.Title, 60) })
		return out
	}
	if len(args) > 1 {
		return nil
	}
	s, _, r, err := app.ReadRun(ctx, args)
	if err != nil {
		return nil
	}
	defer s.Close()
	var out []string
	for _, k := range slices.Backward(view.Checkpoints(r).Checkpoints) {
		out = append(out, fmt.Sprintf("%d\t%s, %d approved", k.N, pawl.CheckpointAfter(k.Label), k.Approved))
	}
	return out
}
