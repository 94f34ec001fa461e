package gitworktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/git"
)

// mergeTrailer is the last line of a merge's message, before the second parent.
const mergeTrailer = "Pawl-Merge: "

// maxLooked is how many bytes a file may have to be looked at. Conflict markers in a
// larger one keep commits' hashes as labels.
const maxLooked = 32 << 20

// Merge makes a commit with both commits as parents, outside any worktree and
// on no branch. The same arguments give the same commit; where Ours has all of
// Theirs, that is Ours itself. The Tree of the answer is without .pawl/tasks.
//
// No program of a repository takes part, nor do its attributes. Not every
// conflict leaves markers: a binary file is as in Ours, one that Ours deleted is
// gone, one that Theirs deleted is as Ours changed it, and Hunks says so. So what
// Ours has is never lost.
func (s *Workspaces) Merge(ctx context.Context, spec pawl.MergeSpec) (pawl.MergeInfo, error) {
	if err := checkHashes(spec.Ours, spec.Theirs); err != nil {
		return pawl.MergeInfo{}, err
	}
	if spec.Time.Unix() < 0 {
		return pawl.MergeInfo{}, pawl.Errorf(pawl.CodeInvalid, "the merge of %s has no time", spec.Theirs)
	}
	ours, err := s.commit(ctx, spec.Ours)
	if err != nil {
		return pawl.MergeInfo{}, err
	}
	if _, err := s.commit(ctx, spec.Theirs); err != nil {
		return pawl.MergeInfo{}, err
	}
	info, err := s.merge(ctx, ours, spec)
	return info, explain(fmt.Sprintf("merge %s into %s", spec.Theirs, spec.Ours), err)
}

func (s *Workspaces) merge(ctx context.Context, ours git.Commit, spec pawl.MergeSpec) (pawl.MergeInfo, error) {
	there, err := s.engine.IsAncestor(ctx, string(spec.Theirs), string(spec.Ours))
	if err != nil {
		return pawl.MergeInfo{}, err
	}
	var info pawl.MergeInfo
	merged := ours
	if !there {
		if merged.Tree, info, err = s.mergeTrees(ctx, ours, spec); err != nil {
			return pawl.MergeInfo{}, err
		}
		text := plain(spec.Message, "Merge "+string(spec.Theirs)) + "\n\n" + mergeTrailer + string(spec.Theirs) + "\n"
		parents := []string{string(spec.Ours), string(spec.Theirs)}
		if merged.Hash, err = s.writeCommit(ctx, pawl.Identity{}, merged.Tree, parents, text, spec.Time); err != nil {
			return pawl.MergeInfo{}, err
		}
	}
	tree, err := s.withoutTasks(ctx, merged)
	info.Commit, info.Tree = pawl.CommitHash(merged.Hash), pawl.TreeHash(tree)
	if err != nil {
		return info, err
	}
	c, err := s.change(ctx, ours.Tree, merged.Tree)
	info.Changes = c.hunks
	return info, err
}

// mergeTrees merges the two sides' files, and tells of the conflicts.
func (s *Workspaces) mergeTrees(ctx context.Context, ours git.Commit, spec pawl.MergeSpec) (tree string, info pawl.MergeInfo, err error) {
	m, err := s.engine.MergeTree(ctx, string(spec.Ours), string(spec.Theirs))
	if errors.Is(err, git.ErrUnrelated) {
		err = pawl.Errorf(pawl.CodeInvalid, "%w: they cannot be merged", err)
	}
	if err != nil || m.Clean {
		return m.Tree, info, err
	}
	info.Conflicts = m.Paths
	if len(info.Conflicts) == 0 { // of folders alone
		info.Conflicts = about(m)
	}
	l := newLabels(spec)
	files, err := s.conflicted(ctx, m)
	var gone []string
	if err == nil {
		gone, err = s.deletedIn(ctx, ours.Tree, m)
	}
	if err == nil {
		tellGone(m.Messages, gone)
		info.Hunks = l.hunks(m, info.Conflicts, files)
		tree, err = s.relabel(ctx, m.Tree, l, files, gone)
	}
	return tree, info, err
}

// deletedIn are the paths in conflict that one side has deleted, whose tree this
// is, and the other has changed: git keeps these, and so would bring back what is gone.
func (s *Workspaces) deletedIn(ctx context.Context, tree string, m git.Merging) (gone []string, err error) {
	var suspects []string
	for _, message := range m.Messages {
		if message.Kind == "CONFLICT (modify/delete)" {
			suspects = append(suspects, message.Paths...)
		}
	}
	if len(suspects) == 0 {
		return nil, nil
	}
	err = s.reading(ctx, func(objects *git.Objects) error {
		for _, path := range suspects {
			e, err := find(objects, tree, path)
			if err != nil && pawl.CodeOf(err) != pawl.CodeInvalid {
				return err
			}
			if e.Hash == "" && slices.Contains(m.Paths, path) {
				gone = append(gone, path)
			}
		}
		return nil
	})
	return gone, err
}

