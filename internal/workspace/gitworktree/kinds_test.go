package gitworktree_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

var _ pawl.Workspaces = (*gitworktree.Workspaces)(nil)

// Runs work in every kind of repository a user may have.
func TestKindsOfRepository(t *testing.T) {
	files := map[string]string{"README": "A project.\n", "lib/a.txt": "one\n", ".gitignore": "build/\n"}
	for n, kind := range []struct {
		name string
		// turn makes the repository one of the kind.
		turn func(t *testing.T, r *repository)
	}{
		{"bare", func(t *testing.T, r *repository) {
			bare := filepath.Join(filepath.Dir(r.root), "bare.git")
			r.git(t, "clone", "-q", "--bare", r.root, bare)
			r.root = bare
		}},
		{"linked worktree", func(t *testing.T, r *repository) {
			linked := filepath.Join(filepath.Dir(r.root), "linked")
			r.git(t, "worktree", "add", "-q", "-b", "side", linked)
			r.root = linked
		}},
		{"SHA-256", func(t *testing.T, r *repository) { *r = *newRepository(t, files, "--object-format=sha256") }},
		{"shallow", func(t *testing.T, r *repository) {
			for _, message := range []string{"Second", "Third"} {
				r.git(t, "commit", "-q", "--allow-empty", "-m", message)
			}
			shallow := filepath.Join(filepath.Dir(r.root), "shallow")
			r.git(t, "clone", "-q", "--depth=1", "file://"+r.root, shallow)
			r.root = shallow
		}},
		{"borrowing objects", func(t *testing.T, r *repository) {
			borrower := filepath.Join(filepath.Dir(r.root), "borrower")
			r.git(t, "clone", "-q", "--shared", r.root, borrower)
			r.root = borrower
		}},
		{"sparse", func(t *testing.T, r *repository) { r.git(t, "sparse-checkout", "set", "lib") }},
		{"detached", func(t *testing.T, r *repository) { r.git(t, "switch", "-q", "--detach") }},
		{"dirty", func(t *testing.T, r *repository) {
			workspacetest.MustWrite(t, r.root, "README", "Changed.\n")
			workspacetest.MustWrite(t, r.root, "new", "new\n")
			r.git(t, "add", "new")
		}},
		{"packed refs", func(t *testing.T, r *repository) { r.git(t, "pack-refs", "--all") }},
		{"in a folder with a strange name", func(t *testing.T, r *repository) {
			strange := filepath.Join(filepath.Dir(r.root), "a strange *[name]?")
			if err := os.Rename(r.root, strange); err != nil {
				t.Fatal(err)
			}
			r.root = strange
		}},
		{"with the state in the repository", func(t *testing.T, r *repository) {
			r.state = filepath.Join(r.root, ".git", "..", "state")
			workspacetest.MustWrite(t, r.root, ".git/info/exclude", "state/\nbuild2/\n")
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			sample(t, n)
			r := newRepository(t, files)
			kind.turn(t, r)
			r.odd = true
			f := r.fixture(t)
			status := r.git(t, "for-each-ref", "refs/heads/main", "refs/heads/side", "refs/remotes")
			state := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
			if got := r.git(t, "rev-parse", string(f.Base)+"^{tree}"); got != string(state.Tree) {
				t.Errorf("tree is %s, want that of the base, %s", state.Tree, got)
			}
			workspacetest.MustWrite(t, state.Dir, "lib/a.txt", "changed\n")
			answer, err := commitRun("7")(context.Background(), f, f)
			if err != nil {
				t.Fatal(err)
			}
			info := answer.(pawl.CommitInfo)
			if !slices.Equal(info.Files, []string{"lib/a.txt"}) || r.resolve(t, "refs/heads/"+runBranch) != info.Commit {
				t.Errorf("info is %+v", info)
			}
			dir, release, err := f.Checkout(context.Background(), info.Commit)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			for _, folder := range []string{dir, state.Dir} {
				if got := r.gitIn(t, folder, "status", "--short", "--branch"); got != "## HEAD (no branch)" {
					t.Errorf("git status in %s says %q", folder, got)
				}
				r.wantShown(t, f.Workspaces.(*gitworktree.Workspaces), folder, string(info.Commit)) // F-11
				if got := r.gitIn(t, folder, "log", "-1", "--format=%s%n%an <%ae>%n%(trailers)"); got != "Work\nPawl <pawl@localhost>\nPawl-Effect: 7\n" {
					t.Errorf("git log in %s says %q", folder, got)
				}
			}
			back := mustRestore(t, f, restoring(info.Commit, f.Base))
			recorded := mustRecord(t, f, recording(back.Commit, "plan.md", "The plan.\n"))
			if got := mustShow(t, f, runName, recorded, runSalvage); back.Tree != state.Tree || got.Tree != state.Tree || got.Salvage != "" {
				t.Errorf("restored, the tree is %s, shown %+v, want %s", back.Tree, got, state.Tree)
			}
			workspacetest.MustReset(t, f, runName, recorded, runSalvage)
			workspacetest.MustWrite(t, state.Dir, "lib/a.txt", "changed again\n")
			workspacetest.MustReset(t, f, runName, f.Base, runSalvage)
			if got := r.git(t, "show", runSalvage+":lib/a.txt"); got != "changed again" {
				t.Errorf("the salvage has %q", got)
			}
			workspacetest.MustClose(t, f, runName, runSalvage+"b")
			r.git(t, "fsck", "--strict", "--no-dangling")
			if got := r.git(t, "for-each-ref", "refs/heads/main", "refs/heads/side", "refs/remotes"); got != status {
				t.Errorf("the user's refs are now\n%s\nand were\n%s", got, status)
			}
		})
	}
}

