package loopfolder

import (
	"testing"

	"pawl/internal/recorded"
)

// The runs of earlier versions lead to the same folders.
func TestRecordedLogs(t *testing.T) {
	t.Parallel()
	recorded.Compare(t, func(tb testing.TB, l *recorded.Log) []byte {
		dir := t.TempDir()
		if err := Rebuild(dir, l.Events[0].Run, l.All, l.Blob); err != nil {
			tb.Fatal(err)
		}
		return recorded.Files(files(t, dir))
	})
}
