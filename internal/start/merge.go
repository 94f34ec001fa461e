package start

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"pawl"
	"pawl/internal/pattern"
	"pawl/internal/plain"
	"pawl/internal/recipe"
)

// MergeRecipe is the built-in recipe by which a merge is judged. A repository's of that name does not
// take its place, and no other run can have it: it would be complete without any work.
const MergeRecipe = "merge-check"

var commitHash = pattern.Of(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// merges makes the run that judges a merge, with the settings of the run whose work is merged.
func (s *starting) merges(ctx context.Context) error {
	of := s.req.Merge
	bare := pawl.StartRequest{Goal: s.req.Goal, Merge: of, Dir: s.req.Dir, AllowPrepare: s.req.AllowPrepare, Unattended: s.req.Unattended}
	if !reflect.DeepEqual(s.req, bare) {
		return pawl.Errorf(pawl.CodeInvalid, "merge: a merge is judged as run %s was, without a recipe, flags or tasks of its own", plain.Line(string(of.Run), 80)).WithField("merge")
	}
	if !commitHash.MatchString(string(of.Commit)) {
		return pawl.Errorf(pawl.CodeInvalid, "merge.commit: got %q, want a commit's whole hash", plain.Line(string(of.Commit), 80)).WithField("merge.commit")
	}
	began, err := s.began(ctx, of.Run)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(began.Settings, &s.spec.Settings); err != nil {
		return pawl.Errorf(pawl.CodeDamaged, "the settings of run %s: %w", of.Run, err)
	}
	for i := range s.spec.Settings.Models { // none is called
		s.spec.Settings.Models[i] = pawl.ModelChoice{Provider: "script", MaxOutput: 1}
	}
	s.spec.Settings.Evidence = "" // the work was examined in its own run
	if !began.HeldOut.IsZero() {
		if s.spec.HeldOut, err = s.Earlier.Blob(ctx, of.Run, began.HeldOut); err != nil {
			return fmt.Errorf("read the held-out checks of run %s: %w", of.Run, err)
		}
	}
	if s.spec.Goal == "" {
		s.spec.Goal = fmt.Sprintf("Merge %s", began.Branch)
	}
	s.spec.Merge, s.spec.Unsandboxed, s.spec.Origin.Name = of.Commit, !began.Confined, MergeRecipe
	if s.spec.Recipe, err = recipe.Load(MergeRecipe); err != nil {
		return fmt.Errorf("load the recipe that checks merges: %w", err)
	}
	return nil
}

// began is how a run of the project began.
func (s *starting) began(ctx context.Context, run pawl.RunID) (*pawl.RunStarted, error) {
	for e, err := range s.Earlier.Events(ctx, run, 0) {
		if began, ok := e.Body.(*pawl.RunStarted); ok && err == nil {
			return began, nil
		}
		if err != nil && pawl.CodeOf(err) != pawl.CodeNotFound {
			return nil, err
		}
		break
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "there is no run %q", plain.Line(string(run), 80)).WithField("merge.run")
}
