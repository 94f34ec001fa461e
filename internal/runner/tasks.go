package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/driver"
	"pawl/internal/kernel/brief"
	"pawl/internal/tasks"
)

// Bounds and defaults of tasks.
const (
	maxTaskTitle  = 80 // bytes, in decisions
	maxReadTasks  = 8 << 20
	leastLetters  = 15 // that a description has which says what is to be done
	defaultIntent = "edit"
	defaultMode   = "code"
	onlyTask      = "TASK-001" // the one task of a goal without a list
)

// readTasks reads a list of tasks and keeps each as a document of its own. A list
// that cannot be read is an answer too: the kernel decides what follows.
func (r *Runner) readTasks(ctx context.Context, job driver.Job, do *pawl.ReadTasks, a *answer) (pawl.Answer, error) {
	out := &pawl.TasksRead{Effect: job.Effect.ID}
	list, problem, err := taskList(ctx, job, do)
	if err != nil {
		return nil, err
	}
	if problem == "" && len(list) == 0 && !do.Goal.IsZero() {
		if list, err = goalTask(ctx, job, do); err != nil {
			return nil, err
		}
	}
	for i := range list {
		a.settle(&list[i], do.Given)
	}
	if problem == "" {
		if err := tasks.Check(list); err != nil {
			problem = err.Error()
		}
	}
	if problem != "" {
		out.Problem = brief.Cut(a.clean(problem), maxReason)
		return out, nil
	}
	for i := range list {
		entry, err := a.entry(&list[i])
		if err != nil {
			return nil, fmt.Errorf("keep task %s: %w", list[i].ID, err)
		}
		out.Entries = append(out.Entries, entry)
	}
	out.Count = len(out.Entries)
	return out, nil
}

// taskList is the list as it was handed in: a result of a planner, an artifact, or a
// list that the user gave. It may be empty. problem says why it cannot be read.
func taskList(ctx context.Context, job driver.Job, do *pawl.ReadTasks) (list []pawl.TaskSpec, problem string, err error) {
	data, err := read(ctx, job, "the list of tasks", do.List)
	if err != nil {
		return nil, "", err
	}
	if len(data) > maxReadTasks {
		return nil, fmt.Sprintf("the list of tasks has %d bytes: want at most %d", len(data), maxReadTasks), nil
	}
	switch kind := artifact.Detect(data); {
	case do.Given:
		err = strictly(data, &list)
	case kind != "":
		return spawned(ctx, job, kind, data)
	default:
		var result struct {
			Decision  string          `json:"decision"`
			Reasoning string          `json:"reasoning"`
			Intent    string          `json:"intent"`
			Mode      string          `json:"mode"`
			Tasks     []pawl.TaskSpec `json:"tasks"`
			Subtasks  []pawl.TaskSpec `json:"subtasks"`
			// What a plan says besides its tasks is read by others.
			Status    json.RawMessage `json:"status"`
			Questions json.RawMessage `json:"questions"`
			Decisions json.RawMessage `json:"decisions"`
			Goal      json.RawMessage `json:"goal"`
			Context   json.RawMessage `json:"context"`
			Risks     json.RawMessage `json:"risks"`
		}
		err = strictly(data, &result)
		list = append(result.Tasks, result.Subtasks...)
		for i := range list {
			list[i].Intent, list[i].Mode = result.Intent, result.Mode
		}
	}
	if err != nil {
		return nil, fmt.Sprintf("the list of tasks cannot be read: %v", err), nil
	}
	return list, "", nil
}

// spawned is the list of what is spawned from a plan, a spec or a phase.
func spawned(ctx context.Context, job driver.Job, kind artifact.Kind, data []byte) (list []pawl.TaskSpec, problem string, err error) {
	a, err := artifact.Read(kind, data)
	if err != nil {
		return nil, fmt.Sprintf("the %s cannot be read: %v", kind, err), nil
	}
	var own pawl.TaskSpec
	if !job.Task.IsZero() {
		if err := decode(ctx, job, "the task", job.Task, &own); err != nil {
			return nil, "", err
		}
	}
	return a.Tasks(own.ID), "", nil
}

