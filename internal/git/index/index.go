package index

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"pawl/internal/git"
)

// Reason says why git must do it. It is the name of a counter as well.
type Reason string

// The reasons why an update is left to git.
const (
	ReasonVersion    Reason = "index_version" // another version of the index file, or it is damaged
	ReasonState      Reason = "index_state"   // conflicts, or entries with flags
	ReasonAttributes Reason = "attributes"    // they may change what is stored
	ReasonSubmodule  Reason = "submodule"
	ReasonRepository Reason = "repository" // a nested one
	ReasonName       Reason = "name"       // git may refuse it
	ReasonKind       Reason = "kind"       // neither a file nor a symbolic link
	ReasonIgnored    Reason = "ignored"    // it is in the folder that is apart
	ReasonLimit      Reason = "limit"      // more or larger files than are expected
	ReasonUnreadable Reason = "unreadable" // or it changed during the look
	ReasonCollision  Reason = "collision"  // made to have the hash of something else
	ReasonMissing    Reason = "missing"    // an object is no longer in the store
	ReasonFormat     Reason = "sha256"     // the repository names objects by SHA-256
	ReasonShared     Reason = "shared"     // it has core.sharedRepository, which says who may read objects
	ReasonSystem     Reason = "system"     // folders are not read in this way here, or the file system lacks modes or links
)

// Unsupported is the error that an update is left to git.
type Unsupported struct {
	Reason Reason
	// Path is what it is about, relative to the folder; it may be empty.
	Path string
	Err  error // the cause; may be nil
}

func (u *Unsupported) Error() string {
	text := "git must record this: " + string(u.Reason)
	if u.Path != "" {
		text += ": " + u.Path
	}
	if u.Err != nil {
		text += ": " + u.Err.Error()
	}
	return text
}

func (u *Unsupported) Unwrap() error { return u.Err }

// Index is what git knows of a folder's files. It is used by one goroutine at a time. After
// an error of [Index.Update] it must not be used any more.
type Index struct {
	root *folder
	// apart is the folder at [Options.Apart], which root does not have; nil = there is none.
	apart *folder
	// full is root with what is apart, if the last update was about both, and root if not.
	full *folder
	// looked reports that what follows is known from a look at the whole folder.
	looked     bool
	attributes map[string]attributes // what the .gitattributes files say, by their paths
	given      string                // [Options.Rules]
	rules      string                // these, and which .gitignore files there are
	unsettled  bool                  // one of these may have changed without that being seen
	verdicts   map[string]verdict    // whether unknown paths are ignored; those of folders end in a slash
}

// folder is a folder of an index. An empty one is none for git.
type folder struct {
	name    string
	files   []file    // sorted by name
	folders []*folder // sorted by name
	tree    hash      // the zero hash = not known
}

// file is a file or symbolic link of an index.
type file struct {
	name string
	mode mode
	hash hash
	stat stat
	racy bool // it may have changed without a change of stat
}

// hash is the SHA-1 of an object.
type hash [20]byte

func (h hash) String() string { return hex.EncodeToString(h[:]) }

// mode is the kind of an entry, as in the index file.
type mode uint32

const (
	modeFile       mode = 0o100644
	modeExecutable mode = 0o100755
	modeSymlink    mode = 0o120000
	modeSubmodule  mode = 0o160000
)

func (m mode) String() string {
	switch m {
	case modeExecutable:
		return git.ModeExecutable
	case modeSymlink:
		return git.ModeSymlink
	case modeSubmodule:
		return git.ModeSubmodule
	default:
		return git.ModeFile
	}
}

// stat is what the index file keeps of a file, cut to 32 bits each as there.
type stat struct {
	changed, modified moment
	inode, device     uint32
	uid, gid, size    uint32
}

// moment is a time since 1970.
type moment struct{ seconds, nanoseconds uint32 }

func (m moment) before(o moment) bool {
	return m.seconds < o.seconds || m.seconds == o.seconds && m.nanoseconds < o.nanoseconds
}

// parse reads a hash that this program made.
func parse(text string) (h hash) {
	_, _ = hex.Decode(h[:], []byte(text))
	return h
}

func momentOf(t time.Time) moment {
	return moment{uint32(t.Unix()), uint32(t.Nanosecond())} //nolint:gosec // cut as in the index file
}

// same reports whether a file is as it was. The device is left out: it changes when a file
// system is mounted again.
func (s stat) same(o stat) bool {
	s.device, o.device = 0, 0
	return s == o
}

// settled reports whether all that was changed after a moment has another stat.
func (s stat) settled(at moment) bool { return s.modified.before(at) && s.changed.before(at) }

// Len returns the number of files, without those of the folder that is apart.
func (x *Index) Len() int { return x.root.len() }

func (f *folder) len() int {
	n := len(f.files)
	for _, below := range f.folders {
		n += below.len()
	}
	return n
}

// child returns the folder with a name; nil if there is none.
func (f *folder) child(name string) *folder {
	if at, found := f.seek(name); found {
		return f.folders[at]
	}
	return nil
}

// has reports whether there is a folder at a path.
func (f *folder) has(path string) bool {
	first, below := split(path)
	inner := f.child(first)
	return inner != nil && (below == "" || inner.has(below))
}

func (f *folder) seek(name string) (int, bool) {
	return slices.BinarySearchFunc(f.folders, name, func(of *folder, name string) int { return cmp.Compare(of.name, name) })
}

func (f *folder) seekFile(name string) (int, bool) {
	return slices.BinarySearchFunc(f.files, name, func(of file, name string) int { return cmp.Compare(of.name, name) })
}

// make returns the folder with a name, which it adds if there is none.
func (f *folder) make(name string) *folder {
	at, found := f.seek(name)
	if !found {
		f.folders = slices.Insert(f.folders, at, &folder{name: name})
	}
	return f.folders[at]
}

// inOrder calls see with each of the files and folders in the order of git's trees, in which
// a folder stands as if its name ended with a slash.
func (f *folder) inOrder(see func(*file, *folder) error) error {
	folders := f.folders
	if slashed := func(a, b *folder) int { return cmp.Compare(a.name+"/", b.name+"/") }; !slices.IsSortedFunc(folders, slashed) {
		folders = slices.SortedFunc(slices.Values(folders), slashed)
	}
	i, j := 0, 0
	for i < len(f.files) || j < len(folders) {
		var err error
		if j == len(folders) || i < len(f.files) && f.files[i].name < folders[j].name+"/" {
			err = see(&f.files[i], nil)
			i++
		} else {
			err = see(nil, folders[j])
			j++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sort sorts what was read in the order of git's trees by names alone. It reports whether
// no name is that of both a file and a folder.
func (f *folder) sort() bool {
	slices.SortFunc(f.folders, func(a, b *folder) int { return cmp.Compare(a.name, b.name) })
	for _, below := range f.folders {
		if _, isFile := f.seekFile(below.name); isFile || !below.sort() {
			return false
		}
	}
	return true
}

// join is a path below a folder.
func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// cutFolder returns a path below a folder, and reports whether it is below it.
func cutFolder(path, folder string) (string, bool) {
	rest, found := strings.CutPrefix(path, folder)
	if !found || folder == "" || rest == "" || rest[0] != '/' {
		return path, false
	}
	return rest[1:], true
}

// split takes the first part off a path.
func split(path string) (first, rest string) {
	first, rest, _ = strings.Cut(path, "/")
	return first, rest
}
