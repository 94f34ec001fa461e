package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// helpWidth is how many columns a line of help may have, such as that of a flag.
const helpWidth = 80

// printUsage prints how a command is called. It is cobra's own text with flags wrapped
// at helpWidth. Cobra can wrap them only in a template of its users, and a template
// would keep every exported method of every type in the program
// (docs/decisions/042-size-of-the-program.md).
func printUsage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		fmt.Fprintf(&b, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s [command]", c.CommandPath())
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, "\n\nAliases:\n  %s", c.NameAndAliases())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\n\nExamples:\n%s", c.Example)
	}
	if c.HasAvailableSubCommands() {
		usageOfCommands(&b, c)
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\n\nFlags:\n%s", trimEnd(c.LocalFlags().FlagUsagesWrapped(helpWidth)))
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\n\nGlobal Flags:\n%s", trimEnd(c.InheritedFlags().FlagUsagesWrapped(helpWidth)))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	_, err := fmt.Fprintln(c.OutOrStderr(), b.String())
	return err
}

// usageOfCommands adds the commands below c: those of each group, or all where there are no groups.
func usageOfCommands(b *strings.Builder, c *cobra.Command) {
	list := func(title, group string) {
		fmt.Fprintf(b, "\n\n%s", title)
		for _, sub := range c.Commands() {
			if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	for _, g := range c.Groups() {
		list(g.Title, g.ID)
	}
	switch {
	case len(c.Groups()) == 0:
		list("Available Commands:", "")
	case !c.AllChildCommandsHaveGroup():
		list("Additional Commands:", "")
	}
}

func trimEnd(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }
