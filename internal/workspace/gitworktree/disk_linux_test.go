package gitworktree_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

// When the disk is full the error says so, nothing is half done, and it works when there is
// space again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("no small disk can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r := repositoryIn(disk)
	r.init(t)
	workspacetest.MustWrite(t, r.root, "README", "A project.\n")
	r.git(t, "add", "-A")
	r.git(t, "commit", "-q", "-m", "Base")
	w := r.open(t, nil)
	base := r.base(t)
	dir := workspacetest.MustOpen(t, w, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: base}).Dir
	noise := make([]byte, 40_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	failed := 0
	rounds, step := 24, 24<<10
	if testing.Short() {
		rounds, step = 8, 72<<10
	}
	for n := range rounds {
		for i := range 3 {
			workspacetest.MustWrite(t, dir, fmt.Sprintf("noise/%d", i), fmt.Sprint(n, i)+string(noise))
		}
		workspacetest.MustWrite(t, dir, ".pawl/tasks/1/plan.md", fmt.Sprint(n))
		ballast := filepath.Join(disk, "ballast")
		fill(t, ballast, int64(n*step))
		_, err := w.Tree(t.Context(), runName)
		if err == nil {
			_, err = w.Commit(t.Context(), next(base, base, fmt.Sprint(n)))
		}
		if err2 := os.Remove(ballast); err2 != nil {
			t.Fatal(err2)
		}
		if err != nil {
			failed++
			if pawl.CodeOf(err) != pawl.CodeUnavailable {
				t.Errorf("with %d kB left the error is %v (%s)", n*step>>10, err, pawl.CodeOf(err))
			}
			r.git(t, "fsck", "--strict", "--no-dangling")
			workspacetest.MustCommit(t, w, next(base, base, fmt.Sprint(n)))
		}
		workspacetest.MustReset(t, w, runName, base, fmt.Sprintf("refs/pawl/salvage/%s/%d", runName, n))
		r.git(t, "update-ref", "refs/heads/"+runBranch, string(base))
		r.git(t, "gc", "-q", "--prune=now")
	}
	if failed < rounds/4 || failed == rounds {
		t.Errorf("%d of %d calls failed", failed, rounds)
	}
	r.git(t, "fsck", "--strict", "--no-dangling")
}

// fill writes a file that leaves so many bytes of its disk.
func fill(t *testing.T, path string, left int64) {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		t.Fatal(err)
	}
	if size := int64(st.Bavail)*st.Bsize - left; size > 0 {
		if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
