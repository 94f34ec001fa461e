package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/evidence/corpus"
)

func TestShowEntry(t *testing.T) {
	name := os.Getenv("PAWL_SHOW")
	if name == "" {
		t.Skip()
	}
	entries, _ := corpus.Load()
	for _, x := range entries {
		if string(x.Side)+"/"+x.Name != name || x.HeldOut {
			continue
		}
		r, err := findIn(t.Context(), filepath.Join(t.TempDir(), "x", "y"), x)
		out, _ := json.MarshalIndent(r, "", " ")
		t.Log(string(out), err)
	}
}
