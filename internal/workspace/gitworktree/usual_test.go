package gitworktree_test

import (
	"context"
	"errors"
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
	"pawl/internal/git"
	"pawl/internal/git/index"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// The usual work of a run is recorded in this process, with tasks, ignored files and what was
// prepared; each reason to leave a recording to git is counted.
func TestRecordings(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{".gitignore": "build/\n", "README": "A project.\n", "lib/a.txt": "one\n"})
	r.rooms = room.New(room.Options{State: r.state, Enforcer: sandbox.Unconfined()})
	workspacetest.MustWrite(t, r.root, ".git/info/exclude", "*.mine\n")
	before := r.users(t)
	f := r.fixture(t)
	w := f.Workspaces.(*gitworktree.Workspaces)
	opened := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	prepared := r.mustPrepare(t, "1", map[string]string{".venv/bin/x": "x\n"}, ".venv")
	if err := f.Furnish(t.Context(), runName, prepared); err != nil {
		t.Fatal(err)
	}
	dir := workspacetest.MustLocate(t, f, runName)
	want := gitworktree.Recordings{Here: w.Recordings().Here}
	head := opened.Head
	for n := range 5 {
		for path, content := range map[string]string{
			"lib/a.txt": "%d\n", "new/%d": "new %d\n", "build/%d.o": "ignored\n", "%d.mine": "the user's\n", ".pawl/tasks/1/%d.md": "plan\n", ".venv/lib/%d": "prepared\n",
		} {
			workspacetest.MustWrite(t, dir, strings.ReplaceAll(path, "%d", fmt.Sprint(n)), strings.ReplaceAll(content, "%d", fmt.Sprint(n)))
		}
		workspacetest.MustTree(t, f, runName)
		info := workspacetest.MustCommit(t, f, next(f.Base, head, fmt.Sprint(n)))
		head = info.Commit
		want.Here += 2
	}
	if diff := cmp.Diff(want, w.Recordings()); diff != "" {
		t.Errorf("recordings (-want +got):\n%s", diff)
	}
	if files := r.git(t, "ls-tree", "-r", "--name-only", string(head)); strings.Contains(files, ".o") || strings.Contains(files, "mine") || strings.Contains(files, "venv") {
		t.Errorf("the commit has\n%s", files)
	}
	if after := r.users(t); after != before {
		t.Errorf("the user's checkout changed:\n%s", cmp.Diff(before, after))
	}
	r.git(t, "fsck", "--strict", "--no-dangling")

	worktreeIndex := filepath.Join(r.state, "engine", "worktrees", runName, "index")
	for _, row := range []struct {
		why  index.Reason
		make func()
	}{
		{index.ReasonAttributes, func() { workspacetest.MustWrite(t, dir, "lib/.gitattributes", "* diff=go\n") }},
		{index.ReasonRepository, func() { workspacetest.MustWrite(t, dir, "lib/.git/HEAD", "ref: refs/heads/x\n") }},
		{index.ReasonName, func() {
			if err := os.Symlink("a", filepath.Join(dir, "lib", ".gitmodules")); err != nil {
				t.Fatal(err)
			}
		}},
		{index.ReasonVersion, func() {
			if err := os.Truncate(worktreeIndex, 50); err != nil {
				t.Fatal(err)
			}
		}},
		{index.ReasonUnreadable, func() { workspacetest.MustRemove(t, dir, "README") }},
		{index.ReasonMissing, func() {
			workspacetest.MustWrite(t, dir, "lib/b", "soon gone\n")
			workspacetest.MustTree(t, f, runName)
			r.git(t, "prune", "--expire=now")
		}},
		{index.ReasonLimit, func() {
			for n := range 1100 {
				workspacetest.MustWrite(t, dir, fmt.Sprintf("many/%d", n), "")
			}
		}},
	} {
		row.make()
		before := w.Recordings().ByGit[row.why]
		wrote := []string{}
		if row.why == index.ReasonUnreadable {
			wrote = append(wrote, "README")
		}
		tree, err := f.Tree(t.Context(), runName, wrote...)
		if err != nil {
			t.Errorf("%s: %v", row.why, err)
		}
		if got := w.Recordings().ByGit[row.why]; got != before+1 {
			t.Errorf("%d recordings were left to git because of %s, want one more than %d: %v", got, row.why, before, w.Recordings().ByGit)
		}
		if again, err := f.Tree(t.Context(), runName); err != nil || again.Tree != tree.Tree {
			t.Errorf("%s: the tree is %s, and then %s, %v", row.why, tree.Tree, again.Tree, err)
		}
		workspacetest.MustRemove(t, dir, "lib/.gitmodules")
	}
	r.git(t, "fsck", "--strict", "--no-dangling")
}

