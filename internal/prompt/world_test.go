package prompt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/prompt"
	"pawl/internal/recipe"
	"pawl/internal/runner"
	"pawl/internal/store/mem"
)

// world is a run of the Task Loop as far as prompts depend on it, in a store in memory.
type world struct {
	job       driver.Job
	assembler prompt.Assembler
	log       *mem.Log
	seq       pawl.Seq
}

const runID = "007-reject-empty-passwords"

// MustWorld starts a run with the Task Loop's own templates.
func MustWorld(tb testing.TB) *world { return MustWorldOf(tb, "taskloop") }

// MustWorldOf starts a run with the built-in recipe's own templates.
func MustWorldOf(tb testing.TB, name string) *world {
	tb.Helper()
	templates, err := recipe.Prompts(name)
	if err != nil {
		tb.Fatal(err)
	}
	w := &world{log: mem.New()}
	started := &pawl.RunStarted{Task: 7, Title: "Reject empty passwords."}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		started.Prompts = append(started.Prompts, pawl.Input{Name: name, Blob: w.MustKeep(tb, templates[name])})
	}
	w.job = driver.Job{
		Run: runID, Started: started, Recipe: &pawl.Recipe{Name: name},
		Settings: &pawl.Settings{Agent: "backend-developer", Scope: []string{"Change nothing outside the folder auth."}},
		Blob: func(ctx context.Context, h pawl.Hash) ([]byte, error) {
			return w.log.Blob(ctx, runID, h)
		},
	}
	return w
}

// MustKeep stores a text, or a value as JSON, as a blob of the run.
func (w *world) MustKeep(tb testing.TB, v any) pawl.Hash {
	tb.Helper()
	data, isText := []byte(nil), false
	if text, ok := v.(string); ok {
		data, isText = []byte(text), true
	}
	if !isText {
		var err error
		if data, err = json.Marshal(v); err != nil {
			tb.Fatal(err)
		}
	}
	blob := pawl.NewBlob(data)
	unit := pawl.Unit{Run: runID, After: w.seq, Blobs: []pawl.Blob{blob},
		Events: []pawl.Event{{Run: runID, Seq: w.seq + 1, Time: time.Unix(1, 0), Body: &pawl.RunPaused{}}}}
	if err := w.log.Append(context.Background(), unit); err != nil {
		tb.Fatal(err)
	}
	w.seq++
	return blob.Hash()
}

// request is what every prompt of the run is told.
func (w *world) request(tb testing.TB, template string) *pawl.AssemblePrompt {
	tb.Helper()
	return &pawl.AssemblePrompt{
		Template: template, Max: 10,
		Goal: w.MustKeep(tb, "Reject empty passwords.\n\nThe form sends what the user typed."),
		Criteria: w.MustKeep(tb, []pawl.Criterion{
			{ID: "AC-001", Text: "An empty password gives status 400."}, {ID: "AC-002", Text: "The error says which field is empty."}}),
	}
}

// at says where in the loop the prompt belongs.
func (w *world) at(place pawl.Place) {
	w.job.Effect = &pawl.Effect{ID: 9, Place: place}
}

// MustAssemble assembles, and once more: the bytes are the same.
func (w *world) MustAssemble(tb testing.TB, do *pawl.AssemblePrompt) runner.Prompt {
	tb.Helper()
	if w.job.Effect == nil {
		w.at(pawl.Place{Loop: "task", Iteration: 1, Step: "implement", Tier: 1})
	}
	p, err := w.assembler.Assemble(tb.Context(), w.job, do)
	if err != nil {
		tb.Fatal(err)
	}
	again, err := w.assembler.Assemble(tb.Context(), w.job, do)
	if err != nil {
		tb.Fatal(err)
	}
	if fmt.Sprint(p) != fmt.Sprint(again) {
		tb.Errorf("the second time it is\n%s\nwhere it was\n%s", again.User, p.User)
	}
	return p
}

// assembleError assembles, which must fail.
func (w *world) assembleError(tb testing.TB, do *pawl.AssemblePrompt) error {
	tb.Helper()
	w.at(pawl.Place{Loop: "task", Iteration: 1, Step: "implement", Tier: 1})
	p, err := w.assembler.Assemble(tb.Context(), w.job, do)
	if err == nil {
		tb.Fatalf("there is a prompt:\n%s", p.User)
	}
	return err
}

// patch lets the commits base and head differ.
func (w *world) patch(text string) {
	w.assembler.Diff = func(_ context.Context, from, to pawl.CommitHash) ([]byte, error) {
		if from != "base" || to != "head" {
			return nil, fmt.Errorf("compared %s with %s", from, to)
		}
		return []byte(text), nil
	}
}
