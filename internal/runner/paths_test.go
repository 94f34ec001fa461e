package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestChangedPaths(t *testing.T) {
	for name, test := range map[string]struct {
		patch string
		want  []string
	}{
		"Nothing": {"", nil},
		"Edited":  {"diff --git a/x/y.go b/x/y.go\nindex 1..2 100644\n--- a/x/y.go\n+++ b/x/y.go\n@@ -1 +1 @@\n-a\n+b\n", []string{"x/y.go"}},
		"Deleted": {"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", []string{"x"}},
		"Mode":    {"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", []string{"x"}},
		"Binary":  {"diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n", []string{"x"}},
		"Blanks":  {"diff --git a/a b/c d b/a b/c d\nnew file mode 100644\n", []string{"a b/c d"}},
		"Quoted":  {`diff --git "a/t\tab\"\\\303\274" "b/t\tab\"\\\303\274"` + "\n", []string{"t\tab\"\\ü"}},
		"Renamed": {"diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n", []string{"new", "old"}},
		// Its header could also be that of one file "m b/n" that kept its name.
		"RenamedLikeKept":  {"diff --git a/m b/n b/m b/n\nsimilarity index 100%\nrename from m\nrename to n b/m b/n\n", []string{"m", "n b/m b/n"}},
		"RenamedAndQuoted": {"diff --git \"a/o\\nld\" b/new\nrename from \"o\\nld\"\nrename to new\n", []string{"new", "o\nld"}},
		"Content":          {"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n+++ b/fake\n--- a/fake\n+diff --git a/fake b/fake\n rename from fake\n", []string{"x"}},
		"TwoFiles":         {"diff --git a/y b/y\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\ndiff --git a/x b/x\nold mode 1\n", []string{"x", "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := changedPaths([]byte(test.patch))
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := changedPaths([]byte("diff --git \"a/\\z\" \"b/\\z\"\n")); err == nil {
		t.Error("a name that cannot be read is no error")
	}
}

// A list of paths has a line for each, whatever their names.
func TestPathLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z "\n\t\\\xff]{1,9}`), rapid.ID).Draw(t, "paths")
		lines := pathLines(paths)
		if n := strings.Count(lines, "\n"); n != len(paths) {
			t.Fatalf("%d lines for %q: %q", n, paths, lines)
		}
		seen := map[string]bool{}
		for line := range strings.Lines(lines) {
			if seen[line] {
				t.Fatalf("%q twice for %q", line, paths)
			}
			seen[line] = true
		}
	})
	if got := pathLines([]string{"a b.txt", "ü", "new\nline"}); got != "a b.txt\nü\n\"new\\nline\"\n" {
		t.Errorf("got %q", got)
	}
}

// A fingerprint is that of a set: neither order nor repetition counts, content does.
func TestFingerprint(t *testing.T) {
	if fingerprint(nil) != 0 || fingerprint([]string{""}) == 0 {
		t.Error("only the empty set is 0")
	}
	words := rapid.SliceOfNDistinct(rapid.StringMatching("[ab\x00\x01]{0,4}"), 0, 6, rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		shuffled := rapid.Permutation(append(append([]string{}, a...), a...)).Draw(t, "shuffled")
		if fingerprint(a) != fingerprint(shuffled) {
			t.Fatalf("%q and %q differ", a, shuffled)
		}
		same := len(a) == len(b)
		for _, w := range a {
			same = same && strings.Contains("\x02"+strings.Join(b, "\x02")+"\x02", "\x02"+w+"\x02")
		}
		if (fingerprint(a) == fingerprint(b)) != same {
			t.Fatalf("%q and %q: equal is %v", a, b, !same)
		}
	})
}

// What pathLines writes, linePaths reads.
func TestLinePaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune{'a', '/', '"', '\\', '\n', '\r', 'ü', 0x7f, ' '}))).Draw(t, "paths")
		paths = append(paths, "\xff", `"`)
		var want []string
		for _, p := range paths {
			if p != "" {
				want = append(want, p)
			}
		}
		if diff := cmp.Diff(want, linePaths(pathLines(paths))); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
	if got := linePaths("a\n\n\"broken\nb"); cmp.Diff([]string{"a", "b"}, got) != "" {
		t.Errorf("paths are %q", got)
	}
}
