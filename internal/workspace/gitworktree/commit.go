package gitworktree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"pawl"
	"pawl/internal/git"
)

// trailer is the last line of every commit's message, before its ID.
const trailer = "Pawl-Effect: "

// Commit records the worktree's content as one commit on the branch and moves
// the branch from spec.Parent to it. Nothing changed is a commit too. The Tree
// of the answer is what [Workspaces.Tree] returns: without .pawl/tasks, which
// the commit itself and its Files have.
func (s *Workspaces) Commit(ctx context.Context, spec pawl.CommitSpec) (pawl.CommitInfo, error) {
	if err := checkCommit(spec); err != nil {
		return pawl.CommitInfo{}, err
	}
	w, unlock, err := s.enter(ctx, spec.Name)
	if err != nil {
		return pawl.CommitInfo{}, err
	}
	defer unlock()
	if w.note.Branch != spec.Branch {
		return pawl.CommitInfo{}, pawl.Errorf(pawl.CodeInvalid, "worktree %s is on branch %s, not on %s", spec.Name, w.note.Branch, spec.Branch)
	}
	done, err := s.find(ctx, spec)
	if err != nil {
		return pawl.CommitInfo{}, err
	}
	if done.Hash == "" {
		if w.at() != string(spec.Parent) { // its files would undo what the branch has gained
			return pawl.CommitInfo{}, pawl.Errorf(pawl.CodeConflict, "worktree %s is at %s, its branch at %s", spec.Name, w.at(), spec.Parent).
				WithHint("a reset to the branch's head brings it up to date")
		}
		return w.commit(ctx, spec)
	}
	full, err := w.catchUp(ctx, spec, done.Hash)
	if err != nil {
		return pawl.CommitInfo{}, err
	}
	tree, err := s.withoutTasks(ctx, done)
	if err != nil {
		return pawl.CommitInfo{}, err
	}
	info := pawl.CommitInfo{Commit: pawl.CommitHash(done.Hash), Tree: pawl.TreeHash(tree), LeftOut: w.leftOut(full.seen)}
	return info, explain("describe commit "+done.Hash, s.describe(ctx, spec, done.Tree, &info))
}

func checkCommit(spec pawl.CommitSpec) error {
	if err := checkHashes(spec.Base); err != nil {
		return err
	}
	return stepOf(spec).check()
}

// step is a commit that a branch is to go on to.
type step struct {
	branch  string
	parent  pawl.CommitHash // its head
	message string
	id      string
	time    time.Time

	author   pawl.Identity // the zero Identity means Pawl
	trailers []string      // between the message and the ID
}

func stepOf(spec pawl.CommitSpec) step {
	return step{branch: spec.Branch, parent: spec.Parent, message: plain(spec.Message, "Work of "+spec.Name), id: spec.ID, time: spec.Time}
}

func (t step) check() error {
	if err := checkHashes(t.parent); err != nil {
		return err
	}
	if t.id == "" || strings.ContainsAny(t.id, "\r\n\x00") {
		return pawl.Errorf(pawl.CodeInvalid, "%q cannot be the ID of a commit", t.id)
	}
	if t.time.Unix() < 0 {
		return pawl.Errorf(pawl.CodeInvalid, "commit %s has no time", t.id)
	}
	return checkBranch(t.branch)
}

// made reports whether a commit is of this step, by the last line of its message.
func (t step) made(c git.Commit) bool {
	lines := strings.Split(strings.TrimRight(c.Message, "\n"), "\n")
	return lines[len(lines)-1] == trailer+t.id
}

// find returns the commit that an earlier call with the same ID made, the zero
// Commit when there is none and the branch is at spec.Parent, and otherwise an
// error. Only commits above spec.Parent can be the earlier call's.
func (s *Workspaces) find(ctx context.Context, spec pawl.CommitSpec) (git.Commit, error) {
	var found git.Commit
	err := s.reading(ctx, func(objects *git.Objects) error {
		head, err := objects.Commit(refOf(spec.Branch))
		if errors.Is(err, git.ErrMissing) {
			return missingBranch(spec.Branch, string(spec.Parent))
		}
		at := head
		for range reachBack {
			if err != nil {
				return err
			}
			if at.Hash == string(spec.Parent) {
				break
			}
			if stepOf(spec).made(at) {
				found = at
				return nil
			}
			if len(at.Parents) == 0 {
				break
			}
			at, err = objects.Commit(at.Parents[0])
		}
		if head.Hash != string(spec.Parent) {
			return movedBranch(spec.Branch, spec.Parent, head.Hash)
		}
		if _, err := objects.Commit(string(spec.Base)); err != nil {
			return pawl.Errorf(pawl.CodeNotFound, "base %s is not in the repository", spec.Base)
		}
		return nil
	})
	return found, err
}

