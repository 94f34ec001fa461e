package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/git"
)

// reachBack is how many commits above its parent a repeated commit is looked for.
const reachBack = 64

// ref is what a ref of the user's repository points to; the zero Commit when
// there is no such ref.
func (s *Workspaces) ref(ctx context.Context, name string) (git.Commit, error) {
	var commit git.Commit
	err := s.reading(ctx, func(objects *git.Objects) error {
		var err error
		commit, err = objects.Commit(name)
		if errors.Is(err, git.ErrMissing) {
			return nil
		}
		return err
	})
	return commit, err
}

// commit reads a commit that must be there.
func (s *Workspaces) commit(ctx context.Context, hash pawl.CommitHash) (git.Commit, error) {
	if err := checkHashes(hash); err != nil {
		return git.Commit{}, err
	}
	var commit git.Commit
	err := s.reading(ctx, func(objects *git.Objects) error {
		var err error
		commit, err = objects.Commit(string(hash))
		return err
	})
	if errors.Is(err, git.ErrMissing) {
		return commit, pawl.Errorf(pawl.CodeNotFound, "commit %s is not in the repository", hash)
	}
	return commit, err
}

// reading lends a reader of the user's objects, which has all of ours, and refs.
func (s *Workspaces) reading(ctx context.Context, read func(*git.Objects) error) error {
	return explain("read the repository's objects", s.resident.Objects(ctx, read))
}

// moveRef moves a ref of ours in the user's repository from one commit to
// another; an empty old means that there is none yet.
func (s *Workspaces) moveRef(ctx context.Context, ref, to, old string) error {
	lock := filepath.Join(s.user.Dir, filepath.FromSlash(ref)+".lock")
	if err := s.clearLock(ctx, lock); err != nil {
		return err
	}
	err := s.resident.MoveRef(ctx, ref, to, old)
	if e, ok := errors.AsType[*git.Error](err); ok && e.Signaled {
		s.dropLock(ctx, lock) // the process that made it is dead
	}
	return err
}

// checkFree refuses a branch that the user has checked out: their files would
// look changed when it moves.
func (s *Workspaces) checkFree(branch string) error {
	if where := s.checkedOut(branch); where != "" {
		return pawl.Errorf(pawl.CodeState, "branch %s is checked out in %s", branch, where).
			WithHint("run git switch --detach there; this run moves the branch, and your files would look changed")
	}
	return nil
}

// checkedOut returns where the user has a branch checked out; empty = nowhere.
func (s *Workspaces) checkedOut(branch string) string {
	heads, _ := filepath.Glob(filepath.Join(escapeGlob(s.user.Dir), "worktrees", "*", "HEAD"))
	if !s.repository.Bare {
		heads = append(heads, filepath.Join(s.user.Dir, "HEAD"))
	}
	for _, head := range heads {
		if strings.TrimSpace(readPlain(head)) != "ref: "+refOf(branch) {
			continue
		}
		where := strings.TrimSuffix(s.user.Dir, "/.git")
		if pointer := readPlain(filepath.Join(filepath.Dir(head), "gitdir")); pointer != "" {
			where = filepath.Dir(strings.TrimSpace(pointer))
		}
		if _, err := os.Stat(where); err != nil {
			continue // a worktree that is gone
		}
		return where
	}
	return ""
}

// escapeGlob is a path as a pattern for itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// missingBranch is the error for a branch that somebody deleted.
func missingBranch(branch string, last string) error {
	return pawl.Errorf(pawl.CodeConflict, "branch %s is gone; its last commit was %s", branch, last).
		WithHint("git branch %s %s brings it back", branch, last)
}

// movedBranch is the error for a branch that is not where the caller says.
func movedBranch(branch string, want pawl.CommitHash, have string) error {
	return pawl.Errorf(pawl.CodeConflict, "branch %s is at %s, not at %s: somebody else moved it", branch, have, want).
		WithHint("%s", fmt.Sprintf("git log %s..%s shows what was added", want, branch))
}
