package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// player is a room that plays a recorded result and keeps the command.
type player struct {
	pawl.Room
	tree    string
	result  pawl.CommandResult
	err     error
	command pawl.Command
	during  func(pawl.Command) // what the command does to the checkout
}

func (p *player) Run(_ context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	p.command = cmd
	if p.during != nil {
		p.during(cmd)
	}
	if p.result.Output == nil {
		p.result.Output = p.result.Stdout
	}
	return p.result, p.err
}

func (p *player) Dir() string           { return p.tree }
func (p *player) Tree() (string, error) { return p.tree, nil }

// play is the result of a command that printed out and ended with code.
func play(code int, out string) pawl.CommandResult {
	return pawl.CommandResult{Stdout: []byte(out), ExitCode: code, Duration: time.Second, Missing: code == 127}
}

func spec(kind pawl.GateKind) pawl.GateSpec {
	return pawl.GateSpec{Name: string(kind), Kind: kind, Command: "check --all"}
}

// MustJudge judges a played result against a base, which may be nil.
func MustJudge(tb testing.TB, s pawl.GateSpec, res pawl.CommandResult, base *pawl.GateReport) pawl.GateReport {
	tb.Helper()
	p := &player{tree: tb.TempDir(), result: res}
	r, err := New().Judge(tb.Context(), pawl.GateRequest{Spec: s, Room: p, Base: base, Timeout: 2 * time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// goJSON is what go test -json prints for tests of the package "shop": "+Name"
// passes, "-Name" fails saying that it did, "~Name" is skipped.
func goJSON(tests ...string) string {
	var b strings.Builder
	event := func(action, test, output string) {
		line, err := json.Marshal(map[string]string{"Action": action, "Package": "shop", "Test": test, "Output": output})
		if err != nil {
			panic(err)
		}
		b.Write(append(line, '\n'))
	}
	result := "pass"
	for _, t := range tests {
		name := t[1:]
		event("run", name, "")
		switch t[0] {
		case '-':
			event("output", name, "    shop_test.go:9: "+name+" is broken\n")
			event("fail", name, "")
			result = "fail"
		case '~':
			event("skip", name, "")
		default:
			event("pass", name, "")
		}
	}
	event(result, "", "")
	return b.String()
}

func goResult(tests ...string) pawl.CommandResult {
	code := 0
	for _, t := range tests {
		if t[0] == '-' {
			code = 1
		}
	}
	return play(code, goJSON(tests...))
}

// want holds a report to a verdict and a reason.
func want(t *testing.T, r pawl.GateReport, v pawl.Verdict, reason string) {
	t.Helper()
	if r.Verdict != v || r.Reason != reason {
		t.Errorf("%s: %s\nwant %s: %s", r.Verdict, r.Reason, v, reason)
	}
	if (r.Error == "") != (v == pawl.VerdictPass && !r.RedAtBase || v == pawl.VerdictSkip) {
		t.Errorf("%s with the error %q", r.Verdict, r.Error)
	}
}

// D-07, D-28
func TestTestsGate(t *testing.T) {
	tests := spec(pawl.GateTests)
	t.Run("all pass", func(t *testing.T) {
		r := MustJudge(t, tests, goResult("+TestLogin", "+TestLogout", "~TestOld"), nil)
		want(t, r, pawl.VerdictPass, "2 tests pass (1 skipped)")
		if r.Format != pawl.ReportGoTest || r.Passed != 2 || r.Duration != time.Second {
			t.Errorf("%+v", r)
		}
	})
	t.Run("some fail", func(t *testing.T) {
		r := MustJudge(t, tests, goResult("-TestA", "+TestB", "-TestC", "-TestD", "-TestE", "-TestF", "-TestG", "+TestH"), nil)
		want(t, r, pawl.VerdictFail, "6 of 8 tests fail: TestA, TestC, TestD, TestE, TestF (and 1 more)")
		if !strings.Contains(r.Error, "shop.TestA") || !strings.Contains(r.Error, "TestA is broken") {
			t.Errorf("error %q", r.Error)
		}
	})
	t.Run("one fails", func(t *testing.T) {
		want(t, MustJudge(t, tests, goResult("-TestA", "+TestB"), nil), pawl.VerdictFail, "1 of 2 tests fails: TestA")
	})
	t.Run("exit code wins over a green report", func(t *testing.T) {
		r := MustJudge(t, tests, play(3, goJSON("+TestA")+"coverage too low: error\n"), nil)
		want(t, r, pawl.VerdictFail, "exit 3 though 1 test passes: coverage too low: error")
	})
	t.Run("failing test wins over exit 0", func(t *testing.T) {
		want(t, MustJudge(t, tests, play(0, goJSON("-TestA")), nil), pawl.VerdictFail, "1 of 1 test fails: TestA")
	})
	t.Run("0 tests", func(t *testing.T) {
		want(t, MustJudge(t, tests, play(0, "1..0\n"), nil), pawl.VerdictFail, "0 tests ran")
		want(t, MustJudge(t, tests, goResult("~TestA"), nil), pawl.VerdictFail, "0 tests ran (1 skipped)")
		want(t, MustJudge(t, tests, play(0, "?   \texample.com/m\t[no test files]\n"), nil), pawl.VerdictFail, "0 tests ran")
		want(t, MustJudge(t, tests, play(5, "no tests ran in 0.00s\n"), nil), pawl.VerdictFail, "0 tests ran")
	})
	t.Run("configured report is not there", func(t *testing.T) {
		tests.Report = pawl.ReportJUnit
		want(t, MustJudge(t, tests, play(0, "fine\n"), nil), pawl.VerdictFail, "no JUnit XML was found on standard output")
		want(t, MustJudge(t, tests, play(2, "fatal error: no space left\n"), nil), pawl.VerdictFail,
			"no JUnit XML was found on standard output (exit 2: fatal error: no space left)")
	})
	t.Run("nothing to read but the exit code", func(t *testing.T) {
		tests.Report = pawl.ReportAuto
		r := MustJudge(t, tests, play(0, "done\n"), nil)
		want(t, r, pawl.VerdictPass, "exit 0")
		if r.Format != pawl.ReportExit {
			t.Errorf("format %s", r.Format)
		}
		want(t, MustJudge(t, tests, play(2, "compiling\nerror: no such module\n"), nil), pawl.VerdictFail, "exit 2: error: no such module")
		want(t, MustJudge(t, tests, play(9, ""), nil), pawl.VerdictFail, "exit 9: it printed nothing")
	})
	t.Run("exit format reads nothing", func(t *testing.T) {
		tests.Report = pawl.ReportExit
		want(t, MustJudge(t, tests, play(0, goJSON("-TestA")), nil), pawl.VerdictPass, "exit 0")
	})
	t.Run("killed", func(t *testing.T) {
		tests.Report = pawl.ReportAuto
		want(t, MustJudge(t, tests, play(-1, "working\n"), nil), pawl.VerdictFail, "the command was killed")
	})
}

// If a command's report names nothing, its error is taken from its output.
func TestErrorOfACommand(t *testing.T) {
	types, tests := spec(pawl.GateTypes), spec(pawl.GateTests)
	for _, c := range []struct {
		spec pawl.GateSpec
		res  pawl.CommandResult
		want string
	}{
		{types, play(2, "compiling\nerror: no such module\n"), "error: no such module"},
		{types, play(9, ""), "exit 9: it printed nothing"},
		{types, play(3, "Time: unexpected\n"), "exit 3: Time: unexpected"},
		{tests, play(0, "1..0\nerror: nothing was collected\n"), "# test ran"},
	} {
		if r := MustJudge(t, c.spec, c.res, nil); r.Error != c.want {
			t.Errorf("%s: the error is %q, want %q", r.Reason, r.Error, c.want)
		}
	}
	tests.Report = pawl.ReportJUnit
	r := MustJudge(t, tests, play(2, "working\nfatal error: no space left\n"), nil)
	if want := "no JUnit XML was found on standard output\nfatal error: no space left"; r.Error != want {
		t.Errorf("the error of a report that cannot be read is %q, want %q", r.Error, want)
	}
}

func TestMissingCommand(t *testing.T) {
	lint := spec(pawl.GateLint)
	lint.Command = "CGO_ENABLED=0 golangci-lint run"
	dash := play(127, "/bin/sh: 1: golangci-lint: not found\n")
	want(t, MustJudge(t, lint, dash, nil), pawl.VerdictFail, "golangci-lint is not installed (exit 127)")
	want(t, MustJudge(t, lint, play(127, "bash: line 1: golangci-lint: command not found\n"), nil), pawl.VerdictFail, "golangci-lint is not installed (exit 127)")
	want(t, MustJudge(t, lint, play(127, ""), nil), pawl.VerdictFail, "golangci-lint is not installed (exit 127)")

	lint.Optional = true
	skipped := MustJudge(t, lint, dash, nil)
	want(t, skipped, pawl.VerdictSkip, "golangci-lint is not installed (exit 127)")
	want(t, MustJudge(t, lint, dash, &skipped), pawl.VerdictSkip, "golangci-lint is not installed (exit 127)")

	ran := MustJudge(t, lint, play(0, ""), nil)
	want(t, MustJudge(t, lint, dash, &ran), pawl.VerdictFail, "golangci-lint is not installed (exit 127), though the gate ran on the base")
}

// D-60, D-B12
func TestTimeoutReportsWhatThereWas(t *testing.T) {
	out := goJSON("+TestA", "+TestB", "-TestC")
	out = out[:strings.LastIndex(strings.TrimSpace(out), "\n")+1] // the package did not end
	out += `{"Action":"run","Package":"shop","Test":"TestHang"}` + "\n"
	res := play(-1, out)
	res.TimedOut = true
	r := MustJudge(t, spec(pawl.GateTests), res, nil)
	want(t, r, pawl.VerdictFail, "timed out after 2m in TestHang; until then 1 test failed: TestC; 2 tests had passed; timeout_ms of gate tests changes the limit")
	if !r.Partial || r.Passed != 2 || r.Failed != 2 {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.Error, "timed out") || !strings.Contains(r.Error, "shop.TestHang") {
		t.Errorf("error %q", r.Error)
	}

	base := r
	again := MustJudge(t, spec(pawl.GateTests), res, &base)
	if again.Verdict != pawl.VerdictFail || again.RedAtBase {
		t.Errorf("a base that timed out excused the candidate: %+v", again)
	}
	plain := play(-1, "still compiling\n")
	plain.TimedOut = true
	want(t, MustJudge(t, spec(pawl.GateTypes), plain, nil), pawl.VerdictFail, "timed out after 2m; timeout_ms of gate types changes the limit")
}

func sarif(results ...string) string {
	return `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"scan"}},"results":[` + strings.Join(results, ",") + `]}]}`
}

func result(rule, score string) string {
	return fmt.Sprintf(`{"ruleId":%q,"level":"error","properties":{"security-severity":%q},"message":{"text":"%s found"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.go"},"region":{"startLine":7}}}]}`, rule, score, rule)
}

// D-37, D-62
func TestSecurityGate(t *testing.T) {
	security := spec(pawl.GateSecurity)
	want(t, MustJudge(t, security, play(0, sarif()), nil), pawl.VerdictPass, "nothing found")
	want(t, MustJudge(t, security, play(1, sarif(result("R1", "9.0"), result("R2", "5"))), nil), pawl.VerdictHalt,
		"1 critical, 1 medium findings: a.go:7: R1: R1 found; a.go:7: R2: R2 found")
	want(t, MustJudge(t, security, play(0, sarif(result("R1", "7.5"))), nil), pawl.VerdictFail, "1 high finding: a.go:7: R1: R1 found")
	want(t, MustJudge(t, security, play(0, sarif(result("R1", "4.0"))), nil), pawl.VerdictFail, "1 medium finding: a.go:7: R1: R1 found")
	low := MustJudge(t, security, play(1, sarif(result("R1", "3.9"))), nil)
	want(t, low, pawl.VerdictPass, "1 low finding: a.go:7: R1: R1 found")
	if len(low.Diagnostics) != 1 {
		t.Error("the low finding is not listed")
	}
	want(t, MustJudge(t, security, play(1, sarif()), nil), pawl.VerdictFail, "exit 1: "+sarif())
	npm := `{"auditReportVersion":2,"vulnerabilities":{"left-pad":{"name":"left-pad","severity":"low","via":[{"source":1,"name":"left-pad","title":"pads","severity":"low"}],"effects":[],"range":"*","nodes":[]}},"metadata":{"vulnerabilities":{"low":1,"total":1}}}`
	if r := MustJudge(t, security, play(1, npm), nil); r.Verdict != pawl.VerdictPass || len(r.Diagnostics) != 1 {
		t.Errorf("a low finding of npm audit: got %s: %s", r.Verdict, r.Reason)
	}
	want(t, MustJudge(t, security, play(1, "cannot fetch the database\n"), nil), pawl.VerdictFail, "exit 1: cannot fetch the database")
}

func TestLintTypesAndFormatGates(t *testing.T) {
	lint := spec(pawl.GateLint)
	want(t, MustJudge(t, lint, play(1, "a.go:3:1: x is unused (unused)\nb.go:4:2: error: bad\n"), nil), pawl.VerdictFail,
		"2 errors: a.go:3: unused: x is unused; b.go:4: bad")
	want(t, MustJudge(t, lint, play(0, "a.c:3:1: warning: x is unused\n"), nil), pawl.VerdictPass, "1 warning: a.c:3: x is unused")
	want(t, MustJudge(t, lint, play(1, "a.c:3:1: warning: x is unused\n"), nil), pawl.VerdictFail, "exit 1: a.c:3:1: warning: x is unused")
	warning := `{"ruleId":"R","level":"warning","message":{"text":"w"}}`
	want(t, MustJudge(t, lint, play(1, sarif(warning)), nil), pawl.VerdictPass, "1 warning: R: w")
	want(t, MustJudge(t, lint, play(1, sarif(`{"ruleId":"R","level":"error","message":{"text":"e"}}`, warning)), nil), pawl.VerdictFail, "1 error: R: e")
	want(t, MustJudge(t, spec(pawl.GateTypes), play(2, "src/a.ts(1,7): error TS2322: no\n"), nil), pawl.VerdictFail, "1 error: src/a.ts:1: TS2322: no")
	want(t, MustJudge(t, spec(pawl.GateTypes), play(0, ""), nil), pawl.VerdictPass, "exit 0")
	want(t, MustJudge(t, spec(pawl.GateFormat), play(1, "main.go\n"), nil), pawl.VerdictFail, "exit 1: main.go")
}

func TestNoCommand(t *testing.T) {
	s := spec(pawl.GateTests)
	s.Command = " "
	want(t, MustJudge(t, s, play(0, ""), nil), pawl.VerdictFail, "the gate has no command")
}

// D-35
func TestCommandIsGivenWhatItNeeds(t *testing.T) {
	dir := t.TempDir()
	p := &player{tree: dir, result: play(0, "")}
	s := spec(pawl.GateLint)
	env := []string{"PAWL_TASK_ID=001", "PAWL_CHANGED_FILES=/given/changed", "PAWL_PROJECT_ROOT=" + dir}
	heard := 0
	req := pawl.GateRequest{Spec: s, Room: p, Env: env, Timeout: time.Minute, Progress: func([]byte) { heard++ }}
	if _, err := New().Judge(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	c := p.command
	if c.Shell != s.Command || c.Timeout != time.Minute || !slices.Equal(c.Env, env) {
		t.Errorf("%+v", c)
	}
	if c.Progress([]byte("x")); heard != 1 {
		t.Error("progress does not arrive")
	}
	req.Spec.Timeout = time.Second
	if _, err := New().Judge(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if p.command.Timeout != time.Second {
		t.Errorf("%+v", p.command)
	}
}

func TestNoVerdict(t *testing.T) {
	broken := &player{err: errors.New("no namespaces")}
	_, err := New().Judge(t.Context(), pawl.GateRequest{Spec: spec(pawl.GateTests), Room: broken})
	if err == nil || err.Error() != "run gate tests: no namespaces" || !errors.Is(err, broken.err) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := &player{result: play(-1, ""), during: func(pawl.Command) { cancel() }}
	if _, err := New().Judge(ctx, pawl.GateRequest{Spec: spec(pawl.GateTests), Room: cancelled}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestReportStaysSmall(t *testing.T) {
	var names []string
	for i := range 30_000 {
		mark := "+"
		if i%3 == 0 && i < 6000 {
			mark = "-"
		}
		names = append(names, fmt.Sprintf("%sTestSomethingWithARatherLongName/row_%05d_<&>", mark, i))
	}
	out := strings.ReplaceAll(goJSON(names...), "is broken", "is broken "+strings.Repeat("x", 200))
	res := play(1, out)
	res.Output = res.Stdout[:pawl.DefaultOutputLimit] // a room does not keep more
	r := MustJudge(t, spec(pawl.GateTests), res, nil)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	withoutOutput := len(data) - len(r.Output)*12/10
	if withoutOutput > 1_000_000 {
		t.Errorf("%d bytes of JSON", len(data))
	}
	if n := r.Failed; n != 2000 {
		t.Errorf("%d failures are listed, want all 2000", n)
	}
	outputs := 0
	for _, test := range r.Tests {
		outputs += len(test.Output)
	}
	if outputs == 0 || outputs > maxTestOutputs {
		t.Errorf("%d bytes of test output", outputs)
	}
	if !strings.HasPrefix(r.Reason, "2000 of 30000 tests fail: ") || !strings.HasSuffix(r.Reason, "more test results not listed") {
		t.Errorf("reason %q", r.Reason)
	}
}

// The combined output is read first, unless part of it was dropped.
func TestOutputThatWasCut(t *testing.T) {
	ran := func(n int) []byte {
		return fmt.Appendf(nil, "[INFO] Tests run: %d, Failures: 0, Errors: 0, Skipped: 0\n", n)
	}
	for dropped, want := range map[int64]int{0: 3, 1: 14} {
		r := MustJudge(t, spec(pawl.GateTests), pawl.CommandResult{Stdout: ran(14), Output: ran(3), Dropped: dropped}, nil)
		if r.Passed != want {
			t.Errorf("with %d bytes dropped, %d tests pass, want %d", dropped, r.Passed, want)
		}
	}
}

// A checkout is known by the given path and by the path that it resolves to.
func TestRoots(t *testing.T) {
	dir := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[string][]string{
		dir: {dir}, dir + "/": {dir}, link: {link, dir}, dir + "/nothing": {dir + "/nothing"}, "/": nil, "relative": nil, "": nil,
	} {
		if got := roots(of); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", of, got, want)
		}
	}
}

// A gate's own time limit takes precedence over its request's, which takes precedence over the
// default.
func TestTimeoutOfACommand(t *testing.T) {
	for _, c := range []struct{ spec, req, want time.Duration }{
		{time.Second, time.Minute, time.Second}, {0, time.Minute, time.Minute}, {0, 0, pawl.DefaultCommandTimeout},
	} {
		req := pawl.GateRequest{Spec: spec(pawl.GateLint), Timeout: c.req}
		req.Spec.Timeout = c.spec
		if got := timeout(req); got != c.want {
			t.Errorf("%s and %s: got %s, want %s", c.spec, c.req, got, c.want)
		}
	}
}

// Findings and flaky tests explain exit codes up to 123. A higher code fails the gate, and so
// does a code without a finding.
func TestExitCodesOfTools(t *testing.T) {
	lint := spec(pawl.GateLint)
	warning := sarif(`{"ruleId":"R","level":"warning","message":{"text":"w"}}`)
	want(t, MustJudge(t, lint, play(123, warning), nil), pawl.VerdictPass, "1 warning: R: w")
	if r := MustJudge(t, lint, play(124, warning), nil); r.Verdict != pawl.VerdictFail {
		t.Errorf("exit 124: got %s: %s", r.Verdict, r.Reason)
	}
	if r := MustJudge(t, lint, play(1, sarif()), nil); r.Verdict != pawl.VerdictFail {
		t.Errorf("exit 1 without a finding: got %s: %s", r.Verdict, r.Reason)
	}
	failed := MustDoubt(t, goResult("+TestA"), nil, nil)
	for code, verdict := range map[int]pawl.Verdict{1: pawl.VerdictPass, 123: pawl.VerdictPass, 124: pawl.VerdictFail} {
		res := goResult("-TestA")
		res.ExitCode = code
		if r := MustDoubt(t, res, &failed, nil); r.Verdict != verdict {
			t.Errorf("a flaky test and exit %d: got %s: %s", code, r.Verdict, r.Reason)
		}
	}
}

func TestFindingsAreTold(t *testing.T) {
	finding := func(s pawl.Severity, message string) pawl.Diagnostic {
		return pawl.Diagnostic{Severity: s, Message: message}
	}
	low, medium, high, critical := finding(pawl.SeverityLow, "low"), finding(pawl.SeverityMedium, "medium"), finding(pawl.SeverityHigh, "high"), finding(pawl.SeverityCritical, "critical")
	for _, c := range []struct {
		kind     pawl.GateKind
		findings []pawl.Diagnostic
		want     string
	}{
		{pawl.GateLint, []pawl.Diagnostic{low}, "1 note: low"},
		{pawl.GateLint, []pawl.Diagnostic{low, medium}, "2 warnings: medium; low"},
		{pawl.GateLint, []pawl.Diagnostic{low, medium, high}, "3 errors: high; medium; low"},
		{pawl.GateLint, []pawl.Diagnostic{low, low, medium, high}, "4 errors: high; medium; low (and 1 more)"},
		{pawl.GateSecurity, []pawl.Diagnostic{low}, "1 low finding: low"},
		{pawl.GateSecurity, []pawl.Diagnostic{low, critical}, "1 critical, 1 low findings: critical; low"},
		{pawl.GateSecurity, []pawl.Diagnostic{low, medium, medium, high, critical}, "1 critical, 1 high, 2 medium, 1 low findings: critical; high; medium (and 2 more)"},
	} {
		j := &judgement{req: pawl.GateRequest{Spec: spec(c.kind)}}
		if got := j.findingsReason(c.findings); got != c.want {
			t.Errorf("%s: got %q, want %q", c.kind, got, c.want)
		}
	}
}

func TestMissingProgram(t *testing.T) {
	for _, c := range []struct{ output, command, want string }{
		{"/bin/sh: 1: tsc: not found\n", "npm test", "tsc"},
		{"sh: first: not found\nsh: second: not found\n", "x", "second"},
		{`exec: "gosec": executable file not found in $PATH`, "make scan", "gosec"},
		{"env: node: No such file or directory\n", "x", "node"},
		{"", "A=1 B=2 golint ./...", "golint"},
		{"", "A=1", "the command"},
		{"", "", "the command"},
	} {
		if got := missingProgram(c.output, c.command); got != c.want {
			t.Errorf("%q of %q: got %q, want %q", c.output, c.command, got, c.want)
		}
	}
}

// An optional gate skips if its program is also missing on the base. A required gate fails if
// its program ran on the base and is missing now.
func TestMissingOnTheBaseToo(t *testing.T) {
	lint := spec(pawl.GateLint)
	missing := play(127, "sh: 1: check: not found\n")
	base := MustJudge(t, lint, missing, nil)
	lint.Optional = true
	want(t, MustJudge(t, lint, missing, &base), pawl.VerdictSkip, "check is not installed (exit 127)")
	lint.Optional = false
	ran := MustJudge(t, lint, play(0, ""), nil)
	want(t, MustJudge(t, lint, missing, &ran), pawl.VerdictFail, "check is not installed (exit 127)")
}
