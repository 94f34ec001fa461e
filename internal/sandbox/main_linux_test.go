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
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/egress"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	_ "pawl/internal/sandbox/helper/early" // the test program also plays the helper
)

// The test program also plays the programs that tests start: a Pawl process to be
// killed, and a daemon that leaves its parents' session.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__host":
			os.Exit(playHost(os.Args[2], os.Args[3], os.Args[4]))
		case "__daemon":
			os.Exit(playDaemon(os.Args[2]))
		case "__helper":
			fmt.Println(sandbox.Unconfined().Helper())
			os.Exit(0)
		case "__wide":
			os.Exit(playDebugger())
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

// playDebugger makes a call for System V shared memory and one for debugging, and says
// what came of them.
func playDebugger() int {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
	fmt.Println("shmget:", err == nil)
	if err == nil {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0)
	fmt.Println("ptrace:", errno == 0)
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
	rooms := newRooms(box, folder, os.Args[0])
	r, err := rooms.Agent(context.Background(), pawl.AgentRoom{Run: "001", Name: "001", Tree: filepath.Join(folder, "dir")})
	if err == nil {
		_, err = r.Run(context.Background(), pawl.Command{Shell: shell, Progress: func(p []byte) { os.Stdout.Write(p) }})
	}
	fmt.Fprintln(os.Stderr, "the command ended:", err)
	return 1
}

// The boxes that tests share.
var (
	confined = sync.OnceValues(func() (*sandbox.Box, error) { return sandbox.Probe(context.Background()) })
	copying  = sync.OnceValues(func() (*sandbox.Box, error) {
		return sandbox.New(context.Background(), sandbox.Options{NoOverlay: true})
	})
)

// MustConfined returns a confined sandbox, or skips.
func MustConfined(tb testing.TB) *sandbox.Box {
	tb.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		tb.Skip("bubblewrap is not installed")
	}
	box, err := confined()
	if err != nil {
		tb.Skipf("bubblewrap does not work here: %v", err)
	}
	return box
}

// MustCopying returns a confined sandbox without overlayfs, or skips.
func MustCopying(tb testing.TB) *sandbox.Box {
	tb.Helper()
	MustConfined(tb)
	box, err := copying()
	if err != nil {
		tb.Fatal(err)
	}
	return box
}

// both runs a test with each kind of sandbox.
func both(t *testing.T, test func(t *testing.T, box *sandbox.Box)) {
	t.Run("confined", func(t *testing.T) { test(t, MustConfined(t)) })
	t.Run("unconfined", func(t *testing.T) { test(t, sandbox.Unconfined()) })
}

// place is an agent's room over a new folder.
type place struct {
	pawl.Room
	dir   string // its work tree, outside
	state string
}

// newRooms are rooms with their state below a folder, which show one path more.
func newRooms(box *sandbox.Box, folder string, visible ...string) *room.Rooms {
	return room.New(room.Options{
		State: filepath.Join(folder, "state"), Enforcer: box,
		Visible: func(string) []string { return visible },
		Host:    func(context.Context) room.Host { return room.NewHost(nil, "") },
		Proxy: func(_ context.Context, out room.WayOut) (room.Proxy, error) {
			return egress.New(egress.Options{Rules: out.Rules})
		},
	})
}

// MustRoom opens a room in which the test program can be run.
func MustRoom(tb testing.TB, box *sandbox.Box) place {
	tb.Helper()
	return MustLimited(tb, box, pawl.RoomLimits{})
}

// MustLimited opens a room with limits in which the test program can be run.
func MustLimited(tb testing.TB, box *sandbox.Box, limits pawl.RoomLimits) place {
	tb.Helper()
	folder := MustFolder(tb, box)
	rooms := newRooms(box, folder, MustSelf(tb))
	tb.Cleanup(func() {
		if err := rooms.Close(); err != nil {
			tb.Error(err)
		}
	})
	r, err := rooms.Agent(tb.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: filepath.Join(folder, "dir"), Limits: limits})
	if err != nil {
		tb.Fatal(err)
	}
	return place{r, filepath.Join(folder, "dir"), filepath.Join(folder, "state")}
}

// MustAgent opens an agent's room over a work tree.
func MustAgent(tb testing.TB, rooms *room.Rooms, dir string) pawl.Room {
	tb.Helper()
	r, err := rooms.Agent(tb.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: dir})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// MustFolder makes a folder with dir in it, a work tree.
func MustFolder(tb testing.TB, box *sandbox.Box) string {
	tb.Helper()
	folder := tb.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "dir"), 0o755); err != nil {
		tb.Fatal(err)
	}
	MustGive(tb, box, filepath.Join(folder, "dir"))
	return folder
}

// MustGive gives a file to whoever commands run as.
func MustGive(tb testing.TB, box *sandbox.Box, path string) {
	tb.Helper()
	if owner := box.Owner(); owner != (pawl.Owner{}) {
		if err := os.Lchown(path, owner.UID, owner.GID); err != nil {
			tb.Fatal(err)
		}
	}
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
func MustRun(tb testing.TB, r pawl.Room, cmd pawl.Command) pawl.CommandResult {
	tb.Helper()
	result, err := r.Run(tb.Context(), cmd)
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
