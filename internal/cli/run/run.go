// Package run is pawl run: start a run and follow it to its end.
package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	known "pawl/internal/cli/tasks"
	"pawl/internal/plain"
	"pawl/internal/recipe"
	"pawl/internal/resolve"
	"pawl/internal/tasks"
	"pawl/internal/view"
)

// options are the command's flags.
type options struct {
	req        pawl.StartRequest // what is asked for, as far as flags say it
	tasks      string
	yesPrepare bool
	verbose    bool
	fresh      bool // new work, whatever it sounds like

	shown pawl.StartPreview // the preview that the user was shown last
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	o := &options{}
	c := &cobra.Command{
		Use:   "run [GOAL]",
		Short: "Start a run on this repository and follow it to its end",
		Long: `Run turns a goal into commits on a branch of its own. Each attempt starts with a
fresh context; gates judge it on a clean checkout of its commit; the next
attempt is told why it failed. Your checkout stays as it is: the result is the
branch pawl/NNN-slug and a report.

A recipe with a list of tasks, such as pandora or loom, splits the goal into
tasks that depend on each other and works on each in a loop of its own. --tasks
reads the list from a file instead: Pandora's tasks.json, a prd.json of Ralph,
or a plain list of tasks; - is standard input. GOAL is then optional: the file
says what the tasks are for. pawl answer answers what waits for you.

A GOAL that says to continue something, such as "continue the auth task", "keep
working on dark mode", "resume #7" or one that contains the full id of a task,
means a task that Pawl knows (pawl tasks): by its id, its number, the words of
its id, or those of its goal. The task's run is resumed if possible. Otherwise a
new run of the task starts from where its work is, on pawl/NNN-slug-r2 and so
on, and its plan marks what is done. If it is not clear which task is meant, you
are asked; if nobody can be asked, nothing starts, the tasks are listed, and the
exit code is 17. "list tasks" or "show tasks" lists the tasks as pawl tasks
does, and starts nothing. --new starts new work in any case.

The run starts from the commit that HEAD is on. Settings come from
.pawl/config.yaml, your own config file, the environment and these flags, the
strongest last, and are frozen when the run starts. If .pawl/config.yaml has
commands that prepare a checkout, you are asked once whether they may run; if
nobody can be asked, the run is refused unless --yes-prepare allows them.

A gate whose program is not installed is found on the base, before any model is
asked. You are asked whether the run should continue without it. If nobody can
be asked, because there is no terminal or with --json, the run ends "refused"
with exit code 5, unless --allow-missing-gate NAME leaves the gate out. A gate
that is left out never counts as passed, and the report names it.

The daemon drives the run (pawl serve); it is started if it is not running.
Ctrl-C only stops following, and pawl logs -f follows again. With --local this
process drives the run: the first Ctrl-C pauses it when what is in progress has
finished, a second one leaves at once. With --json, events are printed as they
become durable, one JSON object per line.

` + cli.RunExitCodes,
		Example: `  pawl run "list has a --json flag"
  pawl run "continue the auth task"
  pawl run "add accounts, orders and a checkout" --recipe pandora --parallel 3
  pawl run --tasks tasks.json --approval manual
  pawl run "fix the race in the cache" --budget 3 \
    --criteria "go test -race ./cache passes 20 times"
  pawl run "port the parser" --recipe taskloop \
    --model medium=openai/gpt-5 --gate "tests=go test -json ./..."`,
		Args: cli.Args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && o.tasks == "" {
				return pawl.Errorf(pawl.CodeInvalid, "pawl run needs an argument: what should be there when it is done").
					WithHint("pawl run GOAL, or pawl run --tasks FILE")
			}
			goal := ""
			if len(args) > 0 {
				goal = args[0]
			}
			return execute(cmd, app, o, goal)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := c.Flags()
	f.StringVar(&o.req.Recipe, "recipe", "", "the recipe `NAME` to run; pawl recipes lists them")
	addFlags(f, &o.req.Flags)
	f.StringVar(&o.tasks, "tasks", "", "read the list of tasks from `FILE`; - is standard input")
	f.BoolVar(&o.yesPrepare, "yes-prepare", false, "allow the repository's commands that prepare its commits, now and later")
	f.BoolVar(&o.fresh, "new", false, "start new work, even if GOAL sounds like continuing")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show every event")
	_ = c.RegisterFlagCompletionFunc("approval", cobra.FixedCompletions([]string{"auto", "manual", "confidence_threshold"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("recipe", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var own []fs.FS
		if root := app.Root(cmd.Context()); root != "" {
			own = []fs.FS{os.DirFS(filepath.Join(root, ".pawl", "recipes"))}
		}
		return recipe.Names(own...), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func execute(cmd *cobra.Command, app *cli.App, o *options, goal string) error {
	ctx := cmd.Context()
	if !o.fresh && o.tasks == "" && o.req.Task == "" && resolve.Lists(goal) {
		app.Notef("%q lists the tasks and starts nothing; as new work: pawl run --new %q", goal, goal)
		return known.List(ctx, app)
	}
	if !o.fresh && o.tasks == "" && resolve.Hints(goal) {
		if done, err := o.resolve(cmd, app, &goal); done || err != nil {
			return err
		}
	}
	o.req.Goal = goal
	if err := o.complete(app); err != nil {
		return err
	}
	asked := false // about the commands that prepare a checkout
	for {
		s, info, err := o.start(ctx, app)
		if pawl.CodeOf(err) == pawl.CodeConsent && app.Terminal && app.Interactive && !app.JSON && !asked {
			asked = true
			if err = o.askPrepare(ctx, app); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		defer func() { _ = s.Close() }()
		if !app.JSON {
			o.introduce(ctx, app, s, info)
		}
		return app.Attend(ctx, s, info.ID, cli.FollowOptions{Least: o.least()})
	}
}

// start prints the warnings and starts the run.
func (o *options) start(ctx context.Context, app *cli.App) (s *cli.Session, info pawl.RunInfo, err error) {
	s, err = app.With(ctx, cli.Steer, func(s *cli.Session) error {
		preview, err := s.Preview(ctx, o.req)
		if err != nil {
			return err
		}
		o.warn(app, preview)
		if o.shown = preview; o.yesPrepare {
			o.req.AllowPrepare = preview.PrepareHash
		}
		info, err = s.Start(ctx, o.req)
		return err
	})
	return s, info, err
}

// warn says, before anything begins, what the user may not have meant. Each sentence is said once.
func (o *options) warn(app *cli.App, preview pawl.StartPreview) {
	for _, w := range preview.Warnings {
		if !slices.Contains(o.shown.Warnings, w) {
			app.Notef("warning: %s", w)
		}
	}
}

// least is the least important line that is shown.
func (o *options) least() view.Level {
	if o.verbose {
		return view.Detail
	}
	return view.Important
}

// complete adds to the request what no flag says by itself.
func (o *options) complete(app *cli.App) error {
	var err error
	if o.req.Dir, err = filepath.Abs(app.Dir); err != nil {
		return fmt.Errorf("find the folder to work in: %w", err)
	}
	o.req.Unattended = !app.Terminal || !app.Interactive || app.JSON
	if o.tasks == "" {
		return nil
	}
	data, err := readTasks(app, o.tasks)
	if err != nil {
		return err
	}
	list, err := tasks.Parse(data)
	if err != nil {
		return fmt.Errorf("--tasks %s: %w", o.tasks, err)
	}
	if cmp.Or(o.req.Goal, list.Goal, list.Project) == "" {
		return pawl.Errorf(pawl.CodeInvalid, "--tasks %s: the file does not say what it is about", o.tasks).WithHint("pawl run GOAL --tasks %s", o.tasks)
	}
	o.req.Tasks = data
	return nil
}

// readTasks reads a task file, or standard input.
func readTasks(app *cli.App, name string) ([]byte, error) {
	in := app.In
	if name != "-" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(app.Dir, name)
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, pawl.Errorf(pawl.CodeInvalid, "read the list of tasks: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, tasks.MaxBytes+1))
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeInvalid, "read the list of tasks: %w", err)
	}
	return data, nil
}

// introduce says what has been started, before anything costs money, as the run's first event has it.
func (o *options) introduce(ctx context.Context, app *cli.App, s *cli.Session, info pawl.RunInfo) {
	say := func(what, text string) { app.Printf("  %-8s %s\n", what, plain.Line(text, 0)) }
	app.Printf("Run %s\n", info.ID)
	say("branch", info.Branch)
	r, err := cli.Fold(ctx, s, info.ID)
	if err != nil {
		app.Printf("\n") // what follows says what is wrong
		return
	}
	say("recipe", r.RecipeText())
	for _, g := range r.Settings.Gates {
		text := g.Name + ": " + plain.Line(g.Command, 100)
		if why := recipe.NeverRun(&r.Recipe, g.Kind); why != "" {
			text += " (never judges the result: " + why + ")"
		}
		say("gate", text)
	}
	say("models", models(r))
	for _, text := range r.Purses() {
		say("agent", text)
	}
	say("limits", limits(r, info.Max))
	if prepare := r.Prepare(); prepare != "" {
		say("prepare", prepare)
	}
	if told := r.Instructions(); told != "" {
		say("instructions", told)
	}
	if !r.Start.Confined {
		say("sandbox", "none: commands run with your rights (--unsandboxed)")
	}
	if o.req.Task != "" {
		say("task", fmt.Sprintf("%s, from commit %.12s", o.req.Task, r.Start.Base))
	}
	for _, n := range r.Start.Notes {
		if !slices.Contains(o.shown.Warnings, n) { // which was said before it began
			say("note", n)
		}
	}
	app.Printf("\n")
}

// models names the model of each tier, once where all are the same.
func models(r *view.Run) string {
	var out []string
	same := true
	for i := range r.Settings.Models {
		tier := r.TierModels(i + 1)
		out = append(out, r.Recipe.Tier(i+1)+" "+tier)
		same = same && tier == r.TierModels(1)
	}
	if same {
		return r.TierModels(1)
	}
	return strings.Join(out, ", ")
}

// limits tells what the run may use up: a recipe with tasks bounds how many are
// begun, another one the attempts.
func limits(r *view.Run, iterations int) string {
	var out []string
	l := r.Settings.Limits
	if l.Money > 0 {
		out = append(out, l.Money.String())
	}
	if l.Tokens > 0 {
		out = append(out, pawl.LimitTokens.Amount(l.Tokens)+" tokens")
	}
	if l.Time > 0 {
		out = append(out, pawl.LimitTime.Amount(int64(l.Time)))
	}
	if root := r.Recipe.Kind(r.Recipe.Start); root != nil && root.Children != nil {
		if n := cmp.Or(l.Iterations, root.Children.Limit); n > 0 {
			out = append(out, fmt.Sprintf("%d tasks", n))
		}
	} else if iterations > 0 {
		out = append(out, fmt.Sprintf("%d iterations", iterations))
	}
	if len(out) == 0 {
		return "none: nothing ends it but you"
	}
	return strings.Join(out, ", ")
}
