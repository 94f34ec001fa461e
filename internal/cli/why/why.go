// Package why is pawl why: the chain of causes that led a run to where it is.
package why

import (
	"github.com/spf13/cobra"

	"pawl/internal/cli"
	"pawl/internal/view"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "why [RUN]",
		Short: "Explain why a run is where it is",
		Long: `Why says what state a run is in, what led to it, nearest causes first, or what
it waits for, the last commit that changed something, and what you can do. Each
cause names the events that show it; pawl events shows them. Without RUN it
explains the latest run.

` + cli.ExitCodes,
		Example: "  pawl why\n  pawl why 7\n  pawl why 7 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, info, r, err := app.ReadRun(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.Close()
			if app.JSON {
				return app.Encode(view.Why(r))
			}
			app.Printf("%s", view.WhyText(r))
			app.WarnInterrupted(info)
			return nil
		},
	}
	cli.RunArgs(c, app, false)
	return c
}
