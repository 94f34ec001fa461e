package abuse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Place is what the rows are told about the stage.
type Place struct {
	Program string // this program, in a folder that everyone may read
	Work    string // the worktree, which the command may change
	Main    string // the repository that it is a worktree of
	Home    string // of the daemon's user
	Outside string // a folder of the stage's, for what stands for other places

	TTY        string // of the operator
	Host       string // name of the machine
	Interfaces []string
	Handle     []byte // of the secret file, as name_to_handle_at gives it
	HandleType int32

	Daemon Victim
}

// Victim is what the process that plays the daemon says of itself.
type Victim struct {
	PID      int
	TCP, UDP int    // ports
	Abstract string // name of a socket
	Address  uint64 // of a secret in its memory
	Segment  int    // of System V shared memory
	Queue    string // name of a message queue
}

// What secrets contain. None of them is in the environment of the attempts.
const (
	secret      = "the stage's secret\n"
	secretInEnv = "ABUSE_API_KEY"
	daemonEnv   = "ABUSE_DAEMON_KEY"
	pwned       = "# pwned"
	banner      = "hello from the daemon\n"
)

func (p Place) secret() string        { return p.Home + "/.ssh/id_ed25519" }
func (p Place) authorized() string    { return p.Home + "/.ssh/authorized_keys" }
func (p Place) token() string         { return p.Home + "/.pawl/token" }
func (p Place) sandboxBinary() string { return p.Outside + "/pawl" }
func (p Place) origin() string        { return p.Outside + "/origin.git" }
func (p Place) socket() string        { return p.Outside + "/pawl.sock" }
func (p Place) control() string       { return p.Outside + "/control.fifo" }
func (p Place) others() string        { return p.Outside + "/of-another-user" }
func (p Place) sharedMemory() string {
	return "/dev/shm/" + strings.ReplaceAll(strings.Trim(p.Outside, "/"), "/", "-")
}
func (p Place) daemonWord() string { return "abuse-daemon-of-" + p.Outside }

// Stage is what is attacked.
type Stage struct {
	Place
	// Environ is the daemon's own environment: a key, and variables that make programs
	// run code. A box that does not start with a clean one passes it on.
	Environ []string
	// Terminal is the operator's while a row runs that attacks it, or nil. A box that
	// does not take care lets its command have it as its controlling terminal.
	Terminal *os.File

	owner, user int
	master      *os.File
	screen      *screen
}

// screen collects what a terminal shows.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	done chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) contains(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}

// NewStage sets up a stage. The daemon and the files are owner's, and the
// worktree is user's, who runs the commands. Only root may choose users other than itself.
func NewStage(tb testing.TB, owner, user int) *Stage {
	tb.Helper()
	base := tb.TempDir()
	for path := base; path != os.TempDir() && len(path) > 1; path = filepath.Dir(path) {
		must(tb, os.Chmod(path, 0o755))
	}
	s := &Stage{owner: owner, user: user}
	s.Place = Place{Program: base + "/bin/program", Work: base + "/wt", Main: base + "/main", Home: base + "/home", Outside: base + "/outside"}
	s.Environ = []string{secretInEnv + "=" + strings.TrimSpace(secret), "NODE_OPTIONS=--require=" + base + "/hook.js", "GIT_SSH_COMMAND=" + base + "/hook", "BASH_ENV=" + base + "/hook"}
	for _, folder := range []string{base + "/bin", s.Home + "/.ssh", s.Home + "/.pawl", s.Outside} {
		must(tb, os.MkdirAll(folder, 0o755))
	}
	copyProgram(tb, s.Program)
	for path, mode := range map[string]os.FileMode{s.secret(): 0o600, s.authorized(): 0o600, s.token(): 0o600, s.sharedMemory(): 0o600, s.others(): 0o644, s.sandboxBinary(): 0o755} {
		must(tb, os.WriteFile(path, []byte(secret), mode))
	}
	tb.Cleanup(func() { os.Remove(s.sharedMemory()) })
	must(tb, os.Chmod(s.Home, 0o755)) // so that what is in it is protected by its own mode
	must(tb, unix.Mkfifo(s.control(), 0o600))
	s.makeRepository(tb)
	s.chown(tb, base, owner)
	s.chown(tb, s.sharedMemory(), owner)
	s.chown(tb, s.Work, user)
	s.Host, _ = os.Hostname()
	list, err := net.Interfaces()
	must(tb, err)
	for _, i := range list {
		s.Interfaces = append(s.Interfaces, i.Name)
	}
	if handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.secret(), 0); err == nil {
		s.Handle, s.HandleType = handle.Bytes(), handle.Type()
	}
	s.startDaemon(tb)
	s.inherit(tb)
	return s
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func copyProgram(tb testing.TB, to string) {
	tb.Helper()
	from, err := os.Open("/proc/self/exe")
	must(tb, err)
	defer from.Close()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	must(tb, err)
	_, err = io.Copy(file, from)
	must(tb, errors.Join(err, file.Close()))
}

// chown gives a tree to a user, if this is root.
func (s *Stage) chown(tb testing.TB, path string, uid int) {
	tb.Helper()
	if os.Getuid() != 0 {
		return
	}
	must(tb, filepath.Walk(path, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	}))
}

