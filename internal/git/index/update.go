package index

import (
	"context"
	"slices"
	"time"

	"pawl/internal/git"
)

// Options say how an index is brought up to a folder.
type Options struct {
	// Began is the present time by the clock of the folder's file system. What is changed
	// from then on is read again by the next update.
	Began time.Time
	// Apart is the path of a folder that is not part of the index but kept beside it. It is
	// looked at only if WithApart is set.
	Apart     string
	WithApart bool
	// Only is the path of the only file that may differ from what the last update found;
	// empty = everything may.
	Only string
	// Refused reports whether git refuses a name.
	Refused func(name string) bool
	// Rules is what decides about ignored paths besides .gitignore files. If it is empty and
	// there is no such file, no path is ignored.
	Rules string
	// Ignored returns those of some paths that are ignored.
	Ignored func(ctx context.Context, paths []string) ([]string, error)
	// MaxFile bounds the bytes of a new or changed file, MaxBytes those of all of them
	// together, MaxUnknown the number of paths that the index does not have.
	MaxFile, MaxBytes int64
	MaxUnknown        int
}

// Store takes objects.
type Store interface {
	// Put stores an object unless it is there already.
	Put(object git.Object) error
}

// manyRead is how many files are read again before it is worth writing the index file, which
// takes as long as reading about ten.
const manyRead = 64

// Tree is what an update found.
type Tree struct {
	// Hash is the tree of the folder, without what is apart. Full is with it where
	// [Options.WithApart] was set, and the same as Hash where it was not.
	Hash, Full string
	// Outdated reports that whoever keeps the index file should write it again: the index has
	// gained or lost paths, which decides which paths may be ignored after a crash, or so many
	// files had to be read that the next reader should not have to read them again.
	Outdated bool
}

// Update brings the index up to a folder and stores the objects that are new. An
// [Unsupported] error says that git must do it instead; objects may be stored by then.
func (x *Index) Update(ctx context.Context, folder string, store Store, o Options) (Tree, error) {
	top, err := openFolder(folder)
	if err != nil {
		return Tree{}, unreadable("", err)
	}
	defer top.close()
	if !x.looked && x.root.has(o.Apart) {
		x.root.remove(o.Apart) // a program that was killed while it filled the index left it
	}
	l := newLook(x, top, o)
	if isPath(o.Only) && x.looked && x.given == o.Rules && !special(o.Only) {
		err = l.one(o.Only)
	} else {
		err = l.everything(ctx)
	}
	for _, step := range []func(context.Context) error{l.decide, l.measure} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err == nil {
		err = l.take(ctx, store)
	}
	if err != nil {
		return Tree{}, err
	}
	x.looked, x.given = true, o.Rules
	x.rules, x.unsettled = l.rules.String(), l.unsettled // with those of new folders
	t, err := x.trees(store, o)
	t.Outdated = l.relists() || len(l.files) >= manyRead
	return t, err
}

// trees stores the trees that are not known.
func (x *Index) trees(store Store, o Options) (t Tree, err error) {
	if t.Hash, err = x.root.store(store); err != nil {
		return Tree{}, err
	}
	x.full = x.root
	if o.WithApart && x.HasApart() {
		x.full = x.root.with(o.Apart, x.apart)
	}
	t.Full, err = x.full.store(store)
	return t, err
}

// store stores the tree of a folder and those below it, unless they are known, and returns
// its hash.
func (f *folder) store(store Store) (string, error) {
	if f.tree != (hash{}) {
		return f.tree.String(), nil
	}
	var entries []git.Entry
	err := f.inOrder(func(e *file, below *folder) error {
		if below == nil {
			entries = append(entries, git.Entry{Mode: e.mode.String(), Name: e.name, Hash: e.hash.String()})
			return nil
		}
		sum, err := below.store(store)
		entries = append(entries, git.Entry{Mode: git.ModeTree, Name: below.name, Hash: sum})
		return err
	})
	if err != nil {
		return "", err
	}
	object, err := git.NewTree(entries)
	if err != nil {
		return "", &Unsupported{Reason: ReasonCollision, Err: err}
	}
	f.tree = parse(object.Hash)
	return object.Hash, store.Put(object)
}

// put takes a file up at a path.
func (x *Index) put(o Options, path string, e file) {
	f, rest := x.above(o, path)
	for {
		f.tree = hash{}
		first, below := split(rest)
		if below == "" {
			e.name = first
			at, found := f.seekFile(first)
			if !found {
				f.files = slices.Insert(f.files, at, file{})
			}
			f.files[at] = e
			return
		}
		f, rest = f.make(first), below
	}
}

// remove removes the file or folder at a path, and folders above it that become empty.
func (x *Index) remove(o Options, path string) {
	f, rest := x.above(o, path)
	f.remove(rest)
}

func (f *folder) remove(path string) {
	f.tree = hash{}
	first, below := split(path)
	if at, found := f.seek(first); found {
		if below != "" {
			f.folders[at].remove(below)
		}
		if inner := f.folders[at]; below == "" || len(inner.files)+len(inner.folders) == 0 {
			f.folders = slices.Delete(f.folders, at, at+1)
		}
		return
	}
	if at, found := f.seekFile(first); found {
		f.files = slices.Delete(f.files, at, at+1)
	}
}

// above returns the folder that a path is looked up in, and the path in it.
func (x *Index) above(o Options, path string) (*folder, string) {
	if rest, found := cutFolder(path, o.Apart); found {
		return x.apart, rest
	}
	return x.root, path
}

// HasApart reports whether there are files in the folder that is apart.
func (x *Index) HasApart() bool { return x.apart != nil && len(x.apart.files)+len(x.apart.folders) > 0 }

// Compare calls missing with each object of the last update's [Tree.Full] that the tree of a
// commit does not have at the same path, and returns how many files the commit does not have
// at all. Entries returns those of a tree.
func (x *Index) Compare(tree string, entries func(tree string) ([]git.Entry, error), missing func(hash string)) (added int, err error) {
	if x.full.tree.String() == tree {
		return 0, nil
	}
	return x.full.compare(tree, entries, missing)
}

func (f *folder) compare(tree string, entries func(string) ([]git.Entry, error), missing func(string)) (added int, err error) {
	have := map[string]git.Entry{}
	if tree != "" {
		list, err := entries(tree)
		if err != nil {
			return 0, err
		}
		for _, e := range list {
			have[e.Name] = e
		}
	}
	missing(f.tree.String())
	for _, e := range f.files {
		old, there := have[e.name]
		if !there || old.Mode == git.ModeTree {
			added++
		}
		if sum := e.hash.String(); old.Hash != sum {
			missing(sum)
		}
	}
	for _, below := range f.folders {
		old := have[below.name]
		if old.Mode != git.ModeTree {
			old.Hash = ""
		}
		if old.Hash == below.tree.String() {
			continue
		}
		n, err := below.compare(old.Hash, entries, missing)
		if added += n; err != nil {
			return added, err
		}
	}
	return added, nil
}
