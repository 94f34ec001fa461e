package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"pawl"
)

// Holder is what a lock file says of the process that holds it.
type Holder struct {
	Pid     int       `json:"pid"`
	Started time.Time `json:"started"`
	Socket  string    `json:"socket"` // where it serves
	Version string    `json:"version"`
}

// Lock is held by the one process that may write a project's state, or that serves
// all of them. The kernel lets go of it when the process dies. The file says who holds it and is empty
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

// lockable is what one process at a time can have.
type lockable struct {
	file string // the lock
	what string // as in "process 7 has it"
}

func (p Project) lockable() lockable {
	return lockable{filepath.Join(p.Dir, "writer.lock"), "has this project"}
}

// Lock takes the project for this process, which serves it on the project's own
// socket. While another has it, it fails with [pawl.CodeConflict].
func (p Project) Lock(version string) (*Lock, error) { return p.LockServed(version, p.Socket()) }

// LockServed is [Project.Lock] for a process that serves the project on another socket.
func (p Project) LockServed(version, socket string) (*Lock, error) {
	if err := checkFolder(p.Dir); err != nil {
		return nil, err
	}
	return p.lockable().take(Holder{Version: version, Socket: socket})
}

// Holder says which process holds the project; ok is false when none does. A
// process that has just taken it may be missed.
func (p Project) Holder(ctx context.Context) (h Holder, ok bool, err error) {
	return p.lockable().holder(ctx)
}

// LastHolder is the process that died while it had the project, or went without
// giving it back in order; ok is false when the last one gave it back, or there was none.
func (p Project) LastHolder() (h Holder, ok bool) {
	h, err := p.lockable().read()
	return h, err == nil
}

func (l lockable) take(about Holder) (*Lock, error) {
	about.Pid, about.Started = os.Getpid(), time.Now().UTC()
	text, err := json.Marshal(about)
	if err != nil {
		return nil, fmt.Errorf("say who holds it: %w", err)
	}
	lock := &Lock{flock.New(l.file, flock.SetPermissions(0o600))}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if _, err := lock.file.TryLockContext(ctx, lockInterval); errors.Is(err, context.DeadlineExceeded) {
		return nil, l.held()
	} else if err != nil {
		return nil, Unwritable(err)
	}
	if err := l.write(append(text, '\n')); err != nil {
		return nil, errors.Join(Unwritable(err), lock.Leave())
	}
	return lock, nil
}

// write replaces what the lock file says. The file is never empty in between: an empty file means
// that the last holder has given the lock back.
func (l lockable) write(text []byte) (err error) {
	f, err := os.OpenFile(l.file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// Unwritable says what to do about an error of the file system that keeps Pawl from storing
// anything in its state folder. It returns other errors, and nil, as they are.
// F-18
func Unwritable(err error) error {
	var hint string
	switch _, said := errors.AsType[*pawl.Error](err); {
	case said:
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "free disk space; nothing that was stored is lost"
	case errors.Is(err, syscall.EROFS):
		hint = "mount the file system for writing, or set XDG_STATE_HOME to a folder on another one"
	case errors.Is(err, os.ErrPermission):
		hint = "check the owner and mode of the folder, or set XDG_STATE_HOME to another one"
	default:
		return err
	}
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return pawl.Errorf(pawl.CodeUnavailable, "nothing can be stored in %s: %w", filepath.Dir(at.Path), at.Err).WithHint("%s", hint)
	}
	return pawl.Errorf(pawl.CodeUnavailable, "nothing can be stored: %w", err).WithHint("%s", hint)
}

func (l lockable) held() error {
	if h, err := l.read(); err == nil {
		return pawl.Errorf(pawl.CodeConflict, "process %d %s", h.Pid, l.what)
	}
	return pawl.Errorf(pawl.CodeConflict, "another process %s", l.what)
}

// Lost reports whether the lock's file was removed or replaced: another process can have
// taken the place of this one.
func (l *Lock) Lost() bool {
	held, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(l.file.Path())
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(held, there)
}

// Release gives back what was taken. Releasing again does nothing.
func (l *Lock) Release() error {
	if !l.file.Locked() {
		return nil
	}
	if l.Lost() { // what is there now is not this one's to change
		return l.Leave()
	}
	if err := os.Truncate(l.file.Path(), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("say that nobody holds it: %w", err), l.file.Unlock())
	}
	return l.Leave()
}

// Leave lets go without saying so, as a process does that dies.
func (l *Lock) Leave() error {
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}

func (l lockable) holder(ctx context.Context) (h Holder, ok bool, err error) {
	for end := time.Now().Add(lockPatience); ; {
		if ok, err := l.claimed(); !ok || err != nil {
			return Holder{}, false, err
		}
		if h, err := l.read(); err == nil {
			return h, true, nil
		}
		if time.Now().After(end) {
			return Holder{}, true, pawl.Errorf(pawl.CodeConflict, "another process is just taking %s", l.file).WithHint("try again")
		}
		select {
		case <-time.After(lockInterval):
		case <-ctx.Done():
			return Holder{}, true, ctx.Err()
		}
	}
}

// claimed reports whether a process says that it holds it, and does.
func (l lockable) claimed() (bool, error) {
	if info, err := os.Stat(l.file); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return false, nil
	}
	probe := flock.New(l.file, flock.SetFlag(os.O_RDONLY))
	free, err := probe.TryRLock()
	if err != nil {
		return false, fmt.Errorf("ask who holds %s: %w", l.file, err)
	}
	return !free, probe.Unlock()
}

// read is what the lock file says. It fails while it is being written.
func (l lockable) read() (h Holder, err error) {
	data, err := os.ReadFile(l.file)
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	return h, err
}
