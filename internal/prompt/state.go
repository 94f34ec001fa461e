package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/artifact"
)

// The limits on a plan's state.
const (
	maxState = 6_000 // bytes, about 1500 tokens
	// A plan of more tasks than maxTasks is told by counts, what runs and what
	// failed, and the next few that wait.
	maxTasks  = 15
	nextTasks = 3
	maxTitle  = 80 // bytes
)

// planned reads the tasks of a list, or of an artifact, as it was handed in.
func planned(text string) ([]pawl.TaskSpec, error) {
	if kind := artifact.Detect([]byte(text)); kind != "" {
		a, err := artifact.Read(kind, []byte(text))
		if err != nil {
			return nil, err
		}
		return a.Tasks(""), nil
	}
	var list struct {
		Tasks    []pawl.TaskSpec `json:"tasks"`
		Subtasks []pawl.TaskSpec `json:"subtasks"`
	}
	into := any(&list)
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		into = &list.Tasks
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return nil, err
	}
	return append(list.Tasks, list.Subtasks...), nil
}

// status is what a task's letter stands for.
func status(states string, i int) pawl.TaskStatus {
	return pawl.TaskStatus(max(0, strings.IndexByte(pawl.TaskLetters, states[i]))) //nolint:gosec // at most 6
}

// stateYAML tells where the tasks of a plan stand. Of a very long one only the
// first are known.
func stateYAML(tasks []pawl.TaskSpec, states string) string {
	others := max(0, len(tasks)-len(states))
	tasks = tasks[:len(tasks)-others]
	if len(tasks) == 0 {
		return ""
	}
	var counts [len(pawl.TaskLetters)]int
	for i := range tasks {
		counts[status(states, i)]++
	}
	var b strings.Builder
	if len(tasks) > maxTasks {
		for s := pawl.TaskPending; int(s) < len(counts); s++ {
			if n := counts[s]; n > 0 {
				fmt.Fprintf(&b, "%s: %d\n", s, n)
			}
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "others: %d\n", others)
	}
	b.WriteString("tasks:\n")
	waiting := 0
	for i := range tasks {
		s := status(states, i)
		if s == pawl.TaskPending {
			waiting++
		}
		shown := s == pawl.TaskRunning || s == pawl.TaskFailed || s == pawl.TaskPending && waiting <= nextTasks
		if shown || len(tasks) <= maxTasks {
			writeTask(&b, &tasks[i], s)
		}
	}
	return b.String()
}

// writeTask writes texts as JSON does, which YAML reads.
func writeTask(b *strings.Builder, t *pawl.TaskSpec, status pawl.TaskStatus) {
	fmt.Fprintf(b, "  - id: %s\n    title: %s\n    status: %s\n", quoted(t.ID), quoted(short(title(t))), status)
	if t.Scaffold {
		b.WriteString("    scaffold: true\n")
	}
	if len(t.DependsOn) > 0 {
		var ids []string
		for _, id := range t.DependsOn {
			ids = append(ids, quoted(id))
		}
		fmt.Fprintf(b, "    depends_on: [%s]\n", strings.Join(ids, ", "))
	}
}

// title is a task's, or the first line of its description when it has none.
func title(t *pawl.TaskSpec) string {
	first, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	return cmp.Or(t.Title, first)
}

func quoted(text string) string {
	data, _ := json.Marshal(text) // a string can be written
	return string(data)
}

func short(title string) string {
	if len(title) <= maxTitle {
		return title
	}
	return strings.ToValidUTF8(title[:maxTitle], "") + "…"
}
