// Package inbox is pawl inbox: what the project's runs wait for from a person.
package inbox

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pawl/internal/cli"
	"pawl/internal/view"
)

// New is the command. now is the clock that ages are told by.
func New(app *cli.App, now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "inbox [RUN]",
		Short: "List what waits for your decision",
		Long: `Inbox lists the open questions of all runs, or of one, longest waiting first:
approvals, questions of agents, blocked tasks, and batches without progress.
Each entry has its run and number, how long it has waited, what is asked, what
led to it, a summary of what it is about with the beginning of its hash, and the
command that answers it. pawl answer RUN N shows the whole thing.

With --json it is a list of objects: run, title, n, kind, task, text, choices,
about (the hash), asks (what an agent asks), brief (what it is about in short),
asked, seconds (it has waited), context, event, and how (to answer).

` + cli.ExitCodes,
		Example: "  pawl inbox\n  pawl inbox 7\n  pawl inbox --json | jq -r '.[].how'",
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []view.OpenQuestion
			s, err := app.With(cmd.Context(), cli.Read, func(s *cli.Session) (err error) {
				all, err = collect(cmd.Context(), app, s, args, now())
				return err
			})
			if err != nil {
				return err
			}
			defer s.Close()
			switch {
			case app.JSON:
				return app.Encode(all)
			case len(all) == 0:
				app.Notef("nothing waits for you")
			default:
				app.Printf("%s", view.QuestionsText(all))
			}
			return nil
		},
	}
	cli.RunArgs(c, app, false)
	return c
}

// collect are the open questions, the one that has waited longest first.
func collect(ctx context.Context, app *cli.App, s *cli.Session, args []string, now time.Time) ([]view.OpenQuestion, error) {
	runs, err := app.Asking(ctx, s, args)
	if err != nil {
		return nil, err
	}
	out := []view.OpenQuestion{}
	for _, r := range runs {
		out = append(out, view.Questions(r, now, cli.Blobs(ctx, s, r.ID))...)
	}
	slices.SortStableFunc(out, func(a, b view.OpenQuestion) int { return a.Asked.Compare(b.Asked) })
	return out, nil
}
