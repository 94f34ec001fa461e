//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// When set, the test binary runs a shell line as a child of its own instead of the tests.
const lineVariable = "PAWL_TEST_PROCESS_LINE"

func TestMain(m *testing.M) {
	if line := os.Getenv(lineVariable); line != "" {
		cmd := Command(context.Background(), time.Minute, "/bin/sh", "-c", line)
		cmd.Stdout = os.Stdout
		if err := Run(cmd); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// holders is a pipe that processes hold open to show that they live.
type holders struct {
	path  string
	began chan struct{} // closed when the first has it open
	ended chan error    // receives when nobody has it open any more
}

func newHolders(t *testing.T) holders {
	t.Helper()
	h := holders{filepath.Join(t.TempDir(), "alive"), make(chan struct{}), make(chan error, 1)}
	if err := unix.Mkfifo(h.path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		f, err := os.Open(h.path) // waits for a writer
		if err == nil {
			_, err = io.ReadFull(f, make([]byte, len("up\n")))
			close(h.began)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, f) // until no writer is left
		}
		h.ended <- errors.Join(err, f.Close())
	}()
	return h
}

// A group that ignores the request to end is killed, with what its leader started.
func TestGroupIsEnded(t *testing.T) {
	for name, line := range map[string]string{
		"asked":                     `sleep 1000 & echo up >&3; wait`,
		"killed":                    `trap "" TERM; sleep 1000 & echo up >&3; while :; do wait; done`,
		"killed without its leader": `(trap "" TERM; echo up >&3; while :; do sleep 1000; done) & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolders(t)
			ctx, cancel := context.WithCancel(t.Context())
			grace := 50 * time.Millisecond
			if name == "asked" { // where nobody reaps orphans, a group never ends before its grace does
				grace = 10 * time.Second
			}
			cmd := Command(ctx, grace, "/bin/sh", "-c", `exec 3> "$0"; `+line, h.path)
			go func() {
				<-h.began
				cancel()
			}()
			if err := Run(cmd); err == nil {
				t.Error("a command that was ended did not fail")
			}
			if err := <-h.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A command has its grace: what it does when it is asked to end is done.
func TestGrace(t *testing.T) {
	h := newHolders(t)
	said := filepath.Join(t.TempDir(), "said")
	ctx, cancel := context.WithCancel(t.Context())
	cmd := Command(ctx, time.Hour, "/bin/sh", "-c", `trap 'echo bye > "$1"; exit 0' TERM; exec 3> "$0"; echo up >&3; while :; do sleep 1; done`, h.path, said)
	go func() {
		<-h.began
		cancel()
	}()
	if err := Run(cmd); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if text, err := os.ReadFile(said); string(text) != "bye\n" {
		t.Errorf("it said %q, %v", text, err)
	}
}

// Ctrl-C in a terminal goes to the process group: a child is in one of its own.
func TestOwnGroup(t *testing.T) {
	if _, err := exec.LookPath("ps"); err != nil {
		t.Skip(err)
	}
	var group strings.Builder
	cmd := Command(t.Context(), time.Second, "/bin/sh", "-c", "ps -o pgid= -p $$")
	cmd.Stdout = &group
	if err := Run(cmd); err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(group.String()) == strconv.Itoa(syscall.Getpgrp()) {
		t.Error("the child is in our process group")
	}
}

// The child outlives every thread but its own: on Linux it would be ended with the
// thread that started it.
func TestThreadsMayEnd(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h := newHolders(t)
	cmd := Command(t.Context(), time.Second, "/bin/sh", "-c", `exec 3> "$0"; echo up >&3; read line; test "$line" = on`, h.path)
	cmd.Stdin = read
	ended := make(chan error, 1)
	go func() { ended <- Run(cmd) }()
	<-h.began
	var threads sync.WaitGroup
	all := make(chan struct{})
	for range 64 {
		threads.Add(1)
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			threads.Done()
			<-all
		}()
	}
	threads.Wait()
	close(all)
	if _, err := io.WriteString(write, "on\n"); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the child ended: %v", err)
	}
	_, _ = read.Close(), write.Close()
	<-h.ended
}

// F-03: what a killed process started does not live on.
func TestEndsWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a signal for a parent's death")
	}
	h := newHolders(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lineVariable+"=exec 3> '"+h.path+"'; echo up >&3; exec sleep 1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-h.began
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
}

// Descriptors that this process was started with are not handed on.
func TestInheritedDescriptors(t *testing.T) {
	secret, err := os.Create(filepath.Join(t.TempDir(), "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lineVariable+"=for fd in /dev/fd/*; do readlink $fd || echo $fd; done")
	cmd.ExtraFiles = []*os.File{secret, secret, secret}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), secret.Name()) || !strings.Contains(string(out), "/") {
		t.Errorf("the child has\n%s", out)
	}
}

func TestNoProgram(t *testing.T) {
	if err := Run(Command(t.Context(), time.Second, filepath.Join(t.TempDir(), "none"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}
