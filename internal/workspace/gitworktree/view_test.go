package gitworktree_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pawl"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// guarded is a repository with three commits, tags that point into their history, and
// secrets that no run may see.
type guarded struct {
	*repository
	w       *gitworktree.Workspaces
	first   string            // the first commit
	secrets map[string]string // object ids by what they are
}

func newGuarded(t *testing.T, options ...string) *guarded {
	t.Helper()
	return copyGuarded(t, fmt.Sprintf("guarded %q", options), func(g *guarded) { g.prepare(t, options...) })
}

// copyGuarded returns a copy of the template with this key, which prepare makes the first time.
func copyGuarded(t *testing.T, key string, prepare func(g *guarded)) *guarded {
	t.Helper()
	const list = "secrets.json"
	g := &guarded{repository: repositoryIn(t.TempDir())}
	g.copy(t, key, func(r *repository) {
		made := &guarded{repository: r, secrets: map[string]string{}}
		prepare(made)
		secrets, err := json.Marshal(made.secrets)
		if err != nil {
			t.Fatal(err)
		}
		workspacetest.MustWrite(t, r.home, list, string(secrets))
	})
	secrets, err := os.ReadFile(filepath.Join(g.home, list))
	if err == nil {
		err = json.Unmarshal(secrets, &g.secrets)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.first, g.w = string(g.resolve(t, "refs/tags/light")), g.open(t, nil)
	return g
}

func (g *guarded) prepare(t *testing.T, options ...string) {
	t.Helper()
	r := g.repository
	r.begin(t, map[string]string{"README": "A project.\n", "lib/a.txt": "one\n"}, options...)
	g.first = string(r.base(t))
	keep := func(what, name string) {
		g.secrets[what] = r.git(t, "rev-parse", name)
		g.secrets["the tree of "+what] = r.git(t, "rev-parse", name+"^{tree}")
		g.secrets["a file of "+what] = r.git(t, "rev-parse", name+":secret")
	}
	hide := func(what string) { workspacetest.MustWrite(t, r.root, "secret", "the password of "+what+"\n") }
	g.grow(t, "Second", "lib/a.txt", "two\n")
	r.git(t, "tag", "light", g.first)
	r.git(t, "tag", "-a", "-m", "The first release", "v1.0")
	r.git(t, "tag", "-a", "-m", "Signed off", "approved", "v1.0") // of the other tag
	g.grow(t, "Third", "lib/a.txt", "two\nthree\n")

	r.git(t, "switch", "-q", "-c", "private")
	hide("another branch")
	r.git(t, "add", ".")
	r.git(t, "commit", "-q", "-m", "Private")
	keep("another branch", "private")
	r.git(t, "tag", "-a", "-m", "Private", "private-1")
	g.secrets["a tag of another branch"] = r.git(t, "rev-parse", "private-1")
	r.git(t, "tag", "a-file", "private:secret")
	r.git(t, "switch", "-q", "main")

	hide("the stash")
	r.git(t, "stash", "push", "-q", "--include-untracked", "-m", "secret")
	g.secrets["the stash"] = r.git(t, "rev-parse", "stash")
	g.secrets["a file of the stash"] = r.git(t, "rev-parse", "stash^3:secret")

	hide("the reflog")
	r.git(t, "add", ".")
	r.git(t, "commit", "-q", "-m", "Undone")
	keep("the reflog", "HEAD")
	r.git(t, "reset", "-q", "--hard", "HEAD~")

	hide("nothing")
	g.secrets["a dangling file"] = r.git(t, "hash-object", "-w", "secret")
	hide("the index")
	r.git(t, "add", "secret")
	g.secrets["a staged file"] = r.git(t, "rev-parse", ":secret")
}

// grow makes a commit of the user's that changes one file.
func (g *guarded) grow(t *testing.T, message, path, content string) {
	t.Helper()
	workspacetest.MustWrite(t, g.root, path, content)
	g.git(t, "add", path)
	g.git(t, "commit", "-q", "-m", message)
}

func (g *guarded) fixture(t *testing.T) workspacetest.Fixture {
	t.Helper()
	return workspacetest.Fixture{Workspaces: g.w, Base: g.base(t)}
}

func (g *guarded) mustOpen(t *testing.T, name string, base pawl.CommitHash) workspacetest.Opened {
	t.Helper()
	return workspacetest.MustOpen(t, g.w, pawl.WorkspaceSpec{Name: name, Branch: "pawl/" + name, Base: base})
}

// mustGrow changes a file in a worktree and commits that.
func (g *guarded) mustGrow(t *testing.T, name string, parent pawl.CommitHash, id, content string) pawl.CommitHash {
	t.Helper()
	workspacetest.MustWrite(t, workspacetest.MustLocate(t, g.w, name), "lib/a.txt", content)
	return workspacetest.MustCommit(t, g.w, pawl.CommitSpec{
		Name: name, Branch: "pawl/" + name, Parent: parent, Base: parent, Message: "Attempt " + id, ID: id, Time: time.Unix(1_780_000_000, 0),
	}).Commit
}

// try runs git in a folder as an agent would.
func (r *repository) try(dir string, args ...string) (string, error) {
	return r.run(exec.Command("git", args...), dir)
}

// run runs a command in a folder as an agent would.
func (r *repository) run(cmd *exec.Cmd, dir string) (string, error) {
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// wantShown checks that a git that is run in a folder finds the objects that the
// commits and tags reach in the user's repository, and no other, whatever it tries.
func (r *repository) wantShown(t *testing.T, w *gitworktree.Workspaces, dir string, names ...string) {
	t.Helper()
	have := strings.Fields(r.gitIn(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
	want := strings.Fields(r.git(t, append([]string{"rev-list", "--objects", "--no-object-names"}, names...)...))
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(have, want) {
		t.Errorf("git in %s finds %d objects, want the %d of %q", dir, len(have), len(want), names)
		for _, object := range have {
			if !slices.Contains(want, object) {
				t.Errorf("it finds %s:\n%.200s", object, r.git(t, "cat-file", "-p", object))
			}
		}
		for _, object := range want {
			if !slices.Contains(have, object) {
				t.Errorf("it does not find %s:\n%.200s", object, r.git(t, "cat-file", "-p", object))
			}
		}
	}
	if out := r.gitIn(t, dir, "fsck", "--strict", "--no-dangling"); strings.Contains(out, "missing") || strings.Contains(out, "broken") {
		t.Errorf("git fsck in %s says\n%s", dir, out)
	}
	r.wantOwnFolders(t, w, dir)
}

// wantOwnFolders checks that what git needs is below the state folder, and leads
// nowhere else.
func (r *repository) wantOwnFolders(t *testing.T, w *gitworktree.Workspaces, dir string) {
	t.Helper()
	state, err := filepath.EvalSymlinks(r.state)
	if err != nil {
		t.Fatal(err)
	}
	visible := w.Visible(dir)
	if len(visible) == 0 {
		t.Errorf("nothing is visible in %s", dir)
	}
	for _, folder := range visible {
		if !strings.HasPrefix(folder, state+"/git/worktrees/") && !strings.HasPrefix(folder, state+"/objects/") {
			t.Errorf("%s is visible", folder)
		}
	}
	for _, folder := range append(visible, filepath.Join(dir, ".git")) {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Type()&fs.ModeSymlink != 0 {
				t.Errorf("%s is a symbolic link", path)
			}
			if d.Name() != "alternates" {
				return nil
			}
			list, err := os.ReadFile(path)
			for line := range strings.Lines(string(list)) {
				if !slices.Contains(visible, strings.TrimSpace(line)) {
					t.Errorf("%s names %s, which is not visible", path, line)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// wantHidden checks that no secret can be found from a folder.
func (g *guarded) wantHidden(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("git", "cat-file", "--batch-check")
	cmd.Stdin = strings.NewReader(strings.Join(slices.Collect(maps.Values(g.secrets)), "\n") + "\n")
	found, err := g.run(cmd, dir)
	if err != nil || strings.Count(found, " missing\n") != len(g.secrets) {
		t.Errorf("git cat-file in %s finds, of the secrets %v: %v\n%s", dir, g.secrets, err, found)
	}
	for what, id := range g.secrets {
		for _, folder := range append(g.w.Visible(dir), filepath.Join(dir, ".git", "objects")) {
			for _, path := range []string{filepath.Join(folder, id[:2], id[2:]), filepath.Join(folder, "objects", id[:2], id[2:])} {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("%s, %s, is visible", what, path)
				}
			}
		}
	}
	for _, args := range [][]string{
		{"log", "--all", "--reflog", "-p"}, {"stash", "list"}, {"branch", "--all"}, {"reflog", "--all"}, {"fsck", "--lost-found"}, {"for-each-ref"},
		{"rev-list", "--all", "--objects"},
	} {
		out, _ := g.try(dir, args...)
		for _, word := range []string{"password", "private", "Private", "stash", "Undone", "refs/heads"} {
			if strings.Contains(out, word) {
				t.Errorf("git %s in %s shows %q:\n%s", strings.Join(args, " "), dir, word, out)
			}
		}
	}
}

// wantGit checks what the commands say on which agents and gates rely.
func (r *repository) wantGit(t *testing.T, dir string, rows map[string]string) {
	t.Helper()
	for command, want := range rows {
		if got := r.gitIn(t, dir, strings.Fields(command)...); got != want {
			t.Errorf("git %s in %s says\n%s\nwant\n%s", command, dir, got, want)
		}
	}
}

var ownTags = []string{"light", "v1.0", "approved"}

// F-11: commands see the objects that the run's commits reach, and the tags that
// point to these.
func TestSecretsAreHidden(t *testing.T) {
	for n, kind := range []struct {
		name    string
		options []string
		pack    []string // a command of the user's before the run
	}{
		{"loose", nil, []string{"status", "--short"}},
		{"packed", nil, []string{"repack", "-q", "-a", "-d", "-k"}},
		{"SHA-256", []string{"--object-format=sha256"}, []string{"pack-refs", "--all"}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			sample(t, n)
			g := newGuarded(t, kind.options...)
			g.git(t, kind.pack...)
			base := g.base(t)
			dir := g.mustOpen(t, runName, base).Dir
			gate, release, err := g.w.Checkout(context.Background(), base)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			for _, dir := range []string{dir, gate} {
				g.wantHidden(t, dir)
				g.wantShown(t, g.w, dir, append(ownTags, string(base))...)
				g.wantGit(t, dir, map[string]string{
					"log --format=%s":                        "Third\nSecond\nBase",
					"status --short --branch":                "## HEAD (no branch)",
					"describe":                               g.git(t, "describe", "main"),
					"describe --tags HEAD~2":                 "light",
					"tag --list":                             "approved\nlight\nv1.0",
					"blame -s --abbrev=7 -L2,2 -- lib/a.txt": g.git(t, "rev-parse", "--short=8", "main") + " 2) three",
					"diff --stat HEAD~ --":                   " lib/a.txt | 1 +\n 1 file changed, 1 insertion(+)",
				})
			}
			other := g.mustOpen(t, "002-other", base)
			theirs := g.mustGrow(t, "002-other", base, "1", "of another run\n")
			workspacetest.MustWrite(t, dir, "lib/a.txt", "two\nchanged\n")
			g.wantGit(t, dir, map[string]string{"diff --numstat": "1\t1\tlib/a.txt"})
			head := g.mustGrow(t, runName, base, "7", "two\nthree\nfour\n")
			g.wantGit(t, dir, map[string]string{
				"show --format=%s --numstat HEAD": "Attempt 7\n\n1\t0\tlib/a.txt",
				"status --short":                  "",
				"describe":                        g.git(t, "describe", string(head)),
			})
			g.secrets["a commit of another run"] = string(theirs)
			g.wantHidden(t, dir)
			g.wantShown(t, g.w, dir, append(ownTags, string(head))...)
			judged, release, err := g.w.Checkout(context.Background(), head)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			g.wantHidden(t, judged)
			g.wantShown(t, g.w, judged, append(ownTags, string(head))...)
			g.wantGit(t, judged, map[string]string{"status --short": "", "diff HEAD~ --numstat": "1\t0\tlib/a.txt"})
			if slices.ContainsFunc(g.w.Visible(dir), func(folder string) bool { return slices.Contains(g.w.Visible(other.Dir)[:1], folder) }) {
				t.Errorf("%q is visible in one worktree, %q in another", g.w.Visible(dir), g.w.Visible(other.Dir))
			}
			if visible := g.w.Visible(g.root); visible != nil {
				t.Errorf("in the user's folder %q is visible", visible)
			}
		})
	}
}

// F-11: whatever moves a worktree, git in it finds what it shows.
func TestShownCommitsAreWhole(t *testing.T) {
	g := newGuarded(t)
	f := g.fixture(t)
	dir := g.mustOpen(t, runName, f.Base).Dir
	g.git(t, "tag", "-a", "-m", "Made while the run works", "v1.1", string(f.Base))
	g.mustOpen(t, runName, f.Base)
	tags := append([]string{"v1.1"}, ownTags...)
	head, all := f.Base, slices.Clone(tags)
	for n := range 40 { // more than a view keeps packs for
		id := fmt.Sprint(n)
		next := g.mustGrow(t, runName, head, id, "attempt "+id+"\n")
		all = append(all, string(next))
		if n%7 == 3 { // it is given up
			workspacetest.MustReset(t, g.w, runName, head, runSalvage+id)
			continue
		}
		head = next
	}
	packs, _ := filepath.Glob(filepath.Join(g.state, "git", "worktrees", runName, "objects", "pack", "*.pack"))
	if len(packs) == 0 || len(packs) > gitworktree.MaxPacks {
		t.Errorf("there are %d packs", len(packs))
	}
	g.wantGit(t, dir, map[string]string{
		"describe":                    "v1.1-" + g.git(t, "rev-list", "--count", "v1.1.."+string(head)) + "-g" + g.gitIn(t, dir, "rev-parse", "--short", "HEAD"),
		"rev-parse HEAD":              string(head),
		"cat-file tag v1.1":           g.git(t, "cat-file", "tag", "v1.1"),
		"fsck --strict --no-dangling": "",
	})
	g.wantHidden(t, dir)

	ours := workspacetest.MustWork(t, f, "pawl/"+childName(1), head, "new/1", "new\n").Commit
	merged, err := g.w.Merge(context.Background(), merging(ours, head))
	if err != nil {
		t.Fatal(err)
	}
	mustShow(t, f, runName, merged.Commit, runSalvage+"shown")
	g.wantGit(t, dir, map[string]string{"rev-parse HEAD": string(merged.Commit), "status --short": "", "fsck --strict --no-dangling": ""})
	g.mustOpen(t, runName, f.Base)
	g.wantGit(t, dir, map[string]string{"rev-parse HEAD": string(head), "status --short": ""})

	// A view that somebody removed, or of which something is missing, is made anew.
	for _, path := range []string{"", "HEAD", "index", "objects"} {
		workspacetest.MustRemove(t, g.state, filepath.Join("git", "worktrees", runName, path))
		workspacetest.MustWrite(t, dir, "lib/a.txt", "not committed\n")
		g.w = g.open(t, nil)
		g.mustOpen(t, runName, f.Base)
		g.wantGit(t, dir, map[string]string{"status --short": " M lib/a.txt", "diff --numstat": "1\t1\tlib/a.txt", "rev-parse HEAD": string(head)})
	}
	g.wantShown(t, g.w, dir, append(tags, string(head))...)
	if all := g.git(t, append([]string{"rev-list", "--count"}, all...)...); all == "" {
		t.Error("the user's repository lost commits")
	}
}

// F-11: two bases have two stores. That of the later one borrows from the other, and
// a run sees nothing of a base that its own does not follow.
func TestStoresOfTwoBases(t *testing.T) {
	g := newGuarded(t)
	earlier := g.resolve(t, "refs/tags/light")
	private := g.resolve(t, "refs/heads/private")
	first, second, third := g.mustOpen(t, "001-a", earlier), g.mustOpen(t, "002-b", g.base(t)), g.mustOpen(t, "003-c", private)
	g.wantShown(t, g.w, first.Dir, "light")
	g.wantShown(t, g.w, second.Dir, append(ownTags, "main")...)
	g.wantShown(t, g.w, third.Dir, append(ownTags, "private", "private-1")...)
	g.wantHidden(t, second.Dir)
	for n, base := range []pawl.CommitHash{earlier, g.base(t)} {
		list, err := os.ReadFile(filepath.Join(g.state, "objects", string(base), "info", "alternates"))
		want := []string{"", filepath.Join(g.state, "objects", string(earlier)) + "\n"}[n]
		if err != nil || string(list) != want {
			t.Errorf("the store of %s borrows from %q, %v; want %q", base, list, err, want)
		}
	}
	if slices.Contains(g.w.Visible(second.Dir), filepath.Join(g.state, "objects", string(private))) {
		t.Error("the store of another branch is visible")
	}
}

// F-11: a store is built once, whoever asks for it, and stays for the next process.
func TestStoreIsBuiltOnce(t *testing.T) {
	g := newGuarded(t)
	base := g.base(t)
	command := mustFind(t)
	w := g.open(t, command)
	var packs atomic.Int32
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		if cmd.Args[1] == "pack-objects" {
			packs.Add(1)
		}
		return run(cmd)
	}
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			name := fmt.Sprintf("00%d-x", n)
			if _, err := w.Open(context.Background(), pawl.WorkspaceSpec{Name: name, Branch: "pawl/" + name, Base: base}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	g.w = g.open(t, command)
	g.mustOpen(t, "009-x", base)
	if packs.Load() != 1 {
		t.Errorf("%d packs were made, want 1", packs.Load())
	}
	if left, _ := os.ReadDir(filepath.Join(g.state, "tmp")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// F-11: a history that exceeds a limit is cut, and the user is told.
func TestLargeHistoryIsCut(t *testing.T) {
	random := func(n int) string { // what cannot be compressed
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, "%x\n", sha256.Sum256(fmt.Appendf(nil, "%d %d", n, i)))
		}
		return b.String()
	}
	for _, row := range []struct {
		name    string
		limit   func(*gitworktree.Workspaces)
		note    string
		commits int
	}{
		{"within the limits", func(*gitworktree.Workspaces) {}, "", 8},
		{"in bytes", func(w *gitworktree.Workspaces) { w.SetStoreLimits(50_000, time.Hour, 3) }, "Commands see only the latest 3 commits of the history before the run: copying all history would take more than 0 MB or 1h0m0s.", 3},
		{"in bytes, even few commits", func(w *gitworktree.Workspaces) { w.SetStoreLimits(100, time.Hour, 3) }, "Commands see only the latest 1 commit of", 1},
		{"in time", func(w *gitworktree.Workspaces) { w.SetStoreLimits(1<<30, 1, 3) }, "Commands see only the latest 1 commit of", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := copyGuarded(t, "large history", func(g *guarded) {
				g.prepare(t)
				g.git(t, "reset", "-q", "--hard", g.first)
				g.git(t, "switch", "-q", "-c", "old")
				g.grow(t, "Old", "old", "old\n")
				g.git(t, "switch", "-q", "main")
				for n := 2; n <= 8; n++ {
					g.grow(t, fmt.Sprint(n), "big", random(n))
				}
				g.git(t, "tag", "-a", "-m", "Near", "near", "HEAD")
				g.git(t, "tag", "-f", "-a", "-m", "Far", "far", g.first)
			})
			row.limit(g.w)
			base := g.base(t)
			state := g.mustOpen(t, runName, base)
			dir := state.Dir
			if state.Note != row.note && (row.commits > 1 || !strings.HasPrefix(state.Note, row.note)) {
				t.Errorf("the note is %q, want %q", state.Note, row.note)
			}
			if said := strings.Contains(g.log.String(), "will not see all history"); said != (row.note != "") {
				t.Errorf("the log is\n%s", g.log)
			}
			last := func(n int) string {
				lines := strings.Split(g.git(t, "log", "--format=%s", string(base)), "\n")
				return strings.Join(lines[:n], "\n")
			}
			g.wantGit(t, dir, map[string]string{
				"log --format=%s":                     last(row.commits),
				"status --short":                      "",
				"show --format=%s --no-patch HEAD":    "8",
				"describe":                            "near",
				"blame -s --abbrev=7 -L1,1 -- README": "^" + g.git(t, "rev-parse", "--short=7", fmt.Sprintf("%s~%d", base, row.commits-1)) + " 1) A project.",
			})
			workspacetest.MustWrite(t, dir, "big", "small\n")
			g.wantGit(t, dir, map[string]string{"diff --numstat": "1\t300\tbig"})
			head := g.mustGrow(t, runName, base, "1", "attempt\n")
			g.wantGit(t, dir, map[string]string{
				"log --format=%s":             "Attempt 1\n" + last(row.commits),
				"diff --name-only HEAD~ HEAD": "big\nlib/a.txt",
				"fsck --strict --no-dangling": "",
			})
			gate, release, err := g.w.Checkout(context.Background(), head)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			g.wantGit(t, gate, map[string]string{"log --format=%s": "Attempt 1\n" + last(row.commits), "status --short": "", "fsck --strict --no-dangling": ""})
			g.wantHidden(t, dir)
			g.wantOwnFolders(t, g.w, dir)

			// The user merges what branched off below the cut.
			g.git(t, "switch", "-q", "--detach", string(head))
			g.git(t, "merge", "-q", "-m", "Merge", "old")
			merged := pawl.CommitHash(g.git(t, "rev-parse", "HEAD"))
			g.git(t, "switch", "-q", "main")
			workspacetest.MustReset(t, g.w, runName, merged, runSalvage)
			g.wantGit(t, dir, map[string]string{"log -1 --format=%s": "Merge", "status --short": "", "fsck --strict --no-dangling": ""})
			if log := g.gitIn(t, dir, "log", "--format=%s"); !strings.Contains(log, "Old") || !strings.Contains(log, "Attempt 1") {
				t.Errorf("git log says\n%s", log)
			}
			// The next process tells it again.
			g.w = g.open(t, nil)
			if again := g.mustOpen(t, runName, base); again.Note != state.Note {
				t.Errorf("later the note is %q", again.Note)
			}
			if next := g.mustOpen(t, "002-next", base); next.Note != state.Note {
				t.Errorf("the note of the next run is %q", next.Note)
			}
			// The next base has all history again when the limits allow it.
			g.w.SetStoreLimits(1<<30, time.Hour, 3)
			g.grow(t, "9", "big", "small\n")
			if dir := g.mustOpen(t, "003-later", g.base(t)).Dir; g.gitIn(t, dir, "log", "--format=%s") != g.git(t, "log", "--format=%s", "main") {
				t.Errorf("later git log says\n%s", g.gitIn(t, dir, "log", "--format=%s"))
			}
			if left, _ := os.ReadDir(filepath.Join(g.state, "tmp")); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
		})
	}
}

// F-11: stores that are not needed go, the others stay.
func TestStoresArePruned(t *testing.T) {
	g := newGuarded(t)
	g.w.SetKeptStores(2)
	var commits []pawl.CommitHash
	for n := range 8 {
		g.grow(t, fmt.Sprint(n), "lib/b.txt", fmt.Sprint(n))
		commits = append(commits, g.base(t))
	}
	private := g.resolve(t, "refs/heads/private")
	want := func(when string, others []pawl.CommitHash, kept ...int) {
		t.Helper()
		want := slices.Clone(others)
		for _, n := range kept {
			want = append(want, commits[n])
		}
		slices.Sort(want)
		var have []pawl.CommitHash
		entries, _ := os.ReadDir(filepath.Join(g.state, "objects"))
		for _, e := range entries {
			have = append(have, pawl.CommitHash(e.Name()))
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s, there are the stores %q, want %q, of %q", when, have, want, commits)
		}
	}
	use := func(n int) {
		t.Helper()
		name := fmt.Sprintf("00%d-x", n)
		g.mustOpen(t, name, commits[n])
		workspacetest.MustClose(t, g.w, name, runSalvage)
	}
	use(1)
	g.mustOpen(t, "100-open", commits[0])
	dir, release, err := g.w.Checkout(context.Background(), private)
	if err != nil {
		t.Fatal(err)
	}
	for n := 2; n < 8; n++ {
		use(n)
	}
	// 0 is open and the other branch's held, as 7 was when 6 and 5 were those that were
	// used last; all three borrow from 3, 2 and 1.
	want("in the end", []pawl.CommitHash{private}, 0, 1, 2, 3, 5, 6, 7)
	g.wantShown(t, g.w, dir, append(ownTags, "private", "private-1")...)
	release()
	workspacetest.MustWrite(t, g.state, "objects/half/pack/x", "x")
	workspacetest.MustWrite(t, g.state, "tmp/objects-1/pack/tmp_pack_x", "x")
	g.w = g.open(t, nil)
	g.w.SetKeptStores(2)
	if err := g.w.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	want("after recovering", nil, 0, 1, 2, 3, 6, 7)
	if left, _ := os.ReadDir(filepath.Join(g.state, "tmp")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	for n := range commits { // what is left is whole, and what is gone is built again
		name := fmt.Sprintf("20%d-x", n)
		g.wantShown(t, g.w, g.mustOpen(t, name, commits[n]).Dir, append(ownTags, string(commits[n]))...)
	}
}

// F-11: the git folder that earlier versions let all worktrees share borrowed all of
// the user's objects.
func TestStateOfEarlierVersionsIsTakenOver(t *testing.T) {
	g := newGuarded(t)
	base := g.base(t)
	dir := g.mustOpen(t, runName, base).Dir
	head := g.mustGrow(t, runName, base, "1", "attempt\n")
	workspacetest.MustWrite(t, dir, "lib/a.txt", "not committed\n")
	// What follows is what they made.
	shared, entry := filepath.Join(g.state, "git"), filepath.Join(g.state, "git", "worktrees", runName)
	index, err := os.ReadFile(filepath.Join(entry, "index"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"git", "objects", "engine/worktrees/" + runName + "/view.json"} {
		workspacetest.MustRemove(t, g.state, path)
	}
	g.git(t, "init", "-q", "--bare", "--template=", shared)
	workspacetest.MustWrite(t, shared, "objects/info/alternates", filepath.Join(g.root, ".git", "objects")+"\n")
	for name, content := range map[string]string{
		"HEAD": string(head) + "\n", "index": string(index), "commondir": "../..\n", "gitdir": filepath.Join(dir, ".git") + "\n",
	} {
		workspacetest.MustWrite(t, entry, name, content)
	}
	if out, err := g.try(dir, "cat-file", "-p", g.secrets["a dangling file"]); err != nil {
		t.Fatalf("git does not find what it found then: %s", out)
	}
	g.w = g.open(t, nil)
	check := func() {
		t.Helper()
		g.wantHidden(t, dir)
		g.wantShown(t, g.w, dir, append(ownTags, string(head))...)
		g.wantGit(t, dir, map[string]string{"status --short": " M lib/a.txt", "log -1 --format=%s": "Attempt 1", "describe": g.git(t, "describe", string(head))})
		if left, _ := os.ReadDir(shared); len(left) != 1 {
			t.Errorf("%s holds %v", shared, left)
		}
	}
	check()
	g.mustOpen(t, runName, base)
	check()
}

// F-11: a process that dies while it copies objects leaves no store and no view that
// is taken for whole.
func TestDeathWhileCopyingObjects(t *testing.T) {
	g := newGuarded(t)
	base := g.base(t)
	g.mustOpen(t, "000-earlier", g.resolve(t, "refs/tags/light")) // its store is one to borrow from
	s := &stage{r: g.repository}
	var left []string // copies of everything at such moments
	command := mustFind(t)
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		if cmd.Args[1] != "pack-objects" {
			return run(cmd)
		}
		keep := func() {
			left = append(left, filepath.Join(t.TempDir(), "left"))
			s.copy(t, g.top(), left[len(left)-1])
		}
		keep()
		err := run(cmd)
		keep()
		return err
	}
	attempt := func(w pawl.Workspaces) pawl.CommitHash {
		t.Helper()
		g.w = w.(*gitworktree.Workspaces)
		g.mustOpen(t, runName, base)
		return g.mustGrow(t, runName, base, "1", "attempt\n")
	}
	head := attempt(g.open(t, command))
	if len(left) != 2 {
		t.Fatalf("objects were copied %d/2 times, want once", len(left))
	}
	for n, saved := range left {
		s.saved = saved
		s.set(t)
		dir := workspacetest.MustLocate(t, g.w, runName)
		if _, err := os.Stat(filepath.Join(g.state, "git", "worktrees", runName, "HEAD")); err == nil {
			g.wantGit(t, dir, map[string]string{"log -1 --format=%s": "Third"}) // it shows the base still
		}
		w := g.open(t, nil)
		if err := w.Recover(context.Background()); err != nil {
			t.Fatal(err)
		}
		if again := attempt(w); again != head {
			t.Errorf("after copy %d the commit is %s, want %s", n, again, head)
		}
		g.wantShown(t, w, dir, append(ownTags, string(head))...)
		if left, _ := os.ReadDir(filepath.Join(g.state, "tmp")); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
	}
}
