package gitworktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/testsize"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// crash is a fault that strikes one git call. Afterwards the process is as good
// as dead: its context has ended and no further call does anything.
type crash struct {
	at     int  // the call's number, from 1; 0 for none
	reads  bool // calls that change nothing are numbered as well
	strike func(run func(*exec.Cmd) error, cmd *exec.Cmd)

	mu    sync.Mutex
	die   context.CancelFunc
	calls []string // those that are numbered
	dead  bool
}

var errDead = errors.New("the process is dead")

func (c *crash) exec(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return errDead
	}
	if !c.reads && readsOnly(cmd.Args[1]) {
		c.mu.Unlock()
		return run(cmd)
	}
	c.calls = append(c.calls, strings.Join(cmd.Args[1:], " "))
	struck := len(c.calls) == c.at
	if struck {
		c.dead = true
	}
	c.mu.Unlock()
	if !struck {
		return run(cmd)
	}
	c.strike(run, cmd)
	c.die()
	return errDead
}

func (c *crash) died() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

func (c *crash) made() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

func after(run func(*exec.Cmd) error, cmd *exec.Cmd) { _ = run(cmd) }

// before is before a call does anything but take its locks, which it leaves behind.
func before(_ func(*exec.Cmd) error, cmd *exec.Cmd) {
	var dir string
	for _, v := range cmd.Env {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "GIT_DIR":
			dir = value
		case "GIT_INDEX_FILE":
			if !readsOnly(cmd.Args[1]) {
				lock(value)
			}
		}
	}
	for _, arg := range cmd.Args {
		if strings.HasPrefix(arg, "refs/") && !readsOnly(cmd.Args[1]) {
			lock(filepath.Join(dir, arg))
		}
	}
}

// lock leaves the lock file of a git that was killed.
func lock(path string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(path+".lock", []byte("half"), 0o644); err != nil {
		panic(err)
	}
}

func killed(strace string, nth int) func(func(*exec.Cmd) error, *exec.Cmd) {
	return func(run func(*exec.Cmd) error, cmd *exec.Cmd) {
		cmd.Args = append([]string{strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + changes,
			"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", changes, nth), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = strace
		_ = run(cmd)
	}
}

// operation is what is struck. It is called again after the crash and must then
// give what one call gives.
type operation struct {
	name string
	// every reports that the calls that change nothing are struck too.
	every   bool
	prepare func(t *testing.T, f workspacetest.Fixture)
	call    func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error)
}

// removing is the operation that deletes refs, for which git needs the file of packed ones.
const removing = "remove a run"

const (
	runName    = "001-add-login"
	runBranch  = "pawl/001-add-login"
	runSalvage = "refs/pawl/salvage/001-add-login/9"
)

func openRun(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
	return w.Open(ctx, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
}

func commitRun(id string) func(context.Context, pawl.Workspaces, workspacetest.Fixture) (any, error) {
	return func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
		return w.Commit(ctx, pawl.CommitSpec{
			Name: runName, Branch: runBranch, Parent: f.Base, Base: f.Base, Message: "Work", ID: id, Time: time.Unix(1_780_000_000, 0),
		})
	}
}

// dirty opens the worktree and leaves work of all kinds in it.
func dirty(t *testing.T, f workspacetest.Fixture) {
	state := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	workspacetest.MustWrite(t, state.Dir, "lib/a.txt", "changed\n")
	workspacetest.MustWrite(t, state.Dir, "new/file", "new\n")
	workspacetest.MustWrite(t, state.Dir, "build/out", "ignored\n")
	workspacetest.MustWrite(t, state.Dir, ".pawl/tasks/001-add-login/plan.md", "plan\n")
	workspacetest.MustRemove(t, state.Dir, "README")
}

func childName(n int) string { return fmt.Sprintf("%s--%d-task-%03d", runName, n, n) }

// childHead is the commit that [children] noted for a child.
func childHead(w pawl.Workspaces, n int) pawl.CommitHash {
	if f, ok := w.(workspacetest.Fixture); ok {
		w = f.Workspaces
	}
	content, err := os.ReadFile(filepath.Join(w.(*gitworktree.Workspaces).State(), childName(n)))
	if err != nil {
		panic(err)
	}
	return pawl.CommitHash(content)
}

