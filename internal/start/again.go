package start

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/recipe"
	"pawl/internal/tasks"
	"pawl/internal/view"
)

// Folder is a task's folder as the repository has it: at HEAD, or on a branch of
// the task that HEAD does not have. What it says is data.
type Folder struct {
	Task     string // NNN-slug
	Status   string // in the folder's own word
	Goal     string
	Criteria []pawl.Criterion
	Tasks    []pawl.TaskSpec // Done is set where the work was approved
	// Where is the branch it was found on, or HEAD.
	Where string
	// Problem says what of it cannot be read; empty = nothing.
	Problem string
}

// latest is the task's last run here; nil = there is none.
func (s *starting) latest(ctx context.Context) (*pawl.RunInfo, error) {
	runs, err := s.Earlier.Runs(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(runs) {
		if task, _ := r.ID.Task(); task == s.req.Task {
			return &r, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none, and that is no error
}

func (s *starting) folder(ctx context.Context) (*Folder, error) {
	if s.Folders == nil {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	all, err := s.Folders(ctx)
	if i := slices.IndexFunc(all, func(f Folder) bool { return f.Task == s.req.Task }); i >= 0 {
		return &all[i], err
	}
	return nil, err
}

// recipeAgain is the recipe that the task was worked on with. Of a task that has only a
// folder nobody knows it; one that keeps such folders takes its place: the configured one
// if it does, else a built-in one.
func (s *starting) recipeAgain(ctx context.Context, configured string) (string, error) {
	run, err := s.latest(ctx)
	if err != nil {
		return "", err
	}
	if run != nil && run.Recipe != "" {
		return run.Recipe, nil
	}
	for _, name := range slices.Concat([]string{configured}, recipe.Builtin()) {
		if r, err := recipe.Load(name, s.recipes()...); err == nil && r.Records {
			return name, nil
		}
	}
	return configured, nil
}

// askedAgain comes before the words by which a task was continued.
const askedAgain = "\n\nThis continues earlier work on the task. The request was: "

// continues takes up what is known of a task that is continued: its goal and criteria, and its plan
// with what is done marked.
func (s *starting) continues(ctx context.Context) error {
	if s.req.Task == "" {
		return nil
	}
	old, err := s.earlier(ctx)
	if err != nil {
		return err
	}
	goal, _, _ := strings.Cut(old.goal, askedAgain)
	if strings.TrimSpace(goal) == "" {
		return pawl.Errorf(pawl.CodeState, "task %s does not say what it is about", plain.Line(s.req.Task, 80)).WithField("task").
			WithHint("say it as new work: pawl run --new GOAL")
	}
	if asked := s.spec.Goal; strings.TrimSpace(asked) != "" {
		goal += askedAgain + asked
	}
	s.spec.Goal = goal
	if len(s.req.Flags.Criteria) == 0 && len(old.criteria) > 0 {
		s.spec.Criteria = old.criteria
	}
	root := s.spec.Recipe.Kind(s.spec.Recipe.Start)
	open := slices.ContainsFunc(old.tasks, func(t pawl.TaskSpec) bool { return !t.Done })
	if root == nil || root.Children == nil || !open || len(s.spec.Tasks) > 0 {
		return nil
	}
	data, err := json.Marshal(old.tasks)
	if err != nil {
		return fmt.Errorf("encode the list of tasks: %w", err)
	}
	list, err := tasks.Parse(data)
	if err != nil { // of a file in the repository: anything may stand there
		s.note("the plan of the task cannot be used; a new one is made: " + plain.Line(err.Error(), 200))
		return nil
	}
	if s.spec.Tasks, err = json.Marshal(list.Tasks); err != nil {
		return fmt.Errorf("encode the list of tasks: %w", err)
	}
	return nil
}

// earlier is what was known of a task.
type earlier struct {
	goal     string
	criteria []pawl.Criterion
	tasks    []pawl.TaskSpec // what passed is done
}

// earlier is what the task's last run and its folder say. What the folder says counts.
func (s *starting) earlier(ctx context.Context) (*earlier, error) {
	run, err := s.latest(ctx)
	if err != nil {
		return nil, err
	}
	f, err := s.folder(ctx)
	if err != nil {
		return nil, err
	}
	old := &earlier{}
	switch {
	case run == nil && f == nil:
		return nil, pawl.Errorf(pawl.CodeNotFound, "there is no task %q", plain.Line(s.req.Task, 80)).WithField("task").
			WithHint("want a task's full id, NNN-slug: pawl tasks lists the tasks")
	case run != nil:
		if old, err = s.lastRun(ctx, run.ID); err != nil {
			return nil, err
		}
	}
	if f != nil {
		old.goal = cmp.Or(f.Goal, old.goal)
		if len(f.Criteria) > 0 && !isDefault(f.Criteria) {
			old.criteria = f.Criteria
		}
		if len(f.Tasks) > 0 {
			old.tasks = f.Tasks
		}
		if f.Problem != "" {
			s.note(f.Problem)
		}
	}
	return old, nil
}

// isDefault reports whether criteria are the one that a run has whose user gave none.
func isDefault(criteria []pawl.Criterion) bool {
	return len(criteria) == 1 && strings.HasPrefix(criteria[0].Text, pawl.GoalIsMet)
}

// lastRun reads what a run was about from its events. What of a damaged run cannot be read is
// left out.
func (s *starting) lastRun(ctx context.Context, run pawl.RunID) (*earlier, error) {
	out := &earlier{}
	r, err := view.Fold(s.Earlier.Events(ctx, run, 0))
	if err != nil && pawl.CodeOf(err) != pawl.CodeDamaged {
		return nil, err
	}
	if r.Seq == 0 {
		return out, nil
	}
	blobs := view.Blobs(func(h pawl.Hash) ([]byte, error) { return s.Earlier.Blob(ctx, run, h) })
	if goal, err := blobs(r.Start.Goal); err == nil {
		out.goal = string(goal)
	}
	if data, err := blobs(r.Start.Criteria); err == nil {
		var criteria []pawl.Criterion
		if json.Unmarshal(data, &criteria) == nil && !isDefault(criteria) { // one that cannot be read has none
			out.criteria = criteria
		}
	}
	if p := r.Plan(); p != nil {
		for _, t := range p.Tasks {
			spec := t.Spec(blobs)
			spec.Done = t.Status == pawl.TaskPassed
			out.tasks = append(out.tasks, spec)
		}
	}
	return out, nil
}
