package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

const (
	fileName   = "pawl.db"
	blobFolder = "blobs"
	// tempFolder holds files that are being written; what is there when a log is
	// opened was left behind by a crash.
	tempFolder = blobFolder + "/tmp"
)

var errOtherSize = errors.New("the file has another size than the log says")

// fileSystem is the log's folder. Names below it have slashes.
type fileSystem struct {
	dir  string
	disk disk
}

// disk creates, renames and removes files and folders. Every call that a power cut
// could undo goes through it, so that tests can lose what was not synced.
type disk interface {
	MkdirAll(path string, mode os.FileMode) error
	OpenFile(path string, flag int, mode os.FileMode) (file, error)
	CreateTemp(folder, pattern string) (file, error)
	Rename(from, to string) error
	Remove(path string) error
	RemoveAll(path string) error
}

// file is an open file or folder of a [disk].
type file interface {
	io.Writer
	io.Closer
	Name() string
	Sync() error
}

// osDisk is the disk of the operating system.
type osDisk struct{}

func (osDisk) MkdirAll(path string, mode os.FileMode) error { return os.MkdirAll(path, mode) }
func (osDisk) Rename(from, to string) error                 { return os.Rename(from, to) }
func (osDisk) Remove(path string) error                     { return os.Remove(path) }
func (osDisk) RemoveAll(path string) error                  { return os.RemoveAll(path) }

func (osDisk) OpenFile(path string, flag int, mode os.FileMode) (file, error) {
	return os.OpenFile(path, flag, mode)
}

func (osDisk) CreateTemp(folder, pattern string) (file, error) {
	return os.CreateTemp(folder, pattern)
}

func (f fileSystem) path(name string) string {
	return filepath.Join(f.dir, filepath.FromSlash(name))
}

// prepare makes the folder and the database file, with modes that keep other
// users out, and removes what an earlier process left half written.
func (f fileSystem) prepare() error {
	if err := f.disk.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(f.dir, 0o700); err != nil {
		return err
	}
	if err := f.disk.RemoveAll(f.path(tempFolder)); err != nil {
		return err
	}
	name := f.path(fileName)
	// A file that exists is not opened here: closing it would drop the locks
	// that SQLite holds on it elsewhere in this process.
	file, err := f.disk.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case err == nil:
		err = file.Close()
	case errors.Is(err, os.ErrExist):
		err = os.Chmod(name, 0o600)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() > 0 {
		return err
	}
	return f.syncAncestors()
}

// syncAncestors syncs the folder and all folders above it. Any of them may be new:
// this process may have created it, or an earlier one that was killed before it
// synced it. It runs only while the database is still empty.
func (f fileSystem) syncAncestors() error {
	for path := f.dir; ; {
		err := f.syncFolder(path)
		if path != f.dir && cannotSync(err) {
			err = nil
		}
		parent := filepath.Dir(path)
		if err != nil || parent == path {
			return err
		}
		path = parent
	}
}

// cannotSync reports whether err means that a folder cannot be synced by this user or
// by anybody. Pawl did not create such a folder, so its entry needs no sync.
func cannotSync(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, errors.ErrUnsupported) ||
		errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EROFS)
}

// write makes a file with this content durable, its folders included. It
// replaces a file of this name, which may be damaged.
func (f fileSystem) write(name string, content []byte) error {
	folder := filepath.Dir(f.path(name))
	for _, dir := range []string{folder, f.path(tempFolder)} {
		if err := f.disk.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	temp, err := f.disk.CreateTemp(f.path(tempFolder), "")
	if err != nil {
		return err
	}
	defer f.disk.Remove(temp.Name())
	defer temp.Close()
	if _, err := temp.Write(content); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := f.disk.Rename(temp.Name(), f.path(name)); err != nil {
		return err
	}
	// Also when the folders were there already: another goroutine may have made
	// them a moment ago.
	for _, dir := range []string{folder, f.path(blobFolder), f.dir} {
		if err := f.syncFolder(dir); err != nil {
			return err
		}
	}
	return nil
}

// read reads a file that must have this size.
func (f fileSystem) read(name string, size int64) ([]byte, error) {
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != size {
		return nil, errOtherSize
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(file, content); err != nil {
		return nil, err
	}
	return content, nil
}

func (f fileSystem) syncFolder(path string) error {
	folder, err := f.disk.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}