// strictly reads a JSON document that has no unknown fields and nothing after it.
func strictly(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if dec.More() {
		return fmt.Errorf("there is more text after its end")
	}
	return nil
}

// goalTask makes one task of the run's goal.
func goalTask(ctx context.Context, job driver.Job, do *pawl.ReadTasks) ([]pawl.TaskSpec, error) {
	goal, err := read(ctx, job, "the goal", do.Goal)
	if err != nil {
		return nil, err
	}
	task := pawl.TaskSpec{ID: onlyTask, Description: string(goal), Priority: 1}
	if !do.Criteria.IsZero() {
		var criteria []pawl.Criterion
		if err := decode(ctx, job, "the criteria", do.Criteria, &criteria); err != nil {
			return nil, err
		}
		for _, c := range criteria {
			task.Criteria = append(task.Criteria, c.Text)
		}
	}
	return []pawl.TaskSpec{task}, nil
}

// settle makes a task what it is kept as: without secrets and controls, with what
// was left out filled in, its numbers within their bounds.
func (a *answer) settle(t *pawl.TaskSpec, given bool) {
	for _, s := range []*string{&t.ID, &t.Title, &t.Description, &t.Notes, &t.Intent, &t.Mode} {
		*s = a.plain(*s)
	}
	for _, list := range [][]string{t.DependsOn, t.Criteria} {
		for i := range list {
			list[i] = a.plain(list[i])
		}
	}
	t.Title = oneLine(t.Title)
	if t.Title == "" {
		t.Title = brief.Cut(firstSentence(oneLine(t.Description)), maxTaskTitle)
	}
	if t.Title == "" {
		t.Title = t.ID
	}
	t.Intent, t.Mode = oneLine(t.Intent), oneLine(t.Mode)
	if t.Intent == "" {
		t.Intent = defaultIntent
	}
	if t.Mode == "" {
		t.Mode = defaultMode
	}
	t.Priority = min(max(t.Priority, 0), 1_000_000)
	t.ModelTier, t.VerificationTier = min(max(t.ModelTier, 0), 3), min(max(t.VerificationTier, 0), 3)
	if t.MaxRetries != nil {
		*t.MaxRetries = min(max(*t.MaxRetries, 0), 100)
	}
	t.ValidationCommand = strings.TrimSpace(a.clean(t.ValidationCommand)) // a command without its controls would be another one
	t.Done = t.Done && given
}

// plain is a text of a task, or one that is remembered or shared, as it is kept.
func (a *answer) plain(s string) string { return strings.TrimSpace(tasks.Clean(a.clean(s))) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// firstSentence is a text up to its first full stop that ends a sentence.
func firstSentence(s string) string {
	if end := strings.IndexAny(s, ".!?"); end >= 0 {
		for i := end; i < len(s); i++ {
			if strings.IndexByte(".!?", s[i]) >= 0 && (i+1 == len(s) || s[i+1] == ' ') {
				return strings.TrimRight(s[:i], ".!? ")
			}
		}
	}
	return s
}

// entry keeps a task and is what decisions need of it.
func (a *answer) entry(t *pawl.TaskSpec) (pawl.TaskEntry, error) {
	spec, err := a.document(t)
	if err != nil {
		return pawl.TaskEntry{}, err
	}
	e := pawl.TaskEntry{
		ID: t.ID, Title: brief.Cut(t.Title, maxTaskTitle), Spec: spec.Hash(), DependsOn: t.DependsOn, Priority: t.Priority,
		Tier: t.ModelTier, Verify: t.VerificationTier, Critical: t.Critical, Scaffold: t.Scaffold, Done: t.Done, Incomplete: incomplete(t),
		Validated: t.ValidationCommand != "",
	}
	if t.MaxRetries != nil {
		e.Retries = *t.MaxRetries + 1
	}
	return e, nil
}

// incomplete says what a task lacks to be worked on and checked; empty = nothing.
func incomplete(t *pawl.TaskSpec) string {
	letters := 0
	for _, r := range t.Description {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < leastLetters && len(t.Criteria) == 0 {
		return "it has neither a description nor criteria"
	}
	return ""
}
