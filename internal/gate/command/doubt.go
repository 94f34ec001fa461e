package command

import (
	"slices"
	"strings"

	"pawl"
	"pawl/internal/gate/report"
)

// settle compares the tests with those of an earlier run on the same commit. One
// that fails in one of the two and passes in the other is flaky, and counts as
// passed. One that failed then and neither passes nor fails now counts as failed:
// nothing speaks for it. A package or file that fails now is not excused, since
// its tests did not run.
func (j *judgement) settle() {
	if j.req.Doubt == nil || !j.reading.Recognised() || j.reading.Damage != "" {
		return
	}
	then, now := statuses(j.req.Doubt.Tests), statuses(j.reading.Tests)
	j.excuseTests(then)
	var missing []pawl.TestResult
	for _, t := range j.req.Doubt.Tests {
		if t.Status != pawl.TestFail || now[t.Name] == pawl.TestFail {
			continue
		}
		if passes(now, t.Name) || report.IsWhole(t.Name) {
			j.flaky = append(j.flaky, t.Name)
			continue
		}
		missing = append(missing, t)
	}
	j.failAgain(missing)
	slices.Sort(j.flaky)
	j.flaky = slices.Compact(j.flaky)
}

// excuseTests lets the failing tests pass that passed then. A test around others
// goes with them: it fails because they do.
func (j *judgement) excuseTests(then map[string]pawl.TestStatus) {
	var failing []*pawl.TestResult
	for i := range j.reading.Tests {
		if t := &j.reading.Tests[i]; t.Status == pawl.TestFail && !report.IsWhole(t.Name) {
			failing = append(failing, t)
		}
	}
	slices.SortFunc(failing, func(a, b *pawl.TestResult) int { return len(b.Name) - len(a.Name) }) // the inner ones first
	inner, left := map[string]int{}, map[string]int{}                                              // failing subtests, and those not excused
	for _, t := range failing {
		parent := report.Parent(t.Name)
		inner[parent]++
		if !passes(then, t.Name) && (inner[t.Name] == 0 || left[t.Name] > 0) {
			left[parent]++
			continue
		}
		t.Status, t.Output = pawl.TestPass, ""
		j.reading.Failed--
		j.reading.Passed++
		j.flaky = append(j.flaky, t.Name)
		j.excused = true
	}
}

// failAgain counts tests as failed that failed before.
func (j *judgement) failAgain(tests []pawl.TestResult) {
	for _, t := range tests {
		i := slices.IndexFunc(j.reading.Tests, func(o pawl.TestResult) bool { return o.Name == t.Name })
		if i < 0 {
			j.reading.Tests = append(j.reading.Tests, t)
		} else {
			j.reading.Tests[i] = t // it was skipped
			j.reading.Skipped--
		}
		j.reading.Failed++
	}
	slices.SortFunc(j.reading.Tests, func(a, b pawl.TestResult) int { return strings.Compare(a.Name, b.Name) })
}

func statuses(tests []pawl.TestResult) map[string]pawl.TestStatus {
	all := make(map[string]pawl.TestStatus, len(tests))
	for _, t := range tests {
		all[t.Name] = t.Status
	}
	return all
}

// passes reports whether a test passes; one that is not there does when the test
// around it does.
func passes(in map[string]pawl.TestStatus, name string) bool {
	for ; name != ""; name = report.Parent(name) {
		if status, there := in[name]; there {
			return status == pawl.TestPass
		}
	}
	return false
}

// flakyNote tells of the flaky tests.
func (j *judgement) flakyNote() string {
	names := leaves(j.flaky)
	if len(names) == 0 {
		return ""
	}
	return "; flaky, with another result before: " + nameList(j.shown(names), len(names))
}
