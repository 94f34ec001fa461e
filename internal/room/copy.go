package room

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/project"
)

// copyLayers fills an upper folder with copies of layers, the strongest first, where
// they cannot be joined. It starts anew unless an earlier call came to its end, so
// that what an agent's room wrote stays.
func (r *Rooms) copyLayers(layers []Layer, upper Upper) error {
	if _, err := os.Stat(upper.Files()); err == nil {
		return nil
	}
	if err := project.RemoveAll(upper.Work()); err != nil {
		return err
	}
	if err := r.mkdir(upper.Work()); err != nil {
		return err
	}
	for i := len(layers) - 1; i >= 0; i-- {
		if err := r.copyTree(layers[i].dir, upper.Work()); err != nil {
			return fmt.Errorf("copy a layer: %w", err)
		}
	}
	if err := os.Rename(upper.Work(), upper.Files()); err != nil {
		return fmt.Errorf("copy a layer: %w", err)
	}
	return nil
}

// copyTree copies what is in a folder into another one. Sockets, pipes and devices
// are left out.
func (r *Rooms) copyTree(from, to string) error {
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
		return r.copyEntry(path, filepath.Join(to, rel), info)
	})
}

func (r *Rooms) copyEntry(from, to string, info fs.FileInfo) error {
	mode := info.Mode()
	if there, err := os.Lstat(to); err == nil && !(mode.IsDir() && there.IsDir()) {
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	var err error
	switch {
	case mode.IsDir():
		if err = os.Mkdir(to, mode.Perm()|0o700); errors.Is(err, fs.ErrExist) {
			return nil
		}
	case mode&fs.ModeSymlink != 0:
		var target string
		if target, err = os.Readlink(from); err == nil {
			err = os.Symlink(target, to)
		}
	case mode.IsRegular():
		if err = copyFile(from, to, mode.Perm()); err == nil {
			err = os.Chtimes(to, info.ModTime(), info.ModTime())
		}
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return r.own(to)
}

// copyInto copies what is in a folder into one that an agent wrote to. What that has already
// stays, and nothing outside is touched, wherever links lead. Sockets, pipes and devices are
// left out.
func (r *Rooms) copyInto(dir, from string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	owner := r.Owner()
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		to, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		there, err := root.Lstat(to)
		if err == nil && d.IsDir() && there.IsDir() {
			return nil
		}
		switch {
		case err == nil && d.IsDir():
			return fs.SkipDir
		case err == nil:
			return nil
		case d.IsDir():
			err = root.Mkdir(to, info.Mode().Perm()|0o700)
		case d.Type()&fs.ModeSymlink != 0:
			var target string
			if target, err = os.Readlink(path); err == nil {
				err = root.Symlink(target, to)
			}
		case !d.Type().IsRegular():
			return nil
		default:
			var out *os.File
			if out, err = root.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()); err == nil {
				err = errors.Join(fill(out, path), root.Chtimes(to, info.ModTime(), info.ModTime()))
			}
		}
		if err == nil && owner != (pawl.Owner{}) {
			err = root.Lchown(to, owner.UID, owner.GID)
		}
		return err
	})
}

// copyFile copies a file's content, or shares its blocks where the file system can.
func copyFile(from, to string, perm fs.FileMode) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	return fill(out, from)
}

// fill gives a new file the content of another one and closes it.
func fill(out *os.File, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	defer in.Close()
	if err = shareBlocks(in, out); err != nil {
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, out.Close())
}

// Mechanism says in a few words how layers in a folder are joined: by overlayfs, or else
// by copies, which share blocks where the file system can do that.
func Mechanism(e Enforcer, dir string) string {
	switch {
	case e.Mounts() && e.Overlay(dir):
		return "overlayfs"
	case sharesBlocks(dir):
		return "copies that share blocks"
	}
	return "copies"
}

// sharesBlocks reports whether files in a folder can share blocks.
func sharesBlocks(dir string) bool {
	from, err := os.CreateTemp(dir, "try-")
	if err != nil {
		return false
	}
	defer os.Remove(from.Name())
	defer from.Close()
	to, err := os.CreateTemp(dir, "try-")
	if err != nil {
		return false
	}
	defer os.Remove(to.Name())
	defer to.Close()
	return shareBlocks(from, to) == nil
}
