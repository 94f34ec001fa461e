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

// closeInherited marks every descriptor but 0, 1 and 2 to be closed in the
// programs this process starts. Go does so with what it opens, but not with what
// the process was started with; descriptors meant for a child are passed one by
// one and not touched by this.
func closeInherited() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return // no /proc: then no command can be run here either
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// machineMemory is how much memory the machine has, in bytes.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 8 << 30
	}
	return info.Totalram * uint64(info.Unit)
}
