package confine_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"pawl/internal/sandbox/confine"
)

// The test program is also the shim, the commands that it becomes, and a kernel
// that lacks something. Unlike os.Exit, syscall.Exit skips the race detector's wait.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__confine":
			syscall.Exit(confine.Main(os.Args[2:]))
		case "__try":
			syscall.Exit(try(os.Args[2], os.Args[3:]))
		case "__without":
			syscall.Exit(without(os.Args[2], os.Args[3:]))
		}
	}
	code := m.Run()
	if shared != "" {
		os.RemoveAll(shared)
	}
	os.Exit(code)
}

// shared holds the copy of this program that every user may execute.
var shared string

// MustProgram is the path of this program.
func MustProgram(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(shared, "program")
	if shared != "" {
		return path
	}
	folder, err := os.MkdirTemp("", "confine-test-")
	if err != nil {
		tb.Fatal(err)
	}
	shared = folder
	path = filepath.Join(shared, "program")
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		tb.Fatal(err)
	}
	defer self.Close()
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	_, err = io.Copy(file, self)
	if err := errors.Join(err, file.Close(), os.Chmod(shared, 0o755), os.Chmod(path, 0o755)); err != nil {
		tb.Fatal(err)
	}
	return path
}

// strangerID is a user without an account. Its processes are counted by no other test.
var strangerID = uint32(62000 + os.Getpid()%1000)

// user runs commands as a user.
type user struct {
	root bool
	attr *syscall.SysProcAttr
}

// eachUser runs a test as this user, and as one without rights if this is root.
func eachUser(t *testing.T, test func(t *testing.T, u user)) {
	self := user{root: os.Getuid() == 0, attr: &syscall.SysProcAttr{Setsid: true}}
	if !self.root {
		test(t, self)
		return
	}
	t.Run("Root", func(t *testing.T) { test(t, self) })
	t.Run("User", func(t *testing.T) {
		test(t, user{attr: &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: strangerID, Gid: strangerID}}})
	})
}

// folder makes a folder that belongs to the user.
func (u user) folder(tb testing.TB) string {
	tb.Helper()
	base := tb.TempDir()
	for path := base; path != filepath.Dir(os.TempDir()) && path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	if u.attr.Credential != nil {
		if err := os.Chown(base, int(strangerID), int(strangerID)); err != nil {
			tb.Fatal(err)
		}
	}
	return base
}

// result is how a command ended.
type result struct {
	code   int // -1 if a signal ended it
	signal syscall.Signal
	out    string
}

// confined runs a command in the shim.
func (u user) confined(tb testing.TB, spec confine.Spec, argv ...string) result {
	tb.Helper()
	return u.run(tb, nil, append([]string{"__confine"}, spec.Args(argv...)...)...)
}

// try runs one of this program's own attempts in the shim and returns what it said.
func (u user) try(tb testing.TB, spec confine.Spec, args ...string) string {
	tb.Helper()
	r := u.confined(tb, spec, append([]string{MustProgram(tb), "__try"}, args...)...)
	return u.said(tb, r, args)
}

// tryFree runs an attempt without the shim.
func (u user) tryFree(tb testing.TB, args ...string) string {
	tb.Helper()
	return u.said(tb, u.run(tb, nil, append([]string{"__try"}, args...)...), args)
}

func (u user) said(tb testing.TB, r result, args []string) string {
	tb.Helper()
	if r.code != 0 {
		tb.Fatalf("%q ended with code %d and signal %v: %s", args, r.code, r.signal, r.out)
	}
	return r.out
}

// run runs this program with arguments.
func (u user) run(tb testing.TB, extra []*os.File, args ...string) result {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), MustProgram(tb), args...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nowhere"}
	cmd.Dir = "/"
	cmd.ExtraFiles = extra
	cmd.SysProcAttr = u.attr
	// A file, unlike a pipe, is not waited for if something is left that has it open.
	out, err := os.Create(filepath.Join(tb.TempDir(), "out"))
	if err != nil {
		tb.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	err = cmd.Wait()
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // what it left of its process group
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		tb.Fatal(err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return result{cmd.ProcessState.ExitCode(), status.Signal(), string(text)}
}

// try makes an attempt and prints how the kernel answered.
func try(name string, args []string) int {
	attempt, ok := attempts[name]
	if !ok {
		fmt.Println("no attempt", name)
		return 1
	}
	err := attempt(args)
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		fmt.Print(unix.ErrnoName(errno))
		return 0
	}
	if err != nil {
		fmt.Print(err)
		return 1
	}
	fmt.Print("ok")
	return 0
}

