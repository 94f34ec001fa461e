package view

import (
	"slices"
	"time"

	"pawl"
)

// keptProblems is how many problems a run shows.
const keptProblems = 20

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

// problem returns a mark that is also kept among the run's problems.
func (r *Run) problem(e pawl.Event, format string, args ...any) Mark {
	m := mark(e, format, args...)
	if r.Problems = append(r.Problems, m); len(r.Problems) > keptProblems {
		r.Problems = slices.Delete(r.Problems, 0, 1)
	}
	return m
}
