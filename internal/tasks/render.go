package tasks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
)

// Task is a task and where it stands.
type Task struct {
	Spec   pawl.TaskSpec
	Status pawl.TaskStatus
	// Cause is the id of the task that keeps this one blocked.
	Cause string
	// Reason is why it failed or is not going to run.
	Reason string
}

// State is what a tasks.json says.
type State struct {
	Created       time.Time
	Query         string // the user's request
	MaxIterations int    // 0 = 10
	Iteration     int    // tasks started so far, each try counted
	Tasks         []Task
}

// defaultIterations is how many tasks Pandora works on when nothing else is said.
const defaultIterations = 10

// lastPriority is that of a task without one.
const lastPriority = 99

// What the notes of a blocked task begin with.
const (
	waitsFor  = "waiting for "
	blockedBy = "blocked by "
)

// The forms of Pandora's files. Their fields are written in this order.
type (
	pandoraFile struct {
		Type          string          `json:"_type"`
		Version       string          `json:"version"`
		Created       string          `json:"created"`
		Query         string          `json:"original_query"`
		MaxIterations int             `json:"max_iterations"`
		Tasks         []pandoraEntry  `json:"tasks"`
		Progress      pandoraProgress `json:"progress"`
	}
	pandoraEntry struct {
		ID          string   `json:"id"`
		Title       string   `json:"title"`
		Description string   `json:"description"`
		Criteria    []string `json:"acceptance_criteria"`
		Priority    int      `json:"priority"`
		Status      string   `json:"status"`
		DependsOn   []string `json:"depends_on"`
		Notes       string   `json:"notes"`
	}
	pandoraProgress struct {
		Completed        int `json:"completed"`
		Total            int `json:"total"`
		CurrentIteration int `json:"current_iteration"`
	}
)

// TasksJSON is Pandora's tasks.json.
func TasksJSON(s State) []byte {
	f := pandoraFile{
		Type: "PANDORA_LOOP", Version: version, Created: s.Created.UTC().Format(time.RFC3339), Query: Clean(s.Query),
		MaxIterations: cmp.Or(s.MaxIterations, defaultIterations), Tasks: entries(s.Tasks),
		Progress: pandoraProgress{Completed: count(s.Tasks, pawl.TaskPassed), Total: len(s.Tasks), CurrentIteration: s.Iteration},
	}
	return write(f)
}

// ResultJSON is Pandora's LoopResult: the status and the tasks. The statuses are
// complete, blocked, incomplete and failed; what ended otherwise is incomplete.
func ResultJSON(outcome pawl.Outcome, tasks []Task) []byte {
	switch outcome {
	case pawl.OutcomeComplete, pawl.OutcomeBlocked, pawl.OutcomeFailed:
	default:
		outcome = pawl.OutcomeIncomplete
	}
	return write(struct {
		Status pawl.Outcome   `json:"status"`
		Tasks  []pandoraEntry `json:"tasks"`
	}{outcome, entries(tasks)})
}

func entries(list []Task) []pandoraEntry {
	passed := make(map[string]bool, len(list))
	for i := range list {
		passed[list[i].Spec.ID] = list[i].Status == pawl.TaskPassed
	}
	out := make([]pandoraEntry, len(list))
	for i := range list {
		t := &list[i].Spec
		e := pandoraEntry{ID: t.ID, Title: title(t), Description: Clean(t.Description), Criteria: texts(t.Criteria),
			Priority: cmp.Or(t.Priority, lastPriority), DependsOn: texts(t.DependsOn)}
		e.Status, e.Notes = list[i].shown(passed)
		e.Notes = Clean(e.Notes)
		out[i] = e
	}
	return out
}

// shown is the status word of a task and its notes. One that waits is blocked, as
// is one that cannot run any more; the notes tell them apart.
func (t *Task) shown(passed map[string]bool) (status, notes string) {
	switch t.Status {
	case pawl.TaskRunning:
		return "in_progress", t.Spec.Notes
	case pawl.TaskPassed:
		return "passed", t.Spec.Notes
	case pawl.TaskFailed:
		return "failed", t.Reason
	case pawl.TaskBlocked:
		return "blocked", blockedBy + t.Cause
	case pawl.TaskSkipped:
		return "pending", "skipped: " + t.Reason
	case pawl.TaskDropped:
		return "pending", "dropped: " + t.Reason
	}
	waits := slices.DeleteFunc(slices.Clone(t.Spec.DependsOn), func(id string) bool { return passed[id] })
	if len(waits) > 0 {
		return "blocked", waitsFor + strings.Join(waits, ", ")
	}
	return "pending", t.Spec.Notes
}

func count(list []Task, status pawl.TaskStatus) int {
	n := 0
	for i := range list {
		if list[i].Status == status {
			n++
		}
	}
	return n
}

// PRD is what a prd.json says.
type PRD struct {
	Project, Branch, Description string
	Tasks                        []Task
}

// PRDJSON is Ralph's prd.json. A task that failed says why in its notes.
func PRDJSON(p PRD) []byte {
	type story struct {
		ID          string   `json:"id"`
		Title       string   `json:"title"`
		Description string   `json:"description"`
		Criteria    []string `json:"acceptanceCriteria"`
		Priority    int      `json:"priority"`
		Passes      bool     `json:"passes"`
		Notes       string   `json:"notes"`
	}
	f := struct {
		Project     string  `json:"project"`
		Branch      string  `json:"branchName"`
		Description string  `json:"description"`
		Stories     []story `json:"userStories"`
	}{Clean(p.Project), Clean(p.Branch), Clean(p.Description), make([]story, len(p.Tasks))}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		s := story{ID: t.Spec.ID, Title: title(&t.Spec), Description: Clean(t.Spec.Description), Criteria: texts(t.Spec.Criteria),
			Priority: cmp.Or(t.Spec.Priority, lastPriority), Passes: t.Status == pawl.TaskPassed, Notes: Clean(t.Spec.Notes)}
		if t.Status == pawl.TaskFailed && t.Reason != "" {
			s.Notes = Clean(t.Reason)
		}
		f.Stories[i] = s
	}
	return write(f)
}

// texts is a list that is written as one, also when it is empty. What says nothing
// is left out.
func texts(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if s = Clean(s); strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}

// title is a task's title; a task without one is called by its id.
func title(t *pawl.TaskSpec) string {
	if s := Clean(t.Title); strings.TrimSpace(s) != "" {
		return s
	}
	return t.ID
}

// write is a value as people read JSON: two spaces, no escapes for HTML.
func write(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // texts and numbers always encode
	}
	return b.Bytes()
}
