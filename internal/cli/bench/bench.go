// Package bench is pawl bench: how fast pawl is on this machine.
package bench

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/cli"
	"pawl/internal/plain"
)

// Run measures, and says on the way what it measures. Its report is printed as
// text where it is a [fmt.Stringer], else as JSON.
type Run func(ctx context.Context, progress func(string)) (report any, err error)

// New is the command.
func New(app *cli.App, run Run) *cobra.Command {
	return &cobra.Command{
		Use:   "bench",
		Short: "Measure pawl on this machine",
		Long: `Bench measures the harness's own time per iteration, durable steps per second
beside what the disk can do, folding, start-up and memory. It calls no model and
leaves nothing behind. Machines differ: compare figures of one machine only.

` + cli.ExitCodes,
		Example:           "  pawl bench\n  pawl bench --json > bench.json",
		Args:              cli.Args(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := run(cmd.Context(), func(what string) { app.Notef("%s", what) })
			if err != nil {
				return err
			}
			if text, ok := report.(fmt.Stringer); ok && !app.JSON {
				app.Printf("%s", plain.Text(text.String()))
				return nil
			}
			return app.Encode(report)
		},
	}
}
