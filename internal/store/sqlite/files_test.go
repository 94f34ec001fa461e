package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
)

// fragileDisk is the operating system's disk, of which it keeps the [platter].
// Its syncs cost nothing: they are only noted.
type fragileDisk struct {
	*platter
	mu sync.Mutex
	// before is called before a call does anything, which an error prevents.
	before func(call string) error
	// after is called when a call has succeeded.
	after func(call string)
}

// newFragileDisk is one on which the folder is safe.
func newFragileDisk(folder string) *fragileDisk {
	d := &fragileDisk{platter: newPlatter(), before: func(string) error { return nil }, after: func(string) {}}
	d.mkdirAll(folder, true)
	return d
}

// call makes a call, and notes on the platter what it did.
func (d *fragileDisk) call(name string, call func() error, note func()) error {
	if err := d.before(name); err != nil {
		return err
	}
	if err := call(); err != nil {
		return err
	}
	d.mu.Lock()
	note()
	d.mu.Unlock()
	d.after(name)
	return nil
}

func (d *fragileDisk) MkdirAll(path string, mode os.FileMode) error {
	return d.call("make folder "+path, func() error { return os.MkdirAll(path, mode) }, func() { d.mkdirAll(path, false) })
}

func (d *fragileDisk) OpenFile(path string, flag int, mode os.FileMode) (file, error) {
	f := &fragileFile{disk: d}
	return f, d.call("open "+path, func() (err error) {
		f.File, err = os.OpenFile(path, flag, mode)
		return err
	}, func() {
		if f.node = d.find(path); f.node == nil {
			f.node = &node{}
			d.set(path, f.node)
		}
	})
}

func (d *fragileDisk) CreateTemp(folder, pattern string) (file, error) {
	f := &fragileFile{disk: d, node: &node{}}
	return f, d.call("create a file in "+folder, func() (err error) {
		f.File, err = os.CreateTemp(folder, pattern)
		return err
	}, func() { d.set(f.Name(), f.node) })
}

func (d *fragileDisk) Rename(from, to string) error {
	return d.call("rename to "+to, func() error { return os.Rename(from, to) }, func() {
		n := d.find(from)
		d.set(from, nil)
		d.set(to, n)
	})
}

func (d *fragileDisk) Remove(path string) error {
	return d.call("remove "+path, func() error { return os.Remove(path) }, func() { d.set(path, nil) })
}

func (d *fragileDisk) RemoveAll(path string) error {
	return d.call("remove all of "+path, func() error { return os.RemoveAll(path) }, func() {
		if n := d.find(path); n != nil {
			for name := range n.now {
				n.change(edit{name: name})
			}
			d.set(path, nil)
		}
	})
}

type fragileFile struct {
	*os.File
	disk *fragileDisk
	node *node
	size int64
}

func (f *fragileFile) Write(data []byte) (n int, err error) {
	err = f.disk.call("write", func() error {
		n, err = f.File.Write(data)
		return err
	}, func() {
		f.node.change(edit{at: f.size, data: data})
		f.size += int64(n)
	})
	return n, err
}

func (f *fragileFile) Sync() error {
	return f.disk.call("sync "+f.Name(), func() error { return nil }, func() { f.node.settle(f.node.mark()) })
}

func (f *fragileFile) Close() error {
	return f.disk.call("close "+f.Name(), f.File.Close, func() {})
}

// filing uses a folder on a fragile disk as a log does: it prepares it, writes
// blobs, some of them below the same folder, and does so again in a new process.
type filing struct {
	*fragileDisk
	fileSystem
	blobs [][]byte

	prepared bool
	safe     map[string][]byte // the files of which a log would say that it has them
}

// mustFile is a filing in which no folder exists yet.
func mustFile(t *testing.T) *filing {
	base := t.TempDir()
	f := &filing{fragileDisk: newFragileDisk(base), safe: map[string][]byte{}}
	f.fileSystem = fileSystem{filepath.Join(base, "state", "pawl", "project"), f.fragileDisk}
	below := map[string][]byte{}
	for seed := uint64(0); len(f.blobs) < 3; seed++ {
		blob := storetest.Noise(seed, 2000)
		first := pawl.HashOf(blob).String()[:2]
		if other := below[first]; other != nil { // two below one folder, and one that is below another
			f.blobs = [][]byte{other, storetest.Noise(seed+1, 2000), blob}
		}
		below[first] = blob
	}
	return f
}

