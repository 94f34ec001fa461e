package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/gate/report"
	"pawl/internal/gate/suite"
)

// again runs the tests alone that failed in the report that is in doubt, where the runner can
// be told so, and puts their results in the place of those in that report. It returns nil where
// all has to run: where the report may lack tests, the runner cannot select or did not run what
// was selected, or the command fails though these tests pass.
func (a *attempt) again(ctx context.Context) (*judgement, error) {
	doubt := a.req.Doubt
	if doubt == nil || a.suite == nil {
		return nil, nil
	}
	names, err := selectable(doubt)
	var only *suite.Suite
	if err == nil {
		only, err = a.suite.Only(names)
	}
	if err != nil {
		a.note("all tests were run again: %v", err)
		return nil, nil
	}
	// What is selected is run as the whole was.
	whole := *a
	if a.line = only.Line(); a.channel != nil {
		err = a.open(only)
	}
	var res pawl.CommandResult
	var part report.Reading
	if err == nil {
		if res, part, err = a.run(ctx); err != nil {
			return nil, err
		}
		if err = told(names, res, &part); err == nil && whole.runner() != a.runner() {
			err = fmt.Errorf("%s gave no results of its own", a.suite.Runner)
		}
	}
	if err != nil {
		*a = whole
		a.note("all tests were run again: of the %s alone that failed, %v", count(len(names), "test"), err)
		return nil, nil
	}
	a.rerun = names
	a.say("only the %s that failed before ran again", count(len(names), "test"))
	return &judgement{req: a.req, res: res, reading: merge(doubt, names, &part), attempt: a}, nil
}

// selectable are the tests that failed in a report, if it is whole without them.
func selectable(r *pawl.GateReport) ([]string, error) {
	names := failed(r.Tests)
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("no single test failed before")
	case !r.Complete || len(names) != r.Failed || len(wholes(r.Tests)) > 0 || r.Partial:
		return nil, fmt.Errorf("some may not have run before")
	}
	for _, sign := range []string{"stopping after ", "Interrupted: "} { // pytest, as its configuration says
		if strings.Contains(r.Output, sign) {
			return nil, fmt.Errorf("some did not run before")
		}
	}
	return names, nil
}

// told returns an error where the results of selected tests do not tell of each of them, or
// tell of more that failed.
func told(names []string, res pawl.CommandResult, part *report.Reading) error {
	now := statuses(part.Tests)
	fails := false
	for _, name := range names {
		ran := false
		for at := name; at != "" && !ran; at = report.Parent(at) {
			ran = now[at] == pawl.TestPass || now[at] == pawl.TestFail
		}
		if !ran { // or it is skipped, as runners skip what they do not select
			return fmt.Errorf("%s has no result", cutText(name, maxQuote))
		}
		fails = fails || now[name] == pawl.TestFail
	}
	switch {
	case res.TimedOut || res.Missing || part.Damage != "" || len(part.Broken) > 0 || len(wholes(part.Tests)) > 0:
		return fmt.Errorf("the results are not whole")
	case res.ExitCode != 0 && !fails:
		return fmt.Errorf("all pass and the command fails (exit %d)", res.ExitCode)
	}
	return nil
}

// merge puts the results of tests that were run again, and of those within them, in the place
// of those in a report.
func merge(r *pawl.GateReport, names []string, part *report.Reading) report.Reading {
	again := map[string]bool{}
	for _, name := range names {
		again[name] = true
	}
	now := statuses(part.Tests)
	out := report.Reading{Format: part.Format, Tool: part.Tool, Diagnostics: r.Diagnostics, Skipped: r.Skipped}
	for _, t := range r.Tests {
		if _, there := now[t.Name]; !again[t.Name] && !(there && within(again, t.Name)) {
			out.Tests = append(out.Tests, t)
		}
	}
	for _, t := range part.Tests {
		if again[t.Name] || within(again, t.Name) {
			out.Tests = append(out.Tests, t)
		}
	}
	slices.SortFunc(out.Tests, func(a, b pawl.TestResult) int { return strings.Compare(a.Name, b.Name) })
	skipped := 0
	for _, t := range out.Tests {
		switch t.Status {
		case pawl.TestPass:
			out.Passed++
		case pawl.TestFail:
			out.Failed++
		case pawl.TestSkip:
			skipped++
		}
	}
	out.Skipped = max(out.Skipped, skipped)
	return out
}

