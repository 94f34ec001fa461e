package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

// drainDelay is how long output is still read after the owner has ended. It
// only matters when a process outside the tree was handed the pipe.
const drainDelay = time.Second

// killLimit is how long the end of a killed tree may take before Run gives up.
const killLimit = 10 * time.Second

// owner is the supervisor of one command; see the package comment.
type owner struct {
	program string // what runs as the supervisor
	argv    []string
	env     []string
	dir     string
	files   []*os.File // from descriptor 4 on

	cmd     *exec.Cmd
	exited  chan struct{} // closed when the owner has ended and waitErr is set
	waitErr error
	report  report
}

func (o *owner) close() {
	for _, f := range o.files {
		f.Close()
	}
}

// run starts the owner and waits until nothing of the command is left.
func (o *owner) run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	if os.Getenv(supervisedMark) != "" {
		return pawl.CommandResult{}, pawl.Errorf(pawl.CodeInternal, "run command: this program does not call sandbox.Supervise")
	}
	out := newCapture(cmd.Keep, cmd.Progress)
	began := time.Now()
	if err := o.start(ctx, out); err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	timeout := time.NewTimer(cmd.Timeout)
	defer timeout.Stop()
	var timedOut bool
	var ctxErr, endErr error
	select {
	case <-o.exited:
	case <-timeout.C:
		timedOut, endErr = o.end(cmd.Grace)
	case <-ctx.Done():
		var ended bool
		if ended, endErr = o.end(cmd.Grace); ended {
			ctxErr = ctx.Err()
		}
	}
	code, finished := o.report.exitCode()
	result := pawl.CommandResult{TimedOut: timedOut, ExitCode: exitCode(code, finished), Duration: time.Since(began)}
	result.Missing = result.ExitCode == 127
	result.Output, result.Stdout, result.Dropped = out.result()
	if err := errors.Join(ctxErr, endErr); err != nil {
		return result, fmt.Errorf("run command: %w", err)
	}
	if !finished && !timedOut && !o.killed() {
		return pawl.CommandResult{}, pawl.Errorf(pawl.CodeUnavailable, "run command: it could not be started: %s",
			strings.TrimSpace(string(result.Output)))
	}
	return result, nil
}

// exitCode is -1 for a command that a signal ended. Shells and bubblewrap tell
// so by a code of 128 and the signal's number, which is therefore read alike
// whether confined or not.
func exitCode(code int, finished bool) int {
	if !finished || code > 128 && code <= 128+64 {
		return -1
	}
	return code
}

// start starts the owner from a thread that lives as long as the owner does:
// the parent-death signal follows the thread, not the process. When ctx ends, it
// is for end to end it.
func (o *owner) start(ctx context.Context, out *capture) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	o.cmd = exec.CommandContext(context.WithoutCancel(ctx), o.program)
	o.cmd.Args = o.argv
	o.cmd.Env = o.env
	o.cmd.Dir = o.dir
	o.cmd.Stdout = stream{out, true}
	o.cmd.Stderr = stream{out, false}
	o.cmd.ExtraFiles = append([]*os.File{writer}, o.files...)
	o.cmd.WaitDelay = drainDelay
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGTERM}
	o.exited = make(chan struct{})
	o.report.began, o.report.done = make(chan struct{}), make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := o.cmd.Start()
		writer.Close()
		started <- err
		if err != nil {
			return
		}
		o.waitErr = o.cmd.Wait()
		// Nobody is left to write; a read that still waits ends with the deadline.
		_ = reader.SetReadDeadline(time.Now().Add(drainDelay))
		<-o.report.done
		close(o.exited)
	}()
	if err := <-started; err != nil {
		reader.Close()
		return err
	}
	go o.report.read(reader)
	return nil
}

// end ends the whole tree: TERM to the command's process group, and after the
// grace, or when the command has not begun, KILL to everything. It returns
// false when the command had ended by itself before.
func (o *owner) end(grace time.Duration) (bool, error) {
	if _, finished := o.report.exitCode(); finished && o.exits(killLimit) {
		return false, nil
	}
	if o.report.terminate(grace) && o.exits(grace) {
		return true, nil
	}
	_ = o.cmd.Process.Signal(unix.SIGTERM) // an owner that is gone already is as good
	if o.exits(killLimit) {
		return true, nil
	}
	_ = o.cmd.Process.Kill()
	return true, fmt.Errorf("process %d and what it started could not be ended within %s", o.cmd.Process.Pid, killLimit)
}

// exits waits for the owner's end, for a while.
func (o *owner) exits(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-o.exited:
		return true
	case <-timer.C:
		return false
	}
}

// killed reports whether a signal that was not ours ended the owner. What its
// parent-death signal did not reach is ended by its group.
func (o *owner) killed() bool {
	exit, ok := errors.AsType[*exec.ExitError](o.waitErr)
	if !ok || !exit.Sys().(syscall.WaitStatus).Signaled() {
		return false
	}
	if pid := o.report.pid(); pid > 1 {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
	return true
}

// report is what the owner tells on descriptor 3.
type report struct {
	began chan struct{} // closed when child is known, or never will be
	done  chan struct{} // closed when there is no more to come

	mu    sync.Mutex
	child int
	code  *int
}

// read reads the report until the owner closes it.
func (r *report) read(from *os.File) {
	defer close(r.done)
	defer from.Close()
	begin := sync.OnceFunc(func() { close(r.began) })
	defer begin()
	decoder := json.NewDecoder(from)
	for {
		var line struct {
			Child int  `json:"child-pid"`
			Code  *int `json:"exit-code"`
		}
		if err := decoder.Decode(&line); err != nil {
			return // the end, or what only a broken owner would write
		}
		r.mu.Lock()
		if line.Child > 1 {
			r.child = line.Child
		}
		if line.Code != nil {
			r.code = line.Code
		}
		r.mu.Unlock()
		if line.Child > 1 {
			begin()
		}
	}
}

func (r *report) pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.child
}

// exitCode returns the command's exit code, and whether it ended by itself.
func (r *report) exitCode() (code int, finished bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.code == nil {
		return 0, false
	}
	return *r.code, true
}

// terminate asks the command's process group to end. It returns false when
// there is none, also after the time a command that is just being set up gets.
func (r *report) terminate(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-r.began:
	case <-timer.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.child > 1 && r.code == nil && unix.Kill(-r.child, unix.SIGTERM) == nil
}
