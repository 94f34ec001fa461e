package gitworktree_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

const runFolder = ".pawl/tasks/" + runName

// recording is a commit of the run's records: paths and contents in turn.
func recording(from pawl.CommitHash, pairs ...string) pawl.FilesSpec {
	files := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = []byte(pairs[i+1])
	}
	return pawl.FilesSpec{
		Branch: runBranch, From: from, Folder: runFolder, Files: files, Message: "Records", ID: "22", Time: time.Unix(1_780_000_300, 0),
	}
}

func mustRecord(t *testing.T, w pawl.Workspaces, spec pawl.FilesSpec) pawl.CommitHash {
	t.Helper()
	commit, err := w.WriteFiles(context.Background(), spec)
	if err != nil {
		t.Fatalf("write %s: %v", spec.Folder, err)
	}
	return commit
}

// The folder holds just the files, and everything else is as it was.
func TestWriteFiles(t *testing.T) {
	type files = map[string]string
	project := files{
		"README": "A project.", ".gitattributes": "* text eol=crlf filter=evil ident\n", ".gitignore": ".pawl/", "x/y": "1",
		".pawl/tasks/000-before/plan.md": "1", ".pawl/other": "1",
	}
	with := func(pairs ...string) files {
		out := maps.Clone(project)
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	for n, test := range []struct {
		name  string
		from  files
		write []string
		want  files // nil: nothing changes
	}{
		{"a new folder", project, []string{"plan.md", "1\r\n$Id$", "deep/er/x", "2"}, with(runFolder+"/plan.md", "1\r\n$Id$", runFolder+"/deep/er/x", "2")},
		{"some change, some go", with(runFolder+"/a", "1", runFolder+"/b/c", "1"), []string{"a", "2", "b", "2"}, with(runFolder+"/a", "2", runFolder+"/b", "2")},
		{"a folder in a file's place", with(runFolder+"/a", "1"), []string{"a/b", "2"}, with(runFolder+"/a/b", "2")},
		{"nothing changes", with(runFolder+"/a", "1"), []string{"a", "1"}, nil},
		{"an executable stays one", with(runFolder+"/a*", "1"), []string{"a", "1"}, nil},
		{"no files", with(runFolder+"/a", "1"), nil, project},
		{"no files where there were none", project, nil, nil},
		{"a link in a file's place", with(runFolder+"/a@", "/etc/passwd", runFolder+"/b@", ".."), []string{"a", "1"}, with(runFolder+"/a", "1")},
		{"strange names", project, []string{"a\nb \"ü\"", "1", "-f", "2", ":x", "3", "*", "4"},
			with(runFolder+"/a\nb \"ü\"", "1", runFolder+"/-f", "2", runFolder+"/:x", "3", runFolder+"/*", "4")},
		{"rules of its own", project, []string{".gitattributes", "* filter=evil", ".gitignore", "*"},
			with(runFolder+"/.gitattributes", "* filter=evil", runFolder+"/.gitignore", "*")},
	} {
		t.Run(test.name, func(t *testing.T) {
			sample(t, n)
			r := newRepository(t, files{"README": "A project.\n"})
			from := r.at(t, test.from)
			f, before := r.fixture(t), r.users(t)
			spec := recording(from, test.write...)
			commit := mustRecord(t, f, spec)
			if test.want == nil && commit != from {
				t.Errorf("the commit is %s, want %s", commit, from)
			}
			for _, w := range []pawl.Workspaces{f, f.Restart(t)} {
				if again := mustRecord(t, w, spec); again != commit {
					t.Errorf("called again, the commit is %s, want %s", again, commit)
				}
			}
			if got := r.resolve(t, "refs/heads/"+runBranch); got != commit {
				t.Errorf("the branch is at %s, want %s", got, commit)
			}
			for path, content := range test.want {
				if got, err := f.FileAt(context.Background(), pawl.TreeHash(r.git(t, "rev-parse", string(commit)+"^{tree}")), path); string(got) != content || err != nil {
					t.Errorf("%q is %q, %v; want %q", path, got, err, content)
				}
			}
			if have := strings.Count(r.git(t, "ls-tree", "-rz", string(commit)), "\x00"); test.want != nil && have != len(test.want) {
				t.Errorf("it has %d files, want %d", have, len(test.want))
			}
			got, err := f.Files(context.Background(), commit, runFolder)
			if diff := cmp.Diff(spec.Files, got); diff != "" || err != nil {
				t.Errorf("read again (-want +got): %v\n%s", err, diff)
			}
			if after := r.users(t); after != before {
				t.Errorf("the user's checkout changed:\n%s", cmp.Diff(before, after))
			}
			r.git(t, "fsck", "--strict", "--no-dangling")
		})
	}
}

// The branch's worktree follows in a reset.
func TestWorktreeFollowsRecords(t *testing.T) {
	_, f, _ := shown(t)
	commit := mustRecord(t, f, recording(f.Base, "plan.md", "The plan.\n"))
	if got := workspacetest.MustReset(t, f, runName, commit, runSalvage); got.Head != commit || got.Salvage != "" {
		t.Errorf("state is %+v, want the head %s and nothing saved", got, commit)
	}
	wantFiles(t, f, map[string]string{"README": "A project.\n", ".gitignore": "build/\n", filepath.Join(runFolder, "plan.md"): "The plan.\n"})
}

func TestWriteFilesRefuses(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	linked := []pawl.CommitHash{
		r.at(t, map[string]string{".pawl@": "/etc"}),
		r.at(t, map[string]string{".pawl/tasks@": "../.."}),
		r.at(t, map[string]string{runFolder + "@": ".."}),
		r.at(t, map[string]string{".pawl/tasks": "a file"}),
	}
	plain := r.at(t, map[string]string{"a": "1"})
	f := r.fixture(t)
	many := map[string][]byte{}
	for n := range 2001 {
		many[fmt.Sprint(n)] = nil
	}
	for _, test := range []struct {
		folder string
		files  map[string][]byte
		word   string
	}{
		{".pawl/tasks", nil, "below"},
		{".pawl/tasks/", nil, "below"},
		{".pawl/tasksx/1", nil, "below"},
		{".pawl/other/1", nil, "below"},
		{"src", nil, "below"},
		{"", nil, "below"},
		{"/.pawl/tasks/1", nil, "below"},
		{".pawl/tasks/../../src", nil, "below"},
		{".pawl/tasks/./1", nil, "below"},
		{".pawl/tasks/1/.git", nil, "below"},
		{runFolder, map[string][]byte{"../x": nil}, "path"},
		{runFolder, map[string][]byte{"/etc/passwd": nil}, "path"},
		{runFolder, map[string][]byte{"a//b": nil}, "path"},
		{runFolder, map[string][]byte{"a/.GIT/config": nil}, "path"},
		{runFolder, map[string][]byte{"": nil}, "path"},
		{runFolder, map[string][]byte{"a\x00b": nil}, "path"},
		{runFolder, map[string][]byte{"a": nil, "a/b/c": nil}, "at once"},
		{runFolder, map[string][]byte{"large": make([]byte, 1<<20+1)}, "too large"},
		{runFolder, many, "too many"},
	} {
		spec := recording(plain)
		spec.Folder, spec.Files = test.folder, test.files
		_, err := f.WriteFiles(ctx, spec)
		wantCode(t, err, pawl.CodeInvalid, test.word)
	}
	for _, from := range linked { // what is in the way is not followed and not replaced
		r.git(t, "update-ref", "refs/heads/"+runBranch, string(from))
		_, err := f.WriteFiles(ctx, recording(from, "a", "1"))
		wantCode(t, err, pawl.CodeInvalid, "")
		if got := r.resolve(t, "refs/heads/"+runBranch); got != from {
			t.Errorf("the branch is at %s, want %s", got, from)
		}
	}
	_, err := f.WriteFiles(ctx, recording(plain, "a", "1"))
	wantCode(t, err, pawl.CodeConflict, "somebody else moved it")
	spec := recording(linked[3], "a", "1")
	spec.Branch = "main"
	_, err = f.WriteFiles(ctx, spec)
	wantCode(t, err, pawl.CodeInvalid, "pawl/")
}

// What is more than is read is an error, not cut.
func TestFiles(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	many := map[string]string{}
	for n := range 13 {
		many[fmt.Sprint(n)] = ""
	}
	folder := r.tree(t, many)
	for range 2 { // 13 of it, and 13 of these: 2197 files
		r.git(t, "read-tree", "--empty")
		for n := range 13 {
			r.git(t, "read-tree", fmt.Sprintf("--prefix=%d/", n), folder)
		}
		folder = r.git(t, "write-tree")
	}
	r.git(t, "read-tree", "--empty")
	r.git(t, "read-tree", "--prefix=many/", folder)
	much := r.git(t, "commit-tree", "-m", "Much", r.git(t, "write-tree"))
	commit := r.at(t, map[string]string{
		"x/a": "1\r\n\x00", "x/deep/b*": "2", "x/empty": "", "x/link@": "a", "file": "1", "large/f": strings.Repeat("x", 1<<20+1), "most/f": strings.Repeat("x", 1<<20), "up@": "x",
	})
	f := r.fixture(t)
	for _, test := range []struct {
		folder string
		want   map[string][]byte
		code   pawl.Code
	}{
		{"x", map[string][]byte{"a": []byte("1\r\n\x00"), "deep/b": []byte("2"), "empty": {}}, ""},
		{"x/deep", map[string][]byte{"b": []byte("2")}, ""},
		{"none", map[string][]byte{}, ""},
		{"x/none/at/all", map[string][]byte{}, ""},
		{"file", map[string][]byte{}, ""},
		{"most", map[string][]byte{"f": []byte(strings.Repeat("x", 1<<20))}, ""},
		{"large", nil, pawl.CodeInvalid},
		{"up/deep", nil, pawl.CodeInvalid},
		{"../x", nil, pawl.CodeInvalid},
		{"", nil, pawl.CodeInvalid},
	} {
		got, err := f.Files(ctx, commit, test.folder)
		if test.code != "" {
			wantCode(t, err, test.code, "")
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("files of %q (-want +got): %v\n%s", test.folder, err, diff)
		}
	}
	_, err := f.Files(ctx, pawl.CommitHash(much), "many")
	wantCode(t, err, pawl.CodeInvalid, "2000 files")
	_, err = f.Files(ctx, "HEAD", "x")
	wantCode(t, err, pawl.CodeInvalid, "HEAD")
}

// A repository may ignore .pawl. Work is recorded nevertheless, and what the harness wrote in
// .pawl/tasks stays in the commits.
func TestIgnoredTasks(t *testing.T) {
	for _, rule := range []string{".pawl", ".pawl/", "/.pawl/tasks/", "*.md", "*\n!b"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, map[string]string{".gitignore": rule + "\n", "a": "a\n"})
			w := r.open(t, nil)
			workspacetest.MustOpen(t, w, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: r.base(t)})
			head := mustRecord(t, w, recording(r.base(t), "plan.md", "The plan.\n"))
			state := workspacetest.MustReset(t, w, runName, head, runSalvage)
			workspacetest.MustWrite(t, state.Dir, "b", "b\n")
			if now := workspacetest.MustTree(t, w, runName); now == state.Tree {
				t.Error("the new file is not recorded")
			}
			info := workspacetest.MustCommit(t, w, pawl.CommitSpec{
				Name: runName, Branch: runBranch, Base: r.base(t), Parent: head, Message: "Work", ID: "23", Time: time.Unix(1_780_000_400, 0),
			})
			if diff := cmp.Diff([]string{"b"}, info.Files); diff != "" {
				t.Errorf("files of the commit (-want +got):\n%s", diff)
			}
		})
	}
}