// children opens the worktree and commits the work of two children. Both change
// the same line of a file.
func children(t *testing.T, f workspacetest.Fixture) {
	workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	for n := 1; n <= 2; n++ {
		info := workspacetest.MustWork(t, f, "pawl/"+childName(n), f.Base,
			"lib/a.txt", fmt.Sprintf("work %d\n", n), "deep/er/b.go", "-", fmt.Sprintf("new/%d", n), "new\n")
		workspacetest.MustWrite(t, f.Workspaces.(*gitworktree.Workspaces).State(), childName(n), string(info.Commit))
	}
}

// merging is the merge of a child's work.
func merging(ours, theirs pawl.CommitHash) pawl.MergeSpec {
	return pawl.MergeSpec{
		Ours: ours, Theirs: theirs, OursLabel: "the parent's branch", TheirsLabel: "this task",
		Message: "Merge", Time: time.Unix(1_780_000_100, 0),
	}
}

func operations() []operation {
	return []operation{
		{"open", false, func(*testing.T, workspacetest.Fixture) {}, openRun},
		{"open again after the worktree was deleted", false, func(t *testing.T, f workspacetest.Fixture) {
			dirty(t, f)
			workspacetest.MustRemove(t, workspacetest.MustLocate(t, f, runName), "")
		}, openRun},
		{"commit", false, dirty, commitRun("7")},
		{"reset", false, func(t *testing.T, f workspacetest.Fixture) {
			dirty(t, f)
			if _, err := commitRun("7")(context.Background(), f, f); err != nil {
				t.Fatal(err)
			}
			workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new/file", "newer\n")
			workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "lib/deep", "a file in a folder's place\n")
		}, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			return w.Reset(ctx, runName, f.Base, runSalvage)
		}},
		{"merge and advance", true, children, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			info, err := w.Merge(ctx, merging(f.Base, childHead(w, 2)))
			if err == nil {
				err = w.Advance(ctx, runBranch, f.Base, info.Commit)
			}
			return info, err
		}},
		{"merge with a conflict and reset", false, children, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			info, err := w.Merge(ctx, merging(childHead(w, 1), childHead(w, 2)))
			if err != nil {
				return info, err
			}
			state, err := w.Reset(ctx, childName(2), info.Commit, runSalvage)
			return []any{info, state}, err
		}},
		{"reset after advancing", false, func(t *testing.T, f workspacetest.Fixture) {
			children(t, f)
			workspacetest.MustAdvance(t, f, runBranch, f.Base, childHead(f, 1))
		}, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			return w.Reset(ctx, runName, childHead(w, 1), runSalvage)
		}},
		{"reset with work after advancing", false, func(t *testing.T, f workspacetest.Fixture) {
			children(t, f)
			workspacetest.MustAdvance(t, f, runBranch, f.Base, childHead(f, 1))
			workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new/file", "new\n")
		}, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			return w.Reset(ctx, runName, childHead(w, 1), runSalvage)
		}},
		{"close", false, dirty, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			return w.Close(ctx, runName, runSalvage)
		}},
		// V-49
		{"mark a checkpoint", true, children, func(ctx context.Context, w pawl.Workspaces, _ workspacetest.Fixture) (any, error) {
			return nil, w.Mark(ctx, "refs/pawl/checkpoints/"+runName+"/1", childHead(w, 1))
		}},
		// V-50, V-B12
		{"roll back", true, func(t *testing.T, f workspacetest.Fixture) {
			children(t, f)
			workspacetest.MustAdvance(t, f, runBranch, f.Base, childHead(f, 1))
			workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new/file", "not committed\n")
		}, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			info, err := w.Restore(ctx, restoring(childHead(w, 1), f.Base))
			if err != nil {
				return info, err
			}
			state, err := w.Reset(ctx, runName, info.Commit, runSalvage)
			return []any{info, state}, err
		}},
		{"publish", true, children, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			return w.Publish(ctx, pawl.PublishSpec{
				Branch: runBranch, From: f.Base, Of: childHead(w, 1), Author: pawl.Identity{Name: "Ada", Email: "ada@example.org"},
				Message: "Add a login", ID: "22", Time: time.Unix(1_780_000_300, 0),
			})
		}},
		// The mark makes the commit reachable, so that the outcome tells it from others.
		{"compose and mark", true, children, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			made, err := w.Compose(ctx, pawl.ComposeSpec{Of: childHead(w, 1), Files: []pawl.ComposedFile{
				{Path: "lib/a.txt", From: childHead(w, 2)}, {Path: "new", Data: []byte("a file in a folder's place\n")}, {Path: "README", Remove: true},
			}})
			if err == nil {
				err = w.Mark(ctx, "refs/pawl/checkpoints/"+runName+"/1", made)
			}
			return made, err
		}},
		{"take in what a person added", true, children, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			return w.Open(ctx, pawl.WorkspaceSpec{
				Name: "002-other", Branch: pawl.AttemptsFolder + "002-other", Base: f.Base,
				Result: "pawl/" + childName(1), Known: f.Base, Time: time.Unix(1_780_000_300, 0),
			})
		}},
		{"write files", true, func(t *testing.T, f workspacetest.Fixture) {
			workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
		}, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			return w.WriteFiles(ctx, recording(f.Base, "plan.md", "The plan.\n", "deep/report.md", "Done.\n"))
		}},
		{"show", false, func(t *testing.T, f workspacetest.Fixture) {
			children(t, f)
			workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new/file", "not committed\n")
		}, func(ctx context.Context, w pawl.Workspaces, _ workspacetest.Fixture) (any, error) {
			return w.Show(ctx, runName, childHead(w, 1), runSalvage)
		}},
		{"open what is detached", false, func(t *testing.T, f workspacetest.Fixture) {
			children(t, f)
			mustShow(t, f, runName, childHead(f, 1), runSalvage)
			workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new/file", "not committed\n")
		}, openRun},
		{"commit what was detached", false, func(t *testing.T, f workspacetest.Fixture) {
			children(t, f)
			mustShow(t, f, runName, childHead(f, 1), runSalvage)
			workspacetest.MustAdvance(t, f, runBranch, f.Base, childHead(f, 1))
			workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new/file", "new\n")
		}, func(ctx context.Context, w pawl.Workspaces, f workspacetest.Fixture) (any, error) {
			f.Base = childHead(w, 1)
			return commitRun("7")(ctx, w, f)
		}},
		// F-31
		{removing, true, func(t *testing.T, f workspacetest.Fixture) {
			children(t, f)
			workspacetest.MustWrite(t, workspacetest.MustLocate(t, f, runName), "new/file", "not committed\n")
			for _, ref := range []string{"checkpoints/" + runName + "/1", "salvage/" + runName + "/9", "forks/" + runName, "checkpoints/002-other/1"} {
				if err := f.Mark(t.Context(), "refs/pawl/"+ref, childHead(f, 1)); err != nil {
					t.Fatal(err)
				}
			}
		}, func(ctx context.Context, w pawl.Workspaces, _ workspacetest.Fixture) (any, error) {
			gone, err := w.(*gitworktree.Workspaces).Remove(ctx, runName, gitworktree.Made{Partial: true}, false)
			return gone.Salvage, err
		}},
	}
}

