package room

import (
	"fmt"
	"path/filepath"
)

// Layer is a folder that rooms have below what they write. There is no other way to
// one than the functions of this file, of cache.go and of prepared.go: none takes a folder in
// which a command of an agent's or a candidate's room has written.
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
