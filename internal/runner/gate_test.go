package runner_test

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

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// tap is a command that reports these tests, "not " before the names of those that fail.
func tap(tests ...string) string {
	lines, exit := []string{fmt.Sprintf("1..%d", len(tests))}, 0
	for i, name := range tests {
		ok := "ok"
		if rest, failed := strings.CutPrefix(name, "not "); failed {
			ok, name, exit = "not ok", rest, 1
		}
		lines = append(lines, fmt.Sprintf("%s %d %s", ok, i+1, name))
	}
	return fmt.Sprintf("printf '%s\\n'; exit %d", strings.Join(lines, "\\n"), exit)
}

// gates gives the run these command gates.
func (w *world) gates(specs ...pawl.GateSpec) { w.job.Settings.Gates = specs }

// MustCandidate commits what the worktree holds.
func (w *world) MustCandidate(tb testing.TB) pawl.CommitHash {
	tb.Helper()
	return must[*pawl.Committed](tb, w, &pawl.Commit{Branch: branch, Parent: w.head(tb), Base: w.base, Message: "attempt", Time: time.Unix(1000, 0)}).Commit
}

func (w *world) head(tb testing.TB) pawl.CommitHash {
	tb.Helper()
	return pawl.CommitHash(w.git(tb, "rev-parse", "refs/heads/"+branch))
}

// report is the evidence of a verdict.
func (w *world) report(tb testing.TB, b *pawl.GateJudged) pawl.GateReport {
	tb.Helper()
	var rep pawl.GateReport
	if err := json.Unmarshal([]byte(w.MustBlob(tb, b.Evidence)), &rep); err != nil {
		tb.Fatal(err)
	}
	return rep
}

// A command gate judges a clean checkout, and the base's evidence is handed on.
func TestGate(t *testing.T) {
	w := MustWorld(t, map[string]string{"test.sh": tap("a", "not b"), "main.go": "package main\n"})
	w.MustOpen(t)
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "test ! -e dirt || exit 9; sh test.sh", Report: pawl.ReportTAP})
	base := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base, OnBase: true})
	if base.Verdict != pawl.VerdictFail || !base.OnBase || base.Passed != 1 || base.Total != 2 || base.Failing == 0 || base.Error == 0 || base.Kind != pawl.GateTests {
		t.Errorf("the base is judged %+v", base)
	}
	if rep := w.report(t, base); base.Duration <= 0 || base.Duration != rep.Duration {
		t.Errorf("the command ran %s, the event says %s", rep.Duration, base.Duration)
	}
	if rep := w.report(t, base); rep.Reason != base.Reason || len(rep.Tests) != 2 {
		t.Errorf("the evidence is %+v", rep)
	}

	MustWrite(t, w.dir("main.go"), "package main // changed\n")
	candidate := w.MustCandidate(t)
	MustWrite(t, w.dir("dirt"), "not committed\n")
	judge := &pawl.RunGate{Gate: "tests", Commit: candidate, Base: base.Evidence, Start: w.base}
	same := must[*pawl.GateJudged](t, w, judge)
	if same.Verdict != pawl.VerdictPass || !same.RedAtBase || same.OnBase || same.Passed != 1 || same.Total != 2 {
		t.Errorf("what fails like the base is judged %+v", same)
	}
	if same.Failing != 0 || same.Error != 0 {
		t.Errorf("what is let through objects: %+v", same)
	}
	if len(w.said) == 0 || !strings.Contains(strings.Join(w.said, ""), "not ok 2 b") {
		t.Errorf("who watches hears %q", w.said)
	}

	MustWrite(t, w.dir("test.sh"), tap("not a", "not b"))
	if err := os.Remove(w.dir("dirt")); err != nil {
		t.Fatal(err)
	}
	judge.Commit = w.MustCandidate(t)
	worse := must[*pawl.GateJudged](t, w, judge)
	if worse.Verdict != pawl.VerdictFail || worse.RedAtBase || worse.Failing == 0 || worse.Failing == base.Failing || !strings.Contains(worse.Reason, "does not fail on the base") {
		t.Errorf("what is worse is judged %+v", worse)
	}
	if left, err := os.ReadDir(filepath.Join(w.dir(), "..", "..", "checkouts")); err != nil || len(left) > 0 {
		t.Errorf("checkouts are left: %v, %v", left, err)
	}
}

