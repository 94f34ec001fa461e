package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readable is what may be done everywhere.
const readable = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

// writableFile is what may be done with a file in addition to reading, and
// writableFolder with what is in a folder. Devices cannot be made anywhere.
const (
	writableFile   = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	writableFolder = writableFile | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO
	makeDevice = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	device     = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// devices may be written wherever they exist. Terminals are among them: which of
// them there are is the mount namespace's business, and what could type into one
// the seccomp filter denies.
var devices = [...]string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
}

// ABI is the version of Landlock that this kernel has; 0 is none.
func ABI() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

func missingLandlock(spec Spec, abi int) []Feature {
	var missing []Feature
	for _, f := range []struct {
		feature Feature
		since   int
	}{{Landlock, 2}, {LandlockTruncate, 3}, {LandlockTCP, 4}, {LandlockDevices, 5}, {LandlockScope, 6}} {
		if abi < f.since && (f.feature != LandlockTCP || spec.NoNetwork) {
			missing = append(missing, f.feature)
		}
	}
	return missing
}

// handled is what the ruleset denies unless a rule allows it, as far as a
// version of Landlock knows it.
func handled(spec Spec, abi int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: readable | writableFolder | makeDevice | device}
	if abi < 3 {
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 && spec.NoNetwork {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi < 5 {
		attr.Handled_access_fs &^= device
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

func applyLandlock(spec Spec, abi int) error {
	attr := handled(spec, abi)
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("create a ruleset: %w", errno)
	}
	defer unix.Close(int(ruleset))
	allow := func(path string, rights uint64) error {
		return allowPath(int(ruleset), path, rights&attr.Handled_access_fs)
	}
	if err := allow("/", readable); err != nil {
		return err
	}
	for _, path := range devices {
		if err := allow(path, readable|writableFile|device); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	for _, path := range spec.ReadWrite {
		if err := allow(path, readable|writableFolder); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("restrict this thread: %w", errno)
	}
	return nil
}

// allowPath adds a rule for what is at and below path. The rights that only a
// folder can have are left out for a file.
func allowPath(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("allow %s: %w", path, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("allow %s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | writableFile | device
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
}