// within reports whether a test is part of one of these.
func within(tests map[string]bool, name string) bool {
	for parent := report.Parent(name); parent != ""; parent = report.Parent(parent) {
		if tests[parent] {
			return true
		}
	}
	return false
}

// settle compares the tests with those of an earlier run on the same commit. One
// that fails in one of the two and passes in the other is flaky, and counts as
// passed, unless it is new and new ones are to fail. One that failed then and neither passes
// nor fails now counts as failed: nothing speaks for it. A package or file that fails now is
// not excused, since its tests did not run.
func (j *judgement) settle() {
	if j.req.Doubt == nil || !j.reading.Recognised() || j.reading.Damage != "" {
		return
	}
	then, now := statuses(j.req.Doubt.Tests), statuses(j.reading.Tests)
	isNew := j.newTests()
	j.excuseTests(then, isNew)
	var missing []pawl.TestResult
	for _, t := range j.req.Doubt.Tests {
		if t.Status != pawl.TestFail || now[t.Name] == pawl.TestFail {
			continue
		}
		if passes(now, t.Name) || report.IsWhole(t.Name) || j.allPassed() {
			j.flaky = append(j.flaky, t.Name)
			if report.IsWhole(t.Name) || !isNew(t.Name) {
				continue
			}
			j.newFlaky = append(j.newFlaky, t.Name)
		}
		missing = append(missing, t)
	}
	j.failAgain(missing)
	slices.Sort(j.flaky)
	j.flaky = slices.Compact(j.flaky)
}

// allPassed reports whether as many tests passed or were skipped as ran before, of a runner that does not name
// tests that pass.
func (j *judgement) allPassed() bool {
	r, before := &j.reading, j.req.Doubt
	return r.Failed == 0 && r.Passed > len(r.Tests) && r.Passed+r.Skipped == before.Passed+before.Failed+before.Skipped
}

// newTests returns a function that reports whether a flaky test fails because the base does not
// have it, or because of such a test within it. A test that is only moved is not new. If the base's
// tests are not all known, none is.
func (j *judgement) newTests() func(name string) bool {
	base := j.req.Base
	if !j.req.FailsNew || base == nil || !base.Complete && base.Lacks != lacksTests {
		return func(string) bool { return false }
	}
	there, around := map[string]bool{}, map[string]bool{}
	for _, t := range base.Tests {
		there[local(t.Name)] = true
	}
	for _, t := range slices.Concat(j.req.Doubt.Tests, j.reading.Tests) {
		if t.Status != pawl.TestFail || there[local(t.Name)] {
			continue
		}
		for parent := report.Parent(t.Name); parent != ""; parent = report.Parent(parent) {
			around[parent] = true
		}
	}
	return func(name string) bool { return !there[local(name)] || around[name] }
}

// excuseTests lets the failing tests pass that passed then. A test around others
// goes with them: it fails because they do.
func (j *judgement) excuseTests(then map[string]pawl.TestStatus, isNew func(string) bool) {
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
		if j.flaky = append(j.flaky, t.Name); isNew(t.Name) {
			j.newFlaky = append(j.newFlaky, t.Name)
			left[parent]++
			continue
		}
		t.Status, t.Output = pawl.TestPass, ""
		j.reading.Failed--
		j.reading.Passed++
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
			if j.reading.Tests[i].Status == pawl.TestPass {
				j.reading.Passed--
			} else {
				j.reading.Skipped--
			}
			j.reading.Tests[i] = t
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
	fresh := leaves(j.newFlaky)
	names := without(leaves(j.flaky), j.newFlaky)
	note := ""
	switch n := len(fresh); {
	case n == 1:
		note = "; " + nameList(j.shown(fresh), n) + " is new and flaky: it failed once and passed once on the same commit"
	case n > 1:
		note = "; " + nameList(j.shown(fresh), n) + " are new and flaky: each failed once and passed once on the same commit"
	}
	if len(names) > 0 {
		note += "; flaky, with another result before: " + nameList(j.shown(names), len(names))
	}
	return note
}
