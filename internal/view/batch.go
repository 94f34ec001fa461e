package view

import (
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// Batch is a round of a loop's children that is judged as a whole.
type Batch struct {
	pawl.BatchStarted
	Seq       pawl.Seq
	Began     time.Time
	Verdicts  []*Judged       // the newest of each of its tasks, in the order they were first judged
	Health    *HealthVerdict  // what the monitor made of it; nil before that
	Ended     *BatchEnding    // nil while it is under way
	ids       []string        // of its tasks
	landed    map[string]bool // ids of tasks whose approved work is in the loop's branch
	abandoned bool            // a rollback came before its end
}

// Judged is what a batch made of one of its tasks.
type Judged struct {
	pawl.TaskJudged
	ID  string // of the task
	Seq pawl.Seq
}

// why is what was objected, at most so many bytes: of a review its feedback.
func (j *Judged) why(blobs Blobs, most int) string {
	if j.By == "review" && !j.Approved() {
		if text := blobs.text(j.Evidence); text != "" && text[0] != '{' {
			var parts []string
			for l := range strings.Lines(text) {
				if l = strings.TrimSpace(l); l != "" {
					parts = append(parts, l)
				}
			}
			return plain.Line(strings.Join(parts, " · "), most)
		}
	}
	return j.Reason
}

// Approved reports whether the task's work may be in the parent's branch.
func (j *Judged) Approved() bool { return j != nil && j.Verdict == pawl.VerdictPass }

// BatchEnding is how a batch came out.
type BatchEnding struct {
	pawl.BatchEnded
	Seq  pawl.Seq
	Time time.Time
}

// HealthVerdict is what the monitor said, and who let the run go on in spite of it.
type HealthVerdict struct {
	pawl.HealthJudged
	Seq        pawl.Seq
	Time       time.Time
	Overridden *pawl.HealthOverridden // nil when nobody did
	after      string                 // such as "batch 4" or "attempt 4"
}

// now is what it comes to: what a person overrode does not count.
func (h *HealthVerdict) now() pawl.Health {
	if h.Overridden != nil {
		return pawl.HealthProgressing
	}
	return h.Health
}

// Checkpoint is a state of a loop's branch that it can go back to.
type Checkpoint struct {
	pawl.Checkpoint
	Ref  string
	Seq  pawl.Seq // of the event that says it is kept
	Time time.Time

	before *Checkpoint // what the branch was at before
}

// Rollback is a way back to a checkpoint.
type Rollback struct {
	pawl.RollbackCalled
	Seq  pawl.Seq
	Time time.Time
	// Done says what became of it; nil while it is under way.
	Done    *pawl.RolledBack
	DoneSeq pawl.Seq
	Reopen  []string // ids of the tasks that are open again
}

// Fork is where a run was forked from.
type Fork struct {
	pawl.Forked
	Of  pawl.RunID
	At  pawl.Seq // the last event they have in common
	Seq pawl.Seq
}

// applyBatch folds the events of batches. It reports whether the event is one of them.
func (r *Run) applyBatch(l *Loop, e pawl.Event) bool {
	switch b := e.Body.(type) {
	case *pawl.BatchStarted:
		r.startBatch(l, e, b)
	case *pawl.TaskJudged:
		r.judgeTask(l, e, b)
	case *pawl.BatchEnded:
		if x := l.batch(b.N); x != nil {
			x.Ended = &BatchEnding{*b, e.Seq, e.Time}
			l.leave(x)
		}
	case *pawl.HealthJudged:
		h := &HealthVerdict{HealthJudged: *b, Seq: e.Seq, Time: e.Time, after: l.stretch(b.Batch)}
		l.Healths = append(l.Healths, h)
		if x := l.batch(b.Batch); x != nil {
			x.Health = h
		}
	case *pawl.HealthOverridden:
		if h := l.health(); h != nil {
			h.Overridden = b
		}
	case *pawl.RollbackCalled:
		l.Rollbacks = append(l.Rollbacks, &Rollback{RollbackCalled: *b, Seq: e.Seq, Time: e.Time})
		if x := l.underWay(); x != nil {
			x.abandoned = true
			l.leave(x)
		}
	case *pawl.RolledBack:
		r.rollBack(l, e, b)
	case *pawl.TaskHeld:
		p := l.Plan()
		l.each([]int{b.Task}, func(t *Task) {
			t.Held, t.HeldBehind = b, p.ids([]int{b.Behind})
		})
	default:
		return false
	}
	return true
}

func (r *Run) startBatch(l *Loop, e pawl.Event, b *pawl.BatchStarted) {
	x := &Batch{BatchStarted: *b, Seq: e.Seq, Began: e.Time, landed: map[string]bool{}}
	l.each(b.Tasks, func(t *Task) {
		t.Batch, t.Held, t.HeldBehind = b.N, nil, ""
		t.begun = t.begun || t.Status != pawl.TaskPassed
		x.ids = append(x.ids, t.ID)
	})
	l.Batches = append(l.Batches, x)
}

// leave says that a batch is no more: of its tasks those that nobody works on
// have not started.
func (l *Loop) leave(x *Batch) {
	for _, id := range x.ids {
		if t := l.Plan().Task(id); t != nil && t.Status == pawl.TaskPending {
			t.begun = false
		}
	}
}

// fenced reports whether a child had to leave off: its parent went back, made its
// plan anew, was stopped by a person, or held its task back. Its task is to be
// done anew.
func (r *Run) fenced(l *Loop, t *Task) bool {
	p := r.loop(l.Parent)
	if p == nil || !r.inBatches(p) {
		return false
	}
	return p.goingBack() != nil || p.calling != nil || t.Held != nil || r.givenUp(p)
}

// givenUp reports whether a person said of a loop's health that it is to stop.
func (r *Run) givenUp(l *Loop) bool {
	for i := len(r.Questions) - 1; i >= 0; i-- {
		if q := r.Questions[i]; q.Loop == l && q.Kind == pawl.AskHealth {
			return q.Answered != nil && q.Answered.Choice == "stop"
		}
	}
	return false
}

func (r *Run) judgeTask(l *Loop, e pawl.Event, b *pawl.TaskJudged) {
	j := &Judged{TaskJudged: *b, Seq: e.Seq}
	l.each([]int{b.Task}, func(t *Task) {
		if j.ID, t.Judged = t.ID, j; b.Verdict == pawl.VerdictSkip {
			t.move(e, pawl.TaskDropped, "", b.Reason)
		}
	})
	x := l.batch(b.Batch)
	if x == nil {
		return
	}
	for i, old := range x.Verdicts {
		if old.Task == b.Task {
			x.Verdicts[i] = j
			return
		}
	}
	x.Verdicts = append(x.Verdicts, j)
}

// land says that the loop's branch has what its batch has approved so far.
func (l *Loop) land() {
	if x := l.underWay(); x != nil {
		for _, j := range x.Verdicts {
			x.landed[j.ID] = x.landed[j.ID] || j.Approved()
		}
	}
}

// isAlone reports whether the loop does its work itself: its kind has no children.
func (l *Loop) isAlone() bool { return l != nil && l.alone }

// stretch names what the monitor looks at: a batch, or an attempt of a loop without children.
func (l *Loop) stretch(n int) string {
	if l.isAlone() {
		return fmt.Sprintf("attempt %d", n)
	}
	return fmt.Sprintf("batch %d", n)
}

func (r *Run) rollBack(l *Loop, e pawl.Event, b *pawl.RolledBack) {
	n := len(l.Rollbacks)
	if n == 0 || l.Rollbacks[n-1].Done != nil {
		l.Rollbacks = append(l.Rollbacks, &Rollback{RollbackCalled: pawl.RollbackCalled{To: b.To, Reason: b.Reason, By: b.By}, Seq: e.Seq, Time: e.Time})
		n = len(l.Rollbacks)
	}
	back := l.Rollbacks[n-1]
	back.Done, back.DoneSeq = b, e.Seq
	l.each(b.Reopen, func(t *Task) {
		t.move(e, pawl.TaskPending, "", "")
		t.begun, t.Judged = false, nil
		back.Reopen = append(back.Reopen, t.ID)
	})
	if x := l.underWay(); x != nil {
		x.abandoned = true
	}
	l.at = l.Checkpoint(b.To)
	if l.Branch == "" || l.Branch == r.Start.Branch {
		r.Head = b.Commit
	}
	r.moved = r.problem(e, "the branch went back to %s: %s", l.checkpointName(b.To), b.Reason)
}

// kept folds what was done to a branch besides merging.
func (r *Run) kept(l *Loop, e pawl.Event, f *pawl.Effect) {
	switch b := e.Body.(type) {
	case *pawl.CheckpointMarked:
		if do, ok := doOf[*pawl.MarkCheckpoint](f); ok {
			l.at = &Checkpoint{Checkpoint: do.Checkpoint, Ref: do.Ref, Seq: e.Seq, Time: e.Time, before: l.at}
			l.Checkpoints = append(l.Checkpoints, l.at)
		}
	case *pawl.Restored:
		if do, ok := doOf[*pawl.Restore](f); ok && do.Branch == r.Start.Branch {
			r.Head = b.Commit
		}
	case *pawl.Recorded:
		if do, ok := doOf[*pawl.WriteRecords](f); ok && do.Branch == r.Start.Branch {
			r.Head = b.Commit
		}
	}
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

// batch finds a batch by its number, or nil.
func (l *Loop) batch(n int) *Batch {
	for i := len(l.Batches) - 1; i >= 0; i-- {
		if l.Batches[i].N == n {
			return l.Batches[i]
		}
	}
	return nil
}

// underWay is the batch that has not ended, or nil.
func (l *Loop) underWay() *Batch {
	if l == nil {
		return nil
	}
	if n := len(l.Batches); n > 0 && l.Batches[n-1].Ended == nil && !l.Batches[n-1].abandoned {
		return l.Batches[n-1]
	}
	return nil
}

// health is what the monitor said last, or nil.
func (l *Loop) health() *HealthVerdict {
	if l == nil || len(l.Healths) == 0 {
		return nil
	}
	return l.Healths[len(l.Healths)-1]
}

// goingBack is the rollback that is called and not done, or nil.
func (l *Loop) goingBack() *Rollback {
	if l == nil || len(l.Rollbacks) == 0 || l.Rollbacks[len(l.Rollbacks)-1].Done != nil {
		return nil
	}
	return l.Rollbacks[len(l.Rollbacks)-1]
}

// Checkpoint finds a checkpoint by its number, or nil.
func (l *Loop) Checkpoint(n int) *Checkpoint {
	if l == nil {
		return nil
	}
	for i := len(l.Checkpoints) - 1; i >= 0; i-- {
		if l.Checkpoints[i].N == n {
			return l.Checkpoints[i]
		}
	}
	return nil
}

// line are the checkpoints that lead to where the branch is, newest first: those
// a rollback went back behind are not among them.
func (l *Loop) line() []*Checkpoint {
	var out []*Checkpoint
	for k := l.at; k != nil; k = k.before {
		out = append(out, k)
	}
	return out
}

// lastGood is the newest good checkpoint on the way to where the branch is, or nil.
func (l *Loop) lastGood() *Checkpoint {
	for _, k := range l.line() {
		if k.Good {
			return k
		}
	}
	return nil
}

// best is the checkpoint on the way to where the branch is that has the most tasks
// approved, then the most tests that pass, then is the newest; nil when there is none.
func (l *Loop) best() *Checkpoint {
	var best *Checkpoint
	for _, k := range l.line() {
		if best == nil || k.Approved > best.Approved || k.Approved == best.Approved && k.Passing > best.Passing {
			best = k
		}
	}
	return best
}

// inBatches reports whether the loop's children are judged in batches: its recipe
// says so, or a batch has begun.
func (r *Run) inBatches(l *Loop) bool {
	if l == nil {
		return false
	}
	if len(l.Batches) > 0 {
		return true
	}
	k := r.Recipe.Kind(l.Kind)
	return k != nil && k.Children.Groups()
}

// recoveries counts how often a health other than progressing led to something
// besides a question.
func (l *Loop) recoveries() int {
	n := 0
	for _, h := range l.Healths {
		for _, rec := range h.Recoveries {
			if rec != pawl.RecoverAsk {
				n++
				break
			}
		}
	}
	return n
}
