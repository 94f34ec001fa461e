package pawl

import (
	"fmt"
	"strconv"
	"strings"
)

// The events of evidence.

// Examined says what there is to know of how a candidate changed what its gates look at. It answers
// [Examine].
type Examined struct {
	Effect Seq `json:"effect"`
	// Runs are the gates that have to run before anything is known; empty = what follows is known.
	Runs []FurtherRun `json:"runs,omitempty"`
	// Found is what was found, at most [MaxFindings], and Remarks what is only worth knowing. They
	// go into the log as [FindingRaised] and [RemarkMade] before this event, which has the IDs.
	Found   []Finding `json:"-"`
	Remarks []string  `json:"-"`
	// Findings are the IDs of the findings in the candidate, also of those that were raised before.
	Findings []string `json:"findings,omitempty"`
	// Added is how many tests that the candidate added or changed fail, or do not build, on the base's
	// code.
	Added int `json:"added,omitempty"`
	// Paths counts the changed paths by their class.
	Paths []ClassCount `json:"paths,omitempty"`
	// Evidence is a JSON [EvidenceReport].
	Evidence Hash `json:"evidence,omitzero"`
}

// Bounds of what an [Examined] says. More findings than MaxFindings are one that stands for all of
// the rest, and more remarks than MaxRemarks are in the evidence alone.
const (
	MaxFindings = 32
	MaxRemarks  = 16
)

// ClassCount counts the changed paths of a class.
type ClassCount struct {
	Class PathClass `json:"class"`
	Count int       `json:"count"`
}

// FurtherRun asks for gates to judge another tree.
type FurtherRun struct {
	On     Tree       `json:"on"`
	Commit CommitHash `json:"commit"`
	Gates  []string   `json:"gates"`
	// Fresh has the tree prepared by itself, because the candidate changed what prepare runs.
	Fresh bool `json:"fresh,omitempty"`
	// Reason says why, in at most 200 bytes.
	Reason string `json:"reason"`
}

// EventKind implements [Body].
func (*Examined) EventKind() Kind { return KindExamined }

// Answers implements [Answer].
func (b *Examined) Answers() Seq { return b.Effect }

func (b *Examined) fields(c *coder) {
	num(c, 1, &b.Effect)
	list(c, 2, &b.Runs, func(c *coder, r *FurtherRun) {
		str(c, 1, &r.On)
		str(c, 2, &r.Commit)
		words(c, 3, &r.Gates)
		flag(c, 4, &r.Fresh)
		str(c, 5, &r.Reason)
	})
	words(c, 3, &b.Findings)
	list(c, 4, &b.Paths, func(c *coder, n *ClassCount) {
		str(c, 1, &n.Class)
		num(c, 2, &n.Count)
	})
	sum(c, 5, &b.Evidence)
	num(c, 6, &b.Added)
}

// FindingRaised says that somebody has to answer for something in a candidate. It is raised once
// for the same content in a run.
type FindingRaised struct {
	// Finding has no Detail: that is in the evidence. Its Path has at most 200 bytes, its Text at most
	// 200, and it has at most 8 Tests of at most 80.
	Finding Finding `json:"finding"`
	// Evidence is the JSON [EvidenceReport] that has it.
	Evidence Hash `json:"evidence,omitzero"`
}

// EventKind implements [Body].
func (*FindingRaised) EventKind() Kind { return KindFindingRaised }

func (b *FindingRaised) fields(c *coder) {
	sub(c, 1, func(c *coder) { c.finding(&b.Finding) })
	sum(c, 2, &b.Evidence)
}

// FindingAnswered says that a reviewer or a person answered for a finding. The answer holds for the
// same content in the rest of the run.
type FindingAnswered struct {
	ID       string `json:"id"`
	Accepted bool   `json:"accepted,omitempty"`
	// Quote are the words of the goal or of a criterion that ask for it, of a reviewer.
	Quote string `json:"quote,omitempty"` // at most 160 bytes
	Why   string `json:"why,omitempty"`   // at most 160 bytes
	// Gate is the review that answered; empty = a person did.
	Gate string `json:"gate,omitempty"`
	By   string `json:"by,omitempty"` // the person
}

// EventKind implements [Body].
func (*FindingAnswered) EventKind() Kind { return KindFindingAnswered }

func (b *FindingAnswered) fields(c *coder) {
	str(c, 1, &b.ID)
	flag(c, 2, &b.Accepted)
	str(c, 3, &b.Quote)
	str(c, 4, &b.Why)
	str(c, 5, &b.Gate)
	str(c, 6, &b.By)
}

// RemarkMade says something about a candidate that is only worth knowing.
type RemarkMade struct {
	Text string `json:"text"` // at most 200 bytes
}

// EventKind implements [Body].
func (*RemarkMade) EventKind() Kind { return KindRemarkMade }

func (b *RemarkMade) fields(c *coder) { str(c, 1, &b.Text) }

func (c *coder) finding(f *Finding) {
	str(c, 1, &f.ID)
	str(c, 2, &f.Kind)
	str(c, 3, &f.Path)
	words(c, 4, &f.Tests)
	str(c, 5, &f.Text)
	str(c, 6, &f.Detail)
	num(c, 7, &f.Print)
}

// FindingID returns the id of the nth finding of a run, counted from 1.
func FindingID(n int) string { return fmt.Sprintf("F-%d", n) }

// FindingNumber returns the number in the id of a finding, or 0 if it is none.
func FindingNumber(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "F-"))
	if err != nil || FindingID(n) != id {
		return 0
	}
	return n
}
