package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/git"
)

// Reset saves what the worktree holds beyond commit under a salvage ref and
// makes the worktree equal to commit, which becomes the branch's head. The
// branch's former head is saved too, if it is not in the history of commit.
// salvage is the full name of the ref, below refs/pawl/, and new for every
// Reset; if it names something else already, a number is added to it.
func (s *Workspaces) Reset(ctx context.Context, name string, commit pawl.CommitHash, salvage string) (pawl.WorkspaceState, error) {
	w, target, unlock, err := s.enterFor(ctx, name, commit, salvage)
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	defer unlock()
	state, err := w.reset(ctx, target, salvage)
	return state, explain("reset worktree "+name, err)
}

// enterFor enters a worktree that is to go to a commit, what would be lost being
// saved under a ref.
func (s *Workspaces) enterFor(ctx context.Context, name string, commit pawl.CommitHash, salvage string) (w *worktree, target git.Commit, unlock func(), err error) {
	if err := checkKept(salvage); err != nil {
		return nil, git.Commit{}, nil, err
	}
	if target, err = s.commit(ctx, commit); err != nil {
		return nil, git.Commit{}, nil, err
	}
	w, unlock, err = s.enter(ctx, name)
	return w, target, unlock, err
}

// arriveAt makes the files those of the target, of which a note is made, unless they
// are so already.
func (w *worktree) arriveAt(ctx context.Context, target git.Commit, clean bool, saved string) (pawl.WorkspaceState, error) {
	if !clean {
		if err := w.restore(ctx); err != nil {
			return pawl.WorkspaceState{}, err
		}
	}
	r, err := w.record(ctx)
	return pawl.WorkspaceState{Head: pawl.CommitHash(target.Hash), Tree: pawl.TreeHash(r.tree), Salvage: saved}, err
}

func (w *worktree) reset(ctx context.Context, target git.Commit, salvage string) (pawl.WorkspaceState, error) {
	ref := refOf(w.note.Branch)
	head, err := w.s.ref(ctx, ref)
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	if head.Hash == "" {
		return pawl.WorkspaceState{}, missingBranch(w.note.Branch, w.note.Head)
	}
	merged := true
	if head.Hash != target.Hash {
		if err := w.s.checkFree(w.note.Branch); err != nil {
			return pawl.WorkspaceState{}, err
		}
		if merged, err = w.s.user.IsAncestor(ctx, head.Hash, target.Hash); err != nil {
			return pawl.WorkspaceState{}, err
		}
	}
	saved, clean, err := w.setAside(ctx, head, target, merged, salvage)
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	to := note{Branch: w.note.Branch, Head: target.Hash, Restoring: !clean}
	if w.note.Shown != "" {
		to.Saved = saved
	}
	if err := w.head(to); err != nil {
		return pawl.WorkspaceState{}, err
	}
	if head.Hash != target.Hash {
		if err := w.s.moveRef(ctx, ref, target.Hash, head.Hash); err != nil {
			return pawl.WorkspaceState{}, err
		}
	}
	return w.arriveAt(ctx, target, clean, saved)
}

// head makes a note of where the worktree goes.
func (w *worktree) head(to note) error {
	if w.note == to {
		return nil
	}
	w.note = to
	return w.write()
}

// setAside saves what would be lost when the worktree goes from head, its branch's,
// to target, and returns the ref that has it; what cannot be recorded is moved aside. merged reports that head itself is not
// lost. clean reports that the worktree is at target already.
func (w *worktree) setAside(ctx context.Context, head, target git.Commit, merged bool, salvage string) (saved string, clean bool, err error) {
	_, full, err := w.recordAll(ctx)
	if err != nil {
		return "", false, err
	}
	clean = full.tree == target.Tree && len(w.leftOut(full.seen)) == 0 && w.at() == target.Hash
	// The same call may have come this far before.
	earlier, err := w.s.ref(ctx, salvage)
	if err != nil {
		return "", false, err
	}
	holds := merged || earlier.Hash == head.Hash || len(earlier.Parents) > 0 && earlier.Parents[0] == head.Hash
	if earlier.Hash != "" && holds && (full.tree == target.Tree || full.tree == earlier.Tree) {
		return salvage, clean, w.clear(ctx, full.seen)
	}
	under, err := w.under(ctx, head)
	if err != nil {
		return "", false, err
	}
	work := full.tree != target.Tree && full.tree != head.Tree && full.tree != under.Tree
	switch {
	case work && merged:
		saved, err = w.s.keep(ctx, salvage, under, full.tree)
	case work:
		saved, err = w.s.keep(ctx, salvage, head, full.tree)
	case !merged:
		saved, err = w.s.keep(ctx, salvage, head, head.Tree)
	}
	if err == nil {
		err = w.clear(ctx, full.seen)
	}
	return saved, clean, err
}

