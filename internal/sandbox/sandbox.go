package sandbox

import (
	"context"
	"os"
	"strings"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox/helper"
)

// Options say how rooms are enforced.
type Options struct {
	// Bubblewrap is the path of bwrap; empty means the one on this process's PATH.
	Bubblewrap string
	// Program is the program that calls [helper.Run] before it does anything else;
	// empty means the pawl-helper beside this program, or this one if there is none that fits.
	Program string
	// NoOverlay does without overlayfs, as on a machine that has none.
	NoOverlay bool
	// UID is who commands run as when Pawl runs as root, a user id without an account;
	// zero means the first free one from [DefaultUID] on.
	UID int
	// Wide allows more system calls, as [confine.Wide] says.
	Wide bool
}

// DefaultUID is the first user id that commands may run as when Pawl runs as root. It
// is above those that systems give to people, services and containers' users, so
// that as a rule no account has it.
const DefaultUID = 61_184

// Unconfined returns a box that confines nothing: commands are plain processes with
// the same clean environment, limits and end as confined ones.
//
// The calling program must hand its process over to [helper.Run] before it does
// anything else; so for [Probe].
func Unconfined() *Box { return NewUnconfined(Options{}) }

// Probe returns a box that confines commands. The error says exactly why that is
// not possible here and what to do; it is for the caller to decide whether to go on
// with [Unconfined]. There is no silent fallback.
func Probe(ctx context.Context) (*Box, error) { return New(ctx, Options{}) }

// unconfined describes a box that confines nothing.
const unconfined = "none: commands run with all rights of the user Pawl runs as; only their environment, time and output are limited"

var _ room.Enforcer = (*Box)(nil)

// relayBy returns the relay of rooms that show everything where it is, by the path of the program
// that [helper.Run] runs in; empty means this one.
func relayBy(program string) ([]string, error) {
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	return []string{program, helper.RelayWord}, nil
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
func check(cmd *pawl.Command) error {
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
