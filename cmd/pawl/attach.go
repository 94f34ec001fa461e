package main

import (
	"context"

	"pawl/internal/cli"
	"pawl/internal/cli/attach"
	"pawl/internal/project"
	"pawl/internal/workspace/gitworktree"
)

// attachWorld is how pawl attach reaches what is stored.
func attachWorld(app *cli.App) attach.World {
	home := project.HomeAt(app.StateHome)
	return attach.World{
		Attach: func(ctx context.Context, from string) (string, error) {
			repo, err := gitworktree.Inspect(ctx, nil, app.Dir)
			if err != nil {
				return "", err
			}
			_, err = home.Attach(repo, from, app.Version)
			return repo.Root, err
		},
		Separate: func(ctx context.Context) error {
			repo, err := gitworktree.Inspect(ctx, nil, app.Dir)
			if err != nil {
				return err
			}
			return home.Separate(repo)
		},
	}
}
