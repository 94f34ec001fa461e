//go:build !linux

package project

import "io/fs"

// DiskSize is how many bytes a file takes on disk, as far as its size tells.
func DiskSize(info fs.FileInfo) int64 { return info.Size() }
