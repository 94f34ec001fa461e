package memory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/document/pandora"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// document is an entry as JSON.
type document struct {
	ID string `json:"id"` // RUN/N
	pawl.MemoryEntry
	// Note is what Pandora writes of a task's learnings.
	Note *pandora.Learning `json:"note,omitempty"`
}

func documents(entries []pawl.MemoryEntry) []document {
	out := []document{}
	for _, e := range entries {
		out = append(out, document{ID: name(e), MemoryEntry: e})
	}
	return out
}

// once leaves out what forks have in common with the runs they are of, unless
// they have made something else of it since.
func once(entries []pawl.MemoryEntry) []pawl.MemoryEntry {
	type event struct {
		seq               pawl.Seq
		time              int64
		text              string
		failed, forgotten bool
	}
	of := func(e pawl.MemoryEntry) event {
		return event{e.Seq, e.Time.UnixNano(), e.Text, e.Failed, e.Forgotten}
	}
	first := map[event]pawl.MemoryEntry{}
	for _, e := range entries {
		if had, ok := first[of(e)]; !ok || earlierRun(e.Run, had.Run) {
			first[of(e)] = e
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e pawl.MemoryEntry) bool { return first[of(e)].Run != e.Run })
}

// earlierRun reports whether a run of a task began before another one of it.
func earlierRun(a, b pawl.RunID) bool {
	of, n := a.Task()
	other, m := b.Task()
	return of == other && n < m
}

func name(e pawl.MemoryEntry) string { return fmt.Sprintf("%s/%d", e.Run, e.N) }

// mark says why no prompt is shown an entry; empty when prompts are.
func mark(e pawl.MemoryEntry) string {
	switch {
	case e.Forgotten:
		return "forgotten"
	case e.Failed:
		return "failed"
	}
	return ""
}

// title is what a list shows of an entry: of a record, which is a document, its title.
func title(e pawl.MemoryEntry) string {
	if e.Learning == 0 {
		return e.Text
	}
	first, _, _ := strings.Cut(strings.TrimSpace(e.Text), "\n")
	return fmt.Sprintf("%03d %s", e.Learning, strings.TrimPrefix(strings.TrimLeft(first, "# "), "Anti-Pattern: "))
}

// table is a header and a line for each entry. Where width is not zero, no line
// is wider: the text gets what the columns before it leave.
func table(entries []pawl.MemoryEntry, width int) []string {
	rows := [][]string{{"ID", "KIND", "TASK", "TEXT"}}
	for _, e := range entries {
		task, text := plain.Line(e.Task, 20), plain.Line(title(e), 0)
		if task == "" {
			task = "-"
		}
		if m := mark(e); m != "" {
			text = "(" + m + ") " + text
		}
		rows = append(rows, []string{plain.Line(name(e), 0), plain.Line(string(e.Kind), 20), task, text})
	}
	var widths [3]int
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
	}
	if width > 0 {
		widths[0] = min(widths[0], max(20, width/3))
	}
	var out []string
	for _, row := range rows {
		var b strings.Builder
		for i, w := range widths {
			cell := row[i]
			if width > 0 {
				cell = shortName(cell, w)
			}
			b.WriteString(cell + strings.Repeat(" ", max(0, w-ansi.StringWidth(cell))+2))
		}
		b.WriteString(row[3])
		line := b.String()
		if width > 0 {
			line = ansi.Truncate(line, width, "…")
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return out
}

// shortName shortens a name so that its number stays.
func shortName(s string, width int) string {
	if ansi.StringWidth(s) <= width {
		return s
	}
	number := ""
	if i := strings.LastIndexByte(s, '/'); i > 0 {
		s, number = s[:i], s[i:]
	}
	return ansi.Truncate(s, max(1, width-len(number)), "…") + number
}

// split takes an entry's name apart.
func split(id string) (run string, n int, err error) {
	i := strings.LastIndexByte(id, '/')
	if i > 0 {
		n, err = strconv.Atoi(id[i+1:])
	}
	if i <= 0 || err != nil || n < 1 {
		return "", 0, pawl.Errorf(pawl.CodeInvalid, "%q is not a memory entry: want RUN/N, such as 7/3", plain.Line(id, 60)).
			WithHint("pawl memory list --all shows them")
	}
	return id[:i], n, nil
}

// entry finds an entry of a run.
func entry(ctx context.Context, s pawl.Service, run pawl.RunID, n int) (pawl.MemoryEntry, error) {
	all, err := s.Recall(ctx, pawl.MemoryQuery{Run: run, Forgotten: true, Limit: math.MaxInt32})
	if err != nil {
		return pawl.MemoryEntry{}, err
	}
	for _, e := range all {
		if e.N == n {
			return e, nil
		}
	}
	if len(all) == 0 {
		return pawl.MemoryEntry{}, pawl.Errorf(pawl.CodeNotFound, "run %s remembers nothing", run).WithHint("pawl memory list --all shows what other runs remember")
	}
	return pawl.MemoryEntry{}, pawl.Errorf(pawl.CodeNotFound, "run %s has no memory entry %d: it has %d to %d", run, n, all[0].N, all[len(all)-1].N).
		WithHint("pawl memory list --all --run %s shows them", run)
}

func show(app *cli.App) *cobra.Command {
	var raw bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show one entry of the memory",
		Long: `Show prints an entry with who said it, where and when. With --json, a learning
also has the note it belongs to if the recipe learns only from what passed, as
pandora does (see pawl memory export).

` + cli.ExitCodes,
		Example:           "  pawl memory show 7/3\n  pawl memory show 001-add-login/3 --json | jq .note",
		Args:              cli.Args(1, 1),
		ValidArgsFunction: completeEntries(app),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			run, n, err := split(args[0])
			if err != nil {
				return err
			}
			var e pawl.MemoryEntry
			s, info, err := app.OpenRun(ctx, cli.Read, []string{run}, func(s *cli.Session, info pawl.RunInfo) (err error) {
				e, err = entry(ctx, s, info.ID, n)
				return err
			})
			if err != nil {
				return err
			}
			defer s.Close()
			if !app.JSON {
				printEntry(app, e, raw)
				return nil
			}
			d := document{ID: name(e), MemoryEntry: e}
			if d.Note, err = noteOf(ctx, s, info.ID, e); err != nil {
				return err
			}
			return app.Encode(d)
		},
	}
	cli.RawFlag(c, &raw)
	return c
}

