package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"pawl"
	"pawl/internal/recorded"
	"pawl/internal/view"
)

// moments is at how many events of a log its views are compared, the last among them.
const moments = 8

// Everything that people read of runs of earlier versions is the same, at the end and before.
func TestRecordedLogs(t *testing.T) {
	t.Parallel()
	recorded.Compare(t, func(tb testing.TB, l *recorded.Log) []byte {
		var out bytes.Buffer
		write := func(name string, data []byte) { fmt.Fprintf(&out, "== %s ==\n%s\n", name, data) }
		writeJSON := func(name string, v any) {
			data, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				tb.Fatal(err)
			}
			write(name, data)
		}
		for i := 1; i <= moments; i++ {
			events := l.Events[:max(2, len(l.Events)*i/moments)]
			refold := func([]pawl.Event) (pawl.RunInfo, error) { return pawl.RunInfo{}, nil } // the kernel's line has a test of its own
			all, err := project(events, l.Blob, refold)
			if err != nil {
				tb.Fatal(err)
			}
			for _, d := range all {
				if d.Name != "events" {
					write(fmt.Sprintf("event %d: %s", len(events), d.Name), d.Data)
				}
			}
			r, now := view.New(), events[len(events)-1].Time
			for _, e := range events {
				r.Apply(e)
			}
			writeJSON("line", r.Info())
			writeJSON("tasks", view.Tasks(r, now))
			writeJSON("todos", view.Todos(r))
			writeJSON("checkpoints", view.Checkpoints(r))
			writeJSON("questions", view.Questions(r, now, l.Blob))
			rows, left := view.LoopTree(r, view.TreeOptions{Now: now})
			writeJSON("loops", rows)
			writeJSON("left", left)
			writeJSON("why", view.Why(r))
			write("tree", []byte(view.TreeText(r, view.TreeOptions{Now: now, Width: 100})))
			write("tasks", []byte(view.TasksText(r, now, 100)))
			write("signals", []byte(view.SignalsText(r, 100)))
		}
		r := view.New()
		for _, e := range l.Events {
			r.Apply(e)
			d, err := view.Document(e, r, l.Blob)
			if err != nil {
				tb.Fatal(err)
			}
			writeJSON("document", d)
		}
		return out.Bytes()
	})
}
