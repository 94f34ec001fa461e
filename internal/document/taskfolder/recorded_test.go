package taskfolder

import (
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
		return recorded.Files(all)
	})
}
