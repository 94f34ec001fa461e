package pawl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Verdict is what a gate says of a candidate.
type Verdict string

// The verdicts. Only [VerdictPass] and [VerdictSkip] let a candidate through.
const (
	VerdictPass   Verdict = "pass"
	VerdictRevise Verdict = "revise" // change this and submit again, within the iteration
	VerdictRetry  Verdict = "retry"  // start the iteration's steps again
	VerdictFail   Verdict = "fail"
	VerdictHalt   Verdict = "halt" // stop the run: a person must look
	VerdictSkip   Verdict = "skip" // nothing to check; only for optional gates
)

// GateKind says what a command gate checks. It decides how its output is read
// and on which line of a report it appears.
type GateKind string

// The kinds of command gate.
const (
	GateTests    GateKind = "tests"
	GateTypes    GateKind = "types"
	GateLint     GateKind = "lint"
	GateSecurity GateKind = "security"
	GateFormat   GateKind = "format"
	// GateValidation is the command that the loop's own task names. An agent wrote
	// it, so that it passes proves nothing; that it fails is a failure.
	GateValidation GateKind = "validation"
	// GateHeldOut are checks that the user keeps outside of the repository. It does not run on
	// the base, and agents and reviewers are told of it what [Settings.HeldOutFeedback] says.
	GateHeldOut GateKind = "held_out"
)

// HeldOutGate is the name of the gate that runs the held-out checks. No other gate has it.
const HeldOutGate = "held-out"

// HeldOutFeedback is what agents and reviewers are told of held-out checks that fail. People are
// told everything.
type HeldOutFeedback string

// What can be told of held-out checks. The zero value means [HeldOutNames].
const (
	HeldOutNone  HeldOutFeedback = "none"  // only that they fail
	HeldOutNames HeldOutFeedback = "names" // how many fail, and the names of these
	HeldOutFull  HeldOutFeedback = "full"  // also what they print
)

// Told says in words what is told.
func (f HeldOutFeedback) Told() string {
	switch f {
	case HeldOutNone:
		return "only that there are some"
	case HeldOutFull:
		return "the names and what they print"
	}
	return "the names"
}

// ReportFormat names how a gate's result is read.
type ReportFormat string

// The report formats. The zero value means [ReportAuto].
const (
	ReportAuto   ReportFormat = "auto"    // recognise the output of well-known tools, else the exit code
	ReportGoTest ReportFormat = "go-test" // go test -json on standard output
	ReportJUnit  ReportFormat = "junit"   // JUnit XML in ReportFile or on standard output
	ReportTAP    ReportFormat = "tap"     // Test Anything Protocol on standard output
	ReportSARIF  ReportFormat = "sarif"   // SARIF 2.1 findings in ReportFile or on standard output
	ReportExit   ReportFormat = "exit"    // the exit code alone
)

// GateSpec is a command gate as configured.
type GateSpec struct {
	Name    string        `json:"name" yaml:"name"`
	Kind    GateKind      `json:"kind" yaml:"kind"`
	Command string        `json:"command" yaml:"command"` // a shell line, run at the root of the checkout
	Report  ReportFormat  `json:"report,omitempty" yaml:"report,omitempty"`
	File    string        `json:"file,omitempty" yaml:"file,omitempty"` // where the command leaves its report, relative to the checkout; may be a glob
	Timeout time.Duration `json:"timeout,omitempty" yaml:"-"`           // zero: the stage's timeout
	// Optional lets the gate skip when its command is not installed. A
	// configured gate that cannot run otherwise fails.
	Optional bool `json:"optional,omitempty" yaml:"optional,omitempty"`
	// RequireGreen makes findings that the base already had fail the gate, in the whole that a run ends with.
	// Without it they are listed and must not grow.
	RequireGreen bool `json:"require_green,omitempty" yaml:"require_green,omitempty"`
	// Green are tests that a candidate has to run and pass, also where they fail on the base or do
	// not exist there.
	Green []string `json:"green,omitempty" yaml:"-"`
}

