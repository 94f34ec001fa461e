package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
type fileSystem string

func (f fileSystem) path(name string) string {
	return filepath.Join(string(f), filepath.FromSlash(name))
}

// prepare makes the folder and the database file, with modes that keep other
// users out, and removes what an earlier process left half written.
func (f fileSystem) prepare() error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	if err := os.Chmod(string(f), 0o700); err != nil {
		return err
	}
	if err := os.RemoveAll(f.path(tempFolder)); err != nil {
		return err
	}
	// A file that exists is not opened here: closing it would drop the locks
	// that SQLite holds on it elsewhere in this process.
	file, err := os.OpenFile(f.path(fileName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return os.Chmod(f.path(fileName), 0o600)
	}
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := syncFolder(string(f)); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(string(f)))
}

// write makes a file with this content durable, its folders included. It
// replaces a file of this name, which may be damaged.
func (f fileSystem) write(name string, content []byte) error {
	folder := filepath.Dir(f.path(name))
	for _, dir := range []string{folder, f.path(tempFolder)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	temp, err := os.CreateTemp(f.path(tempFolder), "")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
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
	if err := os.Rename(temp.Name(), f.path(name)); err != nil {
		return err
	}
	// Also when the folders were there already: another goroutine may have made
	// them a moment ago.
	for _, dir := range []string{folder, f.path(blobFolder), string(f)} {
		if err := syncFolder(dir); err != nil {
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

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}
