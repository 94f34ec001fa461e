package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// loopCheckpoints is where a loop's branch can go back to, and where it did.
type loopCheckpoints struct {
	Checkpoints []*Checkpoint // oldest first
	Rollbacks   []*Rollback   // oldest first
	at          *Checkpoint   // the one the branch was at last; nil before the first
}

// CheckpointList is where a run's branch can go back to, for other programs. Its
// texts are safe to print. Fields are added, never renamed.
type CheckpointList struct {
	Run pawl.RunID `json:"run"`
	// At is the checkpoint the branch was at last, LastGood the newest good one on
	// the way there, Best the one of them with the most tasks approved, then the most
	// tests that pass, then the newest; 0 = there is none. A run without children has its attempts
	// for checkpoints, and Best is its best verified one.
	At       int `json:"at"`
	LastGood int `json:"last_good"`
	Best     int `json:"best"`
	// Checkpoints are in the order they were made.
	Checkpoints []CheckpointRow `json:"checkpoints"`
	Rollbacks   []RollbackRow   `json:"rollbacks"`
}

// CheckpointRow is a checkpoint in a [CheckpointList].
type CheckpointRow struct {
	N      int             `json:"n"`
	Label  string          `json:"label"` // what it was made after: scaffold, or batch-N
	Batch  int             `json:"batch"`
	Plan   int             `json:"plan_version"`
	Commit pawl.CommitHash `json:"commit"`
	Ref    string          `json:"ref"`
	// Good reports that all its work was approved and the batches progressed.
	Good     bool `json:"good"`
	LastGood bool `json:"is_last_good"`
	Best     bool `json:"is_best"`
	// Left reports that a rollback went back behind it.
	Left     bool      `json:"left"`
	Approved int       `json:"approved"` // tasks
	Passing  int       `json:"passing"`  // tests; 0 = none, or not known
	Event    pawl.Seq  `json:"event"`
	Time     time.Time `json:"time"`
}

// RollbackRow is a way back in a [CheckpointList].
type RollbackRow struct {
	To     int             `json:"to"`
	Reason string          `json:"reason"`
	By     string          `json:"by,omitempty"` // empty = the monitor
	Done   bool            `json:"done"`
	Commit pawl.CommitHash `json:"commit,omitempty"`
	Reopen []string        `json:"reopen"` // ids of the tasks that are open again
	// Ending is how the run was about to end when it went back to its best state; empty = it did not end.
	Ending pawl.Outcome `json:"ending,omitempty"`
	Event  pawl.Seq     `json:"event"`
	Time   time.Time    `json:"time"`

	where string // in words
}

// Checkpoints returns those of the run's root loop.
func Checkpoints(r *Run) CheckpointList {
	out := CheckpointList{Run: r.ID, Checkpoints: []CheckpointRow{}, Rollbacks: []RollbackRow{}}
	l := r.root()
	if l == nil {
		return out
	}
	number := func(k *Checkpoint) int {
		if k == nil {
			return 0
		}
		return k.N
	}
	good, best := l.lastGood(), l.best()
	out.At, out.LastGood, out.Best = number(l.at), number(good), number(best)
	if it := l.bestIteration(); it != nil {
		out.Best = it.N
	}
	kept := map[*Checkpoint]bool{}
	for _, k := range l.line() {
		kept[k] = true
	}
	for _, k := range l.Checkpoints {
		out.Checkpoints = append(out.Checkpoints, CheckpointRow{N: k.N, Label: plain.Line(k.Label, 0), Batch: k.Batch, Plan: k.Plan,
			Commit: commit(k.Commit), Ref: plain.Line(k.Ref, 0), Good: k.Good, LastGood: k == good, Best: k == best, Left: !kept[k],
			Approved: k.Approved, Passing: k.Passing, Event: k.Seq, Time: k.Time})
	}
	if l.isAlone() {
		l.attemptRows(&out)
	}
	for _, b := range l.Rollbacks {
		row := RollbackRow{To: b.To, Ending: b.Ending, Reason: plain.Line(b.Reason, 0), By: plain.Line(b.By, 0), Reopen: append([]string{}, lines(b.Reopen)...),
			Event: b.Seq, Time: b.Time, where: fmt.Sprintf("checkpoint %d", b.To)}
		if l.isAlone() {
			row.where = l.stretch(b.To)
		}
		if b.Done != nil {
			row.Done, row.Commit = true, commit(b.Done.Commit)
		}
		out.Rollbacks = append(out.Rollbacks, row)
	}
	return out
}

