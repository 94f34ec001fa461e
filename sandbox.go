package pawl

import (
	"context"
	"time"
)

// Sandbox runs commands that a model, or code a model wrote, decides about.
// Implemented in internal/sandbox. The environment of a command is built from
// nothing: no variable of the Pawl process is inherited but those an
// allow-list names, so no key or token can be.
type Sandbox interface {
	// Run runs one command to its end and returns what it printed. A command
	// that fails, times out or is killed is a result, not an error; an error
	// means that it could not be run at all or that ctx ended. When Run
	// returns, no process of the command is left.
	Run(ctx context.Context, cmd Command) (CommandResult, error)
	// Confined reports whether commands are kept from the rest of the machine.
	Confined() bool
	// Describe says in one line what confines a command, for reports.
	Describe() string
}

// Command is one command to run.
type Command struct {
	// Shell is a line for /bin/sh -c. Exactly one of Shell and Argv is set.
	Shell string
	Argv  []string
	// Dir is the working folder; with Temp it is the only place the command may write.
	Dir string
	// ReadOnly makes Dir unwritable too.
	ReadOnly bool
	// Temp is a writable folder for caches and temporary files, HOME included.
	Temp string
	// Visible are further paths outside Dir and Temp to show, read-only.
	Visible []string
	// Env are further variables, "NAME=value".
	Env []string
	// Network lets the command reach the network; false means loopback only.
	Network bool
	// Timeout ends the command's whole process tree, TERM first and KILL after
	// Grace. Zero means [DefaultCommandTimeout].
	Timeout time.Duration
	// Grace is the time between TERM and KILL; zero means [DefaultGrace].
	Grace time.Duration
	// Keep is how many bytes of output are kept, half from the head and half
	// from the tail. Zero means [DefaultOutputLimit].
	Keep int
	// Progress receives output as it comes; it may be nil and may drop.
	Progress func([]byte)
}

// Limits of commands.
const (
	DefaultCommandTimeout = 120 * time.Second
	DefaultGrace          = 2 * time.Second
	DefaultOutputLimit    = 100_000 // bytes
)

// CommandResult is how a command ended.
type CommandResult struct {
	// Output is standard output and standard error as they came, cut to Keep
	// with a line that says how many bytes are missing. It is valid UTF-8.
	Output []byte
	// Stdout is standard output alone, cut to 16 MiB: reports are read from it.
	Stdout []byte
	// Dropped is how many bytes were cut from Output.
	Dropped int64
	// ExitCode is -1 when a signal ended the command.
	ExitCode int
	// Missing reports that the shell or system did not find the program (127, or no such file).
	Missing  bool
	TimedOut bool
	Duration time.Duration
}
