// Package cli is what the commands of pawl share: the world they are given, how
// they reach a project's runs, how errors become exit codes. Each command is a
// package of its own below this one.
package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/plain"
	"pawl/internal/project"
	"pawl/internal/start"
	"pawl/internal/view"
)

// App is the world of a command. Everything is set by main.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string // "NAME=value"
	// Dir is where the command works; flag -C changes it.
	Dir string
	// StateHome is where the state of projects is kept, as XDG_STATE_HOME is.
	StateHome string
	Version   string
	// JSON asks for machine-readable output, NoColor for none of the terminal's colours.
	JSON, NoColor bool
	// Local asks to work without a daemon: this process then has the project itself.
	Local bool
	// Terminal reports that Out is a terminal, Interactive that In is one.
	Terminal, Interactive bool
	// Columns is the width of the terminal; nil, or zero columns, means 80.
	Columns func() int
	// Rows is its height; nil, or zero rows, means 24.
	Rows func() int
	// Open reaches the project at Dir.
	Open func(ctx context.Context, a Access) (*Session, error)
	// Each reaches every project of the user that has something stored, in the order of their
	// roots, and calls do with it, or with why it cannot be reached; a session is closed
	// afterwards. An error of do ends it.
	Each func(ctx context.Context, a Access, do func(p project.Project, s *Session, err error) error) error
	// Projects reaches all of the user's projects, until the function it returns is
	// called: over the daemon, which is started when none runs, or with Local the one
	// at Dir alone.
	Projects func(ctx context.Context) (pawl.Projects, func() error, error)
	// Rejoin is Projects for who has lost them: it starts a daemon where the last one died,
	// and waits for none. Where the last one was stopped it fails with [pawl.CodeStopped].
	Rejoin func(ctx context.Context) (pawl.Projects, func() error, error)
	// Root is the root of the repository that Dir is in; empty when it is in none.
	Root func(ctx context.Context) string
	// Folders are the folders of tasks that a project's repository has, at HEAD and on
	// the tasks' branches. Nil finds none.
	Folders func(ctx context.Context, p project.Project) ([]start.Folder, error)
	// MergedInto returns the branch checked out at Dir if it has the work of a run that ended well; empty if it
	// does not. Nil knows of none.
	MergedInto func(ctx context.Context, r *view.Run) string
	// Interrupts brings Ctrl-C and its like from now on, instead of ending the
	// command's context, until stop is called. Nil brings none.
	Interrupts func() (signals <-chan os.Signal, stop func())
	// Leave ends the process at once.
	Leave func(code int)
}

// Access is what a command wants of a project.
type Access int

// The kinds of access.
const (
	// Read shows what there is: over the owner's socket, or from the store.
	Read Access = iota
	// Steer changes runs: over the owner's socket, or as the owner.
	Steer
)

// StatusInterrupted is what the lines of a session say of a run that is running
// or stopping by its log, but that no process drives at the moment.
const StatusInterrupted pawl.RunStatus = "interrupted"

// Session is a project that was reached.
type Session struct {
	pawl.Service
	Project project.Project
	// Owner reports that runs are driven by this process: they stop when it does.
	Owner bool
	// Remote reports that another process owns the project: it may go at any time.
	Remote bool
	// Daemon reports that this process is the daemon, in which runs go on by themselves.
	Daemon bool
	// Load says what the places of the machine are used for; nil unless Owner.
	Load func() pawl.Load
	// Driven reports whether this process drives a run; nil unless Owner.
	Driven func(pawl.RunID) bool
	// Close lets go of the project.
	Close func() error
}

// Getenv is a variable of the environment.
func (a *App) Getenv(name string) string {
	for _, kv := range a.Environ {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// User is what the person at the terminal is called, as what they decide is signed;
// never empty, since what nobody signed is the monitor's.
func (a *App) User() string {
	return cmp.Or(plain.Line(a.Getenv("USER"), 60), plain.Line(a.Getenv("LOGNAME"), 60), "a person")
}

// Width is the number of columns of the terminal, 80 when nobody knows.
func (a *App) Width() int {
	if a.Columns != nil {
		if n := a.Columns(); n > 0 {
			return n
		}
	}
	return 80
}

// Screen says what the terminal can do: whether lines can be redrawn, and
// whether colours are wanted.
func (a *App) Screen() (live, color bool) {
	live, color = view.Terminal(a.Terminal && !a.JSON, a.Getenv)
	return live, color && !a.NoColor
}

// Printf writes to Out. What cannot be written is lost: the reader has gone.
func (a *App) Printf(format string, args ...any) { _, _ = fmt.Fprintf(a.Out, format, args...) }

// Print writes a text that others had a say in: made safe, as a pipe often ends on a terminal too, or
// byte for byte if raw. If something was left out of what is no terminal's, it says so.
func (a *App) Print(text []byte, raw bool) {
	if !raw {
		safe := []byte(plain.Text(string(text)))
		if !a.Terminal && !bytes.Equal(safe, text) {
			a.Notef("what a terminal would obey is left out, and what it cannot show is replaced; --raw prints the bytes as they are")
		}
		text = safe
	}
	_, _ = a.Out.Write(text)
}

// RawFlag adds the flag that prints a text of others byte for byte.
func RawFlag(c *cobra.Command, raw *bool) {
	c.Flags().BoolVar(raw, "raw", false, "print the bytes as they are, also what a terminal would obey")
}

// Notef writes a remark for people to Err, one line.
func (a *App) Notef(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Err, "%s\n", noteText(format, args...))
}

func noteText(format string, args ...any) string {
	return plain.Line("pawl: "+fmt.Sprintf(format, args...), 0)
}

// UserConfig is where the user's own configuration is.
func (a *App) UserConfig() string { return config.UserFile(a.Environ) }
