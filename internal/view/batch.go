package view

import (
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// loopBatches is the batches of a loop.
type loopBatches struct {
	Batches []*Batch // oldest first
}

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

// why returns what was objected, at most so many bytes: of a review its feedback.
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

// batch finds a batch by its number, or nil.
func (l *Loop) batch(n int) *Batch {
	if l == nil {
		return nil
	}
	for i := len(l.Batches) - 1; i >= 0; i-- {
		if l.Batches[i].N == n {
			return l.Batches[i]
		}
	}
	return nil
}

// underWay returns the batch that has not ended, or nil.
func (l *Loop) underWay() *Batch {
	if l == nil {
		return nil
	}
	if n := len(l.Batches); n > 0 && l.Batches[n-1].Ended == nil && !l.Batches[n-1].abandoned {
		return l.Batches[n-1]
	}
	return nil
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

func scaffold(is bool) string {
	if is {
		return "scaffold, "
	}
	return ""
}

// judgedWord returns a batch's verdict on a task as reviews write it.
func judgedWord(v pawl.Verdict) string {
	switch v {
	case pawl.VerdictPass:
		return "APPROVED"
	case pawl.VerdictSkip:
		return "DROPPED"
	}
	return "CHANGES"
}

// cameOut returns how many of a batch's tasks were approved, and how many it leaves unfinished, as those that
// wait for a person.
func (b *Batch) cameOut(end *pawl.BatchEnded) string {
	s := fmt.Sprintf("%d of %d approved", end.Approved, end.Attempted)
	if b != nil && len(b.Tasks) > end.Attempted {
		s += fmt.Sprintf(", %d unfinished", len(b.Tasks)-end.Attempted)
	}
	return s
}

// head returns how a batch came out, in one line.
func (b *Batch) head() string {
	s := fmt.Sprintf("batch %d: ", b.N)
	switch {
	case b.Ended != nil:
		s += b.cameOut(&b.Ended.BatchEnded)
	case b.abandoned:
		s += "left by a rollback"
	default:
		s += "active"
	}
	if b.Scaffold {
		s += ", scaffold"
	}
	return s
}

// text returns the same with what was not approved.
func (b *Batch) text() string {
	s := b.head()
	var red []string
	for _, j := range b.Verdicts {
		if !j.Approved() {
			red = append(red, fmt.Sprintf("%s: %s%s", dashed(j.ID), j.By, because(plain.Line(j.Reason, 100))))
		}
	}
	if len(red) > 0 {
		s += " · changes wanted: " + some(red)
	}
	return s
}

// applyBatch folds the events of batches.
func (r *Run) applyBatch(l *Loop, e pawl.Event) {
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
	}
}

func (t teller) tellBatch() string {
	plan := t.l.Plan()
	switch b := t.e.Body.(type) {
	case *pawl.BatchStarted:
		return fmt.Sprintf("Batch %d: %s%s: %s", b.N, scaffold(b.Scaffold), count(len(b.Tasks), "task"), plan.ids(b.Tasks))
	case *pawl.TaskJudged:
		return fmt.Sprintf("Batch %d: %s %s (%s)%s", b.Batch, dashed(plan.ids([]int{b.Task})), judgedWord(b.Verdict), b.By,
			because((&Judged{TaskJudged: *b}).why(t.blobs, 200)))
	case *pawl.BatchEnded:
		return fmt.Sprintf("Batch %d ended: %s", b.N, t.l.batch(b.N).cameOut(b))
	}
	return ""
}

func (k *Look) lookBatch(e pawl.Event) {
	if b, ok := e.Body.(*pawl.TaskJudged); ok {
		k.Tone = verdictTone(b.Verdict)
	}
}
