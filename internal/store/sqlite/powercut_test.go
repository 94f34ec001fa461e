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

// crashDisk models what a disk holds after a power cut. Each unsynced change may
// survive or not, independently of the others. Unsynced content may be missing, torn,
// or zeros of the right length. The creation or removal of a name is durable only
// after its folder has been synced; syncing a file does not make its name durable.
//
// Paths are absolute.
type crashDisk struct{ root *node }

// node is a file or a folder.
type node struct {
	content []byte           // durable content of a file
	names   map[string]*node // durable entries of a folder
	// unsynced holds the changes that are not durable yet, oldest first. synced is the
	// number of earlier changes, which are durable.
	unsynced []edit
	synced   int
	current  map[string]*node // entries of a folder as a running process sees them
}

// edit is one change to a file or to a folder.
type edit struct {
	// For a folder: a name and the node it refers to, or nil if it was removed.
	name string
	node *node

	// For a file: an offset and the data written there, or the size to which the file
	// was truncated.
	at       int64
	data     []byte
	truncate bool
}

func newFolder() *node { return &node{names: map[string]*node{}, current: map[string]*node{}} }

func newCrashDisk() *crashDisk { return &crashDisk{newFolder()} }

func (n *node) isFolder() bool { return n.names != nil }

// change records a change that is not durable yet.
func (n *node) change(c edit) {
	n.unsynced = append(n.unsynced, c)
	if n.isFolder() {
		n.current = edited(n.current, c)
	}
}

// edited returns a copy of a folder's entries with a change applied.
func edited(names map[string]*node, c edit) map[string]*node {
	names = maps.Clone(names)
	if c.node == nil {
		delete(names, c.name)
	} else {
		names[c.name] = c.node
	}
	return names
}

// beginSync marks the changes made so far. They become durable when endSync is called
// with the mark.
func (n *node) beginSync() int { return n.synced + len(n.unsynced) }

// endSync makes the changes before a mark durable.
func (n *node) endSync(mark int) {
	for ; n.synced < mark; n.synced++ {
		c := n.unsynced[0]
		n.unsynced = n.unsynced[1:]
		if n.isFolder() {
			n.names = edited(n.names, c)
		} else {
			n.content = c.apply(n.content, kept)
		}
	}
}

// find returns the file or folder at a path as a running process sees it, or nil.
func (p *crashDisk) find(name string) *node {
	n := p.root
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if part != "" && n != nil {
			n = n.current[part]
		}
	}
	return n
}

// mkdirAll creates the missing folders of a path and returns the last one. If durable
// is set, they survive a power cut.
func (p *crashDisk) mkdirAll(name string, durable bool) *node {
	n := p.root
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if n.current[part] == nil {
			n.change(edit{name: part, node: newFolder()})
			if durable {
				n.endSync(n.beginSync())
			}
		}
		n = n.current[part]
	}
	return n
}

// set makes a path refer to a file or folder. A nil node removes the path.
func (p *crashDisk) set(name string, n *node) {
	p.find(path.Dir(name)).change(edit{name: path.Base(name), node: n})
}

// outcome is what a power cut does to one unsynced change.
type outcome int

const (
	dropped outcome = iota
	kept
	torn     // only the first half was written
	zeroed   // the file has the new size, but zeros in place of the data
	outcomes // the number of outcomes
)

// apply returns the content after the change had the given outcome.
func (c edit) apply(content []byte, f outcome) []byte {
	if f == dropped {
		return content
	}
	end := c.at
	if !c.truncate {
		end += int64(len(c.data))
	}
	content = slices.Clone(content)
	if f == torn {
		end -= int64(len(c.data)) / 2
	}
	if end > int64(len(content)) {
		content = append(content, make([]byte, end-int64(len(content)))...)
	}
	switch {
	case c.truncate:
		content = content[:c.at]
	case f == kept, f == torn:
		copy(content[c.at:end], c.data)
	}
	return content
}

// image is the state of a disk after a power cut: the content of every file, by
// path. A folder has nil.
type image map[string][]byte

// crash returns the image after a power cut. For each unsynced change it calls choose
// with the number of possible outcomes; choose returns one of them.
func (p *crashDisk) crash(choose func(of outcome) outcome) image {
	found := image{}
	type seen struct {
		content []byte
		names   map[string]*node
	}
	known := map[*node]seen{} // a file with two names has one content
	var walk func(at string, n *node)
	walk = func(at string, n *node) {
		s, ok := known[n]
		if !ok {
			s = seen{n.content, n.names}
			for _, c := range n.unsynced {
				switch {
				case n.isFolder():
					if choose(torn) == kept {
						s.names = edited(s.names, c)
					}
				case c.truncate:
					s.content = c.apply(s.content, choose(torn))
				default:
					s.content = c.apply(s.content, choose(outcomes))
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

// crashes visits the images that a power cut may leave. If there are more than most, it
// visits the image without unsynced changes, the image with all of them, and a random
// sample of the others.
func (p *crashDisk) crashes(seed uint64, most int, visit func(image)) {
	all := 0
	for choices := []choice{}; choices != nil && all <= most; choices = nextChoices(choices) {
		p.crash(replay(&choices))
		all++
	}
	if all <= most {
		for choices := []choice{}; choices != nil; choices = nextChoices(choices) {
			visit(p.crash(replay(&choices)))
		}
		return
	}
	visit(p.crash(func(outcome) outcome { return dropped }))
	visit(p.crash(func(outcome) outcome { return kept }))
	random := rand.New(rand.NewPCG(seed, 0))
	for range most - 2 {
		visit(p.crash(func(of outcome) outcome { return outcome(random.IntN(int(of))) }))
	}
}

// choice is one outcome of several possible ones.
type choice struct{ is, of outcome }

// replay returns a choose function for crash that makes the given choices. For each
// further choice it appends the first outcome to choices.
func replay(choices *[]choice) func(outcome) outcome {
	at := 0
	return func(of outcome) outcome {
		if at == len(*choices) {
			*choices = append(*choices, choice{of: of})
		}
		at++
		return (*choices)[at-1].is
	}
}

// nextChoices returns the next combination of choices, or nil after the last.
func nextChoices(choices []choice) []choice {
	for len(choices) > 0 {
		last := &choices[len(choices)-1]
		if last.is++; last.is < last.of {
			return choices
		}
		choices = choices[:len(choices)-1]
	}
	return nil
}

// mustRestore copies the files and folders of an image from one folder into another.
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

// String lists the files of an image for failure messages.
func (i image) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(i)) {
		if i[name] != nil {
			fmt.Fprintf(&b, "%s: %d bytes\n", name, len(i[name]))
		}
	}
	return b.String()
}
