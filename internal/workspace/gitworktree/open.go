package gitworktree

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/git"
)

// Open makes the worktree of a loop, or finds the one there is, and its branch.
func (s *Workspaces) Open(ctx context.Context, spec pawl.WorkspaceSpec) (pawl.WorkspaceState, error) {
	if err := checkBranch(spec.Branch); err != nil {
		return pawl.WorkspaceState{}, err
	}
	w, unlock, err := s.worktree(ctx, spec.Name)
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	defer unlock()
	w.base = spec.Base
	state, err := w.open(ctx, spec)
	if err == nil {
		v := w.view()
		state.Note = s.stores.note(v.Base)
		err = s.showTags(ctx, w.shown, v.Base, w.at())
	}
	return state, explain("open worktree "+spec.Name, err)
}

func (w *worktree) open(ctx context.Context, spec pawl.WorkspaceSpec) (pawl.WorkspaceState, error) {
	known, err := w.read()
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	if known && w.note.Branch != spec.Branch {
		return pawl.WorkspaceState{}, pawl.Errorf(pawl.CodeConflict, "worktree %s is on branch %s, not on %s", w.name, w.note.Branch, spec.Branch)
	}
	there, err := w.there(ctx)
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	if there && !known && w.lower != "" {
		if there, err = w.hasWork(); err != nil {
			return pawl.WorkspaceState{}, err
		}
	}
	if err := w.s.checkFree(spec.Branch); err != nil {
		return pawl.WorkspaceState{}, err
	}
	head, err := w.branch(ctx, spec, known)
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	var result pawl.CommitHash
	if spec.Result != "" {
		if result, head, err = w.result(ctx, spec, head, there); err != nil {
			return pawl.WorkspaceState{}, err
		}
	}
	w.note.Branch = spec.Branch
	state, err := w.openAt(ctx, head, known, there)
	state.Result = result
	return state, err
}

// openAt makes the worktree be on its branch, whose head this is. known reports that there is a
// note of the worktree, there that its folder exists.
func (w *worktree) openAt(ctx context.Context, head git.Commit, known, there bool) (pawl.WorkspaceState, error) {
	if !known || !there {
		w.note = note{Branch: w.note.Branch, Head: head.Hash, Restoring: !there}
		if err := w.add(ctx, !there); err != nil {
			return pawl.WorkspaceState{}, err
		}
	}
	if err := w.arrive(ctx); err != nil {
		return pawl.WorkspaceState{}, err
	}
	if w.note.Shown != "" {
		return w.comeBack(ctx, head.Hash)
	}
	if w.untouched {
		w.untouched = false
		tree, err := w.s.withoutTasks(ctx, head)
		return pawl.WorkspaceState{Head: pawl.CommitHash(head.Hash), Tree: pawl.TreeHash(tree), Salvage: w.note.Saved}, err
	}
	r, err := w.record(ctx)
	if err == nil {
		r.index, err = w.remember(false)
	}
	switch {
	case err != nil:
	case !known && there: // what it showed may be gone as well
		err = w.show(ctx, head.Hash, r.index, r.tree)
	default:
		err = w.showAgain(ctx)
	}
	return pawl.WorkspaceState{Head: pawl.CommitHash(head.Hash), Tree: pawl.TreeHash(r.tree), Salvage: w.note.Saved}, err
}

// branch returns the head of the worktree's branch, which it makes at spec.Base
// if there is none. That a known worktree has none is an error: somebody deleted it.
func (w *worktree) branch(ctx context.Context, spec pawl.WorkspaceSpec, known bool) (git.Commit, error) {
	ref := refOf(spec.Branch)
	head, err := w.s.ref(ctx, ref)
	if err != nil || head.Hash != "" {
		return head, err
	}
	if known {
		return git.Commit{}, missingBranch(spec.Branch, w.note.Head)
	}
	base, err := w.s.commit(ctx, spec.Base)
	if err != nil {
		return git.Commit{}, err
	}
	return base, w.s.makeBranch(ctx, spec.Branch, base.Hash)
}

// makeBranch makes a branch that there is not yet.
func (s *Workspaces) makeBranch(ctx context.Context, branch, at string) error {
	err := s.moveRef(ctx, refOf(branch), at, "")
	if err != nil && strings.Contains(err.Error(), "' exists; cannot create '") {
		err = pawl.Errorf(pawl.CodeState, "branch %s cannot be made: %w", branch, err).
			WithHint("a branch has the name of one of its folders: rename it, for example git branch -m pawl pawl-old")
	}
	return err
}

// add stores the note of a worktree that is new, or whose folder is. One branch
// has one worktree.
func (w *worktree) add(ctx context.Context, folder bool) error {
	w.s.opening.Lock()
	defer w.s.opening.Unlock()
	notes, err := filepath.Glob(filepath.Join(escapeGlob(w.s.desks()), "*", "worktree.json"))
	if err != nil {
		return err
	}
	for _, path := range notes {
		var other note
		content, err := os.ReadFile(path)
		if err != nil || path == w.notePath() || json.Unmarshal(content, &other) != nil {
			continue // being closed, this one, or for its own Open to complain about
		}
		if other.Branch == w.note.Branch {
			return pawl.Errorf(pawl.CodeConflict, "branch %s has a worktree already: %s", other.Branch, filepath.Base(filepath.Dir(path)))
		}
	}
	// The note comes first: what lies below a worktree that has none would be taken for
	// its work.
	if err := w.write(); err != nil || !folder {
		return err
	}
	return w.lay(ctx, w.note.Head)
}
