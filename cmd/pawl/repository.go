package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/cli"
	tuicmd "pawl/internal/cli/tui"
	"pawl/internal/git"
	"pawl/internal/project"
)

// locator finds the repositories of folders for a process that is asked for the same ones again and
// again. Use it from any goroutine; the zero value is ready.
type locator struct {
	mu    sync.Mutex
	known map[string]located // by folder
}

// located is a repository as it was when git found it.
type located struct {
	repo pawl.Repository
	dir  os.FileInfo // of its root's .git
}

// maxLocated is how many folders a locator remembers.
const maxLocated = 100

// find is [repositoryAt] without git, as long as the repository is where git found it and no other one is
// between it and the folder.
func (l *locator) find(ctx context.Context, dir string) (pawl.Repository, error) {
	if repo, ok := l.remembered(dir); ok {
		return repo, nil
	}
	repo, err := repositoryAt(ctx, dir)
	if err != nil {
		return repo, err
	}
	at := filepath.Join(repo.Root, ".git")
	info, err := os.Lstat(at)
	if err != nil || !info.IsDir() || repo.GitDir != at || !filepath.IsAbs(dir) {
		return repo, nil //nolint:nilerr // a worktree of the user's or a bare repository: git is asked again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxLocated {
		l.known = map[string]located{}
	}
	l.known[dir] = located{repo, info}
	return repo, nil
}

// remembered returns the repository of a folder if git would find it again.
func (l *locator) remembered(dir string) (pawl.Repository, bool) {
	l.mu.Lock()
	known, ok := l.known[dir]
	l.mu.Unlock()
	return known.repo, ok && known.stands(dir)
}

// stands reports whether git would find the same again from a folder.
func (l located) stands(dir string) bool {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Lstat(filepath.Join(at, ".git"))
		if at == l.repo.Root {
			return err == nil && os.SameFile(info, l.dir)
		}
		if err == nil || at == filepath.Dir(at) {
			return false
		}
	}
}

// locate finds the repository of a folder without looking at what is in it, with whatever git there is:
// who goes on to use it checks its version.
func locate(ctx context.Context, dir string) (pawl.Repository, error) {
	command, err := git.Look()
	if err != nil {
		return pawl.Repository{}, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return pawl.Repository{}, fmt.Errorf("find the repository: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return pawl.Repository{}, pawl.Errorf(pawl.CodeFolder, "there is no folder %s", dir).WithHint("give a folder of a repository")
	}
	out, err := command.Discover(dir).Git(ctx, nil, "rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel")
	if err != nil {
		return pawl.Repository{}, err
	}
	folders := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(folders) != 2 {
		return pawl.Repository{}, fmt.Errorf("git rev-parse answered %q", folders)
	}
	return pawl.Repository{GitDir: folders[0], Root: folders[1]}, nil
}

// compare is the difference between two commits, as a patch or, in so many
// columns, as a list of files. No program of the repository's is run.
func compare(ctx context.Context, p project.Project, from, to pawl.CommitHash, stat int) ([]byte, error) {
	command, err := git.Find(ctx)
	if err != nil {
		return nil, err
	}
	repo := git.Repo{Command: command, Dir: p.Repo.GitDir}
	var out []byte
	if stat == 0 {
		out, err = repo.Patch(ctx, string(from), string(to))
	} else {
		out, err = repo.Git(ctx, nil, "diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none",
			fmt.Sprintf("--stat=%d", stat), string(from), string(to))
	}
	if e, ok := errors.AsType[*git.Error](err); ok && strings.Contains(e.Stderr, "bad object") {
		return nil, pawl.Errorf(pawl.CodeNotFound, "the repository does not have both commits any more, %.12s and %.12s", from, to)
	}
	return out, err
}

// difference is compare for the repository at a root, as a patch.
func difference(app *cli.App) tuicmd.Diff {
	return func(ctx context.Context, root string, from, to pawl.CommitHash) ([]byte, error) {
		repo, err := locate(ctx, root)
		if err != nil {
			return nil, err
		}
		p, err := project.At(app.StateHome, repo)
		if err != nil {
			return nil, err
		}
		return compare(ctx, p, from, to, 0)
	}
}

// refs are the refs below a prefix.
func refs(ctx context.Context, p project.Project, prefix string) ([]string, error) {
	command, err := git.Find(ctx)
	if err != nil {
		return nil, err
	}
	return git.Repo{Command: command, Dir: p.Repo.GitDir}.Refs(ctx, prefix)
}

// commitAll makes a folder a repository with one commit of what is in it.
func commitAll(ctx context.Context, dir string) error {
	command, err := git.Find(ctx)
	if err != nil {
		return err
	}
	repo := git.Repo{Command: command, Dir: filepath.Join(dir, ".git")}
	if err := repo.Create(ctx, "sha1"); err != nil {
		return err
	}
	for _, args := range [][]string{{"config", "core.bare", "false"}, {"symbolic-ref", "HEAD", "refs/heads/main"}} {
		if _, err := repo.Git(ctx, nil, args...); err != nil {
			return err
		}
	}
	repo.WorkTree, repo.Index = dir, filepath.Join(dir, ".git", "index")
	if err := repo.AddAll(ctx); err != nil {
		return err
	}
	tree, err := repo.WriteTree(ctx)
	if err != nil {
		return err
	}
	commit, err := repo.WriteCommit(ctx, tree, nil, "A small package\n", time.Now())
	if err != nil {
		return err
	}
	return repo.MoveRef(ctx, "refs/heads/main", commit, "", "first commit")
}

// results shows the branches a demo has made: their commits and what these change.
func results(ctx context.Context, dir string) (string, error) {
	command, err := git.Find(ctx)
	if err != nil {
		return "", err
	}
	repo := git.Repo{Command: command, Dir: filepath.Join(dir, ".git")}
	branches, err := repo.Refs(ctx, "refs/heads/pawl/")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, ref := range branches {
		branch := strings.TrimPrefix(ref, "refs/heads/")
		for _, args := range [][]string{{"log", "--oneline", "--no-decorate", "main.." + branch}, {"diff", "--stat", "main..." + branch}} {
			text, err := repo.Git(ctx, nil, args...)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "$ git %s\n%s\n", strings.Join(args, " "), text)
		}
	}
	return out.String(), nil
}
