package workspacetest

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl"
)

// MustChanges returns what differs between two commits.
func MustChanges(tb rapid.TB, w pawl.Workspaces, from, to pawl.CommitHash) []pawl.FileChange {
	tb.Helper()
	changes, err := w.Changes(context.Background(), from, to)
	if err != nil {
		tb.Fatalf("compare %s with %s: %v", from, to, err)
	}
	return changes
}

// MustCompose composes a commit.
func MustCompose(tb rapid.TB, w pawl.Workspaces, of pawl.CommitHash, files ...pawl.ComposedFile) pawl.CommitHash {
	tb.Helper()
	made, err := w.Compose(context.Background(), pawl.ComposeSpec{Of: of, Files: files})
	if err != nil {
		tb.Fatalf("compose %s: %v", of, err)
	}
	return made
}

// wantStates compares changes, but for the ids of their contents, each as
// "path: kind content -> kind content", where "none" stands for no file.
func wantStates(tb rapid.TB, changes []pawl.FileChange, want ...string) {
	tb.Helper()
	var got []string
	say := func(s pawl.FileState) string {
		if s.Exists() != (s.Object != "") || int(s.Size) != len(s.Data) {
			tb.Errorf("a file has the id %q, %d bytes and %d of them", s.Object, s.Size, len(s.Data))
		}
		if !s.Exists() {
			return "none"
		}
		return string(s.Kind) + " " + string(s.Data)
	}
	for _, c := range changes {
		if c.Old.Exists() && c.New.Exists() && (c.Old.Object == c.New.Object) != (string(c.Old.Data) == string(c.New.Data)) {
			tb.Errorf("%q: ids are %s and %s, contents %q and %q", c.Path, c.Old.Object, c.New.Object, c.Old.Data, c.New.Data)
		}
		got = append(got, c.Path+": "+say(c.Old)+" -> "+say(c.New))
	}
	if !slices.Equal(got, want) {
		tb.Errorf("changes are\n%q\nwant\n%q", got, want)
	}
}