// attemptRows adds the attempts of a loop without children that a person can take it back to.
func (l *Loop) attemptRows(out *CheckpointList) {
	for _, it := range l.Iterations {
		if it.End == nil || it.Commit == nil {
			continue
		}
		row := CheckpointRow{N: it.N, Label: l.stretch(it.N), Commit: commit(it.Commit.Commit), Good: it.End.Decision == pawl.DecideComplete || it.End.Mends || it.End.Unproven,
			Best: it.N == out.Best, Event: it.EndSeq, Time: it.Ended}
		for _, g := range it.Gates {
			if g.Kind == pawl.GateTests && g.judge != pawl.JudgeGoal {
				row.Passing += g.Passed
			}
		}
		out.Checkpoints, out.At = append(out.Checkpoints, row), it.N
	}
	if back := l.backAt(); back != nil {
		out.At = back.N
	}
	for i := range out.Checkpoints {
		if k := &out.Checkpoints[i]; k.Good {
			out.LastGood = k.N
		}
	}
	for i := range out.Checkpoints {
		out.Checkpoints[i].LastGood = out.Checkpoints[i].N == out.LastGood
	}
}

// marks returns what distinguishes a checkpoint.
func (k CheckpointRow) marks() string {
	s := ""
	add := func(is bool, word string) {
		if !is {
			return
		}
		if s != "" {
			s += ", "
		}
		s += word
	}
	add(k.Good, "good")
	add(k.LastGood, "last good")
	add(k.Best, "best verified")
	add(k.Left, "left by a rollback")
	return s
}

// CheckpointsText returns the list for people, no wider than width where that is not zero.
func CheckpointsText(r *Run, width int) string {
	list := Checkpoints(r)
	var t text
	t.line("%s  %s", string(r.ID), r.Start.Title)
	switch l := r.root(); {
	case l.isAlone():
		if it := l.bestIteration(); it == nil {
			t.line("  no attempt was judged in full yet")
		} else {
			t.line("  attempt %d is the best verified one, in commit %s (event %d)", it.N, short(it.End.Commit), it.EndSeq)
		}
		if len(list.Checkpoints) == 0 {
			return t.String()
		}
	case len(list.Checkpoints) == 0:
		t.line("  no checkpoint yet")
		return t.String()
	}
	t.line("")
	list.table(&t, width)
	return t.String()
}

func (list *CheckpointList) table(t *text, width int) {
	rows := [][]string{{" ", "CHECKPOINT", "AFTER", "COMMIT", "APPROVED", "TESTS", "EVENT", ""}}
	for _, k := range list.Checkpoints {
		here := " "
		if k.N == list.At {
			here = "→"
		}
		tests := "-"
		if k.Passing > 0 {
			tests = pawl.Thousands(int64(k.Passing))
		}
		rows = append(rows, []string{here, fmt.Sprint(k.N), dashed(k.Label), short(k.Commit), fmt.Sprint(k.Approved), tests, fmt.Sprint(k.Event), k.marks()})
	}
	for _, row := range Columns(rows, width) {
		t.WriteString(row + "\n")
	}
	if len(list.Rollbacks) > 0 {
		t.line("")
	}
	for _, b := range list.Rollbacks {
		t.line("  %s", b.text())
	}
}

// text returns a rollback in one line.
func (b RollbackRow) text() string {
	s := "going back"
	if b.Done {
		s = "went back"
	}
	s += fmt.Sprintf(" to %s%s%s", b.where, by(b.By), because(b.Reason))
	switch {
	case len(b.Reopen) > 0:
		s += " · open again: " + some(b.Reopen)
	case b.Done && strings.HasPrefix(b.where, "checkpoint"):
		s += " · nothing that was approved is undone"
	}
	return s
}

// checkpointName names a checkpoint by its number and what it was made after, or the attempt that a
// loop without children goes back to.
func (l *Loop) checkpointName(n int) string {
	if l.isAlone() {
		return l.stretch(n)
	}
	if k := l.Checkpoint(n); k != nil && k.Label != "" {
		return fmt.Sprintf("checkpoint %d (%s)", n, k.After())
	}
	if n == 0 {
		return "the last good checkpoint"
	}
	return fmt.Sprintf("checkpoint %d", n)
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
	if l.Branch == "" || l.Branch == r.Start.WorkRef() {
		r.Head = b.Commit
	}
	r.moved = r.problem(e, "%sthe branch went back to %s: %s", r.lead(l), l.checkpointName(b.To), b.Reason)
}

// lastRollback returns the newest rollback after which the loop has not gone to work again, or nil.
func (l *Loop) lastRollback() *Rollback {
	if l == nil || len(l.Rollbacks) == 0 {
		return nil
	}
	back := l.Rollbacks[len(l.Rollbacks)-1]
	if it := l.last(); l.isAlone() && it != nil && max(it.Seq, it.again) > back.Seq {
		return nil
	}
	return back
}

