package kernel

import (
	"strings"
	"testing"

	"pawl"
)

// L-54 L-02: the reminder of a loop with a task of its own keeps to that task, in
// this order, and holds within a note's bounds whatever the texts.
func TestReminderOfATask(t *testing.T) {
	for _, long := range []int{1, 200} {
		title := strings.Repeat("rename the files ", long)
		d := &draft{s: State{Started: &pawl.RunStarted{Title: strings.Repeat("tidy the repository ", long)}}}
		l := newLoop(1, &pawl.LoopKind{})
		l.task = &pawl.TaskEntry{ID: "rename-files", Title: title}
		text := d.reminder(l, &Session{Turns: 20, turn: 2}, "result")
		if len(text) > 400 {
			t.Errorf("%d bytes", len(text))
		}
		rest := text
		for _, part := range []string{"CURRENT TASK STATE:\n", "Goal: tidy the repository", "\nCurrent subtask: rename-files — rename the files", "\nStatus: running\n",
			"\nREMAINING WORK FOR THIS SUBTASK:\n", "Continue working on: rename the files", "\nDo NOT move to the next subtask; complete ONLY this one.\n",
			"When finished, summarize"} {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Fatalf("%q is missing, or not here:\n%s", part, text)
			}
			rest = after
		}
	}
}
