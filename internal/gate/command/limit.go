package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"

	"pawl"
	"pawl/internal/gate/report"
)

// Limits of a report, so that its JSON stays at about 1 MB however large the
// project is. Outputs of tests go first, then names of tests that passed.
const (
	maxTestOutputs  = 40_000  // bytes of all tests' output together
	maxTestBytes    = 600_000 // bytes of JSON of all tests without output
	maxFindingBytes = 350_000 // bytes of JSON of all findings
)

// bound keeps a report within the limits and says in its reason what is not in it.
func (j *judgement) bound(r *pawl.GateReport) {
	left := j.reading.LeftOut + boundTests(r)
	leftFindings := j.reading.FindingsLeftOut + j.boundFindings(r)
	r.Reason = cutText(r.Reason, maxReason)
	if left > 0 {
		r.Reason += fmt.Sprintf("; %s not listed", count(left, "more test result"))
	}
	if leftFindings > 0 {
		r.Reason += fmt.Sprintf("; %s not listed", count(leftFindings, "more finding"))
	}
}

// boundTests drops outputs and names beyond the limits, failures last, and
// returns how many names it dropped.
func boundTests(r *pawl.GateReport) (dropped int) {
	tests := slices.Clone(r.Tests)
	sort.SliceStable(tests, func(i, j int) bool { return order(tests[i].Status) < order(tests[j].Status) })
	outputs, size := 0, 0
	for i := range tests {
		t := &tests[i]
		if outputs+len(t.Output) > maxTestOutputs {
			t.Output = ""
		}
		outputs += len(t.Output)
		if size += jsonSize(t.Name); size > maxTestBytes {
			dropped = len(tests) - i
			tests = tests[:i]
			break
		}
	}
	sort.Slice(tests, func(i, j int) bool { return tests[i].Name < tests[j].Name })
	r.Tests = tests
	return dropped
}

func order(s pawl.TestStatus) int {
	if s == pawl.TestFail {
		return 0
	}
	return 1
}

// boundFindings keeps the worst findings and returns how many it dropped.
func (j *judgement) boundFindings(r *pawl.GateReport) (dropped int) {
	findings := slices.Clone(r.Diagnostics)
	slices.SortStableFunc(findings, func(a, b pawl.Diagnostic) int { return report.Grade(b.Severity) - report.Grade(a.Severity) })
	size := 0
	for i, f := range findings {
		if size += jsonSize(f.File) + jsonSize(f.Rule) + jsonSize(f.Message) + 40; size > maxFindingBytes {
			dropped = len(findings) - i
			findings = findings[:i]
			break
		}
	}
	r.Diagnostics = findings
	return dropped
}

// jsonSize is about how many bytes a text takes in JSON with its field's name.
func jsonSize(s string) int {
	b, err := json.Marshal(s)
	if err != nil {
		return len(s) + 30
	}
	return len(b) + 26
}
