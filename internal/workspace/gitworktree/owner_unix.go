//go:build unix

package gitworktree

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"pawl"
	"pawl/internal/project"
)

// isOwned reports whether a folder belongs to an owner already.
func isOwned(dir string, owner pawl.Owner) bool {
	info, err := os.Lstat(dir)
	return owner == (pawl.Owner{}) || err == nil && belongs(info, owner)
}

func belongs(info fs.FileInfo, owner pawl.Owner) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == owner.UID && int(stat.Gid) == owner.GID
}

// giveAll gives a folder and what is in it to an owner, the folder itself last: that
// it belongs to them says that all is done. It does not leave the folder, wherever
// links lead.
func giveAll(dir string, owner pawl.Owner) error {
	if owner == (pawl.Owner{}) {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	err = project.Walk(root, ".", func(path string, info fs.FileInfo) error {
		if belongs(info, owner) {
			return nil
		}
		return root.Lchown(path, owner.UID, owner.GID)
	})
	if err == nil {
		err = os.Lchown(dir, owner.UID, owner.GID)
	}
	if err != nil {
		return fmt.Errorf("give %s to user %d: %w", dir, owner.UID, err)
	}
	return nil
}
