package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"pawl"
)

// Known is what a repository has of a task that is worked on again.
type Known struct {
	// Base is where the new run starts, so that the work which is done is there;
	// empty = where HEAD is.
	Base pawl.CommitHash
	// Learnings is the highest number among the task's learnings, and Runs that of
	// its branches: 1 for NNN-slug, 2 for NNN-slug-r2. Zero = there is none.
	Learnings, Runs int
}

// place is where a new run belongs: its id, the number of its task, and what the
// repository knows of the task.
type place struct {
	id     pawl.RunID
	number int
	known  Known
}

// newTask is the place of a run of a task that nobody has worked on.
func (e *Engine) newTask(ctx context.Context, goal string, numbers func(context.Context) (int, error)) (place, error) {
	number, err := e.number(ctx, numbers)
	return place{id: pawl.RunID(fmt.Sprintf("%03d-%s", number, slug(goal))), number: number}, err
}

// nextRun is the place of a further run of a task. Two at a time would number
// their learnings alike and know nothing of each other's work.
func (e *Engine) nextRun(ctx context.Context, task string) (place, error) {
	if _, n := pawl.RunID(task).Task(); !pawl.RunID(task).Valid() || n != 1 {
		return place{}, pawl.Errorf(pawl.CodeInvalid, "%q is not a task's full id: want NNN-slug, such as 007-add-login", cut(task, 80)).
			WithHint("pawl tasks lists the tasks")
	}
	if err := e.free(ctx, task, ""); err != nil {
		return place{}, err
	}
	p := place{}
	digits, _, _ := strings.Cut(task, "-")
	p.number, _ = strconv.Atoi(digits)
	if e.c.Known != nil {
		var err error
		if p.known, err = e.c.Known(ctx, task); err != nil {
			return place{}, err
		}
	}
	runs, err := e.c.Log.Runs(ctx)
	if err != nil {
		return place{}, err
	}
	_, gone, learned, err := e.taken(ctx, task)
	if err != nil {
		return place{}, err
	}
	last := max(p.known.Runs, gone, 1)
	p.known.Learnings = max(p.known.Learnings, learned)
	for _, r := range runs {
		of, n := r.ID.Task()
		if of != task {
			continue
		}
		last = max(last, n)
		learned, err := e.learned(ctx, r)
		if err != nil {
			return place{}, err
		}
		p.known.Learnings = max(p.known.Learnings, learned)
	}
	p.id = pawl.RunOf(task, last+1)
	return p, nil
}

// learned is the highest number among the learnings that a run knows of. A run
// that is damaged tells as many as can be read.
func (e *Engine) learned(ctx context.Context, run pawl.RunInfo) (highest int, err error) {
	for ev, err := range e.c.Log.Events(ctx, run.ID, 0) {
		switch {
		case pawl.CodeOf(err) == pawl.CodeDamaged:
			return highest, nil
		case err != nil:
			return 0, err
		}
		switch b := ev.Body.(type) {
		case *pawl.RunStarted:
			highest = max(highest, b.Learnings)
		case *pawl.MemoryAdded:
			highest = max(highest, b.Learning)
		}
	}
	return highest, nil
}

// free refuses a further run of a task that a run is at work on, or was when its
// process died. but is no further one.
func (e *Engine) free(ctx context.Context, task string, but pawl.RunID) error {
	runs, err := e.c.Log.Runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		of, _ := r.ID.Task()
		if of == task && r.ID != but && (r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping) {
			return pawl.Errorf(pawl.CodeState, "run %s is working on task %s", r.ID, task).
				WithHint("let it end, pause it with pawl pause %s, or end it with pawl cancel %s", r.ID, r.ID)
		}
	}
	return nil
}
