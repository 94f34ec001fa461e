package gitworktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// worked is a repository with a run that has two loops, a checkpoint and a salvage ref, and
// with another run. made are the commits of the first.
func worked(t *testing.T) (r *repository, f workspacetest.Fixture, w *gitworktree.Workspaces, made gitworktree.Made) {
	t.Helper()
	r = newRepository(t, map[string]string{"lib/a.txt": "one\n", "deep/er/b.go": "package b\n"})
	f = r.fixture(t)
	w = f.Workspaces.(*gitworktree.Workspaces)
	children(t, f)
	made = gitworktree.Made{Commits: map[pawl.CommitHash]bool{}}
	for n := 1; n <= 2; n++ {
		made.Commits[childHead(f, n)] = true
	}
	for _, ref := range []string{"checkpoints/" + runName + "/1", "salvage/" + runName + "/9-reset", "attempts/" + runName + "--2-task-002", "checkpoints/" + runName + "-r2/1"} {
		if err := f.Mark(t.Context(), "refs/pawl/"+ref, childHead(f, 1)); err != nil {
			t.Fatal(err)
		}
	}
	// An attempt that did not land, and a checkpoint that nothing else has.
	for name, of := range map[string]string{"attempts/" + runName: "An attempt", "checkpoints/" + runName + "/loop-2/7": "A checkpoint"} {
		r.git(t, "update-ref", "refs/pawl/"+name, r.git(t, "commit-tree", "-m", of, "-p", string(f.Base), string(f.Base)+"^{tree}"))
	}
	workspacetest.MustWork(t, f, "pawl/"+runName+"-r2", f.Base, "lib/a.txt", "another run\n")
	workspacetest.MustWork(t, f, "pawl/"+runName+"-more", f.Base, "lib/a.txt", "another task\n")
	return r, f, w, made
}

// refs are the refs of ours, without what names begin with.
func (r *repository) ours(t *testing.T) []string {
	t.Helper()
	return strings.Fields(r.git(t, "for-each-ref", "--format=%(refname)", "refs/heads/pawl", "refs/pawl"))
}

func names(refs []gitworktree.Ref) (out []string) {
	for _, r := range refs {
		out = append(out, r.Name)
	}
	return out
}

// What a run has goes, what it would lose is kept, and nothing else is touched. F-31
func TestRemoveRun(t *testing.T) {
	r, f, w, made := worked(t)
	workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new/file", "not committed\n")
	r.git(t, "branch", "mine", string(childHead(f, 2))) // the user has it too
	before := r.users(t)
	gone, err := w.Remove(t.Context(), runName, made, false)
	if err != nil {
		t.Fatal(err)
	}
	if after := r.users(t); after != before {
		t.Errorf("the user's checkout changed:\n%s", cmp.Diff(before, after))
	}
	const kept = "refs/pawl/salvage/" + runName
	wantLeft := []string{"refs/heads/pawl/" + runName + "-more", "refs/heads/pawl/" + runName + "-r2",
		"refs/pawl/checkpoints/" + runName + "-r2/1", kept + "/9-reset", kept + "/attempts", kept + "/attempts--2-task-002", kept + "/branch--1-task-001",
		kept + "/checkpoints-loop-2-7", kept + "/worktree"}
	if d := cmp.Diff(wantLeft, r.ours(t)); d != "" {
		t.Errorf("refs (-want +got):\n%s", d)
	}
	if d := cmp.Diff(wantLeft[3:], names(gone.Salvage)); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
	if got := r.git(t, "show", kept+"/worktree:new/file"); got != "not committed" {
		t.Errorf("the worktree's work is %q", got)
	}
	if got := f.Resolve(t, kept+"/branch--1-task-001"); got != childHead(f, 1) {
		t.Errorf("the branch's commit is %s", got)
	}
	if got := r.git(t, "log", "-1", "--format=%s", kept+"/attempts"); got != "An attempt" {
		t.Errorf("the attempt is %q", got)
	}
	if len(gone.Branches) != 3 || len(gone.Refs) != 4 || !slices.Contains(gone.Worktrees, runName) {
		t.Errorf("it says %+v", gone)
	}
	for _, folder := range []string{"worktrees", "layered", "engine/worktrees", "git/worktrees"} {
		left, err := filepath.Glob(filepath.Join(r.state, folder, runName))
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}

	again, err := w.Remove(t.Context(), runName, made, false)
	if err != nil || len(again.Branches)+len(again.Refs)+len(again.Worktrees) != 0 || len(again.Salvage) != 6 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if err := w.Erase(t.Context(), runName); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantLeft[:3], r.ours(t)); d != "" {
		t.Errorf("after erasing (-want +got):\n%s", d)
	}
	if err := w.Erase(t.Context(), runName); err != nil {
		t.Errorf("erasing again: %v", err)
	}
}

