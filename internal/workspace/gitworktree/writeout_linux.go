package gitworktree

import (
	"os"

	"golang.org/x/sys/unix"
)

// writeOut hands what was written to the disk, which may not have stored it when it returns:
// a later Sync of another file of the file system makes the disk do so, as with git's
// core.fsyncMethod=batch.
func writeOut(f *os.File) error {
	return unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
}
