package project

import (
	"io/fs"
	"syscall"
)

// DiskSize is how many bytes a file takes on disk.
func DiskSize(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
