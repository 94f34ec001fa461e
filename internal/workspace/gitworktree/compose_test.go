package gitworktree_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

// commitOf has the user's own git make a commit of these files, on no branch.
func (r *repository) commitOf(t *testing.T, files map[string]string) pawl.CommitHash {
	t.Helper()
	commit := r.git(t, "commit-tree", "-p", "HEAD", "-m", "Work", r.tree(t, files))
	r.git(t, "reset", "-q", "--hard")
	return pawl.CommitHash(commit)
}

// withSubmodule has the user's own git make a commit that has a submodule, too.
func (r *repository) withSubmodule(t *testing.T, of pawl.CommitHash, path, at string) pawl.CommitHash {
	t.Helper()
	r.git(t, "read-tree", string(of))
	r.git(t, "update-index", "--add", "--replace", "--cacheinfo", "160000,"+at+","+path)
	commit := r.git(t, "commit-tree", "-p", "HEAD", "-m", "Work", r.git(t, "write-tree"))
	r.git(t, "reset", "-q", "--hard")
	return pawl.CommitHash(commit)
}

// What a composed commit has is what git itself makes of the same files.
func TestCompose(t *testing.T) {
	type files = map[string]string
	from := func(paths ...string) (list []pawl.ComposedFile) {
		for _, path := range paths {
			list = append(list, pawl.ComposedFile{Path: path, From: "from"})
		}
		return list
	}
	for n, test := range []struct {
		name           string
		of, from, want files
		compose        []pawl.ComposedFile // From stands for the commit of from
	}{
		{"nothing", files{"a": "1"}, files{}, files{"a": "1"}, nil},
		{"a file for a folder", files{"a/b": "2", "a/c/d": "2", "a.x": "2"}, files{"a": "1"}, files{"a": "1", "a.x": "2"}, from("a")},
		{"a file for a folder whose files are named", files{"a/b": "2", "x": "2"}, files{"a": "1"}, files{"a": "1", "x": "2"}, from("a/b", "a")},
		{"a folder for a file", files{"a": "2", "a-": "2"}, files{"a/b": "1", "a/c": "1"}, files{"a/b": "1", "a-": "2"}, from("a/b")},
		{"a folder for a file that is named", files{"a": "2"}, files{"a/b/c": "1"}, files{"a/b/c": "1"}, from("a/b/c", "a")},
		{"the removal of a folder's name", files{"a/b": "2"}, files{}, files{"a/b": "2"}, from("a")},
		{"no file left", files{"a": "2", "b/c": "2"}, files{"x": "1"}, files{}, from("a", "b/c")},
		{"a link for a file", files{"a": "2"}, files{"a@": "b"}, files{"a@": "b"}, from("a")},
		{"a link for a folder", files{"a/b": "2"}, files{"a@": "/etc"}, files{"a@": "/etc"}, from("a", "a/b")},
		{"a file for a link", files{"a@": "/etc"}, files{"a/passwd": "1"}, files{"a/passwd": "1"}, from("a/passwd")},
		{"modes", files{"a": "2", "b*": "2"}, files{"a*": "1", "b": "1"}, files{"a*": "1", "b": "1"}, from("b", "a")},
		{
			"contents keep the kind there is", files{"a*": "2", "b@": "a"}, files{"c*": "1"}, files{"a*": "3", "b@": "c", "c": "3"},
			[]pawl.ComposedFile{{Path: "a", Data: []byte("3")}, {Path: "b", Data: []byte("c")}, {Path: "c", Data: []byte("3")}},
		},
		{
			"odd names", files{"-rf": "2", "new\nline": "2", "\"q\"": "2", "\xff": "2", "tab\t": "2", ":(top)x": "2", "0 x": "2"},
			files{"-rf": "1", "new\nline": "1", "\"q\"": "1", "\xff": "1", ":(top)x*": "1", "--help": "1", "\t100644": "1"},
			files{"-rf": "1", "new\nline": "1", "\"q\"": "1", "\xff": "1", ":(top)x*": "1", "--help": "1", "\t100644": "1", "0 x": "2"},
			from("-rf", "new\nline", "\"q\"", "\xff", "tab\t", ":(top)x", "--help", "\t100644"),
		},
		{
			"attributes and line ends as they are", files{".gitattributes": "* text eol=lf filter=x\n"}, files{"a": "1\r\n"},
			files{".gitattributes": "* text eol=lf filter=x\n", "a": "1\r\n", "b": "2\r\n"},
			append(from("a"), pawl.ComposedFile{Path: "b", Data: []byte("2\r\n")}),
		},
		{
			"tasks", files{"a": "2", ".pawl/tasks/1/plan.md": "2"}, files{"a": "1"}, files{"a": "1", ".pawl/tasks/1/plan.md": "2"}, from("a"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			sample(t, n)
			r := newRepository(t, map[string]string{"README": "A project.\n"})
			r.git(t, "config", "core.autocrlf", "false")
			of, other := r.commitOf(t, test.of), r.commitOf(t, test.from)
			attributes := filepath.Join(r.root, ".git", "info", "attributes") // what git makes of it is what it has
			workspacetest.MustWrite(t, filepath.Dir(attributes), "attributes", "* -text -filter\n")
			want := r.tree(t, test.want)
			r.git(t, "reset", "-q", "--hard")
			workspacetest.MustWrite(t, r.root, "README", "Staged by the user.\n")
			r.git(t, "add", "README")
			f, refs := r.fixture(t), r.git(t, "for-each-ref")
			before := r.users(t)
			files := slices.Clone(test.compose)
			for i := range files {
				if files[i].From != "" {
					files[i].From = other
				}
			}
			made := workspacetest.MustCompose(t, f, of, files...)
			if got := r.git(t, "rev-parse", string(made)+"^{tree}"); got != want {
				t.Errorf("the tree is not what it should be:\n%s", r.git(t, "diff", want, got))
			}
			if got, want := r.git(t, "log", "-1", "--format=%P|%an|%ae|%cn|%ct|%at|%B", string(made)),
				string(of)+"|Pawl|pawl@localhost|Pawl|1779008400|1779008400|Compose files of several commits\n"; got != want {
				t.Errorf("the commit is %q, want %q", got, want)
			}
			if again := workspacetest.MustCompose(t, f.Restart(t), of, files...); again != made {
				t.Errorf("called again, it gives %s, want %s", again, made)
			}
			if got := r.git(t, "for-each-ref"); got != refs {
				t.Errorf("refs are\n%s\nwant\n%s", got, refs)
			}
			if after := r.users(t); after != before {
				t.Errorf("the user's checkout changed:\n%s", cmp.Diff(before, after))
			}
			r.wantNoTemporary(t)
			r.git(t, "fsck", "--strict", "--no-dangling")
		})
	}
}

