package gitworktree_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

// mustShow shows a commit in the named worktree.
func mustShow(tb rapid.TB, w pawl.Workspaces, name string, commit pawl.CommitHash, salvage string) workspacetest.Opened {
	tb.Helper()
	state, err := w.Show(context.Background(), name, commit, salvage)
	if err != nil {
		tb.Fatalf("show %s: %v", commit, err)
	}
	return workspacetest.Opened{WorkspaceState: state, Dir: workspacetest.MustLocate(tb, w, name)}
}

// wantCode checks an error's code and that it says a word.
func wantCode(tb rapid.TB, err error, code pawl.Code, word string) {
	tb.Helper()
	if pawl.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), word) {
		tb.Errorf("error is %v (%s), want one with the code %s that says %q", err, pawl.CodeOf(err), code, word)
	}
}

// wantFiles compares the files of the run's worktree.
func wantFiles(tb rapid.TB, f workspacetest.Fixture, want map[string]string) {
	tb.Helper()
	if diff := cmp.Diff(want, workspacetest.Files(tb, workspacetest.MustLocate(tb, f, runName))); diff != "" {
		tb.Errorf("files (-want +got):\n%s", diff)
	}
}

// wantHeld compares the files of a commit, or of what a ref names.
func (r *repository) wantHeld(tb rapid.TB, commit string, want map[string]string) {
	tb.Helper()
	got := map[string]string{}
	for path := range strings.SplitSeq(r.git(tb, "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", commit), "\n") {
		if path != "" {
			got[path] = r.git(tb, "show", commit+":"+path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("files of %s (-want +got):\n%s", commit, diff)
	}
}

// shown is a run's worktree that shows a candidate, which its branch does not have.
func shown(t *testing.T) (r *repository, f workspacetest.Fixture, candidate pawl.CommitInfo) {
	t.Helper()
	r = newRepository(t, map[string]string{"README": "A project.\n", ".gitignore": "build/\n"})
	f = r.fixture(t)
	workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	candidate = workspacetest.MustWork(t, f, "pawl/"+childName(1), f.Base, "README", "Read me.\n", ".pawl/tasks/1/plan.md", "The plan.\n")
	users := r.users(t)
	t.Cleanup(func() {
		if after := r.users(t); after != users {
			t.Errorf("the user's checkout changed:\n%s", cmp.Diff(users, after))
		}
	})
	return r, f, candidate
}

func TestShow(t *testing.T) {
	ctx := context.Background()
	base := map[string]string{"README": "A project.\n", ".gitignore": "build/\n"}
	after := map[string]string{"README": "Read me.\n", ".gitignore": "build/\n", ".pawl/tasks/1/plan.md": "The plan.\n"}

	t.Run("leaves the branch where it is", func(t *testing.T) {
		r, f, candidate := shown(t)
		for _, w := range []pawl.Workspaces{f, f, f.Restart(t)} {
			want := pawl.WorkspaceState{Head: candidate.Commit, Tree: candidate.Tree}
			if got := mustShow(t, w, runName, candidate.Commit, runSalvage).WorkspaceState; got != want {
				t.Errorf("state is %+v, want %+v", got, want)
			}
			if tree := workspacetest.MustTree(t, w, runName); tree != candidate.Tree {
				t.Errorf("its tree is %s, want %s", tree, candidate.Tree)
			}
		}
		wantFiles(t, f, after)
		if got := r.resolve(t, "refs/heads/"+runBranch); got != f.Base {
			t.Errorf("the branch is at %s, want %s", got, f.Base)
		}
		if got := r.gitIn(t, workspacetest.MustLocate(t, f, runName), "status", "--short", "--branch"); got != "## HEAD (no branch)" {
			t.Errorf("git status in the worktree says %q", got)
		}
	})

	t.Run("and the branch follows", func(t *testing.T) {
		r, f, candidate := shown(t)
		mustShow(t, f, runName, candidate.Commit, runSalvage)
		workspacetest.MustAdvance(t, f, runBranch, f.Base, candidate.Commit)
		want := pawl.WorkspaceState{Head: candidate.Commit, Tree: candidate.Tree}
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
			if got := workspacetest.MustReset(t, w, runName, candidate.Commit, runSalvage).WorkspaceState; got != want {
				t.Errorf("state is %+v, want %+v", got, want)
			}
		}
		f.Base = candidate.Commit
		if _, err := commitRun("8")(ctx, f, f); err != nil {
			t.Error(err)
		}
		if saved := r.resolve(t, runSalvage); saved != "" {
			t.Errorf("something was saved: %s", saved)
		}
	})

	t.Run("and then goes back", func(t *testing.T) {
		r, f, candidate := shown(t)
		for _, back := range []func() pawl.WorkspaceState{
			func() pawl.WorkspaceState {
				return workspacetest.MustReset(t, f, runName, f.Base, runSalvage).WorkspaceState
			},
			func() pawl.WorkspaceState { state, _ := openRun(ctx, f, f); return state.(pawl.WorkspaceState) },
		} {
			mustShow(t, f, runName, candidate.Commit, runSalvage)
			if got := back(); got.Head != f.Base || got.Salvage != "" {
				t.Errorf("state is %+v, want the head %s and nothing saved", got, f.Base)
			}
			wantFiles(t, f, base)
		}
		if _, err := commitRun("7")(ctx, f, f); err != nil {
			t.Error(err)
		}
		if refs := r.git(t, "for-each-ref", "refs/pawl"); refs != "" {
			t.Errorf("something was saved: %s", refs)
		}
	})

	t.Run("one commit after the other", func(t *testing.T) {
		_, f, candidate := shown(t)
		next := workspacetest.MustWork(t, f, "pawl/"+childName(2), f.Base, "other", "1\n")
		for _, commit := range []pawl.CommitHash{candidate.Commit, next.Commit, f.Base} {
			if got := mustShow(t, f, runName, commit, runSalvage); got.Head != commit || got.Salvage != "" {
				t.Errorf("state is %+v, want the head %s and nothing saved", got, commit)
			}
		}
		wantFiles(t, f, base)
	})

	t.Run("saves what was there", func(t *testing.T) {
		r, f, candidate := shown(t)
		workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new", "not committed\n")
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
			if got := mustShow(t, w, runName, candidate.Commit, runSalvage); got.Salvage != runSalvage {
				t.Errorf("salvage is %q, want %q", got.Salvage, runSalvage)
			}
		}
		r.wantHeld(t, runSalvage, map[string]string{"README": "A project.", ".gitignore": "build/", "new": "not committed"})
		if parent := r.git(t, "rev-parse", runSalvage+"^"); parent != string(f.Base) {
			t.Errorf("it lies on %s, want %s", parent, f.Base)
		}
		wantFiles(t, f, after)
	})

	// What is written where a candidate is shown is work, and the candidate is none.
	t.Run("and what is written is saved", func(t *testing.T) {
		leaves := map[string]func(*testing.T, workspacetest.Fixture) string{
			"by a reset": func(t *testing.T, f workspacetest.Fixture) string {
				return workspacetest.MustReset(t, f, runName, f.Base, runSalvage).Salvage
			},
			"by showing something else": func(t *testing.T, f workspacetest.Fixture) string {
				return mustShow(t, f, runName, f.Base, runSalvage).Salvage
			},
			"by closing": func(t *testing.T, f workspacetest.Fixture) string {
				return workspacetest.MustClose(t, f, runName, runSalvage)
			},
			"by opening": func(t *testing.T, f workspacetest.Fixture) string {
				return workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Salvage
			},
		}
		for n, name := range slices.Sorted(maps.Keys(leaves)) {
			t.Run(name, func(t *testing.T) {
				sample(t, n)
				r, f, candidate := shown(t)
				mustShow(t, f, runName, candidate.Commit, runSalvage)
				workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new", "not committed\n")
				saved := leaves[name](t, f)
				if !strings.HasPrefix(saved, "refs/pawl/salvage/"+runName+"/") {
					t.Fatalf("saved is %q", saved)
				}
				r.wantHeld(t, saved, map[string]string{
					"README": "Read me.", ".gitignore": "build/", ".pawl/tasks/1/plan.md": "The plan.", "new": "not committed",
				})
				if parent := r.git(t, "rev-parse", saved+"^"); parent != string(candidate.Commit) {
					t.Errorf("it lies on %s, want %s", parent, candidate.Commit)
				}
			})
		}
	})

	t.Run("is closed without saving what is shown", func(t *testing.T) {
		_, f, candidate := shown(t)
		mustShow(t, f, runName, candidate.Commit, runSalvage)
		if saved := workspacetest.MustClose(t, f, runName, runSalvage); saved != "" {
			t.Errorf("saved is %q, want nothing", saved)
		}
	})

	// The files would undo, or smuggle in, what the branch does not have.
	t.Run("lets no commit but on what is shown", func(t *testing.T) {
		r, f, candidate := shown(t)
		mustShow(t, f, runName, candidate.Commit, runSalvage)
		_, err := commitRun("7")(ctx, f, f)
		wantCode(t, err, pawl.CodeConflict, "is at "+string(candidate.Commit))
		if got := r.resolve(t, "refs/heads/"+runBranch); got != f.Base {
			t.Errorf("the branch is at %s, want %s", got, f.Base)
		}
		workspacetest.MustAdvance(t, f, runBranch, f.Base, candidate.Commit)
		workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new", "1\n")
		spec := pawl.CommitSpec{Name: runName, Branch: runBranch, Parent: candidate.Commit, Base: f.Base, ID: "7", Time: time.Unix(1_780_000_000, 0)}
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
			if info := workspacetest.MustCommit(t, w, spec); !cmp.Equal(info.Files, []string{"new"}) {
				t.Errorf("the commit changes %q, want new", info.Files)
			}
		}
		if got := workspacetest.MustReset(t, f, runName, r.resolve(t, "refs/heads/"+runBranch), runSalvage); got.Salvage != "" {
			t.Errorf("salvage is %q, want none", got.Salvage)
		}
	})

	t.Run("keeps the last commit of a branch that is gone", func(t *testing.T) {
		r, f, candidate := shown(t)
		workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new", "1\n")
		info, err := commitRun("7")(ctx, f, f)
		if err != nil {
			t.Fatal(err)
		}
		mustShow(t, f, runName, candidate.Commit, runSalvage)
		r.git(t, "update-ref", "-d", "refs/heads/"+runBranch)
		last := info.(pawl.CommitInfo).Commit
		_, err = f.Show(ctx, runName, f.Base, runSalvage)
		wantCode(t, err, pawl.CodeConflict, string(last))
		saved := workspacetest.MustClose(t, f, runName, runSalvage)
		if r.git(t, "merge-base", saved, string(last)) != string(last) {
			t.Errorf("%s is not kept by %q", last, saved)
		}
	})

	t.Run("refuses what is not there", func(t *testing.T) {
		_, f, candidate := shown(t)
		missing := pawl.CommitHash(fmt.Sprintf("%0*x", len(f.Base), 1))
		_, err := f.Show(ctx, runName, missing, runSalvage)
		wantCode(t, err, pawl.CodeNotFound, string(missing))
		_, err = f.Show(ctx, "002-none", candidate.Commit, runSalvage)
		wantCode(t, err, pawl.CodeNotFound, "002-none")
		_, err = f.Show(ctx, runName, candidate.Commit, "refs/heads/main")
		wantCode(t, err, pawl.CodeInvalid, "refs/heads/main")
	})
}
