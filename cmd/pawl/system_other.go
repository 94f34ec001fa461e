//go:build unix && !linux

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// unnamed is an empty file that outlives this program and that nobody else can open:
// it has no name any more.
func unnamed() (int, error) {
	f, err := os.CreateTemp("", "pawl-*")
	if err != nil {
		return 0, fmt.Errorf("make a temporary file: %w", err)
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return 0, fmt.Errorf("make a temporary file: %w", err)
	}
	fd, err := unix.Dup(int(f.Fd())) // unlike f, it stays open in the next program
	if err != nil {
		return 0, fmt.Errorf("make a temporary file: %w", err)
	}
	return fd, nil
}
