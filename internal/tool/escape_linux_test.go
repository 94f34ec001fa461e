package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/tool"
)

// A folder that is swapped for a link, again and again, while tools work on it,
// leads them nowhere.
func TestSwappedLinks(t *testing.T) {
	w := MustWorld(t, map[string]string{"folder/secret": "inside"})
	MustLink(t, w.outside, filepath.Join(w.env.Dir, "trap"))
	folder, trap := filepath.Join(w.env.Dir, "folder"), filepath.Join(w.env.Dir, "trap")
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, trap, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	const rounds = 2000
	wrote := 0
	for i := range rounds {
		if got := w.call(t, tool.Read{}, map[string]any{"path": "folder/secret"}); strings.Contains(got.Text, secret) {
			t.Errorf("read got out: %s", got.Text)
		}
		got := w.call(t, tool.Write{}, map[string]any{"path": "folder/secret", "content": fmt.Sprint(i)})
		if !got.IsError {
			wrote++
		}
		w.call(t, tool.Edit{}, map[string]any{"path": "folder/secret", "old": "the", "new": "no"})
		if got := w.call(t, tool.Grep{}, map[string]any{"pattern": "the", "path": "folder"}); strings.Contains(got.Text, secret) {
			t.Errorf("grep got out: %s", got.Text)
		}
	}
	close(stop)
	swapper.Wait()
	if text, err := os.ReadFile(filepath.Join(w.outside, "secret")); err != nil || string(text) != secret {
		t.Errorf("outside there is now %q, %v", text, err)
	}
	if wrote == 0 || wrote == rounds {
		t.Logf("%d of %d writes met the folder: the swap was not seen at work", wrote, rounds)
	}
}
