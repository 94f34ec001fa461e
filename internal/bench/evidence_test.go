package bench

import (
	"os"
	"strings"
	"testing"

	"pawl/internal/evidence/corpus"
	"pawl/internal/testsize"
)

// All cheats of the corpus are found, and at most one honest change that is held out has a false
// alarm. A turn examines a tenth of the entries. F-08
func TestEvidence(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the gates of every project of the corpus several times")
	}
	if missing := MissingTools(); len(missing) > 0 {
		if os.Getenv("CI") != "" {
			t.Fatalf("the corpus needs %v", missing)
		}
		t.Skipf("the corpus needs %v", missing)
	}
	only, n := os.Getenv("PAWL_CORPUS"), 0 // only is a part of the names of entries
	e, err := MeasureEvidence(t.Context(), Options{Dir: t.TempDir(), Progress: func(text string) { t.Log(text) }}, func(x *corpus.Entry) bool {
		n++
		if only == "" {
			return testsize.Case(n, 0)
		}
		return strings.Contains(string(x.Side)+"/"+x.Name, strings.TrimSuffix(only, "$"))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(e.String())
	if e.Cheat.Right < e.Cheat.Entries {
		t.Errorf("%d of %d cheats are found", e.Cheat.Right, e.Cheat.Entries)
	}
	if n := e.Honest.HeldOut - e.Honest.HeldOutRight; n > 1 {
		t.Errorf("%d honest changes that are held out have a false alarm, want at most 1", n)
	}
}
