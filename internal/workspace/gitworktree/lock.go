package gitworktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pawl"
)

// lockPatience is how long a lock file of a living process is waited for. A git
// that outlived a killed Pawl ends within this time.
const lockPatience = 10 * time.Second

// lockInterval is how often it is looked at.
const lockInterval = 20 * time.Millisecond

// clearLock returns when there is no lock file at the path. It removes one that
// a dead process left: older than this Workspaces, and open in no process.
func (s *Workspaces) clearLock(ctx context.Context, path string) error {
	var deadline <-chan time.Time
	for {
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		if err != nil {
			return explain("look at a lock file", err)
		}
		if info.ModTime().Before(s.started) && !heldOpen(path) {
			s.dropLock(ctx, path)
			continue
		}
		if deadline == nil {
			deadline = time.After(s.patience)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline:
			return pawl.Errorf(pawl.CodeUnavailable, "another git process holds %s", path).
				WithHint("wait for it to end; if no git is running, remove the file")
		case <-time.After(lockInterval):
		}
	}
}

// dropLock removes a lock file of which it is known that its process is dead.
func (s *Workspaces) dropLock(ctx context.Context, path string) {
	if err := os.Remove(path); err == nil {
		s.log.WarnContext(ctx, "removed a lock file that a dead git left", "path", path)
	}
}

// heldOpen reports whether a process is known to have the file open. Where
// there is no /proc, nothing is known.
func heldOpen(path string) bool {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == path {
			return true
		}
	}
	return false
}
