package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// LoopRow is a loop of a run's tree as a line of it. Its texts are safe to print.
type LoopRow struct {
	*Record
	// Lead is the drawing before its name, Label the name.
	Lead, Label string
	Time        time.Duration // since it came to be, to its end if it has one
	Note        string        // what there is to say besides its status
	Stale       bool          // it stands on an artifact that is no more
}

// TreeOptions choose what of a tree is shown. The zero value shows what still counts.
type TreeOptions struct {
	All bool // those of earlier generations too
	// Only shows these alone, one below the other, whether they count or not.
	Only  []*Record
	Width int // no line is wider; zero = as wide as it is
	Now   time.Time
}

// LoopTree returns the run's loops from the root down, children in their order below
// their parent, and how many of earlier generations were left out.
func LoopTree(r *Run, o TreeOptions) (rows []LoopRow, left int) {
	rs := &r.Records
	if o.Only != nil {
		for _, rec := range o.Only {
			rows = append(rows, r.loopRow(rec, "", o.Now))
		}
		return rows, 0
	}
	below := map[pawl.LoopRef][]*Record{}
	for _, rec := range rs.Loops {
		if !o.All && (rec.Status == pawl.LoopInvalidated || rec.shelved) {
			left++
			continue
		}
		below[rec.Parent] = append(below[rec.Parent], rec)
	}
	var walk func(all []*Record, lead string)
	walk = func(all []*Record, lead string) {
		slices.SortStableFunc(all, func(a, b *Record) int {
			if a.ParentGeneration != b.ParentGeneration {
				return a.ParentGeneration - b.ParentGeneration
			}
			return a.Index - b.Index
		})
		for i, rec := range all {
			arm, next := "├─ ", "│  "
			if i == len(all)-1 {
				arm, next = "└─ ", "   "
			}
			if rec.Depth == 0 {
				arm, next = "", ""
			}
			rows = append(rows, r.loopRow(rec, lead+arm, o.Now))
			walk(below[rec.Ref], lead+next)
		}
	}
	walk(below[0], "")
	return rows, left
}

func (r *Run) loopRow(rec *Record, lead string, now time.Time) LoopRow {
	row := LoopRow{Record: rec, Lead: lead, Label: rec.Name(), Stale: r.Records.Stale(rec)}
	if p := r.Records.Loop(rec.Parent); p != nil && p.Task == rec.Task { // the one piece of work its parent is about
		row.Label = plain.Line(rec.LoopType, 0)
	}
	end := now
	if rec.Ended() {
		end = time.UnixMilli(rec.UpdatedAt)
	}
	row.Time = max(0, end.Sub(time.UnixMilli(rec.CreatedAt)))
	switch {
	case rec.Approval == pawl.ApprovalAwaiting:
		row.Note = "AWAITS APPROVAL"
	case len(rec.Questions) > 0:
		row.Note = fmt.Sprintf("asks question %d", rec.Questions[0])
	case rec.Status == pawl.LoopFailed && len(r.loop(rec.Ref).Iterations) == 0:
		row.Note = plain.Line("never started"+because(rec.Reason), 200)
	case rec.Status == pawl.LoopInvalidated, rec.Status == pawl.LoopPaused, rec.Status == pawl.LoopFailed:
		row.Note = plain.Line(rec.Reason, 200)
	case rec.Status == pawl.LoopPending:
		row.Note = plain.Line(r.waitsFor(rec), 200)
	}
	if row.Note == "" {
		row.Note = plain.Line(rec.Title, 200)
	}
	return row
}

// waitsFor says which of its siblings a pending loop depends on.
func (r *Run) waitsFor(rec *Record) string {
	l := r.loop(rec.Ref)
	if t := r.task(l); t != nil {
		if wait := r.loop(l.Parent).Plan().Waiting(t); len(wait) > 0 {
			return "waits for " + some(lines(wait))
		}
	}
	return ""
}

// TreeText returns the tree for people, a line for each loop.
func TreeText(r *Run, o TreeOptions) string {
	var t text
	r.tree(&t, o)
	return t.String()
}

