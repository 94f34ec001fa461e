package gitworktree_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// tree makes the user's folder hold just these files and returns git's tree of it.
// Names that end with * are of executables, those with @ of symbolic links.
func (r *repository) tree(tb rapid.TB, files map[string]string) string {
	tb.Helper()
	entries, err := os.ReadDir(r.root)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			workspacetest.MustRemove(tb, r.root, e.Name())
		}
	}
	for name, content := range files {
		at := filepath.Join(r.root, strings.TrimRight(name, "*@"))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			tb.Fatal(err)
		}
		switch name[len(name)-1] {
		case '@':
			err = os.Symlink(content, at)
		case '*':
			workspacetest.MustWrite(tb, filepath.Dir(at), filepath.Base(at), content)
			err = os.Chmod(at, 0o755)
		default:
			workspacetest.MustWrite(tb, filepath.Dir(at), filepath.Base(at), content)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	r.git(tb, "add", "-Af", ".")
	return r.git(tb, "write-tree")
}

func mustFingerprint(tb rapid.TB, w *gitworktree.Workspaces, from, to string) []uint64 {
	tb.Helper()
	prints, err := w.Fingerprints(context.Background(), from, to)
	if err != nil {
		tb.Fatal(err)
	}
	if len(prints)%2 != 0 || len(prints) > 16 || slices.Contains(prints, 0) {
		tb.Errorf("fingerprints are %x", prints)
	}
	return prints
}

// swapped are pairs the other way round.
func swapped(prints []uint64) []uint64 {
	out := slices.Clone(prints)
	for i := 0; i < len(out); i += 2 {
		out[i], out[i+1] = out[i+1], out[i]
	}
	return out
}

// Whatever changes, going back gives the same pairs the other way round.
func TestUndoingSwapsFingerprints(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	w := r.open(t, nil)
	line := rapid.SampledFrom([]string{"a", "b", "a ", "\tb", "}", "", "a\r", "--- a", "+++ b", "@@ -1 +1 @@", "diff --git x x", "\\ No newline", "ü", "\x00"})
	text := rapid.Map(rapid.SliceOfN(line, 0, 30), func(lines []string) string { return strings.Join(lines, "\n") })
	name := rapid.SampledFrom([]string{"a", "b*", "b", "x/y", "l@", "l", "odd \"name\"\n\t", "index 1..2", ".pawl/tasks/1"})
	files := rapid.Map(rapid.MapOfN(name, text, 0, 5), func(files map[string]string) map[string]string {
		out := map[string]string{}
		for name, content := range files {
			other := strings.TrimRight(name, "*@")
			for path := range out {
				if strings.TrimRight(path, "*@") == other {
					other = ""
				}
			}
			switch {
			case other == "":
			case strings.HasSuffix(name, "@"):
				out[name] = "to" + fmt.Sprint(len(content))
			default:
				out[name] = content
			}
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		one, two := r.tree(t, files.Draw(t, "one")), r.tree(t, files.Draw(t, "two"))
		forth, back := mustFingerprint(t, w, one, two), mustFingerprint(t, w, two, one)
		if diff := cmp.Diff(forth, swapped(back)); diff != "" {
			t.Errorf("%s and %s (-forth +back):\n%s", one, two, diff)
		}
	})
}

// A change is known again wherever it happens.
func TestFingerprints(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	w := r.open(t, nil)
	type files = map[string]string
	prints := func(one, two files) []uint64 { return mustFingerprint(t, w, r.tree(t, one), r.tree(t, two)) }
	change := prints(files{"f": "1\nold\n2\n"}, files{"f": "1\nnew\n2\n"})
	many, grown := files{}, files{}
	for n := range 30 {
		many[fmt.Sprintf("f%02d", n)] = "old\n"
		grown[fmt.Sprintf("f%02d", n)] = "new\n"
	}
	half := files{}
	for name := range many {
		half[name] = []string{"old\n", "new\n"}[int(name[2])%2]
	}
	for _, test := range []struct {
		name     string
		one, two files
		want     []uint64
		pairs    int // instead of want
	}{
		{"nothing", files{"f": "1\n"}, files{"f": "1\n"}, nil, 0},
		{"elsewhere in the file", files{"f": "0\n0\nold\n"}, files{"f": "0\n0\nnew\n"}, change, 0},
		{"with space at the ends of lines", files{"f": "old \t\r\n"}, files{"f": "new"}, change, 0},
		{"undone", files{"f": "new\n"}, files{"f": "old\n"}, swapped(change), 0},
		{"of space at the ends of lines alone", files{"f": "1\n2"}, files{"f": "1 \r\n2\n"}, nil, 0},
		{"of what the harness keeps", files{".pawl/tasks/1": "old\n", ".pawl/x": "1"}, files{".pawl/tasks/1": "new\n"}, nil, 0},
		{"of a line that moves", files{"f": "old\n1\n2\n3\n"}, files{"f": "1\n2\n3\nold\n"}, nil, 0},
		{"of several lines apart", files{"f": lines(9, nil)}, files{"f": lines(9, map[int]string{2: "x", 7: "y"})}, nil, 2},
		{"of lines below each other", files{"f": lines(9, nil)}, files{"f": lines(9, map[int]string{2: "x", 3: "y"})}, nil, 1},
		{"of a mode", files{"f": "1\n"}, files{"f*": "1\n"}, nil, 1},
		{"of a mode and a line", files{"f": "1\n"}, files{"f*": "2\n"}, nil, 2},
		{"of no text", files{"f": "1\x00"}, files{"f": "2\x00"}, nil, 1},
		{"of an empty file", files{}, files{"f": ""}, nil, 1},
		{"of a file that becomes a link", files{"f": "1\n"}, files{"f@": "1"}, nil, 0}, // the same line goes and comes
		{"of much", many, grown, nil, 8},
		{"of half of it", many, half, nil, 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := prints(test.one, test.two)
			if test.pairs > 0 && len(got) != 2*test.pairs {
				t.Errorf("there are %d pairs, want %d", len(got)/2, test.pairs)
			}
			if test.pairs == 0 && !slices.Equal(got, test.want) {
				t.Errorf("fingerprints are %x, want %x", got, test.want)
			}
			if back := prints(test.two, test.one); !slices.Equal(swapped(back), got) {
				t.Errorf("undone they are %x, not %x the other way round", back, got)
			}
		})
	}
	if other := prints(files{"g": "old\n"}, files{"g": "new\n"}); slices.Equal(other, change) {
		t.Error("another file's change has the same fingerprints")
	}
	if other := prints(files{"f": "  old\n"}, files{"f": "  new\n"}); slices.Equal(other, change) {
		t.Error("lines that are indented have the same fingerprints")
	}
}

