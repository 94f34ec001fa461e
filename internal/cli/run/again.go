package run

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/resolve"
	"pawl/internal/start"
	"pawl/internal/view"
)

// resolve finds out which known task the goal means. done reports that there is
// nothing left to do: its run was followed, or it is not clear which one is meant.
// Otherwise the caller starts a new run: of the request's task, or of new work.
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
		o.req.Task = k.ID
		return false, nil
	case r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping:
		keeps(cmd, app, k, slices.Concat(fixed(), limited)...)
		return true, o.join(cmd.Context(), app, k)
	}
	ctx := cmd.Context()
	if anew, err := wantsFurtherRun(ctx, app, r); err != nil {
		return true, err
	} else if anew {
		o.req.Task = k.ID
		return false, nil
	}
	given, err := cli.GivenLimits(cmd)
	if err != nil {
		return true, err
	}
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
	keeps(cmd, app, k, fixed()...)
	defer func() { _ = s.Close() }()
	if !app.JSON {
		app.Printf("Task %s: run %s, which was %s, continues\n\n", k.ID, info.ID, k.Status)
		waiting(ctx, app, s, from)
	}
	return true, app.Attend(ctx, s, info.ID, cli.FollowOptions{From: from, Least: o.least()})
}

// wantsFurtherRun reports whether resuming a run would only judge the same commit once more.
func wantsFurtherRun(ctx context.Context, app *cli.App, of *pawl.RunInfo) (bool, error) {
	s, _, r, err := app.ReadRun(ctx, []string{string(of.ID)})
	if err != nil {
		return false, err
	}
	return r.OnlyJudgesAgain(), s.Close()
}

// limited are the flags of the limits, which can change while a run is active.
var limited = []string{"max-iterations", "budget", "max-tokens", "max-time"}

// fixed are the flags that say what a run starts with.
func fixed() []string {
	out := []string{"recipe", "yes-prepare"}
	for _, f := range start.Flags(&pawl.StartFlags{}) {
		if !slices.Contains(limited, f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

// keeps says that a run goes on with what it was started with, where flags want
// something else.
func keeps(cmd *cobra.Command, app *cli.App, k cli.KnownTask, flags ...string) {
	flags = slices.DeleteFunc(flags, func(f string) bool { return !cmd.Flags().Changed(f) })
	if len(flags) > 0 {
		app.Notef("run %s keeps the settings it was started with: --%s has no effect on it", k.Run, strings.Join(flags, ", --"))
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
		app.Printf("Task %s: run %s is already active\n\n", k.ID, info.ID)
		waiting(ctx, app, s, from)
	}
	return app.Attend(ctx, s, info.ID, cli.FollowOptions{From: from, Least: o.least()})
}

// waiting says what a run waits for from a person, not for how long: nobody told it the time.
func waiting(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run) {
	if all := view.Questions(r, time.Time{}, cli.Blobs(ctx, s, r.ID)); len(all) > 0 {
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
