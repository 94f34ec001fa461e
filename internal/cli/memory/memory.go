// Package memory is pawl memory: what the project's runs remember.
package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
)

type options struct {
	kinds []string
	run   string
	all   bool
	limit int
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	c := list(app)
	c.Use = "memory"
	c.Short = "Show, search and forget what runs have learned"
	c.Long = `Memory lists what the runs of this project have written down: decisions,
learnings, discoveries, errors, artifacts, anti-patterns and instructions. Later
prompts are shown what fits their task, until it is forgotten. An entry is named
RUN/N, such as 7/3: RUN as everywhere, N its number in the run. What a fork has
in common with the run it is of is listed once, as that run's; --run shows a
fork's.

` + cli.ExitCodes
	c.Example = "  pawl memory\n  pawl memory search parser tabs --kind learning\n  pawl memory forget 7/3 --reason \"the API has changed\""
	c.Args = cli.NoCommand
	c.AddCommand(list(app), show(app), search(app), forget(app), export(app))
	return c
}

func list(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "list",
		Short: "List what is remembered, oldest first",
		Long: `List shows what is remembered, oldest first. --all includes, with a mark, what
no prompt is shown because it was forgotten or comes from a failed attempt.

` + cli.ExitCodes,
		Example:           "  pawl memory list --run 7 --all\n  pawl memory list --kind decision,learning --json | jq -r '.[].text'",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.find(cmd.Context(), app, "") },
	}
	o.flags(c, app)
	return c
}

func search(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Search what is remembered, best match first",
		Long: `Search finds the entries that have any of the words, the best match first. The
words have no syntax: quotes, * and the like have no special meaning.

` + cli.ExitCodes,
		Example:           "  pawl memory search login form\n  pawl memory search \"why no tabs?\" --kind decision",
		Args:              cli.Args(1, 1000),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			if strings.TrimSpace(text) == "" {
				return pawl.Errorf(pawl.CodeInvalid, "there are no words to look for").WithHint("pawl memory list shows everything")
			}
			return o.find(cmd.Context(), app, text)
		},
	}
	o.flags(c, app)
	return c
}

func (o *options) flags(c *cobra.Command, app *cli.App) {
	f := c.Flags()
	f.StringSliceVar(&o.kinds, "kind", nil, "only entries of `KIND`: "+strings.Join(kinds(), ", "))
	f.StringVar(&o.run, "run", "", "only entries of `RUN`")
	f.BoolVar(&o.all, "all", false, "include, marked, what was forgotten or comes from failed attempts")
	f.IntVar(&o.limit, "limit", 200, "show at most `N` entries: the newest, or the best matches")
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("run", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return app.CompleteRuns(cmd.Context(), func(r pawl.RunInfo) string { return plain.Line(r.Title, 60) })
	})
}

func kinds() []string {
	var out []string
	for _, k := range pawl.MemoryKinds {
		out = append(out, string(k))
	}
	return out
}

// query is what the flags ask for; the run is not resolved yet.
func (o *options) query(text string) (pawl.MemoryQuery, error) {
	q := pawl.MemoryQuery{Text: text, Passed: !o.all, Forgotten: o.all, Limit: o.limit}
	if o.limit < 1 {
		return q, pawl.Errorf(pawl.CodeInvalid, "--limit %d: want 1 or more", o.limit)
	}
	for _, k := range o.kinds {
		kind := pawl.MemoryKind(k)
		if !slices.Contains(pawl.MemoryKinds, kind) {
			return q, pawl.Errorf(pawl.CodeInvalid, "there is no kind %q", plain.Line(k, 40)).WithHint("the kinds are %s", strings.Join(kinds(), ", "))
		}
		q.Kinds = append(q.Kinds, kind)
	}
	return q, nil
}

func (o *options) find(ctx context.Context, app *cli.App, text string) error {
	q, err := o.query(text)
	if err != nil {
		return err
	}
	var found []pawl.MemoryEntry
	s, err := app.With(ctx, cli.Read, func(s *cli.Session) error {
		if o.run != "" {
			info, err := cli.Find(ctx, s, o.run)
			if err != nil {
				return err
			}
			q.Run = info.ID
		}
		found, err = s.Recall(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	defer s.Close()
	full := len(found) == o.limit
	if q.Run == "" {
		found = once(found)
	}
	if app.JSON {
		return app.Encode(documents(found))
	}
	if len(found) == 0 {
		app.Notef("%s", nothing(q))
		return nil
	}
	width := 0
	if app.Terminal {
		width = app.Width()
	}
	for _, line := range table(found, width) {
		app.Printf("%s\n", line)
	}
	if full {
		app.Notef("there may be more: --limit %d shows them", 10*o.limit)
	}
	return nil
}

// nothing says that nothing was found, and what may help.
func nothing(q pawl.MemoryQuery) string {
	switch {
	case q.Text != "":
		return "nothing that is remembered has one of these words. pawl memory list --all shows everything"
	case !q.Forgotten:
		return "nothing is remembered. What was forgotten, or comes from attempts that failed, shows with --all"
	}
	return "nothing is remembered: runs of recipes that take learnings from their work write them down"
}
