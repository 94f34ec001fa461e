package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/git"
)

// FileAt returns a file's content in a recorded tree; nil when it is not there.
// A folder, a symbolic link or a submodule in its place is an error. A commit's hash is
// taken too: unlike a recorded tree, a commit's tree has .pawl/tasks.
func (s *Workspaces) FileAt(ctx context.Context, tree pawl.TreeHash, name string) ([]byte, error) {
	if err := errors.Join(checkHashes(tree), checkPath(name)); err != nil {
		return nil, err
	}
	var content []byte
	err := s.reading(ctx, func(objects *git.Objects) error {
		e, err := find(objects, string(tree), name)
		if err != nil || e.Name == "" {
			return err
		}
		if err := checkFile(e, name); err != nil {
			return err
		}
		object, err := objects.Get(e.Hash)
		content = object.Data
		return err
	})
	return content, goneTree(tree, err)
}

// Contents calls see with the content of each of the paths that is a file of a commit, in
// their order, until it returns false. Files of more than 32 MB are passed over.
func (s *Workspaces) Contents(ctx context.Context, commit pawl.CommitHash, paths []string, see func(path string, content []byte) bool) error {
	c, err := s.commit(ctx, commit)
	if err != nil {
		return err
	}
	err = s.reading(ctx, func(objects *git.Objects) error {
		for _, path := range paths {
			f, found, err := lookUp(objects, c.Tree, path)
			if err != nil {
				return err
			}
			if found && f.data != nil && !see(path, f.data) {
				return nil
			}
		}
		return nil
	})
	return explain("read files of "+string(commit), err)
}

// goneTree says it when a recorded tree is missing.
func goneTree(tree pawl.TreeHash, err error) error {
	if errors.Is(err, git.ErrMissing) {
		return pawl.Errorf(pawl.CodeNotFound, "tree %s is no longer in the repository", tree)
	}
	return err
}

// WithFile returns the tree that results from writing one file into a recorded
// tree: what [Workspaces.Tree] would return afterwards. So a file that
// .gitignore names, one in .pawl/tasks, or one that is left out changes nothing, and
// .gitattributes decides about line ends.
func (s *Workspaces) WithFile(ctx context.Context, tree pawl.TreeHash, name string, content []byte) (pawl.TreeHash, error) {
	if err := errors.Join(checkHashes(tree), checkPath(name)); err != nil {
		return "", err
	}
	if name == tasks || strings.HasPrefix(name, tasks+"/") || pawl.RefusedName(name) != "" {
		return tree, nil
	}
	if size := int64(len(content)); size > s.limits(ctx).Filled().MaxFile {
		if before, err := s.FileAt(ctx, tree, name); err != nil || size > int64(len(before)) {
			return tree, err
		}
	}
	repo, done, err := s.temporary()
	if err != nil {
		return "", err
	}
	defer done()
	if err := s.lay(ctx, repo.WorkTree, string(tree), name, content); err != nil {
		return "", goneTree(tree, err)
	}
	result, err := rewrite(ctx, repo, string(tree), repo.AddPresent)
	if _, _, ok := blamed(err); ok {
		return tree, nil
	}
	if err != nil {
		return "", explain(fmt.Sprintf("write %s into tree %s", name, tree), err)
	}
	return pawl.TreeHash(result), nil
}

