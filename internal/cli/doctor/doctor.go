// Package doctor is pawl doctor: is everything there that a run needs?
package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/plain"
	"pawl/internal/project"
)

// Probes look at the machine for the doctor. All are needed.
type Probes struct {
	// Git is the git program there is, with its version.
	Git func(ctx context.Context) (string, error)
	// Inspect looks at the user's repository.
	Inspect func(ctx context.Context) (pawl.Repository, error)
	// Project is the repository's, with its state folder.
	Project func(pawl.Repository) (project.Project, error)
	// Sandbox says what confines commands, or why nothing can.
	Sandbox func(ctx context.Context) (string, error)
	// Layers says how rooms join layers in a folder; empty where nothing can confine.
	Layers func(ctx context.Context, dir string) string
	// Program is the file that commands in rooms run by a name; empty when they find none.
	Program func(name string) string
	// Egress returns why the egress proxy would refuse hosts that these rules name, one line
	// for each host.
	Egress func(ctx context.Context, rules []string) ([]string, error)
	// FileSystem is the kind of file system a folder is on, and whether it is on
	// another machine.
	FileSystem func(dir string) (kind string, remote bool, err error)
	// Lacks says how much space a disk of a project has and its runs need; empty = enough.
	Lacks func(p project.Project) string
	// Store opens the log for reading, checks it and returns what is in it;
	// [pawl.CodeNotFound] if there is none yet. For damage beyond single runs it returns an
	// error with what could be read.
	Store func(ctx context.Context, p project.Project) (Stored, error)
	// Refs are the refs below a prefix of the user's repository.
	Refs func(ctx context.Context, p project.Project, prefix string) ([]string, error)
	// Models asks a provider's server whether it answers, accepts the key and has the
	// models of these names. Name is left to the caller.
	Models func(ctx context.Context, p config.Provider, names []string) Check
	// LocalModels are models of local servers that answer, as PROVIDER/NAME.
	LocalModels func(ctx context.Context) []string
}

// Stored is the content of a project's store.
type Stored struct {
	// Damaged runs are quarantined, and the reason says what is damaged.
	Runs []pawl.RunInfo
	// Read reports whether Runs lists all runs.
	Read bool
	// Warnings say what may be wrong without being known damage.
	Warnings []string
	// Note is shown beside a sound store; it may be empty.
	Note string
}

// State is what a check came to.
type State string

// The states.
const (
	OK      State = "ok"
	Warning State = "warning" // runs work, but the user should know
	Failed  State = "failed"  // runs will not work, or not safely
	Skipped State = "skipped" // what it needs is not there
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do about it
	// Damaged reports that stored data is damaged.
	Damaged bool `json:"damaged,omitempty"`
}

// New is the command.
func New(app *cli.App, probes Probes) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check that a run has everything it needs",
		Long: `Doctor checks git, the repository, the sandbox, the state folder and what is
stored in it, the process that has the project, the configuration, the gates and
their dependencies, and the recipes. It asks the servers of the chosen models
whether they answer, accept the key and have the models. For each problem it
says what to do. It calls no model, runs no command of the repository, costs
nothing and changes nothing. The exit code is 6 if stored data is damaged, and 5
if another check fails.

` + cli.ExitCodes,
		Example:           "  pawl doctor\n  pawl doctor --json | jq '.[] | select(.state != \"ok\")'",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e := &examination{ctx: cmd.Context(), app: app, probes: probes, show: func(Check) {}}
			if !app.JSON {
				e.show = func(c Check) { printCheck(app, c) }
			}
			e.all()
			if app.JSON {
				if err := app.Encode(e.checks); err != nil {
					return err
				}
			}
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			failed := func(c Check) bool { return c.State == Failed }
			switch {
			case slices.ContainsFunc(e.checks, func(c Check) bool { return c.Damaged }):
				return cli.Exit(cli.ExitDamaged)
			case slices.ContainsFunc(e.checks, failed):
				return cli.Exit(cli.ExitUnavailable)
			}
			return nil
		},
	}
}

func printCheck(app *cli.App, c Check) {
	mark := map[State]string{OK: "ok  ", Warning: "warn", Failed: "FAIL", Skipped: "skip"}[c.State]
	color := map[State]string{OK: "\x1b[32m", Warning: "\x1b[33m", Failed: "\x1b[31m", Skipped: "\x1b[2m"}[c.State]
	if _, colored := app.Screen(); colored {
		mark = color + mark + "\x1b[0m"
	}
	app.Printf("%s  %-13s  %s\n", mark, c.Name, wrap(app, c.Detail, ""))
	if c.Fix != "" {
		app.Printf("%s→ %s\n", margin, wrap(app, c.Fix, "  "))
	}
}

// margin is the space before what is said of a check.
const margin = "                     "

// wrap fits a text into what is right of the margin; off a terminal it stays a line.
func wrap(app *cli.App, text, indent string) string {
	text = plain.Line(text, 0)
	if !app.Terminal {
		return text
	}
	width := max(20, app.Width()-len(margin)-len(indent)-1)
	return strings.ReplaceAll(ansi.Wrap(text, width, ""), "\n", "\n"+margin+indent)
}

// examination is one look at everything.
type examination struct {
	ctx    context.Context
	app    *cli.App
	probes Probes
	show   func(Check)
	checks []Check

	repo    *pawl.Repository // nil when there is none
	project *project.Project // nil when there is none
	runs    []pawl.RunInfo
	unread  bool // there are runs, and what they are is not known
	unsound bool // the store is damaged beyond single runs
}

func (e *examination) all() {
	for _, check := range []func(){
		e.git, e.repository, e.sandbox, e.stateFolder, e.store, e.owner, e.stopped, e.worktrees, e.salvage,
		e.configuration, e.recipes,
	} {
		if e.ctx.Err() != nil {
			return
		}
		check()
	}
}

func (e *examination) add(c Check) {
	e.checks = append(e.checks, c)
	e.show(c)
}

func (e *examination) ok(name, detail string) { e.add(Check{Name: name, State: OK, Detail: detail}) }

func (e *examination) warn(name, detail, fix string) {
	e.add(Check{Name: name, State: Warning, Detail: detail, Fix: fix})
}

func (e *examination) skip(name, needs string) {
	e.add(Check{Name: name, State: Skipped, Detail: "needs " + needs})
}

// fail takes what to do from the error, if it says so.
func (e *examination) fail(name string, err error, fix string) {
	if p, ok := errors.AsType[*pawl.Error](err); ok && p.Hint != "" {
		fix = p.Hint
	}
	e.add(Check{Name: name, State: Failed, Detail: err.Error(), Fix: fix, Damaged: pawl.CodeOf(err) == pawl.CodeDamaged})
}
