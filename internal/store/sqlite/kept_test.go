package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/store/storetest"
)

// mustKeep keeps a state of a run after an event.
func mustKeep(t *testing.T, log *Log, id pawl.RunID, seq pawl.Seq) pawl.Kept {
	t.Helper()
	want := pawl.Kept{Seq: seq, Form: "form", State: []byte(strings.Repeat(fmt.Sprintf("%s after %d. ", id, seq), 100))}
	if err := log.Keep(t.Context(), id, want); err != nil {
		t.Fatal(err)
	}
	k := mustKept(t, log, id)
	if want.Sum = k.Sum; !cmp.Equal(k, want) {
		t.Fatalf("what is kept of %s after %d is %+v, want %+v", id, seq, k, want)
	}
	return k
}

func mustKept(t *testing.T, log *Log, id pawl.RunID) pawl.Kept {
	t.Helper()
	k, err := log.Kept(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// wantSince checks that the events after a kept state are those of the log.
func wantSince(t *testing.T, log *Log, id pawl.RunID, k pawl.Kept) {
	t.Helper()
	got, err := storetest.Collect(log.Since(t.Context(), id, k))
	if err != nil {
		t.Fatalf("after %d: %v", k.Seq, err)
	}
	if want := storetest.MustEvents(t, log, id, k.Seq); !cmp.Equal(got, want) {
		t.Fatalf("after %d: got %d events, want %d", k.Seq, len(got), len(want))
	}
}

// stateFiles lists the files of kept states.
func stateFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, keptFolder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// States are kept after any unit, one after the other, and the events after each are given. Units
// of other runs lie between those of the run.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	var kept []pawl.Kept
	seq := pawl.Seq(0)
	for n := range 40 {
		storetest.MustAppend(t, log, storetest.Unit("001-a", seq, 1+n%3, []byte(fmt.Sprint("blob ", n))))
		seq += pawl.Seq(1 + n%3)
		storetest.MustAppend(t, log, storetest.Unit("002-b", pawl.Seq(n), 1))
		if n%4 == 1 {
			kept = append(kept, mustKeep(t, log, "001-a", seq))
			mustKeep(t, log, "002-b", pawl.Seq(n+1))
		}
	}
	if k := mustKeep(t, log, "001-a", kept[2].Seq); k.Sum != kept[2].Sum { // earlier than the one before
		t.Errorf("the sum at %d is %x, and was %x", k.Seq, k.Sum, kept[2].Sum)
	}
	mustKeep(t, log, "001-a", seq)
	if k := mustKeep(t, log, "001-a", seq); k.Sum != mustKeep(t, log, "001-a", seq).Sum {
		t.Error("the same state has two sums")
	}
	for _, k := range append(kept, pawl.Kept{}, mustKept(t, log, "001-a")) {
		wantSince(t, log, "001-a", k)
	}
	for _, wrong := range []pawl.Seq{0, 2, 5, seq + 1} {
		if err := log.Keep(t.Context(), "001-a", pawl.Kept{Seq: wrong, Form: "form"}); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("a state after event %d: %v", wrong, err)
		}
	}
	if k := mustKept(t, log, "001-a"); k.Seq != seq {
		t.Errorf("a state that was refused took the place of another: there is one after %d", k.Seq)
	}
	_, err := log.Kept(t.Context(), "003-c")
	storetest.WantCode(t, err, pawl.CodeNotFound)
	storetest.WantCode(t, log.Keep(t.Context(), "003-c", pawl.Kept{Seq: 1}), pawl.CodeNotFound)
	mustClose(t, log)

	log = mustOpen(t, dir)
	wantSince(t, log, "001-a", mustKept(t, log, "001-a"))
	if at := log.index.byID["001-a"].indexed; at != seq {
		t.Errorf("the places of blobs are known up to event %d, want %d", at, seq)
	}
	storetest.MustAppend(t, log, storetest.Unit("001-a", seq, 2, []byte("blob 3"), []byte("new")))
	if n := mustInt(t, mustSQL(t, dir), "SELECT length(blobs) FROM units ORDER BY id DESC LIMIT 1"); n != 3 {
		t.Errorf("%d bytes of blobs were stored, want those of the new one", n)
	}
	wantSince(t, log, "001-a", mustKept(t, log, "001-a"))
	reader := mustOpenReadOnly(t, dir)
	wantSince(t, reader, "001-a", mustKept(t, reader, "001-a"))
	storetest.WantCode(t, reader.Keep(t.Context(), "001-a", pawl.Kept{Seq: seq}), pawl.CodeState)
	mustClose(t, reader)
	mustClose(t, log)
	if files := stateFiles(t, dir); len(files) != 2 {
		t.Errorf("there are %q", files)
	}
	for _, path := range append(stateFiles(t, dir), filepath.Join(dir, keptFolder)) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read %s: %v, %v", path, info.Mode(), err)
		}
	}
}