// wantNoTemporary checks that no temporary folder is left.
func (r *repository) wantNoTemporary(t *testing.T) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(r.state, "tmp", "*")); len(left) > 0 {
		t.Errorf("temporary folders are left: %q", left)
	}
}

// Tools that stamp what they build with the time of HEAD stamp it as they do for spec.Of.
func TestComposeTime(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	r.git(t, "commit", "-q", "--amend", "--no-edit", "--date=@1000000000 +0300")
	made := workspacetest.MustCompose(t, r.fixture(t), r.base(t), pawl.ComposedFile{Path: "README", Remove: true})
	if got, want := r.git(t, "log", "-1", "--format=%ct", string(made)), r.git(t, "log", "-1", "--format=%ct"); got != want || want == "1000000000" {
		t.Errorf("the commit's time is %s, want %s", got, want)
	}
}

// A submodule is an entry like others, of which no content is read.
func TestComposeSubmodules(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n", "lib/a.txt": "one\n"})
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	base := r.base(t)
	first := r.withSubmodule(t, base, "vendor/sub", one)
	second := r.withSubmodule(t, first, "vendor/sub", two)
	third := r.withSubmodule(t, base, "lib", one) // in a folder's place
	f := r.fixture(t)
	sub := func(at string) pawl.FileState { return pawl.FileState{Kind: pawl.FileSubmodule, Object: at} }
	text := pawl.FileState{Kind: pawl.FileRegular, Object: r.git(t, "rev-parse", "HEAD:lib/a.txt"), Size: 4, Data: []byte("one\n")}
	for _, row := range []struct {
		from, to pawl.CommitHash
		want     []pawl.FileChange
	}{
		{base, first, []pawl.FileChange{{Path: "vendor/sub", New: sub(one)}}},
		{first, base, []pawl.FileChange{{Path: "vendor/sub", Old: sub(one)}}},
		{first, second, []pawl.FileChange{{Path: "vendor/sub", Old: sub(one), New: sub(two)}}},
		{base, third, []pawl.FileChange{{Path: "lib", New: sub(one)}, {Path: "lib/a.txt", Old: text}}},
	} {
		got := workspacetest.MustChanges(t, f, row.from, row.to)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("from %s to %s (-want +got):\n%s", row.from, row.to, diff)
		}
		var files []pawl.ComposedFile
		for _, c := range got {
			files = append(files, pawl.ComposedFile{Path: c.Path, From: row.to})
		}
		made := workspacetest.MustCompose(t, f, row.from, files...)
		if got, want := r.git(t, "rev-parse", string(made)+"^{tree}"), r.git(t, "rev-parse", string(row.to)+"^{tree}"); got != want {
			t.Errorf("from %s to %s the tree is %s, want %s", row.from, row.to, got, want)
		}
	}
	// A content in a submodule's place is a file.
	made := workspacetest.MustCompose(t, f, first, pawl.ComposedFile{Path: "vendor/sub", Data: []byte("x\n")})
	if got := r.git(t, "ls-tree", string(made), "vendor/"); !strings.HasPrefix(got, "100644 blob") {
		t.Errorf("the entry is %q", got)
	}
}