// Two attempts that fail alike have equal fingerprints, in whatever checkout and
// at whatever time.
func TestAttemptsThatFailAlike(t *testing.T) {
	w := MustWorld(t, map[string]string{"n": "0"})
	w.MustOpen(t)
	w.gates(
		pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Report: pawl.ReportTAP, Command: tap("fine", "not broken")},
		pawl.GateSpec{Name: "lint", Kind: pawl.GateLint, Command: `echo "$PWD/main.go:$(cat n)3:1: the error of line $(cat n)7 is dropped (errcheck)"; exit 1`},
		pawl.GateSpec{Name: "types", Kind: pawl.GateTypes, Command: `echo "$PWD: cannot build after 0.$(cat n) s"; exit 2`},
	)
	judged := map[string][]*pawl.GateJudged{}
	for _, n := range []string{"1", "2"} {
		MustWrite(t, w.dir("n"), n)
		commit := w.MustCandidate(t)
		for _, g := range w.job.Settings.Gates {
			b := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: g.Name, Commit: commit, Start: w.base})
			if b.Verdict != pawl.VerdictFail {
				t.Errorf("%s: %s: %s", g.Name, b.Verdict, b.Reason)
			}
			judged[g.Name] = append(judged[g.Name], b)
		}
	}
	for name, b := range judged {
		if b[0].Failing != b[1].Failing || b[0].Found != b[1].Found || b[0].Error != b[1].Error || b[0].Error == 0 {
			t.Errorf("%s: the fingerprints are %x %x %x and %x %x %x for\n%s\n%s", name, b[0].Failing, b[0].Found, b[0].Error,
				b[1].Failing, b[1].Found, b[1].Error, w.MustBlob(t, b[0].Evidence), w.MustBlob(t, b[1].Evidence))
		}
	}
	if judged["lint"][0].Found == 0 || judged["tests"][0].Failing == 0 {
		t.Error("nothing was found")
	}
}

