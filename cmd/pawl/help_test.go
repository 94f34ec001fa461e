package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
)

// Every command says what it is for, shows an example, and tells its exit codes.
func TestEveryCommandIsExplained(t *testing.T) {
	root := newRoot(&cli.App{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		t.Run(strings.ReplaceAll(c.CommandPath(), " ", "_"), func(t *testing.T) {
			if c.Name() != "help" {
				var help bytes.Buffer
				c.SetOut(&help)
				if err := c.Help(); err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{"Exit codes:", "Examples:", "Usage:"} {
					if !strings.Contains(help.String(), want) {
						t.Errorf("its help has no %q:\n%s", want, help.String())
					}
				}
				for line := range strings.Lines(help.String()) {
					if len([]rune(strings.TrimRight(line, "\n"))) > helpWidth {
						t.Errorf("a line of its help is too long for a terminal: %q", line)
					}
				}
			}
			if c.Short == "" || strings.HasSuffix(c.Short, ".") {
				t.Errorf("its line in lists: %q", c.Short)
			}
			if c.Args == nil && c.Name() != "help" {
				t.Error("it does not check its arguments: what is wrong would exit with 1")
			}
			if c.HasParent() && !c.Parent().HasParent() && c.GroupID == "" {
				t.Error("it stands in no group")
			}
		})
		for _, below := range c.Commands() {
			check(below)
		}
	}
	check(root)
}

// Every command that uses a project opens it through its App. A command that was given
// none fails here at once. A story might wait forever for what it prints.
func TestCommandsOpenTheProject(t *testing.T) {
	refused := errors.New("the project cannot be opened")
	for _, line := range []string{
		"run x", "resume 1", "pause 1", "cancel 1", "inbox", "answer", "plan show", "signal 1 pause --to 1-a", "replan 1", "continue 1", "rollback 1", "fork 1 --at 2",
		"list", "top --once", "tasks", "loops", "checkpoints", "show", "logs", "diff", "why", "events", "memory",
		"export --dir x", "replay", "archive 1", "cache", "cache prune",
	} {
		t.Run(strings.ReplaceAll(line, " ", "_"), func(t *testing.T) {
			app := &cli.App{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Dir: t.TempDir(), StateHome: t.TempDir(),
				Open:     func(context.Context, cli.Access) (*cli.Session, error) { return nil, refused },
				Root:     func(context.Context) string { return "" },
				Projects: func(context.Context) (pawl.Projects, func() error, error) { return nil, nil, refused },
			}
			root := newRoot(app)
			root.SilenceErrors, root.SilenceUsage = true, true
			root.SetArgs(strings.Fields(line))
			if err := root.ExecuteContext(t.Context()); !errors.Is(err, refused) {
				t.Errorf("got %v, want %v", err, refused)
			}
		})
	}
}
