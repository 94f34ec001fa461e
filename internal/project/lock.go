package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"pawl"
)

// Holder is what the lock file says of the process that holds the project.
type Holder struct {
	Pid     int       `json:"pid"`
	Started time.Time `json:"started"`
	Socket  string    `json:"socket"`
	Version string    `json:"version"`
}

// Lock is held by the one process that may write a project's state. The kernel
// lets go of it when the process dies. The file says who holds it and is empty
// when somebody gave it back; after a crash what it says is out of date, and
// only the lock itself tells.
type Lock struct{ file *flock.Flock }

// Whoever asks after a crash who holds the project takes a shared lock for some
// microseconds, and whoever takes the project has to write who it is: each waits
// for the other so long, and looks so often.
const (
	lockPatience = 100 * time.Millisecond
	lockInterval = 2 * time.Millisecond
)

func (p Project) lockFile() string { return filepath.Join(p.Dir, "writer.lock") }

// Lock takes the project for this process. While another has it, it fails with
// [pawl.CodeConflict].
func (p Project) Lock(version string) (*Lock, error) {
	about, err := json.Marshal(Holder{Pid: os.Getpid(), Started: time.Now().UTC(), Socket: p.Socket(), Version: version})
	if err != nil {
		return nil, fmt.Errorf("say who holds the project: %w", err)
	}
	l := &Lock{flock.New(p.lockFile(), flock.SetPermissions(0o600))}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if _, err := l.file.TryLockContext(ctx, lockInterval); errors.Is(err, context.DeadlineExceeded) {
		return nil, p.held()
	} else if err != nil {
		return nil, fmt.Errorf("lock the project: %w", err)
	}
	if err := os.WriteFile(p.lockFile(), append(about, '\n'), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("say who holds the project: %w", err), l.Release())
	}
	return l, nil
}

func (p Project) held() error {
	if h, err := p.read(); err == nil {
		return pawl.Errorf(pawl.CodeConflict, "process %d has this project", h.Pid)
	}
	return pawl.Errorf(pawl.CodeConflict, "another process has this project")
}

// Release gives the project back. Releasing again does nothing.
func (l *Lock) Release() error {
	if !l.file.Locked() {
		return nil
	}
	if err := os.Truncate(l.file.Path(), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("say that nobody holds the project: %w", err), l.file.Unlock())
	}
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("unlock the project: %w", err)
	}
	return nil
}

// Holder says which process holds the project; ok is false when none does. A
// process that has just taken it may be missed.
func (p Project) Holder(ctx context.Context) (h Holder, ok bool, err error) {
	for end := time.Now().Add(lockPatience); ; {
		if ok, err := p.claimed(); !ok || err != nil {
			return Holder{}, false, err
		}
		if h, err := p.read(); err == nil {
			return h, true, nil
		}
		if time.Now().After(end) {
			return Holder{}, true, pawl.Errorf(pawl.CodeConflict, "another process is just taking the project").WithHint("try again")
		}
		select {
		case <-time.After(lockInterval):
		case <-ctx.Done():
			return Holder{}, true, ctx.Err()
		}
	}
}

// claimed reports whether a process says that it holds the project, and does.
func (p Project) claimed() (bool, error) {
	if info, err := os.Stat(p.lockFile()); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return false, nil
	}
	probe := flock.New(p.lockFile(), flock.SetFlag(os.O_RDONLY))
	free, err := probe.TryRLock()
	if err != nil {
		return false, fmt.Errorf("ask who holds the project: %w", err)
	}
	return !free, probe.Unlock()
}

// read is what the lock file says. It fails while it is being written.
func (p Project) read() (h Holder, err error) {
	data, err := os.ReadFile(p.lockFile())
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	return h, err
}
