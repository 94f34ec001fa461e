package gitworktree_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// mustPrepare leaves what a prepare room would have, and returns it for a worktree.
func (r *repository) mustPrepare(tb testing.TB, key string, files map[string]string, paths ...string) pawl.Furniture {
	tb.Helper()
	key = strings.Repeat(key, 32)
	dir := filepath.Join(r.state, "layers", "runs", "001", key)
	content, err := json.Marshal(map[string]any{"paths": paths})
	if err != nil {
		tb.Fatal(err)
	}
	workspacetest.MustWrite(tb, dir, "manifest.json", string(content))
	for path, content := range files {
		workspacetest.MustWrite(tb, dir, "work/files/"+path, content)
	}
	return pawl.Furniture{PreparedFor: pawl.PreparedFor{Run: "001", Key: key}, Paths: paths}
}

// What was prepared is in the worktree, but never in what is recorded of it. Something else
// takes its place, whatever an agent did with it, and nothing of the commit is lost.
func TestFurnish(t *testing.T) {
	base := map[string]string{".gitignore": "web/node_modules/\n", "README": "A project.\n", "web/package.json": "{}\n"}
	r := newRepository(t, base)
	if !r.joined {
		r.rooms = room.New(room.Options{State: r.state, Enforcer: sandbox.Unconfined()})
	}
	f := r.fixture(t)
	one := r.mustPrepare(t, "1", map[string]string{"web/node_modules/left/a.js": "one\n", ".venv/bin/x": "x\n", "odd *[name]/y": "y\n", "end /z": "z\n"},
		".venv", "end ", "odd *[name]", "web/node_modules")
	two := r.mustPrepare(t, "2", map[string]string{"web/node_modules/right/b.js": "two\n"}, "web/node_modules")
	opened := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: "001", Branch: "pawl/001", Base: f.Base})
	furnish := func(to pawl.Furniture) string {
		t.Helper()
		if err := f.Furnish(t.Context(), "001", to); err != nil {
			t.Fatal(err)
		}
		return workspacetest.MustLocate(t, f, "001")
	}
	want := func(dir string, more map[string]string) {
		t.Helper()
		all := maps.Clone(base)
		maps.Copy(all, more)
		if diff := cmp.Diff(all, workspacetest.Files(t, dir)); diff != "" {
			t.Errorf("the worktree differs (-want +got):\n%s", diff)
		}
		if tree := workspacetest.MustTree(t, f, "001"); tree != opened.Tree {
			t.Errorf("it is recorded as %s, and was %s", tree, opened.Tree)
		}
		at, err := f.Locate(t.Context(), "001")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := r.try(at.Dir, "status", "--porcelain"); r.joined == false && (out != "" || err != nil) {
			t.Errorf("a command's git sees %q, %v", out, err)
		}
	}
	first := map[string]string{"web/node_modules/left/a.js": "one\n", ".venv/bin/x": "x\n", "odd *[name]/y": "y\n", "end /z": "z\n"}
	dir := furnish(one)
	want(dir, first)
	if at, err := f.Locate(t.Context(), "001"); err != nil || at.Furniture.Key != one.Key || !slices.Equal(at.Furniture.Paths, one.Paths) {
		t.Errorf("it is said to have %+v, %v", at.Furniture, err)
	}

	// What is only called like it is recorded.
	for _, name := range []string{"odd x[name]/y", "odd *n/y", "web/.venv/y"} {
		workspacetest.MustWrite(t, dir, name, "mine\n")
		if tree := workspacetest.MustTree(t, f, "001"); tree == opened.Tree {
			t.Errorf("%s is not recorded", name)
		}
		workspacetest.MustRemove(t, dir, filepath.Dir(name))
	}
	want(dir, first)

	// It is still there in the next process, and after a reset.
	r.died(t)
	f.Workspaces = f.Restart(t)
	opened = workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: "001", Branch: "pawl/001", Base: f.Base})
	dir = workspacetest.MustLocate(t, f, "001")
	want(dir, first)
	workspacetest.MustWrite(t, dir, "README", "Changed.\n")
	workspacetest.MustReset(t, f, "001", f.Base, "refs/pawl/salvage/001/1")
	want(dir, first)
	if got := f.Workspaces.(*gitworktree.Workspaces).Furnished(); len(got) != 1 || got[0] != one.Key {
		t.Errorf("furnished are %v", got)
	}

	// An agent meddles with it; something else takes its place, also the same once more.
	workspacetest.MustRemove(t, dir, "web/node_modules/left")
	workspacetest.MustWrite(t, dir, "web/node_modules/mine", "mine\n")
	workspacetest.MustWrite(t, dir, ".venv/bin/x", "mine\n")
	if !r.joined { // then only what is gone is noticed
		workspacetest.MustRemove(t, dir, ".venv")
	}
	dir = furnish(one)
	want(dir, first)
	workspacetest.MustRemove(t, dir, "web/node_modules")
	dir = furnish(two)
	want(dir, map[string]string{"web/node_modules/right/b.js": "two\n"})

	// Nothing takes its place.
	workspacetest.MustWrite(t, dir, "web/node_modules/right/b.js", "mine\n")
	dir = furnish(pawl.Furniture{})
	want(dir, nil)
	workspacetest.MustClose(t, f, "001", "refs/pawl/salvage/001/2")
	if got := f.Workspaces.(*gitworktree.Workspaces).Furnished(); len(got) != 0 {
		t.Errorf("furnished are %v when it is closed", got)
	}
}

