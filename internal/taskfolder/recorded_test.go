package taskfolder

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pawl/internal/recorded"
)

// The runs of earlier versions lead to the same files of their tasks.
func TestRecordedLogs(t *testing.T) {
	t.Parallel()
	recorded.Compare(t, func(tb testing.TB, l *recorded.Log) []byte {
		all, err := Render(Source{Run: l.Events[0].Run, Events: l.All, Blob: l.Blob})
		if err != nil {
			tb.Fatal(err)
		}
		var out bytes.Buffer
		for _, name := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(&out, "== %s ==\n%s\n", name, all[name])
		}
		return out.Bytes()
	})
}
