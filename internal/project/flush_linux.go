package project

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Flush makes everything written to the file system of a folder survive a power cut.
func Flush(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("flush %s: %w", folder, err)
	}
	return nil
}