// A process that is killed while it fills the index of a worktree leaves one with .pawl/tasks.
func TestIndexWithTasks(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"in this process": {"a": "a\n"},
		"by git":          {"a": "a\n", ".gitattributes": "*.x filter=f\n"},
	} {
		t.Run(name, func(t *testing.T) { indexWithTasks(t, files) })
	}
}

func indexWithTasks(t *testing.T, files map[string]string) {
	r := newRepository(t, files)
	w := r.open(t, nil)
	workspacetest.MustOpen(t, w, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: r.base(t)})
	head := mustRecord(t, w, recording(r.base(t), "plan.md", "The plan.\n"))
	state := workspacetest.MustReset(t, w, runName, head, runSalvage)
	r.git(t, "read-tree", "--index-output="+filepath.Join(r.state, "engine", "worktrees", runName, "index"), string(head))
	if now := workspacetest.MustTree(t, w, runName); now != state.Tree {
		t.Errorf("the tree is %s, want %s", now, state.Tree)
	}
	workspacetest.MustWrite(t, state.Dir, "b", "b\n")
	info := workspacetest.MustCommit(t, w, pawl.CommitSpec{
		Name: runName, Branch: runBranch, Base: r.base(t), Parent: head, Message: "Work", ID: "23", Time: time.Unix(1_780_000_400, 0),
	})
	if diff := cmp.Diff([]string{"b"}, info.Files); diff != "" {
		t.Errorf("files of the commit (-want +got):\n%s", diff)
	}
}
