package prompt

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/recipe"
)

// maxRecalled is how many entries are looked at, before they are cut to what fits;
// maxEarlier how many earlier runs of the task are asked.
const (
	maxRecalled = 5000
	maxEarlier  = 8
)

// batchMemory is how many tokens of the memory a review of a batch is shown, which
// cannot ask for it itself: work is held against what was decided.
const batchMemory = 4000

// choice is what of the memory a request asks for; nil = nothing.
func choice(do *pawl.AssemblePrompt) *pawl.Memory {
	if do.Memory == nil && len(do.Batch) > 0 {
		return &pawl.Memory{Select: "all", MaxTokens: batchMemory}
	}
	return do.Memory
}

// memory is what the request asks to be remembered, in the store's order: the
// oldest first, or what fits the task best.
func (a *Assembler) memory(r *reader, choice *pawl.Memory, data *recipe.PromptData) ([]recipe.Memory, error) {
	if choice == nil || a.Recall == nil || r.err != nil {
		return nil, r.err
	}
	q := pawl.MemoryQuery{Run: r.job.Run, Before: r.job.Effect.ID, Limit: maxRecalled}
	relevant := choice.Select == "relevant"
	if relevant {
		q.Project, q.Text = true, data.Goal
		if t := data.Task; t != nil {
			q.Text = t.Title + "\n" + t.Description
		}
	}
	var entries []pawl.MemoryEntry
	if !relevant {
		var err error
		if entries, err = a.earlier(r); err != nil {
			return nil, err
		}
	}
	own, err := a.Recall(r.ctx, q)
	if err != nil {
		return nil, fmt.Errorf("what is remembered: %w", err)
	}
	var out []recipe.Memory
	for _, e := range once(r.job.Run, entries, own) {
		if e.Answered() && e.Run != r.job.Run { // every prompt is told what people answered in earlier runs
			continue
		}
		m := recipe.Memory{Kind: e.Kind, Task: e.Task, Text: valid(e.Text), Failed: e.Failed, Learning: e.Learning}
		if m.Learning > 0 {
			m.Text = plainRecord(m.Text)
		}
		out = append(out, m)
	}
	out, left := keep(out, choice.MaxTokens*bytesPerToken, !relevant)
	r.left += left
	return out, nil
}

// decided returns what people answered: in earlier runs, as was known when this one started, and in this
// one, where the request asks for nothing of the memory, which has it too.
func (a *Assembler) decided(r *reader, do *pawl.AssemblePrompt) []string {
	var out []string
	r.json("what people answered", r.job.Started.Answered, &out)
	if choice(do) == nil && a.Recall != nil && r.err == nil {
		own, err := a.Recall(r.ctx, pawl.MemoryQuery{Run: r.job.Run, Before: r.job.Effect.ID, Kinds: []pawl.MemoryKind{pawl.MemoryDecision}, Limit: maxRecalled})
		if err != nil {
			r.fail(fmt.Errorf("what people answered: %w", err))
		}
		for i := range own {
			if own[i].Answered() && own[i].Run == r.job.Run {
				out = append(out, own[i].Text)
			}
		}
	}
	for i := range out {
		out[i] = r.fit("what a person answered", plainRecord(valid([]byte(out[i]))), maxAnswer)
	}
	return out
}

// earlier is what earlier runs of the task have recorded in its folder.
func (a *Assembler) earlier(r *reader) (out []pawl.MemoryEntry, err error) {
	task, n := r.job.Run.Task()
	for i := max(1, n-maxEarlier); i < n; i++ {
		run := pawl.RunID(task)
		if i > 1 {
			run = pawl.RunID(fmt.Sprintf("%s-r%d", task, i))
		}
		entries, err := a.Recall(r.ctx, pawl.MemoryQuery{Run: run, Limit: maxRecalled})
		if err != nil {
			return nil, fmt.Errorf("what run %s has recorded: %w", run, err)
		}
		for _, e := range entries {
			if e.Learning > 0 {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// once is what earlier runs recorded, then what was found of this run and others,
// without what a fork of a run has in common with it: that stands once, as this run
// has it. Where a fork has recorded something else under a number, that is what its
// folder has.
func once(run pawl.RunID, earlier, found []pawl.MemoryEntry) []pawl.MemoryEntry {
	type event struct {
		seq  pawl.Seq
		time int64
		text string
	}
	of := func(e pawl.MemoryEntry) event { return event{e.Seq, e.Time.UnixNano(), e.Text} }
	numbers, runs := map[int]bool{}, map[event]pawl.RunID{}
	for _, e := range found {
		if e.Run == run {
			runs[of(e)] = run
			numbers[e.Learning] = e.Learning > 0
		}
	}
	var out []pawl.MemoryEntry
	for _, e := range earlier {
		if !numbers[e.Learning] {
			out = append(out, e)
		}
	}
	for _, e := range found {
		if _, known := runs[of(e)]; !known {
			runs[of(e)] = e.Run
		}
		if runs[of(e)] == e.Run {
			out = append(out, e)
		}
	}
	return out
}

// plainRecord is a record of a decision or an anti-pattern without the marks of
// its document: a prompt shows it on one line.
func plainRecord(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "# Anti-Pattern: ")
	text = strings.Replace(text, "\nStatus: ANTI-PATTERN\n", "\n", 1)
	var sentences []string
	for line := range strings.Lines(strings.ReplaceAll(text, "**", "")) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
		if line == "" {
			continue
		}
		if !strings.ContainsRune(".:!?", rune(line[len(line)-1])) {
			line += "."
		}
		sentences = append(sentences, line)
	}
	return strings.Join(sentences, " ")
}

// keep keeps whole entries as far as they fit, without changing their order:
// what a person said before all others, then what must not be tried again and what
// was decided as the task's folder has it, then the first ones, or the last ones.
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
	switch {
	case m.Kind == pawl.MemoryInstruction:
		return 0
	case m.Kind == pawl.MemoryAntiPattern && m.Learning > 0:
		return 1
	case m.Kind == pawl.MemoryDecision && m.Learning > 0:
		return 2
	}
	return 3
}

// entrySize is what an entry takes up in a prompt, in bytes, or a little more.
func entrySize(m recipe.Memory) int { return len(m.Text) + len(m.Task) + len(m.Kind) + 8 }
