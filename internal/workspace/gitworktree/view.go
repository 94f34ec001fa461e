package gitworktree

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/git"
)

// A view is a git folder for commands: that of a worktree, <state>/git/worktrees/NAME,
// or the .git of a clean checkout. It is a whole repository, whose HEAD is the commit
// that is shown. It borrows from the store of its base commit and has the objects that
// came after that itself; its only refs are the tags of the user's that point into its
// history. A view stays the same folder as long as it is needed, and is changed in it,
// because rooms show it.

// maxPacks is how many packs a view may have before they become one.
const maxPacks = 32

// maxList is how many bytes a list of tags or commits may have to be read.
const maxList = 64 << 20

// view is what is kept about the view of a worktree, in view.json.
type view struct {
	Base  string `json:"base"`            // whose store it borrows from
	Tip   string `json:"tip"`             // the last commit that was shown
	Loose int    `json:"loose,omitempty"` // how many objects it has as files of their own, at most
}

func (w *worktree) viewPath() string { return filepath.Join(w.desk, "view.json") }

// view reads what is kept about the view; the zero value when it must be made anew.
func (w *worktree) view() view {
	var v view
	if json.Unmarshal([]byte(readPlain(w.viewPath())), &v) != nil || checkHashes(v.Base, v.Tip) != nil ||
		!w.s.stores.exists(v.Base) || !exists(filepath.Join(w.shown, "objects", "pack")) {
		return view{}
	}
	return v
}

// show lets a git that is run in the worktree see a commit as HEAD and its
// files, with the stat information of an index, as the index. Trees that the index
// has besides the commit's must be named.
func (w *worktree) show(ctx context.Context, commit, index string, trees ...string) error {
	err := w.provide(ctx, commit, trees)
	if err == nil {
		err = errors.Join(
			display(filepath.Join(w.shown, "HEAD"), commit+"\n"),
			copyIndex(index, filepath.Join(w.shown, "index")),
		)
	}
	return explain("show worktree "+w.name, err)
}

// provide makes sure that the view has a commit and all below it.
func (w *worktree) provide(ctx context.Context, commit string, trees []string) error {
	v := w.view()
	if v.Base == "" {
		base, release, err := w.baseStore(ctx, commit)
		if err != nil {
			return err
		}
		defer release() // it is used from when view.json says so
		if err := removeIn(w.shown); err != nil {
			return err
		}
		v = view{Base: base, Tip: base}
	}
	if err := w.writeView(v.Base); err != nil {
		return err
	}
	if err := w.s.supply(ctx, w.shown, &v, commit, trees); err != nil {
		return err
	}
	v.Tip = commit
	content, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return display(w.viewPath(), string(content)+"\n")
}

// baseStore holds the store for a view that is new.
func (w *worktree) baseStore(ctx context.Context, commit string) (base string, release func(), err error) {
	if string(w.base) != commit {
		if _, err := w.s.commit(ctx, w.base); err != nil { // it is not known, or gone
			return w.s.stores.near(ctx, commit)
		}
	}
	release, err = w.s.stores.of(ctx, string(w.base))
	return string(w.base), release, err
}

// showAgain makes the view what it should be if it is not: an earlier version made
// it, or somebody removed it.
func (w *worktree) showAgain(ctx context.Context) error {
	if w.view() != (view{}) && readPlain(filepath.Join(w.shown, "HEAD")) == w.at()+"\n" && exists(filepath.Join(w.shown, "index")) {
		return w.writeView(w.view().Base)
	}
	repo := w.repo(filepath.Join(w.desk, "shown"))
	defer os.Remove(repo.Index)
	if err := w.fresh(ctx, repo.Index); err != nil {
		return err
	}
	// The times of files are worth keeping, but the index may be damaged or not there.
	if copyIndex(w.index(), repo.Index) != nil || repo.ReadTree(ctx, w.at()) != nil {
		if err := w.fresh(ctx, repo.Index); err != nil {
			return err
		}
		if err := repo.ReadTree(ctx, w.at()); err != nil {
			return err
		}
	}
	return w.show(ctx, w.at(), repo.Index)
}

// writeView writes what the worktree's view has besides its objects, HEAD, index and tags.
func (w *worktree) writeView(base string) error {
	return w.s.writeView(w.shown, base, excluded(w.furniture.Paths))
}