// What is too much to be compared line by line counts by files.
func TestFingerprintsOfMuch(t *testing.T) {
	r := newRepository(t, map[string]string{"README": "A project.\n"})
	w := r.open(t, nil)
	large := strings.Repeat(strings.Repeat("x", 99)+"\n", 12_000)
	one := r.tree(t, map[string]string{"large": large, "f": "old\n", "g": "1\n", ".pawl/x": "1\n"})
	two := r.tree(t, map[string]string{"f": "new\n", "g": "1\n"})
	forth, back := mustFingerprint(t, w, one, two), mustFingerprint(t, w, two, one)
	if len(forth) != 4 || !slices.Equal(swapped(back), forth) {
		t.Errorf("fingerprints are %x, undone %x; want two pairs", forth, back)
	}
}

// Commits and merges say what differs, and how much of it is not theirs to touch.
func TestCommitsHaveFingerprints(t *testing.T) {
	r := newRepository(t, map[string]string{"f": "old\n", ".gitignore": "build/\n"})
	f := r.fixture(t)
	child := workspacetest.MustWork(t, f, "pawl/one", f.Base, "f", "new\n", ".pawl/tasks/1/plan.md", "1\n", ".pawl/x", "2\n")
	if len(child.Hunks) != 2 || child.Kept != 1 {
		t.Errorf("hunks are %x, kept %d; want one pair and 1", child.Hunks, child.Kept)
	}
	if child.Added != 1 || child.Removed != 1 {
		t.Errorf("%d lines are added and %d removed, want 1 and 1", child.Added, child.Removed)
	}
	merged := workspacetest.MustMerge(t, f, merging(f.Base, child.Commit))
	if !slices.Equal(merged.Changes, child.Hunks) {
		t.Errorf("the merge changes %x, its child %x", merged.Changes, child.Hunks)
	}
	next := workspacetest.MustWork(t, f, "pawl/one", f.Base, "f", "old\n")
	if !slices.Equal(swapped(next.Hunks), child.Hunks) {
		t.Errorf("undone they are %x, not %x the other way round", next.Hunks, child.Hunks)
	}
}
