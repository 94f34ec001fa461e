package ecosystem

import (
	"io/fs"

	"pawl"
)

// Updates lists how to update the lock files of a repository. Parts without lock
// files have none to update.
func Updates(dir fs.FS) []pawl.LockUpdate {
	found, _ := look(dir)
	var all []pawl.LockUpdate
	for _, p := range found {
		if p.update == nil {
			continue
		}
		if line := p.update(p.in); line != "" {
			all = append(all, pawl.LockUpdate{Folder: p.in.path, Ecosystem: p.name, Command: p.in.command(line), Files: p.locks})
		}
	}
	return all
}
