package ecosystem

import "io/fs"

// Update is how a part's lock files are brought up to date after its manifest was
// edited. It needs the registries.
type Update struct {
	Folder    string `json:"folder"` // slash-separated; [Root] is the root
	Ecosystem string `json:"ecosystem"`
	Command   string `json:"command"` // a shell line, run at the root of the repository
	// Files are the base names of the files that the command changes, in the folder or
	// below it; patterns of [path.Match].
	Files []string `json:"files"`
}

// Updates lists how to update the lock files of a repository. Parts without lock
// files have none to update.
func Updates(dir fs.FS) []Update {
	found, _ := look(dir)
	var all []Update
	for _, p := range found {
		if p.update == nil {
			continue
		}
		if line := p.update(p.in); line != "" {
			all = append(all, Update{Folder: p.in.path, Ecosystem: p.name, Command: p.in.command(line), Files: p.locks})
		}
	}
	return all
}