// gits returns the git processes of a git folder that were started with an argument.
func gits(t *testing.T, dir, verb string) (pids []int) {
	t.Helper()
	for _, pid := range gitsOf(t, "GIT_DIR="+dir) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(line), verb) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A git process that stays and is killed while it waits is replaced. One that is killed in the
// middle of a call makes the call fail, and the next one is answered.
func TestKilledResidents(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{"README": "A project.\n", "lib/a.txt": "one\n"})
	command := mustFind(t)
	var strike atomic.Pointer[string]
	var hit atomic.Int32
	command.Timeout = time.Minute
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		if verb := strike.Load(); verb != nil && cmd.Args[1] == *verb {
			hit.Add(1)
			cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "head -c 1 >/dev/null; kill -KILL $$"}
		}
		return run(cmd)
	}
	w := r.open(t, command)
	base := r.base(t)
	dir := workspacetest.MustOpen(t, w, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: base}).Dir
	head := base
	commit := func(id string) (pawl.CommitInfo, error) {
		workspacetest.MustWrite(t, dir, "lib/a.txt", id+"\n")
		return w.Commit(t.Context(), next(base, head, id))
	}
	for n, verb := range []string{"cat-file", "update-ref", "diff-tree"} {
		for try := range 3 {
			id := fmt.Sprint(verb, try)
			pids := gits(t, filepath.Join(r.root, ".git"), verb)
			if n+try > 0 && len(pids) == 0 {
				t.Errorf("no git %s waits", verb)
			}
			for _, pid := range pids {
				p, err := os.FindProcess(pid)
				if err == nil {
					err = p.Kill()
				}
				if err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
			}
			waitUntil(t, func() bool { return !slices.ContainsFunc(pids, isAlive) })
			info, err := commit(id)
			if err != nil {
				t.Fatalf("after git %s was killed while it waited: %v", verb, err)
			}
			head = info.Commit
		}
		w.Rest()
		strike.Store(&verb)
		id := verb + " in a call"
		_, err := commit(id)
		strike.Store(nil)
		if e, ok := errors.AsType[*git.Error](err); err == nil || hit.Swap(0) == 0 || ok && !e.Signaled {
			t.Errorf("when git %s is killed in a call the error is %v", verb, err)
		}
		info, err := commit(id)
		if err != nil {
			t.Fatalf("after git %s was killed in a call: %v", verb, err)
		}
		head = info.Commit
	}
	if got := r.git(t, "rev-list", "--count", string(base)+".."+runBranch); got != "12" {
		t.Errorf("there are %s commits, want 12", got)
	}
	if left := leftovers(t, r); len(left) > 0 {
		t.Errorf("%q are left over", left)
	}
	r.git(t, "fsck", "--strict", "--no-dangling")
}

// isAlive reports whether a process has not ended: it may still hold its files otherwise.
func isAlive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// waitUntil returns when something is true.
func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not become true within a minute")
		}
	}
}

