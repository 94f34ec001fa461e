package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/git/index"
)

// nesting bounds how often a recording starts again because it found
// repositories within what was a repository before.
const nesting = 16

// record is a worktree's content as it was found.
type record struct {
	tree  string // without .pawl/tasks
	index string // the index that holds it
	// seen tells what the record leaves out.
	seen []sight
}

// Tree records the worktree's present content as a git tree. What .gitignore
// names is not part of it, nor is .pawl/tasks. If a path is given, no other file is looked at,
// as far as this process has recorded the worktree before.
func (s *Workspaces) Tree(ctx context.Context, name string, wrote ...string) (pawl.Recording, error) {
	w, unlock, err := s.enter(ctx, name)
	if err != nil {
		return pawl.Recording{}, err
	}
	defer unlock()
	r, err := w.record(ctx, wrote...)
	return w.recorded(r), err
}

// recorded returns what others need to know of a record.
func (w *worktree) recorded(r record) pawl.Recording {
	stale := slices.ContainsFunc(r.seen, func(s sight) bool { return s.none })
	return pawl.Recording{Tree: pawl.TreeHash(r.tree), LeftOut: w.leftOut(r.seen), Stale: stale}
}

// record records what the worktree holds.
func (w *worktree) record(ctx context.Context, wrote ...string) (record, error) {
	only := ""
	if len(wrote) == 1 {
		only = wrote[0]
	}
	r, _, err := w.recordDirectly(ctx, false, only)
	if err == nil {
		return r, nil
	}
	if err := w.leave(ctx, err); err != nil {
		return record{}, err
	}
	return w.recordByGit(ctx)
}

// leave notes that a recording is left to git. It returns the other errors.
func (w *worktree) leave(ctx context.Context, err error) error {
	u, ok := errors.AsType[*index.Unsupported](err)
	if !ok {
		return explain("record worktree "+w.name, err)
	}
	level := slog.LevelDebug
	if w.s.recorded(u.Reason) == 1 { // the counter tells of further ones
		level = slog.LevelInfo
	}
	w.s.log.Log(ctx, level, "git records a worktree, which takes longer", "worktree", w.name, "reason", u.Reason, "because", u)
	return nil
}

// recordByGit records what the worktree holds with git.
func (w *worktree) recordByGit(ctx context.Context) (record, error) {
	r, err := w.tryRecord(ctx)
	for _, mend := range []func() error{
		// An agent may have made files unreadable.
		func() error { openUp(w.files); return nil },
		// The index may be damaged, or name objects that a git gc of the user removed:
		// without it every file is read again.
		func() error { return os.Remove(w.index()) },
	} {
		if err == nil || ctx.Err() != nil || errors.Is(err, errQuarantine) || errors.Is(err, git.ErrTimeout) {
			break
		}
		w.s.log.WarnContext(ctx, "recording a worktree again", "worktree", w.name, "because", err)
		// Whoever held the files may have died.
		if err := w.join(ctx); err != nil {
			return record{}, err
		}
		if err := mend(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return record{}, explain("record worktree "+w.name, err)
		}
		r, err = w.tryRecord(ctx)
	}
	if e, ok := errors.AsType[*git.Error](err); ok && e.Args[0] == "add" {
		err = explain("record worktree "+w.name, err)
		if pawl.CodeOf(err) == pawl.CodeInternal {
			err = pawl.Errorf(pawl.CodeState, "worktree %s holds what git cannot record: %w", w.name, e).
				WithHint("remove or rename in %s what the message names", w.dir)
		}
	}
	if err != nil {
		return record{}, explain("record worktree "+w.name, err)
	}
	return r, nil
}

func (w *worktree) tryRecord(ctx context.Context) (record, error) {
	r := record{index: w.index()}
	if err := w.stage(); err != nil {
		return record{}, err
	}
	entries, err := w.addAll(ctx, w.recording(w.index()), &r)
	if err != nil {
		return record{}, err
	}
	if folders := w.occupied(entries); len(folders) > 0 {
		r.seen = append(r.seen, w.inSubmodules(folders))
	}
	if err = w.settle(); err == nil {
		err = w.reached()
	}
	return r, err
}

