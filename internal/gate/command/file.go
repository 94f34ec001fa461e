package command

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"
)

// Limits of report files.
const (
	maxReportFiles = 2_000
	maxReportBytes = 32 << 20 // all files of a gate together
)

// fileWatch tells the report files that a command wrote from those that were
// there before: a report that came with the candidate proves nothing.
type fileWatch struct {
	dir, pattern string
	before       map[string]fs.FileInfo
	err          error
}

// watchFiles looks what is there before the command runs; nil when the gate
// names no file. The pattern is a path relative to dir, or a glob such as
// "**/target/surefire-reports/*.xml".
func watchFiles(dir, pattern string) *fileWatch {
	if pattern == "" {
		return nil
	}
	w := &fileWatch{dir: dir, pattern: pattern, before: map[string]fs.FileInfo{}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		w.err = fmt.Errorf("open the checkout: %w", err)
		return w
	}
	defer root.Close()
	names, err := w.names(root)
	if err != nil {
		w.err = err
		return w
	}
	for _, name := range names {
		if info, err := root.Stat(name); err == nil {
			w.before[name] = info
		}
	}
	return w
}

// names are the files there are now, sorted. A single name is among them
// whether or not the file exists.
func (w *fileWatch) names(root *os.Root) ([]string, error) {
	pattern := filepath.ToSlash(filepath.Clean(w.pattern))
	if !filepath.IsLocal(w.pattern) {
		return nil, fmt.Errorf("the report file %s is not inside the checkout", w.pattern)
	}
	if !strings.ContainsAny(pattern, `*?[{`) {
		return []string{pattern}, nil
	}
	var names []string
	err := doublestar.GlobWalk(root.FS(), pattern, func(path string, _ fs.DirEntry) error {
		if len(names) >= maxReportFiles {
			return fmt.Errorf("more than %d files match %s", maxReportFiles, w.pattern)
		}
		names = append(names, path)
		return nil
	}, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if err != nil {
		return nil, fmt.Errorf("find the report files %s: %w", w.pattern, err)
	}
	sort.Strings(names)
	return names, nil
}

// read returns what the command wrote. Its errors are for people.
func (w *fileWatch) read() ([][]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return nil, fmt.Errorf("open the checkout: %w", err)
	}
	defer root.Close()
	names, err := w.names(root)
	if err != nil {
		return nil, err
	}
	var contents [][]byte
	total, stale := 0, 0
	for _, name := range names {
		content, written, err := w.readOne(root, name)
		if err != nil {
			return nil, err
		}
		if !written {
			if w.before[name] != nil {
				stale++
			}
			continue
		}
		if total += len(content); total > maxReportBytes {
			return nil, fmt.Errorf("the report %s is larger than %d MiB", w.pattern, maxReportBytes>>20)
		}
		contents = append(contents, content)
	}
	switch {
	case len(contents) == 0 && stale > 0:
		return nil, fmt.Errorf("the command did not write %s: what is there was there before", w.pattern)
	case len(contents) == 0:
		return nil, fmt.Errorf("the command did not write %s", w.pattern)
	}
	return contents, nil
}

// readOne reads a file if it was written since. Opening it does not block,
// whatever the command left under its name.
func (w *fileWatch) readOne(root *os.Root, name string) (content []byte, written bool, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if os.IsNotExist(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the report: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("read the report: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("the report %s is not a regular file", name)
	}
	if old := w.before[name]; old != nil && os.SameFile(old, info) && old.ModTime().Equal(info.ModTime()) && old.Size() == info.Size() {
		return nil, false, nil
	}
	content, err = io.ReadAll(io.LimitReader(f, maxReportBytes+1))
	if err != nil {
		return nil, false, fmt.Errorf("read the report: %w", err)
	}
	return content, true, nil
}
