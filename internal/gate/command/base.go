package command

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/gate/report"
)

// againstBase compares a report with the same gate's report on the base. What
// fails on the base too is listed and excused, as long as nothing new fails;
// what ran on the base and does not run any more is listed, and is no failure: a goal may ask
// for it.
//
// Two failures are the same when the names of the failing tests are; of
// findings, when rule, file and message are, whatever the line; of anything
// else, when the normalised error is. A base whose command was not installed,
// timed out or was killed says nothing and excuses nothing. Nor is a candidate
// excused whose own result cannot be read, or which ran no test at all: there
// is nothing to hold against the base.
func (j *judgement) againstBase(r *pawl.GateReport, own outcome) {
	base := j.req.Base
	if base == nil || own.verdict == pawl.VerdictSkip {
		return
	}
	red := own.verdict != pawl.VerdictPass
	if red && own.comparable && !j.req.Spec.RequireGreen && failedThere(base) {
		j.compare(r, own)
	}
	if j.req.Spec.Kind == pawl.GateTests && !j.res.Missing && !j.res.TimedOut && j.reading.Damage == "" {
		j.compareInventory(r)
	}
}

// kept returns how many tests passed on the base and pass now; 1 of a gate that passed on the base and
// passes now, and shows no single tests. Where the base names no tests that ran, there is nothing to keep.
func (j *judgement) kept(r *pawl.GateReport) int {
	base := j.req.Base
	if base == nil || j.req.Spec.Kind != pawl.GateTests || base.Partial {
		return 0
	}
	if len(base.Tests) == 0 && base.Passed+base.Failed == 0 && base.Format == pawl.ReportExit && r.Format == pawl.ReportExit {
		if base.Verdict == pawl.VerdictPass && r.Verdict == pawl.VerdictPass {
			return 1
		}
		return 0
	}
	if len(base.Tests) == 0 || len(r.Tests) == 0 { // they are only counted
		return min(base.Passed, r.Passed)
	}
	passed := map[string]bool{}
	for _, t := range base.Tests {
		passed[t.Name] = t.Status == pawl.TestPass
	}
	n := 0
	for _, t := range r.Tests {
		if t.Status == pawl.TestPass && passed[t.Name] {
			n++
		}
	}
	return n
}

// wanted fails a report that passes without the tests which have to pass.
func (j *judgement) wanted(r *pawl.GateReport) {
	if r.Verdict != pawl.VerdictPass {
		return
	}
	var red, absent []string
	for _, name := range j.req.Spec.Green {
		ran, failing := false, false
		for _, t := range r.Tests {
			if t.Name == name || local(t.Name) == name || strings.HasPrefix(t.Name, name+"/") {
				ran = ran || t.Status != pawl.TestSkip
				failing = failing || t.Status == pawl.TestFail
			}
		}
		switch {
		case failing:
			red = append(red, name)
		case !ran:
			absent = append(absent, name)
		}
	}
	var reasons []string
	if n := len(red); n > 0 {
		reasons = append(reasons, fmt.Sprintf("%s that must pass %s: %s", count(n, "test"), verb(n, "fail"), nameList(red, n)))
	}
	if n := len(absent); n > 0 {
		reasons = append(reasons, fmt.Sprintf("%s that must pass did not run: %s", count(n, "test"), nameList(absent, n)))
	}
	if len(reasons) > 0 {
		r.Verdict, r.RedAtBase, r.Reason = pawl.VerdictFail, false, strings.Join(reasons, "; ")
		r.Error = Normalise(r.Reason)
	}
}

// exitNotFound is the exit code of a shell that does not find a command.
const exitNotFound = 127

// failedThere reports whether the gate did its work on the base and failed.
func failedThere(base *pawl.GateReport) bool {
	return base.Verdict != pawl.VerdictPass && base.Verdict != pawl.VerdictSkip &&
		!base.Partial && base.ExitCode >= 0 && !notFoundThere(base)
}

// notFoundThere reports whether the gate did not find what it needs on the base.
func notFoundThere(base *pawl.GateReport) bool {
	return base.ExitCode == exitNotFound || base.Missing != ""
}

func (j *judgement) compare(r *pawl.GateReport, own outcome) {
	if names := allFailing(r.Tests); len(names) > 0 || j.reading.Failed > 0 {
		j.compareTests(r, names)
		return
	}
	if failing := j.failing(); len(failing) > 0 {
		j.compareFindings(r, failing)
		return
	}
	if r.Error == j.req.Base.Error {
		excuse(r, "not worse than the base, which fails alike: "+own.reason)
		return
	}
	r.Reason += "; the base fails differently: " + cutText(j.req.Base.Reason, maxQuote)
}

func excuse(r *pawl.GateReport, reason string) {
	r.Verdict, r.RedAtBase, r.Reason = pawl.VerdictPass, true, reason
}

func (j *judgement) compareTests(r *pawl.GateReport, names []string) {
	there := map[string]bool{}
	for _, name := range allFailing(j.req.Base.Tests) {
		there[name] = true
	}
	var fresh, old []string
	for _, name := range names {
		if there[name] {
			old = append(old, name)
		} else {
			fresh = append(fresh, name)
		}
	}
	switch {
	case len(fresh) > 0:
		r.Reason = j.newFailures(fresh)
		if len(old) > 0 {
			r.Reason += fmt.Sprintf("; %d %s there too: %s", len(old), verb(len(old), "fail"), nameList(j.shown(old), len(old)))
		}
		r.Error = Normalise(failureText(r, leaves(fresh)))
	case j.unnamedFailures() > 0 && !j.sameUnnamed(r):
		r.Reason += "; on the base " + cutText(j.req.Base.Reason, maxQuote)
	case len(old) > 0:
		excuse(r, fmt.Sprintf("not worse than the base: %s %s there too: %s", count(len(old), "test"), verb(len(old), "fail"), nameList(j.shown(old), len(old))))
	default:
		excuse(r, "not worse than the base, which fails alike: "+r.Reason)
	}
}