// addAll brings the record's index up to the worktree and writes its tree.
// Repositories that it finds in the worktree are moved aside, so that their files are
// recorded as files.
func (w *worktree) addAll(ctx context.Context, repo git.Repo, r *record) (entries []git.Entry, err error) {
	for range nesting {
		fresh, err := w.fill(ctx, repo)
		if err != nil {
			return nil, err
		}
		r.seen = nil
		if err := w.takeUp(ctx, repo.Index, r, fresh, w.except()...); err != nil {
			return nil, err
		}
		if entries, r.tree, err = written(ctx, repo); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(entries, isTask) {
			// Whoever filled the index was killed before it was without them.
			if err := repo.Forget(ctx, tasks); err != nil {
				return nil, err
			}
			continue
		}
		w.listed = len(entries)
		nested := w.nested(entries)
		if len(nested) == 0 {
			return entries, nil
		}
		if err := w.quarantine(ctx, nested); err != nil {
			return nil, err
		}
		// The index may name a repository where there are only files now.
		if err := os.Remove(repo.Index); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return nil, pawl.Errorf(pawl.CodeState, "worktree %s has repositories nested more than %d deep", w.name, nesting)
}

// isTask reports whether an entry is one of .pawl/tasks.
func isTask(e git.Entry) bool { return strings.HasPrefix(e.Name, tasks+"/") }

// except is what a recording does not look at. Git refuses to leave out what is
// behind a symbolic link, where it never looks.
func (w *worktree) except() []string {
	if info, err := os.Lstat(filepath.Join(w.files, path.Dir(tasks))); err != nil || !info.IsDir() {
		return nil
	}
	return []string{tasks}
}

// written lists the index and writes its tree, both at once.
func written(ctx context.Context, repo git.Repo) (entries []git.Entry, tree string, err error) {
	var group errgroup.Group
	group.Go(func() (err error) {
		entries, err = repo.List(ctx)
		return err
	})
	group.Go(func() (err error) {
		tree, err = repo.WriteTree(ctx)
		return err
	})
	return entries, tree, group.Wait()
}

// fill makes the index from the worktree's commit if there is none, and reports
// whether it did.
func (w *worktree) fill(ctx context.Context, repo git.Repo) (fresh bool, err error) {
	if err := w.s.clearLock(ctx, repo.Index+".lock"); err != nil {
		return false, err
	}
	if _, err := os.Stat(repo.Index); err == nil {
		return false, nil
	}
	if err := repo.ReadTree(ctx, w.at()); err != nil {
		return false, err
	}
	return true, repo.Forget(ctx, tasks)
}

// fresh makes sure that there is no index at the path.
func (w *worktree) fresh(ctx context.Context, index string) error {
	if err := w.s.clearLock(ctx, index+".lock"); err != nil {
		return err
	}
	if err := os.Remove(index); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// nested lists the .git files and folders beside recorded files, and those of
// the repositories that git took for submodules. Folders that are ignored have
// no recorded files and are not looked at.
func (w *worktree) nested(entries []git.Entry) []string {
	var found []string
	seen := map[string]bool{".": true}
	look := func(folder string) {
		// Folders above one that was seen were seen with it.
		for ; !seen[folder]; folder = path.Dir(folder) {
			seen[folder] = true
			if at := filepath.Join(w.files, folder, ".git"); exists(at) {
				found = append(found, at)
			}
		}
	}
	for _, e := range entries {
		if e.Mode == git.ModeSubmodule {
			look(e.Name)
		} else {
			look(path.Dir(e.Name))
		}
	}
	return found
}

// search lists all nested .git files and folders below a folder of the worktree,
// in ignored folders too; none when it is elsewhere, behind a symbolic link.
func (w *worktree) search(folder string) []string {
	if !w.isFolder(folder) {
		return nil
	}
	top := filepath.Join(w.files, folder)
	var found []string
	_ = filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != ".git" {
			return nil //nolint:nilerr // what cannot be read is git's to complain about
		}
		if at != filepath.Join(w.files, ".git") {
			found = append(found, at)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return found
}

// errQuarantine means that trying again is of no use.
var errQuarantine = errors.New("cannot be moved aside")

// quarantine moves nested repositories' .git out of the worktree.
func (w *worktree) quarantine(ctx context.Context, paths []string) error {
	for _, at := range paths {
		var moved string
		folder, err := filepath.Rel(w.files, filepath.Dir(at))
		if err == nil && (folder == "." || !w.isFolder(folder)) {
			err = errors.New("it is behind a symbolic link")
		}
		if err == nil {
			moved, err = moveAway(at, w.asides(), key(w.name))
		}
		if err != nil {
			e := pawl.Errorf(pawl.CodeState, "worktree %s has a git repository in it: %s %w", w.name, w.public(at), errQuarantine)
			return e.WithHint("its files cannot be recorded: remove %s (%v)", w.public(at), err)
		}
		w.s.log.WarnContext(ctx, "moved a nested git repository aside; its files are recorded as files", "path", w.public(at), "to", w.public(moved))
	}
	return nil
}

// occupied lists the folders of submodules that hold files.
func (w *worktree) occupied(entries []git.Entry) []string {
	var found []string
	for _, e := range entries {
		if e.Mode != git.ModeSubmodule {
			continue
		}
		at := filepath.Join(w.files, e.Name)
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			continue // git records what there is instead
		}
		if files, _ := os.ReadDir(at); len(files) > 0 {
			found = append(found, e.Name)
		}
	}
	return found
}

// inSubmodules leaves out what is in the folders of submodules: where they are, a commit
// refers to a commit of another repository.
func (w *worktree) inSubmodules(folders []string) sight {
	s := sight{omitted: map[string]omission{}}
	for _, folder := range folders {
		o := omission{limit: pawl.LimitGitContent, why: "is a submodule, and what was written in it cannot be committed"}
		_ = filepath.WalkDir(filepath.Join(w.files, folder), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				o.files++
			}
			return nil // what cannot be read is not counted
		})
		o.files = max(o.files, 1)
		s.omitted[folder] = o
	}
	return s
}

