package index

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the checksum of git's index file
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The index file, as Documentation/gitformat-index.txt of git describes it.
const (
	signature   = "DIRC"
	version     = 2
	headerSize  = 12
	statSize    = 40 // of an entry, before its hash
	entrySize   = 62 // before its name
	nameBits    = 0x0FFF
	stageBits   = 0x3000
	flagBits    = 0x8000 | 0x4000 // assume unchanged; more flags follow
	treesHeader = "TREE"
	emptyFile   = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" // the hash of a file without content
)

// errDamaged means that an index file ends too early or has something that it cannot have.
var errDamaged = errors.New("the index file is damaged")

// Read reads an index file of version 2 that was written at a time, by the clock of its file
// system.
func Read(data []byte, written time.Time) (*Index, error) {
	body, ok := checked(data)
	if !ok {
		return nil, &Unsupported{Reason: ReasonVersion, Err: errDamaged}
	}
	if v := binary.BigEndian.Uint32(body[4:]); v != version {
		return nil, &Unsupported{Reason: ReasonVersion, Err: fmt.Errorf("version %d", v)}
	}
	x := &Index{root: &folder{}, attributes: map[string]attributes{}, verdicts: map[string]verdict{}}
	rest, err := x.readEntries(body[headerSize:], binary.BigEndian.Uint32(body[8:]), momentOf(written))
	if err != nil {
		return nil, err
	}
	if !x.root.sort() {
		return nil, &Unsupported{Reason: ReasonVersion, Err: errDamaged}
	}
	return x, x.readExtensions(rest)
}

// checked returns the file without its checksum, and whether that is right.
func checked(data []byte) ([]byte, bool) {
	end := len(data) - sha1.Size
	if end < headerSize || string(data[:4]) != signature {
		return nil, false
	}
	sum := sha1.Sum(data[:end]) //nolint:gosec // as above
	return data[:end], bytes.Equal(sum[:], data[end:])
}

// readEntries reads the entries, which are sorted by their paths, and returns what follows.
func (x *Index) readEntries(rest []byte, count uint32, written moment) ([]byte, error) {
	damaged := &Unsupported{Reason: ReasonVersion, Err: errDamaged}
	last := ""
	for range count {
		if len(rest) < entrySize {
			return nil, damaged
		}
		flags := binary.BigEndian.Uint16(rest[entrySize-2:])
		end := bytes.IndexByte(rest[entrySize:], 0)
		if end <= 0 {
			return nil, damaged
		}
		path := string(rest[entrySize : entrySize+end])
		if flags&(stageBits|flagBits) != 0 {
			return nil, &Unsupported{Reason: ReasonState, Path: path}
		}
		if path <= last || !isPath(path) {
			return nil, damaged
		}
		last = path
		e := file{mode: mode(binary.BigEndian.Uint32(rest[24:])), stat: readStat(rest), hash: hash(rest[statSize : statSize+20])}
		switch e.mode {
		case modeFile, modeExecutable, modeSymlink:
		case modeSubmodule:
			return nil, &Unsupported{Reason: ReasonSubmodule, Path: path}
		default:
			return nil, damaged
		}
		// A file that was not settled has the size 0, but may really be empty by now.
		e.racy = !e.stat.settled(written) || e.stat.size == 0 && e.hash.String() != emptyFile
		x.root.append(path, e)
		size := (entrySize + end + 8) &^ 7 // at least one NUL
		if len(rest) < size {
			return nil, damaged
		}
		rest = rest[size:]
	}
	return rest, nil
}

// isPath reports whether a path is one that an index can have.
func isPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || part == ".git" {
			return false
		}
	}
	return len(path) < maxPath
}

// append adds a file whose path is behind all others.
func (f *folder) append(path string, e file) {
	for first, rest := split(path); ; first, rest = split(rest) {
		if rest == "" {
			e.name = first
			f.files = append(f.files, e)
			return
		}
		if n := len(f.folders); n == 0 || f.folders[n-1].name != first {
			f.folders = append(f.folders, &folder{name: first})
		}
		f = f.folders[len(f.folders)-1]
	}
}

func readStat(b []byte) stat {
	at := func(n int) uint32 { return binary.BigEndian.Uint32(b[4*n:]) }
	return stat{
		changed: moment{at(0), at(1)}, modified: moment{at(2), at(3)},
		device: at(4), inode: at(5), uid: at(7), gid: at(8), size: at(9),
	}
}