// Contents are read up to the limits, in the order of the paths and each once.
func TestChangesOfMuch(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	const full = pawl.MaxChangedBytes / pawl.MaxChangedFile
	files, read := map[string]string{}, map[string]bool{"empty": true}
	for n := range full + 1 {
		content := make([]byte, pawl.MaxChangedFile)
		copy(content, strconv.Itoa(n))
		for _, name := range []string{fmt.Sprintf("%02d", n), fmt.Sprintf("%02d-again", n)} {
			files[name], read[name] = string(content), n < full
		}
	}
	files["0-larger"], files["empty"] = strings.Repeat("x", pawl.MaxChangedFile+1), ""
	to := r.commitOf(t, files)
	f := r.fixture(t)
	changes := workspacetest.MustChanges(t, f, f.Base, to)
	if len(changes) != len(files)+1 {
		t.Fatalf("%d files differ, want %d", len(changes), len(files)+1)
	}
	for _, c := range changes {
		state, want := c.New, files[c.Path]
		if c.Path == "README" { // is gone
			state, want = c.Old, "A project.\n"
		}
		if !state.Exists() || state.Size != int64(len(want)) {
			t.Errorf("%s has %d bytes, want %d", c.Path, state.Size, len(want))
		}
		switch {
		case (state.Data != nil) != read[c.Path]:
			t.Errorf("%s: the content is read: %v, want %v", c.Path, state.Data != nil, read[c.Path])
		case state.Data != nil && string(state.Data) != want:
			t.Errorf("%s has the content of another file", c.Path)
		}
	}
}

// The changes are what differs between git's lists of the files of both commits.
func TestChangesLikeGit(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	r.git(t, "config", "diff.renames", "copies")
	line := strings.Repeat("line\n", 50)
	from := r.commitOf(t, map[string]string{
		"a": "1", "a.x": "1", "a-": "1", "b": "1", "c*": "1", "d@": "a", "e/f": "1", "moved": line, "same": "1", "file": "a", "kind": "1",
		"-x": "1", "new\nline": "1", "\xff\"": "1", ".pawl/tasks/1/plan.md": "1", ".pawl/other": "1", "ends\r": "1", ".pawl/tasks2": "1",
	})
	to := r.commitOf(t, map[string]string{
		"a/b": "1", "a.x": "2", "a-": "2", "b*": "1", "c": "2", "d": "a", "e@": "b", "elsewhere": line, "same": "1", "file@": "a", "kind": "1\r\n",
		"-x": "2", "new\nline": "2", "\xff\"*": "1", ".pawl/tasks/2/plan.md": "1", ".pawl/other": "2", " ": "1", "deep/.pawl/tasks/x": "1",
	})
	f := r.fixture(t)
	changes := workspacetest.MustChanges(t, f, from, to)
	got := map[string]pawl.FileChange{}
	for i, c := range changes {
		if got[c.Path] = c; i > 0 && changes[i-1].Path >= c.Path {
			t.Errorf("%q is listed before %q", changes[i-1].Path, c.Path)
		}
	}
	want := map[string]pawl.FileChange{}
	before, after := r.states(t, from), r.states(t, to)
	for path := range before {
		want[path] = pawl.FileChange{Path: path, Old: before[path], New: after[path]}
	}
	for path := range after {
		want[path] = pawl.FileChange{Path: path, Old: before[path], New: after[path]}
	}
	maps.DeleteFunc(want, func(path string, c pawl.FileChange) bool {
		return strings.HasPrefix(path, ".pawl/tasks/") || cmp.Equal(c.Old, c.New)
	})
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 21 {
		t.Errorf("%d changes (-want +got):\n%s", len(want), diff)
	}
}

