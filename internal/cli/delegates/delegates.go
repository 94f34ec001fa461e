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
	// Probe makes an agent answer once. Nil means that agents cannot be probed.
	Probe func(ctx context.Context, name string) error
}

// New is the command.
func New(app *cli.App, world World) *cobra.Command {
	var probe bool
	c := &cobra.Command{
		Use:   "delegates [NAME]",
		Short: "List the coding agents that are installed, and what pays for them",
		Long: `Delegates lists the coding agents that Pawl can use as providers of models, such
as --model claude-code/sonnet: whether the program is on PATH, its version, and
its purse: your login to the agent, or a key. An asterisk marks a version that
Pawl was not tested with. Your own config file can change and add agents, under
delegates.

To read a version, Pawl runs the program with an empty home and without your
keys. With --probe it asks each agent that is installed, or the named one, to
answer once. That uses your plan or your key.

With --json it is a list of objects: name, title, program (a path), version,
known_version, purse, problem (why nothing pays), answers and answer_problem
(with --probe), and agent (the whole entry).

` + cli.ExitCodes,
		Example: "  pawl delegates\n  pawl delegates codex --probe\n  pawl delegates --json | jq -r '.[] | select(.purse) | .name'",
		Args:    cli.Args(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(app), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if probe && world.Probe == nil {
				return pawl.Errorf(pawl.CodeUnavailable, "--probe is not available in this build").WithHint("pawl delegates shows what is installed; a run shows whether it answers")
			}
			list, err := chosen(app, args)
			if err != nil {
				return err
			}
			found := look(cmd.Context(), app, world, list, probe)
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
	Answers       bool            `json:"answers,omitempty"`
	AnswerProblem string          `json:"answer_problem,omitempty"`
	Agent         config.Delegate `json:"agent"`

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

// chosen returns the agents to list.
func chosen(app *cli.App, args []string) ([]config.Delegate, error) {
	cfg, err := load(app)
	if err != nil || len(args) == 0 {
		return cfg.Delegates(), err
	}
	d, ok := cfg.Delegate(args[0])
	if !ok {
		return nil, pawl.Errorf(pawl.CodeNotFound, "there is no coding agent %q", args[0]).WithHint("known: %s", strings.Join(names(app), ", "))
	}
	return []config.Delegate{d}, nil
}

// look finds out what is installed. Versions are read at once, because programs may start slowly.
func look(ctx context.Context, app *cli.App, world World, list []config.Delegate, probe bool) []Status {
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
	for i := range out {
		s := &out[i]
		if !probe || s.Program == "" || s.Purse == "" || ctx.Err() != nil {
			continue
		}
		if err := world.Probe(ctx, s.Name); err != nil {
			s.AnswerProblem = err.Error()
		} else {
			s.Answers = true
		}
	}
	return out
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
		if probe && s.Program != "" {
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
	if strange {
		app.Printf("\n* Pawl was not tested with this version.\n")
	}
	return nil
}

func answer(s *Status) string {
	switch {
	case s.Answers:
		return "yes"
	case s.Purse == "":
		return "not asked: nothing pays"
	}
	return "no: " + s.AnswerProblem
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