// readExtensions reads what follows the entries. Extensions whose names begin with a capital
// letter may be passed over; that with the trees saves making them again.
func (x *Index) readExtensions(rest []byte) error {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return &Unsupported{Reason: ReasonVersion, Err: errDamaged}
		}
		name, size := string(rest[:4]), binary.BigEndian.Uint32(rest[4:])
		rest = rest[8:]
		if uint64(size) > uint64(len(rest)) {
			return &Unsupported{Reason: ReasonVersion, Err: errDamaged}
		}
		switch {
		case name == treesHeader:
			left, err := x.root.readTrees(rest[:size], 0)
			if err == nil && len(left) > 0 {
				err = &Unsupported{Reason: ReasonVersion, Err: errDamaged}
			}
			if err != nil {
				return err
			}
		case name[0] < 'A' || name[0] > 'Z':
			return &Unsupported{Reason: ReasonVersion, Err: fmt.Errorf("extension %q", name)}
		}
		rest = rest[size:]
	}
	return nil
}

// readTrees reads the known trees of a folder and of those below it: a name and NUL, how many
// entries the tree has, -1 if it is not known, how many of the folders in it follow, and the
// hash of a known tree. Paths have fewer than maxPath folders.
func (f *folder) readTrees(rest []byte, depth int) ([]byte, error) {
	damaged := &Unsupported{Reason: ReasonVersion, Err: errDamaged}
	_, rest, named := bytes.Cut(rest, []byte{0})
	line, rest, ended := bytes.Cut(rest, []byte{'\n'})
	first, second, two := bytes.Cut(line, []byte{' '})
	entries, err := strconv.Atoi(string(first))
	below, err2 := strconv.Atoi(string(second))
	if !named || !ended || !two || err != nil || err2 != nil || depth > maxPath {
		return nil, damaged
	}
	if entries >= 0 {
		if len(rest) < len(hash{}) {
			return nil, damaged
		}
		// An empty tree is not worth remembering, and neither is one with other entries.
		if entries == f.len() && entries > 0 {
			f.tree = hash(rest)
		}
		rest = rest[len(hash{}):]
	}
	for range below {
		name, _, found := bytes.Cut(rest, []byte{0})
		at := f.child(string(name))
		if at == nil {
			at = &folder{} // it is only read over
		}
		if !found {
			return nil, damaged
		}
		if rest, err = at.readTrees(rest, depth+1); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// Encode returns the index file, with the folder that is apart or without it. It is written
// at once: a file that is not settled is marked as changed, as git does.
func (x *Index) Encode(withApart bool, apart string) []byte {
	root := x.root
	if withApart && x.apart != nil {
		root = root.with(apart, x.apart)
	}
	b := make([]byte, headerSize, headerSize+100*root.len())
	copy(b, signature)
	binary.BigEndian.PutUint32(b[4:], version)
	binary.BigEndian.PutUint32(b[8:], uint32(root.len())) //nolint:gosec // a folder has fewer files
	b = root.encode(b, "")
	trees := root.encodeTrees(nil)
	b = append(b, treesHeader...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(trees))) //nolint:gosec // as above
	b = append(b, trees...)
	sum := sha1.Sum(b) //nolint:gosec // as above
	return append(b, sum[:]...)
}

// encode appends the entries of a folder.
func (f *folder) encode(b []byte, path string) []byte {
	_ = f.inOrder(func(e *file, below *folder) error {
		if below != nil {
			b = below.encode(b, join(path, below.name))
			return nil
		}
		name := join(path, e.name)
		size := e.stat.size
		if e.racy {
			size = 0
		}
		for _, n := range []uint32{
			e.stat.changed.seconds, e.stat.changed.nanoseconds, e.stat.modified.seconds, e.stat.modified.nanoseconds,
			e.stat.device, e.stat.inode, uint32(e.mode), e.stat.uid, e.stat.gid, size,
		} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		b = append(b, e.hash[:]...)
		b = binary.BigEndian.AppendUint16(b, uint16(min(len(name), nameBits))) //nolint:gosec // at most that
		b = append(b, name...)
		b = append(b, make([]byte, 8-(entrySize+len(name))%8)...)
		return nil
	})
	return b
}

// encodeTrees appends what is known of the trees.
func (f *folder) encodeTrees(b []byte) []byte {
	b = append(append(b, f.name...), 0)
	entries := -1
	if f.tree != (hash{}) {
		entries = f.len()
	}
	b = fmt.Appendf(b, "%d %d\n", entries, len(f.folders))
	if entries >= 0 {
		b = append(b, f.tree[:]...)
	}
	for _, below := range f.folders {
		b = below.encodeTrees(b)
	}
	return b
}

// with returns a folder that has another one at a path, and shares all else.
func (f *folder) with(path string, put *folder) *folder {
	first, rest := split(path)
	copied := &folder{name: f.name, files: f.files, folders: append([]*folder(nil), f.folders...)}
	below := put
	if rest != "" {
		below = copied.make(first).with(rest, put)
	}
	below.name = first
	at, found := copied.seek(first)
	if !found {
		copied.make(first)
	}
	copied.folders[at] = below
	return copied
}