// GateLimitHint names the setting that changes the time limit of a gate.
func GateLimitHint(spec *GateSpec) string {
	switch spec.Kind {
	case GateValidation:
		return fmt.Sprintf("timeout_ms of stage %s in the recipe changes the limit", spec.Name)
	case GateHeldOut:
		return "timeout_sec of [verifier] in task.toml changes the limit, or timeout_ms of the recipe's stage"
	}
	return fmt.Sprintf("timeout_ms of gate %s changes the limit", spec.Name)
}

// Gate runs one command gate. Implemented in internal/gate/command.
type Gate interface {
	// Judge runs the gate's command in a clean checkout and reads its result.
	// An error means that no verdict could be reached because ctx ended or the
	// machine failed; everything the command does is a report.
	Judge(ctx context.Context, req GateRequest) (GateReport, error)
}

// GateRequest is one judgement to make.
type GateRequest struct {
	Spec GateSpec
	// Room has a clean checkout of the candidate as its work tree.
	Room Room
	// Base is the same gate's report on the run's base commit; nil when this is
	// the base, or when the gate did not run there.
	Base *GateReport
	// Doubt is a report of the same gate on this very commit: what comes out
	// differently now is flaky. nil when the commit was not judged before.
	Doubt *GateReport
	// FailsNew lets a flaky test that Base does not have fail the gate after all. It needs a Base
	// that names all of its tests.
	FailsNew bool
	// List asks for the runner's own list of its tests when the gate passes; see
	// [GateReport.Unlisted].
	List bool
	// Prepared reports that commands of prepare were to put dependencies in place.
	Prepared bool
	// Env is told to the command: PAWL_TASK_ID, PAWL_CHANGED_FILES (a file with
	// one path per line), PAWL_PROJECT_ROOT.
	Env []string
	// Timeout is the time that is left of Limit, which is what the whole judgement may
	// take. A Limit of zero is the Timeout.
	Timeout, Limit time.Duration
	// Progress receives output while the command runs; it may be nil and may drop.
	Progress func([]byte)
}

