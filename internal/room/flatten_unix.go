//go:build unix

package room

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// flatten makes one layer of many, the strongest first. Files are linked, not copied:
// layers never change.
func flatten(layers []Layer, to string) error {
	for i := len(layers) - 1; i >= 0; i-- {
		if err := lay(layers[i].dir, to); err != nil {
			return fmt.Errorf("join layers: %w", err)
		}
	}
	return nil
}

// lay puts a layer over what is in a folder, as overlayfs shows it: a device 0/0
// hides what has its name, and an opaque folder what is below it.
func lay(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch {
		case info.IsDir():
			return layFolder(path, at, info)
		case isWhiteout(info):
			return os.RemoveAll(at)
		}
		if err := os.RemoveAll(at); err != nil {
			return err
		}
		return os.Link(path, at)
	})
}

// layFolder makes a folder with the owner and mode of another one.
func layFolder(from, at string, info fs.FileInfo) error {
	there, err := os.Lstat(at)
	if err == nil && (!there.IsDir() || isOpaque(from)) {
		if err := os.RemoveAll(at); err != nil {
			return err
		}
	}
	if err := os.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.ErrUnsupported
	}
	return errors.Join(os.Lchown(at, int(stat.Uid), int(stat.Gid)), os.Chmod(at, info.Mode().Perm()|0o700))
}

// isWhiteout reports whether overlayfs left a file to hide another one.
func isWhiteout(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && stat.Rdev == 0
}

// isOpaque reports whether a folder of a layer hides what is below it. Which
// attribute says so depends on who mounted the overlay.
func isOpaque(dir string) bool {
	var value [1]byte
	for _, name := range []string{"trusted.overlay.opaque", "user.overlay.opaque"} {
		if n, err := unix.Lgetxattr(dir, name, value[:]); err == nil && n == 1 && value[0] == 'y' {
			return true
		}
	}
	return false
}
