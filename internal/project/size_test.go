package project

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// However many files there are, at most as many are measured as may be.
func TestMeasureIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), make([]byte, 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := 100
	all, partial := Measure(t.Context(), dir, &files)
	if partial || files != 94 { // and the folder itself
		t.Errorf("partial %v, %d files left", partial, files)
	}
	files = 4
	some, partial := Measure(t.Context(), dir, &files)
	if !partial || files != 0 || some >= all || some == 0 {
		t.Errorf("%d of %d bytes, partial %v, %d files left", some, all, partial, files)
	}
}
