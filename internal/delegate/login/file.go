package login

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxSize bounds the size of a login, in bytes.
const maxSize = 1 << 20

// snapshot is a file as it was read.
type snapshot struct {
	data []byte
	info fs.FileInfo
}

// unfit says why what is in a file's place is not read.
type unfit string

func (u unfit) Error() string { return string(u) }

const (
	notRegular unfit = "it is not a regular file"
	tooLarge   unfit = "it is larger than 1 MiB"
)

// readUser reads the user's file.
func readUser(name string) (snapshot, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return snapshot{}, err
	}
	defer f.Close()
	s, err := read(f)
	if err != nil {
		err = fmt.Errorf("read %s: %w", name, err)
	}
	return s, err
}

// readHome reads a file in an agent's home. It never leaves the home, refuses links within it, and does
// not wait for a pipe. If the agent still runs and swaps a link in, that leads only to another file in
// the home, which it could have copied as well.
func readHome(home, within string) (snapshot, error) {
	if info, err := os.Lstat(home); err != nil {
		return snapshot{}, err
	} else if !info.IsDir() {
		return snapshot{}, notRegular // opening a pipe as a folder would wait
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return snapshot{}, err
	}
	defer root.Close()
	for i, c := range within + "/" {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(filepath.FromSlash(within[:i]))
		if err != nil {
			return snapshot{}, err
		}
		if i < len(within) && !info.IsDir() || i == len(within) && !info.Mode().IsRegular() {
			return snapshot{}, notRegular
		}
	}
	f, err := root.OpenFile(filepath.FromSlash(within), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return snapshot{}, err
	}
	defer f.Close()
	return read(f)
}

func read(f *os.File) (snapshot, error) {
	info, err := f.Stat()
	if err != nil {
		return snapshot{}, err
	}
	if !info.Mode().IsRegular() {
		return snapshot{}, notRegular
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = tooLarge
	}
	return snapshot{data, info}, err
}

// resolve returns the absolute path of a file without links. The file need not exist.
func resolve(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		return filepath.Join(dir, filepath.Base(name)), nil
	}
	return name, nil
}

// errOvertaken is the error of replacing a file that has changed since it was read.
var errOvertaken = errors.New("the file has just changed")

// replace puts data in place of a file, or leaves the file as it was. Old is the file as it was read;
// nil means that it does not exist. The new file has the mode of the old one, and the owner if this
// process may set it.
func replace(path string, data []byte, old *snapshot) error {
	removeLeftovers(path)
	next, err := stage(path, data, old)
	if err != nil {
		return err
	}
	defer os.Remove(next) // fails if next was renamed
	// The user's own agent does not know the lock and may have written the file or removed it while
	// the new one was flushed to disk.
	if old != nil {
		now, err := readUser(path)
		if err != nil || !bytes.Equal(now.data, old.data) {
			return errOvertaken
		}
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// stage writes data to a new file beside path and returns its name.
func stage(path string, data []byte, old *snapshot) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+leftover+"*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil && old != nil {
		if err = keepOwner(f, old.info); err == nil {
			err = f.Chmod(old.info.Mode().Perm())
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// leftover is in the name of a file that replaces another one.
const leftover = ".pawl-"

// removeLeftovers removes what a process left that was killed while it replaced a file.
func removeLeftovers(path string) {
	dir, base := filepath.Split(path)
	entries, _ := os.ReadDir(dir) // best effort
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+leftover) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
