package main

import (
	"bytes"
	"context"
	"os/exec"
	"strings"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/merge"
	"pawl/internal/view"
)

// usersGit runs git as the user would in a folder: with their configuration and environment, and
// with their terminal, so that it can ask for a passphrase.
func usersGit(app *cli.App) func(ctx context.Context, dir string, args ...string) (string, error) {
	return func(ctx context.Context, dir string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		var out, said bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = app.In, &out, &said, app.Environ
		err := cmd.Run()
		if text := strings.TrimSpace(said.String()); err != nil && text != "" {
			err = pawl.Errorf(pawl.CodeState, "%s", text)
		}
		return out.String(), err
	}
}

// mergedInto returns the branch that is checked out if it has a run's work.
func mergedInto(app *cli.App) func(context.Context, *view.Run) string {
	git := usersGit(app)
	return func(ctx context.Context, r *view.Run) string { return merge.Into(ctx, git, app.Dir, r) }
}