// recordAll records what the worktree holds, and once more with .pawl/tasks.
func (w *worktree) recordAll(ctx context.Context) (r, full record, err error) {
	if r, full, err = w.recordDirectly(ctx, true, ""); err == nil {
		return r, full, nil
	}
	if err := w.leave(ctx, err); err != nil {
		return r, full, err
	}
	if r, err = w.recordByGit(ctx); err == nil {
		full, err = w.withTasks(ctx, r)
	}
	if err == nil {
		err = w.reached()
	}
	return r, full, err
}

// withTasks is a record with .pawl/tasks, as it is committed.
func (w *worktree) withTasks(ctx context.Context, r record) (record, error) {
	if !exists(filepath.Join(w.files, filepath.FromSlash(tasks))) {
		return r, nil
	}
	full := w.recording(w.full())
	err := w.quarantine(ctx, w.search(tasks))
	if err == nil {
		err = w.fresh(ctx, full.Index)
	}
	if err == nil {
		err = copyIndex(r.index, full.Index)
	}
	if err == nil {
		err = w.graftTasks(ctx, full)
	}
	if err == nil {
		err = w.takeUp(ctx, full.Index, &r, false)
	}
	r.index = full.Index
	if err == nil {
		r.tree, err = full.WriteTree(ctx)
	}
	if err == nil {
		err = w.settle()
	}
	if err != nil {
		return record{}, explain("record worktree "+w.name, err)
	}
	return r, nil
}

// graftTasks puts what the worktree's commit has in .pawl/tasks into an index that lacks it: a
// repository may ignore .pawl, and then git keeps there what it knows and nothing else.
func (w *worktree) graftTasks(ctx context.Context, full git.Repo) error {
	var tree git.Entry
	err := w.s.reading(ctx, func(objects *git.Objects) (err error) {
		tree, err = find(objects, w.at(), tasks)
		return err
	})
	if err != nil || tree.Mode != git.ModeTree {
		if pawl.CodeOf(err) == pawl.CodeInvalid { // a symbolic link is in its place
			return nil
		}
		return err
	}
	return full.Graft(ctx, tasks, tree.Hash)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// folder lists a folder of a commit or tree; nothing when it is not there.
func (s *Workspaces) folder(ctx context.Context, tree, name string) ([]git.Entry, error) {
	var entries []git.Entry
	err := s.reading(ctx, func(objects *git.Objects) error {
		e, err := find(objects, tree, name)
		if err != nil || e.Mode != git.ModeTree {
			return err
		}
		entries, err = objects.Tree(e.Hash)
		return err
	})
	return entries, err
}

// find looks a path up in a commit or tree; the zero Entry when it is not there.
// A path below something that is no folder is not there, below a symbolic link
// is an error.
func find(objects *git.Objects, tree, name string) (git.Entry, error) {
	at := git.Entry{Mode: git.ModeTree, Hash: tree}
	done := ""
	for part := range strings.SplitSeq(name, "/") {
		switch at.Mode {
		case git.ModeTree:
		case git.ModeSymlink:
			return git.Entry{}, pawl.Errorf(pawl.CodeInvalid, "%s is a symbolic link", done)
		default:
			return git.Entry{}, nil
		}
		entries, err := objects.Tree(at.Hash)
		if err != nil {
			return git.Entry{}, fmt.Errorf("look up %s: %w", name, err)
		}
		at = git.Entry{}
		for _, e := range entries {
			if e.Name == part {
				at = e
			}
		}
		if at.Name == "" {
			return at, nil
		}
		done = path.Join(done, part)
	}
	return at, nil
}
