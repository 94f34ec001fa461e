package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/resolve"
	"pawl/internal/start"
)

// KnownTask is a task that runs here, or the repository, know of. Its texts are
// safe to print. Fields are added, never renamed.
type KnownTask struct {
	ID     string `json:"id"` // NNN-slug
	Title  string `json:"title"`
	Status string `json:"status"` // of its latest run; without one, as its folder says
	// Run is its latest run here, Runs how many there are; empty = there is only a folder.
	Run    pawl.RunID `json:"run,omitempty"`
	Runs   int        `json:"runs"`
	Recipe string     `json:"recipe,omitempty"`
	Branch string     `json:"branch,omitempty"`
	Tasks  int        `json:"tasks,omitempty"`  // of its plan
	Passed int        `json:"passed,omitempty"` // of these
	// Questions counts those that wait for a person.
	Questions int       `json:"questions,omitempty"`
	Updated   time.Time `json:"updated,omitzero"`
	// Folder is where its folder was found: HEAD, or a branch; empty = it has none.
	Folder string `json:"folder,omitempty"`

	last   int           // the number of its last run
	Latest *pawl.RunInfo `json:"-"` // its run that is at work, or else the latest; nil = none here
	Of     *start.Folder `json:"-"` // nil = none
}

// String is the task in a list.
func (k KnownTask) String() string { return "[" + k.ID + "] Status: " + k.Status }

// KnownTasks are the tasks of the project, by number: of its runs, and of the
// folders that the repository has.
func (a *App) KnownTasks(ctx context.Context, s *Session) ([]KnownTask, error) {
	runs, err := s.Runs(ctx)
	if err != nil {
		return nil, err
	}
	byID := map[string]*KnownTask{}
	task := func(id string) *KnownTask {
		if byID[id] == nil {
			byID[id] = &KnownTask{ID: id}
		}
		return byID[id]
	}
	for i, r := range runs {
		id, _ := r.ID.Task()
		task(id).ran(&runs[i])
	}
	if a.Folders != nil {
		folders, err := a.Folders(ctx, s.Project)
		if err != nil {
			return nil, err
		}
		for i, f := range folders {
			task(f.Task).has(&folders[i])
		}
	}
	out := []KnownTask{}
	for _, k := range byID {
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b KnownTask) int {
		if n := len(a.number()) - len(b.number()); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

func (k *KnownTask) number() string {
	digits, _, _ := strings.Cut(k.ID, "-")
	return digits
}

// ran takes in a run of the task; later runs come later.
func (k *KnownTask) ran(r *pawl.RunInfo) {
	_, n := r.ID.Task()
	k.Runs, k.last = k.Runs+1, max(k.last, n)
	if k.Latest != nil && atWork(k.Latest) && !atWork(r) {
		return
	}
	k.Latest = r
	k.Title, k.Status, k.Run = plain.Line(r.Title, 0), plain.Line(State(*r), 0), r.ID
	k.Recipe, k.Branch = plain.Line(r.Recipe, 0), plain.Line(r.Branch, 0)
	k.Tasks, k.Passed, k.Questions, k.Updated = r.Tasks, r.Passed, r.Questions, r.Updated
}

// atWork reports a run that is to come to its end yet.
func atWork(r *pawl.RunInfo) bool {
	return r.Status != pawl.StatusEnded && r.Status != pawl.StatusQuarantined
}

// has takes in the task's folder.
func (k *KnownTask) has(f *start.Folder) {
	k.Of, k.Folder = f, plain.Line(f.Where, 0)
	if k.Latest != nil {
		return
	}
	goal, _, _ := strings.Cut(strings.TrimSpace(f.Goal), "\n")
	k.Title, k.Status, k.Tasks = plain.Line(goal, 120), plain.Line(f.Status, 40), len(f.Tasks)
	if k.Status == "" {
		k.Status = "unknown"
	}
	for _, t := range f.Tasks {
		if t.Done {
			k.Passed++
		}
	}
}

// Goal is all that the task is about: what its run was started with, or what its
// folder says.
func (k *KnownTask) Goal(ctx context.Context, s *Session) (string, error) {
	if k.Latest == nil {
		return k.Of.Goal, nil
	}
	began, err := Began(ctx, s, k.Latest.ID)
	if began == nil || err != nil {
		return k.Title, err
	}
	goal, err := s.Blob(ctx, k.Latest.ID, began.Goal)
	if err != nil {
		return k.Title, err
	}
	return string(goal), nil
}

// Began is how a run began; nil when its first event says something else.
func Began(ctx context.Context, s pawl.Service, run pawl.RunID) (*pawl.RunStarted, error) {
	for e, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		began, _ := e.Body.(*pawl.RunStarted)
		return began, nil
	}
	return nil, nil
}

// isEmpty reports whether the task's run has ended without having made anything, or, where its recipe plans, without a
// plan.
func (k *KnownTask) isEmpty(plans bool) bool {
	r := k.Latest
	return k.Folder == "" && r != nil && !atWork(r) && r.Tasks == 0 && (r.Iteration == 0 || plans && !r.Outcome.Succeeded())
}

// Means says which of the known tasks a message means. Goals that cannot be read
// are taken for their titles.
func (a *App) Means(ctx context.Context, s *Session, message string, known []KnownTask) resolve.Answer {
	plans := map[string]bool{} // recipes by which something was planned
	for _, k := range known {
		plans[k.Recipe] = plans[k.Recipe] || k.Tasks > 0
	}
	tasks := make([]resolve.Task, len(known))
	for i, k := range known {
		goal, err := k.Goal(ctx, s)
		if err != nil {
			goal = k.Title
		}
		tasks[i] = resolve.Task{ID: k.ID, Goal: goal, Last: k.last, Empty: k.isEmpty(plans[k.Recipe]), Done: k.Latest != nil && k.Latest.Outcome.Succeeded()}
	}
	return resolve.Resolve(message, tasks)
}
