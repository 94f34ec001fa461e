package view

import (
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/pattern"
	"pawl/internal/plain"
)

// BatchRow is a batch in a [Summary]. Its texts are safe to print.
type BatchRow struct {
	N        int      `json:"n"`
	Scaffold bool     `json:"scaffold,omitempty"`
	Tasks    []string `json:"tasks"` // ids
	// State is under-way, ended, or left: a rollback came first.
	State     string       `json:"state"`
	Attempted int          `json:"attempted"`
	Approved  int          `json:"approved"`
	Verdicts  []VerdictRow `json:"verdicts"`
	Event     pawl.Seq     `json:"event"`
	Began     time.Time    `json:"began"`
	Ended     time.Time    `json:"ended,omitzero"`
}

// VerdictRow is what a batch made of a task.
type VerdictRow struct {
	Task     string    `json:"task"`    // its id
	Verdict  string    `json:"verdict"` // APPROVED or CHANGES
	By       string    `json:"by"`
	Reason   string    `json:"reason,omitempty"`
	Event    pawl.Seq  `json:"event"`
	Evidence pawl.Hash `json:"evidence,omitzero"`
}

// HealthRow is a verdict of the monitor.
type HealthRow struct {
	Batch      int             `json:"batch"`
	Health     pawl.Health     `json:"health"`
	Reason     string          `json:"reason"`
	Recoveries []pawl.Recovery `json:"recoveries"`
	Try        int             `json:"try,omitempty"`
	Max        int             `json:"max,omitempty"`
	// Overridden says that a person let the run go on in spite of it.
	Overridden bool      `json:"overridden,omitempty"`
	By         string    `json:"by,omitempty"`
	Override   string    `json:"override_reason,omitempty"`
	Event      pawl.Seq  `json:"event"`
	Time       time.Time `json:"time"`
}

// DecisionRow is a recorded decision.
type DecisionRow struct {
	N        int    `json:"n"`                  // its entry in the run's memory
	Learning int    `json:"learning,omitempty"` // its number among the task's learnings
	Title    string `json:"title"`
	Task     string `json:"task,omitempty"` // whose loop made it
}

// ForkRow says where a run was forked from.
type ForkRow struct {
	Of     pawl.RunID      `json:"of"`
	At     pawl.Seq        `json:"at"` // the last event they have in common
	Commit pawl.CommitHash `json:"commit"`
	Lost   int             `json:"lost,omitempty"` // later events, which are not part of it
	Cost   pawl.Micros     `json:"cost,omitempty"` // that the other run had spent
	Tokens int64           `json:"tokens,omitempty"`
	Event  pawl.Seq        `json:"event"`
}

// AskedRow is a question with what became of it.
type AskedRow struct {
	QuestionRow
	Gist
	State  string `json:"state"` // open, answered or withdrawn
	Choice string `json:"choice,omitempty"`
	Said   string `json:"said,omitempty"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"` // why it was withdrawn
}

func (b *Batch) row() BatchRow {
	row := BatchRow{N: b.N, Scaffold: b.Scaffold, Tasks: []string{}, State: "under-way", Verdicts: []VerdictRow{}, Event: b.Seq, Began: b.Began}
	row.Tasks = append(row.Tasks, lines(b.ids)...)
	for _, j := range b.Verdicts {
		row.Verdicts = append(row.Verdicts, VerdictRow{Task: plain.Line(j.ID, 0), Verdict: judgedWord(j.Verdict), By: plain.Line(j.By, 0),
			Reason: plain.Line(j.Reason, 0), Event: j.Seq, Evidence: j.Evidence})
	}
	switch {
	case b.Ended != nil:
		row.State, row.Attempted, row.Approved, row.Ended = "ended", b.Ended.Attempted, b.Ended.Approved, b.Ended.Time
	case b.abandoned:
		row.State = "left"
	}
	return row
}

func (h *HealthVerdict) row() HealthRow {
	row := HealthRow{Batch: h.Batch, Health: pawl.Health(plain.Line(string(h.Health), 0)), Reason: plain.Line(h.Reason, 0),
		Recoveries: []pawl.Recovery{}, Try: h.Try, Max: h.Max, Event: h.Seq, Time: h.Time}
	for _, rec := range h.Recoveries {
		row.Recoveries = append(row.Recoveries, pawl.Recovery(plain.Line(string(rec), 0)))
	}
	if o := h.Overridden; o != nil {
		row.Overridden, row.By, row.Override = true, plain.Line(o.By, 0), plain.Line(o.Reason, 0)
	}
	return row
}

