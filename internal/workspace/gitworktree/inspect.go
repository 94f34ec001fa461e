package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/project"
)

// Inspect finds the repository of the user's checkout at or above dir and says
// what a run needs to know about it. It refuses a repository that runs cannot
// work in. Nothing is changed, and none of the user's hooks, filters or monitors
// is run. A nil command means the git in PATH.
func Inspect(ctx context.Context, command *git.Command, dir string) (pawl.Repository, error) {
	return (&Inspector{Git: command}).Inspect(ctx, dir)
}

// Inspector inspects a repository again and again. It remembers what it found in the commit
// that it looked at last. Use it from any goroutine.
type Inspector struct {
	// Git is the git program; nil means the one in PATH.
	Git *git.Command
	// Files lists the files of a commit; nil means that git is asked.
	Files func(ctx context.Context, commit string) ([]git.Entry, error)
	// Known returns the repository of a folder if it is known and not bare; nil means that git is always
	// asked. Only Root and GitDir are used.
	Known func(dir string) (pawl.Repository, bool)

	mu    sync.Mutex
	at    pawl.CommitHash // the commit
	notes []string        // about it
}

// Inspect is as the function of this name.
func (s *Inspector) Inspect(ctx context.Context, dir string) (pawl.Repository, error) {
	command := s.Git
	if command == nil {
		var err error
		if command, err = git.Find(ctx); err != nil {
			return pawl.Repository{}, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return pawl.Repository{}, fmt.Errorf("inspect the repository: %w", err)
	}
	i := &inspection{user: command.Discover(dir), folder: dir, known: s.Known}
	for _, step := range []func(context.Context) error{
		i.locate, i.settings, i.head, i.trust, func(ctx context.Context) error { return s.commit(ctx, i) },
	} {
		if err := step(ctx); err != nil {
			return pawl.Repository{}, explain("inspect the repository at "+dir, err)
		}
	}
	return i.found, nil
}

// commit adds what is to be known of the commit that was found.
func (s *Inspector) commit(ctx context.Context, i *inspection) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at != i.found.Head {
		list := s.Files
		if list == nil {
			list = i.user.Files
		}
		files, err := list(ctx, string(i.found.Head))
		if err != nil {
			return err
		}
		about := &inspection{user: i.user, found: pawl.Repository{Head: i.found.Head}}
		about.submodules(files)
		if err := about.filters(ctx, files); err != nil {
			return err
		}
		s.at, s.notes = i.found.Head, about.found.Notes
	}
	i.found.Notes = append(i.found.Notes, s.notes...)
	return nil
}

// inspection gathers what is known of a repository.
type inspection struct {
	user   git.Repo
	folder string
	known  func(dir string) (pawl.Repository, bool)
	found  pawl.Repository
}

func (i *inspection) note(format string, args ...any) {
	i.found.Notes = append(i.found.Notes, fmt.Sprintf(format, args...))
}

// ask runs a git command in the user's folder and returns its lines.
func (i *inspection) ask(ctx context.Context, args ...string) ([]string, error) {
	out, err := i.user.Git(ctx, nil, args...)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), err
}

// locate finds the git folder and the root of the files.
func (i *inspection) locate(ctx context.Context) error {
	if i.known != nil {
		if repo, ok := i.known(i.folder); ok {
			i.found.Root, i.found.GitDir = repo.Root, repo.GitDir
			i.shallow(exists(filepath.Join(repo.GitDir, "shallow")))
			return nil
		}
	}
	lines, err := i.ask(ctx, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-work-tree",
		"--is-shallow-repository", "--git-common-dir", "--show-toplevel")
	if len(lines) == 4 { // it has said all but where the files are, as there are none
		err = nil
	}
	if e, ok := errors.AsType[*git.Error](err); ok {
		if strings.Contains(e.Stderr, "not a git repository") {
			err := pawl.Errorf(pawl.CodeFolder, "%s is not in a git repository", i.folder)
			err.Err = project.ErrOutside
			return err.WithHint("run git init and make a first commit, or go to the folder of a repository")
		}
		if strings.Contains(e.Stderr, "dubious ownership") {
			return pawl.Errorf(pawl.CodeFolder, "the repository at %s belongs to somebody else", i.folder).
				WithHint("if you trust it: git config --global --add safe.directory %s", i.folder)
		}
	}
	if err != nil {
		return err
	}
	if len(lines) < 4 {
		return fmt.Errorf("git rev-parse answered %q", lines)
	}
	i.found.Bare = lines[0] == "true"
	i.found.GitDir = lines[3]
	i.found.Root = i.found.GitDir
	i.shallow(lines[2] == "true")
	if i.found.Bare {
		i.note("The repository is bare: the run starts from what its HEAD points to.")
		return nil
	}
	if lines[1] != "true" {
		return pawl.Errorf(pawl.CodeFolder, "%s is inside a git folder", i.folder).
			WithHint("go to the folder of the repository's files")
	}
	i.found.Root = strings.Join(lines[4:], "\n") // a path may have newlines
	return nil
}

func (i *inspection) shallow(is bool) {
	if is {
		i.note("The repository is shallow: history older than it has cannot be shown.")
	}
}

