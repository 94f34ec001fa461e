package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// inherit makes this process the parent of the processes below another one when they lose
// theirs. The function it returns counts those that still live, and reaps the others: no other
// child of this process, as whoever started that waits for it.
func inherit(root int) func() int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return func() int { return -1 }
	}
	below := descendants(root)
	return func() (n int) {
		now := processes()
		for pid, p := range below {
			switch is, there := now[pid]; {
			case !there || is.began != p.began: // a process that came later may have its number
				delete(below, pid)
			case is.state == 'Z' && is.parent == os.Getpid():
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
				delete(below, pid)
			case is.state != 'Z':
				n++
			}
		}
		return n
	}
}

// processInfo is what /proc tells of a process.
type processInfo struct {
	parent int
	state  byte
	began  string // in clock ticks since the machine started
}

// descendants returns the processes below another one.
func descendants(root int) map[int]processInfo {
	all, found := processes(), map[int]processInfo{}
	for more := true; more; {
		more = false
		for pid, p := range all {
			if _, known := found[pid]; known {
				continue
			}
			if _, below := found[p.parent]; below || p.parent == root {
				found[pid], more = p, true
			}
		}
	}
	return found
}

// processes returns all processes that exist now.
func processes() map[int]processInfo {
	out := map[int]processInfo{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// pid (name) state parent … began …: a name may have anything in it but no last parenthesis
		rest := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(rest) < 20 {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		parent, bad := strconv.Atoi(string(rest[1]))
		if err == nil && bad == nil {
			out[pid] = processInfo{parent, rest[0][0], string(rest[19])}
		}
	}
	return out
}
