package sandbox

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// memoryFile is a file without a name, at its start.
func memoryFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	if _, err := file.WriteAt(content, 0); err != nil {
		file.Close()
		return nil, fmt.Errorf("write a file in memory: %w", err)
	}
	return file, nil
}

// fileSystem tells the file system of a folder from others.
func fileSystem(dir string) string {
	var info unix.Stat_t
	if err := unix.Stat(dir, &info); err != nil {
		return ""
	}
	return strconv.FormatUint(info.Dev, 16)
}

// machineMemory is how much memory the machine has, in bytes.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 8 << 30
	}
	return int64(info.Totalram) * int64(info.Unit)
}
