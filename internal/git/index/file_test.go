//go:build linux

package index_test

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the checksum of git's index file
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"pawl/internal/git/index"
	"pawl/internal/testsize"
)

// signed returns an index file with the checksum of its content.
func signed(body []byte) []byte {
	sum := sha1.Sum(body) //nolint:gosec // as above
	return append(bytes.Clone(body), sum[:]...)
}

// rewrite changes the body of an index file.
func rewrite(data []byte, change func(body []byte) []byte) []byte {
	return signed(change(bytes.Clone(data[:len(data)-sha1.Size])))
}

// entry is an entry of an index file.
func entry(path string, mode uint32, flags uint16) []byte {
	b := make([]byte, 62, 80+len(path))
	binary.BigEndian.PutUint32(b[24:], mode)
	binary.BigEndian.PutUint16(b[60:], flags|uint16(min(len(path), 0xFFF)))
	b = append(b, path...)
	return append(b, make([]byte, 8-len(b)%8)...)
}

// file is an index file with entries and an extension; no name means none.
func file(name, extension string, entries ...[]byte) []byte {
	b := append([]byte("DIRC\x00\x00\x00\x02"), 0, 0, 0, byte(len(entries)))
	b = append(b, bytes.Join(entries, nil)...)
	if name != "" {
		b = append(b, name...)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(extension))), extension...)
	}
	return signed(b)
}

// reasonOf returns why an index file is left to git; empty if it is not.
func reasonOf(t *testing.T, data []byte) index.Reason {
	t.Helper()
	x, err := index.Read(data, time.Now())
	if err == nil {
		if x == nil {
			t.Fatal("there is neither an index nor an error")
		}
		return ""
	}
	u, ok := errors.AsType[*index.Unsupported](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	if u.Error() == "" || u.Err != nil && !errors.Is(err, u.Err) {
		t.Errorf("the error says %q", u)
	}
	return u.Reason
}

func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	const plain = 0o100644
	a, b := entry("a", plain, 0), entry("b", plain, 0)
	tree := func(text string) []byte { return file("TREE", text, a, entry("d/b", plain, 0)) }
	hash := strings.Repeat("h", 20)
	deep := strings.Repeat("d/", 2040) + "f"
	for _, row := range []struct {
		name string
		data []byte
		want index.Reason
	}{
		{"empty", file("", ""), ""},
		{"two files", file("", "", a, b), ""},
		{"no bytes", nil, index.ReasonVersion},
		{"a checksum alone", signed(nil), index.ReasonVersion},
		{"a wrong checksum", append(file("", "", a)[:12], make([]byte, 92)...), index.ReasonVersion},
		{"another signature", rewrite(file("", ""), func(b []byte) []byte { b[0] = 'X'; return b }), index.ReasonVersion},
		{"version 3", rewrite(file("", ""), func(b []byte) []byte { b[7] = 3; return b }), index.ReasonVersion},
		{"too many entries", rewrite(file("", "", a), func(b []byte) []byte { copy(b[8:], "\xff\xff\xff\xff"); return b }), index.ReasonVersion},
		{"too few entries", rewrite(file("", "", a, b), func(b []byte) []byte { b[11] = 1; return b }), index.ReasonVersion},
		{"no padding", rewrite(file("", "", a), func(b []byte) []byte { return b[:len(b)-1] }), index.ReasonVersion},
		{"a name without its end", signed(append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"), bytes.Repeat([]byte{'x'}, 80)...)), index.ReasonVersion},
		{"no name", file("", "", entry("", plain, 0)), index.ReasonVersion},
		{"the same name twice", file("", "", a, a), index.ReasonVersion},
		{"names out of order", file("", "", b, a), index.ReasonVersion},
		{"a file in a folder's place", file("", "", a, entry("a/b", plain, 0)), index.ReasonVersion},
		{"the same, not in sequence", file("", "", a, entry("a-", plain, 0), entry("a/b", plain, 0)), index.ReasonVersion},
		{"an absolute path", file("", "", entry("/etc/passwd", plain, 0)), index.ReasonVersion},
		{"a path with ..", file("", "", entry("a/../../b", plain, 0)), index.ReasonVersion},
		{"a path with .", file("", "", entry("./b", plain, 0)), index.ReasonVersion},
		{"a folder", file("", "", entry("a/", plain, 0)), index.ReasonVersion},
		{"a path with .git", file("", "", entry("a/.git/config", plain, 0)), index.ReasonVersion},
		{"a deep path", file("", "", entry(deep, plain, 0)), ""},
		{"a path that is too long", file("", "", entry(deep+strings.Repeat("x", 100), plain, 0)), index.ReasonVersion},
		{"another mode", file("", "", entry("a", 0o40000, 0)), index.ReasonVersion},
		{"a submodule", file("", "", entry("a", 0o160000, 0)), index.ReasonSubmodule},
		{"a conflict", file("", "", entry("a", plain, 0x1000)), index.ReasonState},
		{"assume unchanged", file("", "", entry("a", plain, 0x8000)), index.ReasonState},
		{"more flags", file("", "", entry("a", plain, 0x4000)), index.ReasonState},
		{"an extension that may be skipped", file("UNTR", "xyz", a), ""},
		{"one that may not", file("link", hash, a), index.ReasonVersion},
		{"a header without its end", rewrite(file("TREE", "", a), func(b []byte) []byte { return b[:len(b)-1] }), index.ReasonVersion},
		{"an extension that is too long", rewrite(file("TREE", "x", a), func(b []byte) []byte { return b[:len(b)-1] }), index.ReasonVersion},
		{"no trees", tree("\x00-1 0\n"), ""},
		{"trees", tree("\x002 1\n" + hash + "d\x001 0\n" + hash), ""},
		{"a tree of another folder", tree("\x002 1\n" + hash + "e\x001 0\n" + hash), ""},
		{"a tree without its name", tree("-1 0\n"), index.ReasonVersion},
		{"a tree without numbers", tree("\x00\n"), index.ReasonVersion},
		{"a tree with other words", tree("\x00x y\n"), index.ReasonVersion},
		{"a tree without its hash", tree("\x002 0\nshort"), index.ReasonVersion},
		{"a folder less", tree("\x00-1 1\n"), index.ReasonVersion},
		{"a great many folders", tree("\x00-1 9000000000000000000\n"), index.ReasonVersion},
		{"very deep trees", tree(strings.Repeat("\x00-1 1\n", 100_000) + "\x00-1 0\n"), index.ReasonVersion},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := reasonOf(t, row.data); got != row.want {
				t.Errorf("the reason is %q, want %q", got, row.want)
			}
		})
	}
}

