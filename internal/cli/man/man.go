// Package man writes the man pages of pawl, made of what its commands say of themselves. It
// is for the build: the program itself does not have it.
package man

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Write writes a page for each command into a folder, which is made when it is not there:
// pawl.1, pawl-run.1 and so on.
func Write(root *cobra.Command, version, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the man pages: %w", err)
	}
	root.DisableAutoGenTag = true
	fenceAll(root)
	header := doc.GenManHeader{Title: "PAWL", Section: "1", Source: "Pawl " + version, Manual: "Pawl"}
	if err := doc.GenManTree(root, &header, dir); err != nil {
		return fmt.Errorf("write the man pages: %w", err)
	}
	return nil
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
