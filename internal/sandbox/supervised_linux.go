package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox/helper"
)

// supervisedRoom is a room that confines nothing.
type supervisedRoom struct {
	box *Box
	d   *room.Description
}

// Run implements [room.Opened].
func (r *supervisedRoom) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	if err := check(&cmd); err != nil {
		return pawl.CommandResult{}, err
	}
	if err := ctx.Err(); err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	if helper.IsSupervised() {
		return pawl.CommandResult{}, pawl.Errorf(pawl.CodeInternal, "run command: this program does not call helper.Run")
	}
	out := newCapture(&cmd)
	input, endInput, err := openInput(cmd.Input)
	if err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	defer endInput()
	o := &owner{
		program: r.box.program,
		argv:    append([]string{r.box.name, helper.SuperviseWord}, shell(cmd)...),
		env:     append(r.d.Variables(cmd.Env), helper.SupervisedMark+"=1"),
		dir:     r.d.Dir,
		input:   input,
		out:     out,
	}
	if err := o.start(ctx, out); err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	return runToEnd(ctx, o, cmd, out, nil)
}

// Reach implements [room.Opened].
func (r *supervisedRoom) Reach(path string) (string, error) { return path, nil }

// Close implements [room.Opened].
func (r *supervisedRoom) Close() error { return nil }

// owner is the supervisor of one command; see [helper]. It implements [running].
type owner struct {
	program string // what runs as the supervisor
	argv    []string
	env     []string
	dir     string
	input   *os.File // standard input; nil means that it is empty
	out     *capture

	cmd     *exec.Cmd
	outputs outputs
	ended   chan struct{} // closed when the owner has ended and waitErr is set
	waitErr error
	report  report
}

// start starts the owner from a thread that lives as long as the owner does:
// the parent-death signal follows the thread, not the process. When ctx ends, it
// is for end to end it.
func (o *owner) start(ctx context.Context, out *capture) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	theirs, err := o.outputs.pipes(stream{out, true}, stream{out, false})
	if err != nil {
		closeAll([]*os.File{reader, writer})
		return err
	}
	theirs = append(theirs, writer)
	o.cmd = exec.CommandContext(context.WithoutCancel(ctx), o.program)
	o.cmd.Args = o.argv
	o.cmd.Env = o.env
	o.cmd.Dir = o.dir
	if o.input != nil {
		o.cmd.Stdin = o.input
	}
	o.cmd.Stdout, o.cmd.Stderr, o.cmd.ExtraFiles = theirs[0], theirs[1], theirs[2:]
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGTERM}
	o.ended = make(chan struct{})
	o.report.began, o.report.done = make(chan struct{}), make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := o.cmd.Start()
		closeAll(theirs)
		started <- err
		if err != nil {
			return
		}
		o.waitErr = o.cmd.Wait()
		// Nobody is left to write; a read that still waits ends with the deadline.
		_ = reader.SetReadDeadline(time.Now().Add(drainDelay))
		o.outputs.end(drainDelay)
		<-o.report.done
		close(o.ended)
	}()
	if err := <-started; err != nil {
		reader.Close()
		o.outputs.end(0)
		return err
	}
	go o.report.read(reader)
	return nil
}

func (o *owner) exited() <-chan struct{} { return o.ended }

func (o *owner) terminate(grace time.Duration) bool { return o.report.terminate(grace) }

// kill asks the supervisor to end everything.
func (o *owner) kill() { _ = o.cmd.Process.Signal(unix.SIGTERM) } // one that is gone already is as good

func (o *owner) result() (code int, finished bool, err error) {
	code, finished = o.report.exitCode()
	if !finished && !o.killed() {
		output, _, _ := o.out.result()
		err = pawl.Errorf(pawl.CodeUnavailable, "it could not be started: %s", bytes.TrimSpace(output))
	}
	return code, finished, err
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
	decoder := json.NewDecoder(&untilDeadline{file: from})
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