func testChanges(t *testing.T, newFixture Make) {
	ctx := context.Background()

	t.Run("have the files of both commits", func(t *testing.T) {
		f := newFixture(t, with(project(), "moved", "The same.\n", "empty", "", "run.sh", "#!/bin/sh\n", "place", "A file.\n"))
		state := MustOpen(t, f, spec(f))
		for _, path := range []string{"moved", "empty", "lib/deep/b.go", "place"} {
			MustRemove(t, state.Dir, path)
		}
		MustWrite(t, state.Dir, "lib/a.txt", "changed\n")
		MustWrite(t, state.Dir, "elsewhere", "The same.\n")
		MustWrite(t, state.Dir, "place/a", "A file in a folder.\n")
		MustWrite(t, state.Dir, ".pawl/tasks/001-add-login/plan.md", "The plan.\n")
		if err := os.Chmod(filepath.Join(state.Dir, "run.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../a.txt", filepath.Join(state.Dir, "lib/deep/b.go")); err != nil {
			t.Fatal(err)
		}
		to := MustCommit(t, f, commitSpec(f, "7")).Commit
		wantStates(t, MustChanges(t, f, f.Base, to),
			"elsewhere: none -> regular The same.\n",
			"empty: regular  -> none",
			"lib/a.txt: regular one\ntwo\nthree\n -> regular changed\n",
			"lib/deep/b.go: regular package b\n -> symlink ../a.txt",
			"moved: regular The same.\n -> none",
			"place: regular A file.\n -> none",
			"place/a: none -> regular A file in a folder.\n",
			"run.sh: regular #!/bin/sh\n -> executable #!/bin/sh\n",
		)
		if empty := MustChanges(t, f, f.Base, to)[1].Old; empty.Data == nil {
			t.Error("the content of an empty file is nil")
		}
		back := MustChanges(t, f, to, f.Base)
		if len(back) != 8 || back[0].Path != "elsewhere" || back[0].New.Exists() {
			t.Errorf("the way back is %+v", back)
		}
		if same := MustChanges(t, f, to, to); len(same) > 0 {
			t.Errorf("a commit differs from itself in %+v", same)
		}
	})

	t.Run("need two commits", func(t *testing.T) {
		f := newFixture(t, project())
		missing := pawl.CommitHash(strings.Repeat("1", len(f.Base)))
		_, err := f.Changes(ctx, f.Base, missing)
		wantCode(t, err, pawl.CodeNotFound, string(missing))
		_, err = f.Changes(ctx, missing, f.Base)
		wantCode(t, err, pawl.CodeNotFound, string(missing))
		_, err = f.Changes(ctx, "--output=/tmp/x", f.Base)
		wantCode(t, err, pawl.CodeInvalid, "--output")
	})

	t.Run("FileAt reads a commit", func(t *testing.T) {
		f := newFixture(t, project())
		work := MustWork(t, f, branch, f.Base, "README", "Read me.\n", ".pawl/tasks/1/plan.md", "The plan.\n")
		for path, want := range map[string]string{"README": "Read me.\n", "lib/deep/b.go": "package b\n", ".pawl/tasks/1/plan.md": "The plan.\n"} {
			if got, err := f.FileAt(ctx, pawl.TreeHash(work.Commit), path); err != nil || string(got) != want {
				t.Errorf("%s is %q, %v; want %q", path, got, err, want)
			}
		}
		if got, err := f.FileAt(ctx, pawl.TreeHash(work.Commit), "none"); got != nil || err != nil {
			t.Errorf("a file that is not there is %q, %v", got, err)
		}
	})
}

func testCompose(t *testing.T, newFixture Make) {
	ctx := context.Background()

	t.Run("joins files of commits and contents", func(t *testing.T) {
		f := newFixture(t, with(project(), "old", "old\n", ".pawl/tasks/000-x/report.md", "Done.\n"))
		work := MustWork(t, f, branch, f.Base, "lib/a.txt", "changed\n", "lib/new", "new\n", "README", "Read me.\n", "old", "-")
		files := []pawl.ComposedFile{
			{Path: "lib/a.txt", From: f.Base},
			{Path: "lib/new", From: f.Base},           // which has none
			{Path: "old", From: f.Base},               // which has one
			{Path: "README", Data: []byte("x\r\n")},   // and stays as it is
			{Path: "deep/er/empty", Data: []byte{}},   // is there
			{Path: "lib/deep/b.go", Remove: true},     // the last file of its folder
			{Path: "lib/deep/none/x", Remove: true},   // is not there already
			{Path: "lib", Remove: true},               // is no file
			{Path: "none/at/all.txt", From: f.Base},   // is nowhere
			{Path: "README.md", From: work.Commit},    // is nowhere
			{Path: ".gitignore", From: work.Commit},   // is the same
			{Path: ".gitattributes", Data: []byte{0}}, // decides about nothing
		}
		made := MustCompose(t, f, work.Commit, files...)
		want := with(project(), "old", "old\n", ".pawl/tasks/000-x/report.md", "Done.\n",
			"README", "x\r\n", "deep/er/empty", "", "lib/deep/b.go", "-", ".gitattributes", "\x00")
		wantCommit(t, f, made, want)
		wantRef(t, f, head, work.Commit)

		// Neither a restart nor the order of the files makes a difference.
		slices.Reverse(files)
		for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
			if again := MustCompose(t, w, work.Commit, files...); again != made {
				t.Errorf("called again, it gives %s, want %s", again, made)
			}
		}
		if same := MustCompose(t, f, work.Commit); len(MustChanges(t, f, work.Commit, same)) > 0 {
			t.Errorf("without files it differs from %s", work.Commit)
		}
	})

	t.Run("keeps kinds", func(t *testing.T) {
		f := newFixture(t, with(project(), "run.sh", "#!/bin/sh\n"))
		state := MustOpen(t, f, spec(f))
		if err := os.Chmod(filepath.Join(state.Dir, "run.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("README", filepath.Join(state.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		work := MustCommit(t, f, commitSpec(f, "7")).Commit
		wantStates(t, MustChanges(t, f, f.Base, MustCompose(t, f, f.Base,
			pawl.ComposedFile{Path: "run.sh", From: work}, pawl.ComposedFile{Path: "link", From: work})),
			"link: none -> symlink README", "run.sh: regular #!/bin/sh\n -> executable #!/bin/sh\n")
		wantStates(t, MustChanges(t, f, work, MustCompose(t, f, work,
			pawl.ComposedFile{Path: "run.sh", Data: []byte("#!/bin/bash\n")}, pawl.ComposedFile{Path: "link", Data: []byte("lib")},
			pawl.ComposedFile{Path: "README", Data: []byte("run.sh"), Kind: pawl.FileSymlink},
			pawl.ComposedFile{Path: "new", Data: []byte("#!/bin/sh\n"), Kind: pawl.FileExecutable})),
			"README: regular A project.\n -> symlink run.sh",
			"link: symlink README -> symlink lib",
			"new: none -> executable #!/bin/sh\n",
			"run.sh: executable #!/bin/sh\n -> executable #!/bin/bash\n")
		wantStates(t, MustChanges(t, f, work, MustCompose(t, f, work,
			pawl.ComposedFile{Path: "run.sh", Data: []byte("#!/bin/sh\n"), Kind: pawl.FileRegular},
			pawl.ComposedFile{Path: "link", Data: []byte("README"), Kind: pawl.FileRegular})),
			"link: symlink README -> regular README", "run.sh: executable #!/bin/sh\n -> regular #!/bin/sh\n")
	})

	t.Run("gives what the files say, whatever is in their way", func(t *testing.T) {
		f := newFixture(t, project())
		paths := []string{"a", "a.x", "a/b", "a/b/c", "a-", "d/e", "d", "-z", "new\nline", "\"q\"", "\xff", ":(glob)*", "tab\t"}
		draw := func(t *rapid.T, label string) map[string]string {
			files := map[string]string{}
			for _, path := range rapid.Permutation(paths).Draw(t, label) {
				if rapid.Bool().Draw(t, label+" has") {
					put(files, path, rapid.SampledFrom([]string{"", "1\n", "2\n"}).Draw(t, label+" content"))
				}
			}
			return files
		}
		rapid.Check(t, func(t *rapid.T) {
			one, two := draw(t, "one"), draw(t, "two")
			all := func(files map[string]string) (list []pawl.ComposedFile) {
				for path, content := range files {
					list = append(list, pawl.ComposedFile{Path: path, Data: []byte(content)})
				}
				return list
			}
			from, to := MustCompose(t, f, f.Base, all(one)...), MustCompose(t, f, f.Base, all(two)...)
			changes := MustChanges(t, f, from, to)
			var forth []pawl.ComposedFile
			for i, c := range changes {
				if i > 0 && changes[i-1].Path >= c.Path {
					t.Errorf("%q is listed before %q", changes[i-1].Path, c.Path)
				}
				if c.Old.Exists() != has(one, c.Path) || string(c.Old.Data) != one[c.Path] || c.New.Exists() != has(two, c.Path) || string(c.New.Data) != two[c.Path] {
					t.Errorf("%q: change is %+v, want one from %q to %q", c.Path, c, one[c.Path], two[c.Path])
				}
				forth = append(forth, pawl.ComposedFile{Path: c.Path, From: to})
			}
			if rapid.Bool().Draw(t, "all") {
				if left := MustChanges(t, f, to, MustCompose(t, f, from, forth...)); len(left) > 0 {
					t.Errorf("with all changes it still differs in %+v", left)
				}
				return
			}
			some := rapid.Permutation(forth).Draw(t, "some")
			some = some[:rapid.IntRange(0, len(some)).Draw(t, "how many")]
			want := maps.Clone(one)
			for _, file := range some {
				if !has(two, file.Path) {
					delete(want, file.Path)
				}
			}
			for _, file := range some {
				if has(two, file.Path) {
					put(want, file.Path, two[file.Path])
				}
			}
			if left := MustChanges(t, f, MustCompose(t, f, f.Base, all(want)...), MustCompose(t, f, from, some...)); len(left) > 0 {
				t.Errorf("from %q with %+v of %q differs in %+v", one, some, two, left)
			}
		})
	})

	t.Run("refuses what is not clear", func(t *testing.T) {
		f := newFixture(t, project())
		missing := pawl.CommitHash(strings.Repeat("1", len(f.Base)))
		file := pawl.ComposedFile{Path: "README", From: f.Base}
		for _, row := range []struct {
			of    pawl.CommitHash
			files []pawl.ComposedFile
			code  pawl.Code
			word  string
		}{
			{"HEAD", nil, pawl.CodeInvalid, "HEAD"},
			{missing, nil, pawl.CodeNotFound, string(missing)},
			{f.Base, []pawl.ComposedFile{{Path: "README", From: "HEAD"}}, pawl.CodeInvalid, "HEAD"},
			{f.Base, []pawl.ComposedFile{{Path: "README", From: missing}}, pawl.CodeNotFound, string(missing)},
			{f.Base, []pawl.ComposedFile{{Path: "README"}}, pawl.CodeInvalid, "one of them"},
			{f.Base, []pawl.ComposedFile{{Path: "README", From: f.Base, Remove: true}}, pawl.CodeInvalid, "one of them"},
			{f.Base, []pawl.ComposedFile{{Path: "README", Data: []byte{}, Remove: true}}, pawl.CodeInvalid, "one of them"},
			{f.Base, []pawl.ComposedFile{{Path: "README", From: f.Base, Kind: pawl.FileRegular}}, pawl.CodeInvalid, "kind"},
			{f.Base, []pawl.ComposedFile{{Path: "README", Data: []byte{}, Kind: pawl.FileSubmodule}}, pawl.CodeInvalid, "submodule"},
			{f.Base, []pawl.ComposedFile{file, file}, pawl.CodeInvalid, "twice"},
			{f.Base, []pawl.ComposedFile{{Path: "README/x/y", Data: []byte{}}, file}, pawl.CodeInvalid, "at once"},
			{f.Base, []pawl.ComposedFile{{Path: "../x", Remove: true}}, pawl.CodeInvalid, "../x"},
			{f.Base, []pawl.ComposedFile{{Path: "a/.git/config", Data: []byte{}}}, pawl.CodeInvalid, ".git"},
			{f.Base, []pawl.ComposedFile{{Path: "a/git~1", Data: []byte{}}}, pawl.CodeInvalid, "git~1"},
		} {
			_, err := f.Compose(ctx, pawl.ComposeSpec{Of: row.of, Files: row.files})
			wantCode(t, err, row.code, row.word)
		}
		// A path that no file is at is no folder's either.
		MustCompose(t, f, f.Base, pawl.ComposedFile{Path: "README", Remove: true}, pawl.ComposedFile{Path: "README/x", Data: []byte{}})
	})
}

func has(files map[string]string, path string) bool {
	_, found := files[path]
	return found
}

// put adds a file in place of what is in its way.
func put(files map[string]string, path, content string) {
	maps.DeleteFunc(files, func(other, _ string) bool {
		return strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/")
	})
	files[path] = content
}