func printEntry(app *cli.App, e pawl.MemoryEntry, raw bool) {
	app.Printf("%s  %s, for the %s\n", plain.Line(name(e), 0), plain.Line(string(e.Kind), 40), plain.Line(string(e.Scope), 40))
	if e.Task != "" {
		app.Printf("task    %s\n", plain.Line(e.Task, 0))
	}
	app.Printf("source  %s, event %d\ntime    %s\n", plain.Line(e.Source, 0), e.Seq, e.Time.Local().Format(time.DateTime))
	if e.Failed {
		app.Printf("marked  the attempt it comes from failed\n")
	}
	if e.Forgotten {
		app.Printf("marked  forgotten: no prompt is shown it\n")
	}
	app.Printf("\n")
	app.Print([]byte(strings.TrimRight(e.Text, "\n")+"\n"), raw)
}

func forget(app *cli.App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "forget ID",
		Short: "Stop showing an entry to prompts",
		Long: `Forget removes an entry from what later prompts are shown, those of other runs
included. The entry stays in the log, and pawl memory list --all shows it.

` + cli.ExitCodes,
		Example:           "  pawl memory forget 7/3\n  pawl memory forget 7/3 --reason \"the API has changed\"",
		Args:              cli.Args(1, 1),
		ValidArgsFunction: completeEntries(app),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			run, n, err := split(args[0])
			if err != nil {
				return err
			}
			var from *view.Run
			s, info, err := app.OpenRun(ctx, cli.Steer, []string{run}, func(s *cli.Session, info pawl.RunInfo) error {
				if _, err := entry(ctx, s, info.ID, n); err != nil {
					return err
				}
				if from, err = cli.Fold(ctx, s, info.ID); err != nil {
					return err
				}
				return s.Steer(ctx, info.ID, pawl.Steering{Verb: pawl.SteerForget, Memory: n, Reason: reason})
			})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			return app.Steered(ctx, s, from, "Entry %s/%d is forgotten: no prompt is shown it any more.", info.ID, n)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, a `SENTENCE` for the log")
	return c
}

// completeEntries are the entries that are not forgotten, newest first.
func completeEntries(app *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := app.Open(cmd.Context(), cli.Read)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.Close()
		var out []string
		all, _ := s.Recall(cmd.Context(), pawl.MemoryQuery{}) // what cannot be read is not offered
		for i := len(all) - 1; i >= 0; i-- {
			out = append(out, name(all[i])+"\t"+plain.Line(all[i].Text, 60))
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
