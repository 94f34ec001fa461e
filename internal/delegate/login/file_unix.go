//go:build unix

package login

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner of an old one if this process is root's. Any other process can only
// make files of its own user.
func keepOwner(f *os.File, old fs.FileInfo) error {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(int(stat.Uid), int(stat.Gid))
}

// syncFolder makes a rename in a folder durable. Not all file systems can do it, and the rename has
// happened anyway, so errors do not matter.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
