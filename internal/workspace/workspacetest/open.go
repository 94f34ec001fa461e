package workspacetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"pawl"
)

func testOpen(t *testing.T, newFixture Make) {
	ctx := context.Background()

	t.Run("makes a worktree of the base and a branch at it", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		if state.Head != f.Base || state.Tree == "" || state.Salvage != "" {
			t.Errorf("state is %+v", state)
		}
		wantFiles(t, state.Dir, project())
		wantRef(t, f, head, f.Base)
	})

	t.Run("finds the worktree there is, as it is", func(t *testing.T) {
		f := newFixture(t, project())
		first := MustOpen(t, f, spec(f))
		MustWrite(t, first.Dir, "lib/new.txt", "unsaved\n")
		MustWrite(t, first.Dir, "build/out", "ignored\n")
		second := MustOpen(t, f, spec(f))
		if second.Tree == first.Tree {
			t.Error("the tree does not show the new file")
		}
		third := MustOpen(t, Fixture{Workspaces: f.Restart(t)}, spec(f))
		if diff := cmp.Diff(second, third); diff != "" {
			t.Errorf("after a restart (-before +after):\n%s", diff)
		}
		wantFiles(t, third.Dir, with(project(), "lib/new.txt", "unsaved\n", "build/out", "ignored\n"))
	})

	// R-B06
	t.Run("continues from the branch's head, not from the base", func(t *testing.T) {
		f := newFixture(t, project())
		MustWrite(t, MustOpen(t, f, spec(f)).Dir, "README", "Better.\n")
		info := MustCommit(t, f, commitSpec(f, "7"))
		MustClose(t, f, name, kept)
		state := MustOpen(t, f, spec(f))
		if state.Head != info.Commit || state.Tree != info.Tree {
			t.Errorf("state is %+v, want the commit %+v", state, info)
		}
		wantFiles(t, state.Dir, with(project(), "README", "Better.\n"))
	})

	t.Run("makes a worktree again that somebody deleted", func(t *testing.T) {
		f := newFixture(t, project())
		first := MustOpen(t, f, spec(f))
		MustRemove(t, first.Dir, "")
		if _, err := f.Tree(ctx, name); err == nil {
			t.Error("the tree of a worktree that is gone was recorded")
		}
		second := MustOpen(t, f, spec(f))
		if diff := cmp.Diff(first.WorkspaceState, second.WorkspaceState); diff != "" {
			t.Errorf("opened again (-first +second):\n%s", diff)
		}
		wantFiles(t, second.Dir, project())
	})

	t.Run("keeps to one branch for a worktree and one worktree for a branch", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, spec(f))
		_, err := f.Open(ctx, pawl.WorkspaceSpec{Name: name, Branch: "pawl/002-other", Base: f.Base})
		wantCode(t, err, pawl.CodeConflict, branch)
		_, err = f.Open(ctx, pawl.WorkspaceSpec{Name: "002-other", Branch: branch, Base: f.Base})
		wantCode(t, err, pawl.CodeConflict, name)
		if Exists(t, f, "002-other") {
			t.Error("the refused worktree was made")
		}
	})

	t.Run("refuses what it cannot make", func(t *testing.T) {
		f := newFixture(t, project())
		missing := pawl.CommitHash(fmt.Sprintf("%0*x", len(f.Base), 1))
		for _, row := range []struct {
			about string
			spec  pawl.WorkspaceSpec
			code  pawl.Code
		}{
			{"a branch that is not ours", pawl.WorkspaceSpec{Name: name, Branch: "main", Base: f.Base}, pawl.CodeInvalid},
			{"a branch with a bad name", pawl.WorkspaceSpec{Name: name, Branch: "pawl/a..b", Base: f.Base}, pawl.CodeInvalid},
			{"a name that leads elsewhere", pawl.WorkspaceSpec{Name: "../x", Branch: branch, Base: f.Base}, pawl.CodeInvalid},
			{"a name that looks like an option", pawl.WorkspaceSpec{Name: "-f", Branch: branch, Base: f.Base}, pawl.CodeInvalid},
			{"no name", pawl.WorkspaceSpec{Branch: branch, Base: f.Base}, pawl.CodeInvalid},
			{"a base that is no hash", pawl.WorkspaceSpec{Name: name, Branch: branch, Base: "--all"}, pawl.CodeInvalid},
			{"a base that is not there", pawl.WorkspaceSpec{Name: name, Branch: branch, Base: missing}, pawl.CodeNotFound},
		} {
			if _, err := f.Open(ctx, row.spec); pawl.CodeOf(err) != row.code {
				t.Errorf("%s: error is %v, want the code %s", row.about, err, row.code)
			}
		}
		wantRef(t, f, head, "")
	})

	t.Run("takes many at once", func(t *testing.T) {
		f := newFixture(t, project())
		var group errgroup.Group
		const many = 6
		for n := range many {
			for range 2 { // each from two callers
				group.Go(func() error {
					_, err := f.Open(ctx, pawl.WorkspaceSpec{
						Name: fmt.Sprintf("%03d-loop", n), Branch: fmt.Sprintf("pawl/%03d-loop", n), Base: f.Base,
					})
					return err
				})
			}
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		for n := range many {
			wantFiles(t, MustLocate(t, f, fmt.Sprintf("%03d-loop", n)), project())
		}
	})
}
