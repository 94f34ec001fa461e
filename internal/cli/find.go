package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/pattern"
	"pawl/internal/plain"
	"pawl/internal/resolve"
	"pawl/internal/view"
)

// Find resolves what a user calls a run: its id, its number ("7", "007", or "7-r2" where its task has
// several runs), a beginning of its id that is unique, or nothing for the latest run.
func Find(ctx context.Context, s pawl.Service, name string) (pawl.RunInfo, error) {
	runs, err := s.Runs(ctx)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	if len(runs) == 0 {
		return pawl.RunInfo{}, pawl.Errorf(pawl.CodeNotFound, "this project has no runs yet").WithHint(`start one: pawl run "what should be there when it is done"`)
	}
	if name == "" {
		return runs[len(runs)-1], nil
	}
	var found []pawl.RunInfo
	for _, r := range runs {
		switch {
		case string(r.ID) == name:
			return r, nil
		case r.ID.IsCalled(name):
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return pawl.RunInfo{}, noRun(name, runs)
	case 1:
		return found[0], nil
	}
	return pawl.RunInfo{}, ambiguous(name, found)
}

// ambiguous is the error for a name that several runs have.
func ambiguous(name string, found []pawl.RunInfo) error {
	var ids []string
	for _, r := range found {
		ids = append(ids, string(r.ID))
	}
	err := pawl.Errorf(pawl.CodeInvalid, "%q may be any of %s", plain.Line(name, 60), strings.Join(ids, ", "))
	if id, _ := found[0].ID.Task(); !slices.ContainsFunc(found, func(r pawl.RunInfo) bool { other, _ := r.ID.Task(); return other != id }) {
		num, _, _ := strings.Cut(id, "-")
		return err.WithHint("%s-r1 is the first run of the task, %s-r2 its second", num, num)
	}
	return err
}

// mostNear is how many runs are named that may have been meant by one that there is not.
const mostNear = 5

// noRun is the error for a run that there is not. It is never taken for a similar one.
func noRun(name string, runs []pawl.RunInfo) error {
	err := pawl.Errorf(pawl.CodeNotFound, "there is no run %q", plain.Line(name, 60))
	all := make([]resolve.Task, len(runs))
	for i, r := range slices.Backward(runs) { // the newest first
		all[len(runs)-1-i] = resolve.Task{ID: string(r.ID)}
	}
	near := resolve.Near(name, all)
	if len(near) == 0 {
		return err.WithHint("pawl list shows the runs")
	}
	var ids []string
	for _, t := range near[:min(len(near), mostNear)] {
		ids = append(ids, t.ID)
	}
	return err.WithHint("did you mean %s? pawl list shows the runs", strings.Join(ids, " or "))
}

// Fold reads a run whole.
func Fold(ctx context.Context, s pawl.Service, run pawl.RunID) (*view.Run, error) {
	return view.Fold(s.Events(ctx, run, 0))
}

// Blobs reads a run's blobs for a view.
func Blobs(ctx context.Context, s pawl.Service, run pawl.RunID) view.Blobs {
	return func(h pawl.Hash) ([]byte, error) { return s.Blob(ctx, run, h) }
}

// Examine reads all events of a run and all blobs that they name, and returns what is damaged.
// If a run is quarantined because of a blob, it returns the error of the blob.
func Examine(ctx context.Context, s pawl.Service, run pawl.RunID) error {
	var damage error
	seen := map[pawl.Hash]bool{}
	for e, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return cmp.Or(damage, err)
		}
		for _, h := range hashes(e) {
			if seen[h] || damage != nil {
				continue
			}
			seen[h] = true
			switch _, err := s.Blob(ctx, run, h); pawl.CodeOf(err) {
			case pawl.CodeDamaged:
				damage = err
			case pawl.CodeNotFound: // it is not the hash of a blob
			default:
				if err != nil {
					return err
				}
			}
		}
	}
	return damage
}

// hash matches the hashes in an event's JSON. Not all of them are hashes of blobs.
var hash = pattern.Of(`"[0-9a-f]{64}"`)

// hashes returns the hashes in the fields and facts of an event.
func hashes(e pawl.Event) (all []pawl.Hash) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil // whoever shows it says so
	}
	for _, text := range hash.FindAll(data, -1) {
		var h pawl.Hash
		if h.UnmarshalText(text[1:len(text)-1]) == nil {
			all = append(all, h)
		}
	}
	return all
}

// WarnInterrupted says of a run that nobody drives what to do about it.
func (a *App) WarnInterrupted(info pawl.RunInfo) {
	if info.Status == StatusInterrupted && !a.JSON {
		why := "no process drives it"
		if info.Needs != "" {
			why = plain.Line(info.Needs, 0)
		}
		a.Notef("run %s was interrupted: %s. Continue: pawl resume %s", info.ID, why, info.ID)
	}
}

// WarnLost looks at a run that was followed to the end of what there is, and
// says so when it is not the run's end.
func (a *App) WarnLost(ctx context.Context, s *Session, run pawl.RunID) error {
	err := a.refresh(ctx, s)
	if err == nil {
		var info pawl.RunInfo
		if info, err = Find(ctx, s, string(run)); err == nil {
			a.WarnInterrupted(info)
		}
	}
	if pawl.CodeOf(err) == pawl.CodeUnavailable {
		return nil // whoever drove it is just going: there is nothing to warn of
	}
	return err
}

// State is a run's outcome when it has ended, else its status.
func State(r pawl.RunInfo) string { return view.StateOfRun(r).Word }
