package tasks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pawl"
)

// Form is how a task file is written.
type Form string

// The forms.
const (
	FormPandora Form = "tasks.json" // Pandora's, as [TasksJSON] writes it
	FormPRD     Form = "prd.json"   // Ralph's, as [PRDJSON] writes it
	FormList    Form = "list"       // tasks as [pawl.TaskSpec], alone or in an object under tasks
)

// List is what a task file says.
type List struct {
	Form  Form
	Tasks []pawl.TaskSpec
	// Goal is what was asked for: Pandora's original_query, the description of a
	// PRD. Empty when the file does not say.
	Goal string
	// Project and Branch are a PRD's.
	Project, Branch string
	// Created and MaxIterations are Pandora's; zero when the file does not say.
	Created       time.Time
	MaxIterations int
	// Status is that of a finished Pandora loop: complete, blocked, incomplete or failed.
	Status string
}

// version is that of Pandora's file.
const version = "1.0"

// maxPriority is the largest number that is a priority; 1 is the highest.
const maxPriority = 1_000_000

// Parse reads a task file, whichever form it has. What has passed is done; every
// other task is to be worked on, also one that was under way when its file was
// written, or waited: that is found out anew. An error has a line for each of the
// first things that are wrong, with line, key and what would be right.
func Parse(data []byte) (List, error) {
	r := &reader{data: data}
	root := r.read()
	if err := r.err("\n"); err != nil {
		return List{}, err
	}
	var l List
	switch {
	case root.kind == '[':
		l = List{Form: FormList, Tasks: r.each(root, "", plainTask)}
	case root.kind != '{':
		r.wrong(root.at, "", "want a tasks.json, a prd.json or a list of tasks, got %s", root.what())
	default:
		l = r.file(r.object(root, ""))
	}
	if err := r.err("\n"); err != nil {
		return List{}, err
	}
	if len(l.Tasks) == 0 {
		return List{}, pawl.Errorf(pawl.CodeInvalid, "the file has no tasks: want at least one")
	}
	if err := Check(l.Tasks); err != nil {
		return List{}, err
	}
	return l, nil
}

// file reads an object, by the keys that only one form has.
func (r *reader) file(o *object) List {
	var l List
	switch {
	case o.has("_type"):
		l = pandora(o)
	case o.has("userStories"):
		l = prd(o)
	case o.has("tasks"):
		l = bare(o)
	default:
		r.wrong(o.n.at, "", "want a tasks.json (_type and tasks), a prd.json (userStories), or an object with tasks")
		return l
	}
	o.done()
	return l
}

func pandora(o *object) List {
	o.word("_type", "PANDORA_LOOP")
	o.word("version", version)
	l := List{Form: FormPandora, Goal: o.text("original_query")}
	if n := o.field("created", '"', "a time"); n != nil {
		at, err := time.Parse(time.RFC3339, n.text)
		if err != nil {
			o.wrong(n, "created", "want a time such as 2026-01-23T10:00:00Z, got %s", quote(n.text))
		}
		l.Created = at.UTC()
	}
	l.MaxIterations, _ = o.number("max_iterations", 1, MaxTasks)
	if n := o.field("progress", '{', "an object"); n != nil { // counted anew
		p := o.r.object(n, "progress")
		p.number("completed", 0, MaxTasks)
		p.number("total", 0, MaxTasks)
		p.number("current_iteration", 0, maxPriority)
		p.done()
	}
	l.Tasks = o.list("tasks", pandoraTask)
	return l
}

func pandoraTask(o *object) pawl.TaskSpec {
	t := pawl.TaskSpec{
		ID: o.need("id"), Title: o.need("title"), Description: o.text("description"), Criteria: o.texts("acceptance_criteria"),
		DependsOn: o.texts("depends_on"), Notes: o.text("notes"),
	}
	t.Priority, _ = o.number("priority", 1, maxPriority)
	o.status(&t)
	return t
}

// status takes over a status word. What a waiting task waits for is not a note of
// its own: it is found out anew.
func (o *object) status(t *pawl.TaskSpec) {
	switch o.word("status", "pending", "in_progress", "passed", "failed", "blocked") {
	case "passed":
		t.Done = true
	case "blocked":
		if strings.HasPrefix(t.Notes, waitsFor) || strings.HasPrefix(t.Notes, blockedBy) {
			t.Notes = ""
		}
	}
}

func prd(o *object) List {
	l := List{Form: FormPRD, Project: o.text("project"), Branch: o.text("branchName"), Goal: o.text("description")}
	l.Tasks = o.list("userStories", func(o *object) pawl.TaskSpec {
		t := pawl.TaskSpec{
			ID: o.need("id"), Title: o.need("title"), Description: o.text("description"), Criteria: o.texts("acceptanceCriteria"),
			Done: o.flag("passes"), Notes: o.text("notes"),
		}
		t.Priority, _ = o.number("priority", 1, maxPriority)
		return t
	})
	slices.SortStableFunc(l.Tasks, func(a, b pawl.TaskSpec) int { return cmp.Compare(rank(a), rank(b)) })
	return l
}

// rank orders tasks by priority, those without one last.
func rank(t pawl.TaskSpec) int {
	if t.Priority == 0 {
		return maxPriority + 1
	}
	return t.Priority
}

func bare(o *object) List {
	l := List{Form: FormList}
	l.Status = o.word("status", "complete", "blocked", "incomplete", "failed", "max_iterations")
	if l.Status == "max_iterations" { // an older word for it
		l.Status = "incomplete"
	}
	l.Tasks = o.list("tasks", plainTask)
	return l
}

func plainTask(o *object) pawl.TaskSpec {
	t := pawl.TaskSpec{
		ID: o.need("id"), Title: o.text("title"), Description: o.text("description"), Criteria: o.texts("acceptance_criteria"),
		DependsOn: o.texts("depends_on"), Critical: o.flag("is_critical_path"), Scaffold: o.flag("scaffold"),
		Notes: o.text("notes"), Intent: o.text("intent"), Mode: o.text("mode"), Done: o.flag("done"),
	}
	t.Priority, _ = o.number("priority", 0, maxPriority)
	t.ModelTier, _ = o.number("model_tier", 0, 3)
	t.VerificationTier, _ = o.number("verification_tier", 0, 3)
	if n, given := o.number("max_retries", 0, 100); given {
		t.MaxRetries = &n
	}
	o.status(&t)
	if strings.TrimSpace(t.Title+t.Description) == "" {
		o.r.wrong(o.n.at, o.path, "has neither a title nor a description")
	}
	return t
}
