package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

// Growth above a limit is noticed however it comes about, and what shrinks is not.
func TestDiskWatchLooks(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write := func(path string, size int) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(one, "there"), 500_000) // before the room was opened
	w := watchDisk([]string{one, two, filepath.Join(one, "nowhere")}, pawl.RoomLimits{Disk: 300_000, Files: 3})
	look := func(want pawl.Resource) {
		t.Helper()
		met := w.look()
		if got := met != nil; got != (want != "") || got && met.Resource != want {
			t.Errorf("met %v, want %q", met, want)
		}
	}
	look("")
	write(filepath.Join(one, "a"), 200_000)
	look("")
	write(filepath.Join(two, "b"), 200_000)
	look(pawl.ResourceDisk)
	look("") // nothing grows any more
	write(filepath.Join(two, "b"), 150_000)
	look("") // still above, and less than before
	write(filepath.Join(two, "b"), 250_000)
	look(pawl.ResourceDisk)
	for _, name := range []string{"a", "there"} {
		if err := os.Remove(filepath.Join(one, name)); err != nil {
			t.Fatal(err)
		}
	}
	look("")
	for _, name := range []string{"c", "d", "e", "f"} {
		write(filepath.Join(one, name), 0)
	}
	look(pawl.ResourceFiles)
}
