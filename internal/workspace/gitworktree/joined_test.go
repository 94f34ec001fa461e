package gitworktree_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/testsize"
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
	tests := []string{"TestCrashes"} // which runs the cases of this turn
	for i, name := range []string{
		"TestLayers", "TestFurnish", "TestCloseKeepsWhatIsLeftOut", "TestWorkspaces", "TestNestedRepositories", "TestLeftOut",
		"TestDotGitIsPutRight", "TestChangesByHand", "TestShow", "TestFilesThatAreNone", "TestSubmodules",
	} {
		if testsize.Case(i, 5) {
			tests = append(tests, name)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^("+strings.Join(tests, "|")+")$")
	if testing.Short() {
		cmd.Args = append(cmd.Args, "-test.short", "-test.skip=^TestWorkspaces$/^sha1$/^(Content|Commit|Checkout|Paths|Merge|Advance|Publish|Changes|Compose|Rivals)$|^TestCrashes$/^[^orc]")
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

	// The holder of the layers dies: another takes its place, and nothing is lost.
	r.died(t)
	if diff := cmp.Diff(map[string]string{".gitignore": "build/\n", "README": "of a\n", "build/out": "ignored\n"},
		workspacetest.Files(t, workspacetest.MustLocate(t, f, "001-a"))); diff != "" {
		t.Errorf("joined again (-want +got):\n%s", diff)
	}

	// Trees that no worktree uses are removed, but for the latest.
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

// What is below a worktree is not its work, when a process died before it made a note of
// the worktree either: another commit's files may be below.
func TestLayersAreNoWork(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n", ".pawl/tasks/000-before/report.md": "Done.\n"})
	r.joined = true
	f := r.fixture(t)
	workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: "001-a", Branch: "pawl/001-a", Base: f.Base})
	next := workspacetest.MustWork(t, f, "pawl/002-b", f.Base, "README", "Changed.\n", "new", "new\n")
	spec := pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: next.Commit}
	r.git(t, "branch", runBranch, string(next.Commit))
	workspacetest.MustWrite(t, r.state, "layered/"+runName+"/lower", string(f.Base)+"\n")
	opened := workspacetest.MustOpen(t, f, spec)
	if opened.Tree != next.Tree {
		t.Errorf("the tree is %s, want %s", opened.Tree, next.Tree)
	}
	if got := workspacetest.Files(t, opened.Dir); got["new"] != "new\n" || got["README"] != "Changed.\n" || got[".pawl/tasks/000-before/report.md"] == "" {
		t.Errorf("the files are %v", got)
	}

	// The note may be lost later: then there is work, which is kept.
	workspacetest.MustWrite(t, opened.Dir, "mine", "mine\n")
	workspacetest.MustRemove(t, r.state, "engine/worktrees/"+runName+"/worktree.json")
	if got := workspacetest.Files(t, workspacetest.MustOpen(t, f, spec).Dir); got["mine"] != "mine\n" || got["new"] != "new\n" {
		t.Errorf("without the note, the files are %v", got)
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

// A recording during which the holder of the layers dies has the files all the same:
// nested repositories as files, and nothing of .pawl/tasks.
func TestHolderDiesDuringRecording(t *testing.T) {
	for _, word := range []string{"ls-files", "add", "write-tree"} {
		for _, lost := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%t", word, lost), func(t *testing.T) {
				r := newRepository(t, map[string]string{"README": "A project.\n"})
				r.joined = true
				m := &mortalTrees{Trees: r.trees(t)(), lost: lost}
				w, err := gitworktree.New(t.Context(), gitworktree.Options{Repository: r.mustInspect(t), State: r.state, Trees: func() pawl.Trees { return m }})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Open(t.Context(), pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: r.base(t)}); err != nil {
					t.Fatal(err)
				}
				dir := workspacetest.MustLocate(t, w, runName)
				for _, name := range []string{"nested/file", "nested/.git/objects/none", "nested/.git/refs/none", ".pawl/tasks/001-a/state.json"} {
					workspacetest.MustWrite(t, dir, name, "x\n")
				}
				workspacetest.MustWrite(t, dir, "nested/.git/HEAD", "ref: refs/heads/main\n")
				m.word.Store(&word)
				recorded, err := w.Tree(t.Context(), runName)
				if err != nil {
					t.Fatal(err)
				}
				if m.word.Load() != nil {
					t.Fatalf("the recording does not call git %s", word)
				}
				if got, want := r.git(t, "ls-tree", "-r", "--name-only", string(recorded.Tree)), "README\nnested/file"; got != want {
					t.Errorf("recorded are %q, want %q", got, want)
				}
			})
		}
	}
}

// mortalTrees are trees whose holder is killed once, just before it is to run git with a
// word among its arguments.
type mortalTrees struct {
	pawl.Trees
	word atomic.Pointer[string]
	lost bool // that git is lost with it; otherwise another holder runs it
}

func (m *mortalTrees) Join(ctx context.Context, dir, lower string, prepared pawl.PreparedFor) (pawl.Joined, error) {
	j, err := m.Trees.Join(ctx, dir, lower, prepared)
	return mortalJoined{j, m}, err
}

type mortalJoined struct {
	pawl.Joined
	trees *mortalTrees
}

func (j mortalJoined) Run(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error {
	word := j.trees.word.Load()
	if word == nil || !slices.Contains(cmd.Args, *word) || !j.trees.word.CompareAndSwap(word, nil) {
		return j.Joined.Run(ctx, cmd, grace)
	}
	at, err := j.Reach()
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.Split(at, "/")[2]) // of /proc/PID/root
	if err != nil {
		return err
	}
	holder, err := os.FindProcess(pid)
	if err == nil {
		err = holder.Kill()
	}
	if err != nil {
		return err
	}
	if j.trees.lost {
		return pawl.Errorf(pawl.CodeUnavailable, "the process that holds the room ended")
	}
	return j.Joined.Run(ctx, cmd, grace)
}

// A plain worktree may have folders with the names that a joined one has beside its files.
func TestPlainFoldersWithNamesOfJoinedOnes(t *testing.T) {
	files := map[string]string{"upper/aside/file": "kept\n", "lower": "a file\n"}
	r := newRepository(t, files)
	s := r.open(t, nil)
	opened := workspacetest.MustOpen(t, s, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: r.base(t)})
	workspacetest.MustWrite(t, opened.Dir, "upper/aside/more", "more\n")
	if saved := workspacetest.MustClose(t, s, runName, "refs/pawl/salvage/"+runName); saved == "" {
		t.Error("what was not committed is not saved")
	}
	if kept, err := filepath.Glob(filepath.Join(r.state, "quarantine", "*")); err != nil || len(kept) > 0 {
		t.Errorf("moved out of the worktree: %q, %v", kept, err)
	}
}
