package command

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/gate/report"
)

// Limits of sentences.
const (
	maxListed = 5   // names in a list
	maxReason = 800 // bytes of a reason
	maxQuote  = 160 // bytes of a quoted line
)

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// verb gives a verb such as "fail" or "pass" its ending.
func verb(n int, plural string) string {
	switch {
	case n != 1:
		return plural
	case strings.HasSuffix(plural, "s"):
		return plural + "es"
	}
	return plural + "s"
}

// nameList lists up to five names of total.
func nameList(names []string, total int) string {
	shown := names
	if len(shown) > maxListed {
		shown = shown[:maxListed]
	}
	s := strings.Join(shown, ", ")
	if more := total - len(shown); more > 0 && len(shown) > 0 {
		s += fmt.Sprintf(" (and %d more)", more)
	}
	return s
}

// shown returns the names of tests as sentences have them: whole, since nothing but the reader of a
// report knows where in a name its place ends. Only Go's tests are named without their package where
// no other test of the list has the same name.
func (j *judgement) shown(names []string) []string {
	short := make([]string, len(names))
	seen := map[string]int{}
	for i, name := range names {
		if short[i] = name; j.reading.Tool == "go test" {
			short[i] = local(name)
		}
		seen[short[i]]++
	}
	for i, name := range names {
		if seen[short[i]] > 1 {
			short[i] = name
		}
		short[i] = cutText(short[i], maxQuote)
	}
	return short
}

func local(name string) string {
	if report.IsWhole(name) {
		return name
	}
	_, l := report.Split(name)
	return l
}

// failed are the names of the tests that fail, failures of wholes left out.
func failed(tests []pawl.TestResult) []string {
	var names []string
	for _, t := range tests {
		if t.Status == pawl.TestFail && !report.IsWhole(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// wholes are the names of the packages, files and suites that fail as such.
func wholes(tests []pawl.TestResult) []string {
	var names []string
	for _, t := range tests {
		if t.Status == pawl.TestFail && report.IsWhole(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// leaves drops the tests that have a subtest in the list.
func leaves(names []string) []string {
	parents := map[string]bool{}
	for _, name := range names {
		parents[report.Parent(name)] = true
	}
	var rest []string
	for _, name := range names {
		if !parents[name] {
			rest = append(rest, name)
		}
	}
	return rest
}

func without(names, drop []string) []string {
	var rest []string
	for _, name := range names {
		if !slices.Contains(drop, name) {
			rest = append(rest, name)
		}
	}
	return rest
}

// testFailures says such as "2 of 14 tests fail: TestLogin, TestLogout".
func (j *judgement) testFailures() string {
	r := &j.reading
	var parts []string
	if broken := wholes(r.Tests); len(broken) > 0 {
		parts = append(parts, nameList(broken, len(broken)))
	}
	if r.Failed > 0 {
		s := fmt.Sprintf("%d of %s %s", r.Failed, count(r.Ran(), "test"), verb(r.Failed, "fail"))
		if names := failed(r.Tests); len(names) > 0 {
			s += ": " + nameList(j.shown(names), r.Failed)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

func testsPass(r *report.Reading) string {
	return fmt.Sprintf("%s %s%s", count(r.Passed, "test"), verb(r.Passed, "pass"), skippedNote(r.Skipped))
}

func skippedNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d skipped)", n)
}

// findingsReason says such as "1 critical finding: GO-2024-1 in go.mod: …".
func (j *judgement) findingsReason(findings []pawl.Diagnostic) string {
	s := j.findingsCount(findings) + ": "
	sorted := slices.Clone(findings)
	slices.SortStableFunc(sorted, func(a, b pawl.Diagnostic) int { return report.Grade(b.Severity) - report.Grade(a.Severity) })
	var told []string
	for _, f := range sorted[:min(3, len(sorted))] {
		told = append(told, tell(f))
	}
	s += strings.Join(told, "; ")
	if more := len(findings) - len(told); more > 0 {
		s += fmt.Sprintf(" (and %d more)", more)
	}
	return s
}

func (j *judgement) findingsCount(findings []pawl.Diagnostic) string {
	if j.req.Spec.Kind != pawl.GateSecurity {
		noun := "error"
		if worst(findings) == pawl.SeverityMedium {
			noun = "warning"
		} else if worst(findings) == pawl.SeverityLow {
			noun = "note"
		}
		return count(len(findings), noun)
	}
	n := map[pawl.Severity]int{}
	for _, f := range findings {
		n[f.Severity]++
	}
	var parts []string
	for _, s := range []pawl.Severity{pawl.SeverityCritical, pawl.SeverityHigh, pawl.SeverityMedium, pawl.SeverityLow} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	noun := "findings"
	if len(findings) == 1 {
		noun = "finding"
	}
	return strings.Join(parts, ", ") + " " + noun
}

func tell(f pawl.Diagnostic) string {
	s := cutText(f.Message, maxQuote)
	if f.Rule != "" {
		s = f.Rule + ": " + s
	}
	switch {
	case f.File != "" && f.Line > 0:
		s = fmt.Sprintf("%s:%d: %s", f.File, f.Line, s)
	case f.File != "":
		s = f.File + ": " + s
	}
	return s
}

// passReason says what there is to a pass.
func (j *judgement) passReason() string {
	var parts []string
	if j.reading.Ran() > 0 {
		parts = append(parts, testsPass(&j.reading))
	}
	if n := len(j.reading.Diagnostics); n > 0 {
		parts = append(parts, j.findingsReason(j.reading.Diagnostics))
	} else if j.reading.Recognised() && len(parts) == 0 {
		parts = append(parts, "nothing found")
	}
	if len(parts) == 0 {
		return fmt.Sprintf("exit %d", j.res.ExitCode)
	}
	return strings.Join(parts, "; ")
}

// lastWords is the line of the output that says best why the command failed.
func (j *judgement) lastWords() string {
	lines := Gist(string(j.res.Output), 1)
	if len(lines) == 0 {
		return "it printed nothing"
	}
	return cutText(lines[0], maxQuote)
}
