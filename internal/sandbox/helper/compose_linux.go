package helper

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of the file system in memory that holds a room's root and nothing that a
// command writes.
const (
	stageSize   = 256 << 20 // bytes; but for a copy of the program it takes some 100 kB
	stageInodes = 10_000
)

// prepare makes this process's mount and network namespaces, which must be its own,
// ready for a room, and mounts what is joined.
func (r *Room) prepare() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to this namespace: %w", err)
	}
	// Bubblewrap looks its child up there, by the number it has in this namespace.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := raiseLoopback(); err != nil {
		return err
	}
	if r.Joined == nil {
		return nil
	}
	if err := overlay(r.Joined, r.Joined.Path); err != nil {
		return fmt.Errorf("join %s: %w", r.Joined.Path, err)
	}
	return nil
}

// compose puts the room together after prepare.
func (r *Room) compose() error {
	options := fmt.Sprintf("mode=0755,size=%d,nr_inodes=%d", stageSize, stageInodes)
	if err := unix.Mount("pawl", r.Stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount a file system in memory at %s: %w", r.Stage, err)
	}
	root := filepath.Join(r.Stage, Root)
	for _, dir := range []string{root, filepath.Join(root, "proc")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := devices(filepath.Join(root, "dev")); err != nil {
		return fmt.Errorf("show devices: %w", err)
	}
	if r.Bwrap != "" {
		if err := show(&Mount{Source: r.Bwrap, ReadOnly: true}, filepath.Join(r.Stage, Bwrap)); err != nil {
			return fmt.Errorf("show bubblewrap: %w", err)
		}
	}
	if err := showSelf(filepath.Join(root, Enter)); err != nil {
		return fmt.Errorf("show the program that confines commands: %w", err)
	}
	for path, target := range r.Links {
		if err := r.link(filepath.Join(root, path), target); err != nil {
			return err
		}
	}
	for path, content := range r.Files {
		if err := r.file(filepath.Join(root, path), content); err != nil {
			return err
		}
	}
	for i := range r.Mounts {
		if err := r.mount(root, &r.Mounts[i]); err != nil {
			return fmt.Errorf("show %s: %w", r.Mounts[i].Path, err)
		}
	}
	// Only the root's own files: what is mounted below it has its own rights.
	err := unix.MountSetattr(unix.AT_FDCWD, r.Stage, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return nil
}

// devices makes the room's /dev. Bubblewrap could make one for each command, but reads
// the table of all mounts for each device: about a seventh of a command's start.
func devices(dev string) error {
	for _, dir := range []string{dev, filepath.Join(dev, "pts")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := attach("/dev/"+name, filepath.Join(dev, name), unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	err := unix.Mount("devpts", filepath.Join(dev, "pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	if err != nil {
		return fmt.Errorf("mount terminals: %w", err)
	}
	return nil
}

func (r *Room) link(path, target string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

func (r *Room) file(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

func (r *Room) mount(root string, m *Mount) error {
	target := filepath.Join(root, m.Path)
	switch {
	case m.Source != "":
		return show(m, target)
	case len(m.Lower) > 0:
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		return overlay(m, target)
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	options := fmt.Sprintf("mode=0700,size=%d,nr_inodes=%d,uid=%d,gid=%d", m.Size, m.Inodes, r.UID, r.GID)
	return unix.Mount("pawl", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// showSelf shows this program. One that was replaced by another since it was
// started is copied: only what runs can be trusted to be the right one.
func showSelf(target string) error {
	const self = "/proc/self/exe"
	running, err := os.Stat(self)
	if err != nil {
		return err
	}
	path, err := os.Readlink(self)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && os.SameFile(info, running) {
		return show(&Mount{Source: path, ReadOnly: true}, target)
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o555)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// show shows a folder or a file of the host, without the devices in it.
func show(m *Mount, target string) error {
	attributes := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	if m.ReadOnly {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	return attach(m.Source, target, attributes)
}

// attach shows a folder or a file of the host, and what is mounted below it, with
// attributes of its mounts.
func attach(source, target string, attributes uint64) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
		err = place(target)
	}
	if err != nil {
		return err
	}
	tree, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return fmt.Errorf("open %s: %w", source, err)
	}
	defer unix.Close(tree)
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return fmt.Errorf("protect %s: %w", source, err)
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", source, err)
	}
	return nil
}

// place makes an empty file for a file to be mounted on, unless there is one.
func place(target string) error {
	f, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// overlay mounts layers. They are named by descriptors, so that neither a comma or
// a colon in a path nor their number matters: the options have to fit in a page.
func overlay(m *Mount, target string) error {
	var opened []int
	defer func() {
		for _, fd := range opened {
			_ = unix.Close(fd)
		}
	}()
	name := func(path string) (string, error) {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", &fs.PathError{Op: "open", Path: path, Err: err}
		}
		opened = append(opened, fd)
		return "/proc/self/fd/" + strconv.Itoa(fd), nil
	}
	lower := make([]string, len(m.Lower))
	for i, path := range m.Lower {
		var err error
		if lower[i], err = name(path); err != nil {
			return err
		}
	}
	options := "lowerdir=" + strings.Join(lower, ":")
	if m.Upper != "" {
		if err := lock(m.Upper); err != nil {
			return err
		}
		upper, err := name(m.Upper)
		if err != nil {
			return err
		}
		work, err := name(m.Work)
		if err != nil {
			return err
		}
		options += ",upperdir=" + upper + ",workdir=" + work
	}
	if os.Getuid() != 0 || inUserNamespace() {
		options += ",userxattr"
	} else {
		// A lower layer may be removed: what a machine sets by default must not leave a
		// file's data in one, or the place of a renamed folder. userxattr sees to both.
		options += ",metacopy=off,redirect_dir=off"
	}
	if err := unix.Mount("pawl", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount an overlay of %d layers: %w", len(m.Lower), err)
	}
	return nil
}

// lockTime is how long a holder that was killed may take to let its layers go.
const lockTime = 10 * time.Second

// lock locks a folder as long as this process lives. Mounted twice, an overlay's upper
// folder would be damaged without a word.
func lock(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	locked := make(chan error, 1)
	go func() {
		for {
			if err := unix.Flock(fd, unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
				locked <- err
				return
			}
		}
	}()
	select {
	case err = <-locked: // the descriptor is closed when this process ends
	case <-time.After(lockTime):
		err = errors.New("another process has it mounted")
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	return nil
}

// inUserNamespace reports whether this process's user namespace is not the first one.
func inUserNamespace() bool {
	content, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(content))
	return err != nil || len(fields) != 3 || fields[0] != "0" || fields[1] != "0" || fields[2] != "4294967295"
}

// listen listens for the clients of the egress proxy. Nothing runs in the room yet, so
// nothing else can have the port.
func listen(port int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err == nil {
		if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}); err == nil {
			err = unix.Listen(fd, unix.SOMAXCONN)
		}
		if err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		return -1, fmt.Errorf("listen on port %d of the room: %w", port, err)
	}
	return fd, nil
}

// raiseLoopback makes the network namespace's loopback device work. The kernel
// gives it its addresses.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("raise the loopback device: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("raise the loopback device: %w", err)
	}
	return nil
}
