package room

import (
	"os"
	"path/filepath"
	"slices"
)

// Program is the file that commands in rooms run by a name; empty when they find
// none, though the user may.
func (h Host) Program(name string) string {
	shown := h.programs()
	for _, folder := range h.path() {
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
