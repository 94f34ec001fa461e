package helper

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SupervisedMark is set for the supervisor alone. A program that forgets to call
// Supervise finds it and refuses to run commands, instead of starting itself for ever.
const SupervisedMark = "PAWL_SUPERVISED"

// IsSupervised reports that this process was started as a supervisor and is none.
func IsSupervised() bool { return os.Getenv(SupervisedMark) != "" }

// sweepInterval is how long the supervisor waits for its last descendants to
// end, by themselves at first and after it has killed them, before it looks for more.
const sweepInterval = 5 * time.Millisecond

// Supervise runs a command as the owner described in the package comment and
// returns the process's exit code. Nothing is left of the command when it
// returns. It changes the whole process and must be all that the process does.
func Supervise(args []string) int {
	CloseInherited()
	if len(args) < 1 {
		fmt.Fprintln(os.Stderr, "supervise: this is for Pawl's own use")
		return 125
	}
	code, err := supervise(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "supervise: %v\n", err)
		return 125
	}
	return code
}

func supervise(argv []string) (int, error) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("become the subreaper: %w", err)
	}
	// The command's parent-death signal follows this thread, which must
	// therefore live as long as the process.
	runtime.LockOSThread()
	status := os.NewFile(3, "status")
	// A command that gains rights could not be ended.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("give up gaining rights: %w", err)
	}
	child, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env:   slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, SupervisedMark+"=") }),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	tell(status, "child-pid", child)
	ended, none := reap(child)
	code := 128 + int(unix.SIGKILL)
	select {
	case <-end:
		killDescendants()
	case code = <-ended:
	}
	sweep(none)
	tell(status, "exit-code", code)
	return code, nil
}

// tell reports to Pawl. When Pawl is gone that fails, and a signal says so too.
func tell(status *os.File, name string, value int) {
	fmt.Fprintf(status, "{%q: %d}\n", name, value)
}

// reap waits for every child, the orphaned descendants included. It sends how
// the given one ended, as shells number it, and closes none when no child is left.
func reap(child int) (code <-chan int, none <-chan struct{}) {
	codes, left := make(chan int, 1), make(chan struct{})
	go func() {
		defer close(left)
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, 0, nil)
			switch {
			case err == unix.EINTR:
			case err != nil: // ECHILD
				return
			case pid == child && status.Signaled():
				codes <- 128 + int(status.Signal())
			case pid == child:
				codes <- status.ExitStatus()
			}
		}
	}()
	return codes, left
}

// sweep waits until no descendant is left, and kills them again and again.
func sweep(none <-chan struct{}) {
	for {
		select {
		case <-none:
			return
		case <-time.After(sweepInterval):
			killDescendants()
		}
	}
}

// relation is a process and its place among others.
type relation struct{ pid, parent, group int }

// killDescendants kills the processes below this one, and their process groups:
// the kernel kills a group at once, so a command that forks faster than it can
// be looked at does not get away. Their groups are their own, as the command
// began a new session.
func killDescendants() {
	self := os.Getpid()
	list := relations()
	below := map[int]bool{self: true}
	for grown := true; grown; {
		grown = false
		for _, r := range list {
			if below[r.parent] && !below[r.pid] {
				below[r.pid], grown = true, true
			}
		}
	}
	own := unix.Getpgrp()
	for _, r := range list {
		if !below[r.pid] || r.pid == self {
			continue
		}
		if r.group > 1 && r.group != own {
			_ = unix.Kill(-r.group, unix.SIGKILL) // already gone is as good
		}
		_ = unix.Kill(r.pid, unix.SIGKILL)
	}
}

// relations reads all processes there are. One that ends meanwhile is left out.
func relations() []relation {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	var list []relation
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if r, ok := parseStat(string(text)); ok {
			list = append(list, r)
		}
	}
	return list
}

// parseStat reads "pid (name) state parent group …". The name may hold anything,
// blanks and brackets too.
func parseStat(text string) (relation, bool) {
	name, rest := strings.Index(text, " ("), strings.LastIndex(text, ") ")
	if name < 0 || rest < name {
		return relation{}, false
	}
	fields := strings.Fields(text[rest+2:])
	if len(fields) < 3 {
		return relation{}, false
	}
	pid, err1 := strconv.Atoi(text[:name])
	parent, err2 := strconv.Atoi(fields[1])
	group, err3 := strconv.Atoi(fields[2])
	return relation{pid, parent, group}, err1 == nil && err2 == nil && err3 == nil
}
