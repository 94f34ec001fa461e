package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystem is the kind of file system a folder is on, and whether it is on
// another machine.
func fileSystem(dir string) (kind string, remote bool, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", false, fmt.Errorf("look at the file system: %w", err)
	}
	return unix.ByteSliceToString(s.Fstypename[:]), s.Flags&unix.MNT_LOCAL == 0, nil
}
