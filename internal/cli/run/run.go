// Package run is pawl run: start a run and follow it to its end.
package run

import (
	"cmp"
	"context"
	"encoding/json"
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
	"pawl/internal/config"
	"pawl/internal/ecosystem"
	"pawl/internal/egress"
	"pawl/internal/plain"
	"pawl/internal/project"
	"pawl/internal/recipe"
	"pawl/internal/resolve"
	"pawl/internal/tasks"
	"pawl/internal/view"
)

// options are the command's flags.
type options struct {
	recipe, agent, maxTime      string
	criteria, gates, models     []string
	scope, missing, egress      []string
	mustPass                    []string // tests
	iterations, complexity      int
	budget                      string
	tokens                      string
	memory, disk, processes     string
	council, green, unsandboxed bool
	verbose, yesPrepare         bool

	tasks, approval, callback, replan string
	threshold, parallel               int
	private                           bool
	announce, announceURL             string
	announcePrivate                   bool

	list *tasks.List // what the file of --tasks says, once it was read

	allowed pawl.Hash // the repository's prepare commands that the user allowed when asked

	fresh bool           // new work, whatever it sounds like
	again *cli.KnownTask // the task that is continued by a new run; nil = new work
	asked string         // how that was asked for
}

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	return command(app, &o)
}

// Request is what the command would start for a goal in a repository with no flag but
// a recipe.
func Request(ctx context.Context, app *cli.App, repo pawl.Repository, goal, recipe string) (pawl.StartRequest, error) {
	var o options
	c := command(app, &o)
	c.SetContext(ctx)
	if err := c.Flags().Set("recipe", recipe); err != nil {
		return pawl.StartRequest{}, pawl.Errorf(pawl.CodeInternal, "choose the recipe: %w", err)
	}
	req, _, err := o.request(c, app, &cli.Session{Project: project.Project{Repo: repo}}, goal)
	return req, err
}

