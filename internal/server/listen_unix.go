//go:build unix

package server

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// supported reports whether sockets can be kept to their user here.
func supported() error { return nil }

// owner is who a file belongs to, in parentheses.
func owner(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return " (uid " + strconv.FormatUint(uint64(stat.Uid), 10) + ")"
	}
	return ""
}

// ours reports whether a file belongs to the user of this process.
func ours(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid()
}
