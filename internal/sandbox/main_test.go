package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/sandbox"
)

// The test program also plays the programs that tests start: the supervisor, a
// Pawl process to be killed, and a daemon that leaves its parents' session.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case sandbox.SuperviseWord:
			syscall.Exit(sandbox.Supervise(os.Args[2:])) // unlike os.Exit, it skips the race detector's wait of one second
		case "__host":
			os.Exit(playHost(os.Args[2], os.Args[3], os.Args[4]))
		case "__daemon":
			os.Exit(playDaemon(os.Args[2]))
		case "__sleep":
			<-time.After(time.Hour)
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

// playDaemon leaves a process behind that has its own session and no parent.
func playDaemon(token string) int {
	cmd := exec.Command(os.Args[0], "__sleep", token)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// playHost is a Pawl process that runs a command and passes its output on.
func playHost(kind, folder, shell string) int {
	box := sandbox.Unconfined()
	if kind == "confined" {
		var err error
		if box, err = sandbox.Probe(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	_, err := box.Run(context.Background(), pawl.Command{
		Shell:    shell,
		Dir:      filepath.Join(folder, "dir"),
		Temp:     filepath.Join(folder, "temp"),
		Visible:  []string{os.Args[0]},
		Progress: func(p []byte) { os.Stdout.Write(p) },
	})
	fmt.Fprintln(os.Stderr, "the command ended:", err)
	return 1
}

// MustConfined returns a confined sandbox, or skips.
func MustConfined(tb testing.TB) pawl.Sandbox {
	tb.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		tb.Skip("bubblewrap is not installed")
	}
	box, err := sandbox.Probe(context.Background())
	if err != nil {
		tb.Skipf("bubblewrap does not work here: %v", err)
	}
	return box
}

// both runs a test with each kind of sandbox.
func both(t *testing.T, test func(t *testing.T, box pawl.Sandbox)) {
	t.Run("confined", func(t *testing.T) { test(t, MustConfined(t)) })
	t.Run("unconfined", func(t *testing.T) { test(t, sandbox.Unconfined()) })
}

// MustCommand is a shell command in new folders.
func MustCommand(tb testing.TB, shell string) pawl.Command {
	tb.Helper()
	folder := MustFolder(tb)
	return pawl.Command{Shell: shell, Dir: filepath.Join(folder, "dir"), Temp: filepath.Join(folder, "temp"), Visible: []string{MustSelf(tb)}}
}

// MustFolder makes a folder with dir and temp in it.
func MustFolder(tb testing.TB) string {
	tb.Helper()
	folder := tb.TempDir()
	for _, name := range []string{"dir", "temp"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	return folder
}

// MustSelf is the path of the test program.
func MustSelf(tb testing.TB) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return self
}

// MustRun runs a command to its end.
func MustRun(tb testing.TB, box pawl.Sandbox, cmd pawl.Command) pawl.CommandResult {
	tb.Helper()
	result, err := box.Run(tb.Context(), cmd)
	if err != nil {
		tb.Fatalf("run %s: %v", cmd.Shell, err)
	}
	return result
}

// newToken is a number of seconds to sleep that no other process has on its
// command line.
func newToken(tb testing.TB) string {
	tb.Helper()
	token := fmt.Sprintf("3600.%d%d", os.Getpid(), time.Now().UnixNano())
	tb.Cleanup(func() {
		for _, pid := range processes(token) {
			tb.Errorf("process %d is left over", pid)
			unix.Kill(pid, unix.SIGKILL)
		}
	})
	return token
}

// processes lists the processes whose command line has the token.
func processes(token string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(token)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitGone waits until the processes have ended; long is only for a busy machine.
func waitGone(tb testing.TB, pids []int) {
	tb.Helper()
	const long = 5 * 60 * 1000 // milliseconds
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			tb.Fatalf("watch process %d: %v", pid, err)
		}
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, long); n != 1 {
			tb.Errorf("process %d goes on: %v", pid, err)
		}
		unix.Close(fd)
	}
}

// onLine calls f once, when the output has the line.
func onLine(line string, f func()) func([]byte) {
	var seen strings.Builder
	return func(p []byte) {
		had := strings.Contains(seen.String(), line+"\n")
		seen.Write(p)
		if !had && strings.Contains(seen.String(), line+"\n") {
			f()
		}
	}
}