func (s *Stage) makeRepository(tb testing.TB) {
	tb.Helper()
	s.git(tb, s.Outside, "init", "-q", "--bare", s.origin())
	s.git(tb, s.Outside, "init", "-q", s.Main)
	must(tb, os.WriteFile(s.Main+"/README", []byte("x\n"), 0o644))
	s.git(tb, s.Main, "add", ".")
	s.git(tb, s.Main, "commit", "-q", "-m", "x")
	s.git(tb, s.Main, "remote", "add", "origin", s.origin())
	s.git(tb, s.Main, "worktree", "add", "-q", "-b", "work", s.Work)
}

// gitEnviron lets git work for any user and read nobody's configuration.
var gitEnviron = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nowhere", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x",
	"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}

func (s *Stage) git(tb testing.TB, dir string, args ...string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, gitEnviron
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %s: %v: %s", args, err, out)
	}
}

// startDaemon starts the process that plays the daemon, as the owner.
func (s *Stage) startDaemon(tb testing.TB) {
	tb.Helper()
	cmd := exec.Command(s.Program, Word, "daemon", s.Outside, s.daemonWord())
	cmd.Env = []string{daemonEnv + "=" + strings.TrimSpace(secret)}
	cmd.Dir = s.Outside
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() == 0 && s.owner != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(s.owner), Gid: uint32(s.owner)}
	}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	must(tb, errors.Join(err1, err2, cmd.Start()))
	tb.Cleanup(func() { // it ends when its standard input does
		in.Close()
		cmd.Wait()
	})
	if err := json.NewDecoder(out).Decode(&s.Daemon); err != nil {
		tb.Fatalf("the daemon did not start: %v", err)
	}
}

// inherit opens the secret in such a way that every program started from here
// inherits it, unless somebody sees to it.
func (s *Stage) inherit(tb testing.TB) {
	tb.Helper()
	fd, err := unix.Open(s.secret(), unix.O_RDONLY, 0)
	must(tb, err)
	tb.Cleanup(func() { unix.Close(fd) })
}

func (s *Stage) openTerminal(tb testing.TB) {
	tb.Helper()
	master, terminal, err := pty.Open()
	must(tb, err)
	if os.Getuid() == 0 {
		must(tb, os.Chown(terminal.Name(), s.owner, s.owner))
	}
	s.master, s.Terminal, s.TTY = master, terminal, terminal.Name()
	shown := &screen{done: make(chan struct{})}
	s.screen = shown
	go func() {
		defer close(shown.done)
		_, _ = io.Copy(shown, master) // ends with an error when the terminal is closed
	}()
}

func (s *Stage) closeTerminal() {
	s.Terminal.Close()
	s.master.Close()
	<-s.screen.done
	s.Terminal, s.TTY = nil, ""
}

// shows waits until the operator's terminal shows a text. That nothing more is
// to come is known when our end of it, the last one, has been closed.
func (s *Stage) shows(text string) error {
	s.Terminal.Close()
	select {
	case <-s.screen.done:
	case <-time.After(attemptLimit):
	}
	if !s.screen.contains(text) {
		return errors.New("the operator's terminal does not show it")
	}
	return nil
}

// daemon is the process that plays the daemon. It ends when its standard input does.
func daemon(outside string) int {
	p := Place{Outside: outside}
	v := Victim{PID: os.Getpid(), Abstract: p.daemonWord(), Queue: queueName(outside)}
	memory := []byte(secret)
	v.Address = addressOf(memory)
	serve := func(l net.Listener, err error) int {
		if err != nil {
			fmt.Fprintln(os.Stderr, "daemon:", err)
			os.Exit(1)
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte(banner))
				conn.Close()
			}
		}()
		if addr, ok := l.Addr().(*net.TCPAddr); ok {
			return addr.Port
		}
		return 0
	}
	v.TCP = serve(net.Listen("tcp4", "127.0.0.1:0"))
	serve(net.Listen("unix", p.socket()))
	serve(net.Listen("unix", "@"+v.Abstract))
	_ = os.Chmod(p.socket(), 0o777)
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "daemon:", err)
		return 1
	}
	v.UDP = udp.LocalAddr().(*net.UDPAddr).Port
	go func() {
		buffer := make([]byte, 64)
		for {
			_, from, err := udp.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo([]byte(banner), from)
		}
	}()
	fifo, err := os.OpenFile(p.control(), os.O_RDWR, 0) // it does not block
	if err != nil {
		fmt.Fprintln(os.Stderr, "daemon:", err)
		return 1
	}
	defer fifo.Close()
	v.Segment = makeSegment()
	defer removeSegment(v.Segment)
	makeQueue(v.Queue)
	defer removeQueue(v.Queue)
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if string(memory) != secret {
		fmt.Fprintln(os.Stderr, "daemon: somebody changed its memory")
	}
	return 0
}

func queueName(outside string) string {
	return "abuse-" + strings.ReplaceAll(strings.Trim(outside, "/"), "/", "-")
}

// processWith finds a process by a word on its command line.
func processWith(word string) (int, bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !slices.Contains(strings.Split(string(line), "\x00"), word) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			return pid, true
		}
	}
	return 0, false
}
