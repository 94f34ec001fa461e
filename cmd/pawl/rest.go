package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// rest gives back the memory that a daemon does not need while it has nothing to do:
// what the heap has free, and the pages of the program's own text, which the kernel
// reads again when they are needed. What cannot be given back is kept.
func rest() {
	debug.FreeOSMemory()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		// from-to r-xp offset device inode path
		f := strings.Fields(line)
		if len(f) < 6 || f[1][1] == 'w' || f[5] != program {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		a, err1 := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || b <= a {
			continue
		}
		// Paging out never loses what was written, unlike dropping.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(a), uintptr(b-a), unix.MADV_PAGEOUT)
	}
}
