package workspacetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func testReset(t *testing.T, newFixture Make) {
	ctx := context.Background()

	t.Run("saves the work and goes back", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "README", "Half done\n")
		MustWrite(t, state.Dir, "new/file", "new\n")
		MustRemove(t, state.Dir, "lib")
		reset := MustReset(t, f, name, f.Base, kept)
		if want := (pawl.WorkspaceState{Head: f.Base, Tree: state.Tree, Salvage: kept}); reset.WorkspaceState != want {
			t.Errorf("state is %+v, want %+v", reset, want)
		}
		wantFiles(t, state.Dir, project())
		wantCommit(t, f, f.Resolve(t, kept), with(project(),
			"README", "Half done\n", "new/file", "new\n", "lib/a.txt", "-", "lib/deep/b.go", "-"))
		wantRef(t, f, head, f.Base)
	})

	t.Run("saves nothing when there is nothing to save", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		if reset := MustReset(t, f, name, f.Base, kept); reset != state {
			t.Errorf("state is %+v, want %+v", reset, state)
		}
		wantRef(t, f, kept, "")
	})

	t.Run("moves the branch and keeps its old head", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "new", "new\n")
		info := MustCommit(t, f, commitSpec(f, "7"))
		reset := MustReset(t, f, name, f.Base, kept)
		wantRef(t, f, head, f.Base)
		wantRef(t, f, kept, info.Commit)
		if reset.Salvage != kept {
			t.Errorf("salvage is %q, want %q", reset.Salvage, kept)
		}
		wantFiles(t, state.Dir, project())

		forward := MustReset(t, f, name, info.Commit, kept+"b")
		if forward.Head != info.Commit || forward.Tree != info.Tree || forward.Salvage != "" {
			t.Errorf("going forward gives %+v; nothing is lost by it", forward)
		}
		wantFiles(t, state.Dir, with(project(), "new", "new\n"))
		wantRef(t, f, head, info.Commit)
	})

	t.Run("keeps both the old head and what came after it", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "committed", "1\n")
		MustCommit(t, f, commitSpec(f, "7"))
		MustWrite(t, state.Dir, "uncommitted", "2\n")
		MustReset(t, f, name, f.Base, kept)
		wantFiles(t, state.Dir, project())
		wantCommit(t, f, f.Resolve(t, kept), with(project(), "committed", "1\n", "uncommitted", "2\n"))
		restored := MustReset(t, f, name, f.Resolve(t, kept), kept+"b")
		wantFiles(t, restored.Dir, with(project(), "committed", "1\n", "uncommitted", "2\n"))
	})

	t.Run("can be called again", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "new", "new\n")
		first := MustReset(t, f, name, f.Base, kept)
		saved := f.Resolve(t, kept)
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
			if diff := cmp.Diff(first, MustReset(t, w, name, f.Base, kept)); diff != "" {
				t.Errorf("second call (-first +second):\n%s", diff)
			}
		}
		wantRef(t, f, kept, saved)
	})

	t.Run("never overwrites what was saved", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		salvages := map[string]bool{}
		for n := range 3 {
			MustWrite(t, state.Dir, "work", fmt.Sprintf("work %d\n", n))
			salvage := MustReset(t, f, name, f.Base, kept).Salvage
			salvages[salvage] = true
			wantCommit(t, f, f.Resolve(t, salvage), with(project(), "work", fmt.Sprintf("work %d\n", n)))
		}
		if len(salvages) != 3 {
			t.Errorf("salvages are %v, want three", salvages)
		}
	})

	t.Run("keeps ignored files that are not in the way", func(t *testing.T) {
		f := newFixture(t, with(project(), "build/tracked", "tracked though ignored\n"))
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "build/cache/x", "expensive\n")
		MustRemove(t, state.Dir, "lib")
		MustWrite(t, state.Dir, "lib", "a file in a folder's place\n")
		MustReset(t, f, name, f.Base, kept)
		wantFiles(t, state.Dir, with(project(), "build/tracked", "tracked though ignored\n", "build/cache/x", "expensive\n"))
	})

	t.Run("saves and restores the tasks", func(t *testing.T) {
		f := newFixture(t, with(project(), ".pawl/tasks/001-x/plan.md", "plan\n"))
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, ".pawl/tasks/001-x/plan.md", "other plan\n")
		MustWrite(t, state.Dir, ".pawl/tasks/002-y/plan.md", "new plan\n")
		MustReset(t, f, name, f.Base, kept)
		wantFiles(t, state.Dir, with(project(), ".pawl/tasks/001-x/plan.md", "plan\n"))
		wantCommit(t, f, f.Resolve(t, kept), with(project(),
			".pawl/tasks/001-x/plan.md", "other plan\n", ".pawl/tasks/002-y/plan.md", "new plan\n"))
	})

	t.Run("does not follow symbolic links out of the worktree", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		outside := t.TempDir()
		MustWrite(t, outside, "a.txt", "precious\n")
		MustWrite(t, outside, "deep/b.go", "precious\n")
		MustWrite(t, outside, "other", "precious\n")
		before := Files(t, outside)
		MustRemove(t, state.Dir, "lib")
		if err := os.Symlink(outside, filepath.Join(state.Dir, "lib")); err != nil {
			t.Fatal(err)
		}
		MustReset(t, f, name, f.Base, kept)
		wantFiles(t, state.Dir, project())
		wantFiles(t, outside, before)
		wantCommit(t, f, f.Resolve(t, kept), with(project(), "lib/a.txt", "-", "lib/deep/b.go", "-", "lib", "-> "+outside))
	})

	t.Run("does not follow a folder that was moved out and linked back", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		outside := filepath.Join(t.TempDir(), "lib")
		if err := os.Rename(filepath.Join(state.Dir, "lib"), outside); err != nil {
			t.Skipf("the temporary folder is on another file system: %v", err)
		}
		if err := os.Symlink(outside, filepath.Join(state.Dir, "lib")); err != nil {
			t.Fatal(err)
		}
		MustReset(t, f, name, f.Base, kept)
		wantFiles(t, state.Dir, project())
		wantFiles(t, outside, map[string]string{"a.txt": "one\ntwo\nthree\n", "deep/b.go": "package b\n"})
	})

	t.Run("refuses what is not there", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, spec(f))
		missing := pawl.CommitHash(fmt.Sprintf("%0*x", len(f.Base), 1))
		_, err := f.Reset(ctx, name, missing, kept)
		wantCode(t, err, pawl.CodeNotFound, string(missing))
		_, err = f.Reset(ctx, "002-none", f.Base, kept)
		wantCode(t, err, pawl.CodeNotFound, "002-none")
		_, err = f.Reset(ctx, name, f.Base, "refs/heads/main")
		wantCode(t, err, pawl.CodeInvalid, "refs/heads/main")
	})
}