func (r *Run) tree(t *text, o TreeOptions) {
	rows, left := LoopTree(r, o)
	wide := o.Width == 0 || o.Width >= roomy
	table := [][]string{{"LOOP", "TYPE", "STATUS", "ITER", "GEN", "TIER", "COST", "HELD", "LOST", "TIME", ""}}
	for _, row := range rows {
		name := row.Label
		if o.Width > 0 {
			name = plain.Line(name, max(12, o.Width/3-len([]rune(row.Lead))))
		}
		iteration := "-"
		if l := r.loop(row.Ref); l != nil && l.last() != nil {
			iteration = Iterations(l.last().N, row.MaxIterations)
		}
		status := string(row.Status)
		if !wide && row.Generation > 1 {
			status += fmt.Sprintf(" g%d", row.Generation)
		}
		table = append(table, []string{row.Lead + name, plain.Line(row.LoopType, 12), status, iteration, fmt.Sprint(row.Generation), dashed(plain.Line(row.Tier, 12)),
			r.money(row.Money.Spent), r.someMoney(row.Money.Held), r.someMoney(row.Money.Lost), pawl.Span(row.Time.Truncate(time.Second)), row.Note})
	}
	withoutUnused(table, 7, 8)
	if !wide {
		for i := range table {
			table[i] = slices.Delete(slices.Delete(table[i], 4, 5), 1, 2)
		}
	}
	for _, line := range Columns(table, o.Width) {
		t.WriteString(line + "\n")
	}
	if left > 0 {
		t.line("and %s of earlier generations or archived: pawl loops %s --all", count(left, "loop"), string(r.ID))
	}
}

// atWork returns how many of the loops that still count are at work: "3/16 loops run".
func (r *Run) atWork() string {
	alive, running := 0, 0
	for _, rec := range r.Records.Loops {
		switch rec.Status {
		case pawl.LoopInvalidated:
			continue
		case pawl.LoopRunning, pawl.LoopRebasing:
			running++
		}
		alive++
	}
	return fmt.Sprintf("%d/%d loops run", running, alive)
}

// treeSummary counts the tree's loops by their statuses, in one line.
func (r *Run) treeSummary() string {
	n := map[pawl.LoopStatus]int{}
	for _, rec := range r.Records.Loops {
		n[rec.Status]++
	}
	var parts []string
	for _, s := range []pawl.LoopStatus{pawl.LoopRunning, pawl.LoopRebasing, pawl.LoopPaused, pawl.LoopPending, pawl.LoopComplete, pawl.LoopFailed, pawl.LoopInvalidated} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return count(len(r.Records.Loops), "loop") + ": " + strings.Join(parts, ", ")
}

// SignalsText returns the signals of a run for people, oldest first, no wider than width
// where that is not zero.
func SignalsText(r *Run, width int) string {
	rs := &r.Records
	rows := [][]string{{"N", "AT", "SIGNAL", "FROM", "TO", "SEEN", "REASON"}}
	for _, s := range rs.Signals {
		from, to, seen := cmp.Or(plain.Line(s.By, 20), "a person"), "-", "not yet"
		if l := rs.ByID(s.SourceLoop); l != nil {
			from = r.called(r.loop(l.Ref))
		}
		if l := r.loop(s.Target); l != nil {
			to = r.called(l)
		}
		switch {
		case s.Expired:
			seen = "expired"
		case s.AcknowledgedAt > 0:
			seen = "after " + pawl.Span(time.Duration(s.AcknowledgedAt-s.CreatedAt)*time.Millisecond)
		}
		reason := s.Reason
		if hears := s.Hears(); hears != "" {
			reason += " · " + hears
		}
		rows = append(rows, []string{fmt.Sprint(s.N), Clock(time.UnixMilli(s.CreatedAt)), plain.Line(string(s.SignalType), 12),
			plain.Line(from, 30), plain.Line(to, 30), seen, plain.Line(reason, 0)})
	}
	return strings.Join(Columns(rows, width), "\n") + "\n"
}
