package report

import (
	"slices"

	"pawl"
)

// Failing returns the names of the tests that a gate has red, and of what could not be built of them, in the
// report's order. A test with subtests is left out if one of these is red.
func Failing(r *pawl.GateReport) []string {
	var out []string
	for _, t := range r.Tests {
		if t.Status == pawl.TestFail {
			out = append(out, t.Name)
		}
	}
	return slices.DeleteFunc(out, func(name string) bool {
		return slices.ContainsFunc(out, func(o string) bool { return Parent(o) == name })
	})
}

// Red returns what is red at the base of a gate, by its report there, without reasons: what [Failing] returns,
// but for flaky tests, or the gate as one test if that is nothing. It returns nil if the gate passed there or did
// not do its work, and if the report is nil.
func Red(gate string, base *pawl.GateReport) []pawl.GoalTest {
	if base == nil || base.Verdict == pawl.VerdictPass || base.Verdict == pawl.VerdictSkip || base.Partial || base.ExitCode < 0 || base.Missing != "" {
		return nil
	}
	var out []pawl.GoalTest
	for _, name := range Failing(base) {
		if !slices.Contains(base.Flaky, name) {
			out = append(out, pawl.GoalTest{Gate: gate, Name: name})
		}
	}
	if len(out) == 0 {
		out = append(out, pawl.GoalTest{Gate: gate})
	}
	return out
}
