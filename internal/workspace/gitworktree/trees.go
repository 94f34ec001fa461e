package gitworktree

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/project"
)

// Where layers can be joined, a worktree is made of two: the files of a commit, in
// <state>/trees/COMMIT, which never change and which many worktrees share, and what
// was written above them. Its folder is then <state>/layered/NAME and not
// <state>/worktrees/NAME, and has
//
//	lower         the commit whose files are below
//	upper, work   what was written, and a folder that overlayfs needs
//	tree          where both are joined, for those whom pawl.Trees lets see it:
//	  files       the worktree
//	  aside       what was moved out of it; it goes to <state>/quarantine at the end
//
// Only a file within what is joined can be moved without being copied, so what is moved
// out of the worktree stays there until nothing is joined any more.

// keptTrees is how many trees that no worktree uses are kept.
const keptTrees = 2

// Names in the folder of a joined worktree.
const (
	lowerName = "lower"
	upperName = "upper"
	treeName  = "tree"
	filesName = "files"
	asideName = "aside"
)

// treesFolder is the folder of all trees.
func (s *Workspaces) treesFolder() string { return filepath.Join(s.state, "trees") }

// treeOf is the folder of a commit's tree: lower has the files, index is their index.
func (s *Workspaces) treeOf(commit string) string { return filepath.Join(s.treesFolder(), commit) }

func (s *Workspaces) lowerOf(commit string) string { return filepath.Join(s.treeOf(commit), "lower") }

func (s *Workspaces) hasTree(commit string) bool { return exists(s.treeOf(commit)) }

// joins reports whether worktrees can be joined from layers.
func (s *Workspaces) joins() bool {
	trees := s.trees()
	return trees != nil && trees.Joins(s.state)
}

// tree returns the commit whose tree is to be below a worktree of the given commit: the
// nearest ancestor that has a tree, or the commit itself, whose tree it then makes. The
// caller holds s.opening.
func (s *Workspaces) tree(ctx context.Context, commit string) (string, error) {
	near, err := s.stores.ancestor(ctx, commit, s.hasTree)
	if err != nil {
		return "", err
	}
	if near == "" {
		near = commit
		err = s.makeTree(ctx, commit)
	}
	now := time.Now()
	_ = os.Chtimes(s.treeOf(near), now, now) // what was used last is pruned last
	return near, err
}

// makeTree makes the tree of a commit under a temporary name, so that a crash leaves
// only what Recover removes.
func (s *Workspaces) makeTree(ctx context.Context, commit string) error {
	parent := filepath.Join(s.state, "tmp")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(parent, "tree-*")
	if err != nil {
		return err
	}
	defer removeAll(folder) // gone already when all went well
	lower := filepath.Join(folder, "lower")
	repo := s.engine
	repo.WorkTree, repo.Index = filepath.Join(lower, filesName), filepath.Join(folder, "index")
	if err := os.MkdirAll(repo.WorkTree, 0o755); err != nil {
		return err
	}
	if err := repo.CheckOut(ctx, commit); err != nil {
		return err
	}
	if owner := s.owner(); owner != (pawl.Owner{}) {
		if err := giveAll(lower, owner); err != nil {
			return err
		}
		if err := repo.Refresh(ctx); err != nil { // the index has the times from before
			return err
		}
	}
	// It outlives the run: a power cut must not leave empty files in it.
	if err := project.Flush(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(s.treesFolder(), 0o700); err != nil {
		return err
	}
	return os.Rename(folder, s.treeOf(commit))
}

// pruneTrees removes the trees that no worktree uses, except those that were used last.
func (s *Workspaces) pruneTrees() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	used, err := s.treesInUse()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(s.treesFolder())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return modified(b).Compare(modified(a)) })
	var errs []error
	spare := 0
	for _, entry := range entries {
		if used[entry.Name()] || checkHashes(entry.Name()) != nil {
			continue
		}
		if spare++; spare <= keptTrees {
			continue
		}
		moved, err := moveAway(s.treeOf(entry.Name()), filepath.Join(s.state, "trash"), "tree")
		if err == nil {
			err = removeAll(filepath.Dir(moved))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func modified(entry os.DirEntry) time.Time {
	info, err := entry.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// treesInUse returns the commits whose trees are below worktrees.
func (s *Workspaces) treesInUse() (map[string]bool, error) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(s.layered()), "*", lowerName))
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, path := range paths {
		used[strings.TrimSpace(readPlain(path))] = true
	}
	return used, nil
}

// layered is the folder of the worktrees that are joined.
func (s *Workspaces) layered() string { return filepath.Join(s.state, "layered") }

// layeredOf is where the named worktree is kept when it is joined.
func (s *Workspaces) layeredOf(name string) string { return filepath.Join(s.layered(), key(name)) }

// lay decides what a new worktree of a commit is made of. The caller holds s.opening.
func (w *worktree) lay(ctx context.Context, commit string) error {
	err := w.part() // from what is left of one that somebody deleted in part
	if err == nil {
		err = w.tidy()
	}
	folder := w.s.layeredOf(w.name)
	if err = errors.Join(err, removeAll(folder), removeAll(w.furniturePath())); err != nil {
		return err
	}
	w.furniture = pawl.Furniture{}
	if !w.s.joins() {
		w.plan()
		return nil
	}
	lower, err := w.s.tree(ctx, commit)
	if err != nil {
		return explain("write the files of "+commit, err)
	}
	if err := os.MkdirAll(w.desk, 0o755); err != nil {
		return err
	}
	if err := copyIndex(filepath.Join(w.s.treeOf(lower), "index"), w.index()); err != nil {
		return err
	}
	// It is not flushed: a power cut may take it, and with it what was written by then.
	if err := replaceFile(filepath.Join(folder, lowerName), []byte(lower+"\n"), false); err != nil {
		return err
	}
	w.plan()
	w.untouched = lower == commit
	return nil
}