// Refs that the user's git has packed go as well.
func TestRemovePackedRefs(t *testing.T) {
	r, _, w, made := worked(t)
	r.git(t, "pack-refs", "--all", "--prune")
	lock(filepath.Join(r.root, ".git", "packed-refs")) // of a git that was killed before this process began
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(r.root, ".git", "packed-refs.lock"), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Remove(t.Context(), runName, made, false); err != nil {
		t.Fatal(err)
	}
	if left := r.ours(t); len(left) != 9 {
		t.Errorf("left: %v", left)
	}
}

// A branch that the user has checked out stays, and everything else with it. F-31
func TestRemoveCheckedOut(t *testing.T) {
	r, _, w, made := worked(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for where, command := range map[string]string{r.root: "checkout -q " + runBranch, elsewhere: "worktree add -q " + elsewhere + " " + runBranch} {
		r.git(t, strings.Fields(command)...)
		before := r.ours(t)
		for _, force := range []bool{false, true} {
			_, err := w.Remove(t.Context(), runName, made, force)
			if pawl.CodeOf(err) != pawl.CodeState || !strings.Contains(err.Error(), "branch "+runBranch+" of run "+runName+" is checked out in "+where) {
				t.Errorf("%s: %v", where, err)
			}
		}
		if d := cmp.Diff(before, r.ours(t)); d != "" {
			t.Errorf("%s: refs (-want +got):\n%s", where, d)
		}
		r.git(t, "checkout", "-q", "main")
		if where == elsewhere {
			r.git(t, "worktree", "remove", elsewhere)
		}
	}
}

// Commits that a run did not make are not lost without a word. F-31
func TestRemoveForeign(t *testing.T) {
	r, f, w, made := worked(t)
	child := "pawl/" + childName(1)
	r.git(t, "update-ref", "refs/heads/"+child, r.git(t, "commit-tree", "-m", "Mine, on top", "-p", child, child+"^{tree}"))
	mine := f.Resolve(t, "refs/heads/"+child)
	before := r.ours(t)
	_, err := w.Remove(t.Context(), runName, made, false)
	want := fmt.Sprintf("the branches of run %s have a commit that it did not make and that is nowhere else: %.10s \"Mine, on top\"", runName, mine)
	if pawl.CodeOf(err) != pawl.CodeState || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if d := cmp.Diff(before, r.ours(t)); d != "" {
		t.Errorf("refs (-want +got):\n%s", d)
	}
	// A run whose log is damaged knows its commits by what they say.
	found, err := w.Look(t.Context(), runName, gitworktree.Made{Partial: true}, true)
	if err != nil || len(found.Foreign) != 1 || found.Foreign[0].Commit != mine {
		t.Errorf("by what they say: %+v, %v", found.Foreign, err)
	}
	found, err = w.Look(t.Context(), runName, gitworktree.Made{}, true)
	if err != nil || len(found.Foreign) != 3 {
		t.Errorf("of a run that made none: %+v, %v", found.Foreign, err)
	}
	// What another branch, a tag or a remote has is not lost.
	for _, ref := range []string{"refs/heads/mine", "refs/tags/mine", "refs/remotes/origin/mine", "refs/heads/pawl/" + runName + "-r2"} {
		old := f.Resolve(t, ref)
		r.git(t, "update-ref", ref, string(mine))
		if found, err := w.Look(t.Context(), runName, made, false); err != nil || len(found.Foreign) != 0 {
			t.Errorf("%s has it: %+v, %v", ref, found.Foreign, err)
		}
		if old == "" {
			r.git(t, "update-ref", "-d", ref)
		} else {
			r.git(t, "update-ref", ref, string(old))
		}
	}
	gone, err := w.Remove(t.Context(), runName, made, true)
	if err != nil || len(gone.Foreign) != 1 {
		t.Fatalf("by force: %+v, %v", gone.Foreign, err)
	}
	if got := f.Resolve(t, "refs/pawl/salvage/"+runName+"/branch--1-task-001"); got != mine {
		t.Errorf("it is kept as %s, want %s", got, mine)
	}
}

// A branch that moves in the very moment stays.
func TestRemoveMovedBranch(t *testing.T) {
	r, _, _, made := worked(t)
	other := r.git(t, "commit-tree", "-m", "Mine", "-p", runBranch, runBranch+"^{tree}")
	moved := false
	w := r.watch(t, func(moves bool) {
		if moves && !moved {
			moved = true
			r.git(t, "update-ref", "refs/heads/"+runBranch, other)
		}
	}).(*gitworktree.Workspaces)
	_, err := w.Remove(t.Context(), runName, made, false)
	if pawl.CodeOf(err) != pawl.CodeConflict || r.git(t, "rev-parse", runBranch) != other {
		t.Errorf("%v; it is at %s", err, r.git(t, "rev-parse", runBranch))
	}
}

// What there is of runs is found by name, and what is moved aside by the worktree's.
func TestRemains(t *testing.T) {
	r, f, w, _ := worked(t)
	const loop = runName + "-1795290788201-8be2"
	workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: loop, Branch: pawl.AttemptsFolder + childName(7), Base: f.Base})
	r.git(t, "branch", "pawl/notes")
	r.git(t, "update-ref", "refs/pawl/salvage/unknown/x", "main")
	for _, name := range []string{runName + "-123", loop + "-456", runName + "-r2-789", "notes"} {
		workspacetest.MustWrite(t, filepath.Join(r.state, "quarantine", name), "file", strings.Repeat("x", 10_000))
	}
	all, err := w.Remains(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of := all[runName]
	if len(all) != 3 || len(of.Branches) != 3 || len(of.Refs) != 5 || len(of.Salvage) != 1 {
		t.Errorf("%+v", of)
	}
	if !slices.Contains(of.Worktrees, loop) || !slices.Contains(of.Worktrees, runName) || slices.Contains(of.Worktrees, runName+"-r2") {
		t.Errorf("worktrees %v", of.Worktrees)
	}
	files := 1000
	size, partial, err := w.MeasureAside(t.Context(), runName, &files)
	if err != nil || partial || size < 20_000 || size > 80_000 {
		t.Errorf("aside: %d bytes, %v", size, err)
	}
	if size, _ := w.MeasureWorktree(t.Context(), loop, &files); size == 0 {
		t.Error("a worktree takes nothing")
	}
	if err := w.Erase(t.Context(), runName); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(r.state, "quarantine", "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left in quarantine: %v, %v", left, err)
	}
	// One whose note is lost is known by its name.
	if err := os.Remove(filepath.Join(r.state, "engine", "worktrees", loop, "worktree.json")); err != nil {
		t.Fatal(err)
	}
	if all, err = w.Remains(t.Context()); err != nil || !slices.Contains(all[runName].Worktrees, loop) {
		t.Errorf("%+v, %v", all[runName], err)
	}
}
