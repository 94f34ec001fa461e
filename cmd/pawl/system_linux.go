package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// unnamed is an empty file in memory that outlives this program.
func unnamed() (int, error) {
	fd, err := unix.MemfdCreate("pawl", 0)
	if err != nil {
		return 0, fmt.Errorf("make room in memory: %w", err)
	}
	return fd, nil
}
