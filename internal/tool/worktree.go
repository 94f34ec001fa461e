package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"pawl"
)

// refused is what the model did wrong, told to it as the result of its call.
type refused string

func (r refused) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refused(fmt.Sprintf(format, args...)) }

// decode reads arguments. They have been checked against the tool's schema as a
// rule; a tool that is called without it says so itself.
func decode[T any](args json.RawMessage) (T, error) {
	var into T
	if len(args) == 0 {
		return into, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(args)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&into); err != nil {
		return into, refuse("the arguments do not fit: %v", err)
	}
	return into, nil
}

// answer makes a tool's answer of its text or its error: what the model can mend
// is a result, what the machine did is an error.
func answer(name, text string, err error) (pawl.ToolResult, error) {
	if err == nil {
		return pawl.ToolResult{Text: strings.ToValidUTF8(text, "\uFFFD")}, nil
	}
	if machineFault(err) {
		return pawl.ToolResult{}, fmt.Errorf("%s: %w", name, err)
	}
	return pawl.ToolResult{Text: strings.ToValidUTF8(err.Error(), "\uFFFD"), IsError: true}, nil
}

// machineFault reports whether an error is none the model could act on.
func machineFault(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EROFS} {
		if errors.Is(err, no) {
			return true
		}
	}
	_, told := errors.AsType[refused](err)
	_, path := errors.AsType[*fs.PathError](err)
	_, ours := errors.AsType[*pawl.Error](err) // the worktree or the temporary folder is gone
	return ours || !told && !path
}

// worktree is the folder a call may touch.
type worktree struct {
	dir      string
	root     *os.Root
	owner    pawl.Owner
	prepared []string // see [pawl.ToolEnv]
}

func openWorktree(env pawl.ToolEnv) (*worktree, error) {
	root, err := os.OpenRoot(env.Dir)
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "open the worktree: %w", err)
	}
	return &worktree{dir: env.Dir, root: root, owner: env.Owner, prepared: env.Prepared}, nil
}

func (w *worktree) close() { _ = w.root.Close() }

// relative is a path to look at, relative to the worktree. The model may give
// an absolute one that lies in it.
func (w *worktree) relative(path string) (string, error) {
	if path == "" {
		return ".", nil
	}
	if strings.ContainsRune(path, 0) {
		return "", refuse("the path %q has a NUL byte", path)
	}
	rel := filepath.Clean(path)
	if filepath.IsAbs(rel) {
		inside, ok := w.inside(rel)
		if !ok {
			return "", refuse("%s is outside the worktree; paths are relative to it", printable(path))
		}
		rel = inside
	}
	if !filepath.IsLocal(rel) {
		return "", refuse("%s leads out of the worktree", printable(path))
	}
	return rel, nil
}

// inside makes an absolute path relative to the worktree, when it lies in it.
func (w *worktree) inside(path string) (string, bool) {
	dirs := []string{filepath.Clean(w.dir)}
	if real, err := filepath.EvalSymlinks(w.dir); err == nil {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		if path == dir {
			return ".", true
		}
		if rel, ok := strings.CutPrefix(path, dir+"/"); ok {
			return rel, true
		}
	}
	return "", false
}

// stat finds what a path is, links inside the worktree followed.
func (w *worktree) stat(rel string) (fs.FileInfo, error) {
	info, err := w.root.Stat(rel)
	if err != nil {
		return nil, lookError(rel, err)
	}
	return info, nil
}

// open opens a regular file to read. A FIFO is not waited for, a device not read.
func (w *worktree) open(rel string) (*os.File, fs.FileInfo, error) {
	f, err := w.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, lookError(rel, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = refuse("%s is a folder, not a file; list shows what is in it", printable(rel))
	case !info.Mode().IsRegular():
		err = refuse("%s is not a regular file", printable(rel))
	default:
		return f, info, nil
	}
	_ = f.Close()
	return nil, nil, err
}

// lookError puts the usual reasons into words.
func lookError(rel string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("%s does not exist", printable(rel))
	case errors.Is(err, fs.ErrPermission):
		return refuse("%s may not be read", printable(rel))
	case errors.Is(err, syscall.ENOTDIR):
		return refuse("%s does not exist: a part of its path is a file", printable(rel))
	case errors.Is(err, syscall.ENXIO):
		return refuse("%s is not a regular file", printable(rel))
	case machineFault(err):
		return err
	}
	// What remains is mostly a link that leads out of the worktree.
	var path *fs.PathError
	if errors.As(err, &path) {
		return refuse("%s cannot be opened: %v", printable(rel), path.Err)
	}
	return err
}

// printable is a path for one line of text: quoted when it holds anything that
// could be mistaken for something else.
func printable(path string) string {
	for _, r := range path {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return strconv.Quote(path)
		}
	}
	return path
}
