package gitworktree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writeFile replaces a file by one that has the content, or leaves it as it was.
func writeFile(path string, content []byte) error { return replaceFile(path, content, true) }

// replaceFile is writeFile for a file that need not survive a power cut, too.
func replaceFile(path string, content []byte, durable bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil && durable {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// writeIfOther writes a file unless it is a plain file that has the content.
func writeIfOther(path, content string) error {
	if readPlain(path) == content {
		return nil
	}
	return writeFile(path, []byte(content))
}

// readPlain is the content of a small plain file, and empty for anything else:
// it does not follow symbolic links and does not wait for a pipe.
func readPlain(path string) string { return readUpTo(path, 1<<16) }

// readUpTo is readPlain of a file that may have so many bytes.
func readUpTo(path string, limit int64) string {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return ""
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(content)
}

// copyIfAny makes a small file equal to another: absent when that is absent.
func copyIfAny(from, to string) error {
	content, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.Remove(to); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return writeIfOther(to, string(content))
}

// copyIndex copies an index file. The copy keeps its time: git compares the times
// of files with it to know which of them it must read again.
func copyIndex(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(to), ".index-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(0o644)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := os.Chtimes(out.Name(), info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}

// removeAll is [os.RemoveAll] that makes folders writable first where it must.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if errors.Is(err, fs.ErrPermission) {
		openUp(path)
		err = os.RemoveAll(path)
	}
	return err
}

// openUp makes every folder below path readable and writable for its owner, and
// every file readable. Symbolic links are not followed.
func openUp(path string) {
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if d == nil || err != nil {
			return nil //nolint:nilerr // it stays closed: the caller's next try says so
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // the same
		}
		mode := info.Mode()
		switch {
		case mode.IsDir() && mode&0o700 != 0o700:
			_ = os.Chmod(path, mode|0o700)
		case mode.IsRegular() && mode&0o400 == 0:
			_ = os.Chmod(path, mode|0o400)
		}
		return nil
	})
}

// moveAway moves a file or folder into a new folder below parent and returns
// where it is now.
func moveAway(path, parent, prefix string) (string, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp(parent, prefix+"-*")
	if err != nil {
		return "", err
	}
	moved := filepath.Join(folder, filepath.Base(path))
	if err = os.Rename(path, moved); errors.Is(err, fs.ErrPermission) {
		openUp(path) // a folder must be writable to be moved
		err = os.Rename(path, moved)
	}
	if err != nil {
		_ = os.Remove(folder)
		return "", fmt.Errorf("move %s aside: %w", path, err)
	}
	return moved, nil
}
