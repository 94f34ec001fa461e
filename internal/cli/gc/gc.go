// Package gc is pawl gc: what of the stored state nobody needs.
package gc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/project"
	"pawl/internal/view"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	var apply, everywhere bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "Show what of the stored state nobody needs, and remove it",
		Long: fmt.Sprintf(`Gc shows what of this project's state nobody needs any more, how much disk each
thing takes, and what everything takes. Nothing is changed without --apply:

  run       the log of a run that was deleted (pawl rm) more than %d days ago,
            and the refs below refs/pawl/salvage/ that were kept with it
  refs      what a deletion that was cut off left in the repository
  worktree  of a run that has ended or is not known; what is not committed in it
            is kept by a ref below refs/pawl/salvage/
  room      what rooms of such a run keep
  blobs     files that no run names
  cache     layers of the trusted cache above its limit (pawl cache)
  log       space in the log's file that nothing uses

The process that has the project does it, so that runs may be active. What git
itself frees when a ref is gone, your git gc frees.

With --everywhere it is every project that is known on this machine. With --json
it is an object, with --everywhere a list of them with project and root: items
(kind, run, name, size, partial, problem), freed, waiting (deleted runs that are
still kept: run, deleted, until, size), use (name, size) and used, in bytes.

`, int(pawl.KeepDeleted.Hours()/24)) + cli.ExitCodes,
		Example:           "  pawl gc\n  pawl gc --apply\n  pawl gc --everywhere --json | jq '[.[].freed] | add'",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if everywhere {
				return all(cmd.Context(), app, apply)
			}
			return one(cmd.Context(), app, apply)
		},
	}
	f := c.Flags()
	f.BoolVar(&apply, "apply", false, "remove what is shown")
	f.BoolVar(&everywhere, "everywhere", false, "in every project that is known on this machine")
	return c
}

// look asks a project what nobody needs, and has it removed if apply is set.
func look(ctx context.Context, s *cli.Session, apply bool) (pawl.Garbage, error) {
	if apply {
		return pawl.CollectGarbage(ctx, s.Service)
	}
	return pawl.FindGarbage(ctx, s.Service)
}

func one(ctx context.Context, app *cli.App, apply bool) error {
	var g pawl.Garbage
	s, err := app.With(ctx, cli.Steer, func(s *cli.Session) (err error) {
		g, err = look(ctx, s, apply)
		return err
	})
	if cli.IsOutside(err) {
		return hinted(err, "pawl gc --everywhere looks at all projects")
	}
	if err != nil {
		return err
	}
	if app.JSON {
		err = app.Encode(g)
	} else {
		report(app, g, apply, "This project")
	}
	return errors.Join(err, problems(g), s.Close())
}

func hinted(err error, hint string) error {
	if e, ok := errors.AsType[*pawl.Error](err); ok {
		return e.WithHint("%s; or %s", hint, e.Hint)
	}
	return err
}

// problems is the exit code of a collection that could not remove everything: what is wrong
// is said already.
func problems(g pawl.Garbage) error {
	for _, i := range g.Items {
		if i.Problem != "" {
			return cli.Exit(cli.ExitState)
		}
	}
	return nil
}

// found is the garbage of one of many projects.
type found struct {
	cli.Reached
	pawl.Garbage
	// Error says why the project could not be looked at.
	Error string `json:"error,omitempty"`
}

func all(ctx context.Context, app *cli.App, apply bool) error {
	out := []found{}
	var total, freed int64
	var failed error
	err := app.Each(ctx, cli.Steer, func(p project.Project, s *cli.Session, err error) error {
		f := found{Reached: cli.ReachedAs(p)}
		if err == nil {
			f.Garbage, err = look(ctx, s, apply)
		}
		if err != nil {
			f.Error, failed = err.Error(), cli.Exit(cli.ExitUnavailable)
		}
		out = append(out, f)
		total, freed = total+f.Used, freed+f.Freed
		if app.JSON {
			return ctx.Err()
		}
		if len(out) > 1 {
			app.Printf("\n")
		}
		app.Printf("%s\n", plain.Line(f.Root, 0))
		if err != nil {
			text := plain.Line(err.Error(), 0)
			if why, ok := errors.AsType[*pawl.Error](err); ok && why.Hint != "" {
				text += ": " + plain.Line(why.Hint, 0)
			}
			app.Printf("cannot be looked at: %s\n", text)
			return ctx.Err()
		}
		report(app, f.Garbage, apply, "It")
		if failed == nil {
			failed = problems(f.Garbage)
		}
		return ctx.Err()
	})
	switch {
	case err != nil:
		return err
	case app.JSON:
		return errors.Join(app.Encode(out), failed)
	case len(out) == 0:
		app.Notef("no project is known on this machine")
	case len(out) > 1 && apply:
		app.Printf("\nAll projects take %s; %s were freed.\n", pawl.Bytes(total), pawl.Bytes(freed))
	case len(out) > 1:
		app.Printf("\nAll projects take %s; %s of it can be freed.\n", pawl.Bytes(total), pawl.Bytes(freed))
	}
	return failed
}

// report prints what there is as a table, what waits, and what everything takes.
func report(app *cli.App, g pawl.Garbage, apply bool, who string) {
	width := 0
	if app.Terminal {
		width = app.Width()
	}
	lines := table(g.Items, apply)
	switch {
	case len(g.Items) == 0:
		lines = append(lines, "There is nothing to remove.")
	case apply:
		lines = append(lines, fmt.Sprintf("%s freed.", pawl.Bytes(g.Freed)))
	default:
		lines = append(lines, fmt.Sprintf("%s can be freed: pawl gc --apply", pawl.Bytes(g.Freed)))
	}
	for _, d := range g.Waiting {
		lines = append(lines, fmt.Sprintf("Run %s, deleted on %s, is kept until %s (%s).", plain.Line(string(d.Run), 0), cli.Date(d.Deleted), cli.Date(d.Until), pawl.Bytes(d.Size)))
	}
	for _, line := range lines {
		if width > 0 {
			line = ansi.Truncate(line, width, "…")
		}
		app.Printf("%s\n", line)
	}
	app.Printf("%s takes %s of disk%s.\n", who, pawl.Bytes(g.Used), uses(g))
	for _, i := range g.Items {
		if i.Problem != "" {
			app.Notef("%s %s could not be removed: %s", i.Kind, i.Name, i.Problem)
		}
	}
}

// uses says what takes most.
func uses(g pawl.Garbage) string {
	const shown = 4
	var parts []string
	for _, u := range g.Use[:min(shown, len(g.Use))] {
		parts = append(parts, size(u.Size, u.Partial)+" "+u.Name)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func size(n int64, partial bool) string {
	if partial {
		return "at least " + pawl.Bytes(n).String()
	}
	return pawl.Bytes(n).String()
}

func table(items []pawl.GarbageItem, apply bool) []string {
	if len(items) == 0 {
		return nil
	}
	heading := "FREES"
	if apply {
		heading = "FREED"
	}
	rows := [][]string{{"WHAT", heading, "NAME"}}
	for _, i := range items {
		name := plain.Line(i.Name, 0)
		if run := plain.Line(string(i.Run), 0); run != "" && !strings.HasPrefix(name, run) {
			name = run + ": " + name
		}
		rows = append(rows, []string{string(i.Kind), size(i.Size, i.Partial), name})
	}
	return view.Columns(rows, 0)
}
