//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// alive reports whether there is a process.
func alive(pid int) bool { return pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// terminate asks a process to end.
func terminate(pid int) error { return unix.Kill(pid, unix.SIGTERM) }

// detached lets a process outlive the terminal it is started from.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// replaceProgram replaces this program by another one, which keeps the open files that are
// marked so.
func replaceProgram(program string, args, env []string) error { return unix.Exec(program, args, env) }

// openFile is a file that this process was started with, and that it does not hand on.
func openFile(fd int, name string) *os.File {
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), name)
}

// captureOutput lets what this process prints go to a file.
func captureOutput(f *os.File) error {
	return errors.Join(unix.Dup2(int(f.Fd()), 1), unix.Dup2(int(f.Fd()), 2))
}

// handOver puts data where the program can read it that this process becomes, and
// returns the number of the open file.
func handOver(data []byte) (int, error) {
	fd, err := unnamed()
	if err != nil {
		return 0, err
	}
	if _, err := unix.Pwrite(fd, data, 0); err != nil {
		return 0, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}
