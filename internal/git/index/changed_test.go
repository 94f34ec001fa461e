//go:build linux

package index_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/git"
	"pawl/internal/git/index"
)

// wantSame fails unless the index finds the same tree as git.
func (r *repository) wantSame(x *index.Index, change ...func(*index.Options)) {
	r.t.Helper()
	tree, reason := r.update(x, change...)
	if want := r.recorded(false); reason != "" || tree.Hash != want {
		r.t.Errorf("the index found %q (%q), git %s:\n%s", tree.Hash, reason, want, r.difference(tree.Hash, want))
	}
}

// A .gitignore file in a new folder counts at once, also for one path.
func TestIgnoreFileInNewFolder(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a", "a\n", 0o644)
	r.recorded(false)
	x := r.load()
	r.write("new/.gitignore", "*.o\n", 0o644)
	r.write("new/a", "a\n", 0o644)
	r.wantSame(x)
	r.write("new/x.o", "x\n", 0o644)
	r.wantSame(x, only("new/x.o"))
}

// The size 0 in an index file means that the file is to be read again, even if it is empty by now.
func TestTruncatedInTheSameTick(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a", "content\n", 0o644)
	r.recorded(false)
	r.write("a", "", 0o644)
	info, err := os.Stat(filepath.Join(r.folder, "a"))
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	data, _ := r.file()
	data = rewrite(data, func(body []byte) []byte { // as if all had happened in one tick, and the index was written later
		entry := body[12:]
		for i, n := range []int64{st.Ctim.Sec, st.Ctim.Nsec, st.Mtim.Sec, st.Mtim.Nsec} {
			binary.BigEndian.PutUint32(entry[4*i:], uint32(n))
		}
		binary.BigEndian.PutUint32(entry[36:], 0)
		return body
	})
	if err := os.WriteFile(r.repo.Index, data, 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := index.Read(data, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	tree, reason := r.update(x)
	if want := r.recorded(false); reason != "" || tree.Hash != want {
		t.Errorf("the index found %q (%q), git %s", tree.Hash, reason, want)
	}
}

// A path that is too long for the system is left to git which does not record it.
func TestDeepFolders(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a", "a\n", 0o644)
	r.recorded(false)
	x := r.load()
	at, err := os.OpenRoot(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 200)
	for range 30 {
		if err := at.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := at.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		_ = at.Close()
		at = below
	}
	if err := errors.Join(at.WriteFile("x", []byte("x"), 0o644), at.Close()); err != nil {
		t.Fatal(err)
	}
	if _, reason := r.update(x); reason != index.ReasonName {
		t.Errorf("the reason is %q", reason)
	}
}

// Every reason that a folder can give is found, and git then records it or says why not.
func TestReasons(t *testing.T) {
	t.Parallel()
	limits := func(files, all int64, unknown int) func(*index.Options) {
		return func(o *index.Options) { o.MaxFile, o.MaxBytes, o.MaxUnknown = files, all, unknown }
	}
	for name, row := range map[string]struct {
		make   func(r *repository)
		want   index.Reason
		change func(*index.Options)
	}{
		"a filter":              {func(r *repository) { r.write("kept/.gitattributes", "*.x filter=f\n", 0o644) }, index.ReasonAttributes, nil},
		"no attributes":         {func(r *repository) { r.write(".gitattributes", "*.x diff=go\n", 0o644) }, index.ReasonAttributes, nil},
		"attributes as a link":  {func(r *repository) { r.link(".gitattributes", "a") }, index.ReasonAttributes, nil},
		"large attributes":      {func(r *repository) { r.write(".gitattributes", strings.Repeat("#\n", 1<<20), 0o644) }, index.ReasonUnreadable, nil},
		"attributes are gone":   {func(r *repository) { r.remove("text/.gitattributes") }, index.ReasonAttributes, nil},
		"a carriage return":     {func(r *repository) { r.write("text/b", "b\r\n", 0o644) }, index.ReasonAttributes, nil},
		"a repository":          {func(r *repository) { r.write("new/.git/HEAD", "x", 0o644) }, index.ReasonRepository, nil},
		"one in a known folder": {func(r *repository) { r.write("kept/.git", "gitdir: /nowhere\n", 0o644) }, index.ReasonRepository, nil},
		"a refused name":        {func(r *repository) { r.write("new/.GIT/x", "x", 0o644) }, index.ReasonName, nil},
		"a short name":          {func(r *repository) { r.write("git~1", "x", 0o644) }, index.ReasonName, nil},
		"a link to note":        {func(r *repository) { r.link("kept/.gitmodules", "a") }, index.ReasonName, nil},
		"a pipe": {func(r *repository) {
			if err := syscall.Mkfifo(filepath.Join(r.folder, "kept/pipe"), 0o644); err != nil {
				r.t.Fatal(err)
			}
		}, index.ReasonKind, nil},
		"a pipe in a file's place": {func(r *repository) {
			r.remove("kept/a")
			if err := syscall.Mkfifo(filepath.Join(r.folder, "kept/a"), 0o644); err != nil {
				r.t.Fatal(err)
			}
		}, index.ReasonKind, nil},
		"tasks are a file":           {func(r *repository) { r.write(apart, "x", 0o644) }, index.ReasonKind, withApart},
		"an ignored task":            {func(r *repository) { r.write(apart+"/1/x.o", "x", 0o644) }, index.ReasonIgnored, withApart},
		"a large file":               {func(r *repository) { r.write("large", "12345", 0o644) }, index.ReasonLimit, limits(4, 100, 9)},
		"much altogether":            {func(r *repository) { r.write("b", "12345", 0o644); r.write("c", "12345", 0o644) }, index.ReasonLimit, limits(5, 9, 9)},
		"many files":                 {func(r *repository) { r.write("b", "", 0o644); r.write("c", "", 0o644) }, index.ReasonLimit, limits(9, 9, 1)},
		"not more than all":          {func(r *repository) { r.write("b", "12345", 0o644); r.write("c", "1234", 0o644) }, "", limits(5, 9, 2)},
		"a folder for a file, alone": {func(r *repository) { r.write("kept/a/b", "b", 0o644) }, index.ReasonUnreadable, only("kept/a")},
		"a file for a folder, alone": {func(r *repository) { r.write("kept", "b", 0o644) }, index.ReasonUnreadable, only("kept")},
		"a folder that was a file":   {func(r *repository) { r.write("kept/a/b", "b", 0o644) }, index.ReasonUnreadable, only("kept/a/b")},
		"nothing is there, alone":    {func(r *repository) { r.remove("kept/a") }, index.ReasonUnreadable, only("kept/a")},
		"no folder is there, alone":  {func(*repository) {}, index.ReasonUnreadable, only("nowhere/a")},
		"a path that leads out":      {func(r *repository) { r.write("b", "b", 0o644) }, "", only("../began")},
		"a path that is not clean":   {func(r *repository) { r.write("b", "b", 0o644) }, "", only("kept//a")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.write(".gitignore", "*.o\n", 0o644)
			r.write("text/.gitattributes", "* text\n", 0o644)
			r.write("text/a", "a\n", 0o644)
			r.write("kept/a", "a\n", 0o644)
			recorded := r.recorded(false)
			x := r.load()
			if tree, reason := r.update(x); reason != "" || tree.Hash != recorded {
				t.Errorf("the index found %q (%q), git %s", tree.Hash, reason, recorded)
			}
			row.make(r)
			change := row.change
			if change == nil {
				change = func(*index.Options) {}
			}
			tree, reason := r.update(x, change)
			if reason != row.want {
				t.Errorf("the reason is %q, want %q", reason, row.want)
			}
			if reason == "" {
				if want := r.recorded(false); tree.Hash != want {
					t.Errorf("the index found %s, git %s:\n%s", tree.Hash, want, r.difference(tree.Hash, want))
				}
			}
		})
	}
}

// What replaces a file or folder between the look and the reading is not read. A path that is
// gone when git is asked about it does not fail the recording.
func TestReplacedDuringTheLook(t *testing.T) {
	t.Parallel()
	for name, swap := range map[string]func(r *repository, outside string){
		"a link for a folder":     func(r *repository, outside string) { r.link("kept", outside) },
		"a link for a file":       func(r *repository, outside string) { r.link("kept/new", outside+"/new") },
		"a link for a new folder": func(r *repository, outside string) { r.link("fresh", outside) },
		"a pipe for a file": func(r *repository, _ string) {
			r.remove("kept/new")
			if err := syscall.Mkfifo(filepath.Join(r.folder, "kept/new"), 0o644); err != nil {
				r.t.Fatal(err)
			}
		},
		"a folder for a file":    func(r *repository, _ string) { r.write("kept/new/x", "x\n", 0o644) },
		"nothing":                func(r *repository, _ string) { r.remove("kept/new") },
		"nothing for the folder": func(r *repository, _ string) { r.remove("fresh") },
		"a file that has grown":  func(r *repository, _ string) { r.write("kept/new", strings.Repeat("x", 200), 0o644) },
	} {
		for when, before := range map[string]bool{"before git is asked": true, "after that": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				replaceDuringTheLook(t, before, swap)
			})
		}
	}
}