// lay writes the file into an empty folder, together with the .gitignore and
// .gitattributes files of the tree that have a say about it.
func (s *Workspaces) lay(ctx context.Context, folder, tree, name string, content []byte) error {
	mode := os.FileMode(0o644)
	write := func(name string, content []byte, mode os.FileMode) error {
		at := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		return os.WriteFile(at, content, mode)
	}
	err := s.reading(ctx, func(objects *git.Objects) error {
		old, err := find(objects, tree, name)
		if err != nil {
			return err
		}
		if old.Name != "" {
			if err := checkFile(old, name); err != nil {
				return err
			}
			if old.Mode == git.ModeExecutable {
				mode = 0o755
			}
		}
		for parent := name; parent != "."; {
			parent = path.Dir(parent)
			if above, err := find(objects, tree, parent); err != nil {
				return err
			} else if above.Name != "" && above.Mode != git.ModeTree {
				return pawl.Errorf(pawl.CodeInvalid, "%s is not a folder, so %s cannot be written", parent, name)
			}
			for _, special := range []string{".gitignore", ".gitattributes"} {
				e, err := find(objects, tree, path.Join(parent, special))
				if err != nil {
					return err
				}
				if e.Mode != git.ModeFile && e.Mode != git.ModeExecutable {
					continue // not there; nor does git follow symbolic links here
				}
				rules, err := objects.Get(e.Hash)
				if err == nil {
					err = write(path.Join(parent, special), rules.Data, 0o644)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		err = write(name, content, mode)
	}
	return explain("write "+name, err)
}

// withoutTasks is the tree of a commit's content without .pawl/tasks.
func (s *Workspaces) withoutTasks(ctx context.Context, commit git.Commit) (string, error) {
	entries, err := s.folder(ctx, commit.Tree, path.Dir(tasks))
	if err != nil {
		return "", err
	}
	found := false
	for _, e := range entries {
		found = found || e.Name == path.Base(tasks)
	}
	if !found {
		return commit.Tree, nil
	}
	tree, err := s.rewritten(ctx, commit.Tree, func(repo git.Repo) error { return repo.Forget(ctx, tasks) })
	return tree, explain("read commit "+commit.Hash, err)
}

// temporary is our repository with an empty worktree and an index of its own.
// done removes them.
func (s *Workspaces) temporary() (repo git.Repo, done func(), err error) {
	parent := filepath.Join(s.state, "tmp")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return git.Repo{}, nil, explain("make a temporary folder", err)
	}
	folder, err := os.MkdirTemp(parent, "tree-*")
	if err != nil {
		return git.Repo{}, nil, explain("make a temporary folder", err)
	}
	repo = s.engine
	repo.WorkTree, repo.Index = filepath.Join(folder, "files"), filepath.Join(folder, "index")
	if err := os.Mkdir(repo.WorkTree, 0o700); err != nil {
		return git.Repo{}, nil, explain("make a temporary folder", err)
	}
	return repo, func() { _ = removeAll(folder) }, nil // what stays is swept by Recover
}

// rewritten is a tree after a change to the index that is made of it. The change is
// given a [Workspaces.temporary] repository that has this index.
func (s *Workspaces) rewritten(ctx context.Context, tree string, change func(git.Repo) error) (string, error) {
	repo, done, err := s.temporary()
	if err != nil {
		return "", err
	}
	defer done()
	return rewrite(ctx, repo, tree, func(context.Context) error { return change(repo) })
}

// store keeps contents as blobs, by way of a temporary repository's worktree, and
// puts their hashes into the entries.
func store(ctx context.Context, repo git.Repo, entries []git.Entry, contents [][]byte) error {
	if len(contents) == 0 {
		return nil
	}
	names := make([]string, len(contents))
	for i, content := range contents {
		names[i] = strconv.Itoa(i)
		if err := os.WriteFile(filepath.Join(repo.WorkTree, names[i]), content, 0o600); err != nil {
			return err
		}
	}
	hashes, err := repo.WriteFiles(ctx, names)
	for i, hash := range hashes {
		entries[i].Hash = hash
	}
	return err
}

func rewrite(ctx context.Context, repo git.Repo, tree string, change func(context.Context) error) (string, error) {
	if err := repo.ReadTree(ctx, tree); err != nil {
		return "", err
	}
	if err := change(ctx); err != nil {
		return "", err
	}
	return repo.WriteTree(ctx)
}

// checkPath refuses what is no path of a file within a repository.
func checkPath(name string) error {
	bad := name == "" || name[0] == '/' || strings.ContainsRune(name, 0)
	for part := range strings.SplitSeq(name, "/") {
		bad = bad || part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git")
	}
	if bad {
		return pawl.Errorf(pawl.CodeInvalid, "%q is not the path of a file in the repository", name)
	}
	return nil
}

// checkFile refuses an entry that is no file.
func checkFile(e git.Entry, name string) error {
	what := map[string]string{git.ModeTree: "a folder", git.ModeSymlink: "a symbolic link", git.ModeSubmodule: "a submodule"}[e.Mode]
	if what != "" {
		return pawl.Errorf(pawl.CodeInvalid, "%s is %s", name, what)
	}
	return nil
}
