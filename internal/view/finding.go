package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pawl"
	"pawl/internal/plain"
)

// FindingWords returns what people call a kind of finding, whatever a log says it is.
func FindingWords(k pawl.FindingKind) string { return plain.Line(k.Words(), 40) }

// Finding is something in a candidate that somebody has to answer for, with what became of it.
type Finding struct {
	pawl.Finding
	Loop      *Loop // whose candidate had it first
	Seq       pawl.Seq
	Answer    *pawl.FindingAnswered // the newest; nil = nobody has answered
	AnswerSeq pawl.Seq

	evidence pawl.Hash // the JSON [pawl.EvidenceReport] that has it
}

// FindingState says what became of a finding.
type FindingState string

// The states of findings.
const (
	FindingOpen     FindingState = "open"     // nobody has answered for it
	FindingAccepted FindingState = "accepted" // the goal asks for it, or a person lets it pass
	FindingRefused  FindingState = "refused"  // a reviewer or a person does not accept it
	FindingGone     FindingState = "gone"     // the newest candidate that was examined does not have it
)

// Words returns the state for people.
func (s FindingState) Words() string {
	if s == FindingRefused {
		return "not accepted"
	}
	return string(s)
}

// Tone returns how the state looks.
func (s FindingState) Tone() Tone {
	switch s {
	case FindingAccepted:
		return ToneGood
	case FindingRefused:
		return ToneBad
	case FindingGone:
		return ToneQuiet
	}
	return ToneWarning
}

// Finding finds a finding by its ID, or nil.
func (r *Run) Finding(id string) *Finding {
	if i := slices.IndexFunc(r.Findings, func(f *Finding) bool { return f.ID == id }); i >= 0 {
		return r.Findings[i]
	}
	return nil
}