// writeView writes what a view has besides its objects, HEAD, index and tags. It excludes what
// the user does, and more.
func (s *Workspaces) writeView(dir, base, more string) error {
	config, err := os.ReadFile(filepath.Join(s.engine.Dir, "config"))
	if err != nil {
		return err
	}
	exclude, _ := os.ReadFile(filepath.Join(s.user.Dir, "info", "exclude")) // there may be none
	if more != "" {
		exclude = append(exclude, '\n') // the last line may lack its end
	}
	objects := filepath.Join(dir, "objects")
	return errors.Join(
		os.MkdirAll(filepath.Join(dir, "refs"), 0o755),
		os.MkdirAll(filepath.Join(objects, "pack"), 0o755),
		display(filepath.Join(objects, "info", "alternates"), s.stores.dir(base)+"\n"),
		display(filepath.Join(dir, "config"), strings.ReplaceAll(string(config), "bare = true", "bare = false")),
		display(filepath.Join(dir, "info", "exclude"), string(exclude)+more),
	)
}

// supply gives a view the objects of a commit and of trees, unless it has them.
func (s *Workspaces) supply(ctx context.Context, dir string, v *view, commit string, trees []string) error {
	want := slices.Clone(trees)
	if commit != v.Base && commit != v.Tip {
		want = append(want, commit)
	}
	if len(want) == 1 && len(trees) == 0 {
		n, err := s.copyLoose(ctx, dir, *v, commit)
		if v.Loose += n; err == nil {
			want = nil
		} else if !errors.Is(err, errPack) {
			return err
		}
	}
	if len(want) > 0 {
		if err := s.pack(ctx, dir, v, want); err != nil {
			return err
		}
	}
	return s.showEnds(ctx, dir, *v, commit)
}

// maxLoose is how many objects a view may have as files of their own before they become a pack.
const maxLoose = 1000

// errPack means that objects are to be packed.
var errPack = errors.New("not all objects are files of their own")