// about are the paths that messages about conflicts name; there is at least one.
func about(m git.Merging) []string {
	var paths []string
	for _, message := range m.Messages {
		if strings.HasPrefix(message.Kind, "CONFLICT") {
			paths = append(paths, message.Paths...)
		}
	}
	if len(paths) == 0 {
		return []string{"."}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// conflicted reads the files in conflict, as they are in the merge's tree. Data
// is nil for one that is too large.
func (s *Workspaces) conflicted(ctx context.Context, m git.Merging) (map[string]file, error) {
	files := map[string]file{}
	err := s.reading(ctx, func(objects *git.Objects) error {
		for _, path := range m.Paths {
			f, found, err := lookUp(objects, m.Tree, path)
			if err != nil {
				return err
			}
			if found {
				files[path] = f
			}
		}
		return nil
	})
	return files, err
}

// file is a file of a tree.
type file struct {
	entry git.Entry // Name is its last part
	data  []byte    // nil when it is too large
}

// lookUp reads a plain file; found is false when there is none at the path.
func lookUp(objects *git.Objects, tree, path string) (f file, found bool, err error) {
	e, err := find(objects, tree, path)
	if pawl.CodeOf(err) == pawl.CodeInvalid { // below a symbolic link
		return file{}, false, nil
	}
	if err != nil || e.Mode != git.ModeFile && e.Mode != git.ModeExecutable {
		return file{}, false, err
	}
	object, err := objects.GetSmall(e.Hash, maxLooked)
	return file{entry: e, data: object.Data}, err == nil, err
}

// tellGone corrects what git says about the paths: that it has kept the other side's version.
func tellGone(messages []git.Message, gone []string) {
	for i := range messages {
		m := &messages[i]
		kept := strings.Index(m.Text, " Version ")
		if kept >= 0 && m.Kind == "CONFLICT (modify/delete)" && slices.ContainsFunc(m.Paths, func(p string) bool { return slices.Contains(gone, p) }) {
			m.Text = m.Text[:kept] + " It is gone; the changed version is in the task's own commits."
		}
	}
}

// relabel is the tree with the two sides' labels in its conflict markers.
func (s *Workspaces) relabel(ctx context.Context, tree string, l labels, files map[string]file, gone []string) (string, error) {
	var entries []git.Entry
	var contents [][]byte
	for path, f := range files {
		if data := l.apply(f.data); !bytes.Equal(data, f.data) {
			entries, contents = append(entries, git.Entry{Mode: f.entry.Mode, Name: path}), append(contents, data)
		}
	}
	if len(entries)+len(gone) == 0 {
		return tree, nil
	}
	return s.rewritten(ctx, tree, func(repo git.Repo) error {
		if err := store(ctx, repo, entries, contents); err != nil {
			return err
		}
		for _, path := range gone { // mode 0 takes a path out
			entries = append(entries, git.Entry{Mode: "0", Hash: strings.Repeat("0", len(tree)), Name: path})
		}
		return repo.Enter(ctx, entries)
	})
}

// Advance moves a branch that no worktree needs to follow from one commit to
// a descendant of it. Anything but From there is a conflict; To is done already.
// The branch's own worktree stays where it is: it can be committed again after a
// [Workspaces.Reset] to the new head, which saves only what is not committed.
func (s *Workspaces) Advance(ctx context.Context, branch string, from, to pawl.CommitHash) error {
	if err := errors.Join(checkBranch(branch), checkHashes(from, to)); err != nil {
		return err
	}
	ref := refOf(branch)
	head, err := s.ref(ctx, ref)
	switch {
	case err != nil:
		return err
	case head.Hash == "":
		return missingBranch(branch, string(from))
	case head.Hash == string(to):
		return nil
	case head.Hash != string(from):
		return movedBranch(branch, from, head.Hash)
	}
	if _, err := s.commit(ctx, to); err != nil {
		return err
	}
	doing := "advance branch " + branch
	if ahead, err := s.engine.IsAncestor(ctx, string(from), string(to)); err != nil {
		return explain(doing, err)
	} else if !ahead {
		return pawl.Errorf(pawl.CodeInvalid, "branch %s cannot advance from %s to %s, which does not follow it", branch, from, to)
	}
	if err := s.checkFree(branch); err != nil {
		return err
	}
	err = s.moveRef(ctx, ref, string(to), string(from))
	if err == nil {
		return nil
	}
	if head, e := s.ref(ctx, ref); e == nil && head.Hash != string(from) && head.Hash != string(to) {
		err = movedBranch(branch, from, head.Hash)
	}
	return explain(doing, err)
}

// Marked are those of the paths whose files in a commit hold conflict markers:
// a line that begins one side, and after it one that ends the other. Files of
// more than 32 MB are not looked at.
func (s *Workspaces) Marked(ctx context.Context, commit pawl.CommitHash, paths []string) ([]string, error) {
	c, err := s.commit(ctx, commit)
	if err != nil {
		return nil, err
	}
	var marked []string
	err = s.reading(ctx, func(objects *git.Objects) error {
		for _, path := range paths {
			f, found, err := lookUp(objects, c.Tree, path)
			if err != nil {
				return err
			}
			if found && hasMarkers(f.data) {
				marked = append(marked, path)
			}
		}
		return nil
	})
	return marked, explain("look for conflict markers in "+string(commit), err)
}

// hasMarkers reports whether a text holds a conflict.
func hasMarkers(data []byte) bool {
	begun := false
	for line := range bytes.Lines(data) {
		if isMarker(line, "<<<<<<<") {
			begun = true
		}
		if begun && isMarker(line, ">>>>>>>") {
			return true
		}
	}
	return false
}

// isMarker reports whether a line is a conflict marker, with or without a label.
func isMarker(line []byte, sign string) bool {
	after, found := bytes.CutPrefix(line, []byte(sign))
	return found && (len(after) == 0 || bytes.IndexByte([]byte(" \r\n"), after[0]) >= 0)
}
