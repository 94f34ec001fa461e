// Package workspacetest is the suite that every [pawl.Workspaces] passes.
package workspacetest

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
)

// Fixture is a Workspaces over a repository that has one commit.
type Fixture struct {
	pawl.Workspaces
	Base pawl.CommitHash
	// Restart returns a new Workspaces over the same state, as a new process would.
	Restart func(tb testing.TB) pawl.Workspaces
	// Resolve returns what a ref of the user's repository points to, empty when
	// there is no such ref.
	Resolve func(tb rapid.TB, ref string) pawl.CommitHash
	// Move makes a ref of the user's repository point to a commit, as the user could do.
	Move func(tb rapid.TB, ref string, to pawl.CommitHash)
	// Watch returns a new Workspaces over the same state. It calls before right before
	// each step, such as a git command, with whether the step moves a ref. Steps may run
	// concurrently.
	Watch func(tb testing.TB, before func(moves bool)) pawl.Workspaces
}

// Make makes a fixture whose commit has the files.
type Make func(tb testing.TB, files map[string]string) Fixture

// Run runs the suite.
func Run(t *testing.T, newFixture Make) {
	for _, group := range []struct {
		name string
		test func(*testing.T, Make)
	}{
		{"Open", testOpen},
		{"Tree", testTree},
		{"Content", testContent},
		{"Commit", testCommit},
		{"Reset", testReset},
		{"Checkout", testCheckout},
		{"Close", testClose},
		{"Paths", testPaths},
		{"Merge", testMerge},
		{"Advance", testAdvance},
		{"Publish", testPublish},
		{"Changes", testChanges},
		{"Compose", testCompose},
		{"Rivals", testRivals},
	} {
		t.Run(group.name, func(t *testing.T) { group.test(t, newFixture) })
	}
}

const (
	name   = "001-add-login"
	branch = "pawl/001-add-login"
	head   = "refs/heads/" + branch
	kept   = "refs/pawl/salvage/001-add-login/1"
)

// project is what most tests start from.
func project() map[string]string {
	return map[string]string{
		".gitignore":    "build/\n*.log\n",
		"README":        "A project.\n",
		"lib/a.txt":     "one\ntwo\nthree\n",
		"lib/deep/b.go": "package b\n",
	}
}

func spec(f Fixture) pawl.WorkspaceSpec {
	return pawl.WorkspaceSpec{Name: name, Branch: branch, Base: f.Base}
}

// Opened is a worktree as it was found, and the path by which tests reach its files.
type Opened struct {
	pawl.WorkspaceState
	Dir string
}

// MustOpen opens the worktree of a spec.
func MustOpen(tb rapid.TB, w pawl.Workspaces, spec pawl.WorkspaceSpec) Opened {
	tb.Helper()
	state, err := w.Open(context.Background(), spec)
	if err != nil {
		tb.Fatalf("open %s: %v", spec.Name, err)
	}
	return Opened{state, MustLocate(tb, w, spec.Name)}
}

// MustLocate returns the path by which tests reach the files of the named worktree.
func MustLocate(tb rapid.TB, w pawl.Workspaces, name string) string {
	tb.Helper()
	at, err := w.Locate(context.Background(), name)
	if err != nil {
		tb.Fatalf("locate %s: %v", name, err)
	}
	return at.Reach
}

// Exists reports whether there is a worktree of this name.
func Exists(tb rapid.TB, w pawl.Workspaces, name string) bool {
	tb.Helper()
	_, err := os.Lstat(MustLocate(tb, w, name))
	return err == nil
}

// MustTree records the named worktree.
func MustTree(tb rapid.TB, w pawl.Workspaces, name string) pawl.TreeHash {
	tb.Helper()
	tree, err := w.Tree(context.Background(), name)
	if err != nil {
		tb.Fatalf("tree of %s: %v", name, err)
	}
	if len(tree.LeftOut) > 0 {
		tb.Fatalf("tree of %s leaves out %+v", name, tree.LeftOut)
	}
	return tree.Tree
}