// Whatever byte of a kept state is damaged, it is not used, and the run is read as without it.
func TestDamagedState(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	for n := range 6 {
		storetest.MustAppend(t, log, storetest.Unit("001-a", pawl.Seq(2*n), 2))
	}
	mustKeep(t, log, "001-a", 8)
	path := stateFiles(t, dir)[0]
	good := mustRead(t, path)
	for at := range good {
		for _, bad := range [][]byte{good[:at], append(slices.Clone(good[:at]), append([]byte{good[at] ^ 0x10}, good[at+1:]...)...)} {
			mustWrite(t, path, bad)
			if k := mustKept(t, log, "001-a"); k.Seq != 0 || k.State != nil {
				t.Fatalf("damaged at byte %d, a state after event %d is used", at, k.Seq)
			}
			wantRun(t, log, "001-a", 12)
		}
	}
	mustKeep(t, log, "001-a", 12)
}

// A state of another log, such as one that was put back from a copy, is not used, and harms
// nothing.
func TestStateOfAnotherLog(t *testing.T) {
	appended := func(log *Log, from, to int, between bool) {
		for n := from; n < to; n += 2 {
			u := storetest.Unit("001-a", pawl.Seq(n), 2)
			if between {
				storetest.MustAppend(t, log, storetest.Unit("002-b", pawl.Seq(n-from), 2))
				u.Events[1].Body = &pawl.RunPaused{Reason: "otherwise"}
			}
			storetest.MustAppend(t, log, u)
		}
	}
	for _, at := range []pawl.Seq{6, 10, 16, 20} { // before the logs differ, behind that, at the end, behind it
		a, b := t.TempDir(), t.TempDir()
		one, two := mustOpen(t, a), mustOpen(t, b)
		for _, log := range []*Log{one, two} {
			appended(log, 0, 6, false)
		}
		appended(one, 6, 20, false)
		appended(two, 6, 16, true)
		k := mustKeep(t, one, "001-a", at)
		if err := os.MkdirAll(filepath.Join(b, keptFolder), 0o700); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(b, keptFolder, filepath.Base(stateFiles(t, a)[0]))
		mustWrite(t, other, mustRead(t, stateFiles(t, a)[0]))
		if got := mustKept(t, two, "001-a"); at == 20 && got.Seq != 0 {
			t.Errorf("a state after event %d is used in a log of 16", got.Seq)
		}
		events, err := storetest.Collect(two.Since(t.Context(), "001-a", k))
		if at > 6 && (pawl.CodeOf(err) != pawl.CodeConflict || len(events) > 0) {
			t.Errorf("state after %d: %d events, %v", at, len(events), err)
		}
		if at == 6 && (err != nil || len(events) != 10) { // it follows from this log too
			t.Errorf("state after %d: %d events, %v", at, len(events), err)
		}
		mustWrite(t, other, mustRead(t, stateFiles(t, a)[0]))
		if got := storetest.MustEvents(t, two, "001-a", 0); len(got) != 16 {
			t.Errorf("%d events are read, want 16", len(got))
		}
		if reason := quarantineOf(t, two, "001-a"); reason != "" {
			t.Errorf("the run is quarantined: %s", reason)
		}
		mustKeep(t, two, "001-a", 16)
		wantSince(t, two, "001-a", mustKept(t, two, "001-a"))
		mustClose(t, one)
		mustClose(t, two)
	}
}

