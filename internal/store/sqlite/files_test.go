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
	"pawl/internal/testsize"
)

// recordingDisk performs calls on the real file system and records them in a
// [crashDisk]. It records syncs without performing them.
type recordingDisk struct {
	*crashDisk
	mu sync.Mutex
	// before is called before each call. If it returns an error, the call fails with it.
	before func(call string) error
	// after is called after each successful call.
	after func(call string)
}

// newRecordingDisk returns a disk on which only the folder exists and is durable.
func newRecordingDisk(folder string) *recordingDisk {
	d := &recordingDisk{crashDisk: newCrashDisk(), before: func(string) error { return nil }, after: func(string) {}}
	d.mkdirAll(folder, true)
	return d
}

// call performs a call and records its effect.
func (d *recordingDisk) call(name string, call func() error, record func()) error {
	if err := d.before(name); err != nil {
		return err
	}
	if err := call(); err != nil {
		return err
	}
	d.mu.Lock()
	record()
	d.mu.Unlock()
	d.after(name)
	return nil
}

func (d *recordingDisk) MkdirAll(path string, mode os.FileMode) error {
	return d.call("make folder "+path, func() error { return os.MkdirAll(path, mode) }, func() { d.mkdirAll(path, false) })
}

func (d *recordingDisk) OpenFile(path string, flag int, mode os.FileMode) (file, error) {
	f := &recordingFile{disk: d}
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

func (d *recordingDisk) CreateTemp(folder, pattern string) (file, error) {
	f := &recordingFile{disk: d, node: &node{}}
	return f, d.call("create a file in "+folder, func() (err error) {
		f.File, err = os.CreateTemp(folder, pattern)
		return err
	}, func() { d.set(f.Name(), f.node) })
}

func (d *recordingDisk) Rename(from, to string) error {
	return d.call("rename to "+to, func() error { return os.Rename(from, to) }, func() {
		n := d.find(from)
		d.set(from, nil)
		d.set(to, n)
	})
}

func (d *recordingDisk) Remove(path string) error {
	return d.call("remove "+path, func() error { return os.Remove(path) }, func() { d.set(path, nil) })
}

func (d *recordingDisk) RemoveAll(path string) error {
	return d.call("remove all of "+path, func() error { return os.RemoveAll(path) }, func() {
		if n := d.find(path); n != nil {
			for name := range n.current {
				n.change(edit{name: name})
			}
			d.set(path, nil)
		}
	})
}

type recordingFile struct {
	*os.File
	disk *recordingDisk
	node *node
	size int64
}

func (f *recordingFile) Write(data []byte) (n int, err error) {
	err = f.disk.call("write", func() error {
		n, err = f.File.Write(data)
		return err
	}, func() {
		f.node.change(edit{at: f.size, data: data})
		f.size += int64(n)
	})
	return n, err
}

func (f *recordingFile) Sync() error {
	return f.disk.call("sync "+f.Name(), func() error { return nil }, func() { f.node.endSync(f.node.beginSync()) })
}

func (f *recordingFile) Close() error {
	return f.disk.call("close "+f.Name(), f.File.Close, func() {})
}

// workload uses a folder as a log does. It prepares the folder and writes blobs, two
// of them to the same subfolder, and then does both again, as a new process would.
type workload struct {
	*recordingDisk
	fileSystem
	blobs [][]byte

	prepared bool
	stored   map[string][]byte // files that were written and so must survive
}

// newWorkload returns a workload whose folder and its parents do not exist yet.
func newWorkload(t *testing.T) *workload {
	base := t.TempDir()
	f := &workload{recordingDisk: newRecordingDisk(base), stored: map[string][]byte{}}
	f.fileSystem = fileSystem{filepath.Join(base, "state", "pawl", "project"), f.recordingDisk}
	below := map[string][]byte{}
	for seed := uint64(0); len(f.blobs) < 3; seed++ {
		blob := storetest.Noise(seed, 2000)
		first := pawl.HashOf(blob).String()[:2]
		if other := below[first]; other != nil { // two in one folder and one in another
			f.blobs = [][]byte{other, storetest.Noise(seed+1, 2000), blob}
		}
		below[first] = blob
	}
	return f
}

func nameOf(blob []byte) string { return blobFile(ref{hash: pawl.HashOf(blob)}) }

func (f *workload) store(blob []byte) error {
	if err := f.write(nameOf(blob), blob); err != nil {
		return err
	}
	f.stored[f.path(nameOf(blob))] = blob
	return nil
}

// use prepares the folder and stores the blobs, twice.
func (f *workload) use() error {
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

// wantStored checks that the database and the stored blobs survive a power cut and
// that no blob is incomplete.
func (f *workload) wantStored(t *testing.T, when string, most int) {
	t.Helper()
	f.crashes(uint64(1000*testsize.Turn()+len(f.stored)), most, func(found image) {
		if f.prepared && found[f.path(fileName)] == nil {
			t.Fatalf("a power cut after %s loses the database", when)
		}
		for name, want := range f.stored {
			if string(found[name]) != string(want) {
				t.Fatalf("a power cut after %s loses the blob %s: it has %d bytes, want %d; the disk holds\n%s",
					when, filepath.Base(name), len(found[name]), len(want), found)
			}
		}
		for name, content := range found {
			if !strings.HasPrefix(name, f.path(blobFolder)) || strings.HasPrefix(name, f.path(tempFolder)) || content == nil {
				continue
			}
			if pawl.HashOf(content).String() != filepath.Base(name) {
				t.Fatalf("a power cut after %s leaves an incomplete blob %s", when, filepath.Base(name))
			}
		}
	})
}

// The database and all acknowledged blobs survive a power cut at any time, whichever
// unsynced changes survive with them, and no blob is left incomplete. F-62
func TestPowerCut(t *testing.T) {
	most := testsize.Of(250, 500, 5000)
	t.Run("after each call", func(t *testing.T) {
		f := newWorkload(t)
		f.after = func(call string) { f.wantStored(t, call, most) }
		if err := f.use(); err != nil {
			t.Fatal(err)
		}
		f.wantStored(t, "everything", most)
	})
	// Another goroutine has created the folders but has not synced them yet.
	t.Run("while another blob is being written", func(t *testing.T) {
		for at := 0; ; at++ {
			f := newWorkload(t)
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
					f.wantStored(t, "another blob at "+call, most)
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
	// The next process finds files that a killed process created but did not sync.
	t.Run("after a kill", func(t *testing.T) {
		errKilled := errors.New("the process was killed")
		for at := 0; ; at++ {
			if !testsize.Every(at, 4) {
				continue
			}
			f := newWorkload(t)
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
				t.Errorf("killed at call %d: temporary files remain: %v", at+1, err)
			}
			f.prepared = true
			f.wantStored(t, fmt.Sprintf("a kill at call %d, in the next process", at+1), most/50)
			for _, blob := range f.blobs {
				if err := f.store(blob); err != nil {
					t.Fatal(err)
				}
				f.wantStored(t, fmt.Sprintf("a kill at call %d, in the next process", at+1), most/50)
			}
		}
	})
}

// A failed call returns its error, leaves no temporary file and can be repeated.
func TestFailingCalls(t *testing.T) {
	for at := 0; ; at++ {
		if !testsize.Every(at, 5) {
			continue
		}
		f := newWorkload(t)
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
			continue // the next process removes a temporary file that could not be removed
		}
		// An error from closing a synced file or a folder may be ignored.
		if err == nil && !strings.HasPrefix(failed, "close ") || err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("%s fails, but the error is %v", failed, err)
		}
		if left, _ := os.ReadDir(f.path(tempFolder)); len(left) > 0 {
			t.Errorf("%s fails and leaves %d temporary files", failed, len(left))
		}
		if err := f.use(); err != nil {
			t.Errorf("after a failure of %s, a second attempt: %v", failed, err)
		}
		f.wantStored(t, failed+" had failed", 50)
	}
}

// A log can be created below a folder that cannot be synced, but not on a failing
// disk.
func TestAncestorsThatCannotBeSynced(t *testing.T) {
	for _, row := range []struct {
		err  error
		own  bool // the log's own folder cannot be synced
		want error
	}{
		{syscall.EACCES, false, nil},
		{syscall.EINVAL, false, nil},
		{syscall.ENOTSUP, false, nil},
		{syscall.EROFS, false, nil},
		{syscall.EIO, false, syscall.EIO},
		{syscall.EINVAL, true, syscall.EINVAL},
	} {
		f := newWorkload(t)
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
			t.Errorf("sync of %s fails with %v: got error %v, want %v", at, row.err, err, row.want)
		}
	}
}

// Opening a log that is not empty syncs nothing.
func TestPrepareOfALogInUse(t *testing.T) {
	f := newWorkload(t)
	if err := f.prepare(); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f.path(fileName), []byte("x"))
	f.before = func(call string) error {
		if strings.HasPrefix(call, "sync ") {
			t.Errorf("unexpected call: %s", call)
		}
		return nil
	}
	if err := f.prepare(); err != nil {
		t.Fatal(err)
	}
}

// After a power cut the log opens, has every acknowledged unit and accepts new ones,
// whatever survives of the blob files. F-62
func TestOpenAfterAPowerCut(t *testing.T) {
	most := testsize.Of(3, 3, 6)
	base := t.TempDir()
	dir := filepath.Join(base, "log")
	d := newRecordingDisk(base)
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
			t.Errorf("temporary files remain: %v", err)
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
		if calls++; testsize.Every(calls, 7) {
			d.crashes(uint64(1000*testsize.Turn()+calls), most, want)
		}
	}
	for i := range 4 {
		storetest.MustAppend(t, log, unit(i))
		acknowledged++
		file, wal = copyFiles(t, dir)
		d.crashes(uint64(1000*testsize.Turn()+i), most, want)
	}
}
