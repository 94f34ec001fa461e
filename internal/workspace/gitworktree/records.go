package gitworktree

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/git"
)

// Bounds of a folder that is read or written as a whole; the last two are in bytes.
const (
	maxFiles  = 2000
	maxFile   = 1 << 20
	maxFolder = 64 << 20 // all files together
)

// WriteFiles makes a commit on spec.From in which a folder below .pawl/tasks holds
// exactly the given files, and moves the branch to it. When nothing changes, From is
// returned. Anything else on the branch than From, or the commit of an earlier call,
// is a conflict. A file that is executable stays so. The branch's own worktree stays
// where it is, as with [Workspaces.Advance].
func (s *Workspaces) WriteFiles(ctx context.Context, spec pawl.FilesSpec) (pawl.CommitHash, error) {
	if err := checkFiles(spec); err != nil {
		return "", err
	}
	t := step{branch: spec.Branch, parent: spec.From, message: plain(spec.Message, "Records of "+spec.Folder), id: spec.ID, time: spec.Time}
	doing := "write " + spec.Folder + " on branch " + spec.Branch
	done, err := s.begin(ctx, t)
	if err != nil || done.Hash != "" {
		return pawl.CommitHash(done.Hash), explain(doing, err)
	}
	from, err := s.commit(ctx, spec.From)
	if err != nil {
		return "", err
	}
	tree, err := s.withFiles(ctx, from.Tree, spec)
	if err != nil {
		return "", explain(doing, err)
	}
	if tree == from.Tree {
		return spec.From, nil
	}
	made, err := s.grow(ctx, t, tree)
	return pawl.CommitHash(made), explain(doing, err)
}

// checkFiles refuses files that cannot be or that would not be read again.
func checkFiles(spec pawl.FilesSpec) error {
	if checkPath(spec.Folder) != nil || !strings.HasPrefix(spec.Folder, tasks+"/") {
		return pawl.Errorf(pawl.CodeInvalid, "%q is not a folder below %s", spec.Folder, tasks)
	}
	if len(spec.Files) > maxFiles {
		return pawl.Errorf(pawl.CodeInvalid, "%d files are too many for %s, which can have %d", len(spec.Files), spec.Folder, maxFiles)
	}
	size := 0
	for name, content := range spec.Files {
		if err := checkPath(name); err != nil {
			return err
		}
		if err := checkFolders(spec.Files, name); err != nil {
			return err
		}
		if size += len(content); len(content) > maxFile || size > maxFolder {
			return tooLarge(name)
		}
	}
	return nil
}

// checkFolders refuses a path below another one that is a file.
func checkFolders[T any](files map[string]T, name string) error {
	for above := path.Dir(name); above != "."; above = path.Dir(above) {
		if _, found := files[above]; found {
			return pawl.Errorf(pawl.CodeInvalid, "%s is a file and the folder of %s at once", above, name)
		}
	}
	return nil
}

func tooLarge(name string) error {
	return pawl.Errorf(pawl.CodeInvalid, "%s is too large: a file can have %d bytes, all together %d", name, maxFile, maxFolder)
}

// withFiles is a tree whose folder holds exactly the files.
func (s *Workspaces) withFiles(ctx context.Context, tree string, spec pawl.FilesSpec) (string, error) {
	modes := map[string]string{}
	err := s.reading(ctx, func(objects *git.Objects) error {
		for above := spec.Folder; above != "."; above = path.Dir(above) {
			e, err := find(objects, tree, above)
			if err == nil && e.Name != "" && e.Mode != git.ModeTree {
				err = pawl.Errorf(pawl.CodeInvalid, "%s is not a folder, so %s cannot be written", above, spec.Folder)
			}
			if err != nil {
				return err
			}
		}
		entries, err := below(objects, tree, spec.Folder)
		for _, e := range entries {
			modes[e.Name] = e.Mode
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return s.rewritten(ctx, tree, func(repo git.Repo) error {
		entries, contents := entriesOf(spec, modes)
		if err := store(ctx, repo, entries, contents); err != nil {
			return err
		}
		if err := repo.Forget(ctx, spec.Folder); err != nil || len(entries) == 0 {
			return err
		}
		return repo.Enter(ctx, entries)
	})
}

// entriesOf are the entries of the files, in order, without their hashes, and their
// contents. modes are those of the files that are there.
func entriesOf(spec pawl.FilesSpec, modes map[string]string) (entries []git.Entry, contents [][]byte) {
	for _, name := range slices.Sorted(maps.Keys(spec.Files)) {
		mode := git.ModeFile
		if modes[name] == git.ModeExecutable {
			mode = git.ModeExecutable
		}
		entries = append(entries, git.Entry{Mode: mode, Name: spec.Folder + "/" + name})
		contents = append(contents, spec.Files[name])
	}
	return entries, contents
}

// Files reads the files below a folder of a commit, by their paths in it: at most
// 2000 of at most 1 MiB each, and 64 MiB together; more is an error. A folder that
// is not there has none. Symbolic links and submodules are no files.
func (s *Workspaces) Files(ctx context.Context, commit pawl.CommitHash, folder string) (map[string][]byte, error) {
	if err := checkPath(folder); err != nil {
		return nil, err
	}
	c, err := s.commit(ctx, commit)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	err = s.reading(ctx, func(objects *git.Objects) error {
		entries, err := below(objects, c.Tree, folder)
		if err != nil {
			return err
		}
		size := 0
		for _, e := range entries {
			object, err := objects.GetSmall(e.Hash, maxFile)
			if err != nil {
				return err
			}
			if size += len(object.Data); object.Data == nil || size > maxFolder {
				return tooLarge(folder + "/" + e.Name)
			}
			files[e.Name] = object.Data
		}
		return nil
	})
	if err != nil {
		return nil, explain("read "+folder+" of "+string(commit), err)
	}
	return files, nil
}

// below lists the files below a folder of a tree, with their paths in it as names.
func below(objects *git.Objects, tree, folder string) ([]git.Entry, error) {
	top, err := find(objects, tree, folder)
	if err != nil || top.Mode != git.ModeTree {
		return nil, err
	}
	var files []git.Entry
	for next := []git.Entry{{Hash: top.Hash}}; len(next) > 0; next = next[1:] {
		entries, err := objects.Tree(next[0].Hash)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			e.Name = path.Join(next[0].Name, e.Name)
			switch e.Mode {
			case git.ModeTree:
				next = append(next, e)
			case git.ModeFile, git.ModeExecutable:
				files = append(files, e)
			}
		}
		if len(files)+len(next) > maxFiles {
			return nil, pawl.Errorf(pawl.CodeInvalid, "%s has more than %d files", folder, maxFiles)
		}
	}
	return files, nil
}