// stage is a repository with an operation about to be called, as often as it is
// set: what comes before the operation takes longer than a copy.
type stage struct {
	operation
	r     *repository
	f     workspacetest.Fixture
	saved string // a copy of the repository's folder, with the state and the home

	users   string          // what is the user's
	commits map[string]bool // that refs reach
}

func newStage(t *testing.T, op operation) *stage {
	t.Helper()
	r := newRepository(t, map[string]string{
		".gitignore": "build/\n", "README": "A project.\n", "lib/a.txt": "one\n", "deep/er/b.go": "package b\n",
		".pawl/tasks/000-before/report.md": "Done.\n",
	})
	s := &stage{operation: op, r: r, f: r.fixture(t), saved: filepath.Join(t.TempDir(), "saved")}
	op.prepare(t, s.f)
	for _, name := range []string{"HEAD", "index", "packed-refs"} { // a git of the user's own was killed too
		lock(filepath.Join(r.root, ".git", name))
	}
	s.users, s.commits = s.seen(t), r.commits(t)
	s.copy(t, r.top(), s.saved)
	return s
}

// seen is what the user has, but for the file of packed refs where the operation needs it.
func (s *stage) seen(t *testing.T) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(s.r.users(t)) {
		if s.name != removing || !strings.Contains(line, "packed-refs") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// set makes everything what it was before the operation.
func (s *stage) set(t *testing.T) {
	t.Helper()
	s.r.died(t)
	if err := os.RemoveAll(s.r.top()); err != nil {
		t.Fatal(err)
	}
	s.copy(t, s.saved, s.r.top())
}

func (s *stage) copy(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// outcome is all that can be seen after an operation, with the places of
// temporary folders left out.
func outcome(t *testing.T, r *repository, f workspacetest.Fixture, answer any) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "answer: %+v\n", answer)
	b.WriteString(r.git(t, "for-each-ref") + "\n")
	if unreachable := r.git(t, "fsck", "--strict", "--no-reflogs", "--unreachable"); strings.Contains(unreachable, "commit") {
		fmt.Fprintf(&b, "unreachable: %s\n", unreachable)
	}
	if workspacetest.Exists(t, f, runName) {
		files := workspacetest.Files(t, workspacetest.MustLocate(t, f, runName))
		for _, path := range slices.Sorted(func(yield func(string) bool) {
			for path := range files {
				if !yield(path) {
					return
				}
			}
		}) {
			fmt.Fprintf(&b, "%s: %q\n", path, files[path])
		}
		for _, args := range [][]string{{"status", "--short", "--branch"}, {"log", "--all", "HEAD", "--format=%H"}, {"fsck", "--no-dangling"}} {
			b.WriteString(r.gitIn(t, workspacetest.MustLocate(t, f, runName), args...) + "\n")
		}
	}
	for _, pattern := range []string{"git/worktrees/*", "engine/worktrees/*", "engine/worktrees/*/*.lock", "worktrees/*", "trash/*", "tmp/*", "objects/*"} {
		left, _ := filepath.Glob(filepath.Join(r.state, pattern))
		fmt.Fprintf(&b, "%s: %d\n", pattern, len(left))
	}
	return strings.ReplaceAll(b.String(), filepath.Dir(r.root), "TOP")
}

