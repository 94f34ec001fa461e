// Package diff is pawl diff: what a run has changed.
package diff

import (
	"context"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/project"
	"pawl/internal/view"
)

// Compare returns the difference between two commits of a project as git prints it: the patch, or with
// stat > 0 the files with how much of each has changed, in so many columns. Unless raw, marks replace
// secrets; marked is how many lines of the patch have one for that.
type Compare func(ctx context.Context, p project.Project, from, to pawl.CommitHash, stat int, raw bool) (out []byte, marked int, err error)

type options struct {
	stat    bool
	raw     bool
	attempt int
}

// New is the command.
func New(app *cli.App, compare Compare) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "diff [RUN]",
		Short: "Show what a run changed",
		Long: `Diff prints the difference between the commit a run started from and the last
commit of its branch, as git does, without control characters and with a mark
such as [redacted:github-pat] in place of each secret. That is for reading: with
--raw it is exact, secrets included, and can be piped to git apply. With
--attempt it prints what one iteration changed. Without RUN it shows the latest
run.

Of a commit that was examined for findings, --stat and --json also say what each
changed path is to the gates: code, test, gate input and so on.

` + cli.ExitCodes,
		Example: "  pawl diff\n  pawl diff 7 --stat\n  pawl diff 7 --attempt 2",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, _, r, err := app.ReadRun(ctx, args)
			if err != nil {
				return err
			}
			defer s.Close()
			from, to, err := o.commits(r)
			if err != nil {
				return err
			}
			width := 0
			if o.stat {
				width = app.Width()
			}
			patch, marked, err := compare(ctx, s.Project, from, to, width, o.raw)
			if err != nil {
				return err
			}
			paths := r.ChangedPaths(from, to, cli.Blobs(ctx, s, r.ID))
			if app.JSON {
				doc := map[string]any{"run": r.ID, "from": from, "to": to, "diff": string(patch)}
				if marked > 0 {
					doc["redacted"] = marked
				}
				if len(paths) > 0 {
					doc["paths"] = paths
				}
				return app.Encode(doc)
			}
			if marked > 0 && !app.Terminal {
				app.Notef("marks such as [redacted:NAME] replace secrets, so git apply cannot use this patch; --raw prints the bytes as they are")
			}
			app.Print(patch, o.raw)
			if o.stat && len(paths) > 0 {
				app.Printf("\n%s", view.ChangedPathsText(paths))
			}
			return nil
		},
	}
	cli.RunArgs(c, app, false)
	c.Flags().BoolVar(&o.stat, "stat", false, "list only the changed files, with how much changed")
	c.Flags().BoolVar(&o.raw, "raw", false, "print the bytes as they are, also secrets and what a terminal would obey")
	c.Flags().IntVar(&o.attempt, "attempt", 0, "show what iteration `N` changed")
	return c
}

// commits are the two to compare.
func (o *options) commits(r *view.Run) (from, to pawl.CommitHash, err error) {
	if o.attempt == 0 {
		if r.Head == "" {
			return r.Start.Base, r.Start.Base, nil
		}
		return r.Start.Base, r.Head, nil
	}
	for _, l := range r.Loops {
		for _, it := range l.Iterations {
			switch {
			case it.N != o.attempt:
			case it.Commit == nil:
				return "", "", pawl.Errorf(pawl.CodeState, "iteration %d of run %s has no commit", o.attempt, r.ID)
			default:
				return it.From, it.Commit.Commit, nil
			}
		}
	}
	return "", "", pawl.Errorf(pawl.CodeNotFound, "run %s has no iteration %d", r.ID, o.attempt).WithHint("pawl show %s lists them", r.ID)
}