// Git's own files, in forms that are left to git.
func TestFormsOfFiles(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		calls []string
		want  index.Reason
	}{
		"version 3":          {[]string{"update-index --index-version 3", "update-index --skip-worktree a"}, index.ReasonVersion},
		"version 4":          {[]string{"update-index --index-version 4"}, index.ReasonVersion},
		"split":              {[]string{"-c core.splitIndex=true update-index --split-index"}, index.ReasonVersion},
		"skip worktree":      {[]string{"update-index --skip-worktree a"}, index.ReasonVersion},
		"assume unchanged":   {[]string{"update-index --assume-unchanged a"}, index.ReasonState},
		"intent to add":      {[]string{"rm --cached -q a", "add -N a"}, index.ReasonVersion},
		"an untracked cache": {[]string{"-c core.untrackedCache=true update-index --force-untracked-cache"}, ""},
		"an offset table":    {[]string{"-c index.threads=4 update-index --force-write-index"}, ""},
		"a submodule":        {[]string{"update-index --add --cacheinfo 160000,5d0c1c3b5b8f5b9b5d6c3b6c3b6c3b6c3b6c3b6c,sub"}, index.ReasonSubmodule},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.write("a", "a\n", 0o644)
			r.write("d/e", "e\n", 0o755)
			r.recorded(false)
			for _, call := range row.calls {
				if out, err := r.repo.Git(t.Context(), nil, strings.Fields(call)...); err != nil {
					t.Fatalf("git %s: %v: %s", call, err, out)
				}
			}
			data, _ := r.file()
			if got := reasonOf(t, data); got != row.want {
				t.Errorf("the reason is %q, want %q", got, row.want)
			}
			if row.want == "" {
				r.wantSame(r.load())
			}
		})
	}
}

// Whatever an index file holds, it is read or refused, with memory in proportion to its size.
func FuzzRead(f *testing.F) {
	for _, body := range [][]byte{
		file("", ""), file("TREE", "\x002 1\nhhhhhhhhhhhhhhhhhhhhd\x00-1 0\n", entry("a", 0o100644, 0), entry("d/b", 0o120000, 0)),
		file("link", "x", entry("a/b/c", 0o100755, 0x1000)), file("TREE", strings.Repeat("\x00-1 1\n", 100)),
	} {
		f.Add(body[:len(body)-sha1.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		data := signed(body)
		x, err := index.Read(data, time.Unix(1, 0))
		if err != nil {
			return
		}
		again := x.Encode(false, apart)
		y, err := index.Read(again, time.Unix(1, 0))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if y.Len() != x.Len() || !bytes.Equal(y.Encode(false, apart), again) {
			t.Error("what was written is read as something else")
		}
	})
}

// Random damage to a file of git's own.
func TestRandomDamage(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	for _, path := range []string{"a", "b/c", "b/d/e", "b-", "x y", "z/ü"} {
		r.write(path, path, 0o644)
	}
	r.recorded(false)
	data, _ := r.file()
	random := rand.New(rand.NewPCG(19, 41))
	for range 5000 {
		reasonOf(t, rewrite(data, func(b []byte) []byte {
			for range 1 + random.IntN(4) {
				b[8+random.IntN(len(b)-8)] = byte(random.IntN(256))
			}
			return b[:len(b)-random.IntN(2)*random.IntN(len(b))]
		}))
	}
}

// A large file takes no more memory than its size allows for.
func TestMemoryOfRead(t *testing.T) {
	size := testsize.Of(2<<20, 8<<20, 8<<20)
	slashes := bytes.Repeat(entry(strings.Repeat("d/", 2000)+"x", 0o100644, 0), size/4096)
	for name, data := range map[string][]byte{
		"trees":   file("TREE", strings.Repeat("\x00-1 1\n", size/6)),
		"folders": file("TREE", "\x00-1 9000000000000000000\n"+strings.Repeat("x\x00-1 0\n", size/7)),
		"entries": signed(append([]byte("DIRC\x00\x00\x00\x02\xff\xff\xff\xff"), slashes...)),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			reasonOf(t, data)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 100*uint64(size) {
				t.Errorf("it took %d MB", used>>20)
			}
		})
	}
}

