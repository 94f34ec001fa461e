package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"math"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/document/pandora"
)

// notes are one for each task that passed and left learnings, in the order of the plan.
func notes(ctx context.Context, s pawl.Service, run pawl.RunID) ([]pandora.Learning, error) {
	r, err := cli.Fold(ctx, s, run)
	if err != nil {
		return nil, err
	}
	learned, err := s.Recall(ctx, pawl.MemoryQuery{Run: run, Kinds: []pawl.MemoryKind{pawl.MemoryLearning}, Passed: true, Limit: math.MaxInt32})
	if err != nil {
		return nil, err
	}
	findings := map[string][]string{}
	for _, e := range learned {
		findings[e.Task] = append(findings[e.Task], e.Text)
	}
	out := []pandora.Learning{}
	if r.Plan() == nil {
		return out, nil
	}
	for _, t := range r.Plan().Tasks {
		if t.Status == pawl.TaskPassed && len(findings[t.ID]) > 0 {
			out = append(out, pandora.Note(t.ID, cmp.Or(t.FullTitle(cli.Blobs(ctx, s, run)), t.ID), findings[t.ID]))
		}
	}
	return out, nil
}

// noteOf is the note a learning belongs to, or one of its own while its task has
// not passed; nil where it belongs to none.
func noteOf(ctx context.Context, s pawl.Service, run pawl.RunID, e pawl.MemoryEntry) (*pandora.Learning, error) {
	if e.Kind != pawl.MemoryLearning || e.Task == "" {
		return nil, nil
	}
	began, err := cli.Began(ctx, s, run)
	if err != nil || began == nil {
		return nil, err
	}
	var recipe pawl.Recipe
	if json.Unmarshal(began.Recipe, &recipe) != nil || !pandora.TakesNotes(&recipe) {
		return nil, nil //nolint:nilerr // a recipe that cannot be read says nothing
	}
	all, err := notes(ctx, s, run)
	if err != nil {
		return nil, err
	}
	own := pandora.Note(e.Task, e.Task, []string{e.Text})
	for _, n := range all {
		if n.Topic == own.Topic && !e.Failed && !e.Forgotten {
			return &n, nil
		}
	}
	return &own, nil
}

func export(app *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "export RUN",
		Short: "Print what tasks have learned as JSON, a note for each task",
		Long: `Export prints a JSON list with a note for each task that passed and left
learnings: artifact_type, topic, content (summary and findings), tags, source
and confidence. It leaves out what was forgotten.

` + cli.ExitCodes,
		Example: "  pawl memory export 7 > learnings.json\n  pawl memory export 7 | jq -r '.[].content.findings[]'",
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []pandora.Learning
			s, _, err := app.OpenRun(cmd.Context(), cli.Read, args, func(s *cli.Session, info pawl.RunInfo) (err error) {
				all, err = notes(cmd.Context(), s, info.ID)
				return err
			})
			if err != nil {
				return err
			}
			defer s.Close()
			return app.Encode(all)
		},
	}
	cli.RunArgs(c, app, true)
	return c
}
