package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/project"
	"pawl/internal/workspace/gitworktree"
)

// A repository that was found is found again without git, until something else is in its place or between it
// and the folder.
func TestLocator(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	initialize := func(dir string) {
		t.Helper()
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v: %s", err, out)
		}
	}
	root := filepath.Join(top, "project")
	deep := filepath.Join(root, "a", "b")
	initialize(root)
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	var l locator
	want := func(about, root string, byGit bool) {
		t.Helper()
		if _, known := l.remembered(deep); known == byGit {
			t.Errorf("%s: known without git: %v", about, known)
		}
		repo, err := l.find(t.Context(), deep)
		if err != nil || repo.Root != root || repo.GitDir != filepath.Join(root, ".git") {
			t.Errorf("%s: found %+v, %v; want %s", about, repo, err, root)
		}
	}
	want("at first", root, true)
	want("again", root, false)
	between := filepath.Join(root, "a")
	initialize(between)
	want("with a repository between", between, true)
	want("again with a repository between", between, false)
	if err := os.RemoveAll(filepath.Join(between, ".git")); err != nil {
		t.Fatal(err)
	}
	want("without it", root, true)
	if err := os.Rename(filepath.Join(root, ".git"), filepath.Join(root, "old")); err != nil {
		t.Fatal(err)
	}
	initialize(root)
	want("with another repository in its place", root, true)
	if err := os.RemoveAll(filepath.Join(root, ".git")); err != nil {
		t.Fatal(err)
	}
	if repo, err := l.find(t.Context(), deep); err == nil {
		t.Errorf("a repository that is gone is found: %+v", repo)
	}
}

// Git does not look into a repository that a request names and that is not the project's. A start inspects
// before the request was refused.
func TestInspectLooksIntoNoOtherRepository(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, other := filepath.Join(top, "project"), filepath.Join(top, "other")
	for _, dir := range []string{root, other} {
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v: %s", err, out)
		}
	}
	command, err := git.Look()
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		looked++
		return run(cmd)
	}
	m := &machine{}
	p := project.Project{Repo: pawl.Repository{Root: root, GitDir: filepath.Join(root, ".git")}}
	for _, dir := range []string{other, top, "../other"} {
		if _, err := m.inspect(t.Context(), &gitworktree.Inspector{Git: command}, p, dir); pawl.CodeOf(err) != pawl.CodeFolder || looked > 0 {
			t.Errorf("%s: the error is %v, and git has looked %d times", dir, err, looked)
		}
	}
	if _, err := m.inspect(t.Context(), &gitworktree.Inspector{Git: command}, p, root); pawl.CodeOf(err) != pawl.CodeState || looked == 0 {
		t.Errorf("of the project's own, which has no commit, the error is %v, and git has looked %d times", err, looked)
	}
}
