package tool

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits of what a call looks at. Whatever an agent left in its worktree, a call
// ends in a bounded time with a bounded memory.
const (
	maxFolder  = 20_000  // entries looked at in one folder
	maxEntries = 300_000 // entries looked at in one call
	maxDepth   = 200     // folders in folders
)

// errEnough ends a walk.
var errEnough = errors.New("enough")

// walk goes through a folder and the folders below it, in the order of names.
// It follows no link, enters no .git, and does not look at what was prepared unless it begins
// there.
type walk struct {
	tree *worktree
	// visit is told of every entry that is not a folder. errEnough ends the walk.
	visit func(path string, entry fs.DirEntry) error

	entries int
	partial string // why not everything was looked at; empty when it was
}

func (w *walk) folder(ctx context.Context, rel string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, more, err := w.tree.entries(rel, maxFolder)
	if err != nil {
		return err
	}
	if more {
		w.partial = printable(rel) + " has too many entries to look at all"
	}
	for _, e := range entries {
		name := path.Join(rel, e.Name())
		if w.entries++; w.entries > maxEntries {
			w.partial = "there are too many files to look at all"
			return errEnough
		}
		switch {
		case e.Name() == ".git":
			continue
		case slices.Contains(w.tree.prepared, name):
			if w.partial == "" {
				w.partial = printable(name) + " holds dependencies and is left out; give its path to look in it"
			}
			continue
		case e.IsDir() && depth == maxDepth:
			w.partial = printable(name) + " is nested too deep"
			continue
		case e.IsDir():
			err = w.folder(ctx, name, depth+1)
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
				w.partial = printable(name) + " cannot be read"
				err = nil
			}
		default:
			err = w.visit(name, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries reads a folder: its entries sorted by name, and whether there are more
// than limit, of which it then returns the first it met.
func (w *worktree) entries(rel string, limit int) (entries []fs.DirEntry, more bool, err error) {
	f, err := w.root.Open(rel)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for len(entries) <= limit {
		batch, err := f.ReadDir(min(1000, limit+1-len(entries)))
		entries = append(entries, batch...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	if more = len(entries) > limit; more {
		entries = entries[:limit]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

// everything walks from a path on; of a file it visits that file.
func (w *walk) everything(ctx context.Context, rel string) error {
	info, err := w.tree.stat(rel)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		err = w.visit(rel, fs.FileInfoToDirEntry(info))
	} else {
		err = w.folder(ctx, rel, 0)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
