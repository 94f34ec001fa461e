package gitworktree

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/git"
)

// Compose makes a commit on spec.Of, on no branch, that has the files of spec.Of except
// where spec.Files says otherwise. It has the time of spec.Of: tools that stamp what they
// build with the time of the commit do the same with both.
func (s *Workspaces) Compose(ctx context.Context, spec pawl.ComposeSpec) (pawl.CommitHash, error) {
	if err := checkComposed(spec); err != nil {
		return "", err
	}
	of, err := s.commit(ctx, spec.Of)
	if err != nil {
		return "", err
	}
	tree := of.Tree
	if len(spec.Files) > 0 {
		tree, err = s.compose(ctx, tree, spec)
	}
	var made string
	if err == nil {
		made, err = s.writeCommit(ctx, pawl.Identity{}, tree, []string{of.Hash}, "Compose files of several commits\n", of.Time)
	}
	return pawl.CommitHash(made), explain("put other files into "+string(spec.Of), err)
}

// checkComposed refuses files that cannot be and files that are not said in one way.
func checkComposed(spec pawl.ComposeSpec) error {
	if err := checkHashes(spec.Of); err != nil {
		return err
	}
	paths := map[string]bool{}
	for _, f := range spec.Files {
		ways := 0
		for _, set := range []bool{f.From != "", f.Data != nil, f.Remove} {
			if set {
				ways++
			}
		}
		err := checkPath(f.Path)
		switch {
		case err != nil:
		case pawl.RefusedName(f.Path) != "":
			err = pawl.Errorf(pawl.CodeInvalid, "git does not take %q in the path %q", pawl.RefusedName(f.Path), f.Path)
		case paths[f.Path]:
			err = pawl.Errorf(pawl.CodeInvalid, "%q is named twice: want each path once", f.Path)
		case ways != 1:
			err = pawl.Errorf(pawl.CodeInvalid, "%q has %d of a commit, a content and a removal: want one of them", f.Path, ways)
		case f.Kind != "" && (f.Data == nil || modeOf(f.Kind) == ""):
			err = pawl.Errorf(pawl.CodeInvalid, "%q cannot have the kind %q: want a content with regular, executable or symlink", f.Path, f.Kind)
		case f.From != "":
			err = checkHashes(f.From)
		}
		if err != nil {
			return err
		}
		paths[f.Path] = true
	}
	return nil
}

// compose returns a tree, which is that of spec.Of, with the files of spec.
func (s *Workspaces) compose(ctx context.Context, tree string, spec pawl.ComposeSpec) (string, error) {
	c, err := s.choose(ctx, spec)
	if err != nil {
		return "", err
	}
	return s.rewritten(ctx, tree, func(repo git.Repo) error {
		if err := store(ctx, repo, c.written, c.contents); err != nil {
			return err
		}
		return repo.Enter(ctx, slices.Concat(c.taken, c.written))
	})
}

// composition is what becomes of the files of a ComposeSpec, in the order of their paths.
type composition struct {
	taken    []git.Entry // those of commits, and one with [git.ModeNone] for each path without a file
	written  []git.Entry // without their hashes
	contents [][]byte    // of written
}

// choose looks up the files that are taken from commits, and the kinds of others.
func (s *Workspaces) choose(ctx context.Context, spec pawl.ComposeSpec) (composition, error) {
	var c composition
	there, err := s.sources(ctx, spec)
	if err != nil {
		return c, err
	}
	files := slices.SortedFunc(slices.Values(spec.Files), func(a, b pawl.ComposedFile) int { return strings.Compare(a.Path, b.Path) })
	present := map[string]bool{}
	for _, f := range files {
		e, found := there[place{f.From, f.Path}]
		switch {
		case f.Data != nil:
			kind := cmp.Or(f.Kind, kindOf(there[place{spec.Of, f.Path}].Mode))
			e = git.Entry{Mode: cmp.Or(modeOf(kind), git.ModeFile), Name: f.Path}
			c.written, c.contents = append(c.written, e), append(c.contents, f.Data)
		case found:
			c.taken = append(c.taken, e)
		default:
			c.taken = append(c.taken, git.Entry{Mode: git.ModeNone, Hash: strings.Repeat("0", len(spec.Of)), Name: f.Path})
			continue
		}
		if err := checkFolders(present, f.Path); err != nil {
			return c, err
		}
		present[f.Path] = true
	}
	return c, nil
}

// place is a path in a commit.
type place struct {
	commit pawl.CommitHash
	path   string
}

// sources returns the files that a spec refers to. Each commit is listed once.
func (s *Workspaces) sources(ctx context.Context, spec pawl.ComposeSpec) (map[place]git.Entry, error) {
	wanted := map[pawl.CommitHash]map[string]bool{}
	for _, f := range spec.Files {
		commit := f.From
		if f.Data != nil && f.Kind == "" {
			commit = spec.Of
		}
		if commit == "" {
			continue
		}
		if wanted[commit] == nil {
			wanted[commit] = map[string]bool{}
		}
		wanted[commit][f.Path] = true
	}
	there := map[place]git.Entry{}
	for commit, paths := range wanted {
		entries, err := s.engine.Files(ctx, string(commit))
		if err != nil {
			return nil, s.lacking(ctx, err, commit)
		}
		for _, e := range entries {
			if paths[e.Name] {
				there[place{commit, e.Name}] = e
			}
		}
	}
	return there, nil
}

// modeOf returns the mode of a file with a content of its own; it is empty when there is no
// such kind.
func modeOf(kind pawl.FileKind) string {
	switch kind {
	case pawl.FileRegular:
		return git.ModeFile
	case pawl.FileExecutable:
		return git.ModeExecutable
	case pawl.FileSymlink:
		return git.ModeSymlink
	}
	return ""
}
