package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"pawl"
	"pawl/internal/pattern"
	"pawl/internal/project"
)

// exactly returns the tombstone of the run with this id; nil = none was deleted.
func exactly(stones []pawl.Tombstone, name string) *pawl.Tombstone {
	i := slices.IndexFunc(stones, func(t pawl.Tombstone) bool { return string(t.Run.ID) == name })
	if i < 0 {
		return nil
	}
	return &stones[i]
}

// wasDeleted adds to the error for a run that there is not that it may be a deleted one, the
// latest of those that are called so. A deleted run has to be named by its whole id.
func wasDeleted(stones []pawl.Tombstone, name string, missing error) error {
	for _, t := range slices.Backward(stones) {
		if !t.Run.ID.IsCalled(name) {
			continue
		}
		err := pawl.Errorf(pawl.CodeOf(missing), "%w", missing)
		if t.Erased {
			return err.WithHint("run %s was deleted on %s", t.Run.ID, Date(t.Deleted))
		}
		return err.WithHint("run %s was deleted on %s; its log is kept until %s: pawl show %s", t.Run.ID, Date(t.Deleted), Date(t.Until()), t.Run.ID)
	}
	return missing
}

// number matches the number of a run: 7, or 7-r2 where its task has several.
var number = pattern.Of(`^[0-9]+(-r[0-9]+)?$`)

// FindToDelete resolves what a user calls a run that is to be deleted: its whole id, also that
// of a deleted run, or its number where its task has one run. What [Find] makes of less than
// that is not certain enough.
func FindToDelete(ctx context.Context, s pawl.Service, name string) (pawl.RunInfo, error) {
	runs, err := s.Runs(ctx)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	var found []pawl.RunInfo
	isNumber := number.MatchString(name)
	for _, r := range runs {
		switch {
		case string(r.ID) == name:
			return r, nil
		case isNumber && r.ID.IsCalled(name):
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return pawl.RunInfo{}, ambiguous(name, found)
	}
	stones, err := pawl.DeletedRuns(ctx, s)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	if t := exactly(stones, name); t != nil {
		return t.Run, nil
	}
	missing := noRun(name, runs)
	if why, ok := errors.AsType[*pawl.Error](missing); ok && !isNumber {
		missing = why.WithHint("give its whole id or its number: %s", why.Hint)
	}
	return pawl.RunInfo{}, wasDeleted(stones, name, missing)
}

// readDeleted returns the line of a deleted run whose log is still kept, for commands that
// only read, and says so. missing is what is said of a run that there is not.
func (a *App) readDeleted(ctx context.Context, s pawl.Service, access Access, name string, missing error) (pawl.RunInfo, error) {
	stones, err := pawl.DeletedRuns(ctx, s)
	if err != nil {
		return pawl.RunInfo{}, errors.Join(missing, err)
	}
	t := exactly(stones, name)
	switch {
	case t == nil:
		return pawl.RunInfo{}, wasDeleted(stones, name, missing)
	case t.Erased:
		return pawl.RunInfo{}, pawl.Errorf(pawl.CodeNotFound, "there is no run %s any more: it was deleted on %s", t.Run.ID, Date(t.Deleted))
	case access != Read:
		return pawl.RunInfo{}, pawl.Errorf(pawl.CodeState, "run %s was deleted on %s", t.Run.ID, Date(t.Deleted)).
			WithHint("its log can be read until %s: pawl show %s", Date(t.Until()), t.Run.ID)
	}
	if !a.JSON {
		a.Notef("run %s was deleted on %s; its log is kept until %s", t.Run.ID, Date(t.Deleted), Date(t.Until()))
	}
	return t.Run, nil
}

// Date is the day of a time, as people here call it.
func Date(t time.Time) string { return t.Local().Format(time.DateOnly) }

// IsOutside reports whether an error means that the command was not given in a repository.
func IsOutside(err error) bool { return errors.Is(err, project.ErrOutside) }

// Reached is a project that was looked at among all of the user's.
type Reached struct {
	Project string `json:"project"` // its id, the name of its state folder
	Root    string `json:"root"`    // of the repository
	// Gone reports that the repository no longer exists.
	Gone bool `json:"gone,omitempty"`
}

// ReachedAs is what other programs are told of a project.
func ReachedAs(p project.Project) Reached {
	return Reached{p.ID(), p.Repo.Root, !p.Present()}
}
