package gitworktree_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// joinedVariable makes this program's worktrees joined ones, where that is possible.
const joinedVariable = "PAWL_TEST_JOINED"

// What holds of worktrees that are folders holds of those that are joined from layers.
func TestJoined(t *testing.T) {
	if os.Getenv(joinedVariable) != "" {
		t.Skip("all worktrees are joined already")
	}
	t.Parallel()
	tests := []string{"TestWorkspaces", "TestCrashes", "TestLeftOut", "TestCloseKeepsWhatIsLeftOut", "TestNestedRepositories", "TestLayers"}
	if !testing.Short() {
		tests = append(tests, "TestDotGitIsPutRight", "TestChangesByHand", "TestShow", "TestFilesThatAreNone", "TestSubmodules")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^("+strings.Join(tests, "|")+")$")
	if testing.Short() {
		cmd.Args = append(cmd.Args, "-test.short")
	}
	cmd.Env = append(os.Environ(), joinedVariable+"=1")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "layers cannot be joined here") {
		t.Skip("layers cannot be joined here")
	}
	if err == nil {
		return
	}
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "--- PASS") && !strings.HasPrefix(line, "=== ") {
			t.Log(strings.TrimRight(line, "\n"))
		}
	}
	t.Errorf("with joined worktrees: %v", err)
}

// Worktrees of a commit and of its descendants share its files, see nothing of each
// other, and what is below them never changes.
func TestLayers(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{".gitignore": "build/\n", "README": "A project.\n", "lib/a.txt": "one\n", "lib/b.txt": "two\n"})
	if !r.joined {
		t.Skip("TestJoined runs this")
	}
	f := r.fixture(t)
	open := func(name string, base pawl.CommitHash) workspacetest.Opened {
		t.Helper()
		return workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: name, Branch: "pawl/" + name, Base: base})
	}
	first := open("001-a", f.Base)
	next := workspacetest.MustWork(t, f, "pawl/002-b", f.Base, "lib/a.txt", "changed\n", "new", "new\n").Commit
	third := open("003-c", next)
	trees := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(r.state, "trees", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := trees(); len(got) != 1 {
		t.Fatalf("the trees are %q, want that of the base alone", got)
	}
	lower := filepath.Join(trees()[0], "lower", "files")
	below := contents(t, lower)

	workspacetest.MustWrite(t, first.Dir, "README", "of a\n")
	workspacetest.MustRemove(t, first.Dir, "lib")
	workspacetest.MustWrite(t, first.Dir, "build/out", "ignored\n")
	if diff := cmp.Diff(map[string]string{
		".gitignore": "build/\n", "README": "A project.\n", "lib/a.txt": "changed\n", "lib/b.txt": "two\n", "new": "new\n",
	}, workspacetest.Files(t, third.Dir)); diff != "" {
		t.Errorf("the other worktree differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(below, contents(t, lower)); diff != "" {
		t.Errorf("what is below has changed (-want +got):\n%s", diff)
	}

	// Whoever holds the layers dies: another one does, and nothing is lost.
	r.died(t)
	if diff := cmp.Diff(map[string]string{".gitignore": "build/\n", "README": "of a\n", "build/out": "ignored\n"},
		workspacetest.Files(t, workspacetest.MustLocate(t, f, "001-a"))); diff != "" {
		t.Errorf("joined again (-want +got):\n%s", diff)
	}

	// Trees that nothing is above go, but for the latest.
	for n := range 4 {
		base := pawl.CommitHash(r.git(t, "commit-tree", "-m", fmt.Sprint(n), string(f.Base)+"^{tree}"))
		name := fmt.Sprintf("%03d-x", 100+n)
		open(name, base)
		workspacetest.MustClose(t, f, name, fmt.Sprintf("refs/pawl/salvage/%s/1", name))
	}
	if got := len(trees()); got != 5 {
		t.Errorf("there are %d trees, want 5", got)
	}
	if err := f.Workspaces.(*gitworktree.Workspaces).Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if got := len(trees()); got != 3 {
		t.Errorf("there are %d trees, want that of the worktrees and the two used last", got)
	}
	if _, err := os.Stat(lower); err != nil {
		t.Errorf("the tree of open worktrees is gone: %v", err)
	}

	for _, name := range []string{"001-a", "003-c"} {
		if _, err := f.Close(ctx, name, "refs/pawl/salvage/"+name+"/1"); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(r.state, "layered")); err != nil || len(left) != 1 { // that of MustWork
		t.Errorf("left are %v, %v", left, err)
	}
}

// A worktree whose layers cannot be joined any more says so and is left as it is.
func TestLayersWithoutOverlayfs(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	r.joined = true
	f := r.fixture(t)
	opened := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	workspacetest.MustWrite(t, opened.Dir, "new", "new\n")
	r.died(t)

	r.rooms = room.New(room.Options{State: r.state, Enforcer: sandbox.Unconfined()})
	_, err := f.Tree(context.Background(), runName)
	wantCode(t, err, pawl.CodeUnavailable, "overlayfs does not work here")
	_, err = f.Close(context.Background(), runName, runSalvage)
	wantCode(t, err, pawl.CodeUnavailable, "overlayfs does not work here")

	r.rooms = nil
	w := r.open(t, nil)
	if got := workspacetest.Files(t, workspacetest.MustLocate(t, w, runName)); got["new"] != "new\n" {
		t.Errorf("with overlayfs again, the files are %v", got)
	}
}
