package prompt

import (
	"maps"
	"slices"

	"pawl/internal/recipe"
)

// squeeze makes room when all texts together are too much: each kind of text in
// turn gives as much as is missing, the longest first. latest says that of the
// memory the last entries matter most.
func (r *reader) squeeze(data *recipe.PromptData, latest bool) {
	over := size(data) + r.instructionsSize() - maxPrompt
	if over <= 0 {
		return
	}
	before := memorySize(data.Memory)
	var left int
	data.Memory, left = keep(data.Memory, max(0, before-over), latest)
	r.left += left
	over -= before - memorySize(data.Memory)
	for i := range slices.Backward(r.instructions) { // those that hold for the fewest files first
		in := &r.instructions[i]
		over = r.shorten(in.Path, &in.Text, over)
	}
	over = r.shorten("state", &data.State, over)
	over = r.shorten("plan", &data.Plan, over)
	over = r.shortenInputs(data.Inputs, over)
	over = r.shortenBatch(data.Batch, over)
	if diff, ok := data.Inputs["diff"]; ok {
		over = r.shorten("diff", &diff, over)
		data.Inputs["diff"] = diff
	}
	byLength := make([]*recipe.Feedback, len(data.Feedback))
	for i := range data.Feedback {
		byLength[i] = &data.Feedback[i]
	}
	slices.SortStableFunc(byLength, func(a, b *recipe.Feedback) int { return len(b.Evidence) - len(a.Evidence) })
	for _, f := range byLength {
		if f.Person {
			continue
		}
		over = r.shorten(f.From, &f.Evidence, over)
	}
}

// shortenInputs shortens outputs of earlier steps, the longest first.
func (r *reader) shortenInputs(inputs map[string]string, over int) int {
	names := slices.Sorted(maps.Keys(inputs))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "diff" })
	slices.SortStableFunc(names, func(a, b string) int { return len(inputs[b]) - len(inputs[a]) })
	for _, name := range names {
		text := inputs[name]
		over = r.shorten(name, &text, over)
		inputs[name] = text
	}
	return over
}

// shortenBatch shortens what the tasks of a batch handed in, the longest first.
func (r *reader) shortenBatch(batch []recipe.Member, over int) int {
	byLength := make([]*recipe.Member, len(batch))
	for i := range batch {
		byLength[i] = &batch[i]
	}
	slices.SortStableFunc(byLength, func(a, b *recipe.Member) int { return len(b.Result) - len(a.Result) })
	for _, m := range byLength {
		over = r.shorten("result of "+m.Task.ID, &m.Result, over)
		over = r.shorten("diff of "+m.Task.ID, &m.Diff, over)
	}
	return over
}

// shorten takes what is over out of the middle of a text, as far as it goes, and
// returns what is still over.
func (r *reader) shorten(name string, text *string, over int) int {
	if over <= 0 || len(*text) <= leastText {
		return over
	}
	before := len(*text)
	*text = r.fit(name, *text, max(leastText, before-over-markSize))
	return over - (before - len(*text))
}

func (r *reader) instructionsSize() int {
	n := 0
	for i := range r.instructions {
		n += len(r.instructions[i].Path) + len(r.instructions[i].Text)
	}
	for _, text := range r.answered {
		n += len(text)
	}
	return n
}

func memorySize(entries []recipe.Memory) int {
	n := 0
	for _, m := range entries {
		n += entrySize(m)
	}
	return n
}

// size is about how long the prompt will be, in bytes.
func size(data *recipe.PromptData) int {
	n := len(data.Goal) + len(data.State) + len(data.Plan) + len(data.Item) + memorySize(data.Memory)
	for i := range data.Batch {
		m := &data.Batch[i]
		n += len(m.Task.Title) + len(m.Task.Description) + len(m.Task.Notes) + len(m.Result) + len(m.Paths) + len(m.Diff)
		for _, c := range m.Task.Criteria {
			n += len(c)
		}
	}
	for _, c := range data.Criteria {
		n += len(c.ID) + len(c.Text)
	}
	if t := data.Task; t != nil {
		n += len(t.Title) + len(t.Description) + len(t.Notes)
	}
	for _, text := range data.Inputs {
		n += len(text)
	}
	for _, f := range data.Feedback {
		n += len(f.Summary) + len(f.Evidence)
	}
	for _, text := range slices.Concat(data.History, data.RedAtBase, data.RedTests, data.Scope, data.Answers) {
		n += len(text)
	}
	return n
}
