package main

import (
	"context"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/attach"
	"pawl/internal/project"
	"pawl/internal/workspace/gitworktree"
)

// attachWorld is how pawl attach reaches what is stored.
func attachWorld(app *cli.App) attach.World {
	home := project.HomeAt(app.StateHome)
	here := func(ctx context.Context) (pawl.Repository, error) { return gitworktree.Inspect(ctx, nil, app.Dir) }
	return attach.World{
		Attach: func(ctx context.Context, from string) (string, error) {
			repo, err := here(ctx)
			if err == nil {
				_, err = home.Attach(repo, from, app.Version)
			}
			return repo.Root, err
		},
		Separate: func(ctx context.Context) (bool, error) {
			repo, err := here(ctx)
			if err != nil {
				return false, err
			}
			if _, err := project.At(app.StateHome, repo); pawl.CodeOf(err) != pawl.CodeState {
				return false, err // nil: it is clear whose runs it has
			}
			return true, home.Separate(repo)
		},
	}
}
