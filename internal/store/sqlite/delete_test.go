package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
	"pawl/internal/testsize"
)

// blobFiles lists the files of blobs.
func blobFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, blobFolder, "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func mustUsage(t *testing.T, log *Log) Usage {
	t.Helper()
	u, err := log.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// F-31
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	shared, own := storetest.Noise(1, 100_000), storetest.Noise(2, 200_000)
	for i := range 40 {
		storetest.MustAppend(t, log, storetest.Unit("001-a", pawl.Seq(i), 1, storetest.Noise(uint64(100+i), 60_000)))
	}
	storetest.MustAppend(t, log, storetest.Unit("001-a", 40, 1, shared, own))
	storetest.MustAppend(t, log, storetest.Unit("002-b", 0, 1, shared))
	lost := filepath.Join(dir, blobFolder, "aa", strings.Repeat("a", 64))
	if err := os.MkdirAll(filepath.Dir(lost), 0o700); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, lost, make([]byte, 5000))

	u := mustUsage(t, log)
	if size := u.Runs["001-a"]; size < 40*60_000+200_000 || size > 40*61_000+200_000 { // what it shares stays
		t.Errorf("run 001-a takes %d bytes", size)
	}
	if size := u.Runs["002-b"]; size == 0 || size > 1000 || len(u.Runs) != 2 {
		t.Errorf("runs take %v", u.Runs)
	}
	if u.Unnamed != 1 || u.UnnamedSize != 5000 || u.Free != 0 {
		t.Errorf("%+v", u)
	}
	freed, err := log.Sweep(t.Context())
	if err != nil || freed != 5000 || len(blobFiles(t, dir)) != 2 {
		t.Errorf("sweeping freed %d bytes, %v; left: %v", freed, err, blobFiles(t, dir))
	}

	mustKeep(t, log, "002-b", 1)
	if info, err := os.Stat(stateFiles(t, dir)[0]); err != nil || mustUsage(t, log).Runs["002-b"] != u.Runs["002-b"]+info.Size() {
		t.Errorf("with a state run 002-b takes %d bytes, and %d without, %v", mustUsage(t, log).Runs["002-b"], u.Runs["002-b"], err)
	}
	storetest.MustDelete(t, log, "001-a", 1)
	if size := mustUsage(t, log).Runs["001-a"]; size == 0 {
		t.Error("a deleted run takes nothing")
	}
	storetest.MustErase(t, log, "001-a")
	u = mustUsage(t, log)
	if len(u.Runs) != 1 || u.Unnamed != 1 || u.UnnamedSize != 200_000 || u.Free < 40*60_000 {
		t.Errorf("after erasing: %+v", u)
	}
	if freed, err = log.Sweep(t.Context()); err != nil || freed != 200_000 {
		t.Errorf("sweeping freed %d bytes, %v", freed, err)
	}
	before, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	freed, err = log.Compact(t.Context())
	after, serr := os.Stat(filepath.Join(dir, fileName))
	if err != nil || serr != nil || freed < 40*60_000 || before.Size()-after.Size() < 40*60_000 {
		t.Errorf("compacting freed %d bytes, from %d to %d, %v", freed, before.Size(), after.Size(), errors.Join(err, serr))
	}
	if freed, err = log.Compact(t.Context()); err != nil || freed != 0 {
		t.Errorf("compacting again freed %d bytes, %v", freed, err)
	}
	storetest.MustBlob(t, log, "002-b", shared)
	storetest.MustAppend(t, log, storetest.Unit("002-b", 1, 1))
	wantRun(t, log, "002-b", 2)
}