// The user's checkout stays as it is even when they look at a run's branch.
func TestBranchThatIsCheckedOut(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	f := r.fixture(t)
	workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	linked := filepath.Join(filepath.Dir(r.root), "linked")
	for _, look := range []struct {
		where    string
		on, away []string
	}{
		{r.root, []string{"switch", "-q", runBranch}, []string{"switch", "-q", "main"}},
		{linked, []string{"worktree", "add", "-q", linked, runBranch}, []string{"worktree", "remove", linked}},
	} {
		r.git(t, look.on...)
		_, err := commitRun("7")(ctx, f, f)
		if e, ok := err.(*pawl.Error); !ok || e.Code != pawl.CodeState || !strings.Contains(e.Message, look.where) || e.Hint == "" {
			t.Errorf("error is %v, want one that names %s", err, look.where)
		}
		if _, err := openRun(ctx, f, f); pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("opening gives %v, want the code state", err)
		}
		r.git(t, look.away...)
	}
	if _, err := commitRun("7")(ctx, f, f); err != nil {
		t.Error(err)
	}
}

// What people do to a repository by hand is seen before the next step.
func TestChangesByHand(t *testing.T) {
	ctx := context.Background()
	setup := func(t *testing.T) (*repository, workspacetest.Fixture, workspacetest.Opened) {
		r := newRepository(t, map[string]string{"README": "A project.\n", "lib/a.txt": "one\n"})
		f := r.fixture(t)
		state := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
		workspacetest.MustWrite(t, state.Dir, "new", "new\n")
		return r, f, state
	}
	wantHint := func(t *testing.T, err error, code pawl.Code, hint string) {
		t.Helper()
		if e, ok := err.(*pawl.Error); !ok || e.Code != code || !strings.Contains(e.Hint, hint) {
			t.Errorf("error is %#v, want the code %s and the hint %q", err, code, hint)
		}
	}

	t.Run("a deleted branch is an error that says how to get it back", func(t *testing.T) {
		r, f, _ := setup(t)
		answer, err := commitRun("7")(ctx, f, f)
		if err != nil {
			t.Fatal(err)
		}
		commit := string(answer.(pawl.CommitInfo).Commit)
		r.git(t, "branch", "-q", "-D", runBranch)
		_, err = openRun(ctx, f, f)
		wantHint(t, err, pawl.CodeConflict, "git branch "+runBranch+" "+commit)
		_, err = f.Reset(ctx, runName, f.Base, runSalvage)
		wantHint(t, err, pawl.CodeConflict, "git branch "+runBranch+" "+commit)
		_, err = commitRun("8")(ctx, f, f)
		wantHint(t, err, pawl.CodeConflict, "git branch "+runBranch)
		if saved := workspacetest.MustClose(t, f, runName, runSalvage); saved != runSalvage || r.resolve(t, saved) != pawl.CommitHash(commit) {
			t.Errorf("saved is %q, want the branch's last commit under %s", saved, runSalvage)
		}
	})

	t.Run("a branch that somebody moved is a conflict", func(t *testing.T) {
		r, f, _ := setup(t)
		theirs := r.git(t, "commit-tree", "-p", string(f.Base), "-m", "Theirs", "HEAD^{tree}")
		r.git(t, "update-ref", "refs/heads/"+runBranch, theirs)
		_, err := commitRun("7")(ctx, f, f)
		wantHint(t, err, pawl.CodeConflict, "git log")
		if !strings.Contains(err.Error(), theirs) || !strings.Contains(err.Error(), string(f.Base)) {
			t.Errorf("error is %v, want one that names both commits", err)
		}
		workspacetest.MustReset(t, f, runName, f.Base, runSalvage)
		if r.git(t, "rev-parse", runSalvage+"^") != theirs {
			t.Error("their commit is not kept")
		}
	})

	t.Run("a git gc that drops recorded objects is survived", func(t *testing.T) {
		r, f, state := setup(t)
		workspacetest.MustTree(t, f, runName)
		r.git(t, "gc", "-q", "--prune=now")
		answer, err := commitRun("7")(ctx, f, f)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.git(t, "show", string(answer.(pawl.CommitInfo).Commit)+":new"); got != "new" {
			t.Errorf("the commit has %q", got)
		}
		r.git(t, "fsck", "--strict", "--no-dangling")
		workspacetest.MustWrite(t, state.Dir, "newer", "newer\n")
		workspacetest.MustTree(t, f, runName)
	})

	t.Run("a damaged index is made again", func(t *testing.T) {
		r, f, _ := setup(t)
		want := workspacetest.MustTree(t, f, runName)
		index := filepath.Join(r.state, "engine", "worktrees", runName, "index")
		for _, damage := range []string{"", "DIRC and nonsense"} {
			if err := os.WriteFile(index, []byte(damage), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := workspacetest.MustTree(t, f, runName); got != want {
				t.Errorf("tree is %s, want %s", got, want)
			}
		}
		if err := os.WriteFile(index, []byte("nonsense"), 0o644); err != nil {
			t.Fatal(err)
		}
		workspacetest.MustReset(t, f, runName, f.Base, runSalvage)
	})

	t.Run("a worktree whose note is lost keeps its files", func(t *testing.T) {
		r, f, state := setup(t)
		want := workspacetest.MustTree(t, f, runName)
		workspacetest.MustRemove(t, r.state, "engine/worktrees")
		workspacetest.MustRemove(t, r.state, "git")
		if _, err := f.Close(ctx, runName, runSalvage); err == nil {
			t.Error("an unknown folder was deleted")
		}
		again := workspacetest.MustOpen(t, r.open(t, nil), pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
		if again.Tree != want || again.Dir != state.Dir {
			t.Errorf("state is %+v, want the tree %s", again, want)
		}
		if got := r.gitIn(t, state.Dir, "status", "--short"); got != "A  new" {
			t.Errorf("git status says %q", got)
		}
	})

	t.Run("a note that cannot be read is said to be so", func(t *testing.T) {
		r, f, _ := setup(t)
		workspacetest.MustWrite(t, r.state, "engine/worktrees/"+runName+"/worktree.json", "{")
		_, err := f.Tree(ctx, runName)
		wantHint(t, err, pawl.CodeDamaged, "remove the file")
	})

	t.Run("a symbolic link in the worktree's place is refused", func(t *testing.T) {
		r, f, state := setup(t)
		users := r.users(t)
		if r.joined {
			state.Dir = filepath.Join(r.state, "worktrees", runName)
			workspacetest.MustRemove(t, filepath.Join(r.state, "layered", runName), "")
			if err := os.MkdirAll(filepath.Dir(state.Dir), 0o700); err != nil {
				t.Fatal(err)
			}
		} else {
			workspacetest.MustRemove(t, state.Dir, "")
		}
		if err := os.Symlink(r.root, state.Dir); err != nil {
			t.Fatal(err)
		}
		_, err := f.Reset(ctx, runName, f.Base, runSalvage)
		wantHint(t, err, pawl.CodeState, "move it away")
		_, err = openRun(ctx, f, f)
		wantHint(t, err, pawl.CodeState, "move it away")
		_, err = f.Close(ctx, runName, runSalvage)
		wantHint(t, err, pawl.CodeState, "move it away")
		if r.users(t) != users {
			t.Error("the user's files were changed through the link")
		}
	})

	t.Run("a branch called pawl is in the way", func(t *testing.T) {
		r := newRepository(t, map[string]string{"README": "A project.\n"})
		r.git(t, "branch", "pawl")
		f := r.fixture(t)
		_, err := openRun(ctx, f, f)
		wantHint(t, err, pawl.CodeState, "git branch -m pawl")
	})
}

// An agent may leave folders that cannot be written or even read.
func TestUnwritableFolders(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	r := newRepository(t, map[string]string{"README": "A project.\n", "lib/a.txt": "one\n"})
	f := r.fixture(t)
	state := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	shut := func() {
		workspacetest.MustWrite(t, state.Dir, "lib/a.txt", "changed\n")
		workspacetest.MustWrite(t, state.Dir, "cache/deep/x", "x\n")
		workspacetest.MustWrite(t, state.Dir, "closed/x", "precious\n")
		workspacetest.MustWrite(t, state.Dir, "secret", "precious\n")
		for path, mode := range map[string]os.FileMode{"lib": 0o555, "cache/deep": 0o555, "cache": 0o555, "closed": 0, "secret": 0} {
			if err := os.Chmod(filepath.Join(state.Dir, path), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	shut()
	if reset := workspacetest.MustReset(t, f, runName, f.Base, runSalvage); reset.Tree != state.Tree {
		t.Errorf("tree is %s, want %s", reset.Tree, state.Tree)
	}
	shut()
	workspacetest.MustClose(t, f, runName, runSalvage+"b")
	for _, salvage := range []string{runSalvage, runSalvage + "b"} {
		for _, path := range []string{"closed/x", "secret"} {
			if got := r.git(t, "show", salvage+":"+path); got != "precious" {
				t.Errorf("%s has %q as %s", salvage, got, path)
			}
		}
	}
	if _, err := os.Lstat(state.Dir); !os.IsNotExist(err) {
		t.Errorf("the worktree is still there: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(r.state, "trash")); len(left) > 0 {
		t.Errorf("the trash holds %v", left)
	}
}

// V-12: the next task's number is above every branch's and every task folder's.
func TestNumbers(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	w := r.open(t, nil)
	numbers := func(want int) {
		t.Helper()
		got, err := w.Numbers(ctx)
		if err != nil || got != want {
			t.Errorf("the highest number is %d, %v; want %d", got, err, want)
		}
	}
	numbers(0)
	r.git(t, "branch", "pawl/007-a")
	r.git(t, "branch", "pawl/not-a-number")
	r.git(t, "branch", "feature/900-x")
	r.git(t, "branch", "pawl/009-b")
	r.git(t, "branch", "pawl/009-b-r2")
	r.git(t, "branch", "pawl/009-b--2-task-001") // of a child
	numbers(9)
	workspacetest.MustWrite(t, r.root, ".pawl/tasks/0012-x/report.md", "Done.\n")
	workspacetest.MustWrite(t, r.root, ".pawl/tasks/README", "About tasks.\n")
	numbers(9)
	r.git(t, "add", ".")
	r.git(t, "commit", "-q", "-m", "Report")
	numbers(12)
	r.git(t, "checkout", "-q", "--orphan", "empty")
	numbers(9) // there is no commit
}

// Git works in a clean checkout, and tools that look for a repository above it
// find it and no other.
func TestCheckoutIsARepository(t *testing.T) {
	ctx := context.Background()
	cache := mustGoCache(t) // before the repository changes HOME
	r := newRepository(t, map[string]string{
		"go.mod":       "module example.com/app\n\ngo 1.26\n",
		"main.go":      "package main\n\nfunc main() { println(answer()) }\n\nfunc answer() int { return 42 }\n",
		"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestAnswer(t *testing.T) {\n\tif answer() != 42 {\n\t\tt.Fail()\n\t}\n}\n",
	})
	// The state is in another repository, whose every setting is a trap.
	enclosing, trap := newRepository(t, map[string]string{"x": "x\n"}), newTrap(t)
	poison(t, trap, filepath.Join(enclosing.root, ".git"))
	if err := os.Remove(trap.marker); !os.IsNotExist(err) {
		t.Fatalf("a trap was sprung too early: %v", err)
	}
	r.state = filepath.Join(enclosing.root, "state")
	f := r.fixture(t)
	dir, release, err := f.Checkout(ctx, f.Base)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, args := range [][]string{
		{"go", "build", "-buildvcs=true", "-o", filepath.Join(t.TempDir(), "app"), "."},
		{"go", "test", "./..."},
		{"git", "diff", "--exit-code"},
		{"git", "describe", "--always", "--dirty"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "GOCACHE=" + cache, "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	trap.wantUnsprung(t, "in the checkout")
	if got := r.gitIn(t, dir, "rev-parse", "HEAD"); got != string(f.Base) {
		t.Errorf("HEAD is %s, want %s", got, f.Base)
	}
	want := []string{filepath.Join(r.state, "objects", string(f.Base))}
	if visible := f.Workspaces.(*gitworktree.Workspaces).Visible(dir); !slices.Equal(visible, want) {
		t.Errorf("visible is %q, want %q", visible, want)
	}
}

func mustGoCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// A lock file is removed if it is old and nobody has it open, and
// that is logged; otherwise it is waited for.
func TestLocks(t *testing.T) {
	ctx := context.Background()
	setup := func(t *testing.T) (*repository, *gitworktree.Workspaces, workspacetest.Fixture, []string) {
		r := newRepository(t, map[string]string{"README": "A project.\n"})
		r.byGit = true // which locks its index
		w := r.open(t, nil)
		f := r.fixture(t)
		f.Workspaces = w
		workspacetest.MustWrite(t, workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir, "new", "new\n")
		return r, w, f, []string{
			filepath.Join(r.state, "engine", "worktrees", runName, "index.lock"),
			filepath.Join(r.root, ".git", "refs", "heads", runBranch+".lock"),
		}
	}
	lock := func(t *testing.T, path string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("left by the dead are removed", func(t *testing.T) {
		r, _, f, locks := setup(t)
		for _, path := range locks {
			lock(t, path, time.Hour)
		}
		if _, err := commitRun("7")(ctx, f, f); err != nil {
			t.Fatal(err)
		}
		for _, path := range locks {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s is still there", path)
			}
			if !strings.Contains(r.log.String(), path) {
				t.Errorf("the log does not name %s:\n%s", path, r.log)
			}
		}
	})

	t.Run("left by the dead are removed at a start", func(t *testing.T) {
		r, _, f, locks := setup(t)
		if err := f.Mark(ctx, "refs/pawl/checkpoints/"+runName+"/1", f.Base); err != nil {
			t.Fatal(err)
		}
		main := filepath.Join(r.root, ".git", "refs", "heads", "main.lock") // the user's own
		locks = append(locks, filepath.Join(r.root, ".git", "refs", "pawl", "checkpoints", runName, "1.lock"))
		for _, path := range append(locks, main) {
			lock(t, path, time.Hour)
		}
		if err := r.open(t, nil).Recover(ctx); err != nil {
			t.Fatal(err)
		}
		for _, path := range locks {
			if _, err := os.Lstat(path); err == nil || !strings.Contains(r.log.String(), path) {
				t.Errorf("%s is still there, or the log does not name it:\n%s", path, r.log)
			}
		}
		if _, err := os.Lstat(main); err != nil {
			t.Error(err)
		}
		const old = 5 * time.Second // less than one that git holds for a moment may be
		lock(t, locks[1], old)
		if err := r.open(t, nil).Recover(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(locks[1]); err != nil {
			t.Errorf("a lock of %s ago: %v", old, err)
		}
	})

	t.Run("that are young are not touched", func(t *testing.T) {
		_, w, f, locks := setup(t)
		w.SetPatience(0)
		for _, path := range locks {
			lock(t, path, -time.Hour)
			if err := w.Recover(ctx); err != nil {
				t.Error(err)
			}
			_, err := commitRun("7")(ctx, f, f)
			if e, ok := err.(*pawl.Error); !ok || e.Code != pawl.CodeUnavailable || !strings.Contains(e.Message, path) {
				t.Errorf("error is %v, want one that names %s", err, path)
			}
			if err := os.Remove(path); err != nil {
				t.Errorf("the lock was removed: %v", err)
			}
		}
		if _, err := commitRun("7")(ctx, f, f); err != nil {
			t.Error(err)
		}
	})

	t.Run("that somebody has open are waited for", func(t *testing.T) {
		if _, err := os.Stat("/proc/self/fd"); err != nil {
			t.Skip("there is no /proc")
		}
		r, w, f, locks := setup(t)
		lock(t, locks[0], time.Hour)
		held, err := os.Open(locks[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Recover(ctx); err != nil {
			t.Error(err)
		}
		w.SetPatience(0)
		if _, err := w.Tree(ctx, runName); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Errorf("error is %v, want the code unavailable", err)
		}
		w.SetPatience(time.Hour)
		done := make(chan error)
		go func() {
			_, err := w.Tree(ctx, runName)
			done <- err
		}()
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !strings.Contains(r.log.String(), locks[0]) {
			t.Errorf("the log does not name %s:\n%s", locks[0], r.log)
		}
		_ = f
	})

	t.Run("waiting ends with the context", func(t *testing.T) {
		_, w, _, locks := setup(t)
		lock(t, locks[0], -time.Hour)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := w.Tree(ended, runName); err == nil {
			t.Error("the tree was recorded under a lock")
		}
	})
}

// A commit's message says what the caller says, but never controls a terminal.
func TestMessages(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	f := r.fixture(t)
	parent := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Head
	for n, row := range []struct{ message, want string }{
		{"Add a login\n\nWith\ttabs.\n", "Add a login\n\nWith\ttabs."},
		{"", "Work of " + runName},
		{"\x1b[2JCl\x00ear\u009b1m\r\n\x07ünï\xff", "[2JClear1m\nünï\uFFFD"},
		{"-m injected", "-m injected"},
	} {
		info, err := f.Commit(ctx, pawl.CommitSpec{
			Name: runName, Branch: runBranch, Parent: parent, Base: f.Base, Message: row.message, ID: strconv.Itoa(n), Time: time.Unix(1_780_000_000, 0),
		})
		if err != nil {
			t.Fatal(err)
		}
		parent = info.Commit
		if got := r.git(t, "show", "-s", "--format=%B", string(parent)); got != row.want+"\n\nPawl-Effect: "+strconv.Itoa(n)+"\n" {
			t.Errorf("%q became %q", row.message, got)
		}
	}
}
