package loopfolder

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/store/mem"
)

// The folders of a run go, those of others and what nobody knows stay. F-31
func TestRemove(t *testing.T) {
	s, dir, log := grown(t), t.TempDir(), mem.New()
	for _, name := range []string{"loops/other", "archive/other", "loops/nobody"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"loops/other/loop.json": `{"run":"009-other"}`, "archive/other/loop.json": `{"run":"009-other"}`, "loops/nobody/x": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, dir)
	k := Keep(dir, log, slog.New(slog.DiscardHandler))
	s.append(log, 0, len(s.events))
	k.Notice(run, false)
	if err := k.Remove(t.Context(), run); err != nil { // whether anything was written or not
		t.Fatal(err)
	}
	k.Notice("009-other", true) // its log has nothing
	if err := k.Remove(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	k.Close(t.Context())
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("while it is written (-want +got):\n%s", d)
	}
	if err := k.Remove(t.Context(), run); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("a closed keeper removes: %v", err)
	}

	if err := Rebuild(dir, run, s.all, s.read); err != nil {
		t.Fatal(err)
	}
	if n := len(tree(t, dir)); n < len(before)+5 {
		t.Fatalf("only %d files: %v", n, slices.Sorted(maps.Keys(tree(t, dir))))
	}
	if err := Remove(dir, run); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("after all was written (-want +got):\n%s", d)
	}
	if err := Remove(dir, "damaged-7"); err != nil {
		t.Errorf("a run without a name: %v", err)
	}
}
