package room

import "testing"

// What Pawl keeps of a project may be shown, where it is by default; the rest of
// ~/.local may not.
func TestStateFolderMayBeShown(t *testing.T) {
	h := Host{home: "/home/u"}
	for path, want := range map[string]bool{
		"/home/u/.local/state/pawl/12ab/git": false,
		"/home/u/.local/state/pawl":          true,
		"/home/u/.local/state/other":         true,
		"/home/u/.local":                     true,
		"/home/u/.ssh":                       true,
		"/home/u":                            true,
	} {
		if got := h.exposes(path); got != want {
			t.Errorf("exposes(%s) = %v", path, got)
		}
	}
}