// replaceDuringTheLook changes a folder while an index looks at it, before git is asked what is
// ignored or after that.
func replaceDuringTheLook(t *testing.T, before bool, swap func(r *repository, outside string)) {
	const secret = "what is outside\n"
	r := newRepository(t)
	outside := t.TempDir()
	for _, path := range []string{"new", "a"} {
		if err := os.WriteFile(filepath.Join(outside, path), []byte(secret), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.write(".gitignore", "*.o\n", 0o644)
	r.write("kept/a", "a\n", 0o644)
	r.recorded(false)
	x := r.load()
	r.write("kept/a", "changed\n", 0o644)
	r.write("kept/new", "new\n", 0o644)
	r.write("fresh/new", "fresh\n", 0o644)
	asked := 0
	tree, reason := r.update(x, func(o *index.Options) {
		ignored := o.Ignored
		o.MaxFile = 100
		o.Ignored = func(ctx context.Context, paths []string) ([]string, error) {
			if asked++; asked == 1 && before {
				swap(r, outside)
			} else if asked == 1 {
				defer swap(r, outside)
			}
			return ignored(ctx, paths)
		}
	})
	if asked == 0 {
		t.Fatal("nothing was asked during the look")
	}
	for _, o := range r.stored {
		if bytes.Contains(o.Data, []byte("outside")) && o.Type == "blob" && !bytes.HasPrefix(o.Data, []byte(outside)) {
			t.Errorf("%q was read", o.Data)
		}
	}
	if reason == "" { // a link is recorded as a link
		if want := r.recorded(false); tree.Hash != want {
			t.Errorf("the index found %s, git %s:\n%s", tree.Hash, want, r.difference(tree.Hash, want))
		}
	} else if reason != index.ReasonUnreadable {
		t.Errorf("the reason is %q", reason)
	}
}

// Names of all kinds are recorded as git records them, or left to it.
func TestOddNames(t *testing.T) {
	t.Parallel()
	names := []string{
		"line\nbreak", "bad\xff\xfe", "-rf", "--", ":(exclude)x", ":!x", ":/", "!x", "#x", "*", "?", "[a", "a\\b", "\\", "\"q\"", "'", " ", "x ", "x.", "tab\t",
		strings.Repeat("n", 255), "~", "a:b", "CON", "nul.txt", "\u200c", ".git\u200c", ".g\u200cit", ".Git", ".git ", ".git.", ".git...", ".git::$INDEX_ALLOCATION", "git~1", "GIT~1", "git~2",
		"a\\.git", "a\\git~1", "\\.git", ".git\\x", ".gitmodules", ".GITMODULES", "gitmod~1", "GITMOD~4", "gi7eba~1", "gi7eb~10", ".gitmodules ", ".gitattributes ", ".gitignore", ".gitignore:x", ".g\u200citignore",
		".mailmap", "mailma~1", "~1000000", ".gita", ".gitx", "git", "..a", "...", "é", "e\u0301", "\ufffd", "\xed\xa0\x80",
	}
	for _, kind := range []string{"file", "folder", "link", "alone"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.write("keep/a", "a\n", 0o644)
			r.recorded(false)
			x := r.load()
			r.wantSame(x)
			var last index.Tree
			refused := 0
			for _, name := range names {
				path := "keep/" + name
				switch kind {
				case "file", "alone":
					r.write(path, name, 0o644)
				case "folder":
					r.write(path+"/f", name, 0o644)
				case "link":
					r.link(path, "a")
				}
				var change []func(*index.Options)
				if kind == "alone" {
					change = append(change, only(path))
				}
				before := x.Encode(false, apart)
				tree, reason := r.update(x, change...)
				if reason == "" {
					last = tree
					continue
				}
				refused++
				r.remove(path)
				var err error
				if x, err = index.Read(before, time.Now()); err != nil {
					t.Fatal(err)
				}
				r.update(x)
			}
			if want := r.recorded(false); last.Hash != want { // git takes every name that was not left to it
				t.Errorf("the index found %s, git %s:\n%s", last.Hash, want, r.difference(last.Hash, want))
			}
			if refused < 5 || refused > len(names)*3/4 { // links are left to it with more names
				t.Errorf("%d of %d names were left to git", refused, len(names))
			}
		})
	}
}