// A gate is told the task, where the checkout is, and what was changed.
// D-35
func TestGateEnvironment(t *testing.T) {
	odd := []string{"a b.txt", "tab\there.txt", "quo\"te.txt", "new\nline.txt", "back\\slash.txt", "ünïcode.txt", "-dash", "+++ b", "sub/diff --git a"}
	files := map[string]string{"deleted.txt": "1\n2\n3\n", "renamed.txt": strings.Repeat("the same line\n", 30), "kept.txt": "k\n", "mode.sh": "#!/bin/sh\n", "binary": "\x00\x01"}
	w := MustWorld(t, files)
	w.MustOpen(t)
	for _, name := range append(odd, "binary") {
		MustWrite(t, w.dir(name), "+++ b/fake.txt\n--- a/fake.txt\ndiff --git a/fake.txt b/fake.txt\nrename from fake.txt\n\x00")
	}
	if err := errors.Join(os.MkdirAll(w.dir("sub/moved b"), 0o755), os.Rename(w.dir("renamed.txt"), w.dir("sub/moved b/here.txt")),
		os.Remove(w.dir("deleted.txt")), os.Chmod(w.dir("mode.sh"), 0o755)); err != nil {
		t.Fatal(err)
	}
	candidate := w.MustCandidate(t)
	w.gates(pawl.GateSpec{Name: "look", Kind: pawl.GateLint, Command: `env | grep ^PAWL_ | sort; pwd; cat "$PAWL_CHANGED_FILES"`})
	b := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "look", Commit: candidate, Start: w.base})
	lines := strings.Split(w.report(t, b).Output, "\n")
	file, root := strings.TrimPrefix(lines[0], "PAWL_CHANGED_FILES="), strings.TrimPrefix(lines[1], "PAWL_PROJECT_ROOT=")
	if !filepath.IsAbs(file) || root != lines[3] || lines[2] != "PAWL_TASK_ID="+runID {
		t.Errorf("the gate is told %q", lines[:4])
	}
	want := append(slices.Clone(odd), "binary", "deleted.txt", "mode.sh", "renamed.txt", "sub/moved b/here.txt")
	slices.Sort(want)
	for i, name := range want {
		if strings.ContainsAny(name, "\t\n") {
			want[i] = fmt.Sprintf("%q", name)
		}
	}
	if diff := cmp.Diff(append(want, ""), lines[4:]); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the list is left: %v", err)
	}

	t.Run("OnBase", func(t *testing.T) { // nothing has changed, which is told, too
		b := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "look", Commit: w.base, OnBase: true, Start: w.base})
		if lines := strings.Split(w.report(t, b).Output, "\n"); !strings.HasPrefix(lines[0], "PAWL_CHANGED_FILES=/") || len(lines) != 5 {
			t.Errorf("the gate is told %q", lines)
		}
	})
	t.Run("NoDiff", func(t *testing.T) { // a gate must not judge less than what was changed
		real := w.r.Spaces
		defer func() { w.r.Spaces = real }()
		held := &counted{Workspaces: &spaces{Workspaces: real, diff: func() ([]byte, error) { return nil, errors.New("git was killed") }}}
		w.r.Spaces = held
		f := w.fails(t, &pawl.RunGate{Gate: "look", Commit: candidate, Start: w.base})
		if f.Code != pawl.FailMachine || !strings.Contains(f.Message, "gate look: list the changed files: git was killed") {
			t.Errorf("failed with %+v", f)
		}
		if held.n != 0 {
			t.Errorf("%d checkouts are held", held.n)
		}
	})
}

// counted counts the checkouts that are held.
type counted struct {
	pawl.Workspaces
	n int
}

func (c *counted) Checkout(ctx context.Context, commit pawl.CommitHash) (string, func(), error) {
	dir, release, err := c.Workspaces.Checkout(ctx, commit)
	if err != nil {
		return "", nil, err
	}
	c.n++
	return dir, func() { c.n--; release() }, nil
}

// Whatever goes wrong, the checkout is let go and the failure is classed.
func TestGateTroubles(t *testing.T) {
	w := MustWorld(t, nil)
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "true"})
	held := &counted{Workspaces: w.r.Spaces}
	w.r.Spaces = held
	realGate := w.r.Gate
	run := &pawl.RunGate{Gate: "tests", Commit: w.base}
	for name, test := range map[string]struct {
		do    *pawl.RunGate
		spoil func()
		code  pawl.FailureCode
		says  string
	}{
		"BaseGone":   {&pawl.RunGate{Gate: "tests", Commit: w.base, Base: pawl.HashOf([]byte("gone"))}, nil, pawl.FailDefect, "read the report on the base"},
		"BaseBroken": {&pawl.RunGate{Gate: "tests", Commit: w.base, Base: w.MustKeep(t, `{"verdict": `)}, nil, pawl.FailDefect, "read the report on the base"},
		"NoCommit":   {&pawl.RunGate{Gate: "tests", Commit: "1234567812345678123456781234567812345678"}, nil, pawl.FailMachine, "gate tests: commit 1234"},
		"NoRoom":     {run, func() { w.r.Rooms = noRooms{w.r.Rooms} }, pawl.FailMachine, "no space left"},
		"GateBroken": {run, func() {
			w.r.Gate = gateFunc(func(context.Context, pawl.GateRequest) (pawl.GateReport, error) {
				return pawl.GateReport{}, errors.New("cannot fork")
			})
		}, pawl.FailMachine, "gate tests: cannot fork"},
		"PrepareBroken": {run, func() {
			w.job.Settings.Prepare = []string{"npm ci"}
			w.play(func(context.Context, pawl.Command, []string) (pawl.CommandResult, error) {
				return pawl.CommandResult{}, errors.New("cannot fork")
			})
		}, pawl.FailMachine, `gate tests: prepare "npm ci": cannot fork`},
	} {
		t.Run(name, func(t *testing.T) {
			rooms := w.r.Rooms
			defer func() { w.r.Gate, w.r.Rooms, w.job.Settings.Prepare = realGate, rooms, nil }()
			if test.spoil != nil {
				test.spoil()
			}
			if f := w.fails(t, test.do); f.Code != test.code || !strings.Contains(f.Message, test.says) {
				t.Errorf("failed with %+v, want %s that says %q", f, test.code, test.says)
			}
			if held.n != 0 {
				t.Errorf("%d checkouts are held", held.n)
			}
		})
	}
}

