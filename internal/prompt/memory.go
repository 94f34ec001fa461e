package prompt

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/recipe"
)

// maxRecalled is how many entries are looked at, before they are cut to what fits.
const maxRecalled = 5000

// memory is what the request asks to be remembered, in the store's order: the
// oldest first, or what fits the task best.
func (a *Assembler) memory(r *reader, do *pawl.AssemblePrompt, data *recipe.PromptData) ([]recipe.Memory, error) {
	if do.Memory == nil || a.Recall == nil || r.err != nil {
		return nil, r.err
	}
	q := pawl.MemoryQuery{Run: r.job.Run, Before: r.job.Effect.ID, Limit: maxRecalled}
	relevant := do.Memory.Select == "relevant"
	if relevant {
		q.Project, q.Text = true, data.Goal
		if t := data.Task; t != nil {
			q.Text = t.Title + "\n" + t.Description
		}
	}
	entries, err := a.Recall(r.ctx, q)
	if err != nil {
		return nil, fmt.Errorf("what is remembered: %w", err)
	}
	var out []recipe.Memory
	for _, e := range entries {
		out = append(out, recipe.Memory{Kind: e.Kind, Task: e.Task, Text: valid(e.Text), Failed: e.Failed})
	}
	out, left := keep(out, do.Memory.MaxTokens*bytesPerToken, !relevant)
	r.left += left
	return out, nil
}

// keep keeps whole entries as far as they fit, without changing their order:
// what a person said before all others, then the first ones, or the last ones.
func keep(entries []recipe.Memory, limit int, last bool) (kept []recipe.Memory, left int) {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	if last {
		slices.Reverse(order)
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(entries[a]) - rank(entries[b]) })
	fits := make([]bool, len(entries))
	for _, i := range order {
		if size := entrySize(entries[i]); size <= limit {
			limit -= size
			fits[i] = true
		}
	}
	for i, e := range entries {
		if fits[i] {
			kept = append(kept, e)
		}
	}
	return kept, len(entries) - len(kept)
}

func rank(m recipe.Memory) int {
	if m.Kind == pawl.MemoryInstruction {
		return 0
	}
	return 1
}

// entrySize is what an entry takes up in a prompt, in bytes, or a little more.
func entrySize(m recipe.Memory) int { return len(m.Text) + len(m.Task) + len(m.Kind) + 8 }
