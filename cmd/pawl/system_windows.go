package main

import (
	"os"
	"syscall"

	"pawl"
)

// unsupported is the error of what a daemon needs and Windows does not have.
func unsupported(what string) error {
	return pawl.Errorf(pawl.CodeUnavailable, "%s is not possible on Windows", what).WithHint("run Pawl in WSL 2")
}

// alive reports whether there is a process.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

func terminate(int) error { return unsupported("asking a process to end") }

func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func replaceProgram(string, []string, []string) error {
	return unsupported("replacing a running program")
}

func openFile(fd int, name string) *os.File { return os.NewFile(uintptr(fd), name) }

func captureOutput(*os.File) error { return unsupported("capturing a program's own output") }

func handOver([]byte) (int, error) { return 0, unsupported("handing on what runs were given") }
