package view

import (
	"fmt"

	"pawl"
)

// Fork is where a run was forked from.
type Fork struct {
	pawl.Forked
	Of  pawl.RunID
	At  pawl.Seq // the last event they have in common
	Seq pawl.Seq
}

// forked leaves behind what is the other run's: what was under way, what was
// spent, and its questions.
func (r *Run) forked(e pawl.Event, b *pawl.Forked) {
	r.Fork = &Fork{Forked: *b, Of: r.Start.ForkOf, At: r.Start.ForkAt, Seq: e.Seq}
	r.open, r.Cost, r.Tokens, r.lost, r.Alive = nil, 0, 0, Spending{}, 0
	r.stops, r.since, r.Head, r.Began = stops{}, e.Seq, b.Commit, e.Time
	r.forkRoot(e)
	r.Status, r.Outcome, r.Reason = pawl.StatusRunning, "", ""
	r.moved = mark(e, "none yet: the run was forked at commit %s", short(b.Commit))
	for _, q := range r.OpenQuestions() {
		q.Withdrawn = &pawl.QuestionWithdrawn{N: q.N, Reason: "a fork does not inherit questions"}
	}
}

// forkRoot lets the root loop go on. One that was coming to its end, or had done so,
// does again what it did not reach, as one that is resumed; what had succeeded is
// tried once more.
func (r *Run) forkRoot(e pawl.Event) {
	l := r.root()
	if l == nil {
		return
	}
	it := l.last()
	ended := it != nil && it.End != nil
	over := l.End != nil || r.Status == pawl.StatusStopping || ended && it.End.Outcome != ""
	if over {
		r.retry(l, e)
		if l.Plan() == nil && ended && it.End.Outcome.Succeeded() {
			l.freed = it.N
		}
	}
	r.reopen(l, e)
}

func (t teller) forked(b *pawl.Forked) string {
	s := "Forked"
	if of := t.r.Start.ForkOf; of != "" {
		s += fmt.Sprintf(" from %s at event %d", of, t.r.Start.ForkAt)
	}
	s += ": commit " + short(b.Commit)
	if b.Lost > 0 {
		s += fmt.Sprintf(" · %s after it left out", count(b.Lost, "event"))
	}
	if b.Tokens > 0 || b.Cost > 0 {
		s += fmt.Sprintf(" · the other run had spent %s, %s", t.r.money(b.Cost), count(int(b.Tokens), "token"))
	}
	return s
}

// applyFork folds that the run is a fork.
func (r *Run) applyFork(e pawl.Event) {
	if b, ok := e.Body.(*pawl.Forked); ok {
		r.forked(e, b)
	}
}

func (t teller) tellFork() string {
	if b, ok := t.e.Body.(*pawl.Forked); ok {
		return t.forked(b)
	}
	return ""
}
