package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// SummaryEvidence is what was found in a run's candidates, in a [Summary]. How many findings of the
// result nobody accepted is in [pawl.RunInfo].
type SummaryEvidence struct {
	// Evidence says what becomes of findings; missing = the run was started before there were any.
	Evidence pawl.EvidenceMode `json:"evidence,omitempty"`
	// Findings are all of the run, in the order they were raised, without their details.
	Findings []FindingRow `json:"finding_list,omitempty"`
	// Remarks and Paths are of the newest candidates that were examined.
	Remarks []string          `json:"remarks,omitempty"`
	Paths   []pawl.ClassCount `json:"paths,omitempty"` // how many were changed, by class
	// Flaky are the tests that came out differently on the same commit, the newest last.
	Flaky []FlakyRow `json:"flaky_tests,omitempty"`
	// FurtherRuns are the gates that ran once more: to look for findings, or because a test that
	// failed may be flaky.
	FurtherRuns []FurtherRunRow `json:"further_runs,omitempty"`
}

// FlakyRow is a test that came out differently on the same commit, in a [Summary].
type FlakyRow struct {
	Test      string   `json:"test"`
	Gate      string   `json:"gate"`
	Task      string   `json:"task,omitempty"` // whose work it is about; missing = the run's own
	Iteration int      `json:"iteration"`      // the last in which it was
	Event     pawl.Seq `json:"event"`
}

// FurtherRunRow is a gate that judged another tree than base and candidate, or the candidate once
// more, in a [Summary]. What it says of another tree is no verdict on the candidate.
type FurtherRunRow struct {
	Gate      string        `json:"gate"`
	On        pawl.Tree     `json:"on,omitempty"`   // missing = the candidate itself
	Task      string        `json:"task,omitempty"` // whose work it is about; missing = the run's own
	Iteration int           `json:"iteration"`
	Reason    string        `json:"reason"`
	Fresh     bool          `json:"fresh,omitempty"`   // the tree was prepared by itself
	Verdict   pawl.Verdict  `json:"verdict,omitempty"` // missing = it has not judged
	Partial   bool          `json:"partial,omitempty"` // it gave no verdict
	Passed    int           `json:"passed"`
	Total     int           `json:"total"`
	Duration  time.Duration `json:"duration,omitempty"` // nanoseconds its command ran
	Event     pawl.Seq      `json:"event,omitempty"`
}

// summarizeEvidence returns what was found for other programs.
func (r *Run) summarizeEvidence() SummaryEvidence {
	s := SummaryEvidence{Evidence: pawl.EvidenceMode(plain.Line(string(r.Settings.Evidence), 0)), Findings: r.FindingRows(r.Findings, nil), Remarks: r.remarks()}
	if l := r.root(); l != nil && l.Exam != nil {
		s.Paths = classRows(l.Exam.Paths)
	}
	r.eachFurther(func(l *Loop, it *Iteration, f *FurtherRun) {
		row := FurtherRunRow{Gate: plain.Line(f.Gate, 0), On: pawl.Tree(plain.Line(string(f.On), 0)), Task: plain.Line(r.path(l), 0), Iteration: it.N, Reason: plain.Line(f.Reason, 0), Fresh: f.Fresh}
		if g := f.Judged; g != nil {
			row.Verdict, row.Partial, row.Passed, row.Total, row.Duration, row.Event = g.Verdict, g.Partial, g.Passed, g.Total, g.Duration, g.Seq
		}
		s.FurtherRuns = append(s.FurtherRuns, row)
	})
	s.Flaky = r.flakyRows()
	return s
}

// flakyRows returns the tests that came out differently on the same commit, each where it was last
// seen.
func (r *Run) flakyRows() []FlakyRow {
	var out []FlakyRow
	add := func(l *Loop, it *Iteration, gate, test string, seq pawl.Seq) {
		row := FlakyRow{Test: plain.Line(test, 0), Gate: plain.Line(gate, 0), Task: plain.Line(r.path(l), 0), Iteration: it.N, Event: seq}
		out = append(slices.DeleteFunc(out, func(o FlakyRow) bool { return o.Test == row.Test && o.Gate == row.Gate }), row)
	}
	r.eachFurther(func(l *Loop, it *Iteration, f *FurtherRun) {
		if f.On != "" || f.Judged == nil {
			return
		}
		for _, name := range f.Judged.Flaky {
			add(l, it, f.Gate, name, f.Judged.Seq)
		}
	})
	for _, l := range r.Loops {
		for _, it := range l.Iterations {
			for i := 0; it.flips != nil && i < len(it.flips.tests); i++ {
				add(l, it, it.flips.tests[i].Gate, it.flips.tests[i].Name, it.flips.seq)
			}
		}
	}
	return out
}