func (f *Fork) row() *ForkRow {
	if f == nil {
		return nil
	}
	return &ForkRow{Of: pawl.RunID(plain.Line(string(f.Of), 0)), At: f.At, Commit: commit(f.Commit), Lost: f.Lost, Cost: f.Cost, Tokens: f.Tokens, Event: f.Seq}
}

func (r *Run) askedRow(q *Question, blobs Blobs) AskedRow {
	row := AskedRow{QuestionRow: r.QuestionRow(q), Gist: r.Gist(q, blobs), State: "open"}
	switch {
	case q.Answered != nil:
		row.State, row.Choice, row.Said, row.By = "answered", plain.Line(q.Answered.Choice, 0), plain.Line(q.Answered.Text, 0), plain.Line(q.Answered.By, 0)
	case q.Withdrawn != nil:
		row.State, row.Reason = "withdrawn", plain.Line(q.Withdrawn.Reason, 0)
	}
	return row
}

// recordNumber is what the title of a record begins with.
var recordNumber = pattern.Of(`^#*\s*([A-Z][A-Za-z -]* [0-9]+:)?\s*`)

// recordTitle returns a record's first line without its number.
func recordTitle(record string) string {
	title, _, _ := strings.Cut(strings.TrimSpace(record), "\n")
	return recordNumber.ReplaceAllString(title, "")
}

// decisions returns what the run remembers of what was decided.
func (r *Run) decisions(blobs Blobs) []DecisionRow {
	out := []DecisionRow{}
	for _, m := range r.Memory {
		if m.Kind != pawl.MemoryDecision || m.Forgotten {
			continue
		}
		out = append(out, DecisionRow{m.N, m.Learning, plain.Line(recordTitle(blobs.text(m.Text)), 160), plain.Line(m.Task, 0)})
	}
	return out
}

func (d DecisionRow) text() string {
	n := d.Learning
	if n == 0 {
		n = d.N
	}
	return fmt.Sprintf("%03d  %s%s", n, dashed(d.Title), by(d.Task))
}

// summarizeBatches adds to a summary what only runs with batches have.
func (r *Run) summarizeBatches(s *Summary, l *Loop) {
	for _, h := range l.Healths {
		s.Healths = append(s.Healths, h.row())
	}
	if !r.inBatches(l) {
		return
	}
	for _, b := range l.Batches {
		s.Batches = append(s.Batches, b.row())
	}
	list := Checkpoints(r)
	s.Checkpoints, s.Recoveries = &list, l.recoveries()
}

// showBatches returns what becomes of a loop's children that are judged in batches, or of the attempts
// of a loop without children.
func (r *Run) showBatches(t *text, l *Loop, blobs Blobs) {
	if !l.isAlone() && !r.inBatches(l) {
		return
	}
	if list := Todos(r); len(list.Todos) > 0 {
		t.line("")
		t.line("Todo: %s", list.summary())
		for _, x := range list.Todos {
			t.line("  %s", x.noted())
		}
	}
	section := func(name string, n int) bool {
		if n > 0 {
			t.line("")
			t.line("%s", name)
		}
		return n > 0
	}
	if section("Batches", len(l.Batches)) {
		r.writeBatches(t, l, blobs)
	}
	if section("Health", len(l.Healths)) {
		l.writeHealth(t)
	}
	if list := Checkpoints(r); !l.isAlone() && section("Checkpoints", len(list.Checkpoints)) { // attempts are shown as such
		list.table(t, 0)
	}
}

func (r *Run) writeBatches(t *text, l *Loop, blobs Blobs) {
	for _, b := range l.Batches {
		t.line("  %s (event %d)", b.head(), b.Seq)
		for _, j := range b.Verdicts {
			t.line("    %s %s (%s)%s", dashed(j.ID), judgedWord(j.Verdict), j.By, because(j.why(blobs, 300)))
		}
	}
}

