package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystem is the kind of file system a folder is on, and whether it is on
// another machine.
func fileSystem(dir string) (kind string, remote bool, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", false, fmt.Errorf("look at the file system: %w", err)
	}
	switch magic := uint32(s.Type); magic { //nolint:gosec // the magic numbers are 32 bits wide
	case unix.NFS_SUPER_MAGIC:
		return "NFS", true, nil
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB", true, nil
	case unix.V9FS_MAGIC:
		return "9P, a share of the host", true, nil
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS", true, nil
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph", true, nil
	case unix.FUSE_SUPER_MAGIC:
		return "FUSE, which may be remote", false, nil
	case unix.EXT4_SUPER_MAGIC:
		return "ext4", false, nil
	case unix.XFS_SUPER_MAGIC:
		return "XFS", false, nil
	case unix.BTRFS_SUPER_MAGIC:
		return "Btrfs", false, nil
	case unix.F2FS_SUPER_MAGIC:
		return "F2FS", false, nil
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs", false, nil
	case unix.TMPFS_MAGIC:
		return "tmpfs, which is gone when the machine restarts", false, nil
	default:
		return fmt.Sprintf("a file system of type %#x", magic), false, nil
	}
}
