// Package list is pawl list: the project's runs.
package list

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/project"
	"pawl/internal/view"
)

// New is the command. now is the clock that ages are told by.
func New(app *cli.App, now func() time.Time) *cobra.Command {
	var all, everywhere bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the project's runs",
		Long: `List shows the runs of this repository, oldest first: the outcome of those that
have ended, the status of the others. An interrupted run is one that no process
drives any more; pawl resume continues it. A run that asks waits for a person;
pawl inbox shows the question. A run that works in batches is also shown as
stalled, regressing, flip-flopping or blocked if its batches make no progress.
ITER is the present or last iteration and the limit, TASKS how many of a run's
tasks have passed, AGE how long ago it was started. --all includes archived
runs.

With --everywhere it is the runs of every project that is known on this machine,
in and outside of a repository; with --json each of them has project and root.

` + cli.ExitCodes,
		Example:           "  pawl list\n  pawl list --everywhere\n  pawl list --json | jq -r '.[] | select(.outcome == \"complete\") | .branch'",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if everywhere {
				return listAll(cmd.Context(), app, all, now())
			}
			var runs []pawl.RunInfo
			s, err := app.With(cmd.Context(), cli.Read, func(s *cli.Session) (err error) {
				runs, err = s.Runs(cmd.Context())
				return err
			})
			if why, ok := errors.AsType[*pawl.Error](err); ok && cli.IsOutside(err) {
				return why.WithHint("%s; pawl list --everywhere lists the runs of all repositories", why.Hint)
			}
			if err != nil {
				return err
			}
			defer s.Close()
			known := len(runs)
			runs = listed(runs, all)
			if away := known - len(runs); away > 0 && len(runs) == 0 && !app.JSON {
				app.Notef("all runs of this project, %d, are archived: pawl list --all", away)
				return nil
			}
			return show(app, runs, now())
		},
	}
	c.Flags().BoolVar(&all, "all", false, "include archived runs")
	c.Flags().BoolVar(&everywhere, "everywhere", false, "list the runs of every project that is known on this machine")
	return c
}

// listed are the runs without those that were archived, unless all are wanted.
func listed(runs []pawl.RunInfo, all bool) []pawl.RunInfo {
	if all {
		return runs
	}
	return slices.DeleteFunc(runs, func(r pawl.RunInfo) bool { return r.Archived })
}

// of is a run of one of many projects.
type of struct {
	cli.Reached
	Run any
}

// MarshalJSON writes the run's line with the project among its fields.
func (o of) MarshalJSON() ([]byte, error) {
	at, err := json.Marshal(o.Reached)
	if err != nil {
		return nil, err
	}
	run, err := json.Marshal(o.Run)
	if err != nil {
		return nil, err
	}
	return append(append(at[:len(at)-1], ','), run[1:]...), nil
}

