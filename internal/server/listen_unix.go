//go:build unix

package server

import (
	"io/fs"
	"os"
	"syscall"
)

// supported reports whether sockets can be kept to their user here.
func supported() error { return nil }

// ours reports whether a file belongs to the user of this process.
func ours(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid()
}
