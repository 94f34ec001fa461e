// Package config is pawl config: the settings in force and where each comes from.
package config

import (
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/cli"
	settings "pawl/internal/config"
	"pawl/internal/plain"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	run := func(cmd *cobra.Command, _ []string) error { return explain(app, app.Root(cmd.Context())) }
	about := `Config explain lists every setting that a run started here would have, with the
file and line, the variable or the default that it comes from. Settings come
from, weakest first: the defaults, the repository's
.devteam/task-loop-config.yaml and .pawl/config.yaml, your own file
($XDG_CONFIG_HOME/pawl/config.yaml), variables such as PAWL_LIMITS_MONEY_USD,
and the flags of pawl run.

` + cli.ExitCodes
	c := &cobra.Command{
		Use:               "config",
		Short:             "Show the settings and where each comes from",
		Long:              about,
		Example:           "  pawl config\n  pawl config explain --json | jq '.settings[] | select(.origin != \"default\")'\n  pawl config schema > config.schema.json",
		Args:              cli.NoCommand,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              run,
	}
	c.AddCommand(&cobra.Command{
		Use:               "explain",
		Short:             "List every setting and where it comes from",
		Long:              about,
		Example:           "  pawl config explain\n  pawl config explain --json",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              run,
	}, &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of configuration files",
		Long: `Schema prints the JSON Schema that configuration files are checked against, for
editors.

` + cli.ExitCodes,
		Example:           "  pawl config schema > config.schema.json",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			app.Printf("%s\n", strings.TrimRight(string(settings.Schema()), "\n"))
			return nil
		},
	})
	return c
}

func explain(app *cli.App, root string) error {
	var repo fs.FS
	if root != "" {
		repo = os.DirFS(root)
	}
	cfg, err := settings.Load(settings.Sources{Repo: repo, UserFile: app.UserConfig(), Env: app.Environ, Program: app.Program})
	if err != nil {
		return err
	}
	values := cfg.Explain()
	if app.JSON {
		return app.Encode(map[string]any{"settings": values, "notes": append([]string{}, cfg.Notes...)})
	}
	key, origin := 0, 0
	for _, v := range values {
		key, origin = max(key, len(v.Key)), max(origin, len(v.Origin))
	}
	for _, v := range values { // what may be long stands last
		app.Printf("%-*s  %-*s  %s\n", key, plain.Line(v.Key, 0), origin, plain.Line(v.Origin, 0), plain.Line(v.Value, 0))
	}
	for _, n := range cfg.Notes {
		app.Notef("%s", n)
	}
	return nil
}
