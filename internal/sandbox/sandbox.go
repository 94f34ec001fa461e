package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox/cgroup"
	"pawl/internal/sandbox/confine"
	"pawl/internal/sandbox/helper"
)

// Options say how rooms are enforced. The zero value is right but for tests.
type Options struct {
	// Bubblewrap is the path of bwrap; empty means the one on this process's PATH.
	Bubblewrap string
	// Program is the program that calls [helper.Run] before it does anything else;
	// empty means this one.
	Program string
	// NoOverlay does without overlayfs, as on a machine that has none.
	NoOverlay bool
	// UID is who commands run as when Pawl runs as root; zero means the first free
	// one from [DefaultUID] on.
	UID int
	// Limits are those of a room; a zero field means its default.
	Limits Limits
}

// Limits are what the commands of a room may use.
type Limits struct {
	Processes int64 // processes and threads that exist at once
	Memory    int64 // bytes of all processes and of what is in the room's temporary folder
	FileSize  int64 // bytes of one file
}

// The defaults of [Limits], which the test suite of a real project does not meet.
const (
	DefaultProcesses = 4096
	DefaultMemory    = 0.8      // of the machine's
	DefaultFileSize  = 10 << 30 // bytes
)

// filled are the limits with defaults.
func (l Limits) filled() Limits {
	if l.Processes == 0 {
		l.Processes = DefaultProcesses
	}
	if l.Memory == 0 {
		l.Memory = int64(float64(machineMemory()) * DefaultMemory)
	}
	if l.FileSize == 0 {
		l.FileSize = DefaultFileSize
	}
	return l
}

// Box enforces rooms. It implements [room.Enforcer]. It is confined when bwrap is set.
type Box struct {
	bwrap   string // path of bwrap
	version string // of bwrap
	program string // path of the helper
	name    string // what it is called, as this process was: a program may go by its name
	uid     int    // who commands run as, when Pawl is root; else zero

	missing  []confine.Feature // what this kernel lacks
	groups   *cgroup.Host      // nil where there are no control groups
	limits   Limits
	overlays bool

	holders atomic.Uint64 // counts those started

	mu    sync.Mutex      // guards joins; held while overlayfs is tried
	joins map[string]bool // whether overlayfs works, by file system
}

var _ room.Enforcer = (*Box)(nil)

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

// NewUnconfined is [Unconfined] with options.
func NewUnconfined(opts Options) *Box {
	closeInherited()
	b := &Box{program: opts.Program, name: opts.Program}
	if b.program == "" {
		b.program = "/proc/self/exe" // the running program, even after an upgrade replaced its file
		b.name = os.Args[0]
	}
	return b
}

// Confined implements [room.Enforcer].
func (b *Box) Confined() bool { return b.bwrap != "" }

// Owner implements [room.Enforcer].
func (b *Box) Owner() pawl.Owner { return pawl.Owner{UID: b.uid, GID: b.uid} }

// give gives a file to whoever commands run as.
func (b *Box) give(path string) error {
	if b.uid == 0 {
		return nil
	}
	return os.Lchown(path, b.uid, b.uid)
}

// Describe implements [room.Enforcer].
func (b *Box) Describe() string {
	if !b.Confined() {
		return "none: commands run with all rights of the user Pawl runs as; only their environment, time and output are limited"
	}
	s := b.version + ": own user, process, network and file namespaces; writes only to the worktree and the room's own folders; no network"
	if b.groups != nil {
		s += "; limits by " + b.groups.Describe()
	} else {
		s += "; limits for each process, as there are no control groups"
	}
	for _, feature := range b.missing {
		s += "; without " + string(feature)
	}
	if b.uid != 0 {
		s += "; commands run as user " + strconv.Itoa(b.uid)
	}
	return s
}

// Open implements [room.Enforcer].
func (b *Box) Open(d *room.Description) (room.Opened, error) {
	if !b.Confined() {
		return &supervisedRoom{b, d}, nil
	}
	return &heldRoom{box: b, d: d}, nil
}

// Overlay implements [room.Enforcer]. It is tried once for a file system.
func (b *Box) Overlay(dir string) bool {
	if !b.overlays {
		return false
	}
	on := fileSystem(dir)
	b.mu.Lock()
	defer b.mu.Unlock()
	works, tried := b.joins[on]
	if !tried {
		works = b.tryOverlay(dir) == nil
		b.joins[on] = works
	}
	return works
}

// tryOverlay writes above a layer and looks for what was written where it should be.
func (b *Box) tryOverlay(dir string) error {
	folder, err := os.MkdirTemp(dir, "try-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, name := range []string{"lower", "upper", "work"} {
		path := filepath.Join(folder, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		if err := b.give(path); err != nil {
			return err
		}
	}
	h, err := b.hold(context.Background(), &helper.Room{Stage: stage, Mounts: []helper.Mount{{
		Path: "/try", Lower: []string{filepath.Join(folder, "lower")}, Upper: filepath.Join(folder, "upper"), Work: filepath.Join(folder, "work"),
	}}})
	if err != nil {
		return err
	}
	defer h.close()
	if err := os.WriteFile(filepath.Join(h.root(), "try", "file"), nil, 0o644); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "upper", "file")); err != nil {
		return fmt.Errorf("overlayfs does not write where it should: %w", err)
	}
	return nil
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
