package tool_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/tool"
)

// The temporary folder may be on another file system; then the new file is made
// beside the old one, and a leftover of a killed call goes with the next.
func TestWriteAcrossFileSystems(t *testing.T) {
	w := MustWorld(t, map[string]string{"folder/.pawl-write": "left over"})
	temp, err := os.MkdirTemp("/dev/shm", "pawl-test-")
	if err != nil {
		t.Skipf("no second file system: %v", err)
	}
	defer os.RemoveAll(temp)
	if device(t, temp) == device(t, w.env.Dir) {
		t.Skip("no second file system")
	}
	w.env.Temp = temp
	w.want(t, tool.Write{}, map[string]any{"path": "folder/file", "content": "x"}, "made folder/file, 1 bytes")
	w.want(t, tool.Edit{}, map[string]any{"path": "folder/file", "old": "x", "new": "y"}, "edited folder/file at line 1")
	if diff := cmp.Diff([]string{"work/folder/file"}, w.files(t)); diff != "" || w.content(t, "folder/file") != "y" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
}

func device(tb testing.TB, path string) uint64 {
	tb.Helper()
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Dev
}
