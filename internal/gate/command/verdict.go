package command

import (
	"cmp"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/gate/report"
)

// lacksTests is what a repository lacks in which no test runs.
const lacksTests = "tests"

// judgement is one command's result on its way to a report.
type judgement struct {
	req     pawl.GateRequest
	res     pawl.CommandResult
	reading report.Reading
	attempt *attempt
	flaky   []string // tests that came out differently in an earlier run on the same commit
	excused bool     // some of them failed now
	// newFlaky are those of flaky that fail, as the base does not have them.
	newFlaky []string
	program  string // what the machine lacks
	part     string // of a program that is there, and lacks it
	lacks    string // what the repository lacks
}

// outcome is what a candidate deserves by itself, before it is compared with
// the base.
type outcome struct {
	verdict pawl.Verdict
	reason  string
	// comparable reports that the command did its work and found something, so
	// that the same thing on the base excuses it.
	comparable bool
}

func fails(format string, args ...any) outcome {
	return outcome{verdict: pawl.VerdictFail, reason: fmt.Sprintf(format, args...)}
}

func failsComparably(format string, args ...any) outcome {
	return outcome{verdict: pawl.VerdictFail, reason: fmt.Sprintf(format, args...), comparable: true}
}

func (j *judgement) report() pawl.GateReport {
	j.settle()
	own := j.outcome()
	r := pawl.GateReport{
		Verdict: own.verdict, Reason: own.reason, Partial: j.res.TimedOut, Format: j.reading.Format,
		Passed: j.reading.Passed, Failed: j.reading.Failed, Skipped: j.reading.Skipped,
		Tests: j.reading.Tests, Diagnostics: j.reading.Diagnostics, Flaky: bounded(j.flaky),
		Complete: j.complete(), Channel: j.attempt.runner(), Rerun: bounded(j.attempt.rerun),
		ExitCode: j.res.ExitCode, Output: string(j.res.Output), Duration: j.res.Duration, Met: j.res.Met,
	}
	if own.verdict != pawl.VerdictPass && own.verdict != pawl.VerdictSkip {
		r.Error = j.errorText(&r, own)
		if !j.res.Missing && !j.res.TimedOut {
			j.lacks = cmp.Or(j.lacks, lacking(r.Output))
		}
	}
	r.Missing, r.Lacks = j.program, j.lacks
	j.againstBase(&r, own)
	r.Kept = j.kept(&r)
	j.wanted(&r)
	r.Reason += j.flakyNote() + j.baseNote()
	for _, note := range j.attempt.said {
		r.Reason += "; " + note
	}
	for _, m := range j.res.Met {
		r.Reason += "; " + m.String()
	}
	j.bound(&r)
	if own.verdict == pawl.VerdictFail {
		r.Reason += j.dependenciesNote()
	}
	return r
}

// complete reports whether the tests of the report are all there are.
func (j *judgement) complete() bool {
	r := &j.reading
	return r.Ran() > 0 && r.Complete() && r.Damage == "" && len(r.Broken) == 0 && !j.res.TimedOut
}

// outcome takes the first reason to fail, in the order of the package comment.
func (j *judgement) outcome() outcome {
	res, reading := j.res, &j.reading
	failing := j.failing()
	switch {
	case res.Missing:
		return j.missing()
	case res.TimedOut:
		return j.timedOut()
	case reading.Damage != "":
		return fails("%s%s", reading.Damage, j.exitNote())
	case reading.Failed > 0 || len(wholes(reading.Tests)) > 0:
		return failsComparably("%s", j.testFailures())
	case len(failing) > 0:
		return j.findingsFail(failing)
	case j.req.Spec.Kind == pawl.GateTests && reading.Recognised() && reading.Ran() == 0:
		j.lacks = lacksTests
		return fails("0 tests ran%s", skippedNote(reading.Skipped))
	case res.ExitCode < 0:
		return fails("the command was killed")
	case res.ExitCode != 0 && !j.explained():
		return j.exitFails()
	}
	return outcome{verdict: pawl.VerdictPass, reason: j.passReason()}
}

// timedOut reports what there was until then. D-60
func (j *judgement) timedOut() outcome {
	parts := []string{fmt.Sprintf("timed out after %s", pawl.Span(cmp.Or(j.req.Limit, timeout(j.req))))}
	if running := leaves(j.reading.Unfinished); len(running) > 0 {
		parts[0] += " in " + nameList(j.shown(running), len(running))
	}
	if failed := without(failed(j.reading.Tests), j.reading.Unfinished); len(failed) > 0 {
		parts = append(parts, fmt.Sprintf("until then %s failed: %s", count(len(failed), "test"), nameList(j.shown(failed), len(failed))))
	}
	if j.reading.Recognised() {
		parts = append(parts, fmt.Sprintf("%s had passed", count(j.reading.Passed, "test")))
	}
	parts = append(parts, pawl.GateLimitHint(&j.req.Spec))
	return fails("%s", strings.Join(parts, "; "))
}

// failing are the findings that this kind of gate does not let through.
func (j *judgement) failing() []pawl.Diagnostic {
	var all []pawl.Diagnostic
	for _, f := range j.reading.Diagnostics {
		if tooSevere(j.req.Spec.Kind, f.Severity) {
			all = append(all, f)
		}
	}
	return all
}

// tooSevere holds the table of severities: a scanner's critical, high and
// medium findings fail, of other tools only errors, which are graded high.
// Warnings, graded medium, are allowed.
func tooSevere(kind pawl.GateKind, s pawl.Severity) bool {
	if kind == pawl.GateSecurity {
		return report.Grade(s) >= report.Grade(pawl.SeverityMedium)
	}
	return report.Grade(s) >= report.Grade(pawl.SeverityHigh)
}

func (j *judgement) findingsFail(failing []pawl.Diagnostic) outcome {
	o := failsComparably("%s", j.findingsReason(failing))
	if j.req.Spec.Kind == pawl.GateSecurity && worst(failing) == pawl.SeverityCritical {
		o.verdict = pawl.VerdictHalt // D-37, D-62
	}
	return o
}

func worst(findings []pawl.Diagnostic) pawl.Severity {
	var w pawl.Severity
	for _, f := range findings {
		if report.Grade(f.Severity) > report.Grade(w) {
			w = f.Severity
		}
	}
	return w
}

// explained reports whether flaky tests, or findings that are let through, are why
// the command did not end with 0. Of findings only structured reports are believed:
// in prose an error may stand where no reader knows it.
func (j *judgement) explained() bool {
	if j.excused && j.res.ExitCode < 124 {
		return true
	}
	structured := j.reading.Format == pawl.ReportSARIF || j.req.Spec.Kind == pawl.GateSecurity && j.reading.Format == pawl.ReportAuto
	return structured && len(j.reading.Diagnostics) > 0 && j.res.ExitCode < 124
}

func (j *judgement) exitFails() outcome {
	code := j.res.ExitCode
	if j.reading.Ran() > 0 {
		return failsComparably("exit %d though %s: %s", code, testsPass(&j.reading), j.lastWords())
	}
	o := failsComparably("exit %d: %s", code, j.lastWords())
	// A scanner that fails without a finding did not scan: what it would have
	// found is not known, on the base or here.
	o.comparable = j.req.Spec.Kind != pawl.GateSecurity || j.req.Spec.Optional
	return o
}

func (j *judgement) exitNote() string {
	if j.res.ExitCode == 0 {
		return ""
	}
	return fmt.Sprintf(" (exit %d: %s)", j.res.ExitCode, j.lastWords())
}