// copyLoose gives a view the objects of a commit on its tip by copying their files, which is
// much faster than a pack while they are few, and returns how many it has copied.
func (s *Workspaces) copyLoose(ctx context.Context, dir string, v view, commit string) (n int, err error) {
	var hashes []string
	err = s.reading(ctx, func(objects *git.Objects) error {
		c, err := objects.Commit(commit)
		if err != nil {
			return err
		}
		if len(c.Parents) != 1 || c.Parents[0] != v.Tip {
			return errPack
		}
		tip, err := objects.Commit(v.Tip)
		if err != nil {
			return err
		}
		hashes, err = objects.New(tip.Tree, c.Tree)
		return err
	})
	if err != nil {
		return 0, err
	}
	if hashes = append(hashes, commit); v.Loose+len(hashes) > maxLoose {
		return 0, errPack
	}
	for _, hash := range hashes { // what others refer to comes first
		name := filepath.Join(hash[:2], hash[2:])
		to := filepath.Join(dir, "objects", name)
		if exists(to) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(s.engine.Store, name))
		if errors.Is(err, os.ErrNotExist) {
			return n, errPack
		}
		if err == nil {
			err = replaceFile(to, content, false)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// pack puts a pack with what is wanted into a view. When it has many packs or objects that are
// files of their own, one with everything takes the place of all.
func (s *Workspaces) pack(ctx context.Context, dir string, v *view, want []string) error {
	folder := filepath.Join(dir, "objects", "pack")
	packing := git.Packing{Want: want, Have: []string{v.Base, v.Tip}}
	old, err := filepath.Glob(filepath.Join(escapeGlob(folder), "pack-*"))
	if err != nil {
		return err
	}
	indexes := slices.DeleteFunc(slices.Clone(old), func(path string) bool { return filepath.Ext(path) != ".idx" })
	all := len(indexes) >= maxPacks || v.Loose+maxPacks > maxLoose
	if !all {
		old = nil
	} else {
		packing = git.Packing{Want: slices.Concat(want, []string{v.Tip}, s.ownTags(dir, v.Base)), Have: []string{v.Base}}
	}
	repo := s.engine
	if repo.Store, err = s.newObjects(); err != nil {
		return err
	}
	defer removeAll(repo.Store) // what stays is swept by Recover
	if err := repo.Pack(ctx, packing); err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(escapeGlob(repo.Store), "pack", "pack-*"))
	if err != nil {
		return err
	}
	// Git looks for indexes, so a pack's comes last when it is made and goes first
	// when it is removed.
	byIndex := func(last int) func(a, b string) int {
		return func(a, b string) int {
			return last * (isIndex(a) - isIndex(b))
		}
	}
	slices.SortFunc(made, byIndex(1))
	for _, path := range made {
		place := filepath.Join(folder, filepath.Base(path))
		old = slices.DeleteFunc(old, func(path string) bool { return path == place })
		if err := os.Rename(path, place); err != nil {
			return err
		}
	}
	slices.SortFunc(old, byIndex(-1))
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if all {
		err, v.Loose = removeLoose(filepath.Join(dir, "objects")), 0
	}
	return err
}

// removeLoose removes the objects of a folder that are files of their own.
func removeLoose(objects string) error {
	folders, err := filepath.Glob(filepath.Join(escapeGlob(objects), "[0-9a-f][0-9a-f]"))
	for _, folder := range folders {
		err = errors.Join(err, removeAll(folder))
	}
	return err
}

func isIndex(path string) int {
	if filepath.Ext(path) == ".idx" {
		return 1
	}
	return 0
}

// showEnds writes the file that says where the history of a view ends, if it is not
// whole: where that of its store does, and where a commit that came after the base
// has parents that the view does not have.
func (s *Workspaces) showEnds(ctx context.Context, dir string, v view, commit string) error {
	ends, err := os.ReadFile(filepath.Join(s.stores.dir(v.Base), "shallow"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	list := append(strings.Fields(string(ends)), strings.Fields(readUpTo(filepath.Join(dir, "shallow"), maxList))...)
	added, err := s.engine.Reachable(ctx, commit, searchedLast, v.Base, v.Tip)
	if err != nil {
		return err
	}
	parents := map[string][]string{}
	err = s.reading(ctx, func(objects *git.Objects) error {
		for _, hash := range added {
			c, err := objects.Commit(hash)
			if err != nil {
				return err
			}
			parents[hash] = c.Parents
		}
		return nil
	})
	if err != nil {
		return err
	}
	there, err := s.among(ctx, filepath.Join(dir, "objects"), slices.Concat(slices.Collect(maps.Values(parents))...))
	if err != nil {
		return err
	}
	for hash, of := range parents {
		if slices.ContainsFunc(of, func(p string) bool { return !slices.Contains(there, p) }) {
			list = append(list, hash)
		}
	}
	slices.Sort(list)
	return display(filepath.Join(dir, "shallow"), lineEach(slices.Compact(list)))
}

// showTags gives a view the tags of the user's that point into the history of a
// commit that it has, as they are now. Of a history that was cut it has those that
// there were then.
func (s *Workspaces) showTags(ctx context.Context, dir, base, commit string) error {
	path := filepath.Join(dir, "packed-refs")
	known := tagsIn(s.stores.dir(base))
	if s.stores.note(base) != "" {
		return display(path, known)
	}
	tags := s.tags(ctx, commit)
	if objects := unknown(tags, known+tagsIn(dir)); len(objects) > 0 {
		if err := s.pack(ctx, dir, &view{Base: base, Tip: commit}, objects); err != nil {
			return err
		}
	}
	return display(path, packedRefs(tags))
}

// tags are the user's tags that point to a commit or an ancestor. None of them is
// worth a failure.
func (s *Workspaces) tags(ctx context.Context, commit string) []git.Tag {
	folder, _ := os.ReadDir(filepath.Join(s.user.Dir, "refs", "tags"))
	if len(folder) == 0 && !strings.Contains(tagsIn(s.user.Dir), " refs/tags/") && !exists(filepath.Join(s.user.Dir, "reftable")) {
		return nil
	}
	tags, err := s.user.Tags(ctx, commit)
	if err != nil {
		s.log.WarnContext(ctx, "commands will see no tags", "commit", commit, "because", err)
	}
	return tags
}

// ownTags are the objects that tags of a view need and its store may not have.
func (s *Workspaces) ownTags(dir, base string) []string {
	known := tagsIn(s.stores.dir(base))
	var own []string
	for line := range strings.Lines(tagsIn(dir)) {
		if hash, _, _ := strings.Cut(line, " "); !strings.Contains(known, hash) {
			own = append(own, hash)
		}
	}
	return own
}

// tagsIn is the list of tags in a view, a store or the user's repository, as
// packed-refs has it.
func tagsIn(dir string) string {
	return readUpTo(filepath.Join(dir, "packed-refs"), maxList)
}

// packedRefs is a list of tags as packed-refs has it.
func packedRefs(tags []git.Tag) string {
	var b strings.Builder
	for _, t := range tags {
		b.WriteString(t.Hash + " " + t.Ref + "\n")
	}
	return b.String()
}

// unknown are the objects of those tags that have one and are not in a list.
func unknown(tags []git.Tag, known string) []string {
	var objects []string
	for _, t := range tags {
		if t.Hash != t.Commit && !strings.Contains(known, t.Hash) {
			objects = append(objects, t.Hash)
		}
	}
	return objects
}

// basesInUse are the base commits of the worktrees' stores.
func (s *Workspaces) basesInUse() (map[string]bool, error) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(s.desks()), "*", "view.json"))
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, path := range paths {
		var v view
		if json.Unmarshal([]byte(readPlain(path)), &v) == nil {
			used[v.Base] = true
		}
	}
	return used, nil
}