// MustCommit commits.
func MustCommit(tb rapid.TB, w pawl.Workspaces, spec pawl.CommitSpec) pawl.CommitInfo {
	tb.Helper()
	info, err := w.Commit(context.Background(), spec)
	if err != nil {
		tb.Fatalf("commit %s: %v", spec.ID, err)
	}
	return info
}

// MustReset resets the named worktree.
func MustReset(tb rapid.TB, w pawl.Workspaces, name string, commit pawl.CommitHash, salvage string) Opened {
	tb.Helper()
	state, err := w.Reset(context.Background(), name, commit, salvage)
	if err != nil {
		tb.Fatalf("reset %s: %v", name, err)
	}
	return Opened{state, MustLocate(tb, w, name)}
}

// MustClose closes the named worktree.
func MustClose(tb rapid.TB, w pawl.Workspaces, name, salvage string) string {
	tb.Helper()
	saved, err := w.Close(context.Background(), name, salvage)
	if err != nil {
		tb.Fatalf("close %s: %v", name, err)
	}
	return saved
}

// MustWrite writes a file in a folder, and the folders above it.
func MustWrite(tb rapid.TB, folder, path, content string) {
	tb.Helper()
	at := filepath.Join(folder, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// MustRemove removes a file or folder.
func MustRemove(tb rapid.TB, folder, path string) {
	tb.Helper()
	if err := os.RemoveAll(filepath.Join(folder, path)); err != nil {
		tb.Fatal(err)
	}
}

// Files are the files below a folder with their content, .git left out. A
// symbolic link's content is "-> " and its target.
func Files(tb rapid.TB, folder string) map[string]string {
	tb.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(folder, path)
		if rel == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			files[rel] = "-> " + target
			return err
		}
		content, err := os.ReadFile(path)
		files[rel] = string(content)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// with is a copy of files with some more of them; a content of "-" leaves one out.
func with(files map[string]string, pairs ...string) map[string]string {
	out := maps.Clone(files)
	for i := 0; i < len(pairs); i += 2 {
		if out[pairs[i]] = pairs[i+1]; pairs[i+1] == "-" {
			delete(out, pairs[i])
		}
	}
	return out
}

// wantFiles compares the files of a folder.
func wantFiles(tb rapid.TB, folder string, want map[string]string) {
	tb.Helper()
	if diff := cmp.Diff(want, Files(tb, folder)); diff != "" {
		tb.Errorf("files of %s (-want +got):\n%s", filepath.Base(folder), diff)
	}
}

// wantCommit compares a commit's files.
func wantCommit(tb rapid.TB, f Fixture, commit pawl.CommitHash, want map[string]string) {
	tb.Helper()
	if commit == "" {
		tb.Fatal("there is no commit")
	}
	dir, release, err := f.Checkout(context.Background(), commit)
	if err != nil {
		tb.Fatalf("check out %s: %v", commit, err)
	}
	defer release()
	wantFiles(tb, dir, want)
}

// wantRef compares what a ref points to.
func wantRef(tb rapid.TB, f Fixture, ref string, want pawl.CommitHash) {
	tb.Helper()
	if got := f.Resolve(tb, ref); got != want {
		tb.Errorf("%s is at %q, want %q", ref, got, want)
	}
}

// wantCode checks an error's code and that it says a word.
func wantCode(tb rapid.TB, err error, code pawl.Code, word string) {
	tb.Helper()
	if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Code != code || !strings.Contains(e.Message, word) {
		tb.Errorf("error is %v (%s), want one with the code %s that says %q", err, pawl.CodeOf(err), code, word)
	}
}

// commitSpec is a first commit on the base.
func commitSpec(f Fixture, id string) pawl.CommitSpec {
	return pawl.CommitSpec{
		Name: name, Branch: branch, Parent: f.Base, Base: f.Base,
		Message: "Add the login", ID: id, Time: time.Date(2026, 5, 17, 9, 30, 0, 0, time.UTC),
	}
}
