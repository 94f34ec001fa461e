package gitworktree_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

// trap is a program that leaves a marker when anybody runs it.
type trap struct{ program, marker string }

func newTrap(t *testing.T) trap {
	t.Helper()
	dir := t.TempDir()
	trap := trap{filepath.Join(dir, "trap"), filepath.Join(dir, "marker")}
	if err := os.WriteFile(trap.program, []byte("#!/bin/sh\necho \"$0 $*\" >> "+trap.marker+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return trap
}

// config is a git configuration that runs the trap wherever one can.
func (t trap) config() string {
	return strings.ReplaceAll(`
[core]
	fsmonitor = TRAP
	hooksPath = HOOKS
	sshCommand = TRAP
	pager = TRAP
	editor = TRAP
	askPass = TRAP
	gitProxy = TRAP
	alternateRefsCommand = TRAP
	attributesFile = ATTRIBUTES
[commit]
	gpgSign = true
[gpg]
	program = TRAP
[filter "evil"]
	clean = TRAP
	smudge = TRAP
	process = TRAP
	required = true
[diff]
	external = TRAP
[diff "evil"]
	command = TRAP
	textconv = TRAP
[merge "evil"]
	driver = TRAP
[credential]
	helper = TRAP
[alias]
	add = !TRAP
	update-ref = !TRAP
[uploadpack]
	packObjectsHook = TRAP
[interactive]
	diffFilter = TRAP
`, "TRAP", t.program)
}

// hooks makes every hook of a folder the trap.
func (t trap) hooks(tb testing.TB, folder string) {
	tb.Helper()
	for _, hook := range []string{
		"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-merge", "post-rewrite", "post-index-change",
		"reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "update", "post-update",
	} {
		workspacetest.MustWrite(tb, folder, hook, "#!/bin/sh\nexec "+t.program+" "+hook+"\n")
		if err := os.Chmod(filepath.Join(folder, hook), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
}

func (t trap) wantUnsprung(tb testing.TB, when string) {
	tb.Helper()
	if marker, err := os.ReadFile(t.marker); err == nil {
		tb.Fatalf("%s, a program was run:\n%s", when, marker)
	}
}

// evil sets the traps in the user's configuration, in their hooks and in the
// attributes of the project, and shows that git springs them.
func evil(t *testing.T) (*repository, trap) {
	t.Helper()
	r := newRepository(t, map[string]string{
		".gitattributes": "* filter=evil diff=evil merge=evil\n", "README": "A project.\n", "lib/a.txt": "one\n",
	})
	trap := newTrap(t)
	trap.hooks(t, filepath.Join(r.root, ".git", "hooks"))
	r.odd = true
	workspacetest.MustWrite(t, r.home, "attributes", "* filter=evil diff=evil\n")
	config := strings.NewReplacer("HOOKS", filepath.Join(r.root, ".git", "hooks"), "ATTRIBUTES", filepath.Join(r.home, "attributes")).Replace(trap.config())
	for _, path := range []string{filepath.Join(r.root, ".git", "config"), filepath.Join(r.home, ".gitconfig")} {
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(old, config...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	workspacetest.MustWrite(t, r.root, "lib/a.txt", "changed by the user\n")
	cmd := exec.Command("git", "status")
	cmd.Dir, cmd.Env = r.root, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home}
	_ = cmd.Run() // how it ends with such a configuration does not matter
	if err := os.Remove(trap.marker); err != nil {
		t.Fatalf("the traps do not work: %v", err)
	}
	return r, trap
}

// exercise calls everything there is about one worktree, and spoils it before
// every call.
func exercise(t *testing.T, f workspacetest.Fixture, trap trap, spoil func(dir string)) {
	t.Helper()
	ctx := context.Background()
	dir := workspacetest.MustLocate(t, f, runName)
	step := func(name string, call func() error) {
		t.Helper()
		if _, err := os.Lstat(dir); err == nil {
			spoil(dir)
		}
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		trap.wantUnsprung(t, "in "+name)
	}
	var tree pawl.Recording
	var info pawl.CommitInfo
	step("open", func() error { _, err := openRun(ctx, f, f); return err })
	workspacetest.MustWrite(t, dir, "lib/a.txt", "changed\n")
	workspacetest.MustWrite(t, dir, "new", "new\n")
	step("open again", func() error { _, err := openRun(ctx, f, f); return err })
	step("tree", func() (err error) { tree, err = f.Tree(ctx, runName); return err })
	step("file at", func() error { _, err := f.FileAt(ctx, tree.Tree, "lib/a.txt"); return err })
	step("with file", func() error { _, err := f.WithFile(ctx, tree.Tree, "lib/b.txt", []byte("b\n")); return err })
	step("commit", func() error {
		answer, err := commitRun("7")(ctx, f, f)
		info, _ = answer.(pawl.CommitInfo)
		return err
	})
	step("diff", func() error { _, err := f.Diff(ctx, f.Base, info.Commit); return err })
	step("changes", func() error { _, err := f.Changes(ctx, f.Base, info.Commit); return err })
	step("compose", func() error {
		_, err := f.Compose(ctx, pawl.ComposeSpec{Of: f.Base, Files: []pawl.ComposedFile{
			{Path: "lib/a.txt", From: info.Commit}, {Path: "new", Data: []byte("composed\r\n")},
		}})
		return err
	})
	step("checkout", func() error {
		_, release, err := f.Checkout(ctx, info.Commit)
		if err == nil {
			release()
		}
		return err
	})
	workspacetest.MustWrite(t, dir, "new", "newer\n")
	step("show", func() error { _, err := f.Show(ctx, runName, f.Base, runSalvage+"a"); return err })
	step("reset", func() error { _, err := f.Reset(ctx, runName, f.Base, runSalvage); return err })
	step("mark", func() error { return f.Mark(ctx, "refs/pawl/checkpoints/"+runName+"/1", info.Commit) })
	step("restore", func() (err error) { info, err = f.Restore(ctx, restoring(f.Base, info.Commit)); return err })
	step("write files", func() (err error) {
		info.Commit, err = f.WriteFiles(ctx, recording(info.Commit, ".gitattributes", "* filter=evil\n"))
		return err
	})
	step("files", func() error { _, err := f.Files(ctx, info.Commit, runFolder); return err })
	workspacetest.MustWrite(t, dir, "new", "newest\n")
	step("close", func() error { _, err := f.Close(ctx, runName, runSalvage+"b"); return err })
}

// Whatever is in the user's configuration, in a
// worktree or in the repository that worktrees point to, no program of theirs is
// run by a call of ours.
func TestNothingForeignIsRun(t *testing.T) {
	t.Run("of the user's", func(t *testing.T) {
		r, trap := evil(t)
		users := r.users(t)
		f := r.fixture(t)
		trap.wantUnsprung(t, "in inspect and new")
		exercise(t, f, trap, func(string) {})
		if _, err := r.open(t, nil).Numbers(context.Background()); err != nil {
			t.Error(err)
		}
		trap.wantUnsprung(t, "at the end")
		if after := r.users(t); after != users {
			t.Errorf("the user's checkout changed from\n%s\nto\n%s", users, after)
		}
	})

	spoils := map[string]func(t *testing.T, trap trap, r *repository, dir string){
		"behind a .git file that points elsewhere": func(t *testing.T, trap trap, r *repository, dir string) {
			workspacetest.MustRemove(t, dir, ".git")
			workspacetest.MustWrite(t, dir, ".git", "gitdir: "+foreign(t, trap)+"\n")
		},
		"behind a .git that is a symbolic link": func(t *testing.T, trap trap, r *repository, dir string) {
			workspacetest.MustRemove(t, dir, ".git")
			if err := os.Symlink(foreign(t, trap), filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
		},
		"in a .git that is a repository": func(t *testing.T, trap trap, r *repository, dir string) {
			workspacetest.MustRemove(t, dir, ".git")
			if err := os.Rename(foreign(t, trap), filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
		},
		"behind no .git at all": func(t *testing.T, trap trap, r *repository, dir string) {
			workspacetest.MustRemove(t, dir, ".git")
		},
		"behind a .git that is a pipe": func(t *testing.T, trap trap, r *repository, dir string) {
			workspacetest.MustRemove(t, dir, ".git")
			if out, err := exec.Command("mkfifo", filepath.Join(dir, ".git")).CombinedOutput(); err != nil {
				t.Skipf("mkfifo: %v %s", err, out)
			}
		},
		"in a nested repository": func(t *testing.T, trap trap, r *repository, dir string) {
			workspacetest.MustWrite(t, dir, "web/index.html", "<html>\n")
			workspacetest.MustRemove(t, dir, "web/.git")
			if err := os.Rename(foreign(t, trap), filepath.Join(dir, "web", ".git")); err != nil {
				t.Fatal(err)
			}
		},
		"in a folder that looks like a bare repository": func(t *testing.T, trap trap, r *repository, dir string) {
			workspacetest.MustRemove(t, dir, "bare")
			if err := os.Rename(foreign(t, trap), filepath.Join(dir, "bare")); err != nil {
				t.Fatal(err)
			}
		},
		"in the configuration that worktrees share": func(t *testing.T, trap trap, r *repository, dir string) {
			poison(t, trap, filepath.Join(r.state, "git"))
			poison(t, trap, filepath.Join(r.state, "git", "worktrees", runName))
		},
		"by attributes of the project": func(t *testing.T, trap trap, r *repository, dir string) {
			workspacetest.MustWrite(t, dir, ".gitattributes", "* filter=evil diff=evil merge=evil export-subst\n")
			workspacetest.MustWrite(t, dir, ".gitmodules", "[submodule \"x\"]\npath = x\nurl = ext::"+trap.program+"\nupdate = !"+trap.program+"\n")
		},
	}
	for n, about := range slices.Sorted(maps.Keys(spoils)) {
		spoil := spoils[about]
		t.Run(about, func(t *testing.T) {
			sample(t, n)
			r := newRepository(t, map[string]string{"README": "A project.\n", "lib/a.txt": "one\n"})
			trap := newTrap(t)
			f := r.fixture(t)
			exercise(t, f, trap, func(dir string) { spoil(t, trap, r, dir) })
			if !strings.HasPrefix(about, "behind a .git") || strings.HasSuffix(about, "pipe") {
				return
			}
			workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
			spoil(t, trap, r, workspacetest.MustLocate(t, f, runName))
			cmd := exec.Command("git", "status")
			cmd.Dir, cmd.Env = workspacetest.MustLocate(t, f, runName), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home}
			_ = cmd.Run()
			if err := os.Remove(trap.marker); err != nil {
				t.Errorf("the traps do not work: %v", err)
			}
		})
	}
}

// foreign is a git folder with a commit, whose every setting is a trap.
func foreign(t *testing.T, trap trap) string {
	t.Helper()
	r := newRepository(t, map[string]string{"x": "x\n"})
	dir := filepath.Join(r.root, ".git")
	poison(t, trap, dir)
	return dir
}

// poison sets traps in a git folder.
func poison(t *testing.T, trap trap, dir string) {
	t.Helper()
	hooks := filepath.Join(dir, "hooks")
	trap.hooks(t, hooks)
	attributes := "* filter=evil diff=evil\n"
	workspacetest.MustWrite(t, dir, "info/attributes", attributes)
	config := strings.NewReplacer("HOOKS", hooks, "ATTRIBUTES", filepath.Join(dir, "info", "attributes")).Replace(trap.config())
	for _, file := range []string{"config", "config.worktree"} {
		path := filepath.Join(dir, file)
		old, _ := os.ReadFile(path) // there may be none
		if strings.Contains(string(old), trap.program) {
			continue
		}
		if err := os.WriteFile(path, append(old, config...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What an agent put in place of .git is reported, and a repository is kept.
func TestDotGitIsPutRight(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	f := r.fixture(t)
	dir := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir
	want, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}

	workspacetest.MustRemove(t, dir, ".git")
	r.gitIn(t, dir, "init", "-q")
	r.gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "An agent's own")
	workspacetest.MustTree(t, f, runName)
	if got, _ := os.ReadFile(filepath.Join(dir, ".git")); string(got) != string(want) {
		t.Errorf(".git is %q, want %q", got, want)
	}
	moved, _ := filepath.Glob(filepath.Join(r.quarantine(), "*", ".git"))
	if len(moved) != 1 {
		t.Fatalf("quarantine holds %q, want one repository", moved)
	}
	if log := r.gitIn(t, moved[0], "--git-dir=.", "log", "--format=%s"); log != "An agent's own" {
		t.Errorf("its log is %q", log)
	}
	if !strings.Contains(r.log.String(), moved[0]) {
		t.Errorf("the log does not name %s:\n%s", moved[0], r.log)
	}
	if status := r.gitIn(t, dir, "status", "--short", "--branch"); status != "## HEAD (no branch)" {
		t.Errorf("git status in the worktree says %q", status)
	}
}

// Files of nested repositories count as files; nothing of them is lost.
func TestNestedRepositories(t *testing.T) {
	ctx := context.Background()
	files := map[string]string{".gitignore": "node_modules/\n", "README": "A project.\n", "tracked/a": "a\n"}
	setup := func(t *testing.T) (*repository, workspacetest.Fixture, string) {
		r := newRepository(t, files)
		f := r.fixture(t)
		return r, f, workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir
	}
	nest := func(t *testing.T, r *repository, dir, path string, commit bool) {
		workspacetest.MustWrite(t, dir, path+"/file", "in "+path+"\n")
		r.gitIn(t, filepath.Join(dir, path), "init", "-q")
		if commit {
			r.gitIn(t, filepath.Join(dir, path), "add", ".")
			r.gitIn(t, filepath.Join(dir, path), "commit", "-q", "-m", "Nested")
		}
	}

	t.Run("are recorded as files, however deep", func(t *testing.T) {
		r, f, dir := setup(t)
		nest(t, r, dir, "web/deeper", true)
		nest(t, r, dir, "web", false)
		nest(t, r, dir, "api", true)
		nest(t, r, dir, "tracked", true)
		nest(t, r, dir, "node_modules/dep", true)
		answer, err := commitRun("7")(ctx, f, f)
		if err != nil {
			t.Fatal(err)
		}
		commit := string(answer.(pawl.CommitInfo).Commit)
		want := ".gitignore\nREADME\napi/file\ntracked/a\ntracked/file\nweb/deeper/file\nweb/file"
		if got := r.git(t, "ls-tree", "-r", "--name-only", commit); got != want {
			t.Errorf("the commit has\n%s\nwant\n%s", got, want)
		}
		if strings.Contains(r.git(t, "ls-tree", "-r", commit), "commit") {
			t.Error("the commit has a submodule")
		}
		if _, err := os.Stat(filepath.Join(dir, "node_modules/dep/.git")); err != nil {
			t.Errorf("a repository in an ignored folder was touched: %v", err)
		}
		moved, _ := filepath.Glob(filepath.Join(r.quarantine(), "*", ".git"))
		if len(moved) != 4 || strings.Count(r.log.String(), "nested") != 4 {
			t.Errorf("quarantine holds %q, want four repositories; the log is\n%s", moved, r.log)
		}
	})

	t.Run("are saved before a reset", func(t *testing.T) {
		r, f, dir := setup(t)
		nest(t, r, dir, "web", true)
		workspacetest.MustReset(t, f, runName, f.Base, runSalvage)
		if got := r.git(t, "show", runSalvage+":web/file"); got != "in web" {
			t.Errorf("the salvage has %q", got)
		}
		if _, err := os.Lstat(filepath.Join(dir, "web")); err == nil {
			t.Error("the nested repository is still there")
		}
	})

	t.Run("are looked for among the tasks, but not behind links", func(t *testing.T) {
		r, f, dir := setup(t)
		nest(t, r, dir, ".pawl/tasks/001-x", true)
		answer, err := commitRun("7")(ctx, f, f)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.git(t, "show", string(answer.(pawl.CommitInfo).Commit)+":.pawl/tasks/001-x/file"); got != "in .pawl/tasks/001-x" {
			t.Errorf("the commit has %q", got)
		}
		elsewhere := newRepository(t, map[string]string{"tasks/x": "x\n"})
		nest(t, elsewhere, elsewhere.root, "tasks", true)
		workspacetest.MustRemove(t, dir, ".pawl")
		if err := os.Symlink(elsewhere.root, filepath.Join(dir, ".pawl")); err != nil {
			t.Fatal(err)
		}
		want := workspacetest.MustTree(t, f, runName)
		workspacetest.MustRemove(t, r.state, "engine/worktrees/"+runName+"/index")
		if got := workspacetest.MustTree(t, f, runName); got != want {
			t.Errorf("with a new index tree is %s, want %s", got, want)
		}
		workspacetest.MustReset(t, f, runName, f.Base, runSalvage)
		for _, path := range []string{".git", "tasks/.git", "tasks/x"} {
			if _, err := os.Lstat(filepath.Join(elsewhere.root, path)); err != nil {
				t.Errorf("something was removed behind the link: %v", err)
			}
		}
	})

	t.Run("are refused when they cannot be moved aside", func(t *testing.T) {
		r, f, dir := setup(t)
		if r.joined {
			t.Skip("what is joined has a folder of its own for them")
		}
		nest(t, r, dir, "web", true)
		workspacetest.MustWrite(t, r.state, "quarantine", "in the way\n")
		_, err := f.Tree(ctx, runName)
		if pawl.CodeOf(err) != pawl.CodeState || !strings.Contains(err.Error(), filepath.Join(dir, "web", ".git")) {
			t.Errorf("error is %v, want one that names the repository", err)
		}
		if _, err := f.Close(ctx, runName, runSalvage); err == nil {
			t.Error("a worktree with work that cannot be saved was closed")
		}
		workspacetest.MustRemove(t, dir, "web/.git")
		workspacetest.MustRemove(t, r.state, "quarantine")
		if _, err := f.Tree(ctx, runName); err != nil {
			t.Errorf("without the repository: %v", err)
		}
	})
}

// Submodules are folders without files; files an agent writes there are saved
// but not committed.
func TestSubmodules(t *testing.T) {
	ctx := context.Background()
	library := newRepository(t, map[string]string{"lib.go": "package lib\n"})
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	r.git(t, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.root, "vendor/lib")
	r.git(t, "commit", "-q", "-m", "Add the library")
	f := r.fixture(t)
	state := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	if got := r.git(t, "rev-parse", "HEAD^{tree}"); got != string(state.Tree) {
		t.Errorf("tree is %s, want that of HEAD, %s", state.Tree, got)
	}

	workspacetest.MustWrite(t, state.Dir, "vendor/lib/lib.go", "package lib // made up\n")
	workspacetest.MustWrite(t, state.Dir, "vendor/lib/deep/more.go", "package deep\n")
	workspacetest.MustWrite(t, state.Dir, "main.go", "package main\n")
	want := []string{`git_content: "vendor/lib" is a submodule, and what was written in it cannot be committed`, "2 files by git_content 0"}
	recorded, err := f.Tree(ctx, runName)
	if diff := cmp.Diff(want, reasons(recorded.LeftOut)); diff != "" || err != nil {
		t.Errorf("what is left out differs (-want +got):\n%s %v", diff, err)
	}
	made, err := commitRun("7")(ctx, f, f)
	if err != nil {
		t.Fatal(err)
	}
	commit := made.(pawl.CommitInfo)
	if diff := cmp.Diff(want, reasons(commit.LeftOut)); diff != "" || !slices.Equal(commit.Files, []string{"main.go"}) {
		t.Errorf("the commit has %q, and what it leaves out differs (-want +got):\n%s", commit.Files, diff)
	}

	reset := workspacetest.MustReset(t, f, runName, f.Base, runSalvage)
	if reset.Tree != state.Tree {
		t.Errorf("after the reset tree is %s, want %s", reset.Tree, state.Tree)
	}
	kept, err := filepath.Glob(filepath.Join(r.quarantine(), "*", "vendor", "lib", "deep", "more.go"))
	if err != nil || len(kept) != 1 {
		t.Errorf("kept are %q, %v", kept, err)
	}
	if left, err := os.ReadDir(filepath.Join(reset.Dir, "vendor", "lib")); err != nil || len(left) > 0 {
		t.Errorf("the submodule's folder has %v, %v", left, err)
	}
	answer, err := commitRun("8")(ctx, f, f)
	if err != nil {
		t.Fatal(err)
	}
	if files := answer.(pawl.CommitInfo).Files; len(files) > 0 {
		t.Errorf("files are %q, want none", files)
	}
}

// Pipes are no files: git takes no notice of new ones.
func TestFilesThatAreNone(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	f := r.fixture(t)
	dir := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir
	want := workspacetest.MustTree(t, f, runName)
	if out, err := exec.Command("mkfifo", filepath.Join(dir, "pipe")).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v %s", err, out)
	}
	if got := workspacetest.MustTree(t, f, runName); got != want {
		t.Error("a new pipe shows in the tree")
	}
}
