package room

import (
	"os"
	"path/filepath"
	"testing"
)

// Commands find a program only in the folders of PATH that rooms show.
func TestProgram(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(folder, name string, mode os.FileMode) {
		dir := filepath.Join(home, folder)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("bin", "shown", 0o755)
	write("bin", "text", 0o644)
	write(".config/bin", "private", 0o755)
	path := filepath.Join(home, "bin") + ":" + filepath.Join(home, ".config", "bin") + ":bin"
	h := NewHost([]string{"PATH=" + path, "HOME=" + home}, home)
	for name, want := range map[string]string{"shown": filepath.Join(home, "bin", "shown"), "text": "", "private": "", "absent": "", "bin": ""} {
		if got := h.Program(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
