package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox/cgroup"
	"pawl/internal/sandbox/confine"
	"pawl/internal/sandbox/helper"
)

// Box enforces rooms. It implements [room.Enforcer]. It is confined when bwrap is set.
type Box struct {
	bwrap   string // path of bwrap
	version string // of bwrap
	program string // path of the helper
	name    string // what it is called, as this process was: a program may go by its name
	uid     int    // who commands run as, when Pawl is root; else zero

	profile  confine.Profile
	missing  []confine.Feature // what this kernel lacks
	groups   *cgroup.Host      // nil where there are no control groups
	overlays bool

	mu    sync.Mutex      // guards joins; held while overlayfs is tried
	joins map[string]bool // whether overlayfs works, by file system
}

// ownProgram is the path of the program that this process runs, for its children.
const ownProgram = "/proc/self/exe"

// holders counts the holders that this process has started.
var holders atomic.Uint64

// NewUnconfined is [Unconfined] with options.
func NewUnconfined(opts Options) *Box {
	helper.CloseInherited()
	b := new(Box)
	b.chooseProgram(context.Background(), opts)
	return b
}

// chooseProgram decides which program stands around commands: the one that the options name, else
// the installed pawl-helper, which starts sooner than this program, else this program.
func (b *Box) chooseProgram(ctx context.Context, opts Options) {
	b.program = opts.Program
	if b.program == "" {
		b.program = installedHelper(ctx)
	}
	if b.name = b.program; b.program == "" {
		b.program = ownProgram // the running program, even after an upgrade replaced its file
		b.name = os.Args[0]
	}
}

// Confined implements [room.Enforcer].
func (b *Box) Confined() bool { return b.bwrap != "" }

// Helper says in one line which program stands around commands.
func (b *Box) Helper() string {
	if b.program == ownProgram {
		return "pawl itself, as no pawl-helper of its version is beside it: each command starts some milliseconds later"
	}
	return b.program
}

// Mounts implements [room.Enforcer].
func (b *Box) Mounts() bool { return b.Confined() }

// Owner implements [room.Enforcer].
func (b *Box) Owner() pawl.Owner { return pawl.Owner{UID: b.uid, GID: b.uid} }

// Relay implements [room.Enforcer].
func (b *Box) Relay() ([]string, error) {
	switch {
	case b.Confined():
		return []string{helper.Enter, helper.RelayWord}, nil
	case b.program == ownProgram: // which a shell takes for its own
		return relayBy("")
	}
	return relayBy(b.program)
}

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
		return unconfined
	}
	s := b.version + ": own user, process, network and file namespaces; writes only to the worktree and the room's own folders; no network"
	if b.groups != nil {
		s += "; limits by " + b.groups.Describe()
	} else {
		s += "; limits for each process, as there are no control groups"
	}
	if b.profile == confine.Wide {
		s += "; wide profile: debuggers and System V shared memory work"
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
	return &heldRoom{box: b, d: d, limits: limitsOf(d)}, nil
}

// Join implements [room.Enforcer].
func (b *Box) Join(d *room.Description) (room.Held, error) {
	if !b.Confined() {
		return nil, errors.ErrUnsupported
	}
	return &heldRoom{box: b, d: d, joined: d}, nil
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
	}}}, nil, nil)
	if err != nil {
		return err
	}
	defer h.close()
	if err := os.WriteFile(filepath.Join(h.root(), stage, helper.Root, "try", "file"), nil, 0o644); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "upper", "file")); err != nil {
		return fmt.Errorf("overlayfs does not write where it should: %w", err)
	}
	return nil
}