func nameOf(blob []byte) string { return blobFile(ref{hash: pawl.HashOf(blob)}) }

func (f *filing) store(blob []byte) error {
	if err := f.write(nameOf(blob), blob); err != nil {
		return err
	}
	f.safe[f.path(nameOf(blob))] = blob
	return nil
}

// use makes every call that there is.
func (f *filing) use() error {
	for range 2 {
		if err := f.prepare(); err != nil {
			return err
		}
		f.prepared = true
		for _, blob := range f.blobs {
			if err := f.store(blob); err != nil {
				return err
			}
		}
	}
	return nil
}

// wantSafe checks what is found after power cuts.
func (f *filing) wantSafe(t *testing.T, when string, most int) {
	t.Helper()
	f.cuts(uint64(len(f.safe)), most, func(found image) {
		if f.prepared && found[f.path(fileName)] == nil {
			t.Fatalf("a power cut after %s loses the database", when)
		}
		for name, want := range f.safe {
			if string(found[name]) != string(want) {
				t.Fatalf("a power cut after %s loses the blob %s: it has %d bytes, want %d; there is\n%s",
					when, filepath.Base(name), len(found[name]), len(want), found)
			}
		}
		for name, content := range found {
			if !strings.HasPrefix(name, f.path(blobFolder)) || strings.HasPrefix(name, f.path(tempFolder)) || content == nil {
				continue
			}
			if pawl.HashOf(content).String() != filepath.Base(name) {
				t.Fatalf("a power cut after %s leaves a blob %s that is half written", when, filepath.Base(name))
			}
		}
	})
}

// Whenever the power is cut, whatever the disk had kept of what was not synced:
// the database and the blobs that a log would have acknowledged are there, and
// nothing that is half written is called a blob. F-62
func TestPowerCut(t *testing.T) {
	most := 5000 / stride(20)
	t.Run("after each call", func(t *testing.T) {
		f := mustFile(t)
		f.after = func(call string) { f.wantSafe(t, call, most) }
		if err := f.use(); err != nil {
			t.Fatal(err)
		}
		f.wantSafe(t, "everything", most)
	})
	// Another goroutine makes folders and does not get to syncing them.
	t.Run("while another blob is being written", func(t *testing.T) {
		for at := 0; ; at++ {
			f := mustFile(t)
			if err := f.prepare(); err != nil {
				t.Fatal(err)
			}
			f.prepared = true
			calls := 0
			f.after = func(call string) {
				if calls++; calls == at+1 {
					if err := f.store(f.blobs[2]); err != nil {
						t.Fatal(err)
					}
					f.wantSafe(t, "another blob at "+call, most)
				}
			}
			if err := f.store(f.blobs[0]); err != nil {
				t.Fatal(err)
			}
			if calls <= at {
				return
			}
		}
	})
	// What a killed process made is there, and not synced, when the next one begins.
	t.Run("after a kill", func(t *testing.T) {
		errKilled := errors.New("the process was killed")
		for at := 0; ; at += stride(4) {
			f := mustFile(t)
			calls := 0
			f.before = func(string) error {
				if calls++; calls > at {
					return errKilled
				}
				return nil
			}
			err := f.use()
			if err == nil {
				return
			}
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			f.before = func(string) error { return nil }
			if err := f.prepare(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(f.path(tempFolder)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("killed at call %d: what was half written is still there: %v", at+1, err)
			}
			f.prepared = true
			f.wantSafe(t, fmt.Sprintf("a kill at call %d, in the next process", at+1), most/50)
			for _, blob := range f.blobs {
				if err := f.store(blob); err != nil {
					t.Fatal(err)
				}
				f.wantSafe(t, fmt.Sprintf("a kill at call %d, in the next process", at+1), most/50)
			}
		}
	})
}

// A call that fails is an error, leaves no temporary file, and can be made again.
func TestFailingCalls(t *testing.T) {
	for at := 0; ; at += stride(5) {
		f := mustFile(t)
		calls, failed := 0, ""
		f.before = func(call string) error {
			if calls++; calls == at+1 && !strings.HasPrefix(call, "remove "+f.dir) {
				failed = call
				return syscall.EIO
			}
			return nil
		}
		err := f.use()
		if calls <= at {
			return
		}
		if failed == "" {
			continue // temporary files that stay are removed when the log is next opened
		}
		// Of closing, only that of a file that was written tells of the disk.
		if err == nil && !strings.HasPrefix(failed, "close ") || err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("%s fails, and the error is %v", failed, err)
		}
		if left, _ := os.ReadDir(f.path(tempFolder)); len(left) > 0 {
			t.Errorf("%s fails, and %d temporary files are left", failed, len(left))
		}
		if err := f.use(); err != nil {
			t.Errorf("%s has failed before, and then %v", failed, err)
		}
		f.wantSafe(t, failed+" had failed", 50)
	}
}

