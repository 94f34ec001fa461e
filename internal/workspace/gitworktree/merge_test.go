package gitworktree_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/workspace/workspacetest"
)

// side is a change of the user's repository, committed on a branch of its own.
func (r *repository) side(t *testing.T, base pawl.CommitHash, branch string, change func(dir string)) pawl.CommitHash {
	t.Helper()
	r.git(t, "switch", "-q", "-C", branch, string(base))
	change(r.root)
	r.git(t, "add", "-Af", ".")
	r.git(t, "commit", "-q", "--allow-empty", "-m", branch)
	commit := pawl.CommitHash(r.git(t, "rev-parse", "HEAD"))
	r.git(t, "switch", "-q", "main")
	return commit
}

// writes is a change that writes files; a content of "-" removes one.
func writes(t *testing.T, pairs ...string) func(string) {
	return func(dir string) {
		for i := 0; i < len(pairs); i += 2 {
			if workspacetest.MustRemove(t, dir, pairs[i]); pairs[i+1] != "-" {
				workspacetest.MustWrite(t, dir, pairs[i], pairs[i+1])
			}
		}
	}
}

// lines are numbered lines with some in place of others.
func lines(n int, other map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if text, found := other[i]; found {
			b.WriteString(text + "\n")
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// What two sides can do to each other: which paths are in conflict, which hold
// markers, and what is said of them.
func TestConflicts(t *testing.T) {
	ctx := context.Background()
	link := func(target, path string) func(string) {
		return func(dir string) {
			_ = os.RemoveAll(filepath.Join(dir, path))
			if err := os.Symlink(target, filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	strange := "a\nb \"q\" \t\\"
	for n, test := range []struct {
		name         string
		base         map[string]string
		ours, theirs func(dir string)
		conflicts    []string // HASH stands for that of ours
		marked       []string
		says         []string
	}{
		{
			"strange names", map[string]string{strange: "one\n"}, writes(t, strange, "two\n"), writes(t, strange, "three\n"),
			[]string{strange},
			[]string{strange},
			[]string{`"a\nb \"q\" \t\\"` + "\nlines 1 to 5:\n<<<<<<< the parent's branch\ntwo\n=======\nthree\n>>>>>>> this task\n"},
		},
		{
			"regions with what is around them", map[string]string{"f": lines(40, nil)},
			writes(t, "f", lines(40, map[int]string{10: "ours", 16: "ours too", 30: "ours three"})),
			writes(t, "f", lines(40, map[int]string{10: "theirs", 16: "theirs too", 30: "theirs three"})),
			[]string{"f"},
			[]string{"f"},
			[]string{
				"f\nlines 7 to 27:\nline 7\nline 8\nline 9\n<<<<<<< the parent's branch\nours\n=======\ntheirs\n>>>>>>> this task\nline 11\n",
				"line 15\n<<<<<<< the parent's branch\nours too\n=======\ntheirs too\n>>>>>>> this task\nline 17\nline 18\nline 19\n" +
					"lines 35 to 45:\nline 27\n",
			},
		},
		{
			"binary", map[string]string{"b": "a\x00b"}, writes(t, "b", "a\x00c"), writes(t, "b", "a\x00d"),
			[]string{"b"},
			nil,
			[]string{"Cannot merge binary files: b (the parent's branch vs. this task)", "the file is as in the parent's branch"},
		},
		{
			"deleted here, modified there", map[string]string{"d": "a\n"}, writes(t, "d", "-"), writes(t, "d", "b\n"),
			[]string{"d"},
			nil,
			[]string{"d deleted in the parent's branch and modified in this task", "It is gone; the changed version is in the task's own commits."},
		},
		{
			"a file in a folder's place", map[string]string{"x/f": "a\n"}, writes(t, "x", "file\n"), writes(t, "x/f", "b\n"),
			[]string{"x/f", "x~HASH"},
			nil,
			[]string{"directory in the way of x from the parent's branch"},
		},
		{
			"renamed twice", map[string]string{"old": lines(20, nil)},
			writes(t, "old", "-", "one", lines(20, nil)), writes(t, "old", "-", "two", lines(20, nil)),
			[]string{"old", "one", "two"},
			nil,
			[]string{"rename/rename"},
		},
		{
			"renamed and changed", map[string]string{"old": lines(20, nil)},
			writes(t, "old", "-", "new", lines(20, map[int]string{3: "ours"})), writes(t, "old", lines(20, map[int]string{3: "theirs"})),
			[]string{"new"},
			[]string{"new"},
			[]string{"<<<<<<< the parent's branch:new\nours\n=======\ntheirs\n>>>>>>> this task:old\n"},
		},
		{
			"symbolic links", map[string]string{"target": "a\n"}, link("/etc/passwd", "l"), link("target", "l"),
			[]string{"l"},
			nil,
			[]string{"l\n"},
		},
		{
			"a link above a file", map[string]string{"x/f": "a\n"}, link("/etc", "x"), writes(t, "x/f", "b\n"),
			[]string{"x/f", "x~HASH"},
			nil,
			[]string{"x/f"},
		},
		{
			"carriage returns and no UTF-8", map[string]string{"w": "a\r\n\xff\r\n"}, writes(t, "w", "b\r\n\xff\r\n"), writes(t, "w", "c\r\n\xff\r\n"),
			[]string{"w"},
			[]string{"w"},
			[]string{"<<<<<<< the parent's branch\nb\n=======\nc\n>>>>>>> this task\n\uFFFD\n"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			sample(t, n)
			files := map[string]string{"README": "A project.\n"}
			for path, content := range test.base {
				files[path] = content
			}
			r := newRepository(t, files)
			base := r.base(t)
			ours, theirs := r.side(t, base, "ours", test.ours), r.side(t, base, "theirs", test.theirs)
			f := r.fixture(t)
			before := r.users(t)
			info := workspacetest.MustMerge(t, f, merging(ours, theirs))
			for i := range test.conflicts {
				test.conflicts[i] = strings.ReplaceAll(test.conflicts[i], "HASH", string(ours))
			}
			if diff := cmp.Diff(test.conflicts, info.Conflicts); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			marked, err := f.Marked(ctx, info.Commit, info.Conflicts)
			if diff := cmp.Diff(test.marked, marked); diff != "" || err != nil {
				t.Errorf("marked (-want +got): %v\n%s", err, diff)
			}
			if kept, err := f.FileAt(ctx, info.Tree, "d"); kept != nil || err != nil { // what Ours deleted does not come back
				t.Errorf("the file d is %q, %v", kept, err)
			}
			for _, says := range test.says {
				if !strings.Contains(info.Hunks, says) {
					t.Errorf("hunks do not hold %q:\n%s", says, info.Hunks)
				}
			}
			if !utf8.ValidString(info.Hunks) {
				t.Errorf("hunks are not UTF-8: %q", info.Hunks)
			}
			if diff := cmp.Diff(info, workspacetest.MustMerge(t, f.Restart(t), merging(ours, theirs))); diff != "" {
				t.Errorf("called again (-first +second):\n%s", diff)
			}
			// Whoever resolves it finds the merge commit's files, and can commit.
			workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: theirs})
			state := workspacetest.MustReset(t, f, runName, info.Commit, runSalvage)
			if state.Tree != info.Tree || state.Salvage != "" {
				t.Errorf("state is %+v, want the tree %s and nothing saved", state, info.Tree)
			}
			if after := r.users(t); after != before {
				t.Errorf("the user's checkout changed:\n%s", cmp.Diff(before, after))
			}
			r.git(t, "fsck", "--strict", "--no-dangling")
		})
	}
}

// Neither drivers nor attributes of the project take part in a merge, and
// nothing of the user's configuration is run.
func TestMergesRunNothing(t *testing.T) {
	r, trap := evil(t)
	// The user's own git would spring the traps: the sides are made by ours.
	f := r.fixture(t)
	one := workspacetest.MustWork(t, f, "pawl/one", f.Base, "lib/a.txt", "two\n", ".gitattributes", "* merge=evil conflict-marker-size=20\n")
	two := workspacetest.MustWork(t, f, "pawl/two", f.Base, "lib/a.txt", "three\n", ".gitattributes", "* merge=union\n")
	info := workspacetest.MustMerge(t, f, merging(one.Commit, two.Commit))
	if diff := cmp.Diff([]string{".gitattributes", "lib/a.txt"}, info.Conflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	if want := "<<<<<<< the parent's branch\ntwo\n=======\nthree\n>>>>>>> this task\n"; !strings.Contains(info.Hunks, want) {
		t.Errorf("hunks do not hold %q:\n%s", want, info.Hunks)
	}
	workspacetest.MustAdvance(t, f, "pawl/one", one.Commit, info.Commit)
	trap.wantUnsprung(t, "in a merge")
}

// Submodules are not looked into: those that differ are in conflict.
func TestMergeOfSubmodules(t *testing.T) {
	inner := newRepository(t, map[string]string{"f": "1\n"})
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	r.git(t, "submodule", "--quiet", "add", inner.root, "sub")
	r.git(t, "commit", "-q", "-m", "Submodule")
	base := r.base(t)
	var sides []pawl.CommitHash
	for _, name := range []string{"ours", "theirs"} {
		at := inner.side(t, pawl.CommitHash(inner.git(t, "rev-parse", "HEAD")), name, writes(t, "f", name+"\n"))
		r.git(t, "switch", "-q", "-C", name, string(base))
		r.git(t, "update-index", "--cacheinfo", "160000,"+string(at)+",sub")
		r.git(t, "commit", "-q", "-m", name)
		sides = append(sides, pawl.CommitHash(r.git(t, "rev-parse", "HEAD")))
	}
	f := r.fixture(t)
	info := workspacetest.MustMerge(t, f, merging(sides[0], sides[1]))
	if diff := cmp.Diff([]string{"sub"}, info.Conflicts); diff != "" || !strings.Contains(info.Hunks, "ubmodule") {
		t.Errorf("conflicts (-want +got):\n%s\n%s", diff, info.Hunks)
	}
	if info := workspacetest.MustMerge(t, f, merging(base, sides[1])); len(info.Conflicts) > 0 {
		t.Errorf("%q are in conflict where one side changed", info.Conflicts)
	}
}

// What is shown of conflicts has a bound, whole lines, and something of as many
// paths as there is room for.
func TestHunksAreBounded(t *testing.T) {
	long := strings.Repeat("x", 2000)
	sides := [2][]string{}
	for i, side := range []string{"ours", "theirs"} {
		for n := range 200 {
			sides[i] = append(sides[i], fmt.Sprintf("many/%03d", n), lines(100, map[int]string{1: side, 50: long + side}))
		}
	}
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	base := r.base(t)
	ours, theirs := r.side(t, base, "ours", writes(t, sides[0]...)), r.side(t, base, "theirs", writes(t, sides[1]...))
	info := workspacetest.MustMerge(t, r.fixture(t), merging(ours, theirs))
	if len(info.Conflicts) != 200 || len(info.Hunks) > 24_000 || len(info.Hunks) < 20_000 {
		t.Errorf("%d conflicts are told in %d bytes", len(info.Conflicts), len(info.Hunks))
	}
	if !strings.Contains(info.Hunks, "many/030\n") || !strings.Contains(info.Hunks, "more paths\n") {
		t.Errorf("hunks name too few paths:\n%s", info.Hunks)
	}
	if strings.Contains(info.Hunks, "xxxx") {
		t.Error("a line that is too long is shown in part")
	}
}

// A file that is too large for git or for us to look into is no obstacle.
func TestMergeOfLargeFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	large := strings.Repeat(strings.Repeat("x", 99)+"\n", 400_000)
	r := newRepository(t, map[string]string{"large": large})
	base := r.base(t)
	ours, theirs := r.side(t, base, "ours", writes(t, "large", "ours\n"+large)), r.side(t, base, "theirs", writes(t, "large", "theirs\n"+large))
	f := r.fixture(t)
	info := workspacetest.MustMerge(t, f, merging(ours, theirs))
	if !slices.Equal(info.Conflicts, []string{"large"}) || !strings.Contains(info.Hunks, "large\nthe file is too large to be shown\n") {
		t.Errorf("conflicts are %q:\n%s", info.Conflicts, info.Hunks)
	}
	if marked, err := f.Marked(context.Background(), info.Commit, info.Conflicts); len(marked) > 0 || err != nil {
		t.Errorf("marked are %q, %v", marked, err)
	}
}

// No text is a marker but what git would have written at a line's beginning.
func TestMarked(t *testing.T) {
	for _, test := range []struct {
		name, content string
		want          bool
	}{
		{"labels", "a\n<<<<<<< x\na\n=======\nb\n>>>>>>> y\n", true},
		{"no labels", "<<<<<<<\na\n=======\nb\n>>>>>>>", true},
		{"carriage returns", "<<<<<<<\r\na\r\n>>>>>>>\r\n", true},
		{"one side", "<<<<<<< x\na\n", false},
		{"the wrong way round", ">>>>>>> y\n<<<<<<< x\n", false},
		{"within a line", " <<<<<<< x\n >>>>>>> y\n", false},
		{"a rule", "<<<<<<<<<<<<\n>>>>>>>>>>>>\n", false},
		{"empty", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"f": test.content})
			f := r.fixture(t)
			marked, err := f.Marked(context.Background(), f.Base, []string{"f"})
			if err != nil || (len(marked) > 0) != test.want {
				t.Errorf("marked are %q, %v; want %v", marked, err, test.want)
			}
		})
	}
}

