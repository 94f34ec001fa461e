package room

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// shareBlocks makes a file share another one's blocks until one of them is written to.
func shareBlocks(from, to *os.File) error {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}

// DiskSize is how many bytes a file takes on disk.
func DiskSize(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}

// flush makes what was written to the file system of a folder survive a power cut.
func flush(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("flush %s: %w", folder, err)
	}
	return nil
}