// Visible are the folders besides dir that git needs to be able to read when it is
// run in dir, a worktree or a clean checkout, by an agent or a gate: show them
// read-only. They hold objects that the run's own commits reach, and nothing else;
// none of them is the user's.
func (s *Workspaces) Visible(dir string) []string {
	var folders []string
	var entry string
	for _, parent := range []string{filepath.Dir(s.plainOf("x")), s.layered()} {
		if below, found := strings.CutPrefix(dir, parent+"/"); found {
			k, _, _ := strings.Cut(below, "/")
			entry = filepath.Join(s.shown(), k)
			folders = []string{entry}
		}
	}
	if below, found := strings.CutPrefix(dir, filepath.Dir(s.checkoutDir("x"))+"/"); found {
		commit, _, _ := strings.Cut(below, "/")
		entry = filepath.Join(s.checkoutDir(commit), ".git")
	}
	if entry == "" {
		return nil
	}
	for _, lender := range lenders(filepath.Join(entry, "objects")) {
		if filepath.Dir(lender) == s.stores.folder() {
			folders = append(folders, lender)
		}
	}
	return folders
}

// takeOver puts right what earlier versions left, in which the worktrees shared one
// git folder that borrowed all of the user's objects.
func (s *Workspaces) takeOver(ctx context.Context) error {
	shared := filepath.Dir(s.shown())
	head := filepath.Join(shared, "HEAD")
	if !exists(head) {
		return nil
	}
	entries, err := os.ReadDir(shared)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if path := filepath.Join(shared, entry.Name()); path != s.shown() && path != head {
			if err := removeAll(path); err != nil {
				return err
			}
		}
	}
	notes, err := filepath.Glob(filepath.Join(escapeGlob(s.desks()), "*", "worktree.json"))
	if err != nil {
		return err
	}
	for _, path := range notes {
		name := strings.ReplaceAll(filepath.Base(filepath.Dir(path)), "@", "/") // see key
		if err := s.takeOverWorktree(ctx, name); err != nil {
			s.log.WarnContext(ctx, "commands in a worktree cannot see the history until the worktree is opened", "worktree", name, "because", err)
		}
	}
	return os.Remove(head)
}

func (s *Workspaces) takeOverWorktree(ctx context.Context, name string) error {
	w, unlock, err := s.worktree(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	known, err := w.read()
	if err != nil || !known || !exists(w.folder) || w.note.Restoring {
		return err // Open will see to it
	}
	if err := w.showAgain(ctx); err != nil {
		return err
	}
	return s.showTags(ctx, w.shown, w.view().Base, w.at())
}

// display makes a file of a view have the content, and removes it when that is
// empty. What a power cut damages is put right when the view is shown again.
func display(path, content string) error {
	if content != "" {
		if readUpTo(path, maxList) == content {
			return nil
		}
		return replaceFile(path, []byte(content), false)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// removeIn empties a folder, which may not be there.
func removeIn(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range entries {
		errs = append(errs, removeAll(filepath.Join(folder, entry.Name())))
	}
	return errors.Join(errs...)
}
