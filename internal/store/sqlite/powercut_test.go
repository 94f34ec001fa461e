package sqlite

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// platter is what a disk holds, and what it was told and may forget: a power cut
// keeps any of the changes that were not synced, in whole or in part, and loses
// the others. Content that was not synced may be lost, torn, or a hole that has
// its size. A name that was made or removed is safe when the folder it is in was
// synced, and only then: syncing a file does not keep its name.
//
// Paths are absolute. What was there before the test is on the disk.
type platter struct{ root *node }

// node is a file or a folder.
type node struct {
	content []byte // of a file
	names   map[string]*node
	// cached are the changes, oldest first, that were not synced, of which
	// settled more were made before them.
	cached  []edit
	settled int
	now     map[string]*node // of a folder: the names that a running process sees
}

// edit is one change to a file or to a folder.
type edit struct {
	name string // in a folder
	node *node  // nil when the name was removed

	at   int64 // in a file
	data []byte
	cut  bool // at this size; else data was written
}

func newFolder() *node { return &node{names: map[string]*node{}, now: map[string]*node{}} }

func newPlatter() *platter { return &platter{newFolder()} }

func (n *node) isFolder() bool { return n.names != nil }

// change makes a change that is not durable.
func (n *node) change(c edit) {
	n.cached = append(n.cached, c)
	if n.isFolder() {
		n.now = edited(n.now, c)
	}
}

func edited(names map[string]*node, c edit) map[string]*node {
	names = maps.Clone(names)
	if c.node == nil {
		delete(names, c.name)
	} else {
		names[c.name] = c.node
	}
	return names
}

// mark is what a sync that begins now makes durable, once it has ended.
func (n *node) mark() int { return n.settled + len(n.cached) }

// settle ends a sync that began at a mark.
func (n *node) settle(mark int) {
	for ; n.settled < mark; n.settled++ {
		c := n.cached[0]
		n.cached = n.cached[1:]
		if n.isFolder() {
			n.names = edited(n.names, c)
		} else {
			n.content = c.apply(n.content, keep)
		}
	}
}

// find is the file or folder at a path, as a running process sees it; nil when
// there is none.
func (p *platter) find(name string) *node {
	n := p.root
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if part != "" && n != nil {
			n = n.now[part]
		}
	}
	return n
}

// mkdirAll makes the folders that are missing; those of safe are on the disk.
func (p *platter) mkdirAll(name string, safe bool) *node {
	n := p.root
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if n.now[part] == nil {
			n.change(edit{name: part, node: newFolder()})
			if safe {
				n.settle(n.mark())
			}
		}
		n = n.now[part]
	}
	return n
}

// set gives a path another file or folder; nil removes it.
func (p *platter) set(name string, n *node) {
	p.find(path.Dir(name)).change(edit{name: path.Base(name), node: n})
}

// fate is what becomes of a change in a power cut.
type fate int

const (
	lose fate = iota
	keep
	tear  // the first half of what was written
	blank // the size, and not what was written
	fates
)

func (c edit) apply(content []byte, f fate) []byte {
	if f == lose {
		return content
	}
	end := c.at
	if !c.cut {
		end += int64(len(c.data))
	}
	content = slices.Clone(content)
	if f == tear {
		end -= int64(len(c.data)) / 2
	}
	if end > int64(len(content)) {
		content = append(content, make([]byte, end-int64(len(content)))...)
	}
	switch {
	case c.cut:
		content = content[:c.at]
	case f == keep, f == tear:
		copy(content[c.at:end], c.data)
	}
	return content
}

// image is what is found after a power cut: files, and folders with a nil content.
type image map[string][]byte

// cut is the image after a power cut in which pick decides, out of so many fates
// from [lose] on, what becomes of each change.
func (p *platter) cut(pick func(of fate) fate) image {
	found := image{}
	type seen struct {
		content []byte
		names   map[string]*node
	}
	known := map[*node]seen{} // a file may have two names, and still one content
	var walk func(at string, n *node)
	walk = func(at string, n *node) {
		s, ok := known[n]
		if !ok {
			s = seen{n.content, n.names}
			for _, c := range n.cached {
				switch {
				case n.isFolder():
					if pick(tear) == keep {
						s.names = edited(s.names, c)
					}
				case c.cut:
					s.content = c.apply(s.content, pick(tear))
				default:
					s.content = c.apply(s.content, pick(fates))
				}
			}
			known[n] = s
		}
		if !n.isFolder() {
			found[at] = s.content
			if s.content == nil {
				found[at] = []byte{}
			}
			return
		}
		found[at] = nil
		for _, name := range slices.Sorted(maps.Keys(s.names)) {
			walk(path.Join(at, name), s.names[name])
		}
	}
	walk("/", p.root)
	return found
}

// cuts visits the images of a power cut: all that there can be when they are no
// more than most, else those where everything is lost and where nothing is, and
// some others.
func (p *platter) cuts(seed uint64, most int, visit func(image)) {
	all := 0
	for picks := []pick{}; picks != nil && all <= most; picks = nextPicks(picks) {
		p.cut(replay(&picks))
		all++
	}
	if all <= most {
		for picks := []pick{}; picks != nil; picks = nextPicks(picks) {
			visit(p.cut(replay(&picks)))
		}
		return
	}
	visit(p.cut(func(fate) fate { return lose }))
	visit(p.cut(func(fate) fate { return keep }))
	random := rand.New(rand.NewPCG(seed, 0))
	for range most - 2 {
		visit(p.cut(func(of fate) fate { return fate(random.IntN(int(of))) }))
	}
}

// pick is one of several fates.
type pick struct{ is, of fate }

// replay picks what picks says, and notes there what it picks beyond that.
func replay(picks *[]pick) func(fate) fate {
	at := 0
	return func(of fate) fate {
		if at == len(*picks) {
			*picks = append(*picks, pick{of: of})
		}
		at++
		return (*picks)[at-1].is
	}
}

// nextPicks is the next way to pick; nil when there are no more.
func nextPicks(picks []pick) []pick {
	for len(picks) > 0 {
		last := &picks[len(picks)-1]
		if last.is++; last.is < last.of {
			return picks
		}
		picks = picks[:len(picks)-1]
	}
	return nil
}

// mustRestore makes the part of an image from a folder on real, in another folder.
func (i image) mustRestore(tb testing.TB, below, to string) {
	tb.Helper()
	for _, name := range slices.Sorted(maps.Keys(i)) {
		rest, ok := strings.CutPrefix(name, below)
		if !ok {
			continue
		}
		var err error
		if i[name] == nil {
			err = os.MkdirAll(to+rest, 0o700)
		} else {
			err = os.WriteFile(to+rest, i[name], 0o600)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// String lists an image, for a test that fails.
func (i image) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(i)) {
		if i[name] != nil {
			fmt.Fprintf(&b, "%s: %d bytes\n", name, len(i[name]))
		}
	}
	return b.String()
}
