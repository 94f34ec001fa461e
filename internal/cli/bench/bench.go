// Package bench is pawl bench: how fast pawl is on this machine.
package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
)

// World is what can be measured.
type World struct {
	// Sections are the names of what can be measured by itself.
	Sections []string
	// Times is how many times the section rooms runs each command by default.
	Times int
	// Run measures sections, all but evidence when none is named, and says on the way what it
	// measures. Its report is printed as text where it is a [fmt.Stringer], else as JSON.
	Run func(ctx context.Context, sections []string, times int, progress func(string)) (report any, err error)
}

// New is the command.
func New(app *cli.App, w World) *cobra.Command {
	times, half := w.Times, len(w.Sections)/2 // which are too many for one line
	cmd := &cobra.Command{
		Use:   "bench [SECTION...]",
		Short: "Measure pawl on this machine",
		Long: `Bench measures what pawl itself costs: from its start to its first answer, an
idle daemon, durable steps per second next to what the disk can do, folding and
deciding, the harness's own time per iteration, confined commands next to plain
bubblewrap, sessions of coding agents next to their programs, lists of many
runs, many watchers of one run, and a daemon that is killed during runs. It uses
real processes, sockets and files in a folder of its own, calls no model but a
built-in one, and leaves nothing behind. All sections together take some
minutes. Compare figures of the same machine only.

The section evidence measures no time and runs only if it is named: it makes the
changes of a corpus, cheats and honest ones, and says which are found. Its gates
need Go, Node.js, Python with pytest, Rust and make.

The sections are
  ` + strings.Join(w.Sections[:half], " ") + "\n  " + strings.Join(w.Sections[half:], " ") + `

` + cli.ExitCodes,
		Example:   "  pawl bench start idle\n  pawl bench rooms -n 500\n  pawl bench evidence\n  pawl bench --json > bench.json",
		ValidArgs: w.Sections,
		Args:      cli.Args(0, len(w.Sections)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return pawl.Errorf(pawl.CodeInvalid, "--times %d: it must be at least 1", times)
			}
			report, err := w.Run(cmd.Context(), args, times, func(what string) { app.Notef("%s", what) })
			if err != nil {
				return err
			}
			if text, ok := report.(fmt.Stringer); ok && !app.JSON {
				app.Printf("%s\n", plain.Text(text.String()))
				return nil
			}
			return app.Encode(report)
		},
	}
	cmd.Flags().IntVarP(&times, "times", "n", times, "how often the section rooms runs each command")
	return cmd
}
