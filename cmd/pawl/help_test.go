package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

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
				for line := range strings.Lines(c.Long) {
					if len([]rune(strings.TrimRight(line, "\n"))) > 82 {
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