func number(text string) uintptr {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return uintptr(n)
}

var attempts = map[string]func(args []string) error{
	"write": func(args []string) error {
		return os.WriteFile(args[0], []byte("x"), 0o600)
	},
	"open-to-write": func(args []string) error {
		file, err := os.OpenFile(args[0], os.O_WRONLY, 0)
		file.Close()
		return err
	},
	"read": func(args []string) error {
		_, err := os.ReadFile(args[0])
		return err
	},
	"truncate": func(args []string) error { return os.Truncate(args[0], 0) },
	"remove":   func(args []string) error { return os.Remove(args[0]) },
	"rename":   func(args []string) error { return os.Rename(args[0], args[1]) },
	"link":     func(args []string) error { return os.Link(args[0], args[1]) },
	"mkdir":    func(args []string) error { return os.Mkdir(args[0], 0o700) },
	"symlink":  func(args []string) error { return os.Symlink("x", args[0]) },
	"mkfifo":   func(args []string) error { return unix.Mkfifo(args[0], 0o600) },
	"mknod": func(args []string) error { // a device: /dev/null's or a disk's number
		return unix.Mknod(args[0], uint32(number(args[1])), int(number(args[2])))
	},
	"kill": func(args []string) error { return unix.Kill(int(number(args[0])), 0) },
	"kill-child": func([]string) error {
		cmd := exec.Command("sleep", "3600")
		if err := cmd.Start(); err != nil {
			return err
		}
		defer cmd.Wait()
		return cmd.Process.Kill()
	},
	"abstract": func(args []string) error { return connect(&unix.SockaddrUnix{Name: "@" + args[0]}, unix.AF_UNIX) },
	"tcp": func(args []string) error {
		return connect(&unix.SockaddrInet4{Port: int(number(args[0])), Addr: [4]byte{127, 0, 0, 1}}, unix.AF_INET)
	},
	"listen": func([]string) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	},
	"ioctl": func(args []string) error { // one that asks a terminal for something, of what is none
		fd, err := unix.Open(args[0], unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	},
	"socket": func(args []string) error {
		fd, err := unix.Socket(int(number(args[0])), int(number(args[1])), int(number(args[2])))
		unix.Close(fd)
		return err
	},
	"socketpair": func(args []string) error {
		_, err := unix.Socketpair(int(number(args[0])), unix.SOCK_STREAM, 0)
		return err
	},
	"call": func(args []string) error {
		var a [7]uintptr
		for i := range args {
			a[i] = number(args[i])
		}
		return raw(a[0], a[1:])
	},
	"calls": func([]string) error {
		for _, c := range refusedCalls {
			fmt.Printf("%s %s\n", c.name, unix.ErrnoName(raw(c.nr, c.args[:])))
		}
		return nil
	},
	"shared-memory": func([]string) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		data, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return err
		}
		data[0] = 1
		_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		return errors.Join(err, unix.SysvShmDetach(data))
	},
	"terminal": func([]string) error { // what a program does that makes a terminal
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer master.Close()
		if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
		if err != nil {
			return err
		}
		end, err := unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(end)
		_, err = unix.IoctlGetTermios(end, unix.TCGETS)
		return err
	},
	"map": func(args []string) error {
		_, err := unix.Mmap(-1, 0, int(number(args[0])), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	},
	"loopback": tryLoopback,
}

func connect(to unix.Sockaddr, family int) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}

// raw makes a system call; its error is 0 if there is none.
func raw(nr uintptr, args []uintptr) syscall.Errno {
	_, _, errno := unix.RawSyscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
	return errno
}

// without executes a program on a kernel that does not have a system call: a
// filter says so. It is set with prctl, since seccomp may be the call.
func without(call string, argv []string) int {
	runtime.LockOSThread() // a filter is its thread's
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(number(call)), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	for _, err := range []error{
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0),
		unix.Exec(argv[0], argv, os.Environ()),
	} {
		if err != nil {
			fmt.Println(err)
			break
		}
	}
	return 1
}
