package room

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Layer is a folder that rooms have below what they write. There is no other way to
// one than this file's functions: none takes a folder in which a command of an
// agent's or a candidate's room has written.
type Layer struct{ dir string }

// Dir is the layer's folder.
func (l Layer) Dir() string { return l.dir }

// checkout is the layer that a clean checkout is. Our git made it, from a commit, in
// a folder that no room writes to.
func (r *Rooms) checkout(dir string) (Layer, error) {
	rel, err := filepath.Rel(r.o.State, dir)
	if err != nil || !filepath.IsLocal(rel) || contains(r.folder(), dir) {
		return Layer{}, fmt.Errorf("%s is not a clean checkout of this project", dir)
	}
	return Layer{dir}, nil
}

// empty is the layer below a room's own folders when there is nothing else.
func (r *Rooms) empty() (Layer, error) {
	dir := filepath.Join(r.layers(), "empty")
	return Layer{dir}, r.mkdir(dir)
}

// candidate is what a prepare room left. It is a layer of rooms of the same run and
// commit alone, and never part of the trusted cache: what was prepared may come from
// code that a model wrote.
type candidate struct {
	rooms  *Rooms
	run    string
	commit string
	dir    string
}

// Remove implements [pawl.Prepared].
func (c *candidate) Remove() error { return removeAll(c.dir) }

// part is one of a candidate's layers: "work", "home" or "cache". It refuses rooms
// that the candidate is not of.
func (c *candidate) part(name string, run, commit string) (Layer, error) {
	if c.run != run || c.commit != commit {
		return Layer{}, fmt.Errorf("what was prepared for commit %s of run %s is not for commit %s of run %s", c.commit, c.run, commit, run)
	}
	return Layer{filepath.Join(c.dir, name, "upper")}, nil
}

// removeAll removes a folder in which commands may have left anything: nothing
// outside is touched, wherever links lead, and folders without permissions go too.
func removeAll(dir string) error {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove a room: %w", err)
	}
	defer root.Close()
	name := filepath.Base(dir)
	err = root.RemoveAll(name)
	if errors.Is(err, fs.ErrPermission) {
		openAll(root, name)
		err = root.RemoveAll(name)
	}
	if err != nil {
		return fmt.Errorf("remove a room: %w", err)
	}
	return nil
}

// openAll makes every folder below name one whose content can be removed, as far
// as it can.
func openAll(root *os.Root, name string) {
	_ = fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case d == nil || !d.IsDir():
		case err != nil: // it could not be read all the same
			return fs.SkipDir
		default:
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
}
