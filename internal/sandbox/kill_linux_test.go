package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/sandbox"
	"pawl/internal/testsize"
)

// MustInheritable opens a descriptor that programs started from here would inherit.
func MustInheritable(tb testing.TB) int {
	tb.Helper()
	fd, err := unix.Open(tb.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { unix.Close(fd) })
	return fd
}

// When Pawl is killed, no process of a command goes on: not the shell, not its
// children, not a daemon with its own session.
func TestKillOfPawlEndsCommands(t *testing.T) {
	for _, kind := range []string{"confined", "unconfined"} {
		t.Run(kind, func(t *testing.T) {
			if kind == "confined" {
				MustConfined(t)
			}
			token := newToken(t)
			shell := fmt.Sprintf("trap '' TERM HUP; %[1]s __daemon %[2]s; sleep %[2]s & echo ready; sleep %[2]s; sleep %[2]s", MustSelf(t), token)
			host := exec.Command(MustSelf(t), "__host", kind, MustFolder(t, sandbox.Unconfined()), shell)
			host.Stderr = os.Stderr
			output, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(output).ReadString('\n')
			if err != nil || line != "ready\n" {
				t.Errorf("the command said %q, %v", line, err)
			}
			pids := processes(token)
			if len(pids) < 4 { // the host, its owner, the shell, a sleeper, the daemon
				t.Errorf("only processes %v run", pids)
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			host.Wait() // the error says that it was killed
			waitGone(t, pids)
		})
	}
}

// The end may come while the sandbox is still being set up: then bubblewrap
// alone would let the command start with nobody to hold it.
func TestEndAtAnyMoment(t *testing.T) {
	t.Parallel()
	const step = 700 * time.Microsecond
	var moments []time.Duration
	for i := range 30 {
		if testsize.Case(i, 3) {
			moments = append(moments, time.Duration(i*11%30)*step) // so that a few are spread over all
		}
	}
	both(t, func(t *testing.T, box *sandbox.Box) {
		t.Run("Context", func(t *testing.T) {
			token := newToken(t)
			for _, moment := range moments {
				ctx, cancel := context.WithTimeout(t.Context(), moment)
				if _, err := MustRoom(t, box).Run(ctx, pawl.Command{Shell: "sleep " + token, Grace: time.Millisecond}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
				}
				cancel()
				if left := processes(token); len(left) > 0 {
					t.Fatalf("ended after %s, left over: %v", moment, left)
				}
			}
		})
		t.Run("Kill", func(t *testing.T) {
			kind := "unconfined"
			if box.Confined() {
				kind = "confined"
			}
			token := newToken(t)
			for _, moment := range moments {
				host := exec.Command(MustSelf(t), "__host", kind, MustFolder(t, sandbox.Unconfined()), "sleep "+token)
				host.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // a killed probe leaves its folder
				if err := host.Start(); err != nil {
					t.Fatal(err)
				}
				// The probe takes a while too; the moments are spread over all of it.
				<-time.After(2 * moment)
				pids := processes(token)
				host.Process.Kill()
				host.Wait()
				waitGone(t, append(pids, processes(token)...))
				waitGone(t, processes(token))
			}
		})
	})
}

func TestKillOfTheSupervisorEndsTheGroup(t *testing.T) {
	token := newToken(t)
	cmd := pawl.Command{Shell: fmt.Sprintf("sleep %[1]s & echo $PPID; sleep %[1]s", token)}
	var seen strings.Builder
	cmd.Progress = func(p []byte) {
		seen.Write(p)
		line, _, whole := strings.Cut(seen.String(), "\n")
		supervisor, err := strconv.Atoi(line)
		if !whole || err != nil {
			return
		}
		awaitReaping(t, supervisor)
		unix.Kill(supervisor, unix.SIGKILL)
	}
	result, err := MustRoom(t, sandbox.Unconfined()).Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if result.ExitCode != -1 || result.TimedOut {
		t.Errorf("got %+v", result)
	}
	waitGone(t, processes(token))
}

// awaitReaping returns when the supervisor waits for its children, which it
// does after it has told Pawl of the command.
func awaitReaping(t *testing.T, supervisor int) {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", supervisor))
		for _, task := range tasks {
			if where, _ := os.ReadFile(task); strings.Contains(string(where), "wait") && !strings.Contains(string(where), "futex") &&
				!strings.Contains(string(where), "poll") {
				return
			}
		}
	}
	t.Error("after five minutes the supervisor does not yet wait for its children")
}

func TestProgramWithoutSupervise(t *testing.T) {
	box := sandbox.NewUnconfined(sandbox.Options{Program: "/bin/false"})
	if _, err := MustRoom(t, box).Run(t.Context(), pawl.Command{Shell: "echo hello"}); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("error %v, want one that it could not be started", err)
	}
}

func mustExec(tb testing.TB, name string, args ...string) {
	tb.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Without a sandbox too, commands are supervised by the pawl-helper beside the program, if it is of the same version.
func TestUnconfinedTakesTheInstalledHelper(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script string // "" = none is installed
		own    bool
	}{
		"None":   {"", true},
		"Broken": {"exit 1", true},
		"OldOne": {"echo older", true},
		"Its":    {"exec " + MustSelf(t) + ` "$@"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program, installed := filepath.Join(dir, "pawl"), filepath.Join(dir, "pawl-helper")
			// A child of another test would keep a program open that this process writes.
			mustExec(t, "install", MustSelf(t), program)
			if tt.script != "" {
				script := filepath.Join(dir, "script")
				MustWrite(t, script, "#!/bin/sh\n"+tt.script+"\n")
				mustExec(t, "install", script, installed)
			}
			out, err := exec.Command(program, "__helper").Output()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(out)); (got != installed) != tt.own {
				t.Errorf("commands are supervised by %s", got)
			}
		})
	}
}

func TestSupervisedProgramStartsNoOther(t *testing.T) {
	t.Setenv("PAWL_SUPERVISED", "1")
	_, err := MustRoom(t, sandbox.Unconfined()).Run(t.Context(), pawl.Command{Shell: "true"})
	if err == nil || !strings.Contains(err.Error(), "helper.Run") {
		t.Errorf("error %v, want one that names helper.Run", err)
	}
}

func BenchmarkRun(b *testing.B) {
	run := func(box *sandbox.Box) func(*testing.B) {
		return func(b *testing.B) {
			r := MustRoom(b, box)
			for b.Loop() {
				MustRun(b, r, pawl.Command{Shell: "true", Timeout: time.Minute})
			}
		}
	}
	b.Run("unconfined", run(sandbox.Unconfined()))
	b.Run("confined", run(MustConfined(b)))
}
