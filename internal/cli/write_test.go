package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWriteFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a", "b.txt")
	for _, content := range []string{"first", "second", ""} {
		if err := WriteFile(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != content {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := WriteFile(filepath.Dir(name), []byte("x")); err == nil {
		t.Error("a folder was replaced")
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if all, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(name)), ".a-*")); err != nil || len(all) > 0 {
		t.Errorf("left behind: %v, %v", all, err)
	}
}
