//go:build unix

package main

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// stateOf returns the state of a file. Call it before reading the file. The state is not known if the file
// cannot be looked at.
func stateOf(name string) (s fileState, known bool) {
	var st unix.Stat_t
	err := unix.Stat(name, &st)
	if errors.Is(err, unix.ENOENT) {
		return s, true
	}
	return fileState{uint64(st.Dev), st.Ino, st.Size, time.Unix(st.Mtim.Unix()), time.Unix(st.Ctim.Unix())}, err == nil //nolint:unconvert // macOS has another type
}