// String returns the test in one line.
func (f FlakyRow) String() string {
	of := ""
	if f.Task != "" {
		of = " of task " + f.Task
	}
	return fmt.Sprintf("%s: it failed once and passed once on the same commit (%s, iteration %d%s)", f.Test, f.Gate, f.Iteration, of)
}

// eachFurther visits the gates that ran once more, in the order of loops and iterations.
func (r *Run) eachFurther(visit func(*Loop, *Iteration, *FurtherRun)) {
	for _, l := range r.Loops {
		var last *Examination
		for _, it := range l.Iterations {
			for _, f := range it.asked {
				visit(l, it, f)
			}
			if x := it.Exam; x != nil && x != last {
				for _, f := range x.Runs {
					visit(l, it, f)
				}
				last = x
			}
		}
	}
}

func classRows(all []pawl.ClassCount) []pawl.ClassCount {
	var out []pawl.ClassCount
	for _, n := range inClassOrder(all) {
		out = append(out, pawl.ClassCount{Class: pawl.PathClass(plain.Line(string(n.Class), 0)), Count: n.Count})
	}
	return out
}

// remarks returns what is only worth knowing of the newest candidates that were examined, safe to
// print.
func (r *Run) remarks() []string {
	var out []string
	for _, l := range r.Loops {
		if l.Exam == nil {
			continue
		}
		for _, remark := range l.Exam.Remarks {
			if s := plain.Line(r.lead(l)+remark, 0); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// evidenceMode says what becomes of findings where that is not the usual; empty = a reviewer answers
// them, or the run is of an earlier version.
func (r *Run) evidenceMode() string {
	switch r.Settings.Evidence {
	case pawl.EvidenceOff:
		return "evidence is off: changes of what the gates look at were not examined"
	case pawl.EvidenceStrict:
		return "a person answers every finding: evidence is strict"
	}
	return ""
}

// changedPaths counts the paths that the newest candidate of the root loop changed, by class; empty =
// it was not examined.
func (r *Run) changedPaths() string {
	if l := r.root(); l != nil && l.Exam != nil {
		return ClassCounts(l.Exam.Paths)
	}
	return ""
}

// ChangedPaths returns the paths that a commit changed against another, by class and with texts that are
// safe to print; nothing if it was not examined against that one.
func (r *Run) ChangedPaths(from, to pawl.CommitHash, blobs Blobs) []pawl.ChangedPath {
	for _, l := range r.Loops {
		for _, it := range slices.Backward(l.Iterations) {
			if it.Exam == nil || it.Exam.Over == 0 || it.Commit == nil || it.Commit.Commit != to {
				continue
			}
			var report pawl.EvidenceReport
			if blobs.into(it.Exam.Report, &report); report.Base != from { // its commit may be another one with the same tree
				continue
			}
			for i := range report.Paths {
				p := &report.Paths[i]
				p.Path, p.Class = plain.Line(p.Path, 0), pawl.PathClass(plain.Line(string(p.Class), 0))
			}
			slices.SortStableFunc(report.Paths, func(a, b pawl.ChangedPath) int { return classRank(a.Class) - classRank(b.Class) })
			return report.Paths
		}
	}
	return nil
}

// ChangedPathsText returns changed paths for people, a line each behind their class.
func ChangedPathsText(paths []pawl.ChangedPath) string {
	var t text
	rows := [][]string{{"CLASS", "PATH"}}
	for _, p := range paths {
		rows = append(rows, []string{ClassWords(p.Class), p.Path})
	}
	t.table(rows)
	return t.String()
}

// shownDetail is how many lines of what there is to look at are shown of a finding among other things.
const shownDetail = 12

// findings adds findings with what became of them, and of those that nobody accepted what there is to
// look at.
func (t *text) findings(rows []FindingRow) {
	for i := range rows {
		row := &rows[i]
		t.line("  %-4s %s: %s", row.ID, row.State.Words(), row.What())
		const lead = "       "
		if said := row.Said(); said != "" {
			t.line(lead+"%s", said)
		}
		if answer := row.Answer(); answer != "" {
			t.line(lead+"%s", answer)
		}
		if row.State == FindingOpen || row.State == FindingRefused {
			t.detail(lead+"  ", row.Detail, shownDetail)
		}
	}
}

// mostFurther is how many gates that ran once more are listed, the newest.
const mostFurther = 20

// further returns the gates that ran once more, a line each.
func (r *Run) further() []string {
	var out []string
	r.eachFurther(func(l *Loop, it *Iteration, f *FurtherRun) {
		out = append(out, fmt.Sprintf("%siteration %d: %s", r.lead(l), it.N, f))
	})
	if n := len(out) - mostFurther; n > 0 {
		out = append([]string{count(n, "earlier one") + ": pawl logs " + string(r.ID)}, out[n:]...)
	}
	return out
}

// listing adds a section with these lines, if there are any.
func listing[T string | FlakyRow](t *text, title string, lines []T) {
	t.section(func(t *text) bool {
		t.line("%s", title)
		for _, l := range lines {
			t.line("  %s", l)
		}
		return len(lines) > 0
	})
}

// showEvidence adds what was found in the run's candidates.
func (r *Run) showEvidence(t *text, blobs Blobs) {
	t.section(func(t *text) bool {
		t.line("Findings")
		t.findings(r.FindingRows(r.Findings, blobs))
		return len(r.Findings) > 0
	})
	listing(t, "Gates that ran once more", r.further())
	listing(t, "Flaky tests", r.flakyRows())
	listing(t, "Remarks", r.remarks())
}

// reportEvidence adds what was found in the run's candidates to a report.
func (r *Run) reportEvidence(t *text, blobs Blobs) {
	if len(r.Findings) > 0 {
		t.line("[Findings]")
		t.findings(r.FindingRows(r.Findings, blobs))
		t.line("")
	}
	if all := r.flakyRows(); len(all) > 0 {
		t.line("[Flaky tests]")
		for _, f := range all {
			t.line("  %s", f)
		}
		t.line("")
	}
	if all := r.remarks(); len(all) > 0 {
		t.line("[Remarks]")
		for _, remark := range all {
			t.line("  %s", remark)
		}
		t.line("")
	}
}

// footEvidence adds to the foot of a report what was looked for, and at what cost.
func (r *Run) footEvidence(t *text) {
	if paths := r.changedPaths(); paths != "" {
		t.line("Changed: %s (paths by class)", paths)
	}
	if mode := r.evidenceMode(); mode != "" {
		t.line("Evidence: %s", mode)
	}
	for _, f := range r.further() {
		t.line("Once more: %s", f)
	}
}

// iterationEvidence adds what was found in an iteration's candidate to its report.
func (r *Run) iterationEvidence(t *text, it *Iteration, blobs Blobs) {
	runs := it.FurtherRuns()
	var all []*Finding
	if it.Exam != nil {
		all = r.FindingsOf(it.Exam)
	}
	if len(all)+len(runs) == 0 {
		return
	}
	t.line("[Evidence]")
	for _, f := range runs {
		t.line("  Once more: %s", f.String())
	}
	t.findings(r.FindingRows(all, blobs))
	t.line("")
}

// whyFindings names the findings that a verdict fails for, with who did not accept them.
func (r *Run) whyFindings(c *chain, g *Gate) {
	var left []string
	for i, open := range g.Findings {
		f := r.Finding(open.ID)
		if f == nil {
			continue
		}
		if i >= mostFindings {
			left = append(left, f.ID)
			continue
		}
		text, events := findingText(&f.Finding), []pawl.Seq{f.Seq}
		if a := f.Answer; a != nil && !a.Accepted {
			text += "; " + answeredText(a)
			events = append(events, f.AnswerSeq)
		}
		c.add(LinkBecause, text, events...)
	}
	if len(left) > 0 {
		c.add(LinkBecause, "and "+strings.Join(left, ", "))
	}
}

// mostFindings is how many findings a chain of causes tells of one by one.
const mostFindings = 4

// whyLeft names the findings of a run that ended well and that nobody accepted.
func (r *Run) whyLeft(c *chain) {
	if r.findingsLeft == 0 {
		return
	}
	n := 0
	for _, f := range r.Findings {
		if state := r.StateOfFinding(f); state != FindingOpen && state != FindingRefused {
			continue
		}
		if n++; n <= mostFindings {
			c.add(LinkBecause, "nobody accepted "+findingText(&f.Finding), f.Seq)
		}
	}
	if n > mostFindings {
		c.add(LinkBecause, fmt.Sprintf("and %s more: pawl show %s", count(n-mostFindings, "finding"), r.ID))
	}
}

// waitsForAnswers names the findings that a reviewer of the loop has still to answer for.
func (r *Run) waitsForAnswers(c *chain, l *Loop) {
	it := l.last()
	reviewer := r.reviewer(l)
	if it == nil || it.End != nil || it.Exam == nil || it.Exam.Over == 0 || reviewer == "" || len(r.OpenQuestions()) > 0 {
		return
	}
	for _, id := range it.Exam.Findings {
		f := r.Finding(id)
		if f == nil || f.isAnswered() || f.isPersons() {
			continue
		}
		c.add(LinkWaits, fmt.Sprintf("for %s to answer for %s: it quotes the goal, or the attempt fails", reviewer, f.ID+" "+f.what()), f.Seq)
	}
}

// reviewer returns the first review of a loop that has not judged the present candidate; empty = there
// is none.
func (r *Run) reviewer(l *Loop) string {
	k := r.Recipe.Kind(l.Kind)
	if k == nil {
		return ""
	}
	for _, st := range slices.Concat(k.Gates, k.FinalGates) {
		if st.Review != nil && !slices.ContainsFunc(l.last().Gates, func(g *Gate) bool { return g.Gate == st.Name }) {
			return st.Name
		}
	}
	return ""
}
