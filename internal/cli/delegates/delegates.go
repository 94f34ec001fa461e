// Package delegates is pawl delegates: the coding agents that Pawl knows, and what is installed.
package delegates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/plain"
)

// World is what the command needs of the machine.
type World struct {
	// Version runs the program of an agent and returns the version that it prints; empty if it prints
	// none.
	Version func(ctx context.Context, d config.Delegate, program string) (string, error)
	// Probe has an agent answer once, within the limits of a probe. An empty model is one that the user
	// has chosen for the agent, or else a cheap one. It is called concurrently.
	Probe func(ctx context.Context, d config.Delegate, model string) (Answer, error)
}

// The limits of a probe. Money and tokens are checked after each of the agent's model calls.
const (
	ProbeMoney  = 5 * pawl.Dollars / 100
	ProbeTokens = 100_000
	ProbeTime   = 2 * time.Minute
)

// probes is the number of agents that are asked at once: some take hundreds of megabytes.
const probes = 3

// Answer says which model answered, how long that took and what it cost.
type Answer struct {
	Model string
	Took  time.Duration
	Cost  pawl.Micros // 0 if a plan pays
	// CostGuess reports that the model's price is not known, and that of the dearest model was taken.
	CostGuess bool
}

// New is the command.
func New(app *cli.App, world World) *cobra.Command {
	var probe bool
	c := &cobra.Command{
		Use:   "delegates [NAME[/MODEL]]",
		Short: "List the coding agents that are installed, and what pays for them",
		Long: `Delegates lists the coding agents that Pawl can use as providers of models, such
as --model claude-code/sonnet: whether the program is on PATH, its version, and
its purse: your login to the agent, or a key. An asterisk marks a version that
Pawl was not tested with. Your own config file can change and add agents, under
delegates.

To read a version, Pawl runs the program with an empty home and without your
keys. With --probe it asks each agent that is installed and paid for, or the
named one, to answer with one word. This uses your plan or your key: an agent
is stopped when it has used 100,000 tokens, with a key when it has used $0.05,
and after 2 minutes. It works in a room over an empty folder, as in a run.
Unless you name a model, it is the cheapest that you have chosen for the agent,
or else the agent's own choice or cheapest.

With --json it is a list of objects: name, title, program (a path), version,
known_version, purse, problem (why nothing pays), and agent (the whole entry).
With --probe: answers, answer_model, answer_ms, answer_cost (in millionths of a
dollar), answer_cost_guess (the price is that of the dearest model that is
known), answer_problem and answer_hint.

` + cli.ExitCodes,
		Example: "  pawl delegates\n  pawl delegates codex --probe\n  pawl delegates opencode/gpt-6-luna --probe\n  pawl delegates --json | jq -r '.[] | select(.purse) | .name'",
		Args:    cli.Args(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(app), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if probe && world.Probe == nil {
				return pawl.Errorf(pawl.CodeUnavailable, "--probe is not available in this build").WithHint("pawl delegates shows what is installed; a run shows whether it answers")
			}
			list, model, err := chosen(app, args)
			if err != nil {
				return err
			}
			if model != "" && !probe {
				return pawl.Errorf(pawl.CodeInvalid, "%s: a model is only used with --probe", args[0]).WithHint("add --probe, or leave out the model")
			}
			found := look(cmd.Context(), app, world, list)
			if probe {
				askAll(cmd.Context(), app, world, found, model)
			}
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if err := show(app, found, probe, len(args) > 0); err != nil {
				return err
			}
			for _, s := range found {
				if s.AnswerProblem != "" {
					return cli.Exit(cli.ExitUnavailable)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&probe, "probe", false, "ask each installed agent to answer once")
	return c
}

// Status is an agent as it is found on this machine.
type Status struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Program string `json:"program,omitempty"` // its path; empty if it is not installed
	Version string `json:"version,omitempty"`
	// KnownVersion reports whether the version is one that Pawl was tested with.
	KnownVersion bool `json:"known_version"`
	// Purse is what pays: login or key. Problem says why nothing does.
	Purse   config.PurseKind `json:"purse,omitempty"`
	Problem string           `json:"problem,omitempty"`
	// Answers reports whether it answered, and AnswerProblem why not. Only if it was asked.
	Answers       bool        `json:"answers,omitempty"`
	AnswerModel   string      `json:"answer_model,omitempty"`
	AnswerMS      int64       `json:"answer_ms,omitempty"`
	AnswerCost    pawl.Micros `json:"answer_cost,omitempty"`
	CostGuess     bool        `json:"answer_cost_guess,omitempty"`
	AnswerProblem string      `json:"answer_problem,omitempty"`
	AnswerHint    string      `json:"answer_hint,omitempty"` // what to do about it

	Agent config.Delegate `json:"agent"`

	pays, hint string // for people
}

func load(app *cli.App) (config.Config, error) {
	return config.Load(config.Sources{UserFile: app.UserConfig(), Env: app.Environ})
}

func names(app *cli.App) []string {
	cfg, err := load(app)
	if err != nil {
		return nil
	}
	var out []string
	for _, d := range cfg.Delegates() {
		out = append(out, d.Name)
	}
	return out
}

// chosen returns the agents to list, and the model that is named with one.
func chosen(app *cli.App, args []string) (list []config.Delegate, model string, err error) {
	cfg, err := load(app)
	if err != nil || len(args) == 0 {
		return cfg.Delegates(), "", err
	}
	name, model, named := strings.Cut(args[0], "/")
	d, ok := cfg.Delegate(name)
	switch {
	case !ok:
		return nil, "", pawl.Errorf(pawl.CodeNotFound, "there is no coding agent %q", name).WithHint("known: %s", strings.Join(names(app), ", "))
	case named && model == "":
		return nil, "", pawl.Errorf(pawl.CodeInvalid, "%q names no model", args[0]).WithHint("want NAME or NAME/MODEL, such as %s/%s", name, config.DefaultModel)
	}
	return []config.Delegate{d}, model, nil
}

// look finds out what is installed. Versions are read at once, because programs may start slowly.
func look(ctx context.Context, app *cli.App, world World, list []config.Delegate) []Status {
	out := make([]Status, len(list))
	var wait sync.WaitGroup
	for i, d := range list {
		s := &out[i]
		*s = Status{Name: d.Name, Title: d.Title, Program: app.Program(d.Command[0]), Agent: d}
		purse, err := d.Purse(app.Getenv("HOME"), app.Getenv)
		if err == nil {
			s.Purse, s.pays = purse.Kind, purse.String()
		} else {
			s.Problem, s.hint = err.Error(), hint(err)
		}
		if s.Program == "" {
			continue
		}
		wait.Go(func() {
			s.Version, _ = world.Version(ctx, d, s.Program) // a program that does not say has none
			s.KnownVersion = d.Knows(s.Version)
		})
	}
	wait.Wait()
	return out
}

// canAsk reports whether an agent can be asked to answer.
func (s *Status) canAsk() bool { return s.Program != "" && s.Purse != "" }

// askAll asks all agents that can be asked to answer, a few at once. It says first what that costs, and
// each answer as it comes.
func askAll(ctx context.Context, app *cli.App, world World, found []Status, model string) {
	var asked []string
	for i := range found {
		if found[i].canAsk() {
			asked = append(asked, found[i].Name+" ("+found[i].pays+")")
		}
	}
	if len(asked) == 0 {
		return
	}
	app.Notef("asking for one answer of %s; each is stopped at %d tokens, with a key at %s, or after %s", strings.Join(asked, ", "), ProbeTokens, ProbeMoney, ProbeTime)
	answered := make(chan *Status)
	free := make(chan struct{}, probes)
	for i := range found {
		s := &found[i]
		if !s.canAsk() {
			continue
		}
		go func() {
			free <- struct{}{}
			defer func() { <-free }()
			s.ask(ctx, world, model)
			answered <- s
		}()
	}
	for range asked {
		s := <-answered
		app.Notef("%s: %s", s.Name, answer(s))
	}
}

// ask has the agent answer once.
func (s *Status) ask(ctx context.Context, world World, model string) {
	if ctx.Err() != nil {
		return
	}
	a, err := world.Probe(ctx, s.Agent, model)
	s.AnswerModel, s.AnswerMS, s.AnswerCost, s.CostGuess = a.Model, a.Took.Milliseconds(), a.Cost, a.CostGuess
	if s.Answers = err == nil; !s.Answers {
		s.AnswerProblem, s.AnswerHint = err.Error(), hint(err)
	}
}

func show(app *cli.App, found []Status, probe, one bool) error {
	if app.JSON {
		return app.Encode(found)
	}
	if one {
		details(app, &found[0], probe)
		return nil
	}
	rows := [][]string{{"NAME", "VERSION", "PURSE", "INSTALLED"}}
	strange := false
	for i := range found {
		s := &found[i]
		row := []string{s.Name, "–", cmp.Or(s.pays, "none"), "–"}
		if s.Program != "" {
			row[1], row[3] = cmp.Or(s.Version, "unknown"), s.Program
			if !s.KnownVersion {
				row[1] += "*"
				strange = true
			}
		}
		if probe {
			row[3] = answer(s)
		}
		for i := range row {
			row[i] = plain.Line(row[i], 0)
		}
		rows = append(rows, row)
	}
	if probe {
		rows[0][3] = "ANSWER"
	}
	widths := make([]int, 3)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
	}
	for _, row := range rows { // what may be long stands last
		line := ""
		for i, w := range widths {
			line += row[i] + strings.Repeat(" ", w-ansi.StringWidth(row[i])+2)
		}
		line += row[3]
		if app.Terminal {
			line = ansi.Truncate(line, app.Width(), "…")
		}
		app.Printf("%s\n", line)
	}
	for i := range found {
		if s := &found[i]; s.AnswerProblem != "" {
			app.Printf("\n%s\n", plain.Line(fmt.Sprintf("%s did not answer: %s", s.Name, s.AnswerProblem), 0))
			if s.AnswerHint != "" {
				app.Printf("  %s\n", plain.Line(s.AnswerHint, 0))
			}
		}
	}
	if strange {
		app.Printf("\n* Pawl was not tested with this version.\n")
	}
	return nil
}

// answer says in a few words whether an agent answered.
func answer(s *Status) string {
	switch {
	case s.Program == "":
		return "–"
	case s.Purse == "":
		return "not asked: nothing pays"
	case !s.Answers:
		return "no"
	}
	out := fmt.Sprintf("yes, %s in %.1f s", s.AnswerModel, float64(s.AnswerMS)/1000)
	switch {
	case s.AnswerCost > 0 && s.CostGuess:
		out += " for at most " + s.AnswerCost.String() + " (the model's price is not known)"
	case s.AnswerCost > 0:
		out += " for " + s.AnswerCost.String()
	}
	return out
}

// details shows one agent.
func details(app *cli.App, s *Status, probe bool) {
	line := func(key, value string) {
		if value != "" {
			app.Printf("%-9s  %s\n", key, plain.Line(value, 0))
		}
	}
	line("name", s.Name)
	line("title", s.Title)
	line("program", cmp.Or(s.Program, fmt.Sprintf("%s is not on PATH", filepath.Base(s.Agent.Command[0]))))
	version := cmp.Or(s.Version, "unknown")
	if !s.KnownVersion {
		version += " (Pawl was not tested with it)"
	}
	if s.Program != "" {
		line("version", version)
	}
	line("purse", cmp.Or(s.pays, s.Problem))
	line("", s.hint)
	if probe && s.Program != "" {
		line("answer", answer(s))
		line("", s.AnswerProblem)
		line("", s.AnswerHint)
	}
	if s.Agent.Tiers != [3]string{} {
		line("models", s.Name+"/"+strings.Join(distinct(s.Agent.Tiers[:]), ", "+s.Name+"/"))
	}
}

func distinct(list []string) (out []string) {
	for _, text := range list {
		if len(out) == 0 || out[len(out)-1] != text {
			out = append(out, text)
		}
	}
	return out
}

func hint(err error) string {
	if e, ok := errors.AsType[*pawl.Error](err); ok {
		return e.Hint
	}
	return ""
}
