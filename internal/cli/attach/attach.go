// Package attach is pawl attach: give a repository the runs of one that is gone.
package attach

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
)

// World is how the command reaches what is stored.
type World struct {
	// Attach gives the repository the runs of another one, whose place or state folder from
	// may name, and returns its work tree.
	Attach func(ctx context.Context, from string) (root string, err error)
	// Separate makes the repository a copy without runs. It returns false if there was nothing
	// to do: the repository has an identity of its own.
	Separate func(ctx context.Context) (done bool, err error)
}

// Attached is what the command says as JSON.
type Attached struct {
	Root string         `json:"root"`
	Runs []pawl.RunInfo `json:"runs"`
}

// New is the command.
func New(app *cli.App, world World) *cobra.Command {
	var from string
	var separate bool
	c := &cobra.Command{
		Use:   "attach",
		Short: "Give this repository the runs of one that is gone",
		Long: `Attach gives this repository the runs of another one that is gone: one that was
copied or cloned here and then removed, or moved to another disk. To continue,
the runs need their branches here. Only stored data changes its owner. A
repository that was moved on its disk is found without this command, and one
that is still in its place keeps its runs.

With --new this repository is a copy without runs, and Pawl does not ask again.

` + cli.ExitCodes,
		Example: "  pawl attach\n  pawl attach --from ~/old/shop\n  pawl attach --new",
		Args:    cli.Args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if separate && from != "" {
				return pawl.Errorf(pawl.CodeInvalid, "--from and --new exclude each other")
			}
			if separate {
				return begin(ctx, app, world)
			}
			if from != "" && !filepath.IsAbs(from) {
				abs, err := filepath.Abs(filepath.Join(app.Dir, from))
				if err != nil {
					return pawl.Errorf(pawl.CodeInvalid, "--from %s: %w", from, err)
				}
				from = abs
			}
			root, err := world.Attach(ctx, from)
			if err != nil {
				return err
			}
			runs, err := runsHere(ctx, app)
			if err != nil {
				return err
			}
			if app.JSON {
				return app.Encode(Attached{root, runs})
			}
			app.Printf("%s has %s now\n", root, count(runs))
			for _, r := range runs {
				app.WarnInterrupted(r)
			}
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", "", "the `PLACE` where the other repository was, or its id from pawl serve status")
	c.Flags().BoolVar(&separate, "new", false, "treat this repository as a copy without runs")
	return c
}

// begin makes this repository one without the runs of another.
func begin(ctx context.Context, app *cli.App, world World) error {
	done, err := world.Separate(ctx)
	switch {
	case err != nil:
		return err
	case done:
		app.Notef("this repository has no runs, and an identity of its own")
		return nil
	}
	runs, err := runsHere(ctx, app)
	if err != nil {
		return err
	}
	app.Notef("nothing to do: this repository has an identity of its own already, and %s", count(runs))
	return nil
}

func count(runs []pawl.RunInfo) string {
	switch len(runs) {
	case 0:
		return "no runs"
	case 1:
		return "1 run"
	}
	return fmt.Sprintf("%d runs", len(runs))
}

// runsHere returns the runs of the repository that the command is given in.
func runsHere(ctx context.Context, app *cli.App) (runs []pawl.RunInfo, err error) {
	s, err := app.With(ctx, cli.Read, func(s *cli.Session) (err error) {
		runs, err = s.Service.Runs(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return runs, s.Close()
}
