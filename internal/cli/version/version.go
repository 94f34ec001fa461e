// Package version is pawl version.
package version

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"pawl/internal/cli"
)

// New is the command. It opens nothing.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Version prints the version, the commit it was built from if that is known, and
the version of Go that built it. pawl --version prints the same.

` + cli.ExitCodes,
		Example:           "  pawl version\n  pawl version --json | jq -r .version",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return Print(app) },
	}
}

// Print prints the version.
func Print(app *cli.App) error {
	commit := builtFrom()
	if app.JSON {
		return app.Encode(map[string]string{"version": app.Version, "commit": commit, "go": runtime.Version(),
			"os": runtime.GOOS, "arch": runtime.GOARCH})
	}
	text := "pawl " + app.Version
	if commit != "" {
		text += " (" + commit + ")"
	}
	app.Printf("%s, %s %s/%s\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// builtFrom is the commit, when the build has recorded it.
func builtFrom() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	commit, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+"
			}
		}
	}
	if commit == "" {
		return ""
	}
	return commit + modified
}