// goingBack returns the rollback that is called and not done, or nil. One of attempts is over as
// well when the next attempt starts, because somebody else has moved the branch meanwhile.
func (l *Loop) goingBack() *Rollback {
	if back := l.lastRollback(); back != nil && back.Done == nil {
		return back
	}
	return nil
}

// backAt returns the attempt that the branch is back at, or nil.
func (l *Loop) backAt() *Iteration {
	if back := l.lastRollback(); back != nil && back.Done != nil && l.isAlone() {
		return l.iteration(back.To)
	}
	return nil
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

// line returns the checkpoints that lead to where the branch is, newest first: those
// a rollback went back behind are not among them.
func (l *Loop) line() []*Checkpoint {
	var out []*Checkpoint
	for k := l.at; k != nil; k = k.before {
		out = append(out, k)
	}
	return out
}

// lastGood returns the newest good checkpoint on the way to where the branch is, or nil.
func (l *Loop) lastGood() *Checkpoint {
	for _, k := range l.line() {
		if k.Good {
			return k
		}
	}
	return nil
}

// best returns the checkpoint on the way to where the branch is that has the most tasks
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

func (t teller) rolledBack(b *pawl.RolledBack) string {
	if t.l.isAlone() {
		return fmt.Sprintf("The branch is as after %s, in commit %s", t.l.checkpointName(b.To), short(b.Commit))
	}
	s := fmt.Sprintf("Back at %s, commit %s%s", t.l.checkpointName(b.To), short(b.Commit), because(b.Reason))
	if len(b.Reopen) > 0 {
		return s + " · open again: " + t.l.Plan().ids(b.Reopen)
	}
	return s + " · nothing that was approved is undone"
}

// passing says how many tests pass.
func passing(n int) string {
	if n == 1 {
		return "1 test passes"
	}
	return count(n, "test") + " pass"
}

// checkpointText returns a checkpoint in one line.
func checkpointText(k *pawl.Checkpoint) string {
	s := fmt.Sprintf("checkpoint %d", k.N)
	if k.Label != "" {
		s += " (" + k.After() + ")"
	}
	s += fmt.Sprintf(" at %s: %s approved", short(k.Commit), count(k.Approved, "task"))
	if k.Passing > 0 {
		s += fmt.Sprintf(", %s", passing(k.Passing))
	}
	if k.Good {
		s += ", good"
	}
	return s
}

// applyCheckpoint folds the events of checkpoints and of the way back to one; f is the effect
// that the event answers, or nil.
func (r *Run) applyCheckpoint(l *Loop, e pawl.Event, f *pawl.Effect) {
	switch b := e.Body.(type) {
	case *pawl.CheckpointMarked:
		if do, ok := doOf[*pawl.MarkCheckpoint](f); ok {
			l.at = &Checkpoint{Checkpoint: do.Checkpoint, Ref: do.Ref, Seq: e.Seq, Time: e.Time, before: l.at}
			l.Checkpoints = append(l.Checkpoints, l.at)
		}
	case *pawl.RollbackCalled:
		l.Rollbacks = append(l.Rollbacks, &Rollback{RollbackCalled: *b, Seq: e.Seq, Time: e.Time})
		if x := l.underWay(); x != nil {
			x.abandoned = true
			l.leave(x)
		}
	case *pawl.Restored:
		if do, ok := doOf[*pawl.Restore](f); ok && do.Branch == r.Start.WorkRef() {
			r.Head = b.Commit
		}
	case *pawl.RolledBack:
		r.rollBack(l, e, b)
	}
}

func (t teller) tellCheckpoint() string {
	switch b := t.e.Body.(type) {
	case *pawl.CheckpointMarked:
		do, ok := doOf[*pawl.MarkCheckpoint](t.r.closed)
		if !ok || t.r.closed.ID != b.Effect {
			return "Checkpoint kept"
		}
		return capital(checkpointText(&do.Checkpoint))
	case *pawl.RollbackCalled:
		if b.Ending != "" {
			return fmt.Sprintf("Delivers %s, the best verified state: the attempts after it stay in the history", t.l.checkpointName(b.To))
		}
		s := fmt.Sprintf("%s takes the branch back to %s%s", cmp.Or(b.By, "The monitor"), t.l.checkpointName(b.To), because(b.Reason))
		if !t.l.isAlone() {
			s += " · what runs is stopped, its work saved"
		}
		return s
	case *pawl.Restored:
		return "commit " + short(b.Commit) + " brings the branch back to an earlier state"
	case *pawl.RolledBack:
		return t.rolledBack(b)
	}
	return ""
}

func (k *Look) lookCheckpoint(e pawl.Event) {
	switch e.Body.(type) {
	case *pawl.RollbackCalled, *pawl.RolledBack:
		k.Tone = ToneWarning
	case *pawl.Restored:
		k.Level = Detail
	}
}