// A file that changes without a change of its size and times is found.
func TestRacyFiles(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	at := filepath.Join(r.folder, "a")
	date := func(when time.Time) {
		if err := os.Chtimes(at, when, when); err != nil {
			t.Fatal(err)
		}
	}
	r.write("a", "0000", 0o644)
	r.recorded(false)
	x := r.load()
	for i := range 200 { // many in one tick
		r.write("a", fmt.Sprintf("%04d", i), 0o644)
		tree, reason := r.update(x)
		if want := r.blobTree(fmt.Sprintf("%04d", i)); reason != "" || tree.Hash != want {
			t.Fatalf("change %d: the index found %q (%q), want %s", i, tree.Hash, reason, want)
		}
		if i%50 == 0 { // through a file
			if err := os.WriteFile(r.repo.Index, x.Encode(false, apart), 0o644); err != nil {
				t.Fatal(err)
			}
			x = r.load()
			r.write("a", fmt.Sprintf("%04d", i+1000), 0o644)
			r.wantSame(x)
		}
	}
	for i := range 50 { // dated back in one tick
		r.write("a", fmt.Sprintf("b%03d", i), 0o644)
		date(time.Unix(1_000_000_000, 0))
		if tree, reason := r.update(x); reason != "" || tree.Hash != r.blobTree(fmt.Sprintf("b%03d", i)) {
			t.Fatalf("change %d, dated back: the index found %q (%q)", i, tree.Hash, reason)
		}
	}
	past, future := time.Unix(1_000_000_000, 0), time.Now().Add(24*time.Hour)
	for i, when := range []time.Time{past, past, future, future, time.Unix(-5, 0), time.Unix(-5, 0), time.Unix(1<<33, 5), time.Unix(1<<33, 5)} {
		r.write("a", fmt.Sprintf("t%03d", i), 0o644)
		date(when)
		for range 2 { // git itself misses a change if the time is cut, or was set back in one tick
			tree, reason := r.update(x)
			if want := r.blobTree(fmt.Sprintf("t%03d", i)); reason != "" || tree.Hash != want {
				t.Errorf("dated %s the index found %q (%q), want %s", when, tree.Hash, reason, want)
			}
		}
	}
}

