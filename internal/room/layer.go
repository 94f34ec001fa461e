package room

import (
	"fmt"
	"path/filepath"

	"pawl/internal/project"
)

// Layer is a folder that rooms have below what they write. There is no other way to
// one than this file's functions: none takes a folder in which a command of an
// agent's or a candidate's room has written.
type Layer struct{ dir string }

// Dir is the layer's folder.
func (l Layer) Dir() string { return l.dir }

// clean names the folders of the state folder in which only our git, and no room, writes:
// the files of commits.
var clean = []string{"checkouts", "trees"}

// checkout returns a clean checkout as a layer. Our git made it, from a commit.
func (r *Rooms) checkout(dir string) (Layer, error) {
	for _, name := range clean {
		if at := filepath.Join(r.o.State, name); filepath.Clean(dir) != at && contains(at, filepath.Clean(dir)) {
			return Layer{dir}, nil
		}
	}
	return Layer{}, fmt.Errorf("%s is not a clean checkout of this project", dir)
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
func (c *candidate) Remove() error { return project.RemoveAll(c.dir) }

// part is one of a candidate's layers: "work", "home" or "cache". It refuses rooms
// that the candidate is not of.
func (c *candidate) part(name string, run, commit string) (Layer, error) {
	if c.run != run || c.commit != commit {
		return Layer{}, fmt.Errorf("what was prepared for commit %s of run %s is not for commit %s of run %s", c.commit, c.run, commit, run)
	}
	return Layer{filepath.Join(c.dir, name, "upper")}, nil
}