// A folder above that is not ours to sync does not keep a log from being made;
// a disk that fails does.
func TestAncestorsThatCannotBeSynced(t *testing.T) {
	for _, row := range []struct {
		err  error
		own  bool // the folder itself cannot be synced
		want error
	}{
		{syscall.EACCES, false, nil},
		{syscall.EINVAL, false, nil},
		{syscall.ENOTSUP, false, nil},
		{syscall.EROFS, false, nil},
		{syscall.EIO, false, syscall.EIO},
		{syscall.EINVAL, true, syscall.EINVAL},
	} {
		f := mustFile(t)
		at := filepath.Dir(f.dir)
		if row.own {
			at = f.dir
		}
		f.before = func(call string) error {
			if call == "sync "+at {
				return row.err
			}
			return nil
		}
		if err := f.prepare(); !errors.Is(err, row.want) {
			t.Errorf("syncing %s fails with %v, and the error is %v", at, row.err, err)
		}
	}
}

// A log that was written to is not synced again each time it is opened.
func TestPrepareOfALogInUse(t *testing.T) {
	f := mustFile(t)
	if err := f.prepare(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f.path(fileName), []byte("x"))
	f.before = func(call string) error {
		if strings.HasPrefix(call, "sync ") {
			t.Errorf("it made the call %s", call)
		}
		return nil
	}
	if err := f.prepare(); err != nil {
		t.Fatal(err)
	}
}

// After a power cut a log opens, has everything that was acknowledged and goes
// on, whatever the disk had kept of the files of blobs. F-62
func TestOpenAfterAPowerCut(t *testing.T) {
	most := 6 / stride(2)
	base := t.TempDir()
	dir := filepath.Join(base, "log")
	d := newFragileDisk(base)
	log, err := openOn(d, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, log)
	blob := func(i int) []byte { return storetest.Noise(uint64(i), 70_000) }
	unit := func(i int) pawl.Unit { return storetest.Unit("001-a", pawl.Seq(i), 1, blob(i)) }
	acknowledged := 0
	file, wal := copyFiles(t, dir)
	want := func(found image) {
		t.Helper()
		to := t.TempDir()
		found.mustRestore(t, dir, to)
		mustWrite(t, filepath.Join(to, fileName), file)
		mustWrite(t, filepath.Join(to, fileName+"-wal"), wal)
		log := mustOpen(t, to)
		defer mustClose(t, log)
		if _, err := os.Stat(filepath.Join(to, tempFolder)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what was half written is still there: %v", err)
		}
		if acknowledged > 0 {
			wantRun(t, log, "001-a", acknowledged)
		}
		storetest.MustAppend(t, log, unit(acknowledged))
		for i := range acknowledged + 1 {
			storetest.MustBlob(t, log, "001-a", blob(i))
		}
	}
	calls := 0
	d.after = func(string) {
		if calls++; calls%stride(7) == 0 {
			d.cuts(uint64(calls), most, want)
		}
	}
	for i := range 4 {
		storetest.MustAppend(t, log, unit(i))
		acknowledged++
		file, wal = copyFiles(t, dir)
		d.cuts(uint64(i), most, want)
	}
}
