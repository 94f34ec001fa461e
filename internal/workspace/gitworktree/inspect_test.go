package gitworktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

func TestInspect(t *testing.T) {
	files := map[string]string{"README": "A project.\n", "lib/a.txt": "one\n"}

	t.Run("says where a run starts", func(t *testing.T) {
		r := newRepository(t, files)
		found, err := r.inspect(t, filepath.Join(r.root, "lib"))
		if err != nil {
			t.Fatal(err)
		}
		r.open(t, nil)
		r.known.Trusted = true
		r.known.Author = pawl.Identity{Name: "User", Email: "user@example.com"}
		if diff := cmp.Diff(*r.known, found); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	for _, row := range []struct {
		name string
		// change changes the repository and may return another folder to look from.
		change func(t *testing.T, r *repository) string
		check  func(pawl.Repository) bool
		note   string // a part of the one note there is
	}{
		{"counts uncommitted changes", func(t *testing.T, r *repository) string {
			workspacetest.MustWrite(t, r.root, "README", "Changed.\n")
			workspacetest.MustWrite(t, r.root, "new", "new\n")
			return ""
		}, func(f pawl.Repository) bool { return f.Dirty }, "Uncommitted changes in 2 files are not part of the run"},
		{"counts staged changes", func(t *testing.T, r *repository) string {
			r.git(t, "rm", "-q", "README")
			return ""
		}, func(f pawl.Repository) bool { return f.Dirty }, "Uncommitted changes in 1 file are"},
		{"knows a detached HEAD", func(t *testing.T, r *repository) string {
			r.git(t, "switch", "-q", "--detach")
			return ""
		}, func(f pawl.Repository) bool { return f.Branch == "" && f.Head != "" && f.Trusted }, "HEAD is detached"},
		{"knows a bare repository", func(t *testing.T, r *repository) string {
			bare := filepath.Join(filepath.Dir(r.root), "bare.git")
			r.git(t, "clone", "-q", "--bare", r.root, bare)
			return bare
		}, func(f pawl.Repository) bool { return f.Bare && f.Root == f.GitDir && f.Branch == "main" && !f.Dirty }, "bare"},
		{"knows a shallow repository", func(t *testing.T, r *repository) string {
			r.git(t, "commit", "-q", "--allow-empty", "-m", "Second")
			shallow := filepath.Join(filepath.Dir(r.root), "shallow")
			r.git(t, "clone", "-q", "--depth=1", "file://"+r.root, shallow)
			return shallow
		}, func(f pawl.Repository) bool { return f.Branch == "main" }, "shallow"},
		{"knows submodules", func(t *testing.T, r *repository) string {
			r.git(t, "submodule", "--quiet", "add", newRepository(t, files).root, "vendor/lib")
			r.git(t, "commit", "-q", "-m", "Add a library")
			return ""
		}, func(f pawl.Repository) bool { return !f.Dirty }, "Submodules are not checked out in worktrees: vendor/lib."},
		{"knows filters", func(t *testing.T, r *repository) string {
			workspacetest.MustWrite(t, r.root, "assets/.gitattributes", "# filter=commented\n*.png filter=lfs diff=lfs merge=lfs -text\n")
			r.git(t, "add", ".")
			r.git(t, "commit", "-q", "-m", "Track images")
			return ""
		}, func(f pawl.Repository) bool { return !f.Dirty }, `Files under the filter "lfs" are seen as they are stored`},
		{"knows a sparse checkout", func(t *testing.T, r *repository) string {
			r.git(t, "sparse-checkout", "set", "lib")
			return ""
		}, func(f pawl.Repository) bool { return !f.Dirty }, "Your checkout is sparse"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRepository(t, files)
			folder := row.change(t, r)
			if folder == "" {
				folder = r.root
			}
			found, err := r.inspect(t, folder)
			if err != nil {
				t.Fatal(err)
			}
			if !row.check(found) || len(found.Notes) != 1 || !strings.Contains(found.Notes[0], row.note) {
				t.Errorf("found is %+v, want the note %q", found, row.note)
			}
		})
	}

	t.Run("follows a linked worktree to its repository", func(t *testing.T) {
		r := newRepository(t, files)
		linked := filepath.Join(filepath.Dir(r.root), "linked")
		r.git(t, "worktree", "add", "-q", "-b", "side", linked)
		found, err := r.inspect(t, linked)
		if err != nil || found.Root != linked || found.GitDir != filepath.Join(r.root, ".git") || found.Branch != "side" {
			t.Errorf("found is %+v, %v", found, err)
		}
	})

	t.Run("changes nothing", func(t *testing.T) {
		r := newRepository(t, files)
		workspacetest.MustWrite(t, r.root, "README", "Changed.\n")
		before := r.users(t)
		r.mustInspect(t)
		if diff := cmp.Diff(before, r.users(t)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}

func TestInspectRefuses(t *testing.T) {
	for _, row := range []struct {
		name  string
		place func(t *testing.T) (*repository, string)
		code  pawl.Code
		hint  string
	}{
		{"a folder without a repository", func(t *testing.T) (*repository, string) {
			r := newRepository(t, nil)
			return r, r.home
		}, pawl.CodeFolder, "git init"},
		{"a repository without a commit", func(t *testing.T) (*repository, string) {
			r := newRepository(t, nil)
			return r, r.root
		}, pawl.CodeState, "make a first commit"},
		{"the inside of a git folder", func(t *testing.T) (*repository, string) {
			r := newRepository(t, map[string]string{"x": "x"})
			return r, filepath.Join(r.root, ".git", "objects")
		}, pawl.CodeFolder, "go to the folder of the repository's files"},
		{"a partial clone", func(t *testing.T) (*repository, string) {
			r := newRepository(t, map[string]string{"x": "x"})
			r.git(t, "config", "uploadpack.allowFilter", "true")
			partial := filepath.Join(filepath.Dir(r.root), "partial")
			r.git(t, "clone", "-q", "--filter=blob:none", "file://"+r.root, partial)
			return r, partial
		}, pawl.CodeState, "without --filter"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, folder := row.place(t)
			_, err := r.inspect(t, folder)
			e, ok := err.(*pawl.Error)
			if !ok || e.Code != row.code || !strings.Contains(e.Hint, row.hint) {
				t.Errorf("error is %#v, want the code %s and the hint %q", err, row.code, row.hint)
			}
		})
	}
}

func TestInspectSaysWhoseRepositoryItIs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	r := newRepository(t, map[string]string{"x": "x"})
	for _, path := range []string{r.root, filepath.Join(r.root, ".git")} {
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.inspect(t, r.root)
	if e, ok := err.(*pawl.Error); !ok || !strings.Contains(e.Hint, "safe.directory") {
		t.Errorf("error is %#v, want a hint about safe.directory", err)
	}
}

// inspectAgain inspects with an inspector that has inspected before.
func (r *repository) inspectAgain(tb testing.TB, s *gitworktree.Inspector) pawl.Repository {
	tb.Helper()
	tb.Setenv("HOME", r.home)
	tb.Setenv("XDG_CONFIG_HOME", "")
	found, err := s.Inspect(tb.Context(), r.root)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// What an inspector remembers of a commit is said of that commit alone.
func TestInspectorOfSeveralCommits(t *testing.T) {
	r := newRepository(t, map[string]string{".gitattributes": "*.png filter=lfs\n"})
	s := &gitworktree.Inspector{}
	for range 2 {
		if found := r.inspectAgain(t, s); len(found.Notes) != 1 || !strings.Contains(found.Notes[0], "lfs") {
			t.Errorf("found is %+v, want a note about the filter", found)
		}
	}
	r.git(t, "rm", "-q", ".gitattributes")
	r.git(t, "commit", "-q", "--allow-empty", "-m", "Without images")
	if found := r.inspectAgain(t, s); len(found.Notes) > 0 {
		t.Errorf("found is %+v, want no note", found)
	}
}

// Where a folder's repository is known, the inspection says the same without looking for it.
func TestInspectorThatKnows(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	shallow := &repository{root: filepath.Join(filepath.Dir(r.root), "shallow"), home: r.home}
	r.git(t, "commit", "-q", "--allow-empty", "-m", "Second")
	r.git(t, "clone", "-q", "--depth=1", "file://"+r.root, shallow.root)
	for _, r := range []*repository{r, shallow} {
		command, err := git.Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		searched := 0
		command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
			if slices.Contains(cmd.Args, "rev-parse") {
				searched++
			}
			return run(cmd)
		}
		want := r.inspectAgain(t, &gitworktree.Inspector{Git: command})
		if searched != 1 {
			t.Errorf("without knowing, git has searched %d times", searched)
		}
		s := &gitworktree.Inspector{Git: command, Known: func(string) (pawl.Repository, bool) { return want, true }}
		if diff := cmp.Diff(want, r.inspectAgain(t, s)); diff != "" || searched != 1 {
			t.Errorf("git has searched %d times; (-want +got):\n%s", searched, diff)
		}
	}
}

// A commit that only branches of runs have is not trusted, whether HEAD is on one of them or on none.
func TestInspectTrustsNoRun(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	r.git(t, "switch", "-q", "-c", "pawl/001-do-it")
	if found := r.mustInspect(t); !found.Trusted {
		t.Errorf("the user's branch has the commit too, and found is %+v", found)
	}
	r.git(t, "commit", "-q", "--allow-empty", "-m", "By a run")
	if found := r.mustInspect(t); found.Trusted || found.Branch != "pawl/001-do-it" {
		t.Errorf("on a run's branch, found is %+v", found)
	}
	r.git(t, "switch", "-q", "--detach")
	if found := r.mustInspect(t); found.Trusted {
		t.Errorf("on no branch, found is %+v", found)
	}
}

// No program is run that a submodule's own configuration names: git would look for changes in it.
func TestInspectLooksIntoNoSubmodule(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	other := newRepository(t, map[string]string{".gitattributes": "* filter=own\n", "file": "one\n"})
	r.git(t, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.root, "lib")
	r.git(t, "commit", "-q", "-m", "Add a library")
	trap := newTrap(t)
	r.gitIn(t, filepath.Join(r.root, "lib"), "config", "filter.own.clean", trap.program)
	workspacetest.MustWrite(t, r.root, "lib/file", "two\n")
	if found := r.mustInspect(t); found.Dirty {
		t.Errorf("found is %+v", found)
	}
	trap.wantUnsprung(t, "at the inspection")
	r.git(t, "status")
	if _, err := os.Stat(trap.marker); err != nil {
		t.Errorf("the trap does not work: %v", err)
	}
}