// Files of blobs stay whose unit is on its way while nobody names them yet.
func TestSweepDuringAppends(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	done := make(chan error)
	for i := range 4 {
		go func() {
			run := pawl.RunID(fmt.Sprintf("%03d-a", i))
			for n := range 40 {
				if err := log.Append(t.Context(), storetest.Unit(run, pawl.Seq(n), 1, storetest.Noise(uint64(i*100+n), 70_000))); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for left := 4; left > 0; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			left--
		default:
			if freed, err := log.Sweep(t.Context()); err != nil || freed != 0 {
				t.Fatalf("sweeping freed %d bytes, %v", freed, err)
			}
		}
	}
	for i := range 160 {
		storetest.MustBlob(t, log, pawl.RunID(fmt.Sprintf("%03d-a", i/40)), storetest.Noise(uint64(i/40*100+i%40), 70_000))
	}
}

// A unit that cannot be read may name any file: then none is removed.
func TestSweepOfADamagedLog(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 1, storetest.Noise(1, 70_000)))
	storetest.MustAppend(t, log, storetest.Unit("002-b", 0, 1, storetest.Noise(2, 70_000)))
	mustClose(t, log)
	mustExec(t, mustSQL(t, dir), "UPDATE units SET refs = substr(refs, 1, 20) WHERE run = 1")
	log = mustOpen(t, dir)
	defer mustClose(t, log)
	_, err := log.Sweep(t.Context())
	storetest.WantCode(t, err, pawl.CodeDamaged)
	if files := blobFiles(t, dir); len(files) != 2 {
		t.Errorf("left: %v", files)
	}
}

// The connection may be lost after the newest units were erased.
func TestReconnectAfterErasing(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 2))
	for i := range 5 {
		storetest.MustAppend(t, log, storetest.Unit("002-b", pawl.Seq(i), 1))
	}
	storetest.MustDelete(t, log, "002-b", 1)
	storetest.MustErase(t, log, "002-b")
	for i := range 3 {
		if err := log.chore(t.Context(), "lose the connection", func(w *writer) error { w.broken = errors.New("lost"); return nil }); err != nil {
			t.Fatal(err)
		}
		storetest.MustAppend(t, log, storetest.Unit("001-a", pawl.Seq(2+i), 1))
	}
	wantRun(t, log, "001-a", 5)
	mustClose(t, log)
	log = mustOpen(t, dir)
	defer mustClose(t, log)
	wantRun(t, log, "001-a", 5)
	if problems := log.Problems(); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
}

// A reader sees what the owner deletes and erases, and takes none of it for damage.
func TestReaderOfDeletedRuns(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	for _, run := range []pawl.RunID{"001-a", "002-b"} {
		for i := range 2 * chunkSize {
			storetest.MustAppend(t, log, storetest.Unit(run, pawl.Seq(i), 1))
		}
	}
	reader := mustOpenReadOnly(t, dir)
	defer mustClose(t, reader)
	if n := len(storetest.MustRuns(t, reader)); n != 2 {
		t.Fatalf("%d runs", n)
	}
	storetest.MustDelete(t, log, "001-a", 1)
	if runs := storetest.MustRuns(t, reader); len(runs) != 1 || runs[0].ID != "002-b" {
		t.Errorf("runs: %+v", runs)
	}
	if stones := storetest.MustDeleted(t, reader); len(stones) != 1 || stones[0].By != "ada" {
		t.Errorf("tombstones: %+v", stones)
	}
	var last error
	for _, err := range readSlowly(t, reader, "001-a", func() { storetest.MustErase(t, log, "001-a") }) {
		last = err
	}
	storetest.WantCode(t, last, pawl.CodeNotFound)
	for _, l := range []*Log{reader, log} {
		_, err := storetest.Collect(l.Events(t.Context(), "001-a", 0))
		storetest.WantCode(t, err, pawl.CodeNotFound)
		if runs := storetest.MustRuns(t, l); len(runs) != 1 || runs[0].Status == pawl.StatusQuarantined {
			t.Errorf("runs: %+v", runs)
		}
	}
	for name, do := range map[string]error{
		"delete": reader.Delete(t.Context(), pawl.Tombstone{Run: pawl.RunInfo{ID: "002-b"}}),
		"erase":  reader.Erase(t.Context(), "001-a"),
	} {
		if pawl.CodeOf(do) != pawl.CodeState {
			t.Errorf("a reader may %s: %v", name, do)
		}
	}
}

// readSlowly reads a run's events and does something after the first. It returns the errors.
func readSlowly(t *testing.T, log *Log, run pawl.RunID, then func()) (errs []error) {
	t.Helper()
	n := 0
	for _, err := range log.Events(t.Context(), run, 0) {
		if err != nil {
			errs = append(errs, err)
		}
		if n++; n == 1 {
			then()
		}
	}
	return errs
}