// Verdicts are those a gate can give; reports are counted as they are kept.
func TestJudged(t *testing.T) {
	w := MustWorld(t, nil)
	w.gates(pawl.GateSpec{Name: "scan", Kind: pawl.GateSecurity, Command: "true", Optional: true})
	judge := func(rep pawl.GateReport) *pawl.GateJudged {
		w.r.Gate = gateFunc(func(context.Context, pawl.GateRequest) (pawl.GateReport, error) { return rep, nil })
		return must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "scan", Commit: w.base})
	}
	for said, want := range map[pawl.Verdict]pawl.Verdict{
		pawl.VerdictPass: pawl.VerdictPass, pawl.VerdictSkip: pawl.VerdictSkip, pawl.VerdictHalt: pawl.VerdictHalt, pawl.VerdictFail: pawl.VerdictFail,
		"": pawl.VerdictFail, "PASS": pawl.VerdictFail, pawl.Verdict(strings.Repeat("pass", 1000)): pawl.VerdictFail,
	} {
		if got := judge(pawl.GateReport{Verdict: said}); got.Verdict != want {
			t.Errorf("%.20q is judged %s, want %s", said, got.Verdict, want)
		}
	}
	f := func(s pawl.Severity, message string) pawl.Diagnostic {
		return pawl.Diagnostic{Severity: s, Message: message, File: "a.go", Line: 3}
	}
	got := judge(pawl.GateReport{Verdict: pawl.VerdictFail, Partial: true, Diagnostics: []pawl.Diagnostic{
		f("critical", "a"), f("high", "b"), f("high", "c"), f("medium", "d"), f("low", "e"), f("none", "f")}})
	if got.Critical != 1 || got.High != 2 || got.Medium != 1 || got.Low != 1 || !got.Partial || !got.Optional || got.Kind != pawl.GateSecurity {
		t.Errorf("judged %+v", got)
	}

	prints := func(messages ...string) uint64 {
		var all []pawl.Diagnostic
		for _, m := range messages {
			all = append(all, f("high", m))
		}
		return judge(pawl.GateReport{Verdict: pawl.VerdictFail, Diagnostics: all}).Found
	}
	if prints("a", "b") != prints("b", "a") || prints("a", "a") != prints("a") || prints("x at line 3, column 4") != prints("x at line 14, column 1") {
		t.Error("the same findings differ")
	}
	if prints("a") == prints("b") || prints("deadbeef is dropped") == prints("is dropped") || prints("a", "b") == prints("a") || prints("int32 overflows") == prints("int64 overflows") ||
		prints("CVE-2024-1") == prints("CVE-2024-2") || prints() != 0 {
		t.Error("other findings do not differ")
	}
}

// noRooms are rooms of which none can be opened for a gate.
type noRooms struct{ pawl.Rooms }

func (noRooms) Gate(context.Context, pawl.GateRoom) (pawl.Room, error) {
	return nil, errors.New("no space left")
}

