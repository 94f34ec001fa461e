package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pawl"
)

// leftover is what a file that is being written is called beside its place,
// where the temporary folder is on another file system. The next write into
// the same folder takes it away, should a call have been killed.
const leftover = ".pawl-write"

// newFileMode is the mode of files that did not exist.
const newFileMode = 0o644

// place is where a file is to be written.
type place struct {
	path   string   // relative to the worktree
	parent *os.Root // the folder, in which no link was followed to get there
	name   string   // the file's name in it
	info   fs.FileInfo
	owner  pawl.Owner
}

func (p *place) close() { _ = p.parent.Close() }

// writePath cleans a path to write to, or says why it may not be written. It
// depends on nothing but the path.
func writePath(path string) (string, error) {
	switch {
	case path == "":
		return "", refuse("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", refuse("the path %q has a NUL byte", path)
	case filepath.IsAbs(path):
		return "", refuse("%s is absolute; give the path relative to the worktree", printable(path))
	case strings.HasSuffix(path, "/"):
		return "", refuse("%s names a folder; folders are made with the files in them", printable(path))
	}
	rel := filepath.Clean(path)
	if !filepath.IsLocal(rel) {
		return "", refuse("%s leads out of the worktree", printable(path))
	}
	if rel == "." {
		return "", refuse("%s is the worktree itself, not a file", printable(path))
	}
	first, _, _ := strings.Cut(rel, "/")
	own := strings.EqualFold(strings.TrimRight(first, ". "), ".pawl") || slices.Contains(strings.Split(rel, "/"), leftover)
	switch part := pawl.RefusedName(rel); {
	case own:
		return "", refuse("%s may not be written: it belongs to the harness", printable(path))
	case strings.EqualFold(part, ".git"):
		return "", refuse("%s may not be written: %s belongs to the harness", printable(path), printable(part))
	case part != "":
		return "", refuse("%s may not be written: git refuses the name %s, which other systems take for .git", printable(path), printable(part))
	}
	return rel, nil
}

// place finds where to write, and makes the folders above it when asked to. No
// part of the path may be a link: then the path alone tells which file is meant.
func (w *worktree) place(path string, makeFolders bool) (*place, error) {
	if rel, ok := w.inside(filepath.Clean(path)); ok {
		return nil, refuse("give the path relative to the worktree: %s", printable(rel))
	}
	rel, err := writePath(path)
	if err != nil {
		return nil, err
	}
	parent, err := w.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(rel, "/")
	for i, part := range parts[:len(parts)-1] {
		next, err := w.enter(parent, part, strings.Join(parts[:i+1], "/"), makeFolders)
		_ = parent.Close()
		if err != nil {
			return nil, err
		}
		parent = next
	}
	p := &place{path: rel, parent: parent, name: parts[len(parts)-1], owner: w.owner}
	p.info, err = parent.Lstat(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = writableKind(parent, p.name, rel, p.info)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// enter opens a folder of a folder, and makes sure that it is the one it looked
// at: a link that took its place meanwhile is not followed.
func (w *worktree) enter(parent *os.Root, name, path string, make bool) (*os.Root, error) {
	before, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && make {
		if err = parent.Mkdir(name, 0o755); err == nil && w.owner != (pawl.Owner{}) {
			err = parent.Lchown(name, w.owner.UID, w.owner.GID)
		}
		if err == nil || errors.Is(err, fs.ErrExist) {
			before, err = parent.Lstat(name)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse("%s does not exist", printable(path))
	case err != nil:
		return nil, err
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, linkError(parent, name, path)
	case !before.IsDir():
		return nil, refuse("%s is a file, not a folder", printable(path))
	}
	root, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := root.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		_ = root.Close()
		return nil, refuse("%s was changed while it was opened", printable(path))
	}
	return root, nil
}

// writableKind refuses what is there and is no file to replace.
func writableKind(parent *os.Root, name, path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return linkError(parent, name, path)
	case mode.IsDir():
		return refuse("%s is a folder", printable(path))
	case !mode.IsRegular():
		return refuse("%s is not a regular file", printable(path))
	}
	return nil
}

func linkError(parent *os.Root, name, path string) error {
	target, err := parent.Readlink(name)
	if err != nil {
		target = "somewhere"
	}
	return refuse("%s is a symbolic link to %s; use the path of what is meant", printable(path), printable(target))
}

// read returns the content of the file at the place.
func (p *place) read() ([]byte, error) {
	f, err := p.parent.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, lookError(p.path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, p.info) {
		return nil, refuse("%s was changed while it was opened", printable(p.path))
	}
	if info.Size() > maxFile {
		return nil, tooLarge(p.path, info.Size())
	}
	content := make([]byte, info.Size())
	n, err := f.ReadAt(content, 0)
	if n < len(content) {
		return nil, fmt.Errorf("read %s: %w", p.path, err)
	}
	return content, nil
}

// put replaces the file by a new one with this content: at any moment there is
// the old or the new one, whole. It is not synced: after a power cut the
// worktree is compared with what the log says of it, and reset.
func (p *place) put(temp, content string) error {
	mode := fs.FileMode(newFileMode)
	if p.info != nil {
		mode = p.info.Mode().Perm()
	}
	if temp != "" {
		err := p.putFrom(temp, content, mode)
		if !errors.Is(err, syscall.EXDEV) {
			return err
		}
	}
	if err := p.parent.Remove(leftover); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := p.parent.OpenFile(leftover, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = p.fill(f, content, mode)
	if err == nil {
		err = p.parent.Rename(leftover, p.name)
	}
	if err != nil {
		return errors.Join(err, p.parent.Remove(leftover))
	}
	return nil
}

// putFrom writes in the temporary folder, which nobody takes for a part of the
// worktree, and moves the file in.
func (p *place) putFrom(temp, content string, mode fs.FileMode) error {
	f, err := os.CreateTemp(temp, "write-*")
	if err != nil {
		return pawl.Errorf(pawl.CodeUnavailable, "write in the temporary folder: %w", err)
	}
	if err = p.fill(f, content, mode); err == nil {
		err = p.moveIn(f.Name())
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// fill writes a new file and closes it.
func (p *place) fill(f *os.File, content string, mode fs.FileMode) error {
	_, err := f.WriteString(content)
	if p.owner != (pawl.Owner{}) {
		err = errors.Join(err, f.Chown(p.owner.UID, p.owner.GID))
	}
	return errors.Join(err, f.Chmod(mode), f.Close())
}
