//go:build unix

package runner_test

import (
	"syscall"
	"testing"
)

// MustPipe makes a FIFO.
func MustPipe(tb testing.TB, path string) {
	tb.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		tb.Fatal(err)
	}
}