// The event says what a gate cannot run without: a program of the machine, or a file of the
// repository's own. F-25
func TestGateThatCannotRun(t *testing.T) {
	w := MustWorld(t, map[string]string{"main.go": "package main\n"})
	w.MustOpen(t)
	w.gates(pawl.GateSpec{Name: "lint", Kind: pawl.GateLint, Command: "pawl-no-such-linter ."}, pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "./test.sh"})
	for gate, want := range map[string]pawl.GateJudged{"lint": {Missing: "pawl-no-such-linter"}, "tests": {Lacks: "./test.sh"}} {
		got := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: gate, Commit: w.base, OnBase: true})
		if got.Verdict != pawl.VerdictFail || got.Missing != want.Missing || got.Lacks != want.Lacks {
			t.Errorf("gate %s: got %+v", gate, got)
		}
	}
}

// F-22: a gate is told whether prepare was to put dependencies in place, which decides
// what it says when they are missing.
func TestGateIsToldOfPrepare(t *testing.T) {
	for _, commands := range [][]string{nil, {"npm ci"}} {
		w := preparing(t, commands...)
		w.play(func(context.Context, pawl.Command, []string) (pawl.CommandResult, error) {
			return pawl.CommandResult{}, nil
		})
		var gate pawl.GateRequest
		w.r.Gate = gateFunc(func(_ context.Context, req pawl.GateRequest) (pawl.GateReport, error) {
			gate = req
			return pawl.GateReport{Verdict: pawl.VerdictPass}, nil
		})
		must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base})
		if gate.Prepared != (commands != nil) {
			t.Errorf("with the commands %q: %v", commands, gate.Prepared)
		}
	}
}

// Commands that fail where a disk has no space say nothing of the code. F-18
func TestGateOnAFullDisk(t *testing.T) {
	w := MustWorld(t, map[string]string{"main.go": "package main\n"})
	w.MustOpen(t)
	why := "/state has 12 kB free"
	w.r.Lacks = func() string { return why }
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "exit 1"}, pawl.GateSpec{Name: "lint", Kind: pawl.GateLint, Command: "true"})
	base := &pawl.RunGate{Gate: "tests", Commit: w.base, OnBase: true}
	if got := w.fails(t, base); got.Code != pawl.FailSpace || !strings.Contains(got.Message, why) {
		t.Errorf("a red gate: %+v", got)
	}
	w.job.Settings.Prepare = []string{"exit 1"}
	if got := w.fails(t, &pawl.Prepare{Commit: w.base}); got.Code != pawl.FailSpace {
		t.Errorf("a preparation that fails: %+v", got)
	}
	w.job.Settings.Prepare = nil
	if got := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "lint", Commit: w.base, OnBase: true}); got.Verdict != pawl.VerdictPass {
		t.Errorf("a gate that passes: %+v", got)
	}
	why = ""
	if got := must[*pawl.GateJudged](t, w, base); got.Verdict != pawl.VerdictFail {
		t.Errorf("a red gate where there is space: %+v", got)
	}
}

// What the user requires to be green is required of the whole that a run makes, and of no part of it, nor of another
// tree. F-67
func TestPartsNeedNotBeGreen(t *testing.T) {
	w := MustWorld(t, map[string]string{"test.sh": tap("a", "not b")})
	w.MustOpen(t)
	for _, spec := range []pawl.GateSpec{
		{Name: "tests", Kind: pawl.GateTests, Command: "sh test.sh", Report: pawl.ReportTAP, Green: []string{"b", "c"}},
		{Name: "tests", Kind: pawl.GateTests, Command: "sh test.sh", Report: pawl.ReportTAP, RequireGreen: true},
	} {
		w.gates(spec)
		base := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base, OnBase: true})
		for _, part := range []bool{false, true} {
			got := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base, Base: base.Evidence, Part: part})
			if passes := got.Verdict == pawl.VerdictPass && got.RedAtBase; passes != part {
				t.Errorf("with %v and require green %t, judged as a part %t: %+v", spec.Green, spec.RequireGreen, part, got)
			}
		}
	}
}
