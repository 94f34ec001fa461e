package room

import (
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
)

// Where confined commands see things. The work tree has one path in every room of a
// project, so that build caches and virtual environments stay valid.
const (
	workPath  = "/work"
	homePath  = "/home/pawl"
	cachePath = "/cache"
	tempPath  = "/tmp"
	givenPath = "/run/pawl"

	sharedPath = "/dev/shm" // memory that programs share
)

// Writable are the folders of a confined room that commands may write to.
func Writable() []string { return []string{workPath, homePath, cachePath, tempPath, sharedPath} }

// UID and GID are who commands are in a confined room, whoever runs them outside.
const (
	UID = 1000
	GID = 1000
)

// Bounds of each folder that a room has in memory: its temporary folder, its shared
// memory, and the home of a room that does not keep one.
const (
	DefaultTempSize   = 2 << 30 // bytes
	DefaultTempInodes = 500_000 // files and folders
)

// Description is everything that the commands in a room see. It is made by [Rooms]
// alone and read by what enforces it.
type Description struct {
	// Name tells rooms that are open at the same time apart.
	Name string
	// Mounts are what a confined command sees, parents before what lies in them.
	// Links and Files are the root's own symbolic links and small files.
	Mounts []Mount
	// Joined is mounted at its own path before Mounts, which may show it; nil if nothing is
	// joined.
	Joined *Mount
	Links  map[string]string
	Files  map[string]string
	// Writable, Readable and Protected are, in a room that shows everything where it
	// is, what commands may write to, what they may read beside that and the system's own,
	// and what they may not write to all the same.
	Writable, Readable, Protected []string
	// Own are folders in memory besides [Writable] that commands in a confined room may write to.
	Own []string
	// Environ is the whole environment but for what a command adds.
	Environ []string
	// Dir is the work tree's folder as commands see it, and Tree as this process
	// does; empty where only who enforces the room can say.
	Dir, Tree string
	// Given is the folder of the files that are given to commands, and GivenPath
	// where they see it.
	Given, GivenPath string
	// Sockets is, in a room that shows everything where it is, a folder of Unix sockets that commands
	// may connect to; empty = there is none.
	Sockets string
	// Serve is nil in a room without a way out. Otherwise it is called, in a goroutine of
	// its own, with each listener on ProxyPort of the room's own loopback device, and
	// returns when that is closed.
	Serve func(net.Listener)
	// ProxyPort is the port of the egress proxy as commands see it; 0 = there is none.
	ProxyPort int
	Limits    pawl.RoomLimits
}

// Variables are the environment of a command that adds some of its own, which win.
func (d *Description) Variables(more []string) []string {
	return lastOfEach(slices.Concat(d.Environ, more))
}

// OnDisk are the folders on disk that the room's commands write to.
func (d *Description) OnDisk() []string {
	if len(d.Mounts) == 0 {
		return d.Writable
	}
	var folders []string
	if d.Joined != nil {
		folders = append(folders, d.Joined.Upper.Files())
	}
	for i := range d.Mounts {
		switch m := &d.Mounts[i]; {
		case d.Joined != nil && contains(d.Joined.Path, m.Source):
		case !m.Upper.IsZero():
			folders = append(folders, m.Upper.Files())
		case m.Source != "" && !m.ReadOnly:
			folders = append(folders, m.Source)
		}
	}
	return folders
}

// Mount is one thing that a confined command sees at Path. Exactly one of Source,
// Lower and Size is set.
type Mount struct {
	Path string
	// Source is a folder or file of the host, with what is mounted below it.
	Source   string
	ReadOnly bool
	// Lower are the layers of an overlay, the strongest first, below the folder Upper.
	Lower []Layer
	Upper Upper
	// Size and Inodes bound a file system in memory.
	Size, Inodes int64
}

// Upper is a folder that receives what is written above layers. Two rooms must
// never have the same one.
type Upper struct{ dir string }

// Files is the folder with what was written, Work the one overlayfs needs beside it.
func (u Upper) Files() string { return filepath.Join(u.dir, "upper") }

// Work is an empty folder on the same file system as Files.
func (u Upper) Work() string { return filepath.Join(u.dir, "work") }

// IsZero reports that there is none.
func (u Upper) IsZero() bool { return u.dir == "" }

// root is what every confined room has of the host.
func (h Host) root() (mounts []Mount, links map[string]string) {
	links = make(map[string]string)
	mounts = h.system(links)
	for _, folder := range h.programs() {
		if !inSystem(folder) {
			mounts = appendVisible(mounts, folder)
		}
	}
	return mounts, links
}

// passwd are the users that a confined room knows.
var passwd = map[string]string{
	"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\npawl:x:1000:1000:pawl:" + homePath + ":/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
	"/etc/group":  "root:x:0:\npawl:x:1000:\nnogroup:x:65534:\n",
	"/etc/hosts":  "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n",
}

// confined completes a description with the root, in order.
func (d *Description) confined(h Host, own []Mount) {
	mounts, links := h.root()
	mounts = append(mounts, Mount{Path: sharedPath, Size: DefaultTempSize, Inodes: DefaultTempInodes})
	d.Mounts, d.Links, d.Files = inOrder(append(mounts, own...)), links, maps.Clone(passwd)
}

// inOrder sorts by place, so that a parent comes before what lies in it, and keeps
// the last of those with the same place.
func inOrder(list []Mount) []Mount {
	slices.SortStableFunc(list, func(a, b Mount) int { return strings.Compare(a.Path, b.Path) })
	var kept []Mount
	for i := range list {
		if i+1 == len(list) || list[i+1].Path != list[i].Path {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// Probing describes a room over a folder, to try whether rooms can be enforced.
func Probing(dir string) *Description {
	d := &Description{Name: "probe", Dir: workPath, Tree: dir}
	host := NewHost(nil, "")
	d.confined(host, []Mount{
		{Path: tempPath, Size: 1 << 20, Inodes: 100}, {Path: homePath, Size: 1 << 20, Inodes: 100},
		{Path: cachePath, Size: 1 << 20, Inodes: 100}, {Path: workPath, Source: dir},
	})
	d.Environ = host.variables(places{workPath, homePath, tempPath, tempPath}, false, false)
	return d
}
