package workspacetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
)

func testTree(t *testing.T, newFixture Make) {
	t.Run("follows the content and nothing else", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "lib/a.txt", "changed\n")
		changed := MustTree(t, f, name)
		if changed == state.Tree {
			t.Error("a change does not show")
		}
		if err := os.Chmod(filepath.Join(state.Dir, "lib/a.txt"), 0o755); err != nil {
			t.Fatal(err)
		}
		if MustTree(t, f, name) == changed {
			t.Error("a file that became executable does not show")
		}
		MustRemove(t, state.Dir, "lib/a.txt")
		if err := os.Symlink("deep/b.go", filepath.Join(state.Dir, "lib/a.txt")); err != nil {
			t.Fatal(err)
		}
		MustTree(t, f, name)
		MustRemove(t, state.Dir, "lib/a.txt")
		MustWrite(t, state.Dir, "lib/a.txt", project()["lib/a.txt"])
		if got := MustTree(t, f, name); got != state.Tree {
			t.Errorf("the old content gives %s, want %s", got, state.Tree)
		}
	})

	t.Run("leaves out what is ignored and the tasks", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		for _, path := range []string{"build/x", "lib/run.log", ".pawl/tasks/001-add-login/plan.md"} {
			MustWrite(t, state.Dir, path, "something\n")
			if got := MustTree(t, f, name); got != state.Tree {
				t.Errorf("%s is part of the tree", path)
			}
		}
		MustWrite(t, state.Dir, ".pawl/config.yaml", "gates: []\n")
		if MustTree(t, f, name) == state.Tree {
			t.Error(".pawl/config.yaml is not part of the tree")
		}
	})

	t.Run("leaves out the tasks of the base", func(t *testing.T) {
		without := newFixture(t, project())
		want := MustOpen(t, without, spec(without)).Tree
		f := newFixture(t, with(project(), ".pawl/tasks/001-x/report.md", "Done.\n"))
		state := MustOpen(t, f, spec(f))
		if state.Tree != want {
			t.Errorf("tree is %s, want %s, as without tasks", state.Tree, want)
		}
		wantFiles(t, state.Dir, with(project(), ".pawl/tasks/001-x/report.md", "Done.\n"))
	})

	t.Run("needs a worktree", func(t *testing.T) {
		f := newFixture(t, project())
		_, err := f.Tree(context.Background(), "002-none")
		wantCode(t, err, pawl.CodeNotFound, "002-none")
	})
}

