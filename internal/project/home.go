package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"pawl"
)

// Home is where the state of all of a user's projects is.
type Home struct{ Dir string }

// HomeAt is the home below stateHome ($XDG_STATE_HOME). Nothing is made.
func HomeAt(stateHome string) Home { return Home{filepath.Join(stateHome, "pawl")} }

// Make makes the folder when it is not there.
func (h Home) Make() error {
	if err := private(h.Dir); err != nil {
		return unmade(err)
	}
	return nil
}

// Check refuses a folder that another user owns, or may have put something into. One that
// is not there is fine.
func (h Home) Check() error { return checkFolder(h.Dir) }

// unmade says that a state folder cannot be made, and what decides where it is.
func unmade(err error) error {
	err = Unwritable(err)
	if _, said := errors.AsType[*pawl.Error](err); said {
		return err
	}
	return pawl.Errorf(pawl.CodeUnavailable, "make the state folder: %w", err).
		WithHint("it is below $XDG_STATE_HOME, or ~/.local/state where that is not set: it has to be a folder you can write to")
}

func (h Home) lockable() lockable {
	return lockable{filepath.Join(h.Dir, "daemon.lock"), "serves the projects already"}
}

// Lock makes this process the one that serves all projects. While another one does,
// it fails with [pawl.CodeConflict] and says which.
func (h Home) Lock(version string) (*Lock, error) {
	return h.lockable().take(Holder{Version: version, Socket: h.Socket()})
}

// Holder says which process serves all projects; ok is false when none does.
func (h Home) Holder(ctx context.Context) (holder Holder, ok bool, err error) {
	return h.lockable().holder(ctx)
}

// LastHolder is the process that died while it served the projects, or that is making
// way for another one; ok is false when the last one went in order, or there was none.
func (h Home) LastHolder() (holder Holder, ok bool) {
	holder, err := h.lockable().read()
	return holder, err == nil
}

// Socket is where the process serves that has the lock.
func (h Home) Socket() string {
	sum := sha256.Sum256([]byte(h.Dir))
	return socketAt(h.Dir, "daemon.sock", "daemon-"+hex.EncodeToString(sum[:8]))
}

// Log is where it tells what it did when it has no terminal.
func (h Home) Log() string { return filepath.Join(h.Dir, "daemon.log") }

// folder is the state folder of the first repository that Pawl met at a place.
func (h Home) folder(gitDir string) string {
	sum := sha256.Sum256([]byte(gitDir))
	return filepath.Join(h.Dir, hex.EncodeToString(sum[:8]))
}

// Projects are those that have a state folder here, by the names of their folders.
// One whose description cannot be read is left out.
func (h Home) Projects() ([]Project, error) {
	files, err := filepath.Glob(filepath.Join(h.Dir, "*", "project.json"))
	if err != nil {
		return nil, fmt.Errorf("look for projects: %w", err)
	}
	var out []Project
	for _, name := range files {
		if p, err := h.described(filepath.Dir(name)); err == nil {
			out = append(out, p)
		}
	}
	return out, nil
}