// What a message or a label holds controls no terminal, makes no second line of
// a marker, and does not pass for what we write ourselves.
func TestMergeMessages(t *testing.T) {
	r := newRepository(t, map[string]string{"f": "1\n"})
	base := r.base(t)
	ours, theirs := r.side(t, base, "ours", writes(t, "f", "2\n")), r.side(t, base, "theirs", writes(t, "f", "3\n"))
	f := r.fixture(t)
	spec := merging(ours, theirs)
	spec.Message, spec.OursLabel, spec.TheirsLabel = "Title\x1b[2J\n\nPawl-Effect: 7\n", "a\nb\x1b[2J", strings.Repeat("ü", 100)
	info := workspacetest.MustMerge(t, f, spec)
	if got, want := r.git(t, "log", "-1", "--format=%B%an %ae %ad %cn %cd", "--date=unix", string(info.Commit)),
		"Title[2J\n\nPawl-Effect: 7\n\nPawl-Merge: "+string(theirs)+"\nPawl pawl@localhost 1780000100 Pawl 1780000100"; got != want {
		t.Errorf("the commit is %q, want %q", got, want)
	}
	if want := "<<<<<<< a b[2J\n2\n=======\n3\n>>>>>>> " + strings.Repeat("ü", 40) + "\n"; r.git(t, "show", string(info.Commit)+":f")+"\n" != want {
		t.Errorf("the file is %q, want %q", r.git(t, "show", string(info.Commit)+":f"), want)
	}
}

