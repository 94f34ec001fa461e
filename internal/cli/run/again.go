package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/recipe"
	"pawl/internal/resolve"
	"pawl/internal/tasks"
	"pawl/internal/view"
)

// resolve finds out which known task the goal means. done reports that there is
// nothing left to do: its run was followed, or it is not clear which one is meant.
// Otherwise a new run is to be started: of the task in o.again, or of new work.
func (o *options) resolve(cmd *cobra.Command, app *cli.App, goal *string) (done bool, err error) {
	ctx := cmd.Context()
	var known []cli.KnownTask
	var means resolve.Answer
	s, err := app.With(ctx, cli.Read, func(s *cli.Session) (err error) {
		if known, err = app.KnownTasks(ctx, s); err == nil {
			means = app.Means(ctx, s, *goal, known)
		}
		return err
	})
	if err != nil {
		return true, err
	}
	if err := s.Close(); err != nil {
		return true, err
	}
	id := means.Task.ID
	switch means.Outcome {
	case resolve.New:
		return false, nil
	case resolve.Ambiguous, resolve.None:
		if id, err = which(ctx, app, goal, means, known); id == "" || err != nil {
			return err != nil, err
		}
	}
	i := slices.IndexFunc(known, func(k cli.KnownTask) bool { return k.ID == id })
	return o.goOn(cmd, app, known[i], goal)
}

// goOn goes on with a task. done reports that its run was followed.
func (o *options) goOn(cmd *cobra.Command, app *cli.App, k cli.KnownTask, goal *string) (done bool, err error) {
	r := k.Latest
	switch {
	case r == nil || r.Status == pawl.StatusQuarantined || r.Status == pawl.StatusEnded && !r.Outcome.Resumable():
		o.again, o.asked, *goal = &k, *goal, ""
		return false, nil
	case r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping:
		keeps(cmd, app, k, slices.Concat(fixed, limited)...)
		return true, o.join(cmd.Context(), app, k)
	}
	given, err := cli.GivenLimits(cmd)
	if err != nil {
		return true, err
	}
	ctx := cmd.Context()
	s, info, from, err := app.SteerFrom(ctx, []string{string(r.ID)}, func(_ pawl.RunInfo, r *view.Run) (pawl.Steering, error) {
		steering := pawl.Steering{Verb: pawl.SteerResume, Reason: *goal}
		if given != nil {
			limits := given(r.Limits)
			steering.Limits = &limits
		}
		return steering, nil
	})
	if err != nil {
		return true, err
	}
	keeps(cmd, app, k, slices.Clone(fixed)...)
	defer func() { _ = s.Close() }()
	if !app.JSON {
		app.Printf("Task %s: run %s, which was %s, goes on\n\n", k.ID, info.ID, k.Status)
		waiting(ctx, app, s, from)
	}
	return true, app.Attend(ctx, s, info.ID, cli.FollowOptions{From: from, Least: o.least()})
}

// fixed are the flags that say what a run starts with, limited those that can change.
var (
	fixed = []string{"recipe", "criteria", "gate", "model", "complexity", "council", "agent", "scope", "require-green", "green", "approval", "approval-threshold",
		"parallel", "replan-every", "callback", "callback-private", "announce", "announce-url", "announce-private", "unsandboxed", "yes-prepare", "allow-missing-gate", "egress",
		"max-memory", "max-disk", "max-processes"}
	limited = []string{"max-iterations", "budget", "max-tokens", "max-time"}
)

// keeps says that a run goes on with what it was started with, where flags want
// something else.
func keeps(cmd *cobra.Command, app *cli.App, k cli.KnownTask, flags ...string) {
	flags = slices.DeleteFunc(flags, func(f string) bool { return !cmd.Flags().Changed(f) })
	if len(flags) > 0 {
		app.Notef("run %s goes on with what it was started with: --%s does not concern it", k.Run, strings.Join(flags, ", --"))
	}
}

// join follows the run that is at work on a task.
func (o *options) join(ctx context.Context, app *cli.App, k cli.KnownTask) error {
	s, info, from, err := app.ReadRun(ctx, []string{string(k.Run)})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if !app.JSON {
		app.Printf("Task %s: run %s is at work already\n\n", k.ID, info.ID)
		waiting(ctx, app, s, from)
	}
	return app.Attend(ctx, s, info.ID, cli.FollowOptions{From: from, Least: o.least()})
}

// waiting says what a run waits for from a person.
func waiting(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run) {
	if all := view.Questions(r, r.Updated, cli.Blobs(ctx, s, r.ID)); len(all) > 0 {
		app.Printf("%s\n", view.QuestionsText(all))
	}
}

// unclear is what another program is told when it is not clear which task is meant.
type unclear struct {
	Outcome resolve.Outcome `json:"outcome"` // ambiguous or none
	Message string          `json:"message"`
	// Tasks are those it may be, the likeliest first; of none all there are.
	Tasks []cli.KnownTask `json:"tasks"`
}

// mostShown is how many tasks somebody is asked about.
const mostShown = 20