// under is the commit that the worktree's files lie on. That is behind the
// branch's head where [Workspaces.Advance] moved the branch, and beside it where
// [Workspaces.Show] left it.
func (w *worktree) under(ctx context.Context, head git.Commit) (git.Commit, error) {
	if w.at() == head.Hash {
		return head, nil
	}
	at, err := w.s.commit(ctx, pawl.CommitHash(w.at()))
	if pawl.CodeOf(err) == pawl.CodeNotFound {
		return head, nil
	}
	if err != nil || w.note.Shown != "" {
		return at, err
	}
	behind, err := w.s.user.IsAncestor(ctx, at.Hash, head.Hash)
	if err != nil || !behind {
		return head, err
	}
	return at, nil
}

// Keep implements [pawl.Workspaces].
func (s *Workspaces) Keep(ctx context.Context, name, salvage string) (found pawl.Recording, saved string, err error) {
	if err := checkKept(salvage); err != nil {
		return found, "", err
	}
	w, unlock, err := s.enter(ctx, name)
	if err != nil {
		return found, "", err
	}
	defer unlock()
	r, err := w.record(ctx)
	if err != nil {
		return found, "", err
	}
	found = w.recorded(r)
	head, err := w.s.ref(ctx, refOf(w.note.Branch))
	if err != nil {
		return found, "", err
	}
	if head.Hash == "" {
		return found, "", missingBranch(w.note.Branch, w.note.Head)
	}
	under, err := w.under(ctx, head)
	if err == nil && r.tree != head.Tree && r.tree != under.Tree {
		saved, err = s.keep(ctx, salvage, under, r.tree)
	}
	return found, saved, explain("save the content of worktree "+name, err)
}

// keep makes a tree reachable, and head below it, by a ref whose name is free or
// that keeps just this. The name it returns may have a number at its end.
func (s *Workspaces) keep(ctx context.Context, ref string, head git.Commit, tree string) (string, error) {
	commit := head.Hash
	if tree != head.Tree {
		var err error
		text := "Work set aside\n\nWhat a worktree held beyond " + head.Hash + ".\n"
		if commit, err = s.writeCommit(ctx, pawl.Identity{}, tree, []string{head.Hash}, text, s.now()); err != nil {
			return "", err
		}
	}
	for n := 1; ; n++ {
		name := ref
		if n > 1 {
			name = fmt.Sprintf("%s-%d", ref, n)
		}
		have, err := s.ref(ctx, name)
		if err != nil {
			return "", err
		}
		same := have.Hash == commit || tree != head.Tree && have.Tree == tree && len(have.Parents) == 1 && have.Parents[0] == head.Hash
		if have.Hash != "" && same {
			return name, nil
		}
		if have.Hash != "" {
			continue
		}
		return name, s.moveRef(ctx, name, commit, "")
	}
}

// restore makes the worktree's files equal to the commit it belongs on. What is
// ignored stays, unless it is in the way.
func (w *worktree) restore(ctx context.Context) error {
	doing := "restore worktree " + w.name
	if err := os.MkdirAll(w.files, 0o755); err != nil {
		return explain(doing, err)
	}
	if err := w.point(ctx); err != nil {
		return err
	}
	shown := w.index() // of a new worktree, which need not be looked at
	var err error
	if !w.untouched {
		shown = w.full()
		err = w.restoreFiles(ctx)
	}
	if e, ok := errors.AsType[*git.Error](err); ok && !e.Signaled {
		// An agent may have made folders unwritable, or the index is damaged.
		openUp(w.files)
		if err = os.Remove(w.index()); err == nil || errors.Is(err, os.ErrNotExist) {
			err = w.restoreFiles(ctx)
		}
	}
	if err == nil {
		err = w.show(ctx, w.at(), shown)
	}
	if err == nil && shown != w.index() {
		err = copyIndex(shown, w.index())
	}
	if err == nil && exists(filepath.Join(w.files, filepath.FromSlash(tasks))) {
		err = w.repo(w.index()).Forget(ctx, tasks)
	}
	if err == nil {
		err = w.reached()
	}
	if err != nil {
		return explain(doing, err)
	}
	w.note.Restoring = false
	return w.write()
}

func (w *worktree) restoreFiles(ctx context.Context) error {
	repo := w.repo(w.full())
	for _, index := range []string{w.full(), w.index()} {
		if err := w.s.clearLock(ctx, index+".lock"); err != nil {
			return err
		}
	}
	if _, err := w.remember(false); err != nil {
		return err
	}
	if err := copyIndex(w.index(), w.full()); err != nil {
		if err := w.fresh(ctx, w.full()); err != nil {
			return err
		}
	}
	if err := repo.CheckOut(ctx, w.at()); err != nil {
		return err
	}
	if err := repo.Clean(ctx); err != nil {
		return err
	}
	entries, err := repo.List(ctx)
	if err != nil {
		return err
	}
	if err := w.vacate(w.occupied(entries)); err != nil {
		return err
	}
	return w.give()
}

// vacate empties the folders of submodules.
func (w *worktree) vacate(folders []string) error {
	root, err := os.OpenRoot(w.files) // it does not follow symbolic links out of the worktree
	if err != nil {
		return err
	}
	defer root.Close()
	for _, folder := range folders {
		if err := root.RemoveAll(folder); err != nil {
			return err
		}
		if err := root.Mkdir(folder, 0o755); err != nil {
			return err
		}
	}
	return nil
}
