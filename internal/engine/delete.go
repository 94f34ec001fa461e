package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// Remains removes what there is of deleted runs beside the log, and finds what nobody needs.
// Implemented in cmd/pawl.
type Remains interface {
	// Look fails with [pawl.CodeState] when what there is of a run may not be removed. It
	// changes nothing.
	Look(ctx context.Context, r Removal) error
	// Remove removes the run's worktrees, branches and refs, but for the refs that keep what
	// would be lost. It fills in of the answer what it removed and kept. Called again after a
	// crash, it removes what is left.
	Remove(ctx context.Context, r Removal) (pawl.Deletion, error)
	// Erase removes what Remove has kept.
	Erase(ctx context.Context, run pawl.RunID) error

	// Survey says what there is of which run, what of the log and the cache nobody needs,
	// and what everything takes on disk.
	Survey(ctx context.Context) (Survey, error)
	// CloseWorktree removes a worktree. A salvage ref keeps what would be lost.
	CloseWorktree(ctx context.Context, name string, run pawl.RunID) error
	// SweepBlobs removes the files of blobs that no event names, CompactLog gives back the
	// space in the log's file that nothing uses, and PruneCache removes the layers of the
	// trusted cache above its limit. They return how many bytes that freed.
	SweepBlobs(ctx context.Context) (int64, error)
	CompactLog(ctx context.Context) (int64, error)
	PruneCache(ctx context.Context) (int64, error)
}

// Removal says of which run everything is to be removed.
type Removal struct {
	Run pawl.RunID
	// Made are the commits that the run made, as far as its log could be read. Partial
	// reports that it could not be read whole.
	Made    map[pawl.CommitHash]bool
	Partial bool
	// Force removes branches in spite of commits that the run did not make.
	Force bool
}

var _ pawl.Deletions = (*Engine)(nil)

// DeletedRuns implements [pawl.Deletions].
func (r Reader) DeletedRuns(ctx context.Context) ([]pawl.Tombstone, error) {
	d, ok := r.Log.(pawl.Deleter)
	if !ok {
		return nil, nil
	}
	return d.Deleted(ctx)
}

// deleter is the log as one that can delete runs, and what removes the rest of them.
func (e *Engine) deleter() (pawl.Deleter, Remains, error) {
	d, ok := e.c.Log.(pawl.Deleter)
	if !ok || e.c.Remains == nil {
		return nil, nil, pawl.Errorf(pawl.CodeUnavailable, "runs of this project cannot be deleted")
	}
	return d, e.c.Remains, nil
}

// stone returns the tombstone of a run; nil = it is not deleted.
func (r Reader) stone(ctx context.Context, run pawl.RunID) (*pawl.Tombstone, error) {
	stones, err := r.DeletedRuns(ctx)
	i := slices.IndexFunc(stones, func(t pawl.Tombstone) bool { return t.Run.ID == run })
	if err != nil || i < 0 {
		return nil, err
	}
	return &stones[i], nil
}

// undeleted refuses a run that was deleted.
func (e *Engine) undeleted(ctx context.Context, run pawl.RunID) error {
	t, err := e.stone(ctx, run)
	switch {
	case err != nil:
		return err
	case t == nil:
		return nil
	case t.Erased:
		return pawl.Errorf(pawl.CodeNotFound, "there is no run %s any more: it was deleted on %s", run, t.Deleted.Format(time.DateTime))
	}
	return pawl.Errorf(pawl.CodeState, "run %s was deleted on %s", run, t.Deleted.Format(time.DateTime)).
		WithHint("its log can be read until %s: pawl show %s", t.Until().Format(time.DateOnly), run)
}

// DeleteRun implements [pawl.Deletions]. The tombstone comes first: from then on nobody can
// resume the run, and what there is of it is removed by whoever asks again, or as garbage.
func (e *Engine) DeleteRun(ctx context.Context, run pawl.RunID, req pawl.DeleteRequest) (pawl.Deletion, error) {
	log, remains, err := e.deleter()
	if err != nil {
		return pawl.Deletion{}, err
	}
	e.starting.Lock() // nobody may resume or fork it meanwhile
	defer e.starting.Unlock()
	stone, err := e.stone(ctx, run)
	if err != nil {
		return pawl.Deletion{}, err
	}
	r := Removal{Run: run, Force: req.Force, Made: map[pawl.CommitHash]bool{}, Partial: true}
	if stone == nil || !stone.Erased {
		if r.Made, r.Partial, err = e.made(ctx, run); err != nil {
			return pawl.Deletion{}, err
		}
	}
	var next pawl.Tombstone
	if stone == nil {
		if next, err = e.deletable(ctx, run); err != nil {
			return pawl.Deletion{}, err
		}
		next.By = req.By
	}
	if err := remains.Look(ctx, r); err != nil {
		return pawl.Deletion{}, err
	}
	ctx = context.WithoutCancel(ctx) // what is begun is finished
	if stone == nil {
		if err := log.Delete(ctx, next); err != nil {
			return pawl.Deletion{}, err
		}
		stone = &next
		e.hub.wake(run)
	}
	out, err := e.remove(ctx, r)
	if err == nil && req.Now {
		out.Kept = []string{}
		err = e.erase(ctx, run)
		stone.Erased = stone.Erased || err == nil
	}
	out.Run, out.Deleted = run, stone.Deleted
	if !stone.Erased {
		out.Until = stone.Until()
	}
	if err != nil {
		return out, unfinished(run, err)
	}
	return out, nil
}