func command(app *cli.App, o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "run [GOAL]",
		Short: "Start a run on this repository and follow it to its end",
		Long: `Run turns a goal into commits on a branch of its own. Each attempt starts with a
fresh context; gates judge it on a clean checkout of its commit; the next attempt
is told why it failed. Your checkout stays as it is: the result is the branch
pawl/NNN-slug and a report.

A recipe with a list of tasks, such as pandora or loom, splits the goal into tasks
that depend on each other and works on each in a loop of its own. --tasks reads
the list from a file instead: Pandora's tasks.json, a prd.json of Ralph, or a
plain list of tasks; - is standard input. GOAL is then optional: the file says
what the tasks are for. pawl answer answers what waits for you.

A GOAL that says to continue something, such as "continue the auth task", "keep
working on dark mode", "resume #7" or one that contains the full id of a task,
means a task that Pawl knows (pawl tasks): by its id, its number, the words of its
id, or those of its goal. The task's run is resumed if possible. Otherwise a new
run of the task starts from where its work is, on pawl/NNN-slug-r2 and so on, and
its plan marks what is done. If it is not clear which task is meant, you are
asked; if nobody can be asked, nothing starts, the tasks are listed, and the exit
code is 17. --new starts new work in any case.

The run starts from the commit that HEAD is on. Settings come from
.pawl/config.yaml, your own config file, the environment and these flags, the
strongest last, and are frozen when the run starts. If .pawl/config.yaml has
commands that prepare a checkout, you are asked once whether they may run; if
nobody can be asked, the run is refused unless --yes-prepare allows them.

A gate whose program is not installed is found on the base, before any model is
asked. You are asked whether the run should continue without it. If nobody can be
asked, because there is no terminal or with --json, the run ends "refused" with
exit code 5, unless --allow-missing-gate NAME leaves the gate out. A gate that is
left out never counts as passed, and the report names it.

The daemon drives the run (pawl serve); it is started if it is not running. Ctrl-C
only stops following, and pawl logs -f follows again. With --local this process
drives the run: the first Ctrl-C pauses it when what is in progress has finished,
a second one leaves at once. With --json, events are printed as they become
durable, one JSON object per line.

` + cli.RunExitCodes,
		Example: `  pawl run "list has a --json flag"
  pawl run "continue the auth task"
  pawl run "add accounts, orders and a checkout" --recipe pandora --parallel 3
  pawl run --tasks tasks.json --approval manual
  pawl run "fix the race in the cache" --criteria "go test -race ./cache passes 20 times" --budget 3
  pawl run "port the parser" --recipe taskloop --model medium=openai/gpt-5 --gate "tests=go test -json ./..."`,
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
	f.StringVar(&o.recipe, "recipe", "", "the recipe `NAME` to run; pawl recipes lists them")
	f.StringArrayVar(&o.criteria, "criteria", nil, "an acceptance criterion, a `SENTENCE`; may be repeated")
	f.StringArrayVar(&o.gates, "gate", nil, "a gate `KIND=COMMAND` or NAME:KIND=COMMAND, where KIND is tests, types, lint, security or format; it replaces the configured gate of that name; may be repeated")
	f.StringArrayVar(&o.models, "model", nil, "`PROVIDER/NAME` or script:FILE for all tiers, or fast=…, medium=… or large=… for one")
	f.IntVar(&o.iterations, "max-iterations", 0, "make at most `N` attempts")
	f.StringVar(&o.budget, "budget", "", "spend at most this much, in `USD`")
	f.StringVar(&o.tokens, "max-tokens", "", "use at most `N` tokens")
	f.StringVar(&o.maxTime, "max-time", "", "work for at most this `TIME`: minutes, or 90m, 8h")
	f.StringVar(&o.memory, "max-memory", "", "let the commands in a room use at most this `SIZE` of memory, such as 4GiB, or 80% of the machine's")
	f.StringVar(&o.disk, "max-disk", "", "let the commands in a room write at most this `SIZE` to disk, such as 50GiB")
	f.StringVar(&o.processes, "max-processes", "", "let the commands in a room have at most `N` processes")
	f.IntVar(&o.complexity, "complexity", 0, "how hard the task is, `0-14`; by default a model assesses it")
	f.BoolVar(&o.council, "council", false, "call a council after the first failed attempt")
	f.StringVar(&o.agent, "agent", "", "work as the specialist `NAME`")
	f.StringArrayVar(&o.scope, "scope", nil, "a `SENTENCE` that limits what may be changed; may be repeated")
	f.BoolVar(&o.green, "require-green", false, "gates must pass completely, even where they fail on the base")
	f.StringArrayVar(&o.mustPass, "green", nil, "a `TEST` (or GATE=TEST) that must pass in the end, even if it fails now or does not exist yet; may be repeated")
	f.StringVar(&o.tasks, "tasks", "", "read the list of tasks from `FILE`; - is standard input")
	f.StringVar(&o.approval, "approval", "", "who approves tasks and merges: a `MODE` auto, manual or confidence_threshold")
	f.IntVar(&o.threshold, "approval-threshold", 0, "the lowest confidence that needs no person, in `PERCENT`")
	f.IntVar(&o.parallel, "parallel", 0, "work on `N` tasks at once")
	f.StringVar(&o.replan, "replan-every", "", "plan again after every `N` passed tasks; 0 means never")
	f.StringVar(&o.callback, "callback", "", "a `URL` that is told how the run ended")
	f.BoolVar(&o.private, "callback-private", false, "allow a callback on this machine or in a private network")
	f.StringVar(&o.announce, "announce", "", "a shell `COMMAND` that gets every question of the run as JSON")
	f.StringVar(&o.announceURL, "announce-url", "", "a `URL` that gets every question of the run")
	f.BoolVar(&o.announcePrivate, "announce-private", false, "allow an announce URL on this machine or in a private network")
	f.StringArrayVar(&o.egress, "egress", nil, "let prepare reach what this `RULE` names: HOST:PORT or HOST:PORT=ADDRESS; may be repeated")
	f.BoolVar(&o.unsandboxed, "unsandboxed", false, "if commands cannot be confined, run them with your own rights; otherwise no effect")
	f.BoolVar(&o.yesPrepare, "yes-prepare", false, "allow the repository's commands that prepare its commits, now and later")
	f.StringArrayVar(&o.missing, "allow-missing-gate", nil, "leave out the gate `NAME` if its program is not installed; may be repeated")
	f.BoolVar(&o.fresh, "new", false, "start new work, even if GOAL sounds like continuing")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show every event")
	_ = c.RegisterFlagCompletionFunc("approval", cobra.FixedCompletions([]string{"auto", "manual", "confidence_threshold"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("recipe", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var own []fs.FS
		if root := app.Root(cmd.Context()); root != "" {
			own = recipeDirs(os.DirFS(root))
		}
		return recipe.Names(own...), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func execute(cmd *cobra.Command, app *cli.App, o *options, goal string) error {
	ctx := cmd.Context()
	if !o.fresh && o.tasks == "" && resolve.Hints(goal) {
		if done, err := o.resolve(cmd, app, &goal); done || err != nil {
			return err
		}
	}
	var req pawl.StartRequest
	var notes []string
	var info pawl.RunInfo
	start := func(s *cli.Session) (err error) {
		if req, notes, err = o.request(cmd, app, s, goal); err != nil {
			return err
		}
		info, err = s.Start(ctx, req)
		return err
	}
	s, err := app.With(ctx, cli.Steer, start)
	if pawl.CodeOf(err) == pawl.CodeConsent && app.Terminal && app.Interactive && !app.JSON {
		if err = o.askPrepare(ctx, app, req); err == nil {
			s, err = app.With(ctx, cli.Steer, start)
		}
	}
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if !app.JSON {
		o.introduce(ctx, app, s, info, req, notes)
	}
	return app.Attend(ctx, s, info.ID, cli.FollowOptions{Least: o.least()})
}

// least is the least important line that is shown.
func (o *options) least() view.Level {
	if o.verbose {
		return view.Detail
	}
	return view.Important
}

// request resolves everything the run will depend on.
func (o *options) request(cmd *cobra.Command, app *cli.App, s *cli.Session, goal string) (pawl.StartRequest, []string, error) {
	repo := os.DirFS(s.Project.Repo.Root)
	recipes := recipeDirs(repo)
	from := config.Sources{Repo: repo, UserFile: app.UserConfig(), Env: app.Environ, Flags: o.flags(cmd)}
	cfg, err := config.Load(from)
	if err == nil && o.again != nil && !cmd.Flags().Changed("recipe") {
		from.Flags = append(from.Flags, config.Flag{Name: "task " + o.again.ID, Key: "recipe", Value: o.recipeAgain(cfg.Recipe, recipes)})
		cfg, err = config.Load(from)
	}
	if err != nil {
		return pawl.StartRequest{}, nil, err
	}
	req := pawl.StartRequest{Goal: goal, Unsandboxed: cfg.Unsandboxed || o.unsandboxed}
	if err := o.addTasks(app, &req); err != nil {
		return req, nil, err
	}
	if req.Settings, err = cfg.Settings(); err != nil {
		return req, nil, err
	}
	req.Settings.Unattended = !app.Terminal || !app.Interactive || app.JSON
	egressNotes, err := o.addEgress(app, &req.Settings, repo)
	if err != nil {
		return req, nil, err
	}
	if req.AllowPrepare = o.allowed; o.yesPrepare {
		req.AllowPrepare = req.Settings.PrepareHash()
	}
	notes := append(cfg.Notes, egressNotes...)
	if notes, err = o.addGates(&req.Settings, repo, notes); err != nil {
		return req, nil, err
	}
	if req.Recipe, err = recipe.Load(cfg.Recipe, recipes...); err != nil {
		return req, nil, err
	}
	if err := cfg.Apply(&req.Recipe); err != nil {
		return req, nil, err
	}
	if req.Prompts, err = recipe.Prompts(cfg.Recipe, recipes...); err != nil {
		return req, nil, err
	}
	criteria := cfg.Criteria
	if len(o.criteria) > 0 {
		criteria = o.criteria
	}
	if o.again != nil {
		more, err := o.takeUp(cmd.Context(), s, &req)
		if err != nil {
			return req, nil, err
		}
		notes = append(notes, more...)
		if len(o.criteria) == 0 && len(req.Criteria) > 0 {
			criteria = nil
		}
	}
	if len(criteria) > 0 {
		req.Criteria = nil
	}
	for i, text := range criteria {
		req.Criteria = append(req.Criteria, pawl.Criterion{ID: fmt.Sprintf("AC-%03d", i+1), Text: text})
	}
	if cfg.Script != "" {
		script, err := os.ReadFile(cfg.Script)
		if err != nil {
			return req, nil, pawl.Errorf(pawl.CodeInvalid, "read the scripted model's file: %w", err)
		}
		req.Script = string(script)
	}
	return req, notes, nil
}

// addTasks takes the list of tasks that the user gives, and what it says it is about.
func (o *options) addTasks(app *cli.App, req *pawl.StartRequest) error {
	if o.tasks == "" {
		return nil
	}
	if o.list == nil { // a request that is made again has read its input already
		data, err := readTasks(app, o.tasks)
		if err != nil {
			return err
		}
		list, err := tasks.Parse(data)
		if err != nil {
			return fmt.Errorf("--tasks %s: %w", o.tasks, err)
		}
		o.list = &list
	}
	if req.Goal == "" {
		req.Goal = cmp.Or(o.list.Goal, o.list.Project)
	}
	if req.Goal == "" {
		return pawl.Errorf(pawl.CodeInvalid, "--tasks %s: the file does not say what it is about", o.tasks).WithHint("pawl run GOAL --tasks %s", o.tasks)
	}
	var err error
	if req.Tasks, err = json.Marshal(o.list.Tasks); err != nil {
		return fmt.Errorf("encode the list of tasks: %w", err)
	}
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

// recipeDirs are where a project's own recipes are.
func recipeDirs(repo fs.FS) []fs.FS {
	if dir, err := fs.Sub(repo, ".pawl/recipes"); err == nil {
		return []fs.FS{dir}
	}
	return nil
}

// flags are the settings of the command line as the configuration knows them.
func (o *options) flags(cmd *cobra.Command) []config.Flag {
	var out []config.Flag
	add := func(name, key, value string) {
		if cmd.Flags().Changed(name) {
			out = append(out, config.Flag{Name: "--" + name, Key: key, Value: value})
		}
	}
	add("recipe", "recipe", o.recipe)
	add("max-iterations", "limits.iterations", fmt.Sprint(o.iterations))
	add("budget", "limits.money_usd", o.budget)
	add("max-tokens", "limits.tokens", o.tokens)
	add("max-time", "limits.time_minutes", cli.Minutes(o.maxTime))
	add("max-memory", "limits.room.memory", o.memory)
	add("max-disk", "limits.room.disk", o.disk)
	add("max-processes", "limits.room.processes", o.processes)
	add("complexity", "complexity", fmt.Sprint(o.complexity))
	add("council", "council", fmt.Sprint(o.council))
	add("agent", "agent", o.agent)
	add("approval", "approval.mode", o.approval)
	add("approval-threshold", "approval.threshold", fmt.Sprint(o.threshold))
	add("parallel", "parallel", fmt.Sprint(o.parallel))
	add("replan-every", "replan_every", o.replan)
	add("callback", "callback.url", o.callback)
	add("callback-private", "callback.allow_private", fmt.Sprint(o.private))
	add("announce", "announce.command", o.announce)
	add("announce-url", "announce.url", o.announceURL)
	add("announce-private", "announce.allow_private", fmt.Sprint(o.announcePrivate))
	for _, m := range o.models {
		out = append(out, config.Flag{Name: "--model", Key: "model", Value: m})
	}
	return out
}

// addEgress adds the rules of the command line to those of the configuration, and the
// registries that the repository's package managers use, where there is anything to prepare.
func (o *options) addEgress(app *cli.App, s *pawl.Settings, repo fs.FS) (notes []string, err error) {
	if _, err := egress.ParseAll(o.egress); err != nil {
		return nil, fmt.Errorf("--egress: %w", err)
	}
	s.Egress = append(s.Egress, o.egress...)
	if len(s.Prepare) == 0 {
		return nil, nil
	}
	return app.AddRegistries(s, ecosystem.Detect(repo)), nil
}

// addGates adds the gates of the command line, each in the place of the
// configured one of its name; where there are none at all, the ones the
// repository's own files suggest.
func (o *options) addGates(s *pawl.Settings, repo fs.FS, notes []string) ([]string, error) {
	var given []string
	for _, text := range o.gates {
		g, err := parseGate(text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(given, g.Name) {
			return nil, pawl.Errorf(pawl.CodeInvalid, "--gate %q: there is a gate %s already", text, g.Name).WithHint("give it a name of its own: --gate NAME:%s=%s", g.Kind, g.Command)
		}
		given = append(given, g.Name)
		if i := slices.IndexFunc(s.Gates, func(h pawl.GateSpec) bool { return h.Name == g.Name }); i >= 0 {
			s.Gates[i] = g
		} else {
			s.Gates = append(s.Gates, g)
		}
	}
	if len(s.Gates) == 0 {
		found := ecosystem.Detect(repo)
		s.Gates = found.Gates
		if len(found.Gates) > 0 {
			notes = append(notes, "no gates are configured; these follow from the repository's files (pawl init writes them down)")
			if len(found.Prepare) > 0 && len(s.Prepare) == 0 {
				notes = append(notes, "the gates need dependencies, and no prepare is configured that installs them (pawl init proposes: "+strings.Join(found.Prepare, "; ")+")")
			}
		} else {
			notes = append(notes, "no gates are configured and none could be found: without one the run can only end unverified. Add one: --gate \"tests=make test\"")
		}
	}
	for _, name := range o.missing {
		known := name == pawl.PrepareGate && len(s.Prepare) > 0
		if !known && !slices.ContainsFunc(s.Gates, func(g pawl.GateSpec) bool { return g.Name == name }) {
			return nil, pawl.Errorf(pawl.CodeInvalid, "--allow-missing-gate %q: there is no such gate", name).WithHint("the gates are: %s", gateNames(s.Gates))
		}
	}
	s.AllowMissingGates = append(s.AllowMissingGates, o.missing...)
	s.Scope = append(s.Scope, o.scope...)
	if o.green {
		for i := range s.Gates {
			s.Gates[i].RequireGreen = true
		}
	}
	for _, test := range o.mustPass {
		if err := mustPass(s.Gates, test); err != nil {
			return nil, err
		}
	}
	return notes, nil
}

// mustPass gives a test that must pass to its gate: the one that is named before it, or the only one
// that runs tests.
func mustPass(gates []pawl.GateSpec, test string) error {
	var testing []int
	for i, g := range gates {
		if name, ok := strings.CutPrefix(test, g.Name+"="); ok && g.Kind == pawl.GateTests {
			test, testing = name, []int{i}
			break
		}
		if g.Kind == pawl.GateTests {
			testing = append(testing, i)
		}
	}
	switch {
	case strings.TrimSpace(test) == "":
		return pawl.Errorf(pawl.CodeInvalid, "--green names no test")
	case len(testing) == 0:
		return pawl.Errorf(pawl.CodeInvalid, "--green %q: no gate runs tests", test).WithHint(`add one: --gate "tests=make test"`)
	case len(testing) > 1:
		return pawl.Errorf(pawl.CodeInvalid, "--green %q: several gates run tests", test).WithHint("say which: --green %s=%s; the gates are: %s", gates[testing[0]].Name, test, gateNames(gates))
	}
	g := &gates[testing[0]]
	g.Green = append(g.Green, test)
	return nil
}

// gateNames lists the names of gates.
func gateNames(gates []pawl.GateSpec) string {
	var names []string
	for _, g := range gates {
		names = append(names, g.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// parseGate reads KIND=COMMAND or NAME:KIND=COMMAND.
func parseGate(text string) (pawl.GateSpec, error) {
	head, command, ok := strings.Cut(text, "=")
	name, kind, named := strings.Cut(head, ":")
	if !named {
		kind = name
	}
	g := pawl.GateSpec{Name: strings.TrimSpace(name), Kind: pawl.GateKind(strings.TrimSpace(kind)), Command: strings.TrimSpace(command)}
	switch g.Kind {
	case pawl.GateTests, pawl.GateTypes, pawl.GateLint, pawl.GateSecurity, pawl.GateFormat:
	default:
		ok = false
	}
	if !ok || g.Name == "" || g.Command == "" {
		return g, pawl.Errorf(pawl.CodeInvalid, "--gate %q: want KIND=COMMAND or NAME:KIND=COMMAND, with a kind of tests, types, lint, security or format", text).
			WithHint(`for example --gate "tests=go test -json ./..."`)
	}
	return g, nil
}

// introduce says what has been started, before anything costs money.
func (o *options) introduce(ctx context.Context, app *cli.App, s *cli.Session, info pawl.RunInfo, req pawl.StartRequest, notes []string) {
	say := func(what, text string) { app.Printf("  %-8s %s\n", what, plain.Line(text, 0)) }
	app.Printf("Run %s\n", info.ID)
	say("branch", info.Branch)
	say("recipe", req.Recipe.Name)
	for _, g := range req.Settings.Gates {
		say("gate", g.Name+": "+plain.Line(g.Command, 100))
	}
	say("models", models(req))
	say("limits", limits(req, info.Max))
	if r, err := cli.Fold(ctx, s, info.ID); err == nil {
		if prepare := r.Prepare(); prepare != "" {
			say("prepare", prepare)
		}
		if told := r.Instructions(); told != "" {
			say("instructions", told)
		}
		if !r.Start.Confined {
			say("sandbox", "none: commands run with your rights (--unsandboxed)")
		}
		if o.again != nil {
			say("task", fmt.Sprintf("%s, from commit %.12s", o.again.ID, r.Start.Base))
		}
		notes = append(notes, r.Start.Notes...)
	}
	for _, n := range notes {
		say("note", n)
	}
	app.Printf("\n")
}

// models names the model of each tier, once where all are the same.
func models(req pawl.StartRequest) string {
	var out []string
	same := true
	for i, m := range req.Settings.Models {
		out = append(out, req.Recipe.Tier(i+1)+" "+m.Provider+"/"+m.Name)
		same = same && m == req.Settings.Models[0]
	}
	if same {
		return req.Settings.Models[0].Provider + "/" + req.Settings.Models[0].Name
	}
	return strings.Join(out, ", ")
}

// limits tells what the run may use up: a recipe with tasks bounds how many are
// begun, another one the attempts.
func limits(req pawl.StartRequest, iterations int) string {
	var out []string
	l := req.Settings.Limits
	if l.Money > 0 {
		out = append(out, l.Money.String())
	}
	if l.Tokens > 0 {
		out = append(out, view.Amount(pawl.LimitTokens, l.Tokens)+" tokens")
	}
	if l.Time > 0 {
		out = append(out, view.Amount(pawl.LimitTime, int64(l.Time)))
	}
	if root := req.Recipe.Kind(req.Recipe.Start); root != nil && root.Children != nil {
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
