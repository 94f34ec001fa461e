// Package process runs child processes that end with us.
//
// A process made by [Command] and run by [Run] is the leader of a process group of
// its own, so that Ctrl-C in a terminal does not reach it. When its context ends, the
// whole group is asked to end (SIGTERM) and, after a grace, killed. When this process
// dies, even by SIGKILL, Linux sends SIGTERM to the child; what the child started is
// for the child to end. It inherits no descriptor but those it is given.
//
// Other Unix systems have no signal for a parent's death: there a child outlives a
// killed parent. Windows has process groups without signals: the child alone is killed.
package process

import (
	"context"
	"os/exec"
	"runtime"
	"time"
)

// outputDelay is how long output is still read after the end of a process. It only
// matters when something outside the group was handed the pipe.
const outputDelay = time.Second

// Command prepares a program that gets this much grace to end when ctx ends.
// The caller may change the command, its SysProcAttr included, before [Run].
func Command(ctx context.Context, grace time.Duration, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return end(cmd.Process, grace) }
	cmd.WaitDelay = outputDelay
	return cmd
}

// Run runs a prepared command to its end. The parent-death signal follows the thread
// that started the child, not the process, so the thread is kept until the child ends.
func Run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	closeInherited()
	return cmd.Run()
}

// Serve is as [Run], but does not wait for the process before end is closed. It calls started when
// the process has its own copies of what it was given, or could not be started.
func Serve(cmd *exec.Cmd, started func(), end <-chan struct{}) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	closeInherited()
	err := cmd.Start()
	started()
	if err != nil {
		return err
	}
	<-end
	return cmd.Wait()
}