// commit makes the commit and moves the branch.
func (w *worktree) commit(ctx context.Context, spec pawl.CommitSpec) (pawl.CommitInfo, error) {
	r, full, err := w.recordAll(ctx)
	if err != nil {
		return pawl.CommitInfo{}, err
	}
	if err := w.s.checkFree(spec.Branch); err != nil {
		return pawl.CommitInfo{}, err
	}
	// If it was detached, its files lie on the branch's head nevertheless.
	if err := w.head(note{Branch: spec.Branch, Head: string(spec.Parent)}); err != nil {
		return pawl.CommitInfo{}, err
	}
	// The description needs the tree alone; it is made while the branch moves.
	info := pawl.CommitInfo{Tree: pawl.TreeHash(r.tree), LeftOut: w.leftOut(full.seen)}
	var group errgroup.Group
	group.Go(func() error { return w.s.describe(ctx, spec, full.tree, &info) })
	commit, err := w.s.grow(ctx, stepOf(spec), full.tree)
	if err == nil {
		err = w.follow(ctx, commit, full.index)
	}
	describing := group.Wait()
	info.Commit = pawl.CommitHash(commit)
	if err == nil {
		err = describing
	}
	return info, explain("commit worktree "+w.name, err)
}

// grow makes a commit of a tree and moves the branch to it. Whatever the step's
// message holds, the commit's last line is ours.
func (s *Workspaces) grow(ctx context.Context, t step, tree string) (string, error) {
	text := t.message + "\n\n" + strings.Join(append(slices.Clone(t.trailers), trailer+t.id), "\n") + "\n"
	commit, err := s.writeCommit(ctx, t.author, tree, []string{string(t.parent)}, text, t.time)
	if err != nil {
		return "", err
	}
	ref := refOf(t.branch)
	err = s.moveRef(ctx, ref, commit, string(t.parent))
	if err == nil {
		return commit, nil
	}
	if head, e := s.ref(ctx, ref); e == nil && head.Hash != string(t.parent) {
		err = movedBranch(t.branch, t.parent, head.Hash)
	}
	return "", err
}

// writeCommit stores a commit, by git where a name may be more than it seems.
func (s *Workspaces) writeCommit(ctx context.Context, author pawl.Identity, tree string, parents []string, text string, at time.Time) (string, error) {
	repo := s.engine
	if author.IsSet() {
		repo = repo.By(author.Name, author.Email)
	}
	object, ok, err := repo.NewCommit(tree, parents, text, at)
	if err != nil || !ok || s.byGit != "" {
		return repo.WriteCommit(ctx, tree, parents, text, at)
	}
	return object.Hash, explain("store a commit", s.storeObject(object))
}

// plain is a text without what controls a terminal, or the other one when
// nothing is left.
func plain(text, otherwise string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if text = strings.TrimSpace(text); text == "" {
		return otherwise
	}
	return text
}

// follow makes the worktree's own view follow its branch to a commit that holds
// the content of an index.
func (w *worktree) follow(ctx context.Context, commit, index string) error {
	if w.memory != nil {
		var err error
		if index, err = w.remember(true); err != nil {
			return err
		}
	}
	if err := w.show(ctx, commit, index); err != nil {
		return err
	}
	w.note.Head = commit
	return w.write()
}

// catchUp is follow for a commit of the worktree's present content that an earlier call
// made. The record is empty when the worktree has gone elsewhere since.
func (w *worktree) catchUp(ctx context.Context, spec pawl.CommitSpec, commit string) (record, error) {
	if w.note.Shown != "" || w.note.Head != string(spec.Parent) && w.note.Head != commit {
		return record{}, nil
	}
	_, full, err := w.recordAll(ctx)
	if err == nil && w.note.Head != commit { // the earlier call was cut off
		err = w.follow(ctx, commit, full.index)
	}
	return full, err
}

// describe fills in what is to be known of a commit with a tree.
func (s *Workspaces) describe(ctx context.Context, spec pawl.CommitSpec, tree string, info *pawl.CommitInfo) error {
	var parent, base git.Commit
	err := s.reading(ctx, func(objects *git.Objects) (err error) {
		if parent, err = objects.Commit(string(spec.Parent)); err != nil {
			return err
		}
		if info.Files, err = changed(objects, parent.Tree, tree); err != nil {
			return err
		}
		base, info.Total = parent, slices.Clone(info.Files)
		if spec.Base != spec.Parent {
			if base, err = objects.Commit(string(spec.Base)); err == nil {
				info.Total, err = changed(objects, base.Tree, tree)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, path := range info.Total {
		if strings.HasPrefix(path, pawl.TasksFolder+"/") {
			info.Kept++
		}
	}
	var group errgroup.Group
	group.Go(func() (err error) {
		info.PatchID, err = s.resident.PatchID(ctx, base.Tree, tree, tasks)
		return err
	})
	group.Go(func() error {
		c, err := s.change(ctx, parent.Tree, tree)
		info.Hunks, info.Added, info.Removed = c.hunks, c.added, c.removed
		return err
	})
	return group.Wait()
}

// changed lists the paths, sorted by bytes, at which two trees differ.
func changed(objects *git.Objects, from, to string) ([]string, error) {
	files, err := objects.FileDifferences(from, to, "")
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths, err
}
