package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// rest gives back the memory that a daemon with nothing to do does not need: what is
// free in the heap, and the parts of the program's own file that are mapped. Starting
// touches most of them, resting hardly any; they come back from the system's cache of
// the file as they are needed. It does nothing where the system does not tell how.
func rest() {
	debug.FreeOSMemory()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for _, m := range unchanged(string(maps), program) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// mapping is a part of this process's memory.
type mapping struct{ from, to uintptr }

// unchanged are the mappings of a file that cannot be written to and have nothing that
// the file has not: dropping them loses nothing.
func unchanged(smaps, file string) (out []mapping) {
	var m mapping
	for line := range strings.Lines(smaps) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && !strings.HasSuffix(f[0], ":"): // from-to r-xp offset device inode path
			m = mapping{}
			if len(f) > 5 && f[5] == file && len(f[1]) > 1 && f[1][1] != 'w' {
				m = span(f[0])
			}
		case len(f) > 1 && (f[0] == "Anonymous:" || f[0] == "Private_Dirty:") && f[1] != "0":
			m = mapping{}
		case len(f) > 0 && f[0] == "VmFlags:" && m.from < m.to: // the last line of a mapping
			out = append(out, m)
		}
	}
	return out
}

func span(text string) mapping {
	from, to, _ := strings.Cut(text, "-")
	a, err1 := strconv.ParseUint(from, 16, 64)
	b, err2 := strconv.ParseUint(to, 16, 64)
	if err1 != nil || err2 != nil {
		return mapping{}
	}
	return mapping{uintptr(a), uintptr(b)}
}
