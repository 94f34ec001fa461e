//go:build linux

package index_test

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the checksum of git's index file
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// rewrite changes the first entry of an index file.
func rewrite(data []byte, change func(entry []byte)) []byte {
	data = bytes.Clone(data)
	change(data[12:])
	sum := sha1.Sum(data[:len(data)-sha1.Size]) //nolint:gosec // as above
	return append(data[:len(data)-sha1.Size], sum[:]...)
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
	data = rewrite(data, func(entry []byte) { // as if all had happened in one tick, and the index was written later
		for i, n := range []int64{st.Ctim.Sec, st.Ctim.Nsec, st.Mtim.Sec, st.Mtim.Nsec} {
			binary.BigEndian.PutUint32(entry[4*i:], uint32(n))
		}
		binary.BigEndian.PutUint32(entry[36:], 0)
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
