package sqlite

import (
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