func (l *Loop) writeHealth(t *text) {
	for _, h := range l.Healths {
		t.line("  %s", fmt.Sprintf("after %s: %s%s%s", h.after, h.Health, because(h.Reason), follows(&h.HealthJudged)))
		if o := h.Overridden; o != nil {
			t.line("    %s", "it continues anyway"+by(o.By)+because(o.Reason))
		}
	}
	if n := l.recoveries(); n > 0 {
		t.line("  %s so far", count(n, "recovery"))
	}
}

// reportBatches returns the same in a report.
func (r *Run) reportBatches(t *text, l *Loop, blobs Blobs) {
	if !r.inBatches(l) {
		return
	}
	if len(l.Batches) > 0 {
		t.line("[Batches]")
		r.writeBatches(t, l, blobs)
		t.line("")
	}
	if len(l.Healths) > 0 {
		t.line("[Health]")
		l.writeHealth(t)
		t.line("")
	}
	if list := Checkpoints(r); len(list.Checkpoints) > 0 {
		t.line("[Checkpoints]")
		list.table(t, 0)
		t.line("")
	}
	if all := r.decisions(blobs); len(all) > 0 {
		t.line("[Decisions]")
		for _, d := range all {
			t.line("  %s", d.text())
		}
		t.line("")
	}
}

// whyHealth says where the branch went back, and what the monitor said last.
func (r *Run) whyHealth(c *chain, l *Loop) {
	if n := len(l.Rollbacks); n > 0 {
		back := l.Rollbacks[n-1]
		c.add(LinkBecause, l.backText(back), back.events()...)
	}
	if h := l.health(); h != nil && !l.followed(h) && h.Health != pawl.HealthProgressing && h.Overridden == nil && r.Outcome != pawl.OutcomeComplete {
		c.add(LinkBecause, h.text(), h.Seq)
	}
}

// whyBatches says what the last batch came to, and what waits.
func (r *Run) whyBatches(c *chain, l *Loop) {
	if n := len(l.Batches); n > 0 && l.Batches[n-1].changes() && r.Outcome != pawl.OutcomeComplete {
		c.add(LinkBecause, l.Batches[n-1].text(), l.Batches[n-1].Seq)
	}
	if p := l.Plan(); p != nil {
		for _, t := range p.Tasks {
			if t.Held != nil && t.Status != pawl.TaskPassed {
				c.add(LinkBecause, fmt.Sprintf("task %s waits for %s%s", t.ID, t.HeldBehind, because(t.Held.Reason)))
			}
		}
	}
}

// followed reports whether the last way back says what the verdict says.
func (l *Loop) followed(h *HealthVerdict) bool {
	n := len(l.Rollbacks)
	return n > 0 && l.Rollbacks[n-1].Seq > h.Seq && strings.HasSuffix(l.Rollbacks[n-1].Reason, h.Reason)
}

// changes reports whether the batch wants changes of a task.
func (b *Batch) changes() bool {
	for _, j := range b.Verdicts {
		if !j.Approved() {
			return true
		}
	}
	return false
}

// backText says what took a branch back: "REGRESSING after batch 4 went back to
// checkpoint 2 (after batch 2): …".
func (l *Loop) backText(b *Rollback) string {
	who, reason := b.By, b.Reason
	switch {
	case b.Ending != "":
		who = "the run, as it ends,"
	case who == "":
		who = "the monitor"
		for _, h := range l.Healths {
			if h.Seq < b.Seq && h.Health != pawl.HealthProgressing {
				who = fmt.Sprintf("%s after %s", h.Health, h.after)
				reason = strings.TrimPrefix(b.Reason, string(h.Health)+": ")
			}
		}
	}
	did := "is going"
	if b.Done != nil {
		did = "went"
	}
	s := fmt.Sprintf("%s %s back to %s%s", who, did, l.checkpointName(b.To), because(reason))
	if len(b.Reopen) > 0 {
		s += " · open again: " + some(b.Reopen)
	}
	return s
}

func (b *Rollback) events() []pawl.Seq {
	if b.Done == nil || b.DoneSeq == b.Seq {
		return []pawl.Seq{b.Seq}
	}
	return []pawl.Seq{b.Seq, b.DoneSeq}
}