// blobTree is the tree of one file a.
func (r *repository) blobTree(content string) string {
	r.t.Helper()
	blob, err := git.NewObject("blob", []byte(content))
	if err != nil {
		r.t.Fatal(err)
	}
	tree, err := git.NewTree([]git.Entry{{Mode: git.ModeFile, Name: "a", Hash: blob.Hash}})
	if err != nil {
		r.t.Fatal(err)
	}
	return tree.Hash
}

// What git said about an unknown path is asked for once, as long as no .gitignore file changes and
// none may have changed without that being seen.
func TestVerdictsAreKept(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write(".gitignore", "*.log\n", 0o644)
	r.write("a", "a\n", 0o644)
	r.recorded(false)
	x := r.load()
	r.write("x.log", "x\n", 0o644)
	var asked []string
	at := func(began time.Time) func(*index.Options) {
		return func(o *index.Options) {
			o.Began = began
			ignored := o.Ignored
			o.Ignored = func(ctx context.Context, paths []string) ([]string, error) {
				asked = append(asked, paths...)
				return ignored(ctx, paths)
			}
		}
	}
	long, just := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for n, row := range []struct {
		began time.Time
		rules string // what .gitignore is changed to before
		asks  bool
	}{
		{just, "", true},
		{just, "", true}, // the rules may have been written since
		{long, "", true},
		{long, "", false},
		{just, "", false},
		{long, "*.tmp\n", true},
	} {
		if row.rules != "" {
			r.write(".gitignore", row.rules, 0o644)
		}
		asked = nil
		r.wantSame(x, at(row.began))
		if got := len(asked) > 0; got != row.asks {
			t.Errorf("update %d asked about %q, want %t", n, asked, row.asks)
		}
	}
}

