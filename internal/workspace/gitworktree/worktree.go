package gitworktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"pawl"
	"pawl/internal/git"
)

// worktree is one worktree. Its lock is held during every call about it.
type worktree struct {
	s     *Workspaces
	name  string
	shown string // the git folder that its .git file points to
	desk  string // what we keep about it, out of everybody's reach

	mu sync.Mutex
	// What it is made of; see trees.go.
	folder    string      // where it is kept
	lower     string      // the commit whose tree is below it; empty = it is a folder like others
	dir       string      // its files as git finds them
	files     string      // as this process does; empty until they are joined
	joined    pawl.Joined // nil until then, and where nothing is joined
	untouched bool        // it is new, and its files are those of its commit without any work

	note      note
	furniture pawl.Furniture       // what was put into it
	base      pawl.CommitHash      // what Open was told; empty when it was not called yet
	limits    pawl.RecordingLimits // during a call
	memory    *memory              // what is known of its index; nil = nothing
	listed    int                  // how many entries its index had when they were last listed; 0 = not known
}

// note is what is remembered of a worktree, in worktree.json.
type note struct {
	Branch string `json:"branch"`
	// Head is the commit the worktree belongs on.
	Head string `json:"head"`
	// Shown is the commit it shows instead, detached from its branch; empty = none.
	Shown string `json:"shown,omitempty"`
	// Restoring reports that its files are on their way to that commit, and that
	// nothing in them needs saving.
	Restoring bool `json:"restoring,omitempty"`
	// Saved is the ref that keeps what it held when it was last detached.
	Saved string `json:"saved,omitempty"`
}

// at is the commit that the worktree's files lie on.
func (w *worktree) at() string {
	if w.note.Shown != "" {
		return w.note.Shown
	}
	return w.note.Head
}

// worktree returns the named worktree, locked. The caller calls unlock.
func (s *Workspaces) worktree(ctx context.Context, name string) (w *worktree, unlock func(), err error) {
	if err := checkName(name); err != nil {
		return nil, nil, err
	}
	k := key(name)
	s.mu.Lock()
	w = s.worktrees[k]
	if w == nil {
		w = &worktree{
			s: s, name: name,
			shown: filepath.Join(s.shown(), k),
			desk:  filepath.Join(s.desks(), k),
		}
		w.readFurniture()
		s.worktrees[k] = w
	}
	s.mu.Unlock()
	w.mu.Lock()
	w.plan()
	w.limits = s.limits(ctx).Filled()
	return w, w.mu.Unlock, nil
}

// quarantined is the folder of repositories that agents left in worktrees.
func (s *Workspaces) quarantined() string { return filepath.Join(s.state, "quarantine") }

// desks is the folder of what is kept about the worktrees.
func (s *Workspaces) desks() string { return filepath.Join(s.state, "engine", "worktrees") }

// enter returns the named worktree, locked and put right: its note is read, a
// restoring that was interrupted is finished, its .git file is ours.
func (s *Workspaces) enter(ctx context.Context, name string) (w *worktree, unlock func(), err error) {
	w, unlock, err = s.worktree(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if err := w.ready(ctx); err != nil {
		unlock()
		return nil, nil, err
	}
	return w, unlock, nil
}

// ready makes sure that the worktree can be worked with.
func (w *worktree) ready(ctx context.Context) error {
	known, err := w.read()
	if err != nil {
		return err
	}
	if !known {
		return pawl.Errorf(pawl.CodeNotFound, "there is no worktree %s", w.name)
	}
	there, err := w.there(ctx)
	if err != nil {
		return err
	}
	if !there && !w.note.Restoring {
		return pawl.Errorf(pawl.CodeState, "the folder of worktree %s is gone: %s", w.name, w.folder).
			WithHint("what was committed is on branch %s; opening the worktree again creates it again", w.note.Branch)
	}
	return w.arrive(ctx)
}

// arrive finishes a restoring that was interrupted and puts the .git file right.
func (w *worktree) arrive(ctx context.Context) error {
	if err := w.join(ctx); err != nil {
		return err
	}
	if w.note.Restoring {
		return w.restore(ctx)
	}
	if err := w.point(ctx); err != nil {
		return err
	}
	if isOwned(w.files, w.s.owner()) {
		return nil
	}
	return w.give() // it was made before commands ran as somebody else
}

// give gives the worktree's files to whoever commands run as, itself last.
func (w *worktree) give() error { return giveAll(w.files, w.s.owner()) }

// read reads the note and reports whether there is one.
func (w *worktree) read() (bool, error) {
	w.note = note{}
	content, err := os.ReadFile(w.notePath())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, explain("read about worktree "+w.name, err)
	}
	if err := json.Unmarshal(content, &w.note); err != nil || checkBranch(w.note.Branch) != nil || checkHashes(w.note.Head, w.at()) != nil {
		return false, pawl.Errorf(pawl.CodeDamaged, "%s cannot be read", w.notePath()).
			WithHint("remove the file; opening worktree %s again then takes its files as they are", w.name)
	}
	return true, nil
}

