// Package man is pawl man: write the man pages, which are made of what the commands say of
// themselves. It is for make install and whoever packages pawl, so the command is hidden.
package man

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"pawl"
	"pawl/internal/cli"
)

// New is the command. It opens nothing.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the man pages into a folder",
		Hidden: true,
		Long: `Man writes a page for each command into the folder DIR: pawl.1, pawl-run.1 and
so on. make install does it for you.

` + cli.ExitCodes,
		Example: "  pawl man ~/.local/share/man/man1",
		Args:    cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := Write(cmd.Root(), app.Version, args[0])
			if err != nil {
				return pawl.Errorf(pawl.CodeUnavailable, "%w", err).WithHint("name a folder that you may write to")
			}
			if app.JSON {
				return app.Encode(map[string]any{"folder": args[0], "pages": n})
			}
			app.Printf("Wrote %d man pages into %s.\n", n, args[0])
			return nil
		},
	}
}

// Write writes a page for each command into a folder, which is made when it is not there:
// pawl.1, pawl-run.1 and so on. It returns how many there are. The help of the commands is
// changed on the way.
func Write(root *cobra.Command, version, dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fmt.Errorf("write the man pages: %w", err)
	}
	root.DisableAutoGenTag = true
	fenceAll(root)
	header := doc.GenManHeader{Title: "PAWL", Section: "1", Source: "Pawl " + version, Manual: "Pawl"}
	if err := doc.GenManTree(root, &header, dir); err != nil {
		return 0, fmt.Errorf("write the man pages: %w", err)
	}
	return available(root), nil
}

// available counts a command and those below it that are not hidden.
func available(c *cobra.Command) int {
	n := 1
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() && !below.IsAdditionalHelpTopicCommand() {
			n += available(below)
		}
	}
	return n
}

// fenceAll lets what is laid out in lines in the help of commands stay so in their pages.
func fenceAll(c *cobra.Command) {
	c.Long = fence(c.Long)
	for _, below := range c.Commands() {
		fenceAll(below)
	}
}

// fence puts the indented lines of a text into blocks that Markdown does not fill.
func fence(text string) string {
	if text == "" {
		return "" // the page has the short text then
	}
	const mark = "```\n"
	var b strings.Builder
	within := false
	for line := range strings.Lines(text + "\n") {
		indented := strings.HasPrefix(line, " ")
		if indented != within {
			b.WriteString(mark)
			within = indented
		}
		b.WriteString(line)
	}
	if within {
		b.WriteString(mark)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
