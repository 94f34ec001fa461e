package room

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// What the commands of prepare left beside a checkout stays where git can be told to exclude
// it, and what changes the checkout's own files does not.
func TestSift(t *testing.T) {
	upper, checkout := t.TempDir(), t.TempDir()
	write := func(folder string, names ...string) {
		t.Helper()
		for _, name := range names {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(checkout, "lock", "web/index", "file", "folder/x", "mine\r/x")
	write(upper, "lock", "web/index", "web/deps/d", "file/below", "folder-2/y", "modules/inner\r", "modules/a\nb", "mine\r/y",
		".git/hooks/pre-commit", "at the end\r", "within\rit", "two\nlines", "not\xffUTF-8", "folder/odd\r/y", "tail\r\r")
	paths, err := sift(upper, checkout)
	if want := []string{"folder-2", "mine\r/y", "modules", "web/deps", "within\rit"}; err != nil || !slices.Equal(paths, want) {
		t.Errorf("left are %q, %v, want %q", paths, err, want)
	}
	for _, gone := range []string{"lock", "web/index", "file", "folder", ".git", "at the end\r", "two\nlines", "not\xffUTF-8", "tail\r\r"} {
		if _, err := os.Lstat(filepath.Join(upper, gone)); !os.IsNotExist(err) {
			t.Errorf("%q is still there: %v", gone, err)
		}
	}
	for _, left := range []string{"modules/inner\r", "modules/a\nb", "mine\r/y"} { // the folder is excluded
		if _, err := os.Lstat(filepath.Join(upper, left)); err != nil {
			t.Error(err)
		}
	}
}

// Commands that leave more beside those of the commit than git should be told to exclude have
// not prepared it.
func TestSiftIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 20,000 folders")
	}
	upper := t.TempDir()
	for i := range maxPrepared + 1 {
		if err := os.Mkdir(filepath.Join(upper, fmt.Sprint(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if paths, err := sift(upper, t.TempDir()); pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), "more than 20000 files and folders") {
		t.Errorf("%d paths, error %v", len(paths), err)
	}
}

// mustLayer leaves what a prepare room would have, last used at a time.
func mustLayer(tb testing.TB, dir string, used time.Time, m manifest) {
	tb.Helper()
	content, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, manifestName), content, 0o600)
	}
	if err == nil {
		err = os.Chtimes(dir, used, used)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// What is pruned is what was not used for longest, and never what a worktree has. A candidate's
// layer whose base is gone is gone too, and so is one that a crash left half made.
func TestPreparedIsPruned(t *testing.T) {
	key := func(n int) string { return fmt.Sprintf("%032x", n) }
	r := New(Options{State: t.TempDir(), Needed: func() []string { return []string{key(3)} }})
	long := time.Now().Add(-time.Hour)
	for n := 1; n <= 4; n++ {
		mustLayer(t, filepath.Join(r.trusted(), key(n)), long.Add(time.Duration(n)*time.Minute), manifest{Size: 10, Paths: []string{"deps"}})
	}
	mustLayer(t, filepath.Join(r.ofRuns(), "001", key(5)), long, manifest{Size: 10, Below: key(2)})
	mustLayer(t, filepath.Join(r.ofRuns(), "001", key(6)), long, manifest{Size: 10, Below: key(9)}) // not there
	if err := os.MkdirAll(filepath.Join(r.trusted(), key(7), "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	known := func(want ...int) {
		t.Helper()
		var got []int
		for n := 1; n <= 7; n++ {
			dir := filepath.Join(r.trusted(), key(n))
			info, err := os.Stat(dir)
			if _, is, err := r.Prepared("001", key(n), false); err != nil {
				t.Error(err)
			} else if is {
				got = append(got, n)
			}
			if err == nil { // asking is a use
				err = os.Chtimes(dir, info.ModTime(), info.ModTime())
			}
			if err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("there are %v, want %v", got, want)
		}
	}
	known(1, 2, 3, 4, 5)
	if err := r.recoverPrepared(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(r.trusted(), key(7))); !os.IsNotExist(err) {
		t.Errorf("what was left half made is still there: %v", err)
	}
	known(1, 2, 3, 4, 5)
	if _, is, err := r.Prepared("001", key(1), false); !is || err != nil { // now it was used last
		t.Errorf("it is there: %t, %v", is, err)
	}
	for _, step := range []struct {
		most int64
		left []int
	}{{40, []int{1, 2, 3, 4, 5}}, {30, []int{1, 2, 3, 5}}, {0, []int{2, 3, 5}}} {
		if _, err := r.prune(step.most); err != nil {
			t.Error(err)
		}
		known(step.left...)
	}
}

// A key or a run that could name another folder is refused.
func TestPreparedKey(t *testing.T) {
	r := New(Options{State: t.TempDir()})
	key := strings.Repeat("a", 32)
	for _, row := range []struct{ run, key string }{
		{"001", ""}, {"001", "../" + key[3:]}, {"001", key + "/"}, {"001", strings.ToUpper(key)}, {"001", key[1:]}, {"../x", key}, {"", key}, {"/", key},
	} {
		if _, _, err := r.Prepared(pawl.RunID(row.run), row.key, false); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("run %q, key %q: error %v", row.run, row.key, err)
		}
	}
}
