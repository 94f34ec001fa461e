package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pawl"
)

// consent is the path of the file that exists if commands with this hash are allowed.
func (p Project) consent(commands pawl.Hash) string {
	return filepath.Join(p.Dir, "allowed", "prepare-"+commands.String()+".json")
}

// PrepareAllowed reports whether the user allowed the repository's prepare commands
// with this hash, see [pawl.Settings.PrepareHash].
func (p Project) PrepareAllowed(commands pawl.Hash) (bool, error) {
	_, err := os.Lstat(p.consent(commands))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look whether prepare commands are allowed: %w", err)
	}
	return true, nil
}

// AllowPrepare remembers that the user allowed prepare commands of the repository. The
// file's name decides; its content is for people.
func (p Project) AllowPrepare(hash pawl.Hash, commands []string) error {
	about, err := json.MarshalIndent(map[string][]string{"prepare": commands}, "", "  ")
	name := p.consent(hash)
	if err == nil {
		err = private(filepath.Dir(name))
	}
	if err == nil {
		err = Replace(name, append(about, '\n'))
	}
	if err != nil {
		return fmt.Errorf("remember that prepare commands are allowed: %w", err)
	}
	return nil
}