// struck calls an operation that a crash strikes, and then again in a new
// process, and returns how it ended.
func (s *stage) struck(t *testing.T, c *crash) string {
	t.Helper()
	return s.twice(t, func() (any, error, bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		command := mustFind(t)
		w := s.r.open(t, command)
		command.Exec, c.die = c.exec, cancel
		answer, err := s.call(ctx, w, s.f)
		return answer, err, c.died()
	})
}

// twice calls an operation and, if the process died in it, once more in another.
func (s *stage) twice(t *testing.T, first func() (answer any, err error, dead bool)) string {
	t.Helper()
	s.set(t)
	answer, err, dead := first()
	if dead {
		s.r.died(t)
		next := s.r.open(t, nil)
		if err := next.Recover(context.Background()); err != nil {
			t.Fatal(err)
		}
		answer, err = s.call(context.Background(), next, s.f)
	}
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	if after := s.seen(t); after != s.users {
		t.Errorf("the user's checkout changed:\n%s", cmp.Diff(s.users, after))
	}
	have := s.r.commits(t)
	for commit := range s.commits {
		if !have[commit] {
			t.Errorf("commit %s is no longer reachable", commit)
		}
	}
	return outcome(t, s.r, s.f, answer)
}

// readsOnly reports whether a git command changes nothing.
func readsOnly(verb string) bool {
	return slices.Contains([]string{"cat-file", "ls-files", "diff-tree", "patch-id", "merge-base", "config", "rev-parse", "rev-list", "for-each-ref", "check-ignore"}, verb)
}

// Whatever call is struck, the next process ends where one call would have ended, and nothing is lost.
// V-49, V-50, V-B12
func TestCrashes(t *testing.T) {
	for n, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			sample(t, n)
			t.Parallel()
			s, writes := newStage(t, op), &crash{}
			want := s.struck(t, writes)
			s.strike(t, want, "after", writes, after)
			all := writes
			if op.every {
				all = &crash{reads: true}
				s.struck(t, all)
			}
			s.strike(t, want, "before", all, before)
		})
	}
}

// strike strikes one call after the other.
func (s *stage) strike(t *testing.T, want, when string, whole *crash, strike func(func(*exec.Cmd) error, *exec.Cmd)) {
	calls := whole.made()
	for at, call := range calls { // calls side by side may change places
		if middle := testing.Short() && at == len(calls)/2; !middle && !testsize.Case(at+len(calls), 0) {
			continue
		}
		t.Run(fmt.Sprintf("%s call %d", when, at+1), func(t *testing.T) {
			c := &crash{at: at + 1, reads: whole.reads, strike: strike}
			got := s.struck(t, c)
			if !c.died() {
				t.Fatalf("call %d was not made", at+1)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("struck %s git %s (-one call +two):\n%s", when, call, diff)
			}
		})
	}
}