// A git process that does not answer within the time limit is ended; the call says so, and the
// next one is answered.
func TestTimeLimitOfResidents(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{"README": "A project.\n", "lib/a.txt": "one\n"})
	command := mustFind(t)
	var hang atomic.Pointer[string]
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		if verb := hang.Load(); verb != nil && cmd.Args[1] == *verb {
			cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "exec sleep 1000"}
		}
		return run(cmd)
	}
	w := r.open(t, command)
	base := r.base(t)
	dir := workspacetest.MustOpen(t, w, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: base}).Dir
	head := base
	for _, verb := range []string{"cat-file", "update-ref", "diff-tree"} {
		w.Rest()
		workspacetest.MustWrite(t, dir, "lib/a.txt", verb+"\n")
		command.Timeout = 300 * time.Millisecond
		hang.Store(&verb)
		_, err := w.Commit(t.Context(), next(base, head, verb))
		hang.Store(nil)
		command.Timeout = 0
		if !errors.Is(err, git.ErrTimeout) || pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.Contains(err.Error(), "git "+verb) {
			t.Errorf("when git %s hangs the error is %v (%s)", verb, err, pawl.CodeOf(err))
		}
		head = workspacetest.MustCommit(t, w, next(base, head, verb)).Commit
	}
	if got := r.git(t, "rev-list", "--count", string(base)+".."+runBranch); got != strconv.Itoa(3) {
		t.Errorf("there are %s commits, want 3", got)
	}
	r.git(t, "fsck", "--strict", "--no-dangling")
}

// A branch that somebody else moves or locks is not moved, and the next call succeeds when it is
// back or free.
func TestForeignRefs(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	w := r.open(t, nil)
	w.SetPatience(10 * time.Millisecond)
	base := r.base(t)
	dir := workspacetest.MustOpen(t, w, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: base}).Dir
	head := base
	commit := func(id string) (pawl.CommitInfo, error) { return w.Commit(context.Background(), next(base, head, id)) }
	for n := range 3 {
		id := fmt.Sprint(n)
		workspacetest.MustWrite(t, dir, "new", id+"\n")
		other := r.git(t, "commit-tree", "-m", "Another "+id, string(head)+"^{tree}")
		r.git(t, "update-ref", "refs/heads/"+runBranch, other)
		if _, err := commit(id); pawl.CodeOf(err) != pawl.CodeConflict {
			t.Errorf("on a branch that was moved the error is %v", err)
		}
		r.git(t, "update-ref", "refs/heads/"+runBranch, string(head))
		if n == 1 {
			r.git(t, "pack-refs", "--all", "--prune")
		}
		lock := filepath.Join(r.root, ".git", "refs", "heads", runBranch+".lock")
		workspacetest.MustWrite(t, r.root, ".git/refs/heads/"+runBranch+".lock", "")
		if _, err := commit(id); pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.Contains(err.Error(), lock) {
			t.Errorf("on a branch that is locked the error is %v (%s)", err, pawl.CodeOf(err))
		}
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		info, err := commit(id)
		if err != nil {
			t.Fatal(err)
		}
		head = info.Commit
	}
	r.git(t, "fsck", "--strict", "--no-dangling")
}

// The counter names what is special about a repository whose worktrees git records.
func TestRecordingsNameTheRepository(t *testing.T) {
	for why, turn := range map[index.Reason]func(r *repository){
		index.ReasonFormat: func(r *repository) {
			*r = *newRepository(t, map[string]string{"README": "A project.\n"}, "--object-format=sha256")
		},
		index.ReasonShared: func(r *repository) { r.git(t, "config", "core.sharedRepository", "group") },
	} {
		t.Run(string(why), func(t *testing.T) {
			r := newRepository(t, map[string]string{"README": "A project.\n"})
			turn(r)
			f := r.fixture(t)
			w := f.Workspaces.(*gitworktree.Workspaces)
			dir := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir
			workspacetest.MustWrite(t, dir, "lib/a", "1\n")
			workspacetest.MustTree(t, f, runName)
			if got := w.Recordings(); got.Here != 0 || len(got.ByGit) != 1 || got.ByGit[why] == 0 {
				t.Errorf("the recordings are %+v, want all by git because of %s", got, why)
			}
		})
	}
}