// Whoever has had to read many files that are as they were is told to write the index again.
func TestOutdated(t *testing.T) {
	t.Parallel()
	const many = 64
	r := newRepository(t)
	for n := range many {
		r.write(fmt.Sprint(n), "same\n", 0o644)
	}
	r.recorded(false)
	x := r.load()
	if tree, _ := r.update(x); tree.Outdated {
		t.Error("an index that has just been written is outdated")
	}
	later := time.Now().Add(time.Hour) // never the time that the index has
	for _, touched := range []int{many - 1, many} {
		for n := range touched {
			if err := os.Chtimes(filepath.Join(r.folder, fmt.Sprint(n)), later, later); err != nil {
				t.Fatal(err)
			}
		}
		later = later.Add(time.Hour)
		if tree, _ := r.update(x); tree.Outdated != (touched == many) {
			t.Errorf("after %d files were read the index is outdated: %t", touched, tree.Outdated)
		}
	}
}

// A mode in the index that is not the file's is seen although the file has not changed since.
func TestOtherMode(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a", "a\n", 0o644)
	r.recorded(false)
	cmd := exec.Command("git", "--git-dir", r.repo.Dir, "--work-tree", r.folder, "-c", "core.fileMode=true", "update-index", "--chmod=+x", "a")
	cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+r.repo.Index)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	x := r.load()
	r.wantSame(x)
	r.write("a", "a\n", 0o755) // its tree is known by now
	r.wantSame(x)
}

// Attributes that the index has are heeded as new ones are, and so are those that it does not have.
func TestKnownAttributes(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write(".gitignore", "sub/.gitattributes\n", 0o644)
	r.write("sub/.gitattributes", "* text\n", 0o644)
	r.write("sub/a", "a\n", 0o644)
	r.recorded(false)
	x := r.load()
	r.wantSame(x)
	r.remove("sub/.gitattributes")
	if _, reason := r.update(x); reason != index.ReasonAttributes {
		t.Errorf("after ignored attributes are gone the reason is %q", reason)
	}
	r.write("sub/.gitattributes", "*.x ident\n", 0o644)
	if _, reason := r.update(x); reason != index.ReasonAttributes {
		t.Errorf("for ignored attributes the reason is %q", reason)
	}
	r.remove("sub/.gitattributes")
	r.write(".gitattributes", "*.x filter=f\n", 0o644)
	r.recorded(false)
	if _, reason := r.update(r.load()); reason != index.ReasonAttributes {
		t.Errorf("for a filter that the index has the reason is %q", reason)
	}
}
