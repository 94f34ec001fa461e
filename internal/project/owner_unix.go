//go:build unix

package project

import (
	"cmp"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"pawl"
)

// maxLinks is how many links of a path are followed.
const maxLinks = 40

// checkOwner refuses a path that leads over another user's link, or to another user's file
// or folder: what is read there could be made up, and what is written could go anywhere.
// Root's are trusted. What is not there yet is no error, nor is what cannot be looked at:
// whoever opens it says why.
func checkOwner(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil //nolint:nilerr // there is no present folder, and opening the path will say so
	}
	at, rest, links := "/", path, 0
	for {
		name, below, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
		if name == "" {
			break
		}
		rest = below
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if info.Mode().Type() != fs.ModeSymlink {
			at = next
			continue
		}
		if !trusted(info) {
			return foreign(next, info)
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return nil //nolint:nilerr // see above
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = target + "/" + rest
	}
	info, err := os.Lstat(at)
	if err == nil && !trusted(info) {
		return foreign(at, info)
	}
	return nil
}

// checkFolder is checkOwner for a folder and what is directly in it, links too.
func checkFolder(dir string) error {
	if err := checkOwner(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // it is not there, or whoever opens it says why
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && !trusted(info) {
			return foreign(filepath.Join(dir, e.Name()), info)
		}
	}
	return nil
}

// trusted reports whether a file belongs to the user of this process, or to root.
func trusted(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// inode is the number of a file on its disk, which it keeps when it is renamed; 0 = not known.
func inode(name string) uint64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Ino
}

// foreign is the error of what belongs to another user.
func foreign(path string, info fs.FileInfo) error {
	what := "a file"
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		what = "a symbolic link"
	case info.IsDir():
		what = "a folder"
	}
	owner := "another user"
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		id, name := strconv.FormatUint(uint64(stat.Uid), 10), ""
		if u, err := user.LookupId(id); err == nil {
			name = u.Username
		}
		owner = cmp.Or(name, "user "+id) + " (uid " + id + ")"
	}
	return pawl.Errorf(pawl.CodeUnavailable, "%s is %s of %s: Pawl keeps its state only where nobody else can change it", path, what, owner).
		WithHint("remove it, or set XDG_STATE_HOME to a folder of your own")
}
