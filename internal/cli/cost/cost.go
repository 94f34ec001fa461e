// Package cost is pawl cost: what runs have cost, told apart.
package cost

import (
	"cmp"
	"context"
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

// ways are what costs can be told apart by.
var ways = []string{"day", "run", "model", "role", "project"}

// New is the command.
func New(app *cli.App) *cobra.Command {
	var by string
	var everywhere bool
	c := &cobra.Command{
		Use:   "cost",
		Short: "Tell what runs have cost, by day, run, model, role or project",
		Long: `Cost adds up what the runs of this project have spent, what calls in progress
hold, and what was lost: charged for calls whose cost nobody knows. Outside of a
repository, and with --everywhere, it is the runs of every project that is known
on this machine. The sums are those that pawl show has of each run.

A day is one of this machine's time zone. A model is PROVIDER/NAME, as the run's
settings have it. A role is what a model was asked to be, such as implementer or
judge, or the step where it has no role. A fork is charged from where it was
forked. What deleted runs have cost is not in the table; a line below it says
how much that was.

With --json it is an object: by, rows (name, project and root where it is over
projects, calls, money), calls, money and deleted (runs, money). Money has
spent, held and lost in millionths of a dollar, and the same in tokens.

` + cli.ExitCodes,
		Example:           "  pawl cost\n  pawl cost --by model\n  pawl cost --everywhere --by day --json | jq .money.spent",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if by != "" && !slices.Contains(ways, by) {
				return pawl.Errorf(pawl.CodeInvalid, "--by %s: want %s", plain.Line(by, 40), strings.Join(ways, ", "))
			}
			return execute(cmd.Context(), app, by, everywhere)
		},
	}
	f := c.Flags()
	f.StringVar(&by, "by", "", "tell them apart by `WHAT`: day, run, model, role or project; without it by run, or by project where there are many")
	f.BoolVar(&everywhere, "everywhere", false, "in every project that is known on this machine")
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(ways, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// row is what some calls were charged.
type row struct {
	Name string `json:"name"`
	*cli.Reached
	Calls int        `json:"calls"`
	Money pawl.Money `json:"money"`
}

// costs is what runs have cost.
type costs struct {
	By      string     `json:"by"`
	Rows    []*row     `json:"rows"`
	Calls   int        `json:"calls"`
	Money   pawl.Money `json:"money"`
	Deleted deleted    `json:"deleted"`
	rows    map[string]*row
	notes   []string
}

// deleted is what deleted runs had cost when they were deleted.
type deleted struct {
	Runs  int        `json:"runs"`
	Money pawl.Money `json:"money"`
}

func execute(ctx context.Context, app *cli.App, by string, everywhere bool) error {
	var out *costs
	var failed error
	if !everywhere {
		s, err := app.With(ctx, cli.Read, func(s *cli.Session) error {
			out = newCosts(cmp.Or(by, "run"))
			return out.read(ctx, s, nil)
		})
		switch {
		case cli.IsOutside(err):
			everywhere = true
		case err != nil:
			return err
		default:
			defer s.Close()
		}
	}
	if everywhere {
		out = newCosts(cmp.Or(by, "project"))
		err := app.Each(ctx, cli.Read, func(p project.Project, s *cli.Session, err error) error {
			at := cli.ReachedAs(p)
			if err == nil {
				err = out.read(ctx, s, &at)
			}
			if err != nil {
				out.notes = append(out.notes, fmt.Sprintf("%s cannot be read, and is not counted: %v", p.Repo.Root, err))
				failed = cli.Exit(cli.ExitUnavailable)
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	out.sort()
	if app.JSON {
		return errors.Join(app.Encode(out), failed)
	}
	show(app, out)
	return failed
}

func newCosts(by string) *costs { return &costs{By: by, Rows: []*row{}, rows: map[string]*row{}} }

// read adds what the runs of a project have cost. at is the project where there are many.
func (c *costs) read(ctx context.Context, s *cli.Session, at *cli.Reached) error {
	runs, err := s.Runs(ctx)
	if err != nil {
		return err
	}
	stones, err := pawl.DeletedRuns(ctx, s.Service)
	if err != nil {
		return err
	}
	root := s.Project.Repo.Root
	if at != nil {
		root = at.Root
	}
	for _, info := range runs {
		charges, err := c.charges(ctx, s, info)
		if err != nil {
			return err
		}
		for _, charge := range charges {
			c.add(c.key(info, charge, root), at, charge)
		}
		if len(charges) == 0 && (c.By == "run" || c.By == "project") { // it has cost nothing so far
			c.add(c.key(info, view.Charge{}, root), at, view.Charge{})
		}
	}
	for _, t := range stones {
		c.Deleted.Runs++
		c.Deleted.Money.Add(t.Run.Figures())
	}
	return nil
}

// charges are what one run has cost. Of a damaged run they are what can be read, or else what
// its line says.
func (c *costs) charges(ctx context.Context, s *cli.Session, info pawl.RunInfo) ([]view.Charge, error) {
	charges, r, err := view.Charges(s.Events(ctx, info.ID, 0), time.Local)
	if err == nil || pawl.CodeOf(err) != pawl.CodeDamaged {
		return charges, err
	}
	c.notes = append(c.notes, fmt.Sprintf("run %s is damaged: it is counted as far as it can be read", info.ID))
	if r.Seq == 0 {
		const unknown = "unknown"
		charges = []view.Charge{{Day: unknown, Model: unknown, Role: unknown, Money: info.Figures()}}
	}
	return charges, nil
}

// key is the name of the row that a charge belongs to.
func (c *costs) key(info pawl.RunInfo, charge view.Charge, root string) string {
	switch c.By {
	case "day":
		return charge.Day
	case "model":
		return charge.Model
	case "role":
		return charge.Role
	case "project":
		return root
	}
	return string(info.ID)
}

func (c *costs) add(name string, at *cli.Reached, charge view.Charge) {
	key := name
	if at != nil && c.By == "run" {
		key = at.Project + "/" + name
	}
	r := c.rows[key]
	if r == nil {
		r = &row{Name: name}
		if c.By == "run" || c.By == "project" {
			r.Reached = at
		}
		c.rows[key] = r
		c.Rows = append(c.Rows, r)
	}
	r.Calls += charge.Calls
	r.Money.Add(charge.Money)
	c.Calls += charge.Calls
	c.Money.Add(charge.Money)
}

// sort puts days, runs and projects into their order, and the dearest models and roles first.
func (c *costs) sort() {
	switch c.By {
	case "day":
		slices.SortStableFunc(c.Rows, func(a, b *row) int { return cmp.Compare(a.Name, b.Name) })
	case "model", "role":
		total := func(r *row) pawl.Micros { return r.Money.Spent + r.Money.Held + r.Money.Lost }
		slices.SortStableFunc(c.Rows, func(a, b *row) int {
			return cmp.Or(cmp.Compare(total(b), total(a)), cmp.Compare(b.Money.SpentTokens, a.Money.SpentTokens), cmp.Compare(a.Name, b.Name))
		})
	}
}

func show(app *cli.App, c *costs) {
	if len(c.Rows) == 0 && c.Deleted.Runs == 0 {
		app.Notef("no run has cost anything yet")
	} else {
		width := 0
		if app.Terminal {
			width = app.Width()
		}
		for _, line := range table(c) {
			if width > 0 {
				line = ansi.Truncate(line, width, "…")
			}
			app.Printf("%s\n", line)
		}
	}
	if n := c.Deleted.Runs; n > 0 {
		m := c.Deleted.Money
		app.Printf("Not counted: %s, which had cost %s%s.\n", runs(n), m.Spent, view.Beside(pawl.Micros.String, m.Held, m.Lost))
	}
	for _, note := range c.notes {
		app.Notef("%s", note)
	}
}

func runs(n int) string {
	if n == 1 {
		return "1 deleted run"
	}
	return fmt.Sprintf("%d deleted runs", n)
}

// table is a line a row and one with the sums. What nobody has is no column.
func table(c *costs) []string {
	many := slices.ContainsFunc(c.Rows, func(r *row) bool { return c.By == "run" && r.Reached != nil })
	line := func(name, root, calls, tokens, spent, held, lost string) []string {
		out := []string{name}
		if many {
			out = append(out, root)
		}
		out = append(out, calls, tokens, spent)
		if c.Money.Held > 0 {
			out = append(out, held)
		}
		if c.Money.Lost > 0 {
			out = append(out, lost)
		}
		return out
	}
	of := func(name, root string, calls int, m pawl.Money) []string {
		return line(name, root, pawl.Thousands(int64(calls)), pawl.Thousands(m.SpentTokens+m.LostTokens), m.Spent.String(), some(m.Held), some(m.Lost))
	}
	rows := [][]string{line(strings.ToUpper(c.By), "PROJECT", "CALLS", "TOKENS", "SPENT", "HELD", "LOST")}
	for _, r := range c.Rows {
		root := ""
		if r.Reached != nil {
			root = plain.Line(r.Root, 0)
		}
		rows = append(rows, of(plain.Line(r.Name, 0), root, r.Calls, r.Money))
	}
	return view.Columns(append(rows, of("all", "", c.Calls, c.Money)), 0)
}

func some(m pawl.Micros) string {
	if m == 0 {
		return "-"
	}
	return m.String()
}
