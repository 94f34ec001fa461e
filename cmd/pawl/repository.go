package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/diff"
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

// located is a repository that git found, with its place at that time.
type located struct {
	repo  pawl.Repository
	place place
}

// maxLocated is how many folders a locator remembers.
const maxLocated = 100

// find returns what [repositoryAt] returns. It does not ask git again as long as the place of the repository
// is the same.
func (l *locator) find(ctx context.Context, dir string) (pawl.Repository, error) {
	if repo, ok := l.remembered(dir); ok {
		return repo, nil
	}
	place, certain := placeOf(dir) // before git looks, as it may change meanwhile
	repo, err := repositoryAt(ctx, dir)
	if err != nil || !certain || repo.Root != place.root || repo.GitDir != filepath.Join(place.root, ".git") {
		return repo, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= maxLocated {
		l.known = map[string]located{}
	}
	l.known[dir] = located{repo, place}
	return repo, nil
}

// remembered returns the repository of a folder if git would find it again.
func (l *locator) remembered(dir string) (pawl.Repository, bool) {
	l.mu.Lock()
	known, ok := l.known[dir]
	l.mu.Unlock()
	if !ok {
		return pawl.Repository{}, false
	}
	place, certain := placeOf(dir)
	return known.repo, certain && place.same(known.place)
}

// place is where the repository of a folder is, as its files show without git.
type place struct {
	root   string            // the folder that has .git
	dir    os.FileInfo       // of .git
	config [sha256.Size]byte // of the repository's configuration, which may say that its files are elsewhere
}

// placeOf returns the place of a folder's repository. It is not certain if git may find another repository
// or find it otherwise: .git is a file, or a folder in between looks like a bare repository.
func placeOf(dir string) (p place, certain bool) {
	at, err := filepath.EvalSymlinks(dir) // as git does: a folder may have become a link into another repository
	if err != nil || !filepath.IsAbs(dir) {
		return place{}, false
	}
	for {
		info, err := os.Lstat(filepath.Join(at, ".git"))
		if err == nil {
			config, err := configOf(filepath.Join(at, ".git"))
			return place{at, info, config}, err == nil && info.IsDir()
		}
		_, bare := os.Lstat(filepath.Join(at, "HEAD"))
		if !errors.Is(err, fs.ErrNotExist) || !errors.Is(bare, fs.ErrNotExist) || at == filepath.Dir(at) {
			return place{}, false
		}
		at = filepath.Dir(at)
	}
}

// configOf returns a hash of the files in a git folder that say whether the repository is bare and where its
// files are.
func configOf(gitDir string) (hash [sha256.Size]byte, err error) {
	config, err := os.ReadFile(filepath.Join(gitDir, "config"))
	if err != nil {
		return hash, err
	}
	more, err := os.ReadFile(filepath.Join(gitDir, "config.worktree"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return hash, err
	}
	return sha256.Sum256(slices.Concat(config, []byte{0}, more)), nil
}

func (p place) same(q place) bool {
	return p.root == q.root && os.SameFile(p.dir, q.dir) && p.config == q.config
}

// locate finds the repository of a folder without looking at what is in it. It does not check git's version;
// callers that go on to use git do.
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

// compare is the difference between two commits, as a patch or, in so many columns, as a list of files. Unless raw,
// marks replace secrets, in so many lines. No program of the repository's is run.
func compare(ctx context.Context, app *cli.App, p project.Project, from, to pawl.CommitHash, stat int, raw bool) (out []byte, marked int, err error) {
	command, err := git.Find(ctx)
	if err != nil {
		return nil, 0, err
	}
	repo := git.Repo{Command: command, Dir: p.Repo.GitDir}
	if stat == 0 {
		out, err = repo.Patch(ctx, string(from), string(to))
	} else {
		out, err = repo.Git(ctx, nil, "diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none",
			fmt.Sprintf("--stat=%d", stat), string(from), string(to))
	}
	if e, ok := errors.AsType[*git.Error](err); ok && strings.Contains(e.Stderr, "bad object") {
		return nil, 0, pawl.Errorf(pawl.CodeNotFound, "the repository does not have both commits any more, %.12s and %.12s", from, to)
	}
	if err != nil || raw || len(out) == 0 {
		return out, 0, err
	}
	secrets := heldSecrets(ctx, app)
	if stat > 0 {
		return secrets.Bytes(out), 0, nil
	}
	whole, err := repo.WholePatch(ctx, string(from), string(to))
	if pawl.CodeOf(err) == pawl.CodeState { // it is too large: what the patch itself shows is looked at
		whole, err = nil, nil
	}
	out, marked = secrets.Patch(out, whole)
	return out, marked, err
}

// comparing is compare for a command.
func comparing(app *cli.App) diff.Compare {
	return func(ctx context.Context, p project.Project, from, to pawl.CommitHash, stat int, raw bool) ([]byte, int, error) {
		return compare(ctx, app, p, from, to, stat, raw)
	}
}

// difference is compare for the repository at a root, as a patch without secrets.
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
		patch, _, err := compare(ctx, app, p, from, to, 0, false)
		return patch, err
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
