package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/document/taskfolder"
	"pawl/internal/engine"
	"pawl/internal/git"
	"pawl/internal/project"
	"pawl/internal/start"
)

// kept is a task as the repository has it.
type kept struct {
	folder taskfolder.Folder
	// branch and commit are the newest branch of the task that HEAD does not have;
	// empty = HEAD has everything.
	branch string
	commit pawl.CommitHash
	runs   int // the highest number of its branches; zero = there is none
}

// keeping looks for tasks in the objects of a repository, never in a checkout: the
// folders at HEAD, and that of each task on the newest of its branches.
type keeping struct {
	repo    git.Repo
	objects *git.Objects
	tasks   map[string]*kept
}

// keep are the tasks that the repository at a folder has, by their ids.
func keep(ctx context.Context, dir string, p project.Project) (tasks map[string]*kept, err error) {
	command, err := git.Find(ctx)
	if err != nil {
		return nil, err
	}
	k := keeping{repo: git.Repo{Command: command, Dir: p.Repo.GitDir}, tasks: map[string]*kept{}}
	head, err := command.Discover(dir).Git(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	commit := strings.TrimSpace(string(head))
	if err != nil {
		commit = "" // no commit yet
	}
	reader := k.repo.Resident(time.Minute)
	defer func() { err = errors.Join(err, reader.Close()) }()
	return k.tasks, reader.Objects(ctx, func(objects *git.Objects) error {
		k.objects = objects
		if commit != "" {
			if err := k.atHead(commit); err != nil {
				return err
			}
		}
		return k.onBranches(ctx, commit)
	})
}

func (k *keeping) atHead(commit string) error {
	files, err := k.files(commit, pawl.TasksFolder)
	if err != nil {
		return err
	}
	for _, f := range taskfolder.ParseAll(files) {
		k.tasks[f.ID] = &kept{folder: f}
	}
	return nil
}

// onBranches looks at the branches of tasks, each task's newest: those of this
// repository, and those that it has fetched from others. Of two with one number the
// own one counts.
func (k *keeping) onBranches(ctx context.Context, head string) error {
	type branch struct {
		ref string
		n   int
	}
	newest := map[string]branch{}
	for _, of := range []string{"refs/heads/pawl/", "refs/remotes/"} {
		refs, err := k.repo.Refs(ctx, of)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			_, name, _ := strings.Cut(ref, "/pawl/")
			run := pawl.RunID(name)
			if !run.Valid() {
				continue
			}
			task, n := run.Task()
			if n > newest[task].n {
				newest[task] = branch{ref, n}
			}
		}
	}
	for _, task := range slices.Sorted(maps.Keys(newest)) {
		if err := k.onBranch(ctx, head, newest[task].ref, task, newest[task].n); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeping) onBranch(ctx context.Context, head, ref, task string, runs int) error {
	c, err := k.objects.Commit(ref)
	if errors.Is(err, git.ErrMissing) {
		return nil // it has just gone
	}
	if err != nil {
		return err
	}
	merged := false
	if head != "" {
		if merged, err = k.repo.IsAncestor(ctx, c.Hash, head); err != nil {
			return err
		}
	}
	at := k.tasks[task]
	if at == nil {
		at = &kept{}
	}
	at.runs = runs
	if !merged {
		at.branch, at.commit = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/remotes/"), pawl.CommitHash(c.Hash)
		files, err := k.files(c.Hash, taskfolder.Path(pawl.RunID(task)))
		if err != nil {
			return err
		}
		if len(files) > 0 {
			at.folder = taskfolder.Parse(task, files)
		}
	}
	k.tasks[task] = at
	return nil
}

// Limits of what is read of the folders in one commit; the last two are in bytes.
const (
	mostFiles = 20_000
	mostFile  = 1 << 20  // a larger one is left out
	mostBytes = 64 << 20 // of all files together
)

// files are those below a folder of a commit, by their paths in it. What is too
// large is left out.
func (k *keeping) files(commit, folder string) (map[string][]byte, error) {
	c, err := k.objects.Commit(commit)
	if err != nil {
		return nil, err
	}
	tree := c.Tree
	for name := range strings.SplitSeq(folder, "/") {
		entries, err := k.objects.Tree(tree)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(entries, func(e git.Entry) bool { return e.Name == name && e.Mode == git.ModeTree })
		if i < 0 {
			return nil, nil
		}
		tree = entries[i].Hash
	}
	files, size := map[string][]byte{}, 0
	return files, k.below(tree, "", files, &size)
}

// depth is how deep folders of tasks go: NNN-slug/learnings/file.
const depth = 3

func (k *keeping) below(tree, prefix string, files map[string][]byte, size *int) error {
	entries, err := k.objects.Tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := prefix + e.Name
		switch {
		case len(files) >= mostFiles || *size >= mostBytes:
			return nil
		case e.Mode == git.ModeTree && strings.Count(name, "/") < depth-1:
			if err := k.below(e.Hash, name+"/", files, size); err != nil {
				return err
			}
		case e.Mode == git.ModeFile || e.Mode == git.ModeExecutable:
			object, err := k.objects.GetSmall(e.Hash, mostFile)
			if err != nil {
				return err
			}
			if object.Data != nil {
				files[name] = object.Data
				*size += len(object.Data)
			}
		}
	}
	return nil
}

// folders are the folders of tasks for the commands.
func folders(ctx context.Context, dir string, p project.Project) ([]start.Folder, error) {
	tasks, err := keep(ctx, dir, p)
	if err != nil {
		return nil, err
	}
	var out []start.Folder
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		t := tasks[id]
		if t.folder.ID == "" {
			continue
		}
		f := start.Folder{Task: id, Status: string(t.folder.Status), Goal: t.folder.Goal, Criteria: t.folder.Criteria, Tasks: t.folder.Tasks,
			Where: t.branch, Problem: t.folder.Problem}
		if f.Where == "" {
			f.Where = "HEAD"
		}
		out = append(out, f)
	}
	return out, nil
}

// known is what the repository has of a task, for the engine.
func known(ctx context.Context, dir string, p project.Project, task string) (engine.Known, error) {
	tasks, err := keep(ctx, dir, p)
	if err != nil || tasks[task] == nil {
		return engine.Known{}, err
	}
	t := tasks[task]
	return engine.Known{Base: t.commit, Learnings: t.folder.Learnings, Runs: t.runs}, nil
}

// answered is what people answered in earlier runs, as the folders of tasks have it, for the engine.
func answered(ctx context.Context, dir string, p project.Project) ([]string, error) {
	tasks, err := keep(ctx, dir, p)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		out = append(out, tasks[id].folder.Answered...)
	}
	return out, nil
}
