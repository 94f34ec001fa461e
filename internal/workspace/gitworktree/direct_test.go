package gitworktree_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// next is the commit of the run's worktree on a parent.
func next(base, parent pawl.CommitHash, id string) pawl.CommitSpec {
	return pawl.CommitSpec{
		Name: runName, Branch: runBranch, Parent: parent, Base: base, Message: "Work " + id, ID: id, Time: time.Unix(1_780_000_000, 0),
	}
}

// What a user's git gc removes between two recordings is stored again, also what is only in
// .pawl/tasks and what a git process that stays could still read.
func TestPrunedBetweenRecordings(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{"README": "A project.\n", "lib/a.txt": "one\n"})
	f := r.fixture(t)
	dir := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir
	f.Workspaces.(*gitworktree.Workspaces).SetPatience(time.Millisecond)
	workspacetest.MustWrite(t, dir, ".pawl/tasks/001/plan.md", "plan\n")
	tree := workspacetest.MustTree(t, f, runName)
	lock := filepath.Join(r.root, ".git", "refs", "heads", runBranch+".lock")
	holder, err := os.Create(lock) // of a living process
	if err != nil {
		t.Fatal(err)
	}
	if info, err := f.Commit(t.Context(), next(f.Base, f.Base, "1")); err == nil {
		t.Fatalf("the branch moved to %s in spite of its lock", info.Commit)
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	workspacetest.MustRemove(t, filepath.Dir(lock), filepath.Base(lock))
	r.git(t, "gc", "-q", "--prune=now")
	info := workspacetest.MustCommit(t, f, next(f.Base, f.Base, "1"))
	if info.Tree != tree {
		t.Errorf("the tree is %s, want %s", info.Tree, tree)
	}
	r.git(t, "fsck", "--strict", "--no-dangling")

	// Objects that nothing refers to are packed before they are removed.
	workspacetest.MustWrite(t, dir, "new/file", "newer\n")
	tree = workspacetest.MustTree(t, f, runName)
	r.git(t, "repack", "-q", "-a", "-d", "--keep-unreachable")
	if again := workspacetest.MustTree(t, f, runName); again != tree {
		t.Errorf("the tree is %s, want %s", again, tree)
	}
	r.git(t, "gc", "-q", "--prune=now")
	if again := workspacetest.MustTree(t, f, runName); again != tree {
		t.Errorf("the tree is %s, want %s", again, tree)
	}
	workspacetest.MustCommit(t, f, next(f.Base, info.Commit, "2"))
	r.git(t, "fsck", "--strict", "--no-dangling")
}

// What was recorded before a pattern excluded it stays recorded in the next process, and what was
// removed does not come back.
func TestIgnoredAfterwards(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{"README": "A project.\n", "old.o": "old\n"})
	f := r.fixture(t)
	dir := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir
	workspacetest.MustWrite(t, dir, "new.o", "new\n")
	workspacetest.MustRemove(t, dir, "old.o")
	workspacetest.MustTree(t, f, runName)
	workspacetest.MustWrite(t, dir, ".gitignore", "*.o\n")
	workspacetest.MustTree(t, f, runName)
	workspacetest.MustWrite(t, dir, "old.o", "ignored now\n")
	tree := workspacetest.MustTree(t, f, runName)
	f.Workspaces = f.Restart(t)
	if again := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Tree; again != tree {
		t.Errorf("the next process records %s, want %s", again, tree)
	}
	if files := r.git(t, "ls-tree", "--name-only", string(tree)); files != ".gitignore\nREADME\nnew.o" {
		t.Errorf("the tree has\n%s", files)
	}
}

// What git does to the index between two recordings counts: a file that a pattern names is
// tracked again after a reset.
func TestRecordingAfterReset(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{".gitignore": "*.o\n", "kept.o": "kept\n"})
	f := r.fixture(t)
	opened := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	workspacetest.MustRemove(t, opened.Dir, "kept.o")
	if tree := workspacetest.MustTree(t, f, runName); tree == opened.Tree {
		t.Error("the file is not gone")
	}
	workspacetest.MustReset(t, f, runName, f.Base, runSalvage)
	if tree := workspacetest.MustTree(t, f, runName); tree != opened.Tree {
		t.Errorf("the tree is %s, want %s", tree, opened.Tree)
	}
}

// What was prepared is left out where nothing else is excluded.
func TestOnlyPreparedIsExcluded(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	r.joined = false
	r.rooms = room.New(room.Options{State: r.state, Enforcer: sandbox.Unconfined()})
	f := r.fixture(t)
	opened := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	if err := f.Furnish(t.Context(), runName, r.mustPrepare(t, "1", map[string]string{".venv/bin/x": "x\n"}, ".venv")); err != nil {
		t.Fatal(err)
	}
	workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), ".venv/lib/y", "y\n")
	if tree := workspacetest.MustTree(t, f, runName); tree != opened.Tree {
		t.Errorf("the tree has\n%s", r.git(t, "ls-tree", "-r", string(tree)))
	}
}
