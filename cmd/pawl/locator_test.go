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

// A repository that was found is looked up again when something has changed by which git finds another one or finds
// it otherwise.
func TestLocatorAsksGitAgain(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, root string){
		"a folder has become a link into another repository": func(t *testing.T, root string) {
			other := filepath.Join(filepath.Dir(root), "other")
			checkout{t, filepath.Dir(root)}.git("init", "-q", other)
			if err := os.MkdirAll(filepath.Join(other, "sub", "b"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(other, "sub"), filepath.Join(root, "a")); err != nil {
				t.Fatal(err)
			}
		},
		"a folder has become a bare repository": func(t *testing.T, root string) {
			checkout{t, root}.git("init", "-q", "--bare", filepath.Join(root, "a"))
		},
		"the repository has become bare": func(t *testing.T, root string) {
			checkout{t, root}.git("config", "core.bare", "true")
		},
		"its files are elsewhere in this worktree's configuration": func(t *testing.T, root string) {
			checkout{t, root}.git("config", "--file", filepath.Join(root, ".git", "config.worktree"), "core.worktree", filepath.Dir(root))
		},
		"its folder has another name": func(t *testing.T, root string) {
			for _, step := range []error{os.Rename(root, root+"2"), os.Symlink(root+"2", root)} {
				if step != nil {
					t.Fatal(step)
				}
			}
		},
		"its configuration is gone": func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, ".git", "config")); err != nil {
				t.Fatal(err)
			}
		},
		"its files are elsewhere": func(t *testing.T, root string) {
			checkout{t, root}.git("config", "core.worktree", filepath.Dir(root))
		},
	} {
		t.Run(name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			root := filepath.Join(top, "project")
			deep := filepath.Join(root, "a", "b")
			checkout{t, top}.git("init", "-q", root)
			if err := os.MkdirAll(deep, 0o755); err != nil {
				t.Fatal(err)
			}
			l := locator{}
			if _, err := l.find(t.Context(), deep); err != nil {
				t.Fatal(err)
			}
			if _, known := l.remembered(deep); !known {
				t.Fatal("the repository is not remembered")
			}
			change(t, root)
			if repo, known := l.remembered(deep); known {
				t.Errorf("it is still taken for %+v", repo)
			}
		})
	}
}

// Where files do not show for certain which repository git finds, git is asked each time.
func TestLocatorAsksGitEachTime(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(top, "project")
	checkout{t, top}.git("init", "-q", root)
	checkout{t, root}.git("commit", "-q", "--allow-empty", "-m", "Start")
	worktree := filepath.Join(top, "worktree")
	checkout{t, root}.git("worktree", "add", "-q", worktree)

	above := filepath.Join(top, "above", "inner") // its files begin one folder above
	checkout{t, top}.git("init", "-q", above)
	checkout{t, above}.git("config", "core.worktree", "../..")
	linked := filepath.Join(top, "linked")
	broken := filepath.Join(root, "broken") // has a .git that git passes over
	for _, err := range []error{
		os.Mkdir(linked, 0o755), os.Symlink(filepath.Join(root, ".git"), filepath.Join(linked, ".git")),
		os.MkdirAll(filepath.Join(broken, ".git"), 0o755), os.WriteFile(filepath.Join(broken, ".git", "config"), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	for _, test := range []struct{ dir, root string }{
		{worktree, worktree}, {above, filepath.Dir(above)}, {linked, linked}, {broken, root}, {".", root},
	} {
		var l locator
		for range 2 {
			repo, err := l.find(t.Context(), test.dir)
			if _, known := l.remembered(test.dir); err != nil || repo.Root != test.root || known {
				t.Errorf("%s: found %+v, %v, and it is remembered: %v; want %s", test.dir, repo, err, known, test.root)
			}
		}
	}
}
