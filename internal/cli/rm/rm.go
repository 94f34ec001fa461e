// Package rm is pawl rm: delete runs.
package rm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	var req pawl.DeleteRequest
	c := &cobra.Command{
		Use:     "rm RUN...",
		Aliases: []string{"delete"},
		Short:   "Delete runs that have ended, with their branches and worktrees",
		Long: fmt.Sprintf(`Rm deletes runs: their branches, those of their loops included, their worktrees,
their refs below refs/pawl/, the folders of their loops, their entries in the
memory and their lines in lists. Numbers stay used: no later run gets that of a
deleted one. RUN is a run's whole id, or its number where its task has one run.

For %d days the log of a deleted run can still be read by its whole id (pawl
show, logs, events, export), and refs below refs/pawl/salvage/RUN/ keep the
commits that no other branch has and what worktrees held: git branch NAME REF
brings them back. After that pawl gc --apply removes them; --now does it at
once.

A run that has not ended is refused, and one that was forked; a branch that you
have checked out is left alone, and so are commits that the run did not make and
that nothing else has, unless you give --force. What is merged into a branch of
yours stays there. Rm of a run whose deletion was cut off removes the rest.

With --json it is a list with one object per run: run, deleted, until (missing
if nothing is kept), branches (name, head), refs (their number), worktrees, kept
(refs) and foreign (commit, subject).

`, int(pawl.KeepDeleted.Hours()/24)) + cli.ExitCodes,
		Example: "  pawl rm 7\n  pawl rm 3 4 5-add-login --now\n  pawl rm 7 --json | jq -r '.[].kept[]'",
		Args:    cli.Args(1, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.By = app.User()
			return execute(cmd.Context(), app, args, req)
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return app.CompleteRuns(cmd.Context(), func(r pawl.RunInfo) string { return cli.State(r) + ", " + plain.Line(r.Title, 60) })
		},
	}
	f := c.Flags()
	f.BoolVar(&req.Now, "now", false, "remove the log and the salvage refs too, instead of keeping them for a time")
	f.BoolVar(&req.Force, "force", false, "delete branches despite commits that the run did not make")
	return c
}

func execute(ctx context.Context, app *cli.App, args []string, req pawl.DeleteRequest) (err error) {
	var runs []pawl.RunID
	s, err := app.With(ctx, cli.Steer, func(s *cli.Session) (err error) {
		runs, err = find(ctx, s, args)
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	done := []pawl.Deletion{}
	for _, run := range runs {
		var d pawl.Deletion
		if d, err = pawl.DeleteRun(ctx, s.Service, run, req); err != nil {
			break
		}
		done = append(done, d)
		if !app.JSON {
			report(app, d)
		}
	}
	if app.JSON && (err == nil || len(done) > 0) {
		if jerr := app.Encode(done); err == nil {
			err = jerr
		}
	}
	return err
}

// find resolves the arguments, each run once, the newest first: a fork is always newer than
// the run that it was forked from.
func find(ctx context.Context, s *cli.Session, args []string) ([]pawl.RunID, error) {
	var found []pawl.RunInfo
	for _, name := range args {
		info, err := cli.FindToDelete(ctx, s.Service, name)
		if err != nil {
			return nil, err
		}
		found = append(found, info)
	}
	slices.SortStableFunc(found, func(a, b pawl.RunInfo) int { return b.Started.Compare(a.Started) })
	var runs []pawl.RunID
	for _, r := range found {
		if !slices.Contains(runs, r.ID) {
			runs = append(runs, r.ID)
		}
	}
	return runs, nil
}

func report(app *cli.App, d pawl.Deletion) {
	var parts []string
	for _, b := range d.Branches {
		parts = append(parts, fmt.Sprintf("branch %s at %.10s", plain.Line(b.Name, 0), b.Head))
	}
	const shown = 3
	if n := len(parts); n > shown {
		parts = append(parts[:shown:shown], count(n-shown, "more branch", "more branches"))
	}
	if n := len(d.Worktrees); n > 0 {
		parts = append(parts, count(n, "worktree", "worktrees"))
	}
	if d.Refs > 0 {
		parts = append(parts, count(d.Refs, "ref", "refs"))
	}
	what := ""
	if len(parts) > 0 {
		what = ", with " + strings.Join(parts, ", ")
	}
	app.Printf("Run %s is deleted%s.\n", d.Run, what)
	if n := len(d.Foreign); n > 0 {
		app.Printf("  %s that the run did not make went with it: %.10s %s\n", count(n, "commit", "commits"), d.Foreign[0].Commit, plain.Line(d.Foreign[0].Subject, 60))
	}
	if d.Until.IsZero() {
		app.Printf("  Nothing is kept.\n")
		return
	}
	kept := "its log"
	if n := len(d.Kept); n > 0 {
		kept += fmt.Sprintf(", and %s below refs/pawl/salvage/%s/", count(n, "ref", "refs"), d.Run)
	}
	app.Printf("  Kept until %s: %s. To remove that too: pawl rm %s --now\n", cli.Date(d.Until), kept, d.Run)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