// write stores the note.
func (w *worktree) write() error {
	content, err := json.Marshal(w.note)
	if err != nil {
		return fmt.Errorf("write about worktree %s: %w", w.name, err)
	}
	if err := writeFile(w.notePath(), append(content, '\n')); err != nil {
		return explain("write about worktree "+w.name, err)
	}
	return nil
}

func (w *worktree) notePath() string { return filepath.Join(w.desk, "worktree.json") }

// index is the index that records the worktree. It never holds .pawl/tasks.
func (w *worktree) index() string { return filepath.Join(w.desk, "index") }

// full is the index that holds .pawl/tasks too, made for a commit.
func (w *worktree) full() string { return filepath.Join(w.desk, "full") }

// repo aims git at the worktree with one of its indexes.
func (w *worktree) repo(index string) git.Repo {
	r := w.s.engine
	r.WorkTree, r.Index = w.dir, index
	if w.joined != nil {
		r.Run = w.joined.Run
	}
	return w.excluding(r)
}

// there reports whether the worktree's folder exists. Anything else in its place
// is an error: git would follow a symbolic link out of the state folder.
func (w *worktree) there(ctx context.Context) (bool, error) {
	info, err := os.Lstat(w.folder)
	if errors.Is(err, os.ErrNotExist) {
		return false, w.part()
	}
	if err != nil {
		return false, explain("look at worktree "+w.name, err)
	}
	if !info.IsDir() {
		return false, pawl.Errorf(pawl.CodeState, "%s is not a folder", w.folder).
			WithHint("something replaced it: look at it, move it away and open the worktree again")
	}
	if w.lower == "" {
		return true, nil
	}
	if err := w.join(ctx); err != nil {
		return false, err
	}
	return exists(w.files), nil
}

// point makes the worktree's .git file what it should be.
func (w *worktree) point(ctx context.Context) error {
	return explain("point worktree "+w.name+" to its repository", w.pointer(ctx))
}

// pointer makes .git in the worktree a plain file that names its entry. What an
// agent put in its place is removed, or moved aside when it is a folder.
func (w *worktree) pointer(ctx context.Context) error {
	path, want := filepath.Join(w.files, ".git"), "gitdir: "+w.shown+"\n"
	if readPlain(path) == want {
		return nil
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist): // a new worktree, or somebody removed it
	case err != nil:
		return err
	case info.IsDir():
		moved, err := moveAway(path, w.asides(), key(w.name))
		if err != nil {
			return err
		}
		w.s.log.WarnContext(ctx, "moved a repository aside that took the place of a worktree's .git file", "path", w.public(path), "to", w.public(moved))
	default:
		if err := os.Remove(path); err != nil {
			return err
		}
		w.s.log.WarnContext(ctx, "replaced a worktree's .git file that was changed", "path", w.public(path))
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(want)
	return errors.Join(err, f.Close())
}
