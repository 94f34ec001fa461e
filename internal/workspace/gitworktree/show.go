package gitworktree

import (
	"context"

	"pawl"
	"pawl/internal/git"
)

// Show makes the worktree equal to a commit as [Workspaces.Reset] does, but leaves
// the branch where it is: the worktree is detached until the next Reset, Open or
// Commit. Work beyond what is shown is work like any other: a Reset, a Close and an
// Open save it, on top of the shown commit. A Commit takes it when the branch is at
// the shown commit by then, and is a conflict otherwise.
func (s *Workspaces) Show(ctx context.Context, name string, commit pawl.CommitHash, salvage string) (pawl.WorkspaceState, error) {
	w, target, unlock, err := s.enterFor(ctx, name, commit, salvage)
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	defer unlock()
	state, err := w.detach(ctx, target, salvage)
	return state, explain("show "+string(commit)+" in worktree "+name, err)
}

func (w *worktree) detach(ctx context.Context, target git.Commit, salvage string) (pawl.WorkspaceState, error) {
	head, err := w.s.ref(ctx, refOf(w.note.Branch))
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	if head.Hash == "" {
		return pawl.WorkspaceState{}, missingBranch(w.note.Branch, w.note.Head)
	}
	saved, clean, err := w.setAside(ctx, head, target, true, salvage)
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	if err := w.head(note{Branch: w.note.Branch, Head: head.Hash, Shown: target.Hash, Restoring: !clean}); err != nil {
		return pawl.WorkspaceState{}, err
	}
	return w.arriveAt(ctx, target, clean, saved)
}

// comeBack puts a detached worktree on its branch's head again. The ref that saves
// what it holds beyond the shown commit has that commit's hash in its name.
func (w *worktree) comeBack(ctx context.Context, head string) (pawl.WorkspaceState, error) {
	target, err := w.s.commit(ctx, pawl.CommitHash(head))
	if err != nil {
		return pawl.WorkspaceState{}, err
	}
	return w.reset(ctx, target, "refs/pawl/salvage/"+w.name+"/shown-"+w.note.Shown)
}