// unfinished is the error of a deletion that did not come to its end.
func unfinished(run pawl.RunID, err error) error {
	out := pawl.Errorf(pawl.CodeOf(err), "run %s is deleted, and not all that there is of it could be removed: %w", run, err)
	if why, ok := errors.AsType[*pawl.Error](err); ok && why.Hint != "" {
		return out.WithHint("%s; then pawl rm %s removes the rest", why.Hint, run)
	}
	return out.WithHint("pawl rm %s removes the rest", run)
}

// remove removes what there is of a deleted run but what is kept.
func (e *Engine) remove(ctx context.Context, r Removal) (pawl.Deletion, error) {
	var err error
	if e.c.Clean != nil {
		err = e.c.Clean(r.Run)
	}
	out, rerr := e.c.Remains.Remove(ctx, r)
	return out, errors.Join(rerr, err)
}

// erase removes what is kept of a deleted run, its log last: the rest is found by its name.
func (e *Engine) erase(ctx context.Context, run pawl.RunID) error {
	log, remains, err := e.deleter()
	if err != nil {
		return err
	}
	if err := remains.Erase(ctx, run); err != nil {
		return err
	}
	if err := log.Erase(ctx, run); err != nil {
		return err
	}
	_, err = remains.SweepBlobs(ctx)
	return err
}

// deletable returns the tombstone of a run that may be deleted.
func (e *Engine) deletable(ctx context.Context, run pawl.RunID) (pawl.Tombstone, error) {
	info, err := e.info(ctx, run)
	if err != nil {
		return pawl.Tombstone{}, err
	}
	if line := e.driver.Line(run); line != nil {
		info = *line
	}
	switch {
	case info.Status == pawl.StatusEnded:
		e.awaitLeft(run) // it has just ended
	case info.Status == pawl.StatusStopping && e.Driven(run):
		return pawl.Tombstone{}, pawl.Errorf(pawl.CodeState, "run %s is ending: calls and commands in progress finish first", run).
			WithHint("try again when it has ended; pawl logs -f %s follows it", run)
	case e.Driven(run) || info.Status == pawl.StatusPaused:
		return pawl.Tombstone{}, pawl.Errorf(pawl.CodeState, "run %s is %s: only a run that has ended can be deleted", run, info.Status).
			WithHint("end it first: pawl cancel %s", run)
	case !atRest(info):
		return pawl.Tombstone{}, pawl.Errorf(pawl.CodeState, "run %s was interrupted and has not ended: only a run that has ended can be deleted", run).
			WithHint("end it first: pawl cancel %s --now", run)
	}
	forks, err := e.forks(ctx, run)
	if err != nil {
		return pawl.Tombstone{}, err
	}
	if len(forks) > 0 {
		names := strings.Join(forks, " ")
		return pawl.Tombstone{}, pawl.Errorf(pawl.CodeState, "run %s was forked, and its log belongs to that of %s too", run, strings.Join(forks, ", ")).
			WithHint("delete the forks first: pawl rm %s; or keep it out of lists: pawl archive %s", names, run)
	}
	learned, err := e.learned(ctx, info)
	return pawl.Tombstone{Run: info, Deleted: e.now(), Learnings: learned}, err
}

// forks are the runs that were forked from a run: they are of the same task.
func (e *Engine) forks(ctx context.Context, run pawl.RunID) (forks []string, err error) {
	runs, err := e.c.Log.Runs(ctx)
	if err != nil {
		return nil, err
	}
	task, _ := run.Task()
	for _, r := range runs {
		if of, _ := r.ID.Task(); of != task || r.ID == run {
			continue
		}
		began, err := e.began(ctx, r.ID)
		switch {
		case pawl.CodeOf(err) == pawl.CodeDamaged: // nobody can go on with it
		case err != nil:
			return nil, err
		case began.ForkOf == run:
			forks = append(forks, string(r.ID))
		}
	}
	return forks, nil
}

// made are the commits that a run made, as its log says. partial reports that it cannot be
// read whole.
func (e *Engine) made(ctx context.Context, run pawl.RunID) (all map[pawl.CommitHash]bool, partial bool, err error) {
	all = map[pawl.CommitHash]bool{}
	for ev, err := range e.c.Log.Events(ctx, run, 0) {
		switch {
		case pawl.CodeOf(err) == pawl.CodeDamaged:
			return all, true, nil
		case err != nil:
			return nil, true, err
		}
		if commit := madeCommit(ev.Body); commit != "" {
			all[commit] = true
		}
	}
	return all, false, nil
}

// madeCommit returns the commit that an event says the run made; empty = none.
func madeCommit(body pawl.Body) pawl.CommitHash {
	switch b := body.(type) {
	case *pawl.RunStarted:
		return b.Begin // a merge that is judged
	case *pawl.Committed:
		return b.Commit
	case *pawl.Merged:
		return b.Commit
	case *pawl.Recorded:
		return b.Commit
	case *pawl.Published:
		return b.Commit
	case *pawl.Restored:
		return b.Commit
	case *pawl.RolledBack:
		return b.Commit
	}
	return ""
}

// taken returns the highest number and the highest run of a task that deleted runs have had,
// and the highest of their learnings. task may be empty.
func (e *Engine) taken(ctx context.Context, task string) (number, runs, learnings int, err error) {
	stones, err := e.DeletedRuns(ctx)
	for _, t := range stones {
		number = max(number, t.Run.Task, numberOf(t.Run.ID))
		if of, n := t.Run.ID.Task(); of == task {
			runs, learnings = max(runs, n), max(learnings, t.Learnings)
		}
	}
	return number, runs, learnings, err
}

// numberOf returns the number that a run's id begins with; 0 = with none.
func numberOf(run pawl.RunID) int {
	digits, _, _ := strings.Cut(string(run), "-")
	n, _ := strconv.Atoi(digits)
	return n
}
