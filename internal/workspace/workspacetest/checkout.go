package workspacetest

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sync/errgroup"

	"pawl"
)

func testCheckout(t *testing.T, newFixture Make) {
	ctx := context.Background()

	t.Run("is the commit and not the worktree", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "new", "new\n")
		MustWrite(t, state.Dir, "build/out", "ignored\n")
		info := MustCommit(t, f, commitSpec(f, "7"))
		MustWrite(t, state.Dir, "new", "newer\n")
		wantCommit(t, f, info.Commit, with(project(), "new", "new\n"))
		wantCommit(t, f, f.Base, project())
		wantFiles(t, state.Dir, with(project(), "new", "newer\n", "build/out", "ignored\n"))
	})

	t.Run("is shared while it is held and removed afterwards", func(t *testing.T) {
		f := newFixture(t, project())
		first, releaseFirst := mustCheckout(t, f, f.Base)
		second, releaseSecond := mustCheckout(t, f, f.Base)
		if first != second {
			t.Errorf("one commit has two folders: %s and %s", first, second)
		}
		releaseFirst()
		releaseFirst() // once more counts for nothing
		wantFiles(t, first, project())
		MustWrite(t, first, "dirt", "left by a gate\n")
		releaseSecond()
		if _, err := os.Lstat(first); !os.IsNotExist(err) {
			t.Errorf("the checkout is still there: %v", err)
		}
		again, release := mustCheckout(t, f, f.Base)
		defer release()
		wantFiles(t, again, project())
	})

	t.Run("is clean after a crash", func(t *testing.T) {
		f := newFixture(t, project())
		dir, _ := mustCheckout(t, f, f.Base) // never released
		MustWrite(t, dir, "dirt", "left by a gate\n")
		MustRemove(t, dir, "lib")
		again, release := mustCheckout(t, Fixture{Workspaces: f.Restart(t)}, f.Base)
		defer release()
		wantFiles(t, again, project())
	})

	t.Run("serves many at once", func(t *testing.T) {
		f := newFixture(t, project())
		var group errgroup.Group
		for range 8 {
			group.Go(func() error {
				for range 5 {
					dir, release, err := f.Checkout(ctx, f.Base)
					if err != nil {
						return err
					}
					_, err = os.Stat(dir + "/lib/deep/b.go")
					release()
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("refuses what is not there", func(t *testing.T) {
		f := newFixture(t, project())
		if _, _, err := f.Checkout(ctx, "main"); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("error is %v, want the code invalid", err)
		}
	})
}

func mustCheckout(t *testing.T, f Fixture, commit pawl.CommitHash) (string, func()) {
	t.Helper()
	dir, release, err := f.Checkout(context.Background(), commit)
	if err != nil {
		t.Fatalf("check out %s: %v", commit, err)
	}
	return dir, release
}
