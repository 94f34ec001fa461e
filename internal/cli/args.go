package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/plain"
)

// RunArgs is for commands whose only argument is a run; need says that it must
// be given.
func RunArgs(c *cobra.Command, app *App, need bool) {
	least := 0
	if need {
		least = 1
	}
	c.Args = Args(least, 1)
	c.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return app.CompleteRuns(cmd.Context(), func(r pawl.RunInfo) string { return State(r) + ", " + plain.Line(r.Title, 60) })
	}
}

// CompleteRuns offers the runs, newest first, each with what about says of it.
func (a *App) CompleteRuns(ctx context.Context, about func(pawl.RunInfo) string) ([]string, cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	s, err := a.Open(ctx, Read)
	if err != nil {
		return nil, how
	}
	defer s.Close()
	runs, err := s.Runs(ctx)
	if err != nil {
		return nil, how
	}
	var out []string
	for _, r := range slices.Backward(runs) {
		out = append(out, string(r.ID)+"\t"+about(r))
	}
	return out, how
}

// Args checks the number of a command's arguments.
func Args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		hint := "pawl " + strings.TrimPrefix(cmd.UseLine(), "pawl ")
		switch {
		case len(args) < least:
			return pawl.Errorf(pawl.CodeInvalid, "%s needs an argument", cmd.CommandPath()).WithHint("%s", hint)
		case len(args) > most:
			return pawl.Errorf(pawl.CodeInvalid, "%s: too many arguments, from %q", cmd.CommandPath(), plain.Line(args[most], 60)).WithHint("%s", hint)
		}
		return nil
	}
}

// NoCommand is for commands that have commands below them: what is left of the
// arguments is none of these.
func NoCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2 // as cobra does where it finds out itself
	}
	err := pawl.Errorf(pawl.CodeInvalid, "there is no command %q", strings.TrimSpace(cmd.CommandPath()+" "+plain.Line(args[0], 40)))
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return err.WithHint("did you mean: %s %s", cmd.CommandPath(), strings.Join(near, ", or "+cmd.CommandPath()+" "))
	}
	return err.WithHint("%s --help lists the commands", cmd.CommandPath())
}
