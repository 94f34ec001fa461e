package abuse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ofDaemon is a file in /proc about the daemon.
func (p Place) ofDaemon(name string) string { return fmt.Sprintf("/proc/%d/%s", p.Daemon.PID, name) }

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

func processRows() []Row {
	return []Row{
		{Number: 8, Name: "read the daemon's environment", StoppedBy: "pid namespace, Landlock",
			inside: func(p Place) error { return has(p.ofDaemon("environ"), daemonEnv) }},
		{Number: 9, Name: "read the daemon's command line", StoppedBy: "pid namespace",
			inside: func(p Place) error { return has(p.ofDaemon("cmdline"), p.daemonWord()) }},
		{Number: 10, Name: "read and write the daemon's memory", StoppedBy: "pid namespace, Landlock",
			inside: func(p Place) error {
				file, err := os.OpenFile(p.ofDaemon("mem"), os.O_RDWR, 0)
				if err != nil {
					return err
				}
				defer file.Close()
				text := make([]byte, len(secret))
				_, err = file.ReadAt(text, int64(p.Daemon.Address))
				return errors.Join(err, same(text))
			}},
		{Number: 11, Name: "read a secret by /proc/PID/root", StoppedBy: "pid namespace, Landlock",
			inside: func(p Place) error { return read(p.ofDaemon("root") + p.secret()) }},
		{Number: 12, Name: "read a secret by /proc/1/root", StoppedBy: "minimal root, Landlock",
			inside: func(p Place) error { return read("/proc/1/root" + p.secret()) }},
		{Number: 13, Name: "trace the daemon", StoppedBy: "pid namespace, seccomp, Landlock",
			inside: func(p Place) error {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				if err := unix.PtraceSeize(p.Daemon.PID); err != nil {
					return err
				}
				// It can only be detached when it is stopped; the end of this thread's
				// process detaches it too.
				if err := unix.PtraceInterrupt(p.Daemon.PID); err != nil {
					return err
				}
				if _, err := unix.Wait4(p.Daemon.PID, nil, unix.WALL, nil); err != nil {
					return err
				}
				return unix.PtraceDetach(p.Daemon.PID)
			}},
		{Number: 14, Name: "read the daemon's memory by process_vm_readv", StoppedBy: "pid namespace, seccomp, Landlock",
			inside: func(p Place) error {
				text := make([]byte, len(secret))
				local := []unix.Iovec{{Base: &text[0], Len: uint64(len(text))}}
				remote := []unix.RemoteIovec{{Base: uintptr(p.Daemon.Address), Len: len(text)}}
				_, err := unix.ProcessVMReadv(p.Daemon.PID, local, remote, 0)
				return errors.Join(err, same(text))
			}},
		{Number: 15, Name: "take a descriptor of the daemon", StoppedBy: "pid namespace, seccomp, Landlock",
			inside: func(p Place) error {
				pidfd, err := unix.PidfdOpen(p.Daemon.PID, 0)
				if err != nil {
					return err
				}
				defer unix.Close(pidfd)
				fd, err := unix.PidfdGetfd(pidfd, 1, 0)
				if err == nil {
					unix.Close(fd)
				}
				return err
			}},
		{Number: 16, Name: "signal the daemon", StoppedBy: "pid namespace, Landlock",
			inside: func(p Place) error { return unix.Kill(p.Daemon.PID, 0) }},
		{Number: 42, Name: "type into the operator's terminal", StoppedBy: "new session, seccomp", terminal: true,
			inside: func(p Place) error {
				return onTerminals(p, func(fd int) error {
					for _, c := range []byte("echo typed") {
						if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&c))); errno != 0 {
							return errno
						}
					}
					return nil
				})
			},
			outside: func(s *Stage) error { return s.shows("echo typed") }},
		{Number: 43, Name: "write to the operator's terminal", StoppedBy: "new session, own /dev", terminal: true,
			inside: func(p Place) error {
				return onTerminals(p, func(fd int) error { _, err := unix.Write(fd, []byte("written")); return err })
			},
			outside: func(s *Stage) error { return s.shows("written") }},
		{Number: 49, Name: "outlive the command", StoppedBy: "pid namespace, cgroup", alone: true,
			inside: func(p Place) error {
				cmd := exec.Command(p.Program, Word, "linger", lingerWord(p))
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				return cmd.Start()
			},
			outside: func(s *Stage) error {
				return outlives(lingerWord(s.Place))
			}},
		{Number: 51, Name: "gain rights by a setuid program", StoppedBy: "no_new_privs",
			inside: func(Place) error { return has("/proc/self/status", "NoNewPrivs:\t0") }},
		{Number: 52, Name: "have capabilities", StoppedBy: "uid drop, dropped capabilities", Root: true,
			inside: func(Place) error {
				if has("/proc/self/status", "CapEff:\t0000000000000000") == nil {
					return errors.New("there are none")
				}
				return nil
			}},
		{Number: 59, Name: "read the daemon's System V segment", StoppedBy: "ipc namespace, seccomp",
			inside: func(p Place) error {
				data, err := unix.SysvShmAttach(p.Daemon.Segment, 0, unix.SHM_RDONLY)
				if err != nil {
					return err
				}
				defer unix.SysvShmDetach(data)
				return same(data[:len(secret)])
			}},
		{Number: 67, Name: "read the daemon's message queue", StoppedBy: "ipc namespace, Landlock",
			inside: func(p Place) error {
				fd, err := openQueue(p.Daemon.Queue, unix.O_RDONLY)
				unix.Close(fd)
				return err
			}},
	}
}