func (j *judgement) newFailures(names []string) string {
	list := nameList(j.shown(names), len(names))
	switch {
	case slices.ContainsFunc(names, report.IsWhole):
		return count(len(names), "failure") + " that the base does not have: " + list
	case len(names) == 1:
		return "1 test fails that does not fail on the base: " + list
	}
	return fmt.Sprintf("%d tests fail that do not fail on the base: %s", len(names), list)
}

// unnamedFailures is how many failing tests the report counts and does not name.
func (j *judgement) unnamedFailures() int {
	return j.reading.Failed - len(failed(j.reading.Tests))
}

// sameUnnamed compares failures that have no names: there must not be more of
// them, and what is printed of them must be the same.
func (j *judgement) sameUnnamed(r *pawl.GateReport) bool {
	return j.reading.Failed <= j.req.Base.Failed && r.Error == j.req.Base.Error
}

func findingKey(f pawl.Diagnostic) string {
	return f.Rule + "\x00" + f.File + "\x00" + Normalise(f.Message)
}

func (j *judgement) compareFindings(r *pawl.GateReport, failing []pawl.Diagnostic) {
	if j.reading.FindingsLeftOut > 0 {
		r.Reason += "; too many findings to compare with the base"
		return
	}
	there := map[string]int{}
	for _, f := range j.req.Base.Diagnostics {
		there[findingKey(f)]++
	}
	var fresh, old []pawl.Diagnostic
	for _, f := range failing {
		if key := findingKey(f); there[key] > 0 {
			there[key]--
			old = append(old, f)
		} else {
			fresh = append(fresh, f)
		}
	}
	if len(fresh) == 0 {
		reason := "not worse than the base, which has the same: " + j.findingsReason(old)
		if j.req.Spec.Kind == pawl.GateSecurity && worst(old) == pawl.SeverityCritical {
			reason = "CRITICAL FINDINGS REMAIN, " + reason
		}
		excuse(r, reason)
		return
	}
	r.Verdict = j.findingsFail(fresh).verdict
	r.Reason = j.findingsReason(fresh)
	if len(old) > 0 {
		r.Reason = "new: " + r.Reason + "; on the base too: " + j.findingsCount(old)
	}
	r.Error = findingsText(fresh)
}

// compareInventory tells of tests of the base that the candidate lost.
func (j *judgement) compareInventory(r *pawl.GateReport) {
	if !j.reading.Recognised() {
		j.unreadableNow(r)
		return
	}
	green := r.Verdict == pawl.VerdictPass
	lost := findLost(j.req.Base.Tests, &j.reading, !green)
	if len(lost) == 0 {
		if green {
			j.compareCounts(r)
		}
		return
	}
	r.Lost = lost[:min(len(lost), maxInventory)]
	said := make([]string, len(lost))
	for i, name := range j.shown(names(lost)) {
		said[i] = pawl.LostTest{Name: name, Skipped: lost[i].Skipped}.String()
	}
	reason := fmt.Sprintf("%s of the base no longer %s: %s", count(len(lost), "test"), verb(len(lost), "run"), nameList(said, len(said)))
	if r.RedAtBase && keptFromRunning(lost, j.req.Base.Tests, &j.reading) {
		r.Verdict, r.RedAtBase, r.Error = pawl.VerdictFail, false, Normalise(reason)
		r.Reason = reason + ", because of a failure; " + r.Reason
		return
	}
	r.Reason += "; " + reason
}

// keptFromRunning reports whether a failure is why a lost test did not run. The base has that
// failure too, but there the test ran beside it.
func keptFromRunning(lost []pawl.LostTest, base []pawl.TestResult, reading *report.Reading) bool {
	inv := newInventory(base, reading)
	return slices.ContainsFunc(lost, func(l pawl.LostTest) bool { return !l.Skipped && inv.explained(l.Name, reading) })
}

// baseNote tells of a base that says nothing about the candidate, so that what was not compared
// is not taken for what is the same.
func (j *judgement) baseNote() string {
	base := j.req.Base
	if base == nil || !base.Partial && base.ExitCode >= 0 && (!notFoundThere(base) || j.res.Missing) {
		return ""
	}
	return "; the base could not be judged: " + cutText(base.Reason, maxQuote)
}

// unreadableNow is for a command that reported tests on the base and reports
// none that can be read now, though it succeeds: it was replaced or silenced.
func (j *judgement) unreadableNow(r *pawl.GateReport) {
	if r.Verdict != pawl.VerdictPass || r.RedAtBase || j.req.Spec.Report == pawl.ReportExit {
		return
	}
	ran := j.req.Base.Passed + j.req.Base.Failed
	if ran == 0 {
		return
	}
	r.Verdict = pawl.VerdictFail
	r.Reason = fmt.Sprintf("%s ran on the base, and no test result can be read now", count(ran, "test"))
	r.Error = Normalise(r.Reason)
}

// compareCounts is for reports that do not name all tests: then fewer tests
// are all that can be seen.
func (j *judgement) compareCounts(r *pawl.GateReport) {
	if j.reading.Complete() {
		return
	}
	base, here := j.req.Base.Passed+j.req.Base.Failed, j.reading.Ran()
	if base <= here {
		return
	}
	r.Fewer = base - here
	r.Reason += fmt.Sprintf("; %s ran on the base, %d now", count(base, "test"), here)
}