// What was put into a worktree is gone when it is opened again, or before it can be put there:
// the worktree says that it has nothing, and gets it once it is prepared again.
func TestFurnishWhatIsGone(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	if !r.joined {
		r.rooms = room.New(room.Options{State: r.state, Enforcer: sandbox.Unconfined()})
	}
	f := r.fixture(t)
	prepare := func() pawl.Furniture {
		return r.mustPrepare(t, "1", map[string]string{"node_modules/a.js": "one\n"}, "node_modules")
	}
	remove := func() {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(r.state, "layers")); err != nil {
			t.Fatal(err)
		}
	}
	has := func(key string) {
		t.Helper()
		at, err := f.Locate(t.Context(), "001")
		if err != nil || at.Furniture.Key != key {
			t.Errorf("it is said to have %+v, %v", at.Furniture, err)
		}
		if content, err := os.ReadFile(filepath.Join(at.Reach, "node_modules", "a.js")); string(content) != "one\n" && key != "" {
			t.Errorf("it has %q, %v", content, err)
		}
	}
	spec := pawl.WorkspaceSpec{Name: "001", Branch: "pawl/001", Base: f.Base}
	workspacetest.MustOpen(t, f, spec)
	one := prepare()
	remove()
	for range 2 {
		if err := f.Furnish(t.Context(), "001", one); pawl.CodeOf(err) != pawl.CodeNotFound {
			t.Errorf("furnishing it with what is gone: %v", err)
		}
		has("")
	}
	prepare()
	if err := f.Furnish(t.Context(), "001", one); err != nil {
		t.Fatal(err)
	}
	has(one.Key)
	r.died(t)
	remove()
	f.Workspaces = f.Restart(t)
	workspacetest.MustOpen(t, f, spec)
	if !r.joined { // it has a copy
		has(one.Key)
		return
	}
	has("")
	prepare()
	if err := f.Furnish(t.Context(), "001", one); err != nil {
		t.Fatal(err)
	}
	has(one.Key)
}

// The files of a commit are listed with their object ids.
func TestObjects(t *testing.T) {
	r := newRepository(t, map[string]string{"package.json": "{}\n", "web/package.json": "{}\n", "README": "x\n"})
	f := r.fixture(t)
	got, err := f.Objects(t.Context(), f.Base, func(path string) bool { return filepath.Base(path) == "package.json" })
	if err != nil {
		t.Fatal(err)
	}
	id := r.git(t, "rev-parse", "HEAD:package.json")
	if diff := cmp.Diff(map[string]string{"package.json": id, "web/package.json": id}, got); diff != "" {
		t.Errorf("the files differ (-want +got):\n%s", diff)
	}
	if _, err := f.Objects(t.Context(), pawl.CommitHash(strings.Repeat("1", 40)), func(string) bool { return true }); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("of a commit that there is not: %v", err)
	}
}
