package view

import (
	"time"

	"pawl"
)

// pass lets the time of an event pass.
func (r *Run) pass(e pawl.Event) {
	if r.Seq == 0 {
		r.ID, r.Began, r.Updated = e.Run, e.Time, e.Time
	}
	switch e.Body.(type) {
	case *pawl.RunStarted, *pawl.Recovered, *pawl.RunResumed: // nobody had the run before
	default:
		if d := e.Time.Sub(r.Updated); d > 0 && r.Status != pawl.StatusPaused && r.Status != pawl.StatusEnded && !r.waitsForPeople() {
			r.Alive += d
		}
	}
	r.Seq = e.Seq
	if e.Time.After(r.Updated) {
		r.Updated = e.Time
	}
}

// waitsForPeople reports whether nothing but answers is waited for: such time
// does not count.
func (r *Run) waitsForPeople() bool { return len(r.open) == 0 && len(r.OpenQuestions()) > 0 }

// AliveAt returns how long a driver has had the run at a time after its last event.
func (r *Run) AliveAt(now time.Time) time.Duration {
	if r.Status != pawl.StatusRunning && r.Status != pawl.StatusStopping || r.waitsForPeople() {
		return r.Alive
	}
	return r.Alive + max(0, now.Sub(r.Updated))
}

// mark points at an event.
func mark(e pawl.Event, format string, args ...any) Mark {
	return Mark{e.Seq, e.Time, line(format, args...)}
}
