package index

import (
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// handle is an open folder. Nothing is reached through it by a symbolic link, so what writes
// to the folder meanwhile cannot lead out of it.
type handle struct {
	file *os.File
	fd   int // its descriptor
}

func openFolder(path string) (*handle, error) { return openAt(unix.AT_FDCWD, path) }

func openAt(in int, name string) (*handle, error) {
	fd, err := unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &handle{os.NewFile(uintptr(fd), name), fd}, nil
}

func (h *handle) close() { _ = h.file.Close() }

func (h *handle) enter(name string) (*handle, error) { return openAt(h.fd, name) }

// names lists the folder, sorted. It does not read the kinds of the entries, which some file
// systems do not tell: [os.File.ReadDir] would look for them by path and leave out what it
// does not find.
func (h *handle) names() ([]string, error) {
	names, err := h.file.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (h *handle) stat(name string) (info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(h.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return info{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return infoOf(&st), nil
}

func infoOf(st *unix.Stat_t) info {
	in := info{size: st.Size, executable: st.Mode&0o100 != 0, stat: stat{
		changed:  moment{uint32(st.Ctim.Sec), uint32(st.Ctim.Nsec)},
		modified: moment{uint32(st.Mtim.Sec), uint32(st.Mtim.Nsec)},
		inode:    uint32(st.Ino), device: uint32(st.Dev),
		uid: st.Uid, gid: st.Gid, size: uint32(st.Size),
	}}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		in.kind = kindFile
	case unix.S_IFLNK:
		in.kind = kindLink
	case unix.S_IFDIR:
		in.kind = kindFolder
	}
	return in
}

// read reads a file, or where a symbolic link leads to, with what was known of it before.
func (h *handle) read(name string, most int64) ([]byte, info, error) {
	in, err := h.stat(name)
	if err != nil {
		return nil, info{}, err
	}
	if in.kind == kindLink {
		target, err := h.link(name)
		return target, in, err
	}
	if in.kind != kindFile {
		return nil, info{}, errReplaced
	}
	fd, err := unix.Openat(h.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, info{}, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, info{}, err
	}
	if in = infoOf(&st); in.kind != kindFile {
		return nil, info{}, errReplaced
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = errLarge
	}
	return content, in, err
}

// link reads where a symbolic link leads to.
func (h *handle) link(name string) ([]byte, error) {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(h.fd, name, target)
	if err != nil {
		return nil, &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return target[:n], nil
}
