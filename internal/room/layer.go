package room

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl"
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

// over makes a layer of files that whoever opens a room gives to it.
func (r *Rooms) over(dir string, files []pawl.RoomFile) (Layer, error) {
	return Layer{dir}, r.lay(dir, files)
}

// lay writes files into a new folder of a room.
func (r *Rooms) lay(dir string, files []pawl.RoomFile) error {
	if err := r.mkdir(dir); err != nil {
		return err
	}
	for _, f := range files {
		name := filepath.FromSlash(f.Path)
		if !filepath.IsLocal(name) || filepath.Clean(name) != name || name == "." {
			return pawl.Errorf(pawl.CodeInvalid, "%q is not the path of a file in a folder", f.Path)
		}
		at := dir
		parts := strings.Split(name, string(filepath.Separator))
		for _, part := range parts[:len(parts)-1] {
			at = filepath.Join(at, part)
			if err := r.mkdir(at); err != nil {
				return err
			}
		}
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		at = filepath.Join(dir, name)
		if err := os.WriteFile(at, f.Data, mode); err != nil {
			return fmt.Errorf("make a room: %w", err)
		}
		if err := errors.Join(os.Chmod(at, mode), r.own(at)); err != nil {
			return fmt.Errorf("make a room: %w", err)
		}
	}
	return nil
}

// empty is the layer below a room's own folders when there is nothing else.
func (r *Rooms) empty() (Layer, error) {
	dir := filepath.Join(r.layers(), "empty")
	return Layer{dir}, r.mkdir(dir)
}
