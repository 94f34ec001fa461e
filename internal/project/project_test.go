package project_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/project"
)

func mustAt(tb testing.TB, stateHome, gitDir string) project.Project {
	tb.Helper()
	p, err := project.At(stateHome, pawl.Repository{GitDir: gitDir})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func mustWrite(tb testing.TB, name, content string) {
	tb.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func permissions(tb testing.TB, name string) os.FileMode {
	tb.Helper()
	info, err := os.Stat(name)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestAt(t *testing.T) {
	home := t.TempDir()
	p := mustAt(t, home, "/src/app/.git")

	t.Run("OneFolderPerRepository", func(t *testing.T) {
		if again := mustAt(t, home, "/src/app/.git"); again.Dir != p.Dir {
			t.Errorf("the same repository has %s and %s", p.Dir, again.Dir)
		}
	})
	// No two repositories share a state folder, even if their paths begin or end alike or
	// clones have a folder name in common. F-63
	t.Run("NoFolderForTwoRepositories", func(t *testing.T) {
		of := map[string]string{p.Dir: "/src/app/.git"}
		for _, gitDir := range []string{
			"/src/other/.git", "/work/app/.git", "/a/src/app/.git", "/src/App/.git", "/src/app/app/.git", "/src/app.git",
			"/src/app/.git/modules/app", "/src/app", "/src/ap/p/.git", "/srcapp/.git", "/src/app/.git ",
			"/src/" + strings.Repeat("a", 300) + "/.git", "/src/" + strings.Repeat("a", 301) + "/.git",
		} {
			other := mustAt(t, home, gitDir)
			if of[other.Dir] != "" {
				t.Errorf("%s and %s share the folder %s", gitDir, of[other.Dir], other.Dir)
			}
			of[other.Dir] = gitDir
			if name := filepath.Base(other.Dir); len(name) < 16 { // 64 bits of a hash, so that collisions are unlikely
				t.Errorf("%s has the folder %s, whose name has fewer than 16 bytes", gitDir, name)
			}
		}
	})
	t.Run("OnlyTheUserEnters", func(t *testing.T) {
		if got := permissions(t, p.Dir); got != 0o700 {
			t.Errorf("permissions %o", got)
		}
	})
	t.Run("ClosesAFolderThatWasOpen", func(t *testing.T) {
		if err := os.Chmod(p.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		mustAt(t, home, "/src/app/.git")
		if got := permissions(t, p.Dir); got != 0o700 {
			t.Errorf("permissions %o", got)
		}
	})
	t.Run("SaysWhoseItIs", func(t *testing.T) {
		about := filepath.Join(p.Dir, "project.json")
		const want = "{\n  \"git_dir\": \"/src/app/.git\"\n}\n"
		for _, before := range []string{want, "{\n  \"git_", ""} {
			mustWrite(t, about, before)
			mustAt(t, home, "/src/app/.git")
			if got, err := os.ReadFile(about); err != nil || string(got) != want {
				t.Errorf("after %q it says %q, %v", before, got, err)
			}
		}
		if entries, err := os.ReadDir(p.Dir); err != nil || len(entries) != 1 {
			t.Errorf("the folder holds %v, %v", entries, err)
		}
	})
	t.Run("FailsWhereNoFolderCanBe", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		mustWrite(t, file, "")
		if _, err := project.At(file, pawl.Repository{GitDir: "/src/app/.git"}); err == nil || !strings.Contains(err.Error(), "state folder") {
			t.Errorf("got %v", err)
		}
	})
}

func TestTemp(t *testing.T) {
	p := mustAt(t, t.TempDir(), "/src/app/.git")
	mustTemp := func(run pawl.RunID) string {
		t.Helper()
		dir, err := p.Temp(run)
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}

	t.Run("OneFolderPerRun", func(t *testing.T) {
		one, two := mustTemp("001-a"), mustTemp("002-b")
		if one == two || mustTemp("001-a") != one {
			t.Errorf("folders %s and %s", one, two)
		}
		if got := permissions(t, one); got != 0o700 {
			t.Errorf("permissions %o", got)
		}
	})
	t.Run("RefusesWhatIsNoRun", func(t *testing.T) {
		for _, run := range []pawl.RunID{"", "../001-a", "/001-a"} {
			if dir, err := p.Temp(run); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("run %q has the folder %s, %v", run, dir, err)
			}
		}
	})
	t.Run("RemovesOneRunsFilesOnly", func(t *testing.T) {
		one, two := mustTemp("001-a"), mustTemp("002-b")
		mustWrite(t, filepath.Join(one, "cache"), "x")
		for range 2 { // there is nothing to remove the second time
			if err := p.RemoveTemp("001-a"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(one); !os.IsNotExist(err) {
			t.Errorf("it is still there: %v", err)
		}
		if _, err := os.Stat(two); err != nil {
			t.Errorf("the other run's folder: %v", err)
		}
	})
	t.Run("RemovesFoldersWithoutPermissions", func(t *testing.T) {
		dir := mustTemp("003-c")
		deep := filepath.Join(dir, "mod", "pkg")
		if err := os.MkdirAll(deep, 0o700); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, filepath.Join(deep, "file.go"), "package pkg")
		for _, closed := range []string{deep, filepath.Dir(deep)} {
			if err := os.Chmod(closed, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.RemoveTemp("003-c"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("it is still there: %v", err)
		}
	})
	t.Run("FollowsNoLink", func(t *testing.T) {
		outside := t.TempDir()
		mustWrite(t, filepath.Join(outside, "file"), "x")
		if err := os.Chmod(outside, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(outside, 0o700) })
		dir := mustTemp("004-d")
		if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "closed"), 0o700); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, filepath.Join(dir, "closed", "file"), "x")
		if err := os.Chmod(filepath.Join(dir, "closed"), 0o500); err != nil {
			t.Fatal(err)
		}
		if err := p.RemoveTemp("004-d"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
			t.Errorf("what the link led to: %v", err)
		}
		if got := permissions(t, outside); got != 0o500 {
			t.Errorf("where the link led to, permissions are %o", got)
		}
	})
	t.Run("RemovesNothingElse", func(t *testing.T) {
		mustTemp("005-e")
		mustWrite(t, filepath.Join(p.Dir, "pawl.db"), "x")
		for _, run := range []pawl.RunID{"..", "../pawl.db", ".", ""} {
			_ = p.RemoveTemp(run)
		}
		for _, name := range []string{"pawl.db", "homes/005-e"} {
			if _, err := os.Stat(filepath.Join(p.Dir, name)); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestSocket(t *testing.T) {
	short := project.Project{Dir: "/state/pawl/0123456789abcdef"}
	if got := short.Socket(); got != "/state/pawl/0123456789abcdef/pawl.sock" {
		t.Errorf("socket %s", got)
	}
	long := project.Project{Dir: "/" + strings.Repeat("state/", 20) + "0123456789abcdef"}
	got := long.Socket()
	if !strings.HasPrefix(got, "/tmp/pawl-") || !strings.HasSuffix(got, "/0123456789abcdef.sock") || len(got) >= 100 {
		t.Errorf("socket %s", got)
	}
	other := project.Project{Dir: "/" + strings.Repeat("state/", 20) + "fedcba9876543210"}
	if other.Socket() == got {
		t.Errorf("two projects have the socket %s", got)
	}
}

// Everything below a folder is visited, whatever its name, but nothing that a link leads to.
func TestWalk(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	mustWrite(t, filepath.Join(outside, "x"), "x")
	if err := os.MkdirAll(filepath.Join(dir, "b", "bad\376"), 0o700); err != nil {
		t.Skip("this file system refuses the name:", err)
	}
	mustWrite(t, filepath.Join(dir, "b", "bad\376", "in"), "x")
	mustWrite(t, filepath.Join(dir, "a"), "x")
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var got []string
	visit := func(path string, _ fs.FileInfo) error {
		got = append(got, filepath.ToSlash(path))
		return nil
	}
	if err := project.Walk(root, ".", visit); err != nil {
		t.Error(err)
	}
	if i, j := slices.Index(got, "b"), slices.Index(got, "b/bad\376"); i > j {
		t.Errorf("what is in a folder comes before it: %q", got)
	}
	slices.Sort(got)
	if want := []string{"a", "b", "b/bad\376", "b/bad\376/in", "link"}; !slices.Equal(got, want) {
		t.Errorf("visited %q, want %q", got, want)
	}
	stop := errors.New("stop")
	if err := project.Walk(root, ".", func(string, fs.FileInfo) error { return stop }); err != stop {
		t.Errorf("got %v, want the error of visit", err)
	}
}
