package room

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Program returns the file that commands in rooms run by a name; empty when they find none,
// even if the user would.
func (h Host) Program(name string) string { return find(name, h.path(), h.programs()) }

// find looks a program up in the folders of path, as far as they are shown.
func find(name string, path, shown []string) string {
	for _, folder := range path {
		file := filepath.Join(folder, name)
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if inSystem(folder) || slices.ContainsFunc(shown, func(s string) bool { return contains(s, folder) }) {
			return file
		}
	}
	return ""
}

// Programs implements [pawl.Rooms].
func (r *Rooms) Programs(ctx context.Context, names []string) []string {
	host := r.o.Host(ctx)
	path, shown := host.path(), host.programs()
	var lines []string
	for _, name := range names {
		file, err := filepath.EvalSymlinks(find(name, path, shown))
		if err != nil {
			continue
		}
		if info, err := os.Stat(file); err == nil {
			lines = append(lines, fmt.Sprintf("%s %s %d %d", name, file, info.Size(), info.ModTime().UnixNano()))
		}
	}
	return lines
}
