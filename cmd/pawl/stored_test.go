package main

import (
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/project"
)

// A process that only reads a project can list its cache but not prune it, and knows that
// no layer is in use only if no process has the project.
func TestStoredCache(t *testing.T) {
	p := project.Project{Dir: t.TempDir()}
	layer := filepath.Join(p.Dir, "cache", "1", "upper")
	if err := os.MkdirAll(layer, 0o755); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(p.Dir, "cache", "cache.json"), `{"generation": 1, "layers": [{"name": "1", "size": 7}]}`)
	for _, held := range []bool{false, true} {
		s, end, err := openStored(p, held, func() int64 { return 5 })
		if err != nil {
			t.Fatal(err)
		}
		info, err := pawl.ListCache(t.Context(), s)
		if err != nil || info.UseUnknown != held || info.Limit != 5 || info.Size != 7 || len(info.Layers) != 1 {
			t.Errorf("held %v: it lists %+v, %v", held, info, err)
		}
		if _, err := pawl.PruneCache(t.Context(), s, pawl.PruneRequest{}); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Errorf("held %v: pruning it: %v", held, err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(layer); err != nil {
		t.Error(err)
	}
}
