package gitworktree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pawl"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// limited is a worktree of a repository whose recordings are limited.
type limited struct {
	*repository
	workspacetest.Fixture
	dir string
}

const (
	testMaxFile     = 1000
	testMaxNewFiles = 20
	testMaxNewBytes = 3000
)

func newLimited(t *testing.T, files map[string]string) limited {
	t.Helper()
	r := newRepository(t, files)
	w := r.open(t, nil)
	r.limits = pawl.RecordingLimits{MaxFile: testMaxFile, MaxNewFiles: testMaxNewFiles, MaxNewBytes: testMaxNewBytes}
	f := r.fixture(t)
	f.Workspaces = w
	return limited{r, f, workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir}
}

func (l limited) write(t *testing.T, name, content string) {
	t.Helper()
	workspacetest.MustWrite(t, l.dir, name, content)
}

// truncate makes a file of this length with nothing in it.
func (l limited) truncate(t *testing.T, name string, size int64) {
	t.Helper()
	l.write(t, name, "")
	if err := os.Truncate(filepath.Join(l.dir, name), size); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
}

func (l limited) record(t *testing.T) pawl.Recording {
	t.Helper()
	got, err := l.Tree(context.Background(), runName)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wants checks which files a tree or commit has besides those of the base.
func (l limited) wants(t *testing.T, tree string, want ...string) {
	t.Helper()
	got := strings.Split(strings.Trim(l.git(t, "diff", "--name-only", "-z", string(l.Base), tree, "--"), "\x00"), "\x00")
	if got[0] == "" {
		got = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the recorded files differ (-want +got):\n%s", diff)
	}
}

// reasons are what was left out, one line a path.
func reasons(left []pawl.LeftOut) []string {
	var out []string
	for _, l := range left {
		for _, p := range l.Paths {
			out = append(out, fmt.Sprintf("%s: %q %s", l.Limit, p.Path, p.Why))
		}
		out = append(out, fmt.Sprintf("%d files by %s %d", l.Files, l.Limit, l.Max))
	}
	return out
}

const refused = "has a name that git refuses, as other systems take it for .git"

// What git cannot hold, or must not, is left out of what is recorded and named; all else
// is recorded. It becomes no object. F-03, F-10
func TestLeftOut(t *testing.T) {
	const much = " of 3.6 kB in new and changed files, more than the 3 kB allowed"
	const encoded = "is not encoded as working-tree-encoding in .gitattributes says"
	for name, test := range map[string]struct {
		base map[string]string
		do   func(t *testing.T, l limited)
		want []string // what is left out
		have []string // what is recorded
	}{
		"names": {
			do: func(t *testing.T, l limited) {
				for _, name := range []string{"git~1", "GIT~1/a", "GIT~1/b", "deep/.git ", "deep/.g\u200cit", ".git::$DATA", `a\.git`, "odd\nname", "git~2", "\xff"} {
					l.write(t, name, "x")
				}
			},
			want: []string{
				`git_name: ".git::$DATA" ` + refused, `git_name: "GIT~1" ` + refused, `git_name: "a\\.git" ` + refused,
				`git_name: "deep/.git " ` + refused, `git_name: "deep/.g\u200cit" ` + refused, `git_name: "git~1" ` + refused,
				"7 files by git_name 0",
			},
			have: []string{"git~2", "odd\nname", "\xff"},
		},
		"a link that git refuses": {
			do: func(t *testing.T, l limited) {
				if err := os.Symlink("README", filepath.Join(l.dir, ".gitmodules")); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{`git_name: ".gitmodules" ` + refused, "1 files by git_name 0"},
		},
		"large files": {
			do: func(t *testing.T, l limited) {
				l.truncate(t, "big", 200<<30)
				l.truncate(t, "README", testMaxFile+1)
				l.truncate(t, "most", testMaxFile)
				l.truncate(t, "build/ignored", 1<<40)
			},
			want: []string{`file: "README" has 1 kB, more than the 1 kB a file may have`, `file: "big" has 214.7 GB, more than the 1 kB a file may have`, "2 files by file 1000"},
			have: []string{"most"},
		},
		"a file that was as large before": {
			base: map[string]string{"large": strings.Repeat("large\n", 1000)},
			do: func(t *testing.T, l limited) {
				l.write(t, "large", strings.Repeat("LARGE\n", 900))
				l.limits.MaxNewBytes = 1 << 20
			},
			have: []string{"large"},
		},
		"too many files": {
			do: func(t *testing.T, l limited) {
				for i := range testMaxNewFiles + 3 {
					l.write(t, fmt.Sprintf("many/%02d", i), "x")
					l.write(t, fmt.Sprintf("build/%02d", i), "x")
				}
				l.write(t, "few/file", "x")
				l.write(t, "README", "changed")
			},
			want: []string{`new_files: "few" has 1 new file`, `new_files: "many" has 23 new files`, "24 files by new_files 20"},
			have: []string{"README"},
		},
		"too many files bit by bit": {
			do: func(t *testing.T, l limited) {
				for i := range testMaxNewFiles {
					l.write(t, fmt.Sprintf("many/%02d", i), "x")
				}
				if left := l.record(t).LeftOut; len(left) > 0 {
					t.Errorf("as many files as may be: %v are left out", reasons(left))
				}
				for i := range testMaxNewFiles {
					if err := os.Remove(filepath.Join(l.dir, fmt.Sprintf("many/%02d", i))); err != nil {
						t.Fatal(err)
					}
				}
				l.record(t)
				for i := range testMaxNewFiles - 1 {
					l.write(t, fmt.Sprintf("more/%02d", i), "x")
				}
				l.record(t)
				l.write(t, "one", "x")
				l.record(t)
				l.write(t, "two", "x")
			},
			want: []string{`new_files: "." has 1 new file`, "1 files by new_files 20"},
			have: append([]string{}, func() (all []string) {
				for i := range testMaxNewFiles - 1 {
					all = append(all, fmt.Sprintf("more/%02d", i))
				}
				return append(all, "one")
			}()...),
		},
		"too much": {
			do: func(t *testing.T, l limited) {
				for _, name := range []string{"a", "b", "c", "README"} {
					l.truncate(t, name, 900)
				}
			},
			want: []string{
				`new_bytes: "README" has 900 bytes` + much, `new_bytes: "a" has 900 bytes` + much, `new_bytes: "b" has 900 bytes` + much, `new_bytes: "c" has 900 bytes` + much,
				"4 files by new_bytes 3000",
			},
		},
		"encodings": {
			do: func(t *testing.T, l limited) {
				l.write(t, ".gitattributes", "*.wide working-tree-encoding=UTF-16\n*.odd working-tree-encoding=NONE\n*.le working-tree-encoding=UTF-16LE\n")
				l.write(t, "a.wide", "no mark")
				l.write(t, "b.odd", "x")
				l.write(t, "c.le", "\xff\xfeo\x00")
				l.write(t, "good.wide", "\xff\xfeo\x00")
				l.write(t, "plain", "x")
			},
			want: []string{`git_content: "a.wide" ` + encoded, `git_content: "b.odd" ` + encoded, `git_content: "c.le" ` + encoded, "3 files by git_content 0"},
			have: []string{".gitattributes", "good.wide", "plain"},
		},
		"an encoding without a name": {
			do: func(t *testing.T, l limited) {
				l.write(t, ".gitattributes", "* working-tree-encoding\n")
				l.write(t, "plain", "x")
			},
			want: []string{`git_content: ".gitattributes" has working-tree-encoding without the name of an encoding: no file can be recorded`, "1 files by git_content 0"},
		},
		"more than can be named": {
			do: func(t *testing.T, l limited) {
				l.limits = pawl.RecordingLimits{MaxFile: 10, MaxNewFiles: 1 << 20, MaxNewBytes: 1 << 20}
				for i := range 1001 {
					l.write(t, fmt.Sprintf("large/%04d", i), "more than ten bytes")
				}
				l.write(t, "plain", "x")
			},
			want: append(slices.Collect(func(yield func(string) bool) {
				for i := range pawl.MaxLeftPaths {
					if !yield(fmt.Sprintf(`file: "large/%04d" has 19 bytes, more than the 10 bytes a file may have`, i)) {
						return
					}
				}
			}), "1001 files by file 10"),
		},
		"a pipe in a file's place": {
			do: func(t *testing.T, l limited) {
				workspacetest.MustRemove(t, l.dir, "README")
				if out, err := exec.Command("mkfifo", filepath.Join(l.dir, "README"), filepath.Join(l.dir, "new")).CombinedOutput(); err != nil {
					t.Skipf("mkfifo: %v %s", err, out)
				}
				l.write(t, "plain", "x")
			},
			want: []string{`git_content: "README" is neither a file nor a symbolic link`, "1 files by git_content 0"},
			have: []string{"plain"},
		},
		"behind a link": {
			do: func(t *testing.T, l limited) {
				elsewhere := t.TempDir()
				workspacetest.MustWrite(t, elsewhere, "a.txt", strings.Repeat("outside\n", 1000))
				workspacetest.MustRemove(t, l.dir, "lib")
				if err := os.Symlink(elsewhere, filepath.Join(l.dir, "lib")); err != nil {
					t.Fatal(err)
				}
			},
			have: []string{"lib", "lib/a.txt"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{".gitignore": "build/\n", "README": "A project.\n", "lib/a.txt": "one\n"}
			maps.Copy(files, test.base)
			l := newLimited(t, files)
			test.do(t, l)
			got := l.record(t)
			if diff := cmp.Diff(test.want, reasons(got.LeftOut)); diff != "" {
				t.Errorf("what is left out differs (-want +got):\n%s", diff)
			}
			l.wants(t, string(got.Tree), test.have...)
			if again := l.record(t); !cmp.Equal(got, again) {
				t.Errorf("recorded again: %+v, then %+v", got, again)
			}
			if !testing.Short() || slices.Contains([]string{"names", "large files", "too much", "behind a link"}, name) {
				l.wantsKept(t, len(test.want) > 0)
			}
		})
	}
}

// wantsKept commits, goes back to the base and checks that nothing is lost by it: what no
// commit has is in the quarantine.
func (l limited) wantsKept(t *testing.T, left bool) {
	t.Helper()
	before := contents(t, l.dir)
	answer, err := commitRun("7")(context.Background(), l, l.Fixture)
	if err != nil {
		t.Fatal(err)
	}
	info := answer.(pawl.CommitInfo)
	if left != (len(info.LeftOut) > 0) {
		t.Errorf("the commit leaves out %v", reasons(info.LeftOut))
	}
	if again, err := commitRun("7")(context.Background(), l, l.Fixture); err != nil || again.(pawl.CommitInfo).Commit != info.Commit {
		t.Errorf("a second call gives %+v, %v, want %+v", again, err, answer)
	}
	left = len(l.record(t).LeftOut) > 0 // less may be new since the commit
	state := workspacetest.MustReset(t, l, runName, l.Base, runSalvage)
	if got := workspacetest.MustTree(t, l, runName); got != state.Tree || string(got) != l.git(t, "rev-parse", string(l.Base)+"^{tree}") {
		t.Errorf("after the reset the tree is %s", got)
	}
	kept := contents(t, l.quarantine())
	if left != (len(kept) > 0) {
		t.Errorf("the quarantine has %d files", len(kept))
	}
	for _, commit := range []pawl.CommitHash{info.Commit, l.resolve(t, runSalvage)} {
		checkout, release, err := l.Checkout(context.Background(), commit)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(kept, contents(t, checkout))
		release()
	}
	maps.Copy(kept, contents(t, l.dir)) // what .gitignore names
	for content, name := range before {
		if _, ok := kept[content]; !ok {
			t.Errorf("%q is lost", name)
		}
	}
}

// contents are the files below a folder by their names' ends and contents; large and
// special ones by size and kind.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (d.Name() == ".git" || d.IsDir()) {
			if d != nil && d.Name() == ".git" && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprint(d.Name(), info.Mode().Type(), info.Size())
		if info.Mode().IsRegular() && info.Size() < 1<<20 {
			data, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			text += string(data)
		}
		all[text] = at
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What is left out of a salvage is kept when the worktree is closed, too.
func TestCloseKeepsWhatIsLeftOut(t *testing.T) {
	l := newLimited(t, map[string]string{"README": "A project.\n"})
	l.truncate(t, "deep/big", 200<<30)
	saved, err := l.Close(context.Background(), runName, runSalvage)
	if err != nil || saved != "" {
		t.Fatalf("saved %q, %v", saved, err)
	}
	found, err := filepath.Glob(filepath.Join(l.state, "quarantine", "*", "deep", "big"))
	if err != nil || len(found) != 1 {
		t.Errorf("the quarantine has %q, %v", found, err)
	}
}

// A hundred thousand files and a file of 200 GB are seen before anything is read.
func TestLookingIsBounded(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	w := r.open(t, nil)
	r.limits.MaxNewFiles = n / 2
	l := limited{r, r.fixture(t), ""}
	l.Workspaces = w
	l.dir = workspacetest.MustOpen(t, l, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: l.Base}).Dir
	if err := os.Mkdir(filepath.Join(l.dir, "many"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(l.dir, "many", fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l.truncate(t, "README", 200<<30)
	objects := func() int {
		return len(strings.Fields(l.git(t, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")))
	}
	before := objects()
	got := l.record(t)
	want := []string{
		`file: "README" has 214.7 GB, more than the 50 MB a file may have`, "1 files by file 50000000",
		fmt.Sprintf(`new_files: "many" has %d,000 new files`, n/1000), fmt.Sprintf("%d files by new_files %d", n, n/2),
	}
	if diff := cmp.Diff(want, reasons(got.LeftOut)); diff != "" {
		t.Errorf("what is left out differs (-want +got):\n%s", diff)
	}
	if after := objects(); after != before {
		t.Errorf("%d objects became %d", before, after)
	}
}

// Temporary objects of a git that was killed are removed at the next start, those of a
// git that lives are not. F-03
func TestTemporaryObjectsOfTheDead(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("nothing tells who has a file open")
	}
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	store := filepath.Join(r.root, ".git", "objects")
	dead := []string{"tmp_objdir-bulk-fsync-abc123/12/tmp_obj_x", "12/tmp_obj_abc123", "pack/tmp_pack_abc123", "pack/tmp_idx_abc123"}
	open := []string{"tmp_objdir-bulk-fsync-open12/12/tmp_obj_x", "pack/tmp_pack_open12"}
	young := []string{"tmp_objdir-bulk-fsync-young1/12/tmp_obj_x", "34/tmp_obj_young1"}
	others := []string{"tmp_objdir-incoming-abc123/12/x", "pack/other"}
	for _, name := range slices.Concat(dead, open, young, others) {
		workspacetest.MustWrite(t, store, name, "half")
	}
	for _, name := range open {
		f, err := os.Open(filepath.Join(store, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	past := time.Now().Add(-time.Hour)
	for _, name := range slices.Concat(dead, open, others) {
		for at := name; at != "." && at != "12" && at != "pack"; at = filepath.Dir(at) {
			if err := os.Chtimes(filepath.Join(store, at), past, past); err != nil {
				t.Fatal(err)
			}
		}
	}
	w := r.open(t, nil)
	for _, name := range young {
		workspacetest.MustWrite(t, store, name, "half and half")
	}
	if err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range dead {
		top, _, _ := strings.Cut(name, "/12/")
		if _, err := os.Lstat(filepath.Join(store, top)); err == nil {
			t.Errorf("%s is still there", top)
		}
	}
	for _, name := range slices.Concat(open, young, others) {
		if _, err := os.Lstat(filepath.Join(store, name)); err != nil {
			t.Errorf("%s was removed", name)
		}
	}
}

// recordAsChild is what a process does that is killed while it records a worktree.
func recordAsChild() error {
	ctx := context.Background()
	found, err := gitworktree.Inspect(ctx, nil, os.Getenv("PAWL_TEST_ROOT"))
	if err != nil {
		return err
	}
	w, err := gitworktree.New(ctx, gitworktree.Options{Repository: found, State: os.Getenv("PAWL_TEST_STATE"), ByGit: os.Getenv("PAWL_TEST_BY_GIT") != ""})
	if err == nil {
		_, err = w.Tree(ctx, runName)
	}
	return err
}

// F-03: a process that is killed while it records leaves no git behind, and nothing of its
// git in the user's repository.
func TestKilledWhileItRecords(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("nothing tells which processes there are")
	}
	random := make([]byte, 1<<20)
	for i := range random { // so that git has something to do
		random[i] = byte(i * i >> 7 * i >> 11)
	}
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	f := r.fixture(t)
	dir := workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base}).Dir
	store := filepath.Join(r.state, "engine", "worktrees", runName, "objects")
	before := leftovers(t, r)
	for name, reached := range map[string]string{
		"when the index is locked":    filepath.Join(r.state, "engine", "worktrees", runName, "index.lock"),
		"when objects begin":          filepath.Join(store, "tmp_objdir-bulk-fsync-*"),
		"when an object is written":   filepath.Join(store, "tmp_objdir-bulk-fsync-*", "??", "*"),
		"when one object is complete": filepath.Join(store, "tmp_objdir-bulk-fsync-*", "??", "[0-9a-f]*"),
	} {
		t.Run(name, func(t *testing.T) {
			for try := range 5 {
				for i := range 4 << try { // a fast machine needs more to do
					copy(random, fmt.Sprint(name, try, i))
					workspacetest.MustWrite(t, dir, fmt.Sprintf("large/%d", i), string(random))
				}
				if killAt(t, r, reached) {
					break
				}
				if try == 4 {
					t.Error("git did its work to the end, or lives")
				}
			}
			for _, pid := range gitsOf(t, "GIT_WORK_TREE="+dir) {
				t.Errorf("git lives on as process %d", pid)
			}
			// F-66: git may be killed before it has removed its lock. Recover
			// removes what is in our own folder.
			ours := func(at string) bool { return strings.HasPrefix(at, filepath.Dir(store)) }
			if diff := cmp.Diff(before, slices.DeleteFunc(leftovers(t, r), ours), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("what is left over (-before +after):\n%s", diff)
			}
		})
	}
	// Git leaves its lock only sometimes, so the test leaves one every time.
	workspacetest.MustWrite(t, filepath.Dir(store), "index.lock", "half")
	w := r.open(t, nil)
	r.limits.MaxNewBytes = 1 << 40
	if err := w.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	f.Workspaces = w
	workspacetest.MustTree(t, f, runName)
	if diff := cmp.Diff(before, leftovers(t, r), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what is left over in the end (-before +after):\n%s", diff)
	}
	r.git(t, "fsck", "--strict", "--no-dangling")
}

// killAt kills a process that records the worktree when there is a file of this pattern,
// and waits for the end of its gits. It reports whether they were ended before they had
// done their work.
func killAt(t *testing.T, r *repository, reached string) bool {
	t.Helper()
	index := func() string {
		content, err := os.ReadFile(filepath.Join(r.state, "engine", "worktrees", runName, "index"))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	before := index()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "PAWL_TEST_RECORD=1", "PAWL_TEST_BY_GIT=1", "PAWL_TEST_ROOT=" + r.root, "PAWL_TEST_STATE=" + r.state}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return false
		default:
		}
		if found, _ := filepath.Glob(reached); len(found) > 0 {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Log(err) // it has just ended
	}
	killed := <-ended != nil
	late := time.After(time.Minute)
	for len(gitsOf(t, "GIT_WORK_TREE="+filepath.Join(r.state, "worktrees", runName))) > 0 {
		select {
		case <-late:
			return false
		case <-time.After(5 * time.Millisecond): // there is no event for a process that is not ours
		}
	}
	return killed && index() == before
}

// gitsOf returns the processes that have a setting in their environment.
func gitsOf(t *testing.T, setting string) []int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, at := range all {
		environ, err := os.ReadFile(at)
		if err != nil || !strings.Contains(string(environ), setting+"\x00") {
			continue // it has ended, or is somebody else's
		}
		var pid int
		if _, err := fmt.Sscanf(at, "/proc/%d/environ", &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// leftovers are lock files and temporary objects in the user's repository and in ours.
func leftovers(t *testing.T, r *repository) []string {
	t.Helper()
	var found []string
	for _, top := range []string{filepath.Join(r.root, ".git"), r.state} {
		err := filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
			if strings.HasSuffix(at, ".lock") || strings.HasPrefix(filepath.Base(at), "tmp_") {
				found = append(found, at)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
