package gitworktree_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

// A recording's objects reach the user's repository when the state folder is on another
// file system, too. They are shared as the repository is.
func TestObjectsSettle(t *testing.T) {
	for name, elsewhere := range map[string]bool{"beside": false, "on another file system": true} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"README": "A project.\n"})
			r.git(t, "config", "core.sharedRepository", "group")
			store := filepath.Join(r.root, ".git", "objects")
			if err := os.Chmod(store, 0o775|fs.ModeSetgid); err != nil {
				t.Fatal(err)
			}
			if elsewhere {
				other, err := os.MkdirTemp("/dev/shm", "pawl-test-")
				if err != nil {
					t.Skipf("no second file system: %v", err)
				}
				t.Cleanup(func() { _ = os.RemoveAll(other) })
				if err := os.Rename(other, filepath.Join(r.root, "x")); err == nil {
					t.Skip("no second file system")
				}
				r.state = filepath.Join(other, "state")
			}
			f := r.fixture(t)
			dir := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir
			before := map[string]bool{}
			for _, folder := range foldersOf(t, store) {
				before[folder] = true
			}
			for _, name := range []string{"a", "b", "c", "d/e"} {
				workspacetest.MustWrite(t, dir, name, name)
			}
			tree := workspacetest.MustTree(t, f, runName)
			if got := r.git(t, "cat-file", "blob", string(tree)+":d/e"); got != "d/e" {
				t.Errorf("the user's repository has %q", got)
			}
			made := 0
			for _, folder := range foldersOf(t, store) {
				if before[folder] {
					continue
				}
				made++
				info, err := os.Stat(folder)
				if err != nil {
					t.Fatal(err)
				}
				if info.Mode().Perm() != 0o775 || info.Mode()&fs.ModeSetgid == 0 {
					t.Errorf("%s has the mode %s", folder, info.Mode())
				}
			}
			if made == 0 {
				t.Error("no folder of objects is new")
			}
			if left := leftovers(t, r); len(left) > 0 {
				t.Errorf("%q are left over", left)
			}
			r.git(t, "fsck", "--strict", "--no-dangling")
		})
	}
}

// foldersOf are the folders of loose objects.
func foldersOf(t *testing.T, store string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(store, "??"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range found {
		if strings.Contains(filepath.Base(folder), ".") {
			t.Errorf("%s is no folder of objects", folder)
		}
	}
	return found
}
