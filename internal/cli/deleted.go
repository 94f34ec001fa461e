package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"pawl"
	"pawl/internal/project"
)

// findDeleted returns the tombstone of the run with exactly this id; nil = none was deleted.
func findDeleted(ctx context.Context, s pawl.Service, name string) (*pawl.Tombstone, error) {
	stones, err := pawl.DeletedRuns(ctx, s)
	i := slices.IndexFunc(stones, func(t pawl.Tombstone) bool { return string(t.Run.ID) == name })
	if err != nil || i < 0 {
		return nil, err
	}
	return &stones[i], nil
}

// FindToDelete is [Find] for who deletes a run: a deleted one is found too, by its whole id.
func FindToDelete(ctx context.Context, s pawl.Service, name string) (pawl.RunInfo, error) {
	info, err := Find(ctx, s, name)
	if err == nil || pawl.CodeOf(err) != pawl.CodeNotFound {
		return info, err
	}
	t, derr := findDeleted(ctx, s, name)
	if derr != nil || t == nil {
		return info, errors.Join(derr, err)
	}
	return t.Run, nil
}

// readDeleted returns the line of a deleted run whose log is still kept, for commands that
// only read, and says so. missing is what is said of a run that there is not.
func (a *App) readDeleted(ctx context.Context, s pawl.Service, access Access, name string, missing error) (pawl.RunInfo, error) {
	t, err := findDeleted(ctx, s, name)
	switch {
	case err != nil || t == nil:
		return pawl.RunInfo{}, errors.Join(err, missing)
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
	// Gone reports that the repository is not there any more.
	Gone bool `json:"gone,omitempty"`
}

// ReachedAs is what other programs are told of a project.
func ReachedAs(p project.Project) Reached {
	return Reached{p.ID(), p.Repo.Root, !p.Present()}
}
