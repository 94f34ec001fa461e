package gitworktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"pawl"
)

// Close saves uncommitted work under the salvage ref, if there is any, and
// removes the worktree. The branch stays. When the work cannot be saved,
// nothing is removed.
func (s *Workspaces) Close(ctx context.Context, name, salvage string) (saved string, err error) {
	if err := checkKept(salvage); err != nil {
		return "", err
	}
	w, unlock, err := s.worktree(ctx, name)
	if err != nil {
		return "", err
	}
	defer unlock()
	saved, err = w.close(ctx, salvage)
	return saved, explain("close worktree "+name, err)
}

func (w *worktree) close(ctx context.Context, salvage string) (string, error) {
	known, err := w.read()
	if err != nil {
		return "", err
	}
	there, err := w.there(ctx)
	if err != nil {
		return "", err
	}
	if there && !known {
		return "", pawl.Errorf(pawl.CodeState, "%s is not known to be a worktree", w.folder).
			WithHint("open it again, then close it; or look at it and remove it by hand")
	}
	earlier, err := w.s.ref(ctx, salvage)
	if err != nil {
		return "", err
	}
	var saved string
	if earlier.Hash != "" {
		saved = salvage // an earlier call came this far
	}
	if there {
		if found, err := w.saveWork(ctx, salvage); err != nil {
			return "", err
		} else if found != "" {
			saved = found
		}
		if err := errors.Join(w.part(), w.tidy()); err != nil {
			return "", err
		}
		moved, err := moveAway(w.folder, filepath.Join(w.s.state, "trash"), filepath.Base(w.folder))
		if err != nil {
			return "", err
		}
		defer removeAll(filepath.Dir(moved)) // what stays is swept by Recover
	}
	return saved, errors.Join(removeAll(w.shown), w.forget())
}

// saveWork makes the worktree's content reachable and returns the ref that has
// it, empty when the branch's head has it.
func (w *worktree) saveWork(ctx context.Context, salvage string) (string, error) {
	if err := w.arrive(ctx); err != nil {
		return "", err
	}
	head, err := w.s.ref(ctx, refOf(w.note.Branch))
	if err != nil {
		return "", err
	}
	gone := head.Hash == "" // somebody deleted the branch: its last commit must be kept as well
	if gone {
		if head, err = w.s.commit(ctx, pawl.CommitHash(w.note.Head)); err != nil {
			return "", err
		}
	}
	_, full, err := w.recordAll(ctx)
	if err != nil {
		return "", err
	}
	under, err := w.under(ctx, head)
	if err != nil {
		return "", err
	}
	if gone { // nothing but this keeps it
		under = head
	}
	var saved string
	if gone || full.tree != head.Tree && full.tree != under.Tree {
		saved, err = w.s.keep(ctx, salvage, under, full.tree)
	}
	if err == nil {
		err = w.clear(ctx, full.seen)
	}
	return saved, err
}

// forget removes what is kept about the worktree, its note last.
func (w *worktree) forget() error {
	w.note, w.furniture = note{}, pawl.Furniture{}
	entries, err := os.ReadDir(w.desk)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if path := filepath.Join(w.desk, e.Name()); path != w.notePath() {
			if err := removeAll(path); err != nil {
				return err
			}
		}
	}
	return removeAll(w.desk)
}
