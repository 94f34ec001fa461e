package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"pawl/internal/view"
)

// tasksJSON is a list of tasks as the Pandora loop keeps it.
func tasksJSON(f view.TaskFile) ([]byte, error) {
	type task struct {
		ID          string   `json:"id"`
		Title       string   `json:"title"`
		Description string   `json:"description"`
		Criteria    []string `json:"acceptance_criteria"`
		Priority    int      `json:"priority"`
		Status      string   `json:"status"`
		DependsOn   []string `json:"depends_on"`
		Notes       string   `json:"notes"`
	}
	type progress struct {
		Completed int `json:"completed"`
		Total     int `json:"total"`
		Iteration int `json:"current_iteration"`
	}
	doc := struct {
		Type     string    `json:"_type"`
		Version  string    `json:"version"`
		Created  time.Time `json:"created"`
		Query    string    `json:"original_query"`
		Limit    int       `json:"max_iterations"`
		Tasks    []task    `json:"tasks"`
		Progress progress  `json:"progress"`
	}{"PANDORA_LOOP", "1.0", f.Created.Truncate(time.Second), f.Query, f.Limit, []task{}, progress{f.Completed, len(f.Tasks), f.Begun}}
	for _, t := range f.Tasks {
		if t.Priority == 0 { // a task without one is the last
			t.Priority = lastPriority
		}
		doc.Tasks = append(doc.Tasks, task{t.ID, t.Title, t.Description, append([]string{}, t.Criteria...), t.Priority, t.Status, append([]string{}, t.DependsOn...), t.Notes})
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("write a list of tasks: %w", err)
	}
	return out.Bytes(), nil
}

// lastPriority is that of a task without one.
const lastPriority = 99
