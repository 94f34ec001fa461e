// Package project is the layout of a project's state folder and the lock on it.
//
//	$XDG_STATE_HOME/pawl/<hash of the repository's git folder>/
//	    project.json    which repository this is the state of
//	    writer.lock     held by the one process that may write; says which one
//	    pawl.sock       where that process serves (writer.lock names it)
//	    pawl.db, blobs/ the log
//	    git/, worktrees/, checkouts/   what internal/workspace keeps
//	    tmp/<run>/      caches and temporary files of a run's commands
package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"pawl"
)

// Project is a repository and its state folder.
type Project struct {
	Repo pawl.Repository
	Dir  string // the state folder
}

// At is the project of a repository, with its state below stateHome
// ($XDG_STATE_HOME). The folder is made when it is not there.
func At(stateHome string, repo pawl.Repository) (Project, error) {
	sum := sha256.Sum256([]byte(repo.GitDir))
	p := Project{Repo: repo, Dir: filepath.Join(stateHome, "pawl", hex.EncodeToString(sum[:8]))}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return p, fmt.Errorf("make the state folder: %w", err)
	}
	name := filepath.Join(p.Dir, "project.json")
	if _, err := os.Stat(name); err == nil {
		return p, nil
	}
	about, err := json.MarshalIndent(map[string]string{"git_dir": repo.GitDir, "root": repo.Root}, "", "  ")
	if err != nil {
		return p, fmt.Errorf("describe the project: %w", err)
	}
	if err := os.WriteFile(name, append(about, '\n'), 0o600); err != nil {
		return p, fmt.Errorf("describe the project: %w", err)
	}
	return p, nil
}

// Temp is the folder of a run's temporary files; it is made when it is not there.
func (p Project) Temp(run pawl.RunID) (string, error) {
	dir := filepath.Join(p.Dir, "tmp", string(run))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	return dir, nil
}

// Socket is where the project's owner serves. A unix socket's path has room for
// about a hundred bytes: where the state folder's is longer, the socket is in
// the folder for temporary files, in a folder only this user can enter.
func (p Project) Socket() string {
	path := filepath.Join(p.Dir, "pawl.sock")
	if len(path) < maxSocketPath {
		return path
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("pawl-%d", os.Getuid()), filepath.Base(p.Dir)+".sock")
}

const maxSocketPath = 100

// Holder is what the lock file says of the process that holds the project.
type Holder struct {
	Pid     int       `json:"pid"`
	Started time.Time `json:"started"`
	Socket  string    `json:"socket"`
	Version string    `json:"version"`
}

// Lock is held by the one process that may write a project's state.
type Lock struct {
	lock *flock.Flock
	path string
}

// ErrHeld is returned by [Project.Lock] while another process holds the project.
var ErrHeld = &pawl.Error{Code: pawl.CodeConflict, Message: "another pawl has this project"}

// Lock takes the project for this process, or fails with [ErrHeld]. A process
// that dies gives it back.
func (p Project) Lock(version string) (*Lock, error) {
	path := filepath.Join(p.Dir, "writer.lock")
	l := flock.New(path, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the project: %w", err)
	}
	if !ok {
		return nil, ErrHeld
	}
	about, err := json.Marshal(Holder{Pid: os.Getpid(), Started: time.Now().UTC(), Socket: p.Socket(), Version: version})
	if err == nil {
		err = os.WriteFile(path, append(about, '\n'), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("say who holds the project: %w", err), l.Unlock())
	}
	return &Lock{lock: l, path: path}, nil
}

// Release gives the project back.
func (l *Lock) Release() error {
	if err := l.lock.Unlock(); err != nil {
		return fmt.Errorf("unlock the project: %w", err)
	}
	return nil
}

// Holder says which process holds the project; ok is false when none does.
func (p Project) Holder(ctx context.Context) (h Holder, ok bool, err error) {
	path := filepath.Join(p.Dir, "writer.lock")
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return h, false, nil
	}
	if err != nil {
		return h, false, fmt.Errorf("read who holds the project: %w", err)
	}
	probe := flock.New(path, flock.SetPermissions(0o600))
	free, err := probe.TryRLock()
	if err != nil {
		return h, false, fmt.Errorf("ask who holds the project: %w", err)
	}
	if free {
		return h, false, probe.Unlock()
	}
	if err := json.Unmarshal(data, &h); err != nil { // taken between our two looks
		return h, true, pawl.Errorf(pawl.CodeConflict, "another pawl is just taking the project").WithHint("try again")
	}
	return h, true, ctx.Err()
}