func testContent(t *testing.T, newFixture Make) {
	ctx := context.Background()

	t.Run("FileAt reads a recorded tree", func(t *testing.T) {
		f := newFixture(t, with(project(), "empty", ""))
		state := MustOpen(t, f, spec(f))
		MustWrite(t, state.Dir, "lib/a.txt", "new\n")
		later := MustTree(t, f, name)
		for _, row := range []struct {
			tree pawl.TreeHash
			path string
			want string
		}{
			{state.Tree, "lib/a.txt", "one\ntwo\nthree\n"},
			{later, "lib/a.txt", "new\n"},
			{later, "README", "A project.\n"},
			{later, "empty", ""},
		} {
			got, err := f.FileAt(ctx, row.tree, row.path)
			if err != nil || got == nil || string(got) != row.want {
				t.Errorf("%s is %q, %v; want %q", row.path, got, err, row.want)
			}
		}
		for _, path := range []string{"none", "lib/none", "README/x", "none/x"} {
			if got, err := f.FileAt(ctx, later, path); got != nil || err != nil {
				t.Errorf("%s is %q, %v; want nothing", path, got, err)
			}
		}
		for _, path := range []string{"", "/etc/passwd", "../x", "lib/../README", ".git/config", "lib"} {
			_, err := f.FileAt(ctx, later, path)
			if pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("%q: error is %v, want the code invalid", path, err)
			}
		}
	})

	t.Run("Contents reads files of a commit", func(t *testing.T) {
		f := newFixture(t, with(project(), "empty", ""))
		MustOpen(t, f, spec(f))
		later := MustWork(t, f, child1, f.Base, "lib/a.txt", "new\n", "big", strings.Repeat("x", 33<<20)).Commit
		paths := []string{"README", "none", "lib", "README/x", "../x", "big", "lib/a.txt", "empty"}
		read := func(commit pawl.CommitHash, most int) (got []string) {
			err := f.Contents(ctx, commit, paths, func(path string, content []byte) bool {
				got = append(got, path+": "+string(content))
				return len(got) < most
			})
			if err != nil {
				t.Error(err)
			}
			return got
		}
		for _, row := range []struct {
			commit pawl.CommitHash
			most   int
			want   []string
		}{
			{f.Base, 9, []string{"README: A project.\n", "lib/a.txt: one\ntwo\nthree\n", "empty: "}},
			{later, 9, []string{"README: A project.\n", "lib/a.txt: new\n", "empty: "}},
			{later, 2, []string{"README: A project.\n", "lib/a.txt: new\n"}},
		} {
			if diff := cmp.Diff(row.want, read(row.commit, row.most)); diff != "" {
				t.Errorf("%s, at most %d (-want +got):\n%s", row.commit, row.most, diff)
			}
		}
		missing := pawl.CommitHash(fmt.Sprintf("%0*x", len(f.Base), 1))
		err := f.Contents(ctx, missing, paths, nil)
		wantCode(t, err, pawl.CodeNotFound, string(missing))
	})

	t.Run("WithFile gives the tree that writing gives", func(t *testing.T) {
		f := newFixture(t, with(project(),
			".gitattributes", "*.crlf text\n*.bin binary\n",
			"lib/.gitignore", "secret*\n!secret-not\n",
			"build/kept", "tracked though ignored\n"))
		state := MustOpen(t, f, spec(f))
		ignored := project()[".gitignore"]
		rapid.Check(t, func(t *rapid.T) {
			path := rapid.SampledFrom([]string{
				"README", "new", "lib/a.txt", "lib/new/deeper/x.go", "lib/secret1", "lib/secret-not", "build/out", "build/kept",
				"x.log", "lib/x.crlf", "data.bin", ".gitignore", "lib/.gitattributes", "strange name\n\xff", "-rf", ".pawl/tasks/a/b",
			}).Draw(t, "path")
			content := rapid.SampledFrom([]string{"", "text\n", "a\r\nb\r\n", "\x00\r\n", "*.go\n"}).Draw(t, "content")
			if path == ".gitignore" { // it only grows: with less in it, files that were ignored would appear
				ignored += content
				content = ignored
			}
			before := MustTree(t, f, name)
			predicted, err := f.WithFile(ctx, before, path, []byte(content))
			if err != nil {
				t.Fatalf("write %q into the tree: %v", path, err)
			}
			MustWrite(t, state.Dir, path, content)
			if got := MustTree(t, f, name); got != predicted {
				t.Fatalf("%q: tree is %s, predicted was %s", path, got, predicted)
			}
		})
	})

	t.Run("WithFile keeps an executable executable", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		if err := os.Chmod(filepath.Join(state.Dir, "README"), 0o755); err != nil {
			t.Fatal(err)
		}
		predicted, err := f.WithFile(ctx, MustTree(t, f, name), "README", []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		MustWrite(t, state.Dir, "README", "x")
		if got := MustTree(t, f, name); got != predicted {
			t.Errorf("tree is %s, predicted was %s", got, predicted)
		}
	})

	t.Run("a tree that is not there is said not to be", func(t *testing.T) {
		f := newFixture(t, project())
		MustOpen(t, f, spec(f))
		missing := pawl.TreeHash(strings.Repeat("1", len(f.Base)))
		_, err := f.FileAt(ctx, missing, "README")
		wantCode(t, err, pawl.CodeNotFound, string(missing))
		_, err = f.WithFile(ctx, missing, "README", nil)
		wantCode(t, err, pawl.CodeNotFound, string(missing))
	})

	t.Run("WithFile refuses what cannot be written", func(t *testing.T) {
		f := newFixture(t, project())
		state := MustOpen(t, f, spec(f))
		if err := os.Symlink("lib", filepath.Join(state.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		tree := MustTree(t, f, name)
		for _, path := range []string{"README/x", "lib", "link", "link/a.txt", "", "/x", "../x", "a/../b", ".git/hooks/x", "lib/.GIT/config"} {
			if _, err := f.WithFile(ctx, tree, path, nil); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("%q: error is %v, want the code invalid", path, err)
			}
		}
	})
}
