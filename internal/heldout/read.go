package heldout

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// Limits of a folder of held-out checks.
const (
	MaxFiles   = 2000     // that are used
	MaxBytes   = 16 << 20 // of these files together
	MaxScripts = 100
)

// The files and folders that are used.
const (
	taskFile      = "task.toml"
	overlayFolder = "overlay"
	testsFolder   = "tests"
	testScript    = "test.sh"
)

// scriptName is what the name of a script must be like: it is shown, and part of a path.
var scriptName = pattern.Of(`^[A-Za-z0-9][A-Za-z0-9._-]{0,70}\.sh$`)

// Read reads a folder of checks. It is refused if something in it cannot be used as it is meant; an
// error says what would be right. Symbolic links to files of the folder count as these files.
func Read(dir string) (*Checks, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s: %w", dir, err)
	}
	if len(entries) == 0 {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s is empty: want scripts *.sh, or a Harbor task with %s", dir, taskFile)
	}
	var scripts []string
	harbor := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == taskFile:
			harbor = true
		case strings.HasSuffix(name, ".sh") && !e.IsDir():
			scripts = append(scripts, name)
		}
	}
	r := &reader{root: root}
	switch {
	case harbor && len(scripts) > 0:
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s has both %s and %s: want scripts or a Harbor task, not both", dir, taskFile, scripts[0])
	case harbor:
		return r.harbor()
	case len(scripts) == 0:
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s has no checks: want scripts *.sh, or a Harbor task with %s", dir, taskFile)
	}
	return r.scripts(scripts)
}

// reader reads files of a folder as long as the limits allow it.
type reader struct {
	root  *os.Root
	files int
	bytes int64
}

func (r *reader) scripts(names []string) (*Checks, error) {
	if n := len(names); n > MaxScripts {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s has %d scripts: want at most %d", r.root.Name(), n, MaxScripts)
	}
	c := &Checks{}
	for _, name := range names { // which are sorted
		if !scriptName.MatchString(name) {
			return nil, pawl.Errorf(pawl.CodeInvalid, "the script %q: want a name of letters, digits, dots, - and _ of at most 74 bytes", name)
		}
		file, err := r.file(name, name)
		if err != nil {
			return nil, err
		}
		c.Scripts = append(c.Scripts, file)
	}
	info, err := r.root.Lstat(overlayFolder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err == nil && !info.IsDir():
		return nil, pawl.Errorf(pawl.CodeInvalid, "%s is not a folder", r.path(overlayFolder))
	case err == nil:
		c.Overlay, err = r.folder(overlayFolder)
	}
	for _, f := range c.Overlay {
		if pawl.RefusedName(f.Path) != "" {
			return nil, pawl.Errorf(pawl.CodeInvalid, "%s/%s: nothing can be laid over %s", overlayFolder, f.Path, pawl.RefusedName(f.Path))
		}
	}
	return c, err
}

// folder reads all files below a folder, sorted by path.
func (r *reader) folder(name string) ([]pawl.RoomFile, error) {
	var out []pawl.RoomFile
	err := fs.WalkDir(r.root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := r.file(at, strings.TrimPrefix(at, name+"/"))
		if err == nil {
			out = append(out, file)
		}
		return err
	})
	if _, said := errors.AsType[*pawl.Error](err); err != nil && !said {
		err = pawl.Errorf(pawl.CodeInvalid, "%s: %w", r.root.Name(), err)
	}
	slices.SortFunc(out, func(a, b pawl.RoomFile) int { return strings.Compare(a.Path, b.Path) })
	return out, err
}

// file reads a file of the folder. It has the path to in what is kept.
func (r *reader) file(name, to string) (pawl.RoomFile, error) {
	f := pawl.RoomFile{Path: to}
	// A pipe would wait for somebody to write to it.
	info, err := r.root.Stat(name)
	switch {
	case err != nil:
		return f, r.unreadable(name, err)
	case info.IsDir():
		return f, pawl.Errorf(pawl.CodeInvalid, "%s is a symbolic link to a folder: want files and folders", r.path(name))
	case !info.Mode().IsRegular():
		return f, pawl.Errorf(pawl.CodeInvalid, "%s is not a regular file", r.path(name))
	}
	if r.files++; r.files > MaxFiles {
		return f, pawl.Errorf(pawl.CodeInvalid, "%s has more than %d files: held-out checks can have at most that many", r.root.Name(), MaxFiles)
	}
	in, err := r.root.Open(name)
	if err != nil {
		return f, r.unreadable(name, err)
	}
	defer in.Close()
	if f.Data, err = io.ReadAll(io.LimitReader(in, MaxBytes-r.bytes+1)); err != nil {
		return f, r.unreadable(name, err)
	}
	if r.bytes += int64(len(f.Data)); r.bytes > MaxBytes {
		return f, pawl.Errorf(pawl.CodeInvalid, "%s holds more than %d MiB: held-out checks can have at most that much", r.root.Name(), MaxBytes>>20)
	}
	f.Executable = info.Mode()&0o100 != 0
	return f, nil
}

func (r *reader) path(name string) string { return filepath.Join(r.root.Name(), name) }

func (r *reader) unreadable(name string, err error) error {
	info, lerr := r.root.Lstat(name)
	if lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		target, _ := r.root.Readlink(name)
		why := "which is not there"
		if to := path.Join(path.Dir(name), filepath.ToSlash(target)); path.IsAbs(filepath.ToSlash(target)) || to == ".." || strings.HasPrefix(to, "../") {
			why = "outside of the folder"
		}
		return pawl.Errorf(pawl.CodeInvalid, "%s is a symbolic link to %s, %s: held-out checks are files of their own folder", r.path(name), target, why)
	}
	return pawl.Errorf(pawl.CodeInvalid, "read %s: %w", r.path(name), err)
}
