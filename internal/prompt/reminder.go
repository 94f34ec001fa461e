package prompt

import (
	"cmp"
	"strings"

	"pawl"
)

// reminder returns the text that repeats the task of a session's loop after its tool calls: the goal
// and the task's description whole, as models lose both in a long transcript. Whoever reminds adds
// what is due then. It is empty if the session is not to be reminded of a task. L-54
func (r *reader) reminder(do *pawl.AssemblePrompt) string {
	if !do.Remind || do.Task.IsZero() {
		return ""
	}
	var task pawl.TaskSpec
	r.json("the task", do.Task, &task)
	goal, work := indented(r.text("the goal", do.Goal)), indented(cmp.Or(task.Description, task.Title))
	return "CURRENT TASK STATE:\nGoal: " + goal + "\nCurrent subtask: " + indented(task.ID) + " — " + work + "\nStatus: running\n\n" +
		"REMAINING WORK FOR THIS SUBTASK:\nContinue working on: " + work +
		"\nDo NOT move to the next subtask; complete ONLY this one.\nWhen finished, summarize what you did."
}

// indented returns a text with all its lines but the first one indented, so that none of them passes
// for a line of the reminder's own.
func indented(text string) string {
	return strings.NewReplacer("\r\n", "\n  ", "\n", "\n  ", "\r", "\n  ").Replace(strings.TrimSpace(text))
}
