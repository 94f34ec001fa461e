package gitworktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl"
)

// lockPatience is how long a lock file of a living process is waited for. A git
// that outlived a killed Pawl ends within this time.
const lockPatience = 10 * time.Second

// lockInterval is how often it is looked at.
const lockInterval = 20 * time.Millisecond

// clearLock returns when there is no lock file at the path. It removes a stale one and
// waits for others.
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
		if s.isStale(path, info) {
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

// isStale reports whether a dead process left the lock file: it is older than this
// Workspaces, and no process has it open.
func (s *Workspaces) isStale(path string, info fs.FileInfo) bool {
	return info.ModTime().Before(s.started) && !heldOpen(path)
}

// removeStaleLocks removes the stale lock files of all worktrees' indexes, and those of the refs of runs. Recordings
// made in this process do not use the former, so they would stay until git needs them; the latter would stay until
// the ref is moved again, and hinder who deletes the branch. A git that is ended between making a lock and noting
// that it has leaves it.
func (s *Workspaces) removeStaleLocks(ctx context.Context) error {
	found, err := filepath.Glob(filepath.Join(escapeGlob(s.desks()), "*", "*.lock"))
	for _, at := range found {
		if info, err := os.Lstat(at); err == nil && s.isStale(at, info) {
			s.dropLock(ctx, at)
		}
	}
	errs := []error{err}
	for _, folder := range []string{"refs/heads/pawl", "refs/pawl"} {
		errs = append(errs, filepath.WalkDir(filepath.Join(s.user.Dir, filepath.FromSlash(folder)), func(at string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(at, ".lock") {
				return passOver(err)
			}
			info, err := e.Info()
			// A git of the user's may have one for a moment, and closes it before it moves the ref.
			if err == nil && info.ModTime().Before(s.started.Add(-lockPatience)) && s.isStale(at, info) {
				s.dropLock(ctx, at)
			}
			return passOver(err)
		}))
	}
	return errors.Join(errs...)
}

// passOver returns nil for what has gone, else the error.
func passOver(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// dropLock removes a lock file of which it is known that its process is dead.
func (s *Workspaces) dropLock(ctx context.Context, path string) {
	if err := os.Remove(path); err == nil {
		s.log.WarnContext(ctx, "removed a lock file that a git process left when it died", "path", path)
	}
}

// heldOpen reports whether a process is known to have the file open. Where
// there is no /proc, nothing is known.
func heldOpen(path string) bool { return slices.Contains(allOpen(), path) }

// allOpen are the names of all files that are known to be open.
func allOpen() []string {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	var names []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			names = append(names, target)
		}
	}
	return names
}

// sweep removes temporary objects that a dead git left in the user's repository: older
// than this Workspaces, and open in no process. Git itself removes the folder of an add
// when it is asked to end, but not when it is killed, and single objects not at all.
func (s *Workspaces) sweep(ctx context.Context) error {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return nil //nolint:nilerr // who has a file open cannot be known; git's own gc removes them in two weeks
	}
	var left []string
	for _, pattern := range []string{"tmp_objdir-bulk-fsync-*", "[0-9a-f][0-9a-f]/tmp_obj_*", "pack/tmp_pack_*", "pack/tmp_idx_*"} {
		found, err := filepath.Glob(filepath.Join(escapeGlob(s.engine.Store), pattern))
		if err != nil {
			return err
		}
		left = append(left, found...)
	}
	if len(left) == 0 {
		return nil
	}
	open := allOpen()
	var errs []error
	for _, at := range left {
		inUse := func(name string) bool { return name == at || strings.HasPrefix(name, at+string(filepath.Separator)) }
		if slices.ContainsFunc(open, inUse) || !s.isOlder(at) {
			continue
		}
		errs = append(errs, removeAll(at))
		s.log.WarnContext(ctx, "removed temporary objects that a git process left when it died", "path", at)
	}
	return errors.Join(errs...)
}

// clockStep is by how much the time of a file that was just written may lie before
// the time that this process reads: the kernel dates files by its last tick.
const clockStep = 10 * time.Millisecond

// isOlder reports whether nothing at or below a path was changed since this Workspaces
// was made.
func (s *Workspaces) isOlder(at string) bool {
	older := true
	_ = filepath.WalkDir(at, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it was removed, or nothing is known of it
		}
		info, err := d.Info()
		older = older && (err != nil || info.ModTime().Before(s.started.Add(-clockStep)))
		return nil
	})
	return older
}
