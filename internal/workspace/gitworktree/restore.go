package gitworktree

import (
	"context"

	"pawl"
	"pawl/internal/git"
)

// Mark keeps a commit by a ref below refs/pawl/. A ref that names another commit
// is a conflict.
func (s *Workspaces) Mark(ctx context.Context, ref string, commit pawl.CommitHash) error {
	if err := checkKept(ref); err != nil {
		return err
	}
	if _, err := s.commit(ctx, commit); err != nil {
		return err
	}
	marked, err := s.ref(ctx, ref)
	if err != nil {
		return err
	}
	if marked.Hash == "" {
		refused := s.moveRef(ctx, ref, string(commit), "")
		if refused == nil {
			return nil
		}
		// Another call may have been faster.
		if marked, err = s.ref(ctx, ref); err != nil || marked.Hash == "" {
			return explain("mark "+string(commit), refused)
		}
	}
	if marked.Hash == string(commit) {
		return nil
	}
	return pawl.Errorf(pawl.CodeConflict, "%s keeps %s, not %s", ref, marked.Hash, commit).
		WithHint("git update-ref -d %s gives the name free, if nothing needs what it keeps", ref)
}

// Restore makes a commit on spec.From whose tree is that of spec.To, but for
// .pawl/tasks, which stays as it is in From, and moves the branch from From to it.
// Anything else on the branch than From, or the commit of an earlier call, is a
// conflict. The branch's own worktree stays where it is, as with
// [Workspaces.Advance]. Total of the answer is what differs from From.
func (s *Workspaces) Restore(ctx context.Context, spec pawl.RestoreSpec) (pawl.CommitInfo, error) {
	t := step{branch: spec.Branch, parent: spec.From, message: plain(spec.Message, "Back to "+string(spec.To)), id: spec.ID, time: spec.Time}
	doing := "restore " + string(spec.To) + " on branch " + spec.Branch
	done, err := s.begin(ctx, t)
	if err != nil {
		return pawl.CommitInfo{}, explain(doing, err)
	}
	to, err := s.commit(ctx, spec.To)
	if err != nil {
		return pawl.CommitInfo{}, err
	}
	if done.Hash == "" {
		if done.Tree, err = s.restored(ctx, string(spec.From), to.Tree); err == nil {
			done.Hash, err = s.grow(ctx, t, done.Tree)
		}
	}
	var info pawl.CommitInfo
	if err == nil {
		info, err = s.told(ctx, t, done)
	}
	return info, explain(doing, err)
}

// begin returns the commit that an earlier call of a step made, and the zero Commit
// when there is none and the branch is where the step begins. It must be the
// branch's head: nothing follows a step that was not reported.
func (s *Workspaces) begin(ctx context.Context, t step) (git.Commit, error) {
	if err := t.check(); err != nil {
		return git.Commit{}, err
	}
	head, err := s.ref(ctx, refOf(t.branch))
	switch {
	case err != nil:
		return git.Commit{}, err
	case head.Hash == "":
		return git.Commit{}, missingBranch(t.branch, string(t.parent))
	case head.Hash == string(t.parent):
		return git.Commit{}, s.checkFree(t.branch)
	case t.made(head) && len(head.Parents) == 1 && head.Parents[0] == string(t.parent):
		return head, nil
	}
	return git.Commit{}, movedBranch(t.branch, t.parent, head.Hash)
}

// told describes the commit of a step.
func (s *Workspaces) told(ctx context.Context, t step, made git.Commit) (pawl.CommitInfo, error) {
	tree, err := s.withoutTasks(ctx, made)
	if err != nil {
		return pawl.CommitInfo{}, err
	}
	info := pawl.CommitInfo{Commit: pawl.CommitHash(made.Hash), Tree: pawl.TreeHash(tree)}
	err = s.describe(ctx, pawl.CommitSpec{Parent: t.parent, Base: t.parent}, made.Tree, &info)
	return info, err
}

// restored is a tree with the .pawl/tasks of a commit in place of its own.
func (s *Workspaces) restored(ctx context.Context, from, tree string) (string, error) {
	var have git.Entry // what From has there
	var folder bool    // whether the tree has a folder above it
	err := s.reading(ctx, func(objects *git.Objects) error {
		above, err := find(objects, tree, pawl.KeptFolder)
		if err != nil {
			return err
		}
		folder = above.Mode == git.ModeTree
		if have, err = find(objects, from, tasks); pawl.CodeOf(err) == pawl.CodeInvalid {
			have, err = git.Entry{}, nil // below a symbolic link: there is none
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return s.rewritten(ctx, tree, func(repo git.Repo) error {
		gone := tasks
		if have.Hash != "" && !folder { // a file is in the folder's place
			gone = pawl.KeptFolder
		}
		if err := repo.Forget(ctx, gone); err != nil || have.Hash == "" {
			return err
		}
		if have.Mode == git.ModeTree {
			return repo.Graft(ctx, tasks, have.Hash)
		}
		return repo.Enter(ctx, []git.Entry{{Mode: have.Mode, Hash: have.Hash, Name: tasks}})
	})
}