func testClose(t *testing.T, newFixture Make) {
	// R-B16
	t.Run("saves uncommitted work and removes the worktree", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "new", "new\n")
		info := MustCommit(t, f, commitSpec(f, "7"))
		MustWrite(t, state.Dir, "newer", "newer\n")
		if saved := MustClose(t, f, name, kept); saved != kept {
			t.Errorf("saved is %q, want %q", saved, kept)
		}
		if _, err := os.Lstat(state.Dir); !os.IsNotExist(err) {
			t.Errorf("the worktree is still there: %v", err)
		}
		wantRef(t, f, head, info.Commit)
		wantCommit(t, f, f.Resolve(t, kept), with(project(), "new", "new\n", "newer", "newer\n"))
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
			if saved := MustClose(t, w, name, kept); saved != kept {
				t.Errorf("called again, saved is %q, want %q", saved, kept)
			}
		}
	})

	t.Run("saves nothing when there is nothing to save", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "build/out", "ignored\n")
		if saved := MustClose(t, f, name, kept); saved != "" {
			t.Errorf("saved is %q, want nothing", saved)
		}
		wantRef(t, f, kept, "")
		wantRef(t, f, head, f.Base)
	})

	t.Run("of a worktree that never was does nothing", func(t *testing.T) {
		f := newFixture(t, project())
		if saved := MustClose(t, f, name, kept); saved != "" {
			t.Errorf("saved is %q, want nothing", saved)
		}
	})

	t.Run("of a worktree that somebody deleted cleans up", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustRemove(t, state.Dir, "")
		if saved := MustClose(t, f, name, kept); saved != "" {
			t.Errorf("saved is %q, want nothing", saved)
		}
		MustOpen(t, f, pawl.WorkspaceSpec{Name: "other", Branch: branch, Base: f.Base})
	})

	t.Run("refuses when the work cannot be saved", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "new", "new\n")
		if _, err := f.Close(context.Background(), name, "refs/heads/main"); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("error is %v, want the code invalid", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := f.Close(ctx, name, kept); err == nil {
			t.Error("closing with an ended context succeeded")
		}
		wantFiles(t, state.Dir, with(project(), "new", "new\n"))
	})
}