// settings reads the configuration: it refuses partial clones and takes the
// filters' programs out of every later call.
func (i *inspection) settings(ctx context.Context) error {
	out, err := i.user.Git(ctx, nil, "config", "--null", "--list")
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		section, rest, _ := strings.Cut(key, ".")
		dot := strings.LastIndex(rest, ".")
		switch {
		case section == "filter" && dot > 0:
			name := "filter." + rest[:dot]
			i.user.Config = append(i.user.Config, git.Setting{Key: name + ".clean"}, git.Setting{Key: name + ".smudge"},
				git.Setting{Key: name + ".process"}, git.Setting{Key: name + ".required", Value: "false"})
		case key == "user.name":
			i.found.Author.Name = strings.TrimSpace(value)
		case key == "user.email":
			i.found.Author.Email = strings.TrimSpace(value)
		case key == "core.sparsecheckout" && value == "true":
			i.note("Your checkout is sparse; the run's worktrees hold every file.")
		case key == "extensions.partialclone", section == "remote" && dot > 0 && rest[dot:] == ".promisor" && value == "true":
			return pawl.Errorf(pawl.CodeState, "the repository is a partial clone: some of its objects are not here").
				WithHint("clone it again without --filter; runs work without the network")
		}
	}
	return nil
}

// head finds the commit a run starts from, its branch, and what is not committed. Submodules
// are not looked into.
func (i *inspection) head(ctx context.Context) error {
	if i.found.Bare {
		return i.bareHead(ctx)
	}
	out, err := i.user.Git(ctx, nil, "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=all")
	if err != nil {
		return err
	}
	changes := 0
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if head, found := strings.CutPrefix(entry, "# branch.oid "); found {
			i.found.Head = pawl.CommitHash(head)
		} else if branch, found := strings.CutPrefix(entry, "# branch.head "); found {
			i.found.Branch = branch
		} else if entry != "" && !strings.HasPrefix(entry, "# ") {
			changes++
		}
	}
	if checkHashes(i.found.Head) != nil {
		return noCommit()
	}
	if i.found.Branch == "(detached)" { // or a branch is called so
		if err := i.branch(ctx); err != nil {
			return err
		}
	}
	if changes > 0 {
		i.found.Dirty = true
		i.note("Uncommitted changes in %s are not part of the run: it starts from commit %.12s.", count(changes, "file"), i.found.Head)
	}
	return nil
}

// bareHead is head for a repository without files.
func (i *inspection) bareHead(ctx context.Context) error {
	head, err := i.ask(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if e, ok := errors.AsType[*git.Error](err); ok && e.Exit == 1 || err == nil && checkHashes(head[0]) != nil {
		return noCommit()
	}
	if err != nil {
		return err
	}
	i.found.Head = pawl.CommitHash(head[0])
	return i.branch(ctx)
}

// branch finds the branch that HEAD is on; none if it is detached.
func (i *inspection) branch(ctx context.Context) error {
	branch, err := i.ask(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	i.found.Branch = branch[0]
	if e, ok := errors.AsType[*git.Error](err); ok && e.Exit == 1 {
		i.note("HEAD is detached: the run starts from commit %.12s, which may be on no branch.", i.found.Head)
		return nil
	}
	return err
}

func noCommit() error {
	return pawl.Errorf(pawl.CodeState, "the repository has no commit yet").
		WithHint("make a first commit, for example git commit --allow-empty -m Start")
}

// ours reports whether a branch is one that runs make.
func ours(branch string) bool { return strings.HasPrefix(branch, "pawl/") }

// trust finds out whether a branch of the user's own has the commit a run starts from.
func (i *inspection) trust(ctx context.Context) error {
	if i.found.Trusted = i.found.Branch != "" && !ours(i.found.Branch); i.found.Trusted {
		return nil
	}
	out, err := i.user.Git(ctx, nil, "for-each-ref", "--contains", string(i.found.Head), "--format=%(refname:lstrip=2)", "refs/heads")
	if err != nil {
		return err
	}
	i.found.Trusted = slices.ContainsFunc(strings.Fields(string(out)), func(branch string) bool { return !ours(branch) })
	return nil
}

// submodules looks for submodules in the commit.
func (i *inspection) submodules(files []git.Entry) {
	var names []string
	for _, f := range files {
		if f.Mode == git.ModeSubmodule {
			names = append(names, f.Name)
		}
	}
	if len(names) > 0 {
		i.note("Submodules are not checked out in worktrees: %s.", few(names))
	}
}

// filters looks for filters in the commit's .gitattributes files.
func (i *inspection) filters(ctx context.Context, files []git.Entry) error {
	if !slices.ContainsFunc(files, func(f git.Entry) bool { return path.Base(f.Name) == ".gitattributes" }) {
		return nil
	}
	out, err := i.user.Git(ctx, nil, "grep", "-h", "-I", "-F", "--no-line-number", "--no-column", "--no-color",
		"-e", "filter=", string(i.found.Head), "--", ":(top).gitattributes", ":(top,glob)**/.gitattributes")
	if e, ok := errors.AsType[*git.Error](err); ok && e.Exit == 1 {
		return nil // no such line
	}
	if err != nil {
		return err
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, word := range strings.Fields(line) {
			if name, ok := strings.CutPrefix(word, "filter="); ok {
				names = append(names, strconv.QuoteToASCII(name))
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 0 {
		i.note("Files under the filter %s are seen as they are stored in git, Git LFS files as pointers.", few(names))
	}
	return nil
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// few names up to three of many.
func few(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
}