// Damage before a kept state is found as without it.
func TestDamageBeforeAState(t *testing.T) {
	for _, id := range []int64{2, 5, 8} {
		dir := t.TempDir()
		mustSmall(t, dir)
		log := mustOpen(t, dir)
		k := mustKeep(t, log, victim, 6)
		mustExec(t, mustSQL(t, dir), "UPDATE units SET data = data || x'00' WHERE id = ?", id)
		events, err := storetest.Collect(log.Since(t.Context(), victim, k))
		storetest.WantCode(t, err, pawl.CodeDamaged)
		if len(events) > 0 {
			t.Errorf("unit %d: %d events are given", id, len(events))
		}
		if reason := quarantineOf(t, log, victim); !strings.Contains(reason, fmt.Sprint("unit ", id)) {
			t.Errorf("the reason is %q, want it to name unit %d", reason, id)
		}
		wantBystanders(t, log)
		mustClose(t, log)
	}
}

// Nothing is kept of a run that was deleted.
func TestStateOfADeletedRun(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	for _, id := range []pawl.RunID{"001-a", "002-b"} {
		storetest.MustAppend(t, log, storetest.Unit(id, 0, 3))
		mustKeep(t, log, id, 3)
	}
	storetest.MustDelete(t, log, "001-a", 1)
	if files := stateFiles(t, dir); len(files) != 1 {
		t.Errorf("there are %q", files)
	}
	storetest.WantCode(t, log.Keep(t.Context(), "001-a", pawl.Kept{Seq: 3, Form: "form"}), pawl.CodeNotFound)
	storetest.MustErase(t, log, "001-a")
	if files := stateFiles(t, dir); len(files) != 1 || mustKept(t, log, "002-b").Seq != 3 {
		t.Errorf("there are %q", files)
	}
}

// The file of another run is not used.
func TestStateOfAnotherRun(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	for _, id := range []pawl.RunID{"001-a", "002-b"} {
		storetest.MustAppend(t, log, storetest.Unit(id, 0, 3))
		storetest.MustAppend(t, log, storetest.Unit(id, 3, 3))
	}
	mustKeep(t, log, "001-a", 6)
	file := stateFiles(t, dir)[0]
	mustWrite(t, filepath.Join(filepath.Dir(file), "2"), mustRead(t, file))
	if k := mustKept(t, log, "002-b"); k.Seq != 0 {
		t.Errorf("a state after event %d of another run is used", k.Seq)
	}
	wantRun(t, log, "002-b", 6)
}

