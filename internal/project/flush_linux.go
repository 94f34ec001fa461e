package gitworktree

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes what was written to the file system of a folder survive a power cut.
func syncAll(folder string) error {
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
