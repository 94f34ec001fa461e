package gitworktree_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/testsize"
	"pawl/internal/workspace/gitworktree"
)

// round is what a run does between two of its commits: it writes, records, gives work up and
// commits. It does the same after it was cut off.
func round(w pawl.Workspaces, base pawl.CommitHash, n int) (info pawl.CommitInfo, err error) {
	ctx := context.Background()
	state, err := w.Open(ctx, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: base})
	if err != nil {
		return info, err
	}
	at, err := w.Locate(ctx, runName)
	if err != nil {
		return info, err
	}
	write := func(format string, content string) {
		path := filepath.Join(at.Reach, fmt.Sprintf(format, n%5))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
	}
	if n%3 == 2 {
		write("given/up%d", fmt.Sprint(n))
		write("lib/a.txt%.0d", "given up\n")
		_, again := w.Reset(ctx, runName, state.Head, fmt.Sprintf("refs/pawl/salvage/%s/%d", runName, n))
		err = errors.Join(err, again)
	}
	write("f%d", fmt.Sprintln("round", n))
	_, first := w.Tree(ctx, runName, fmt.Sprintf("f%d", n%5))
	write("build/%d.o", "ignored\n")
	write("d%d/e/f", strings.Repeat(fmt.Sprintln("line", n), n%50))
	write(".pawl/tasks/1/%d.md", fmt.Sprintln("plan", n))
	err = errors.Join(err, first, os.RemoveAll(filepath.Join(at.Reach, fmt.Sprintf("d%d", (n+2)%5))))
	_, second := w.Tree(ctx, runName)
	if err := errors.Join(err, second); err != nil {
		return info, err
	}
	return w.Commit(ctx, next(base, state.Head, fmt.Sprint(n)))
}

// roundsAsChild is what a process does until it is killed. It goes on after the commits that
// there are.
func roundsAsChild() error {
	ctx := context.Background()
	root, base := os.Getenv("PAWL_TEST_ROOT"), os.Getenv("PAWL_TEST_ROUNDS")
	w, err := gitworktree.New(ctx, gitworktree.Options{
		Repository: pawl.Repository{Root: root, GitDir: filepath.Join(root, ".git"), Head: pawl.CommitHash(base), Branch: "main"},
		State:      os.Getenv("PAWL_TEST_STATE"), Now: func() time.Time { return time.Unix(1_790_000_000, 0) },
	})
	if err != nil {
		return err
	}
	if err := w.Recover(ctx); err != nil {
		return err
	}
	n, err := resume(w, root, pawl.CommitHash(base))
	for ; err == nil; n++ {
		_, err = round(w, pawl.CommitHash(base), n)
	}
	return err
}

// resume repeats the last commit, as a caller does that has not seen an answer, and returns how
// many there are.
func resume(w pawl.Workspaces, root string, base pawl.CommitHash) (n int, err error) {
	out, err := exec.Command("git", "-C", root, "rev-list", string(base)+".."+runBranch).Output()
	commits := append(strings.Fields(string(out)), string(base))
	if n = len(commits) - 1; err != nil || n == 0 {
		return 0, nil //nolint:nilerr // the branch may not be there yet
	}
	info, err := w.Commit(context.Background(), next(base, pawl.CommitHash(commits[1]), strconv.Itoa(n-1)))
	if err == nil && string(info.Commit) != commits[0] {
		err = fmt.Errorf("commit %d was %s and is %s", n-1, commits[0], info.Commit)
	}
	return n, err
}

// A process that is killed at any moment, again and again, ends where one ends that was not.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	kills := testsize.Cases(3, 500)
	files := map[string]string{".gitignore": "build/\n", "README": "A project.\n", "lib/a.txt": "one\n"}
	r, other := newRepository(t, files), newRepository(t, files)
	r.joined, other.joined = false, false
	base, users := r.base(t), r.users(t)
	begun := func() bool {
		return !slices.Contains([]pawl.CommitHash{"", base}, r.resolve(t, "refs/heads/"+runBranch))
	}
	for n := 0; n < kills || !begun(); n++ {
		life := 50 + rand.IntN(700) // in milliseconds
		if n >= kills {
			life *= n // a slow machine needs more time for the first round
		}
		cmd := exec.Command(os.Args[0])
		var said strings.Builder
		cmd.Stderr = &said
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "PAWL_TEST_ROUNDS=" + string(base), "PAWL_TEST_ROOT=" + r.root, "PAWL_TEST_STATE=" + r.state}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(life)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Fatalf("process %d ended by itself: %v\n%s", n, err, said.String())
		}
	}
	w := r.open(t, nil)
	if err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	done, err := resume(w, r.root, base)
	if err != nil || done == 0 {
		t.Fatalf("%d rounds were made, %v", done, err)
	}
	t.Logf("%d kills, %d rounds", kills, done)
	undisturbed := other.open(t, nil)
	for n := range done {
		if _, err := round(undisturbed, base, n); err != nil {
			t.Fatal(err)
		}
	}
	for n := done; n < done+5; n++ {
		got, err := round(w, base, n)
		want, err2 := round(undisturbed, base, n)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d (-undisturbed +killed):\n%s", n, diff)
		}
	}
	if left := leftovers(t, r); len(left) > 0 {
		t.Errorf("%q are left over", left)
	}
	if diff := cmp.Diff(users, r.users(t)); diff != "" {
		t.Errorf("the user's checkout changed:\n%s", diff)
	}
	r.git(t, "fsck", "--strict", "--no-dangling")
	for _, folder := range []string{"engine/worktrees", "git/worktrees"} {
		at := filepath.Join(r.state, folder, runName, "index")
		if files := r.git(t, "-c", "alias.list=!GIT_INDEX_FILE='"+at+"' git ls-files --stage", "list"); !strings.Contains(files, "README") {
			t.Errorf("git reads in %s\n%s", at, files)
		}
	}
}
