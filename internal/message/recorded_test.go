package message_test

import (
	"encoding/json"
	"testing"

	"pawl/internal/message"
	"pawl/internal/recorded"
)

// The runs of earlier versions lead to the same messages.
func TestRecordedLogs(t *testing.T) {
	t.Parallel()
	recorded.Compare(t, func(tb testing.TB, l *recorded.Log) []byte {
		var out []byte
		fold := message.Run{Project: "p", Blobs: l.Blob}
		for _, e := range l.Events {
			for _, m := range fold.Add(e) {
				data, err := json.Marshal(m)
				if err != nil {
					tb.Fatal(err)
				}
				out = append(append(out, data...), '\n')
			}
		}
		return out
	})
}