// FindingsOf returns the findings that an examination has.
func (r *Run) FindingsOf(x *Examination) []*Finding {
	var out []*Finding
	for _, id := range x.Findings {
		if f := r.Finding(id); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// StateOfFinding returns what became of a finding.
func (r *Run) StateOfFinding(f *Finding) FindingState {
	switch {
	case !r.hasFinding(f.ID):
		return FindingGone
	case f.Answer == nil:
		return FindingOpen
	case f.Answer.Accepted:
		return FindingAccepted
	}
	return FindingRefused
}

// hasFinding reports whether the newest candidates have a finding: the root's, and those of loops
// below it that were examined later and have not failed.
func (r *Run) hasFinding(id string) bool {
	var since pawl.Seq
	if root := r.root(); root != nil && root.Exam != nil {
		if since = root.Exam.Over; slices.Contains(root.Exam.Findings, id) {
			return true
		}
	}
	return slices.ContainsFunc(r.Loops, func(l *Loop) bool {
		counts := l.Exam != nil && l.Exam.Over > since && (l.End == nil || l.End.Outcome.Succeeded())
		return counts && slices.Contains(l.Exam.Findings, id)
	})
}

// isAnswered reports whether nobody is asked about the finding any more: it is accepted, or a person
// has answered. What a review refused it may accept later.
func (f *Finding) isAnswered() bool {
	return f.Answer != nil && (f.Answer.Accepted || f.Answer.Gate == "")
}

// isPersons reports whether only a person may accept the finding.
func (f *Finding) isPersons() bool { return f.Kind == pawl.FindPolicy || f.Kind == pawl.FindSecret }

// what says what was found, and where: "changed expectation in calc_test.go".
func (f *Finding) what() string { return whatFound(&f.Finding) }

func whatFound(f *pawl.Finding) string { return plain.Line(f.Kind.At(f.Path), 0) }

// findingText returns a finding in one line: what it is, where, and what was found.
func findingText(f *pawl.Finding) string {
	return strings.TrimSpace(f.ID+" "+whatFound(f)) + because(saidOf(f))
}

// saidOf returns what was found in a sentence, with the first tests that it is about.
func saidOf(f *pawl.Finding) string {
	s := f.Text
	if tests := shortTests(f.Tests); tests != "" {
		s = strings.TrimSpace(s + " (" + tests + ")")
	}
	return s
}

// mostTests is how many tests of a finding a line names.
const mostTests = 4

// shortTests names the first tests, and how many more there are; empty if there are none.
func shortTests(all []string) string {
	s := strings.Join(all[:min(len(all), mostTests)], ", ")
	if n := len(all) - mostTests; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}

// answeredText says who accepted a finding, or did not, and why.
func answeredText(b *pawl.FindingAnswered) string {
	s := "not accepted by "
	if b.Accepted {
		s = "accepted by "
	}
	s += cmp.Or(b.Gate, b.By, "a person")
	if b.Quote != "" {
		s += ", which quotes “" + b.Quote + "”"
	}
	return s + because(b.Why)
}

// FindingRow is a finding for other programs, and what people read of it. Its texts are safe to
// print. Fields are added, never renamed.
type FindingRow struct {
	ID    string           `json:"id"` // F-1 and on
	Kind  pawl.FindingKind `json:"kind"`
	Path  string           `json:"path,omitempty"`
	Tests []string         `json:"tests,omitempty"` // at most 8
	Text  string           `json:"text"`            // what was found
	State FindingState     `json:"state"`
	// Quote are the words of the goal that ask for it, By the review or the person who answered, and
	// Why what they said; empty while nobody has.
	Quote  string `json:"quote,omitempty"`
	By     string `json:"by,omitempty"`
	Person bool   `json:"person,omitempty"` // a person answered
	// Accepted reports that the answer accepts it, also of a finding that is gone.
	Accepted bool     `json:"accepted,omitempty"`
	Why      string   `json:"why,omitempty"`
	Task     string   `json:"task,omitempty"` // whose work had it first; missing = the run's own
	Event    pawl.Seq `json:"event"`
	// Evidence is the blob of the report that has it, and Detail what to look at, such as a diff, where
	// that was asked for.
	Evidence pawl.Hash `json:"evidence,omitzero"`
	Detail   string    `json:"detail,omitempty"`
}

// FindingRows returns findings with what became of them, with their details if there are blobs.
func (r *Run) FindingRows(all []*Finding, blobs Blobs) []FindingRow {
	var out []FindingRow
	reports := map[pawl.Hash]*pawl.EvidenceReport{}
	for _, f := range all {
		row := FindingRow{ID: plain.Line(f.ID, 0), Kind: pawl.FindingKind(plain.Line(string(f.Kind), 0)), Path: plain.Line(f.Path, 0), Tests: lines(f.Tests), Text: plain.Line(f.Text, 0),
			State: r.StateOfFinding(f), Event: f.Seq, Evidence: f.evidence}
		if f.Loop != nil {
			row.Task = plain.Line(r.path(f.Loop), 0)
		}
		if a := f.Answer; a != nil {
			row.Quote, row.By, row.Why, row.Person, row.Accepted = plain.Line(a.Quote, 0), plain.Line(cmp.Or(a.Gate, a.By, "a person"), 0), plain.Line(a.Why, 0), a.Gate == "", a.Accepted
		}
		report := reports[f.evidence]
		if report == nil {
			report = &pawl.EvidenceReport{}
			blobs.into(f.evidence, report)
			reports[f.evidence] = report
		}
		if i := slices.IndexFunc(report.Findings, func(x pawl.Finding) bool { return x.Print == f.Print }); i >= 0 {
			row.Detail = strings.TrimRight(plain.Text(report.Findings[i].Detail), "\n")
		}
		out = append(out, row)
	}
	return out
}

// String returns the finding in one line.
func (row *FindingRow) String() string { return findingText(row.finding()) }

// What says what was found, and where: "changed expectation in calc_test.go".
func (row *FindingRow) What() string { return whatFound(row.finding()) }

// Said returns what was found in a sentence, with the first tests that it is about.
func (row *FindingRow) Said() string { return saidOf(row.finding()) }

func (row *FindingRow) finding() *pawl.Finding {
	return &pawl.Finding{ID: row.ID, Kind: row.Kind, Path: row.Path, Tests: row.Tests, Text: row.Text}
}

// Answer says who accepted the finding, or did not, and why; empty while nobody has answered.
func (row *FindingRow) Answer() string {
	if row.By == "" {
		return ""
	}
	return answeredText(&pawl.FindingAnswered{Accepted: row.Accepted, Quote: row.Quote, Why: row.Why, By: row.By})
}

// FindingsText returns findings for people, each with what there is to look at.
func FindingsText(rows []FindingRow) string {
	var t text
	for i := range rows {
		if i > 0 {
			t.line("")
		}
		t.line("%s", rows[i].String())
		if answer := rows[i].Answer(); answer != "" {
			t.line("  %s", answer)
		}
		t.detail("    ", rows[i].Detail, 0)
	}
	return t.String()
}

// detailWidth bounds the columns of a line of what there is to look at.
const detailWidth = 200

// detail adds the lines of a text behind a lead, at most so many; 0 = all.
func (t *text) detail(lead, s string, most int) {
	n := 0
	for line := range strings.Lines(s) {
		if n++; most > 0 && n > most {
			continue
		}
		line = strings.ReplaceAll(plain.Text(strings.TrimRight(line, "\n")), "\t", "    ")
		t.WriteString(strings.TrimRight(lead+ansi.Truncate(line, detailWidth, "…"), " ") + "\n")
	}
	if most > 0 && n > most {
		t.line(lead+"… and %s", count(n-most, "more line"))
	}
}