// A run that is damaged can be deleted and erased like others.
func TestDeleteADamagedRun(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	for i := range 5 {
		storetest.MustAppend(t, log, storetest.Unit("001-a", pawl.Seq(i), 1))
		storetest.MustAppend(t, log, storetest.Unit("002-b", pawl.Seq(i), 1))
	}
	mustClose(t, log)
	db := mustSQL(t, dir)
	mustExec(t, db, "UPDATE units SET data = zeroblob(10) WHERE run = 1 AND seq = 3")
	mustExec(t, db, "DELETE FROM units WHERE run = 1 AND seq = 4")
	log = mustOpen(t, dir)
	wantDamaged(t, log, "001-a")
	storetest.MustDelete(t, log, "001-a", 1)
	storetest.MustErase(t, log, "001-a")
	if n := mustInt(t, db, "SELECT count(*) FROM units WHERE run = 1"); n != 0 {
		t.Errorf("%d units are left", n)
	}
	mustClose(t, log)
	log = mustOpen(t, dir)
	defer mustClose(t, log)
	if runs := storetest.MustRuns(t, log); len(runs) != 1 || runs[0].ID != "002-b" {
		t.Errorf("runs: %+v", runs)
	}
	wantRun(t, log, "002-b", 5)
}

// Wherever the WAL ends after a crash, a run is there whole, deleted or gone, and the others
// are whole. What the slots say is no reason to miss an erased run.
func TestDeletionAfterACrash(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	text := "a lesson"
	storetest.MustAppend(t, log, storetest.Told("001-a", 0, []string{text}, storetest.Learn(1, pawl.MemoryLearning, pawl.ScopeProject, text)))
	for i := range 4 {
		storetest.MustAppend(t, log, storetest.Unit("002-b", pawl.Seq(i), 1))
	}
	// The WAL is copied into the file after a chore: a reader keeps it from that.
	tx, err := mustSQL(t, dir).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // it reads
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM units").Scan(&n); err != nil {
		t.Fatal(err)
	}
	copied := len(mustRead(t, filepath.Join(dir, fileName+"-wal"))) // it may be in the file, and is synced
	storetest.MustDelete(t, log, "001-a", 1)
	storetest.MustErase(t, log, "001-a")
	storetest.MustAppend(t, log, storetest.Unit("002-b", 4, 1))
	file, wal := mustRead(t, filepath.Join(dir, fileName)), mustRead(t, filepath.Join(dir, fileName+"-wal"))
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for i := range 60 {
		end := copied + random.IntN(len(wal)+1-copied)
		if i > 0 && !testsize.Every(i, 5) {
			continue
		}
		if i == 0 {
			end = len(wal)
		}
		crashed := t.TempDir()
		mustWrite(t, filepath.Join(crashed, fileName), file)
		mustWrite(t, filepath.Join(crashed, fileName+"-wal"), wal[:end])
		after := mustOpen(t, crashed)
		listed := 0
		for _, r := range storetest.MustRuns(t, after) {
			if r.Status == pawl.StatusQuarantined {
				t.Errorf("with %d of %d bytes of the WAL run %s is quarantined: %s", end, len(wal), r.ID, r.Reason)
			}
			if r.ID == "001-a" {
				listed++
			}
		}
		state := "not there"
		stones := storetest.MustDeleted(t, after)
		events, err := storetest.Collect(after.Events(t.Context(), "001-a", 0))
		lessons := len(storetest.MustRecall(t, after, pawl.MemoryQuery{}))
		switch {
		case len(stones) == 1 && stones[0].Erased:
			state = "erased"
			storetest.WantCode(t, err, pawl.CodeNotFound)
		case len(stones) == 1:
			state = "deleted"
			if err != nil || len(events) != 1 {
				t.Errorf("a deleted run has %d events, %v", len(events), err)
			}
		case listed == 1:
			state = "there"
		}
		if want := map[bool]int{true: 1}[state == "there"]; listed != want || lessons != want {
			t.Errorf("a run is %s, listed %d times, and %d entries are remembered", state, listed, lessons)
		}
		seen[state]++
		mustClose(t, after)
		wantRemade(t, crashed)
		_ = os.RemoveAll(crashed)
	}
	if seen["erased"] == 0 || testsize.Of(false, false, true) && seen["deleted"] == 0 {
		t.Errorf("seen: %v", seen)
	}
}

