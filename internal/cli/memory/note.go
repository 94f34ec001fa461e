package memory

import (
	"context"
	"encoding/json"
	"math"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// note is what Pandora writes of a task that passed, as other tools read it.
type note struct {
	Type       string   `json:"artifact_type"`
	Topic      string   `json:"topic"`
	Content    content  `json:"content"`
	Tags       []string `json:"tags"`
	Source     string   `json:"source"`
	Confidence float64  `json:"confidence"`
}

type content struct {
	Summary  string   `json:"summary"`
	Findings []string `json:"findings"`
}

func newNote(task, title string, findings []string) *note {
	return &note{
		Type: "research", Topic: "pandora-loop-learnings-" + task, Content: content{"Patterns learned from: " + title, findings},
		Tags: []string{"pandora-loop", "code-patterns", task}, Source: "pandora_loop", Confidence: 0.9,
	}
}

// notes are one for each task that passed and left learnings, in the order of the plan.
func notes(ctx context.Context, s pawl.Service, run pawl.RunID) ([]*note, error) {
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
	out := []*note{}
	if r.Plan() == nil {
		return out, nil
	}
	for _, t := range r.Plan().Tasks {
		if t.Status == pawl.TaskPassed && len(findings[t.ID]) > 0 {
			out = append(out, newNote(t.ID, title(t, cli.Blobs(ctx, s, run)), findings[t.ID]))
		}
	}
	return out, nil
}

// title is the task's whole title; its id when it is not to be had.
func title(t *view.Task, blobs view.Blobs) string {
	var spec pawl.TaskSpec
	if data, err := blobs(t.Spec); err == nil && json.Unmarshal(data, &spec) == nil && spec.Title != "" {
		return plain.Line(spec.Title, 0)
	}
	if t.Title != "" {
		return plain.Line(t.Title, 0)
	}
	return t.ID
}

// noteOf is the note a learning belongs to, or one of its own while its task has
// not passed.
func noteOf(ctx context.Context, s pawl.Service, run pawl.RunID, e pawl.MemoryEntry) (*note, error) {
	all, err := notes(ctx, s, run)
	if err != nil {
		return nil, err
	}
	own := newNote(e.Task, e.Task, []string{e.Text})
	for _, n := range all {
		if n.Topic == own.Topic && !e.Failed && !e.Forgotten {
			return n, nil
		}
	}
	return own, nil
}

func export(app *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "export RUN",
		Short: "Print what a run's tasks have learned, a note a task, as JSON",
		Long: `Export prints a JSON list with a note for each task that passed and left
learnings: artifact_type, topic, content (summary and findings), tags, source
and confidence. What was forgotten is not in it.

` + cli.ExitCodes,
		Example: "  pawl memory export 7 > learnings.json\n  pawl memory export 7 | jq -r '.[].content.findings[]'",
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []*note
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
