package prompt

import (
	"encoding/json"
	"fmt"

	"pawl"
	"pawl/internal/recipe"
)

// batch reads what only prompts of batches and of steps around them are told: the
// entry a step is about, the answers of persons, the tasks that are to be judged.
func (r *reader) batch(do *pawl.AssemblePrompt, data *recipe.PromptData, diff func(from, to pawl.CommitHash, most int) (string, bool)) {
	if do.Item > 0 {
		data.Item = r.fit("item", readable(r.item(do)), maxInput)
	}
	for _, h := range do.Answers {
		if text := r.text("an answer", h); text != "" {
			data.Answers = append(data.Answers, r.fit("answer", text, maxAnswer))
		}
	}
	for _, m := range do.Batch {
		out := recipe.Member{Result: readable(r.text("what a task of the batch handed in", m.Result))}
		r.json("a task of the batch", m.Task, &out.Task)
		out.Task.Description = r.fit(out.Task.ID, out.Task.Description, maxMemberTask)
		out.Task.Notes = r.fit(out.Task.ID, out.Task.Notes, maxMemberTask)
		out.Result = r.fit("result of "+out.Task.ID, out.Result, maxMemberResult)
		out.Paths = r.head("paths of "+out.Task.ID, r.text("the paths of a task of the batch", m.Paths), maxMemberPaths)
		out.Diff, _ = diff(do.Base, m.Commit, maxDiff/len(do.Batch))
		data.Batch = append(data.Batch, out)
	}
}

// item is the entry of a list in a result that the request names, as JSON or as
// the text it is.
func (r *reader) item(do *pawl.AssemblePrompt) string {
	var result map[string]json.RawMessage
	r.json("the result with the list", do.ItemOf, &result)
	if r.err != nil {
		return ""
	}
	var list []json.RawMessage
	err := json.Unmarshal(result[do.ItemField], &list)
	if err == nil && do.Item > len(list) {
		err = fmt.Errorf("it has %d", len(list))
	}
	if err != nil {
		r.fail(pawl.Errorf(pawl.CodeDamaged, "read entry %d of %s: %w", do.Item, do.ItemField, err))
		return ""
	}
	var text string
	if json.Unmarshal(list[do.Item-1], &text) == nil {
		return text
	}
	return string(list[do.Item-1])
}
