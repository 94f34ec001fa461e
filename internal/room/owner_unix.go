//go:build unix

package room

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"pawl"
	"pawl/internal/project"
)

// handOver gives what commands wrote as another user to the user that they run as now, who
// could neither change nor remove it otherwise. Nothing of the project may be mounted. The
// file owner holds the number of that user.
func (r *Rooms) handOver() error {
	owner := r.Owner()
	if owner == (pawl.Owner{}) {
		return nil
	}
	marker, uid := filepath.Join(r.o.State, "owner"), strconv.Itoa(owner.UID)
	if last, err := os.ReadFile(marker); err == nil && string(last) == uid {
		return nil
	}
	for _, folder := range []string{"cache", "layered", "layers", "rooms", "trees", "worktrees"} {
		if err := giveAll(filepath.Join(r.o.State, folder), owner); err != nil {
			return fmt.Errorf("give %s to user %d: %w", folder, owner.UID, err)
		}
	}
	if err := os.WriteFile(marker, []byte(uid), 0o600); err != nil {
		return fmt.Errorf("note who commands run as: %w", err)
	}
	return nil
}

// giveAll gives everything in a folder that is another user's, and not root's, to an
// owner. It follows no link out of the folder.
func giveAll(folder string, owner pawl.Owner) error {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return project.Walk(root, ".", func(path string, info fs.FileInfo) error {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && (stat.Uid == 0 || int(stat.Uid) == owner.UID) {
			return nil
		}
		return root.Lchown(path, owner.UID, owner.GID)
	})
}
