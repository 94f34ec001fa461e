package view

import (
	"fmt"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// CheckpointList is where a run's branch can go back to, for other programs. Its
// texts are safe to print. Fields are added, never renamed.
type CheckpointList struct {
	Run pawl.RunID `json:"run"`
	// At is the checkpoint the branch was at last, LastGood the newest good one on
	// the way there, Best the one of them with the most tasks approved, then the most
	// tests that pass, then the newest; 0 = there is none.
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
	Event  pawl.Seq        `json:"event"`
	Time   time.Time       `json:"time"`
}

// Checkpoints are those of the run's root loop.
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
	kept := map[*Checkpoint]bool{}
	for _, k := range l.line() {
		kept[k] = true
	}
	for _, k := range l.Checkpoints {
		out.Checkpoints = append(out.Checkpoints, CheckpointRow{N: k.N, Label: plain.Line(k.Label, 0), Batch: k.Batch, Plan: k.Plan,
			Commit: commit(k.Commit), Ref: plain.Line(k.Ref, 0), Good: k.Good, LastGood: k == good, Best: k == best, Left: !kept[k],
			Approved: k.Approved, Passing: k.Passing, Event: k.Seq, Time: k.Time})
	}
	for _, b := range l.Rollbacks {
		row := RollbackRow{To: b.To, Reason: plain.Line(b.Reason, 0), By: plain.Line(b.By, 0), Reopen: append([]string{}, lines(b.Reopen)...),
			Event: b.Seq, Time: b.Time}
		if b.Done != nil {
			row.Done, row.Commit = true, commit(b.Done.Commit)
		}
		out.Rollbacks = append(out.Rollbacks, row)
	}
	return out
}

// marks are what distinguishes a checkpoint.
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

// CheckpointsText is the list for people, no wider than width where that is not zero.
func CheckpointsText(r *Run, width int) string {
	list := Checkpoints(r)
	var t text
	t.line("%s  %s", string(r.ID), r.Start.Title)
	if len(list.Checkpoints) == 0 {
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
			tests = thousands(int64(k.Passing))
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

// text is a rollback in one line.
func (b RollbackRow) text() string {
	s := "going back"
	if b.Done {
		s = "went back"
	}
	s += fmt.Sprintf(" to checkpoint %d%s%s", b.To, by(b.By), because(b.Reason))
	if len(b.Reopen) > 0 {
		s += " · open again: " + some(b.Reopen)
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
		return fmt.Sprintf("checkpoint %d (%s)", n, k.Label)
	}
	if n == 0 {
		return "the last good checkpoint"
	}
	return fmt.Sprintf("checkpoint %d", n)
}