// Git reads what is written as it reads its own file.
func TestEncode(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	long := strings.Repeat("n", 250)
	r.write("a", "a\n", 0o644)
	r.recorded(false)
	x := r.load()
	for i, path := range []string{"b", "x/y/z", "x-", "x.y", "x0", "ü", "bad\xff", "line\nbreak", "-dash", ":(exclude)x", " ", "*", "[a]", "\\", "\"", strings.Repeat(long+"/", 15) + "f", strings.Repeat(long+"/", 16) + "f"} {
		r.write(path, path, 0o644+os.FileMode(i%2)*0o111)
	}
	r.link("link", "x/y")
	r.write(".pawl/tasks/1/plan.md", "plan\n", 0o644)
	tree, reason := r.update(x, withApart)
	if reason != "" {
		t.Fatal(reason)
	}
	if want := r.recorded(false); tree.Hash != want {
		t.Errorf("the index found %s, git %s:\n%s", tree.Hash, want, r.difference(tree.Hash, want))
	}
	if want := r.recorded(true); tree.Full != want {
		t.Errorf("with what is apart the index found %s, git %s", tree.Full, want)
	}
	r.fsck(tree.Hash, tree.Full)
	listed := func() string {
		out, err := r.repo.Git(t.Context(), nil, "ls-files", "--debug", "--stage", "-z")
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	ours := func(all bool) {
		if err := os.WriteFile(r.repo.Index, x.Encode(all, apart), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := listed()
	r.update(x, func(o *index.Options) { o.WithApart, o.Began = true, time.Now().Add(time.Hour) }) // nothing is racy by then
	ours(false)
	if got := listed(); got != want {
		t.Errorf("git lists\n%s\nwant\n%s", got, want)
	}
	if n := r.load().Len(); n != x.Len() {
		t.Errorf("%d files are read, want %d", n, x.Len())
	}
	data, _ := r.file()
	racy, err := index.Read(data, time.Unix(1, 0))
	if err == nil {
		err = os.WriteFile(r.repo.Index, racy.Encode(false, apart), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(listed()) {
		if _, size, found := strings.Cut(line, "size: "); found && !strings.HasPrefix(size, "0\t") {
			t.Errorf("a file that may change unseen has %q", line)
		}
	}
	for _, all := range []bool{false, true} {
		ours(all)
		tree := map[bool]string{false: tree.Hash, true: tree.Full}[all]
		for _, args := range [][]string{{"diff-files", "--quiet"}, {"diff-index", "--cached", "--quiet", tree, "--"}, {"fsck", "--strict", "--no-dangling", "--cache"}} {
			if out, err := r.repo.Git(t.Context(), nil, args...); err != nil {
				t.Errorf("git %s: %v: %s", args, err, out)
			}
		}
		if got, err := r.repo.WriteTree(t.Context()); err != nil || got != tree {
			t.Errorf("git writes the tree %s, %v; want %s", got, err, tree)
		}
	}
}

// A known tree with another number of files is not that of the folder.
func TestTreesOfOthers(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a", "a\n", 0o644)
	want := r.recorded(false)
	theirs, _ := r.file()
	for _, count := range []string{"2", "0", "-1", "1"} {
		data := rewrite(theirs, func(b []byte) []byte {
			b = b[:bytes.Index(b, []byte("TREE"))]
			known := "\x00" + count + " 0\n" + strings.Repeat("x", 20)
			return append(append(append(b, "TREE"...), 0, 0, 0, byte(len(known))), known...)
		})
		x, err := index.Read(data, time.Now())
		if count == "-1" {
			if err == nil {
				t.Error("a hash of no tree was read")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		tree, reason := r.update(x)
		if reason != "" || (tree.Hash == want) == (count == "1") { // the last one is believed
			t.Errorf("with the tree of %s files the index found %s (%q)", count, tree.Hash, reason)
		}
	}
}
