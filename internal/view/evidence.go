package view

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// findingWords has the words for people for each kind of finding.
var findingWords = map[pawl.FindingKind]string{
	pawl.FindExpectation:     "changed expectation",
	pawl.FindProvesNothing:   "new tests prove nothing",
	pawl.FindRemovedTest:     "removed test",
	pawl.FindSkippedTest:     "skipped test",
	pawl.FindEmptiedTest:     "emptied test",
	pawl.FindFewerAssertions: "fewer assertions",
	pawl.FindGateInput:       "changed gate input",
	pawl.FindSetUp:           "changed test set-up",
	pawl.FindUnlisted:        "tests the runner does not list",
	pawl.FindVendored:        "vendored file differs from its lock",
	pawl.FindPolicy:          "policy path",
	pawl.FindSecret:          "secret",
	pawl.FindFlaky:           "flaky test",
}

// FindingWords returns what people call a kind of finding; the kind itself if nobody named it.
func FindingWords(k pawl.FindingKind) string {
	if words := findingWords[k]; words != "" {
		return words
	}
	return plain.Line(strings.ReplaceAll(string(k), "_", " "), 40)
}

// treeWords returns what a gate judges that judges neither base nor candidate.
func treeWords(t pawl.Tree) string {
	switch t {
	case pawl.TreeExpected:
		return "the candidate with the base's tests"
	case pawl.TreeReverted:
		return "the candidate's tests with the base's code"
	}
	return "another tree (" + plain.Line(string(t), 40) + ")"
}

// tellEvidence returns the line of an event about what was found in a candidate.
func (t teller) tellEvidence() string {
	switch b := t.e.Body.(type) {
	case *pawl.Examined:
		return examinedText(b)
	case *pawl.FindingRaised:
		return "Finding " + findingText(&b.Finding)
	case *pawl.FindingAnswered:
		return "Finding " + b.ID + " " + answeredText(b)
	case *pawl.RemarkMade:
		return "Remark: " + b.Text
	}
	return ""
}

// examinedText says what a look at a candidate led to.
func examinedText(b *pawl.Examined) string {
	if len(b.Runs) > 0 {
		var parts []string
		for _, run := range b.Runs {
			parts = append(parts, furtherText(&run))
		}
		return "Evidence: " + strings.Join(parts, "; ")
	}
	s := "Evidence: nothing to answer for"
	if n := len(b.Findings); n > 0 {
		s = fmt.Sprintf("Evidence: %s (%s)", count(n, "finding"), strings.Join(b.Findings, ", "))
	}
	if paths := classCounts(b.Paths); paths != "" {
		s += " · changed paths: " + paths
	}
	return s
}

// furtherText says which gates have to run once more, on what, and why.
func furtherText(run *pawl.FurtherRun) string {
	verb := "has"
	if len(run.Gates) > 1 {
		verb = "have"
	}
	s := fmt.Sprintf("%s %s to judge %s", strings.Join(run.Gates, ", "), verb, treeWords(run.On))
	if run.Fresh {
		s += ", prepared by itself"
	}
	return s + because(run.Reason)
}

// classCounts lists how many changed paths there are of each class, in the order of the classes.
func classCounts(all []pawl.ClassCount) string {
	var parts []string
	for _, n := range inClassOrder(all) {
		parts = append(parts, fmt.Sprintf("%d %s", n.Count, classWords(n.Class)))
	}
	return strings.Join(parts, ", ")
}

func inClassOrder(all []pawl.ClassCount) []pawl.ClassCount {
	rank := func(n pawl.ClassCount) int {
		if i := slices.Index(pawl.PathClasses, n.Class); i >= 0 {
			return i
		}
		return len(pawl.PathClasses)
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b pawl.ClassCount) int { return rank(a) - rank(b) })
}

// classWords returns what people call a class of paths.
func classWords(c pawl.PathClass) string {
	switch c {
	case pawl.ClassSupport:
		return "test support"
	case pawl.ClassGateInput:
		return "gate input"
	}
	return plain.Line(string(c), 40)
}

// findingText returns a finding in one line: what it is, where, and what was found.
func findingText(f *pawl.Finding) string {
	s := strings.TrimSpace(f.ID + " " + FindingWords(f.Kind))
	if f.Path != "" {
		s += " in " + f.Path
	}
	if f.Text != "" {
		s += ": " + f.Text
	}
	if tests := shortTests(f.Tests); tests != "" {
		s += " (" + tests + ")"
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
	s := "is not accepted"
	if b.Accepted {
		s = "is accepted"
	}
	switch {
	case b.Gate != "":
		s += " by the review " + b.Gate
	case b.By != "":
		s += " by " + b.By
	default:
		s += " by a person"
	}
	if b.Quote != "" {
		s += fmt.Sprintf(", which quotes “%s”", b.Quote)
	}
	return s + because(b.Why)
}

// lookEvidence says how the lines about findings look.
func (k *Look) lookEvidence(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.Examined:
		if len(b.Runs) == 0 && len(b.Findings) == 0 {
			k.Level = Normal
		}
	case *pawl.FindingRaised:
		k.Tone = ToneWarning
	case *pawl.FindingAnswered:
		k.Tone = ToneBad
		if b.Accepted {
			k.Tone = ToneGood
		}
	case *pawl.RemarkMade:
		k.Level = Normal
	}
}
