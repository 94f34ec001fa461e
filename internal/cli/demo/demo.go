// Package demo is pawl demo: the main job from end to end, offline. It makes a
// small repository, and runs pawl on it with a scripted model; everything but
// the model is real.
package demo

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/cli"
)

//go:embed repo script.yaml
var files embed.FS

const goal = "Make collapses runs of separators into one dash and leaves none at the ends"

var criteria = []string{
	"a run of characters that are not letters or digits becomes one dash",
	"a slug neither begins nor ends with a dash",
}

// New is the command. run executes pawl itself with arguments, in a folder.
func New(app *cli.App, run func(ctx context.Context, dir string, args ...string) error) *cobra.Command {
	var keep string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job offline: fail, feedback, fail, escalate, succeed",
		Long: `Demo makes a small Go repository and lets the task loop work on it with a
scripted model. Everything else is real: worktrees, files, go vet and go test as
gates, commits, the log. It needs git and Go, no key and no network.`,
		Example: "  pawl demo\n  pawl demo --keep ./demo && cd demo && git log --all --oneline",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), app, keep, run)
		},
	}
	c.Flags().StringVar(&keep, "keep", "", "make the repository in this folder and leave it there")
	return c
}

func show(ctx context.Context, app *cli.App, keep string, run func(context.Context, string, ...string) error) error {
	dir := keep
	if dir == "" {
		tmp, err := os.MkdirTemp("", "pawl-demo-")
		if err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		defer os.RemoveAll(tmp)
		dir = filepath.Join(tmp, "slug")
	}
	script, err := lay(ctx, dir)
	if err != nil {
		return err
	}
	app.Notef("a small Go package in %s, and this to be done:", dir)
	args := []string{"run", goal, "--recipe", "taskloop", "--model", "script:" + script, "--unsandboxed",
		"--gate", "types=go vet ./...", "--gate", "tests=go test -json ./..."}
	for _, c := range criteria {
		args = append(args, "--criteria", c)
	}
	return run(ctx, dir, args...)
}

// lay makes the repository, with one commit, and returns where the script is.
func lay(ctx context.Context, dir string) (script string, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the repository: %w", err)
	}
	entries, err := files.ReadDir("repo")
	if err != nil {
		return "", fmt.Errorf("read the demo: %w", err)
	}
	for _, e := range entries {
		if err := copyOut("repo/"+e.Name(), filepath.Join(dir, strings.TrimSuffix(e.Name(), ".txt"))); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=Demo", "-c", "user.email=demo@localhost", "commit", "-q", "-m", "A small package"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	script = filepath.Join(dir, ".git", "demo-script.yaml") // out of the work tree
	return script, copyOut("script.yaml", script)
}

func copyOut(name, to string) error {
	data, err := files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the demo: %w", err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		return fmt.Errorf("write the demo: %w", err)
	}
	return nil
}