// which asks which of the tasks is meant. Empty means new work. Where nobody can be
// asked, it lists them.
func which(ctx context.Context, app *cli.App, goal *string, means resolve.Answer, known []cli.KnownTask) (string, error) {
	var may []cli.KnownTask
	for _, t := range means.Candidates {
		i := slices.IndexFunc(known, func(k cli.KnownTask) bool { return k.ID == t.ID })
		may = append(may, known[i])
	}
	if app.JSON {
		if err := app.Encode(unclear{means.Outcome, plain.Line(*goal, 0), may}); err != nil {
			return "", err
		}
		return "", cli.Exit(cli.ExitWhich)
	}
	what := "may mean any of these tasks"
	if means.Outcome == resolve.None {
		what = "means none of these tasks for sure"
	}
	app.Notef("%q %s", plain.Line(*goal, 120), what)
	if means.Outcome == resolve.None && len(may) > mostShown {
		app.Notef("the newest %d; pawl tasks lists all %d", mostShown, len(may))
		may = may[len(may)-mostShown:]
	}
	if !app.Terminal || !app.Interactive {
		for _, k := range may {
			app.Printf("%s\n", k)
		}
		app.Notef(`name one: pawl run "continue NNN-slug"; or say that it is new work: pawl run --new GOAL`)
		return "", cli.Exit(cli.ExitWhich)
	}
	for i, k := range may {
		app.Printf("%3d. %s  %s\n", i+1, k, k.Title)
	}
	return pick(ctx, app, goal, may)
}

// pick reads what is picked, until it can be: a number, n for the goal as new work,
// or other new work in words.
func pick(ctx context.Context, app *cli.App, goal *string, may []cli.KnownTask) (string, error) {
	for {
		app.Printf("Which one? Its number, n for new work, or what else is to be done: ")
		line, err := app.ReadAnswer(ctx)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && line == "":
			return "", cli.Exit(cli.ExitWhich)
		}
		n, err := strconv.Atoi(line)
		switch {
		case err == nil && n >= 1 && n <= len(may):
			return may[n-1].ID, nil
		case line == "n":
			return "", nil
		case line == "" || err == nil || !strings.Contains(line, " "):
			app.Notef("want a number from 1 to %d, n, or a sentence", len(may))
		default:
			*goal = line
			return "", nil
		}
	}
}

// recipeAgain is the recipe that the task was worked on with. Of a task that has only a
// folder nobody knows it; one that keeps such folders takes its place: the configured one
// if it does, else a built-in one.
func (o *options) recipeAgain(configured string, own []fs.FS) string {
	if o.again.Recipe != "" {
		return o.again.Recipe
	}
	for _, name := range slices.Concat([]string{configured}, recipe.Builtin()) {
		if r, err := recipe.Load(name, own...); err == nil && r.Records {
			return name
		}
	}
	return configured
}

// askedAgain comes before the words by which a task was continued.
const askedAgain = "\n\nThis goes on with earlier work on the task. It was asked for so: "

// takeUp puts into a request what was known of a task that is continued: its goal
// and criteria, and its plan with what is done marked.
func (o *options) takeUp(ctx context.Context, s *cli.Session, req *pawl.StartRequest) (notes []string, err error) {
	req.Task = o.again.ID
	old := &earlier{}
	if o.again.Latest != nil {
		if old, err = lastRun(ctx, s, o.again.Latest.ID); err != nil {
			return nil, err
		}
	}
	if f := o.again.Of; f != nil {
		old.goal, old.criteria = cmp.Or(f.Goal, old.goal), longer(f.Criteria, old.criteria)
		if len(f.Tasks) > 0 {
			old.tasks = f.Tasks
		}
		if f.Problem != "" {
			notes = append(notes, f.Problem)
		}
	}
	goal, _, _ := strings.Cut(old.goal, askedAgain)
	if strings.TrimSpace(goal) == "" {
		return nil, pawl.Errorf(pawl.CodeState, "task %s does not say what it is about", o.again.ID).
			WithHint("say it as new work: pawl run --new GOAL")
	}
	req.Goal, req.Criteria = goal+askedAgain+o.asked, old.criteria
	root := req.Recipe.Kind(req.Recipe.Start)
	open := slices.ContainsFunc(old.tasks, func(t pawl.TaskSpec) bool { return !t.Done })
	if root == nil || root.Children == nil || !open {
		return notes, nil
	}
	data, err := json.Marshal(old.tasks)
	if err != nil {
		return nil, fmt.Errorf("encode the list of tasks: %w", err)
	}
	list, err := tasks.Parse(data)
	if err != nil { // of a file in the repository: anything may stand there
		return append(notes, "the plan of the task cannot be used and is made anew: "+plain.Line(err.Error(), 200)), nil
	}
	if req.Tasks, err = json.Marshal(list.Tasks); err != nil {
		return nil, fmt.Errorf("encode the list of tasks: %w", err)
	}
	return notes, nil
}

func longer(a, b []pawl.Criterion) []pawl.Criterion {
	if len(a) > 0 {
		return a
	}
	return b
}

// earlier is what an earlier run of a task was about.
type earlier struct {
	goal     string
	criteria []pawl.Criterion
	tasks    []pawl.TaskSpec // what passed is done
}

// lastRun reads it from the run's events. What of a damaged run cannot be read is
// left out.
func lastRun(ctx context.Context, s *cli.Session, run pawl.RunID) (*earlier, error) {
	out := &earlier{}
	r, err := cli.Fold(ctx, s, run)
	if err != nil && pawl.CodeOf(err) != pawl.CodeDamaged {
		return nil, err
	}
	if r.Seq == 0 {
		return out, nil
	}
	blobs := cli.Blobs(ctx, s, run)
	if goal, err := blobs(r.Start.Goal); err == nil {
		out.goal = string(goal)
	}
	if data, err := blobs(r.Start.Criteria); err == nil {
		_ = json.Unmarshal(data, &out.criteria) // one that cannot be read has none
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
