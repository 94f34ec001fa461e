package main

import (
	"fmt"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/store/sqlite"
)

// lacksSpace says which folder of a project is on a disk with less space than anything of its
// runs needs to begin; empty = none. What is not known of a disk is taken for enough.
func lacksSpace(least pawl.Bytes, p project.Project) string {
	for _, dir := range []string{p.Dir, p.Repo.GitDir} {
		if free, known := sqlite.FreeSpace(dir); known && free < least {
			return fmt.Sprintf("%s has %s free, less than the %s of machine.min_free", dir, free, least)
		}
	}
	return ""
}