// changes are the system calls by which a program changes files, as far as the
// machine has them.
const changes = "?rename,?renameat,?renameat2,?link,?linkat,?unlink,?unlinkat,?mkdir,?mkdirat,?rmdir,utimensat,fchmod,fsync"

// mustStrace returns the path of strace. It skips the test where strace cannot be used.
func mustStrace(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long")
	}
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if out, err := exec.Command(path, "-qq", "-o", os.DevNull, "-e", "trace="+changes, "true").CombinedOutput(); err != nil {
		t.Skipf("strace does not work here: %v\n%s", err, out)
	}
	return path
}

// TestKills kills git within its calls.
func TestKills(t *testing.T) {
	strace := mustStrace(t)
	kills := countKills(t)
	for n, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			s, whole := newStage(t, op), &crash{}
			want := s.struck(t, whole)
			for at := range whole.made() {
				for nth := 1; ; nth++ {
					if !testsize.Case(n+at+nth, 0) {
						continue
					}
					c := &crash{at: at + 1, strike: killed(strace, nth)}
					var missed bool
					t.Run(fmt.Sprintf("call %d at change %d", at+1, nth), func(t *testing.T) {
						counted := c.strike
						c.strike = func(run func(*exec.Cmd) error, cmd *exec.Cmd) {
							counted(run, cmd)
							status := cmd.ProcessState.Sys().(syscall.WaitStatus)
							missed = !status.Signaled() // strace dies as what it ran did
						}
						got := s.struck(t, c)
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("killed git %s (-one call +two):\n%s", c.made()[at], diff)
						}
					})
					if missed || t.Failed() {
						break // git ended before its nth change
					}
					kills.Add(1)
				}
			}
		})
	}
}

// countKills returns a counter of kills. The test fails if it is zero at the end.
func countKills(t *testing.T) *atomic.Int32 {
	t.Helper()
	var kills atomic.Int32
	t.Cleanup(func() {
		if t.Logf("killed a process %d times", kills.Load()); kills.Load() == 0 {
			t.Error("no process was killed")
		}
	})
	return &kills
}

// TestKillsOfPawl kills the whole process where it changes files itself, between
// its calls of git.
func TestKillsOfPawl(t *testing.T) {
	strace := mustStrace(t)
	kills := countKills(t)
	for i, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, op)
			want := s.struck(t, &crash{})
			for nth, ended := 1, false; !ended && !t.Failed(); nth++ {
				if !testsize.Case(i+nth, 0) {
					continue
				}
				t.Run(fmt.Sprintf("change %d", nth), func(t *testing.T) {
					got := s.twice(t, func() (any, error, bool) {
						cmd := exec.Command(strace, "-qq", "-o", "/dev/null", "-e", "trace="+changes,
							"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", changes, nth), os.Args[0])
						cmd.Env = []string{
							"PATH=" + os.Getenv("PATH"), "HOME=" + s.r.home, "PAWL_TEST_OPERATION=" + op.name,
							"PAWL_TEST_ROOT=" + s.r.root, "PAWL_TEST_STATE=" + s.r.state,
						}
						out, err := cmd.CombinedOutput()
						status := cmd.ProcessState.Sys().(syscall.WaitStatus)
						if ended = !status.Signaled(); ended && err != nil {
							t.Fatalf("%v\n%s", err, out)
						}
						return nil, nil, true // what it answered is not known; the second call must say it
					})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("-one call +two:\n%s", diff)
					}
				})
				if !ended {
					kills.Add(1)
				}
			}
		})
	}
}

// perform is what the killed process does: one operation, all by the thread that
// is watched.
func perform(name string) error {
	runtime.LockOSThread()
	ctx := context.Background()
	found, err := gitworktree.Inspect(ctx, nil, os.Getenv("PAWL_TEST_ROOT"))
	if err != nil {
		return err
	}
	w, err := gitworktree.New(ctx, gitworktree.Options{
		Repository: found, State: os.Getenv("PAWL_TEST_STATE"), Now: func() time.Time { return time.Unix(1_790_000_000, 0) },
	})
	if err != nil {
		return err
	}
	for _, op := range operations() {
		if op.name == name {
			_, err := op.call(ctx, w, workspacetest.Fixture{Base: found.Head})
			return err
		}
	}
	return fmt.Errorf("there is no operation %q", name)
}
