package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/process"
)

// shell is a room that confines nothing. It runs what these tests wrote.
type shell struct {
	pawl.Room
	tree, temp string
}

func (s shell) Dir() string           { return s.tree }
func (s shell) Tree() (string, error) { return s.tree, nil }

func (s shell) Run(ctx context.Context, c pawl.Command) (pawl.CommandResult, error) {
	limit, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	cmd := process.Command(limit, time.Second, "/bin/sh", "-c", c.Shell)
	cmd.Dir = s.tree
	cmd.Env = append(c.Env, "PATH="+os.Getenv("PATH"), "HOME="+s.temp, "TMPDIR="+s.temp,
		"GOCACHE="+os.Getenv("GOCACHE"), goFlags, "GOTOOLCHAIN=local", "GOPROXY=off")
	var stdout, output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &output
	start := time.Now()
	err := process.Run(cmd)
	if ctx.Err() != nil {
		return pawl.CommandResult{}, ctx.Err()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && limit.Err() == nil {
		return pawl.CommandResult{}, err
	}
	code := cmd.ProcessState.ExitCode()
	return pawl.CommandResult{
		Stdout: stdout.Bytes(), Output: append(stdout.Bytes(), output.Bytes()...), ExitCode: code,
		Missing: code == 127, TimedOut: limit.Err() != nil, Duration: time.Since(start),
	}, nil
}

// goFlags has flags by which the go command does less: the same packages in different folders are
// compiled once.
const goFlags = "GOFLAGS=-mod=mod -trimpath -vet=off -ldflags=-w"

// module is a checkout of a Go module with these files.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	MustWrite(t, dir, "go.mod", "module example.com/shop\n\ngo 1.26\n")
	for name, content := range files {
		MustWrite(t, dir, name, content)
	}
	return dir
}

// mustHome makes a home folder with Go's telemetry off. Otherwise the go command starts a process that
// may still write there after the test has ended.
func mustHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	MustWrite(t, home, ".config/go/telemetry/mode", "off 2026-01-01\n")
	return home
}

func MustRun(t *testing.T, s pawl.GateSpec, dir string, base *pawl.GateReport) pawl.GateReport {
	t.Helper()
	t.Setenv("GOCACHE", mustGoCache(t))
	r, err := New().Judge(t.Context(), pawl.GateRequest{Spec: s, Room: shell{tree: dir, temp: mustHome(t)}, Base: base, Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	cart     = "package shop\n\nfunc Total(a ...int) int {\n\ts := 0\n\tfor _, n := range a {\n\t\ts += n\n\t}\n\treturn s\n}\n"
	cartTest = "package shop\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tt.Run(\"two numbers\", func(t *testing.T) {\n\t\tif got := Total(1, 2); got != 3 {\n\t\t\tt.Errorf(\"want 3, got %d\", got)\n\t\t}\n\t})\n}\n\nfunc TestEmpty(t *testing.T) {\n\tif Total() != 0 {\n\t\tt.Error(\"want 0\")\n\t}\n}\n"
)

// D-07: the harness runs the tests itself and reads them one by one.
func TestRealGoTests(t *testing.T) {
	s := pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "go test -json ./...", Report: pawl.ReportGoTest}
	base := MustRun(t, s, module(t, map[string]string{"cart.go": cart, "cart_test.go": cartTest}), nil)
	want(t, base, pawl.VerdictPass, "3 tests pass")

	run := func(name string, files map[string]string, v pawl.Verdict, reason string) pawl.GateReport {
		var r pawl.GateReport
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"cart.go": cart, "cart_test.go": cartTest}
			for name, content := range files {
				if all[name] = content; content == "" {
					delete(all, name)
				}
			}
			r = MustRun(t, s, module(t, all), &base)
			want(t, r, v, reason)
		})
		return r
	}
	fail := run("a failure", map[string]string{"cart.go": strings.Replace(cart, "s += n", "s -= n", 1)},
		pawl.VerdictFail, "2 of 3 tests fail: TestTotal, TestTotal/two_numbers")
	if fail.Error != "example.com/shop.TestTotal/two_numbers\ncart_test.go: want 3, got -3" {
		t.Errorf("error %q", fail.Error)
	}
	again := run("the same failure elsewhere", map[string]string{"cart.go": "// Package shop.\n" + strings.Replace(cart, "s += n", "s -= n", 1)},
		pawl.VerdictFail, "2 of 3 tests fail: TestTotal, TestTotal/two_numbers")
	if again.Error != fail.Error {
		t.Errorf("one failure, two errors:\n%s\n%s", fail.Error, again.Error)
	}
	run("a skip", map[string]string{"cart_test.go": strings.Replace(cartTest, "if Total() != 0 {", "t.Skip()\n\tif Total() != 0 {", 1)},
		pawl.VerdictPass, "2 tests pass (1 skipped); 1 test of the base no longer runs: TestEmpty (skipped now)")
	broken := run("a build failure", map[string]string{"cart.go": strings.Replace(cart, "return s", "return t", 1)},
		pawl.VerdictFail, "example.com/shop [build failed]")
	if !strings.Contains(broken.Error, "undefined: t") {
		t.Errorf("error %q", broken.Error)
	}
	panics := run("a panic", map[string]string{"cart.go": strings.Replace(cart, "return s", "return a[7]", 1)},
		pawl.VerdictFail, "2 of 2 tests fail: TestTotal, TestTotal/two_numbers")
	if !strings.Contains(panics.Error, "index out of range [7] with length 2") {
		t.Errorf("error %q", panics.Error)
	}
	run("no tests", map[string]string{"cart_test.go": ""}, pawl.VerdictFail,
		"0 tests ran; 2 tests of the base no longer run: TestEmpty (removed), TestTotal (removed)")
	run("an honest renaming", map[string]string{"cart_test.go": strings.Replace(cartTest, "TestEmpty", "TestTotalOfNothing", 1)},
		pawl.VerdictPass, "3 tests pass")
}

func TestRealTimeout(t *testing.T) {
	s := pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Timeout: 1500 * time.Millisecond,
		Command: `printf '%s\n' '{"Action":"run","Package":"p","Test":"TestA"}' '{"Action":"pass","Package":"p","Test":"TestA"}' '{"Action":"run","Package":"p","Test":"TestHang"}'; sleep 60`}
	r := MustRun(t, s, t.TempDir(), nil)
	want(t, r, pawl.VerdictFail, "timed out after 1.5s in TestHang; 1 test had passed; timeout_ms of gate tests changes the limit")
	if !r.Partial {
		t.Error("it is not partial")
	}
}

func TestRealMissingCommand(t *testing.T) {
	s := pawl.GateSpec{Name: "lint", Kind: pawl.GateLint, Command: "pawl-no-such-linter run ./..."}
	want(t, MustRun(t, s, t.TempDir(), nil), pawl.VerdictFail, "pawl-no-such-linter is not installed (exit 127)")
	s.Optional = true
	want(t, MustRun(t, s, t.TempDir(), nil), pawl.VerdictSkip, "pawl-no-such-linter is not installed (exit 127)")
}

func TestRealVet(t *testing.T) {
	s := pawl.GateSpec{Name: "types", Kind: pawl.GateTypes, Command: "go vet ./..."}
	want(t, MustRun(t, s, module(t, map[string]string{"cart.go": cart}), nil), pawl.VerdictPass, "exit 0")
	r := MustRun(t, s, module(t, map[string]string{"cart.go": strings.Replace(cart, "return s", "return t", 1)}), nil)
	want(t, r, pawl.VerdictFail, "1 error: cart.go:8: undefined: t")
}