// states are the files of a commit as the user's own git lists and prints them.
func (r *repository) states(t *testing.T, commit pawl.CommitHash) map[string]pawl.FileState {
	t.Helper()
	kinds := map[string]pawl.FileKind{"100644": pawl.FileRegular, "100755": pawl.FileExecutable, "120000": pawl.FileSymlink}
	states := map[string]pawl.FileState{}
	for line := range strings.SplitSeq(strings.TrimSuffix(r.git(t, "ls-tree", "-r", "-z", "-l", string(commit)), "\x00"), "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		data := r.git(t, "cat-file", "blob", fields[2])
		if int64(len(data)) < size { // the helper has cut it off
			data += "\n"
		}
		states[path] = pawl.FileState{Kind: kinds[fields[0]], Object: fields[2], Size: size, Data: []byte(data)}
	}
	return states
}

// Few processes are run, and each is told to run no other.
func TestChangesAndComposeCalls(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	to := r.commitOf(t, map[string]string{"a": "1", "b": "2", "c": "3"})
	command := mustFind(t)
	w := r.open(t, command)
	var mu sync.Mutex
	var calls []string
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		mu.Lock()
		calls = append(calls, cmd.Args[1])
		mu.Unlock()
		return run(cmd)
	}
	made := func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := calls
		calls = nil
		slices.Sort(all)
		return all
	}
	if _, err := w.Changes(ctx, r.base(t), to); err != nil {
		t.Fatal(err)
	}
	if calls, want := made(), []string{"cat-file"}; !slices.Equal(calls, want) {
		t.Errorf("the changes are found by %q, want %q", calls, want)
	}
	_, err := w.Compose(ctx, pawl.ComposeSpec{Of: r.base(t), Files: []pawl.ComposedFile{
		{Path: "a", From: to}, {Path: "b", From: to}, {Path: "README", Data: []byte("x")}, {Path: "x", Data: []byte("x"), Kind: pawl.FileRegular},
	}})
	if calls, want := made(), []string{"hash-object", "ls-tree", "ls-tree", "read-tree", "update-index", "write-tree"}; err != nil || !slices.Equal(calls, want) {
		t.Errorf("the commit is composed by %q, %v; want %q", calls, err, want)
	}
}

// A composed commit is checked out like any other, with the history of the commit it is on.
func TestComposeIsCheckedOut(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{"README": "A project.\n", "test.sh": "exit 1\n"})
	r.git(t, "tag", "v1")
	f := r.fixture(t)
	work := workspacetest.MustWork(t, f, runBranch, f.Base, "README", "Read me.\n", "test.sh", "exit 0\n")
	made := workspacetest.MustCompose(t, f, work.Commit, pawl.ComposedFile{Path: "test.sh", From: f.Base})
	dir, release, err := f.Checkout(ctx, made)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if got := workspacetest.Files(t, dir); !cmp.Equal(got, map[string]string{"README": "Read me.\n", "test.sh": "exit 1\n"}) {
		t.Errorf("files are %q", got)
	}
	if got := r.gitIn(t, dir, "describe", "--tags", "--dirty"); !strings.HasPrefix(got, "v1-2-g") || strings.HasSuffix(got, "-dirty") {
		t.Errorf("git describe says %q", got)
	}
	if left, err := os.ReadDir(filepath.Join(r.state, "objects")); err != nil || len(left) != 1 {
		t.Errorf("there are %d stores, %v; want that of the base alone", len(left), err)
	}
}