// The slot of an erased run, which a crash may leave, says nothing any more.
func TestSlotOfAnErasedRun(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 3))
	storetest.MustAppend(t, log, storetest.Unit("002-b", 0, 3))
	before := mustRead(t, filepath.Join(dir, slotsName))
	storetest.MustDelete(t, log, "001-a", 1)
	storetest.MustErase(t, log, "001-a")
	mustClose(t, log)
	cleared := mustRead(t, filepath.Join(dir, slotsName))
	if string(cleared) == string(before) {
		t.Error("the slot is still there")
	}
	mustWrite(t, filepath.Join(dir, slotsName), before)
	for _, open := range []func(string) (*Log, error){OpenReadOnly, Open} {
		log, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if runs := storetest.MustRuns(t, log); len(runs) != 1 || runs[0].ID != "002-b" || runs[0].Status == pawl.StatusQuarantined {
			t.Errorf("runs: %+v", runs)
		}
		mustClose(t, log)
	}
	if again := mustRead(t, filepath.Join(dir, slotsName)); string(again) != string(cleared) {
		t.Error("the slot was not cleared")
	}
}

// A memory that is damaged is made anew without what deleted runs remembered.
func TestMemoryOfDeletedRuns(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	for _, run := range []pawl.RunID{"001-a", "002-b", "003-c"} {
		storetest.MustAppend(t, log, storetest.Told(run, 0, []string{"lesson"}, storetest.Learn(1, pawl.MemoryLearning, pawl.ScopeProject, "lesson")))
	}
	storetest.MustDelete(t, log, "001-a", 1)
	db := mustSQL(t, dir)
	mustExec(t, db, "DROP TABLE memory_1_words") // so that the memory of the next one cannot be written
	storetest.MustDelete(t, log, "002-b", 2)
	wantEntries(t, log, "003-c/1")
	mustClose(t, log)
	wantRemade(t, dir)
	log = mustOpen(t, dir)
	defer mustClose(t, log)
	wantEntries(t, log, "003-c/1")
}

// A file from before there were tombstones can be read, and has none.
func TestFileWithoutTombstones(t *testing.T) {
	dir := t.TempDir()
	mustSmall(t, dir)
	db := mustSQL(t, dir)
	mustExec(t, db, "DROP TABLE deleted")
	mustExec(t, db, "PRAGMA user_version = 2")
	mustExec(t, db, "DELETE FROM goose_db_version WHERE version_id = 3")
	reader := mustOpenReadOnly(t, dir)
	runs := storetest.MustRuns(t, reader)
	if stones := storetest.MustDeleted(t, reader); len(stones) != 0 || len(runs) == 0 {
		t.Errorf("%d runs, tombstones %+v", len(runs), stones)
	}
	mustClose(t, reader)
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	storetest.MustDelete(t, log, runs[0].ID, 1)
}

// The number of an erased run is not given to the next one, though nothing of it is left in the log
// when the file is opened again: its tombstone would be that of both. F-31
func TestNumberOfAnErasedRun(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 1))
	storetest.MustAppend(t, log, storetest.Unit("002-b", 0, 1))
	storetest.MustDelete(t, log, "002-b", 0)
	storetest.MustErase(t, log, "002-b")
	mustClose(t, log)
	log = mustOpen(t, dir)
	defer mustClose(t, log)
	storetest.MustAppend(t, log, storetest.Unit("003-c", 0, 1))
	storetest.MustDelete(t, log, "003-c", 0)
	stones, err := log.Deleted(t.Context())
	if err != nil || len(stones) != 2 || log.index.stones["002-b"].num == log.index.stones["003-c"].num {
		t.Errorf("the tombstones are %+v, %v", stones, err)
	}
}
