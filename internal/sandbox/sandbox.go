package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl"
)

// Options say what a sandbox takes from the machine. The zero value takes all
// of it from the Pawl process.
type Options struct {
	// Environ are the variables the allow-list picks from; nil means those of
	// this process.
	Environ []string
	// Home is the user's home, which commands never see; empty means HOME of Environ.
	Home string
	// Bubblewrap is the path of bwrap; empty means the one on this process's PATH.
	Bubblewrap string
	// Program is the program that calls [Supervise] when its first argument is
	// [SuperviseWord]; empty means this one.
	Program string
}

// box is a sandbox: confined when bwrap is set.
type box struct {
	host    host
	bwrap   string // path of bwrap
	version string // of bwrap
	program string // path of the supervisor
	name    string // what it is called, as this process was: a program may go by its name
	root    bool   // Pawl runs as root
}

var _ pawl.Sandbox = (*box)(nil)

// Unconfined returns a sandbox that confines nothing: commands are plain
// processes with the same clean environment, limits and end as confined ones.
//
// The calling program must hand its process over to [Supervise] when its first
// argument is [SuperviseWord], before it does anything else; so for [Probe].
func Unconfined() pawl.Sandbox { return NewUnconfined(Options{}) }

// NewUnconfined is [Unconfined] with options.
func NewUnconfined(opts Options) pawl.Sandbox {
	closeInherited()
	b := newBox(opts)
	return &b
}

func newBox(opts Options) box {
	b := box{host: newHost(opts), program: opts.Program, name: opts.Program, root: os.Geteuid() == 0}
	if b.program == "" {
		b.program = "/proc/self/exe" // the running program, even after an upgrade replaced its file
		b.name = os.Args[0]
	}
	return b
}

// Confined reports whether bubblewrap confines commands.
func (b *box) Confined() bool { return b.bwrap != "" }

// Describe says in one line what confines a command.
func (b *box) Describe() string {
	if !b.Confined() {
		return "none: commands run with all rights of the user Pawl runs as; only their environment, time and output are limited"
	}
	s := b.version + ": own user, process, network and file namespaces; writes only to the worktree and a temporary folder; no network unless asked for"
	if b.root {
		s += "; Pawl runs as root, which weakens this: run it as an ordinary user"
	}
	return s
}

// Run implements [pawl.Sandbox]. Safe for concurrent use. When ctx ends, the
// command is ended as at a timeout and what there was comes with ctx's error.
func (b *box) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	if err := b.check(&cmd); err != nil {
		return pawl.CommandResult{}, err
	}
	if err := ctx.Err(); err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	owner := b.supervised(cmd)
	if b.Confined() {
		var err error
		if owner, err = b.bubblewrapped(cmd); err != nil {
			return pawl.CommandResult{}, err
		}
	}
	defer owner.close()
	return owner.run(ctx, cmd)
}

// shell is the command as a program to start. A list of words goes through the
// shell too, so that a missing program is exit code 127 in either case.
func shell(cmd pawl.Command) []string {
	if cmd.Shell != "" {
		return []string{"/bin/sh", "-c", cmd.Shell}
	}
	return append([]string{"/bin/sh", "-c", `exec "$@"`, "sh"}, cmd.Argv...)
}

// check fills in defaults and refuses what could not be run as meant.
func (b *box) check(cmd *pawl.Command) error {
	if (cmd.Shell == "") == (len(cmd.Argv) == 0) {
		return pawl.Errorf(pawl.CodeInvalid, "run command: exactly one of a shell line and a list of words is needed")
	}
	for _, s := range append(append([]string{cmd.Shell}, cmd.Argv...), cmd.Env...) {
		if strings.ContainsRune(s, 0) {
			return pawl.Errorf(pawl.CodeInvalid, "run command: a NUL byte in %q", s)
		}
	}
	for _, v := range cmd.Env {
		if strings.Index(v, "=") < 1 {
			return pawl.Errorf(pawl.CodeInvalid, "run command: the variable %q is not NAME=value", v)
		}
	}
	for _, folder := range []string{cmd.Dir, cmd.Temp} {
		if err := b.checkFolder(folder); err != nil {
			return err
		}
	}
	visible := make([]string, len(cmd.Visible)) // the caller's list stays as it is
	for i, path := range cmd.Visible {
		visible[i] = filepath.Clean(path)
		if !filepath.IsAbs(path) || b.host.exposes(visible[i]) {
			return pawl.Errorf(pawl.CodeInvalid, "run command: %s is not a path that commands may see", path)
		}
	}
	cmd.Visible = visible
	cmd.Dir, cmd.Temp = filepath.Clean(cmd.Dir), filepath.Clean(cmd.Temp)
	if cmd.Timeout <= 0 {
		cmd.Timeout = pawl.DefaultCommandTimeout
	}
	if cmd.Grace <= 0 {
		cmd.Grace = pawl.DefaultGrace
	}
	if cmd.Keep <= 0 {
		cmd.Keep = pawl.DefaultOutputLimit
	}
	return nil
}

func (b *box) checkFolder(folder string) error {
	if !filepath.IsAbs(folder) || contains(filepath.Clean(folder), b.host.home) {
		return pawl.Errorf(pawl.CodeInvalid, "run command: %q is not a folder that a command may write to", folder)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("run command: %w", err)
	}
	if !info.IsDir() {
		return pawl.Errorf(pawl.CodeInvalid, "run command: %s is not a folder", folder)
	}
	return nil
}