func same(text []byte) error {
	if !bytes.Equal(text, []byte(secret)) {
		return errors.New("it is not the secret")
	}
	return nil
}

// outlives returns nil if a process goes on, which it then ends. A process in a
// namespace that comes to its end is given the time to: bubblewrap reports the
// command's end a moment before the namespace's other processes are killed.
func outlives(word string) error {
	ended := errors.New("the process has ended")
	pid, found := processWith(word)
	if !found {
		return ended
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return ended
	}
	defer unix.Close(fd)
	own, _ := os.Readlink("/proc/self/ns/pid")
	if theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)); err != nil || theirs != own {
		limit := int(attemptLimit / time.Millisecond)
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, limit); n == 1 {
			return ended
		}
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

func lingerWord(p Place) string { return "abuse-linger-of-" + p.Outside }

// onTerminals does something with the controlling terminal, and with the
// operator's if it can be opened by name.
func onTerminals(p Place, do func(fd int) error) error {
	var errs []error
	for _, path := range []string{"/dev/tty", p.TTY} {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY, 0)
		if err == nil {
			err = do(fd)
			unix.Close(fd)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", path, err))
	}
	return errors.Join(errs...)
}

// makeSegment makes a segment of System V shared memory that everyone may read,
// so that only a namespace or a filter hides it.
func makeSegment() int {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		return -1
	}
	data, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return -1
	}
	copy(data, secret)
	_ = unix.SysvShmDetach(data)
	return id
}

func removeSegment(id int) { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }

// openQueue opens a POSIX message queue; its name has no slash.
func openQueue(name string, flags int) (int, error) {
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(path)), uintptr(flags), 0o666, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func makeQueue(name string) {
	old := unix.Umask(0) // everyone may read it
	fd, _ := openQueue(name, unix.O_RDWR|unix.O_CREAT)
	unix.Umask(old)
	unix.Close(fd)
}

func removeQueue(name string) {
	if path, err := unix.BytePtrFromString(name); err == nil {
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(path)), 0, 0)
	}
}

// waitAndExec waits for a byte on standard input and becomes a program. So a box can put
// the process into a control group before it goes on.
func waitAndExec(argv []string) int {
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		fmt.Println(err)
		return 1
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR, 0)
	if err == nil {
		err = unix.Dup2(null, 0)
	}
	if err == nil {
		err = unix.Exec(argv[0], argv, os.Environ())
	}
	fmt.Println(err)
	return 1
}

// without becomes a program on a kernel that seems not to have a system call.
// So a layer that needs the call can be taken away.
func without(call string, argv []string) int {
	var nr uint32
	if _, err := fmt.Sscan(call, &nr); err != nil {
		fmt.Println(err)
		return 1
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
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

// interfaces lists the network's interfaces as /proc has them.
func interfaces() ([]string, error) {
	text, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names, nil
}

var order = binary.NativeEndian