// putBack copies the kept state of the run in one folder to that in another one.
func putBack(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(to, keptFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range stateFiles(t, from) {
		mustWrite(t, filepath.Join(to, keptFolder, filepath.Base(path)), mustRead(t, path))
	}
}

// A list of units that goes on after the run's end, such as that of another log, does no harm.
func TestListBehindTheEnd(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	one, two := mustOpen(t, a), mustOpen(t, b)
	defer mustClose(t, one)
	for n := range pawl.Seq(3) {
		storetest.MustAppend(t, one, storetest.Unit("001-a", 2*n, 2))
		storetest.MustAppend(t, one, storetest.Unit("002-b", 2*n, 2))
	}
	for n := range pawl.Seq(2) {
		storetest.MustAppend(t, two, storetest.Unit("001-a", 3*n, 3))
		storetest.MustAppend(t, two, storetest.Unit("002-b", n, 1))
	}
	storetest.MustAppend(t, two, storetest.Unit("002-b", 2, 1)) // unit 5, which is one of 001-a in the other log
	mustKeep(t, one, "001-a", 6)
	putBack(t, a, b)
	wantRun(t, two, "001-a", 6)
	storetest.MustAppend(t, two, storetest.Unit("001-a", 6, 1))
	mustClose(t, two)

	two = mustOpen(t, b)
	defer mustClose(t, two)
	putBack(t, a, b)
	wantRun(t, two, "001-a", 7)
}

// Where units are missing, a kept list changes neither what can be read nor the reason.
func TestMissingUnitAndAList(t *testing.T) {
	other := t.TempDir()
	log := mustOpen(t, other)
	for n := range pawl.Seq(4) { // in each of its units there is another event of the run
		storetest.MustAppend(t, log, storetest.Unit(bystanders[0], 2*n, 2))
		storetest.MustAppend(t, log, storetest.Unit(victim, 2*n, 2))
	}
	mustKeep(t, log, victim, eventsEach)
	mustClose(t, log)
	for _, missing := range []int64{2, 5, 8, 11} {
		var want string
		var readable int
		for _, with := range []string{"nothing", "its own state", "another state"} {
			dir := t.TempDir()
			mustSmall(t, dir)
			switch with {
			case "its own state":
				log := mustOpen(t, dir)
				mustKeep(t, log, victim, eventsEach)
				mustClose(t, log)
			case "another state":
				putBack(t, other, dir)
			}
			mustExec(t, mustSQL(t, dir), "DELETE FROM units WHERE id = ?", missing)
			log := mustOpen(t, dir)
			events, err := storetest.Collect(log.Events(t.Context(), victim, 0))
			storetest.WantCode(t, err, pawl.CodeDamaged)
			if reason := quarantineOf(t, log, victim); with == "nothing" {
				want, readable = reason, len(events)
			} else if reason != want || len(events) != readable {
				t.Errorf("without unit %d and with %s: %d events, %s\nwant %d, %s", missing, with, len(events), reason, readable, want)
			}
			wantBystanders(t, log)
			mustClose(t, log)
		}
	}
}

// After a state of another log, those that are kept are of this one: also if it has the same
// numbers, and if the file is of another run.
func TestKeepAfterAnotherLog(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	one, two := mustOpen(t, a), mustOpen(t, b)
	defer mustClose(t, one)
	defer mustClose(t, two)
	for n := range pawl.Seq(5) {
		u := storetest.Unit("001-a", 2*n, 2)
		storetest.MustAppend(t, two, u)
		u.Events[1].Body = &pawl.RunPaused{Reason: "otherwise"}
		storetest.MustAppend(t, one, u)
		if n == 2 {
			putBack(t, a, b)
			mustKeep(t, one, "001-a", 6)
			putBack(t, a, b)
			_, err := storetest.Collect(two.Since(t.Context(), "001-a", mustKept(t, two, "001-a")))
			storetest.WantCode(t, err, pawl.CodeConflict)
			if files := stateFiles(t, b); len(files) > 0 {
				t.Errorf("there is %s", files)
			}
			wantSince(t, two, "001-a", mustKeep(t, two, "001-a", 4))
		}
	}
	wantSince(t, two, "001-a", mustKeep(t, two, "001-a", 10))

	storetest.MustAppend(t, two, storetest.Unit("002-b", 0, 2))
	storetest.MustAppend(t, two, storetest.Unit("002-b", 2, 2))
	storetest.MustAppend(t, two, storetest.Unit("002-b", 4, 8))
	mustKeep(t, two, "001-a", 4)
	mustWrite(t, filepath.Join(b, keptFolder, "2"), mustRead(t, filepath.Join(b, keptFolder, "1")))
	wantSince(t, two, "002-b", mustKeep(t, two, "002-b", 12))
}

// A checksum that is given is not used: the log computes it.
func TestKeepComputesTheSum(t *testing.T) {
	log := mustOpen(t, t.TempDir())
	defer mustClose(t, log)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 2))
	want := mustKeep(t, log, "001-a", 2).Sum
	if err := log.files.dropState(1); err != nil {
		t.Fatal(err)
	}
	if err := log.Keep(t.Context(), "001-a", pawl.Kept{Seq: 2, Form: "form", Sum: 12345}); err != nil {
		t.Fatal(err)
	}
	if got := mustKept(t, log, "001-a").Sum; got != want {
		t.Errorf("the sum is %x, want %x", got, want)
	}
}

// Anything else in the place of a kept state is not read, and does not keep its run from being
// erased.
func TestForeignStates(t *testing.T) {
	good := filepath.Join(t.TempDir(), "good")
	for name, put := range map[string]func(path string) error{
		"a folder":     func(path string) error { return os.MkdirAll(filepath.Join(path, "in it"), 0o700) },
		"a large file": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<43)) },
		"a link":       func(path string) error { return os.Symlink(good, path) },
		"a name without an end": func(path string) error {
			data := append(binary.AppendUvarint([]byte{keptVersion}, 1<<40), "001-a"...)
			return os.WriteFile(path, binary.LittleEndian.AppendUint32(data, keptSum(data)), 0o600)
		},
		"a file in place of the folder": func(path string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(path)), os.WriteFile(filepath.Dir(path), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			log := mustOpen(t, dir)
			defer mustClose(t, log)
			storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 3))
			mustKeep(t, log, "001-a", 3)
			path := stateFiles(t, dir)[0]
			if err := os.Rename(path, good); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Skip(err) // not every file system has such large files or links
			}
			if k := mustKept(t, log, "001-a"); k.Seq > 0 {
				t.Errorf("a state after event %d is used", k.Seq)
			}
			wantRun(t, log, "001-a", 3)
			storetest.MustDelete(t, log, "001-a", 1)
			storetest.MustErase(t, log, "001-a")
		})
	}
}