// listAll lists the runs of all projects, one after the other. One that cannot be read keeps
// no other from being listed.
func listAll(ctx context.Context, app *cli.App, archived bool, now time.Time) error {
	lines := []of{}
	var failed error
	shown := 0
	width := 0
	if app.Terminal {
		width = app.Width()
	}
	err := app.Each(ctx, cli.Read, func(p project.Project, s *cli.Session, err error) error {
		var runs []pawl.RunInfo
		if err == nil {
			runs, err = s.Runs(ctx)
		}
		if err != nil {
			app.Notef("%s cannot be read: %v", p.Repo.Root, err)
			failed = cli.Exit(cli.ExitUnavailable)
			return ctx.Err()
		}
		runs = listed(runs, archived)
		at := cli.ReachedAs(p)
		for _, r := range runs {
			lines = append(lines, of{at, line(r)})
		}
		if app.JSON || len(runs) == 0 {
			return nil
		}
		heading := plain.Line(at.Root, 0)
		if at.Gone {
			heading += " (no longer exists)"
		}
		if shown++; shown > 1 {
			app.Printf("\n")
		}
		app.Printf("%s\n", heading)
		_, color := app.Screen()
		for _, text := range table(runs, now, width, color) {
			app.Printf("%s\n", text)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case app.JSON:
		return errors.Join(app.Encode(lines), failed)
	case shown == 0 && failed == nil:
		app.Notef("no runs are stored on this machine")
	}
	return failed
}

// line is a run as other programs are told of it.
func line(r pawl.RunInfo) any {
	if r.Started.IsZero() {
		return lost{RunInfo: r}
	}
	return r
}

func show(app *cli.App, runs []pawl.RunInfo, now time.Time) error {
	if app.JSON {
		lines := make([]any, len(runs))
		for i, r := range runs {
			lines[i] = line(r)
		}
		return app.Encode(lines)
	}
	if len(runs) == 0 {
		app.Notef(`this project has no runs yet. Start one: pawl run "what should be there when it is done"`)
		return nil
	}
	width := 0
	if app.Terminal {
		width = app.Width()
	}
	_, color := app.Screen()
	for _, line := range table(runs, now, width, color) {
		app.Printf("%s\n", line)
	}
	for _, r := range runs {
		app.WarnInterrupted(r)
		if r.Questions > 0 {
			app.Notef("run %s waits for you: pawl inbox %s", r.ID, r.ID)
		}
		if r.Waiting != nil {
			where := "; pawl top shows who has the places"
			switch r.Waiting.Pool {
			case pawl.PoolStore, pawl.PoolDisk, pawl.PoolModel:
				where = ""
			}
			app.Notef("run %s: %s%s", r.ID, view.WaitingText(r.Waiting), where)
		}
	}
	return nil
}

// lost is the line of a run whose events are lost: when it was started is not known.
type lost struct {
	pawl.RunInfo
	Started *struct{} `json:"started,omitempty"`
	Updated *struct{} `json:"updated,omitempty"`
}

// started is how long ago a run was started; a dash when that is not known.
func started(r pawl.RunInfo, now time.Time) string {
	if r.Started.IsZero() {
		return "-"
	}
	return view.Age(now.Sub(r.Started))
}

// short cuts a cell to a width. Of a name the end that tells the runs of one task
// apart stays: "-r2".
func short(cell string, width int, name bool) string {
	if _, n := pawl.RunID(cell).Task(); name && n > 1 && ansi.StringWidth(cell) > width {
		end := fmt.Sprintf("-r%d", n)
		return ansi.Truncate(strings.TrimSuffix(cell, end), max(1, width-len(end)), "…") + end
	}
	return ansi.Truncate(cell, width, "…")
}

// some is an amount, or a dash for none.
func some(m pawl.Micros) string {
	if m == 0 {
		return "-"
	}
	return m.String()
}

// table is a header and a line for each run. Where width is not zero, no line
// is wider: the title gets what the columns before it leave, and a name may have
// to give way too.
func table(runs []pawl.RunInfo, now time.Time, width int, color bool) []string {
	rows := [][]string{{"RUN", "STATUS", "ITER", "TASKS", "TIER", "COST", "HELD", "LOST", "AGE", "TITLE"}}
	var all pawl.Money
	anyTasks := false
	for _, r := range runs {
		m := r.Figures()
		all.Add(m)
		anyTasks = anyTasks || r.Tasks > 0
		rows = append(rows, []string{plain.Line(string(r.ID), 0), state(r), view.Iterations(r.Iteration, r.Max), tasks(r), dash(plain.Line(r.Tier, 12)),
			m.Spent.String(), some(m.Held), some(m.Lost), started(r, now), plain.Line(r.Title, 0)})
	}
	for i := range rows { // what nobody has is no column
		if all.Lost == 0 {
			rows[i] = slices.Delete(rows[i], 7, 8)
		}
		if all.Held == 0 {
			rows[i] = slices.Delete(rows[i], 6, 7)
		}
		if !anyTasks {
			rows[i] = slices.Delete(rows[i], 3, 4)
		}
	}
	title := len(rows[0]) - 1
	widths := make([]int, len(rows[0]))
	rest := 0 // what the columns between the name and the title take
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
		if i > 0 && i < len(widths)-1 {
			rest += widths[i] + gap
		}
	}
	if width > 0 { // name and title share what is left
		left := max(2, width-rest-gap)
		widths[0] = min(widths[0], max(left/2, left-widths[title], min(24, width/2))) // the name tells runs apart
		widths[title] = max(1, left-widths[0])
	}
	var out []string
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if width > 0 {
				cell = short(cell, widths[i], i == 0)
			}
			cell += strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(cell)))
			if i == 1 && n > 0 && color {
				cell = tone(runs[n-1]).Paint(cell)
			}
			b.WriteString(cell + strings.Repeat(" ", gap))
		}
		line := strings.TrimRight(b.String(), " ")
		if width > 0 {
			line = ansi.Truncate(line, width, "…")
		}
		out = append(out, line)
	}
	return out
}

// gap is the space between columns.
const gap = 2

// tone is the colour of a run's status.
func tone(r pawl.RunInfo) view.Tone {
	if r.RedAtBase != "" || r.Findings > 0 || r.RefusedPlan {
		return view.ToneWarning
	}
	return view.StateOfRun(r).Tone
}

// state is a run's status, with a word for one whose batches get nowhere, and for
// one that waits for a person.
func state(r pawl.RunInfo) string {
	out := view.StateOfRun(r).String()
	if r.Status == pawl.StatusEnded {
		if r.RefusedPlan {
			out += ", refused plan"
		}
		if r.RedAtBase != "" {
			out += ", red at base"
		}
		return out + view.Unaccepted(r.Findings)
	}
	if r.Health != "" && r.Health != pawl.HealthProgressing {
		out += ", " + plain.Line(strings.ToLower(string(r.Health)), 20)
	}
	if r.Questions > 0 {
		out += ", asks"
	}
	if r.Waiting != nil {
		out += ", waits"
	}
	return out
}

// tasks returns how many of a run's tasks have passed, or a dash for a run without a list of them.
func tasks(r pawl.RunInfo) string {
	if r.Tasks == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", r.Passed, r.Tasks)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