// plan finds out what the worktree is made of.
func (w *worktree) plan() {
	w.untouched = false
	w.folder = w.s.layeredOf(w.name)
	w.lower = strings.TrimSpace(readPlain(filepath.Join(w.folder, lowerName)))
	if w.lower == "" {
		w.folder = w.s.plainOf(w.name)
		w.dir, w.files, w.joined = w.folder, w.folder, nil
		return
	}
	w.dir, w.files = filepath.Join(w.folder, treeName, filesName), ""
}

// join makes the worktree's files reachable. If what was put into it no longer exists, it
// does without, and the next call of furnish puts it back.
func (w *worktree) join(ctx context.Context) error {
	if w.lower == "" {
		return nil
	}
	err := checkHashes(w.lower)
	if err == nil {
		w.joined, err = w.s.trees().Join(ctx, w.folder, w.s.lowerOf(w.lower), w.furniture.PreparedFor)
	}
	if pawl.CodeOf(err) == pawl.CodeNotFound && w.furniture.Key != "" {
		if err = w.noteFurniture(pawl.Furniture{Paths: w.furniture.Paths}); err == nil {
			w.joined, err = w.s.trees().Join(ctx, w.folder, w.s.lowerOf(w.lower), w.furniture.PreparedFor)
		}
	}
	if err == nil {
		var at string
		at, err = w.joined.Reach()
		w.files = filepath.Join(at, filesName)
	}
	return explain("open the files of worktree "+w.name, err)
}

// reached reports an error if the files have been joined anew since join: looked up in
// the namespace of a process that died, every file seems to be missing.
func (w *worktree) reached() error {
	if w.joined == nil {
		return nil
	}
	at, err := w.joined.Reach()
	if err == nil && filepath.Join(at, filesName) != w.files {
		err = pawl.Errorf(pawl.CodeUnavailable, "the process that held the files of worktree %s ended", w.name)
	}
	return err
}

// part ends what join began.
func (w *worktree) part() error {
	if w.lower == "" {
		return nil
	}
	w.joined, w.files = nil, ""
	return w.s.trees().Part(w.folder)
}

// tidy moves to the quarantine what was moved out of the worktree, when nothing is joined
// any more.
func (w *worktree) tidy() error {
	if w.lower == "" {
		return nil
	}
	from := filepath.Join(w.folder, upperName, asideName)
	entries, err := os.ReadDir(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(w.s.quarantined(), 0o700)
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		to := filepath.Join(w.s.quarantined(), entry.Name())
		if err := os.Rename(filepath.Join(from, entry.Name()), to); err != nil {
			return err
		}
		w.s.log.Info("what was moved out of a worktree is kept", "worktree", w.name, "in", to)
	}
	return nil
}

// asides is the folder to which files are moved out of the worktree.
func (w *worktree) asides() string {
	if w.lower == "" {
		return w.s.quarantined()
	}
	return filepath.Join(filepath.Dir(w.files), asideName)
}

// public is a path of the worktree, or of what was moved out of it, as a person finds it.
func (w *worktree) public(path string) string {
	if w.lower == "" {
		return path
	}
	if rel, found := strings.CutPrefix(path, w.files); found {
		return w.dir + rel
	}
	if rel, found := strings.CutPrefix(path, filepath.Dir(w.files)); found {
		return filepath.Join(w.folder, upperName) + rel
	}
	return path
}

// wrote lists what was written in a folder of the worktree. In a joined worktree that
// includes neither what is below nor what was deleted.
func (w *worktree) wrote(folder string) ([]string, error) {
	at := filepath.Join(w.folder, folder)
	if w.lower != "" {
		at = filepath.Join(w.folder, upperName, filesName, folder)
	}
	entries, err := os.ReadDir(at)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if w.lower == "" || e.Type()&fs.ModeCharDevice == 0 {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// hasWork reports whether anything was written or deleted in a joined worktree.
func (w *worktree) hasWork() (bool, error) {
	entries, err := os.ReadDir(filepath.Join(w.folder, upperName, filesName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != ".git" }), nil
}

// isFolder reports whether a path of the worktree is a folder, and all above it are.
func (w *worktree) isFolder(name string) bool {
	at := w.files
	for part := range strings.SplitSeq(filepath.Clean(name), "/") {
		at = filepath.Join(at, part)
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// Locate says where the files of the named worktree are, or would be.
func (s *Workspaces) Locate(ctx context.Context, name string) (pawl.Location, error) {
	w, unlock, err := s.worktree(ctx, name)
	if err != nil {
		return pawl.Location{}, err
	}
	defer unlock()
	if _, err = w.there(ctx); err != nil {
		return pawl.Location{}, err
	}
	return pawl.Location{Furniture: w.furniture, Dir: w.dir, Reach: cmp.Or(w.files, w.dir)}, nil
}
