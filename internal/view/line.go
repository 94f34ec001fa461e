package view

import (
	"pawl"
	"pawl/internal/plain"
)

// Line returns an event as one line of a log, without its time. What happens in a
// loop with a task of its own is told behind the task's id. The run has had the
// event applied.
func Line(e pawl.Event, r *Run, blobs Blobs) string {
	t := teller{e, r, r.loop(e.Loop), blobs}
	return plain.Line(r.lead(t.l)+t.tell(), 0)
}

// teller puts one event into words.
type teller struct {
	e     pawl.Event
	r     *Run
	l     *Loop // the event's loop, or nil
	blobs Blobs
}
