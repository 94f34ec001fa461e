package main

import (
	"fmt"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/store/sqlite"
)

// lacksSpace names a folder of a project whose disk has less free space than least, and says how
// much it has. It returns the empty string if there is none. A disk whose free space is not known
// counts as having enough.
func lacksSpace(least pawl.Bytes, p project.Project) string {
	for _, dir := range []string{p.Dir, p.Repo.GitDir} {
		if free, known := sqlite.FreeSpace(dir); known && free < least {
			return fmt.Sprintf("%s has %s free, less than the %s of machine.min_free", dir, free, least)
		}
	}
	return ""
}