// GateReport is a judgement with its evidence. Its JSON form is stored as the
// gate's evidence.
type GateReport struct {
	Verdict Verdict `json:"verdict"`
	// Reason says in one sentence why, such as "2 of 14 tests fail: TestLogin, TestLogout".
	Reason string `json:"reason"`
	// Partial reports that the command was cut short (a timeout) and the rest is what there was.
	Partial bool `json:"partial,omitempty"`
	// RedAtBase reports that the gate did not pass on the base and did not get worse.
	RedAtBase bool `json:"red_at_base,omitempty"`
	// Format is how the result was read.
	Format ReportFormat `json:"format,omitempty"`
	// Passed, Failed and Skipped count tests, also those that the format gives no
	// names of.
	Passed  int `json:"passed,omitempty"`
	Failed  int `json:"failed,omitempty"`
	Skipped int `json:"skipped,omitempty"`
	// Tests are the single results where the format has them, sorted by name.
	Tests []TestResult `json:"tests,omitempty"`
	// Diagnostics are what a linter or scanner found, where the format has them.
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`
	// Complete reports that Tests names every test that ran, and that no failure kept others
	// from running, as far as the runner tells. Older reports do not say so.
	Complete bool `json:"complete,omitempty"`
	// Channel is the test runner that gave the results itself, such as "go test". Empty = they
	// were read from what the command printed, where a test can print what looks like one.
	Channel string `json:"channel,omitempty"`
	// Lost are the tests of the base that the candidate does not run, at most 500. It is no
	// failure: a goal may ask for it.
	Lost []LostTest `json:"lost,omitempty"`
	// Fewer is how many tests fewer than on the base ran, where they have no names.
	Fewer int `json:"fewer,omitempty"`
	// Unlisted are tests that are reported and not in the runner's own list, Unreported those
	// in the list of which there is no result; of tests within others only the outer ones, at
	// most 500. Both are empty where no list was asked for or the runner has none: Listed is how
	// many tests it has, 0 = not known.
	Unlisted   []string `json:"unlisted,omitempty"`
	Unreported []string `json:"unreported,omitempty"`
	Listed     int      `json:"listed,omitempty"`
	// Rerun are the tests that alone were run, because they failed in the report that was in
	// doubt; the other results are of that report. Empty = all were run.
	Rerun []string `json:"rerun,omitempty"`
	// Notes say how the result was reached where that is not as usual, a sentence each.
	Notes []string `json:"notes,omitempty"`
	// Flaky names the tests that came out differently on the same commit; among Tests
	// they are passed, but for those that [GateRequest.FailsNew] lets fail.
	Flaky []string `json:"flaky,omitempty"`
	// Error is the normalised error: no paths, addresses, times or counters, so
	// that two attempts that fail alike compare equal. Empty when nothing failed.
	Error string `json:"error,omitempty"`
	// Met are the limits of its room that the command met.
	Met []ResourceMet `json:"met,omitempty"`
	// Missing is the program that the command needs and the machine does not have.
	Missing string `json:"missing,omitempty"`
	// Lacks is what of the repository the command needs and the commit does not have.
	Lacks string `json:"lacks,omitempty"`
	// Kept is how many tests passed on the base and pass now; 1 of a gate that passed on the base and
	// shows no single tests.
	Kept     int           `json:"kept,omitempty"`
	ExitCode int           `json:"exit_code"`
	Output   string        `json:"output,omitempty"` // cut to the output limit
	Duration time.Duration `json:"duration"`
}

// LostTest is a test that ran on the base, passing or failing, and does not run now.
type LostTest struct {
	Name    string `json:"name"`
	Skipped bool   `json:"skipped,omitempty"` // it is there and skipped; else it is gone
}

const (
	lostRemoved = " (removed)"
	lostSkipped = " (skipped now)"
)

// String returns the name, and whether the test is gone or skipped.
func (l LostTest) String() string {
	if l.Skipped {
		return l.Name + lostSkipped
	}
	return l.Name + lostRemoved
}

// UnmarshalJSON reads a report. What linters and scanners found was called findings before, and
// lost tests were an inventory of sentences.
func (r *GateReport) UnmarshalJSON(data []byte) error {
	type plain GateReport
	in := struct {
		*plain
		Findings  []Diagnostic `json:"findings"`
		Inventory []string     `json:"inventory"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if len(r.Diagnostics) == 0 {
		r.Diagnostics = in.Findings
	}
	if len(r.Lost) == 0 {
		r.readInventory(in.Inventory)
	}
	return nil
}

// readInventory reads the sentences of an older report.
func (r *GateReport) readInventory(sentences []string) {
	for _, s := range sentences {
		var ran, now int
		if name, found := strings.CutSuffix(s, lostRemoved); found {
			r.Lost = append(r.Lost, LostTest{Name: name})
		} else if name, found := strings.CutSuffix(s, lostSkipped); found {
			r.Lost = append(r.Lost, LostTest{Name: name, Skipped: true})
		} else if n, _ := fmt.Sscanf(strings.Replace(s, "1 test ran", "1 tests ran", 1), "%d tests ran on the base, %d now", &ran, &now); n == 2 {
			r.Fewer = max(ran-now, 0)
		}
	}
}

// TestStatus is the result of one test.
type TestStatus string

// The test results.
const (
	TestPass TestStatus = "pass"
	TestFail TestStatus = "fail"
	TestSkip TestStatus = "skip"
)

// TestResult is one test's result.
type TestResult struct {
	Name   string     `json:"name"` // package and test, such as "pawl/internal/kernel.TestStuck"
	Status TestStatus `json:"status"`
	// Output is what the test printed, kept for failing tests only, at most 4 kB.
	Output string `json:"output,omitempty"`
}

// Severity grades a diagnostic.
type Severity string

// The severities. Critical halts, high and medium fail, low passes and is listed.
const (
	SeverityCritical Severity = "critical"
	SeverityHigh     Severity = "high"
	SeverityMedium   Severity = "medium"
	SeverityLow      Severity = "low"
)

// Diagnostic is one result of a scanner or linter.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule,omitempty"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Message  string   `json:"message"`
}
