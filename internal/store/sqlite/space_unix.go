//go:build unix

package sqlite

import (
	"golang.org/x/sys/unix"

	"pawl"
)

// FreeSpace is how much may still be written to the file system that a folder is on. It
// reports false when that is not known.
func FreeSpace(dir string) (pawl.Bytes, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return pawl.Bytes(s.Bavail) * pawl.Bytes(s.Bsize), true //nolint:unconvert // the types differ between systems
}

// writable reports whether files can be made in a folder.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }
