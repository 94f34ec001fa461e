//go:build unix

package tool

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// moveIn renames a file to the place. The place's name is a single one and
// its folder is open, so nothing can lead elsewhere.
func (p *place) moveIn(from string) error {
	folder, err := p.parent.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := unix.Renameat(unix.AT_FDCWD, from, int(folder.Fd()), p.name); err != nil {
		return &fs.PathError{Op: "write", Path: p.path, Err: err}
	}
	return nil
}
