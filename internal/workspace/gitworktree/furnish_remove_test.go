package gitworktree

import (
	"os"
	"path/filepath"
	"testing"
)

// F-02: a commit or an agent may have put a file or a link in place of a folder that had
// dependencies; that must not stop the worktree from being furnished anew.
func TestRemoveBelowReplacedFolder(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "node_modules")
	for _, dir := range []string{kept, filepath.Join(folder, "inside", "node_modules"), filepath.Join(folder, "node_modules")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out": outside, "loop": "loop", "link": "inside"} {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, parent := range []string{"file", "out", "loop", "link", "gone", "."} {
		if err := removeBelow(folder, []string{parent + "/node_modules"}); err != nil {
			t.Errorf("%s: %v", parent, err)
		}
	}
	for _, dir := range []string{kept, filepath.Join(folder, "inside", "node_modules")} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("what a link leads to was removed: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); !os.IsNotExist(err) {
		t.Errorf("node_modules was not removed: %v", err)
	}
}
