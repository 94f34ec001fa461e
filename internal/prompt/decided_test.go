package prompt_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/recipe"
)

const lowerCase = "Which case do names have?\n\n**Context:** A person was asked: Which case do names have?\n\n**Choice:** lower case\n\n**Depends On:** none\n"

// Every prompt of every recipe is told what people answered in earlier runs, unless it shows nothing but its
// template; of this run it is told once, in the memory or beside it. F-72
func TestPromptsTellWhatWasAnswered(t *testing.T) {
	assembled := 0
	for _, name := range []string{"coherence", "loom", "loopr", "pandora", "pawl", "taskloop"} {
		templates, err := recipe.Prompts(name)
		if err != nil {
			t.Fatal(err)
		}
		for template := range templates {
			w := MustWorldOf(t, name)
			list, err := json.Marshal([]string{lowerCase})
			if err != nil {
				t.Fatal(err)
			}
			w.job.Started.Answered = w.MustKeep(t, string(list))
			own := pawl.MemoryEntry{Run: runID, N: 1, Kind: pawl.MemoryDecision, Scope: pawl.ScopeProject, Source: "task/1/person", Learning: 1, Text: strings.ReplaceAll(lowerCase, "lower case", "no limit")}
			other := own
			other.Run, other.Text = "001-other", lowerCase
			w.assembler.Recall = func(context.Context, pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
				return []pawl.MemoryEntry{other, own}, nil
			}
			do := w.request(t, template)
			do.Task = w.MustKeep(t, pawl.TaskSpec{ID: "a", Title: "Add a", Description: "Write a."})
			do.Inputs = []pawl.Input{{Name: "plan", Blob: w.MustKeep(t, "the plan")}}
			w.at(pawl.Place{Loop: "task", Iteration: 1, Step: "implement", Tier: 1})
			text, err := w.assembler.Assemble(t.Context(), w.job, do)
			if err != nil { // it needs more than this request has
				continue
			}
			assembled++
			if n, m := strings.Count(text.User, "Choice: lower case"), strings.Count(text.User, "Choice: no limit"); n != 1 || m != 1 {
				t.Errorf("%s/%s tells %d times what was answered earlier, and %d times what was in this run", name, template, n, m)
			}
			do.Memory = &pawl.Memory{Select: "all", MaxTokens: 4000}
			if text, err := w.assembler.Assemble(t.Context(), w.job, do); err != nil || strings.Count(text.User, "Choice: lower case") != 1 || strings.Count(text.User, "Choice: no limit") > 1 {
				t.Errorf("%s/%s with its memory: %v\n%s", name, template, err, text.User)
			}
			do.Bare, do.Memory = true, nil
			if text, err := w.assembler.Assemble(t.Context(), w.job, do); err != nil || strings.Contains(text.User, "What people have decided") {
				t.Errorf("%s/%s is bare and tells it all the same: %v", name, template, err)
			}
		}
	}
	if assembled < 20 {
		t.Errorf("only %d prompts were assembled", assembled)
	}
}
