package gitworktree

import (
	"context"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/git"
)

// coAuthor is the trailer of a commit that has the user as its author.
const coAuthor = "Co-authored-by: Pawl <pawl@localhost>"

// Publish makes a commit on spec.From that has the tree of spec.Of, and moves the branch to
// it. When that is the tree that From has, From is returned. Anything else on the branch than
// From, or the commit of an earlier call, is a conflict. Nothing is signed: a question for a
// passphrase would wait all night.
func (s *Workspaces) Publish(ctx context.Context, spec pawl.PublishSpec) (pawl.CommitHash, error) {
	t := step{
		branch: spec.Branch, parent: spec.From, message: plain(spec.Message, "Work of "+string(spec.Of)), id: spec.ID, time: spec.Time,
		author: spec.Author,
	}
	for _, line := range spec.Trailers {
		t.trailers = append(t.trailers, plain(line, "Pawl-Commit: "+string(spec.Of)))
	}
	if t.author.IsSet() {
		t.trailers = append(t.trailers, coAuthor)
	}
	doing := "put " + string(spec.Of) + " on branch " + spec.Branch
	done, err := s.begin(ctx, t)
	if err != nil || done.Hash != "" {
		return pawl.CommitHash(done.Hash), explain(doing, err)
	}
	from, err := s.commit(ctx, spec.From)
	if err != nil {
		return "", err
	}
	of, err := s.commit(ctx, spec.Of)
	if err != nil || of.Tree == from.Tree {
		return spec.From, err
	}
	made, err := s.grow(ctx, t, of.Tree)
	return pawl.CommitHash(made), explain(doing, err)
}

// result returns the head of the branch that gets what lands, which it makes if there is none.
// What somebody else has added to it is merged into the worktree's branch, whose new head is
// returned as well, unless the worktree has files already: then it is left for the next time.
func (w *worktree) result(ctx context.Context, spec pawl.WorkspaceSpec, head git.Commit, filled bool) (result pawl.CommitHash, _ git.Commit, err error) {
	if err := checkBranch(spec.Result); err != nil {
		return "", head, err
	}
	if _, err := w.s.commit(ctx, spec.Known); err != nil {
		return "", head, err
	}
	there, err := w.s.ref(ctx, refOf(spec.Result))
	switch {
	case err != nil:
		return "", head, err
	case there.Hash == "":
		return spec.Known, head, w.s.makeBranch(ctx, spec.Result, string(spec.Known))
	case there.Hash == string(spec.Known):
		return spec.Known, head, nil
	}
	result = pawl.CommitHash(there.Hash)
	ahead, err := w.s.engine.IsAncestor(ctx, string(spec.Known), there.Hash)
	if err == nil && !ahead {
		err = movedBranch(spec.Result, spec.Known, there.Hash)
	}
	if err != nil {
		return "", head, err
	}
	has, err := w.s.engine.IsAncestor(ctx, there.Hash, head.Hash) // an earlier call has merged it
	switch {
	case err != nil || has:
		return result, head, err
	case filled:
		return spec.Known, head, nil
	}
	head, err = w.s.takeIn(ctx, spec, head, there)
	return result, head, err
}

// takeIn merges what somebody else has added to the branch that gets what lands, from the commit
// that is known, into a branch that has the same tree and more.
func (s *Workspaces) takeIn(ctx context.Context, spec pawl.WorkspaceSpec, head, added git.Commit) (git.Commit, error) {
	// The two have another commit in common, or none. With a commit of the branch's tree on
	// the known one, git compares both sides with that.
	side, err := s.writeCommit(ctx, pawl.Identity{}, head.Tree, []string{string(spec.Known)}, "Work of "+spec.Name+"\n", spec.Time)
	if err != nil {
		return git.Commit{}, err
	}
	m, err := s.engine.MergeTree(ctx, side, added.Hash)
	if err != nil {
		return git.Commit{}, err
	}
	if !m.Clean {
		return git.Commit{}, pawl.Errorf(pawl.CodeConflict, "what was added to branch %s conflicts with the run's own work in %s", spec.Result, strings.Join(m.Paths, ", ")).
			WithHint("keep your commits on another branch (git branch mine %s), then git branch -f %s %s and resume the run", spec.Result, spec.Result, spec.Known)
	}
	merged := git.Commit{Tree: m.Tree, Parents: []string{head.Hash, added.Hash}}
	text := "Merge what was added to " + spec.Result + "\n\n" + mergeTrailer + added.Hash + "\n"
	if merged.Hash, err = s.writeCommit(ctx, pawl.Identity{}, merged.Tree, slices.Clone(merged.Parents), text, spec.Time); err != nil {
		return git.Commit{}, err
	}
	return merged, s.moveRef(ctx, refOf(spec.Branch), merged.Hash, head.Hash)
}