// Commits without a common history are no merge that could be tried again.
func TestMergeOfUnrelatedCommits(t *testing.T) {
	r := newRepository(t, map[string]string{"f": "1\n"})
	base := r.base(t)
	other := r.git(t, "commit-tree", "-m", "Other", string(base)+"^{tree}")
	f := r.fixture(t)
	if _, err := f.Merge(context.Background(), merging(base, pawl.CommitHash(other))); pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), "no history in common") {
		t.Errorf("error is %v", err)
	}
}

// A branch that the user has checked out does not advance; one whose lock a
// dead git left does.
func TestAdvanceInTheWay(t *testing.T) {
	ctx := context.Background()
	r := newRepository(t, map[string]string{"f": "1\n"})
	f := r.fixture(t)
	workspacetest.MustOpen(t, f, pawl.WorkspaceSpec{Name: runName, Branch: runBranch, Base: f.Base})
	child := workspacetest.MustWork(t, f, "pawl/"+childName(1), f.Base, "f", "2\n")
	r.git(t, "switch", "-q", runBranch)
	if err := f.Advance(ctx, runBranch, f.Base, child.Commit); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("error is %v; the user has the branch checked out", err)
	}
	r.git(t, "switch", "-q", "main")
	lock := filepath.Join(r.root, ".git", "refs", "heads", runBranch+".lock")
	workspacetest.MustWrite(t, filepath.Dir(lock), filepath.Base(lock), "")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	workspacetest.MustAdvance(t, f, runBranch, f.Base, child.Commit)
	if got := r.resolve(t, "refs/heads/"+runBranch); got != child.Commit {
		t.Errorf("the branch is at %s, want %s", got, child.Commit)
	}
}
