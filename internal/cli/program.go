package cli

import (
	"os"
	"path/filepath"
)

// Program returns the path of a program that the user has installed, by their PATH; empty if there is
// none. Folders of PATH that are not absolute are left out.
func (a *App) Program(name string) string {
	if filepath.IsAbs(name) {
		return executable(name)
	}
	if name != filepath.Base(name) {
		return ""
	}
	for _, folder := range filepath.SplitList(a.Getenv("PATH")) {
		if filepath.IsAbs(folder) {
			if file := executable(filepath.Join(folder, name)); file != "" {
				return file
			}
		}
	}
	return ""
}

func executable(file string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	return file
}