// A state that is too large is refused, and one that is too large when decompressed is not used.
func TestLargeState(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 3))
	large := pawl.Kept{Seq: 3, Form: "form", State: make([]byte, maxKept+1)}
	storetest.WantCode(t, log.Keep(t.Context(), "001-a", large), pawl.CodeInvalid)
	if err := log.files.writeState(1, stateFile{Kept: large, run: "001-a", units: []int64{1}}, log.pack); err != nil {
		t.Fatal(err)
	}
	if k := mustKept(t, log, "001-a"); k.Seq > 0 {
		t.Error("it is used")
	}
	large.State = large.State[:maxKept]
	if err := log.Keep(t.Context(), "001-a", large); err != nil {
		t.Fatal(err)
	}
	if k := mustKept(t, log, "001-a"); len(k.State) != maxKept {
		t.Errorf("%d bytes are kept", len(k.State))
	}
}

// hookedDisk calls a function before it renames a file.
type hookedDisk struct {
	osDisk
	before func() error
}

func (d *hookedDisk) Rename(from, to string) error {
	if err := d.before(); err != nil {
		return err
	}
	return d.osDisk.Rename(from, to)
}

// Of a run that is deleted while a state is written nothing is left; a state that cannot be
// written leaves the one before it, and nothing else.
func TestStateThatIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	d := &hookedDisk{before: func() error { return nil }}
	log, err := openOn(d, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, log)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 3))
	storetest.MustAppend(t, log, storetest.Unit("001-a", 3, 3))
	mustKeep(t, log, "001-a", 3)

	failed := errors.New("the disk does not rename")
	d.before = func() error { return failed }
	if err := log.Keep(t.Context(), "001-a", pawl.Kept{Seq: 6, Form: "form"}); !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	if k := mustKept(t, log, "001-a"); k.Seq != 3 {
		t.Errorf("a state after event %d is kept, want the one after 3", k.Seq)
	}
	if left, err := os.ReadDir(filepath.Join(dir, tempFolder)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}

	d.before = func() error {
		storetest.MustDelete(t, log, "001-a", 1)
		return nil
	}
	if err := log.Keep(t.Context(), "001-a", pawl.Kept{Seq: 6, Form: "form"}); err != nil {
		t.Error(err)
	}
	if files := stateFiles(t, dir); len(files) > 0 {
		t.Errorf("there is %s", files)
	}
	mustWrite(t, filepath.Join(dir, keptFolder, "1"), []byte("left by a crash"))
	storetest.MustErase(t, log, "001-a")
	if files := stateFiles(t, dir); len(files) > 0 {
		t.Errorf("there is %s", files)
	}
}

// Who only reads removes nothing.
func TestReaderOfAnotherState(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	one, two := mustOpen(t, a), mustOpen(t, b)
	defer mustClose(t, one)
	storetest.MustAppend(t, one, storetest.Unit("002-b", 0, 1))
	for _, log := range []*Log{one, two} {
		storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 2))
		storetest.MustAppend(t, log, storetest.Unit("001-a", 2, 2))
	}
	k := mustKeep(t, one, "001-a", 4)
	mustClose(t, two)
	if err := os.Mkdir(filepath.Join(b, keptFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(b, keptFolder, "1"), mustRead(t, stateFiles(t, a)[0]))
	reader := mustOpenReadOnly(t, b)
	wantRun(t, reader, "001-a", 4)
	k.Sum++
	_, err := storetest.Collect(reader.Since(t.Context(), "001-a", k))
	storetest.WantCode(t, err, pawl.CodeConflict)
	mustClose(t, reader)
	if len(stateFiles(t, b)) != 1 {
		t.Error("the state is gone")
	}
}
