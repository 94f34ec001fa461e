//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"pawl/internal/cli"
	"pawl/internal/testsize"
)

// mustDemo is a demo that makes its files in tmp and compiles Go code from nothing.
func mustDemo(t *testing.T) (y *yard, cmd *exec.Cmd, tmp string) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go")
	}
	t.Parallel()
	y = newYard(t, pawlProgram(t))
	tmp = filepath.Join(y.home, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd = y.pawl(y.home, "demo")
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp, "GOCACHE="+filepath.Join(y.home, "gocache"), "GOFLAGS=-modcacherw")
	return y, cmd, tmp
}

// nothingLeft checks that a demo has left no file and no process.
func nothingLeft(t *testing.T, tmp string) {
	t.Helper()
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range processes {
		if environ, err := os.ReadFile(name); err == nil && bytes.Contains(environ, []byte("TMPDIR="+tmp)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			t.Errorf("it leaves a process: %q", line)
		}
	}
}

// The demo leaves no file and no process. In other turns the README's demo shows that no file is
// left. F-20
func TestDemoLeavesNothing(t *testing.T) {
	if !testsize.Case(0, 0) {
		t.Skip("it compiles the standard library in a room; it has a turn of its own")
	}
	_, cmd, tmp := mustDemo(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	nothingLeft(t, tmp)
}

// Ctrl-C, twice in a row and once more, goes to the demo and to all that it has started in its
// terminal. F-20
func TestDemoStopped(t *testing.T) {
	if !testsize.Case(1, 0) {
		t.Skip("it compiles Go code from nothing; it has a turn of its own")
	}
	y, cmd, tmp := mustDemo(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := y.start(cmd)
	p.wait(`limits `) // the run has begun
	for range 3 {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
			break // it was faster
		}
		<-time.After(20 * time.Millisecond) // as a person would
	}
	if err := p.end(); exitCode(err) != cli.ExitInterrupted {
		t.Error(err)
	}
	p.wait(`the demo was stopped; it left nothing behind`)
	nothingLeft(t, tmp)
}
