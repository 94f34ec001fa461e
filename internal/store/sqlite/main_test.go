package sqlite

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/store/storetest"
)

// The test binary becomes the process that TestKilledProcess kills and
// TestPowerCutOfTheDatabase traces if the variable childDir is set. It names the log's
// folder, and childRounds holds the rounds argument of appendUntilKilled.
const (
	childDir    = "PAWL_TEST_STORE_CHILD"
	childRounds = "PAWL_TEST_STORE_ROUNDS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := appendUntilKilled(dir, os.Getenv(childRounds)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// mustOpen opens a log for appending; whoever calls it closes it.
func mustOpen(tb testing.TB, dir string) *Log {
	tb.Helper()
	log, err := Open(dir)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return log
}

func mustOpenReadOnly(tb testing.TB, dir string) *Log {
	tb.Helper()
	log, err := OpenReadOnly(dir)
	if err != nil {
		tb.Fatalf("open for reading: %v", err)
	}
	return log
}

func mustClose(tb testing.TB, log *Log) {
	tb.Helper()
	if err := log.Close(); err != nil {
		tb.Fatalf("close: %v", err)
	}
}

// mustSQL connects to a log's file behind the log's back.
func mustSQL(tb testing.TB, dir string) *sql.DB {
	tb.Helper()
	db, err := fileSystem{dir, osDisk{}}.connect("rw", "synchronous(off)")
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(tb testing.TB, db *sql.DB, text string, args ...any) {
	tb.Helper()
	if _, err := db.Exec(text, args...); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
}

func mustInt(tb testing.TB, db *sql.DB, text string, args ...any) int64 {
	tb.Helper()
	var n int64
	if err := db.QueryRow(text, args...).Scan(&n); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return n
}

func mustWrite(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func mustRead(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// mustQueue hands a unit to the committer without waiting for its answer.
func mustQueue(tb testing.TB, log *Log, u pawl.Unit) *request {
	tb.Helper()
	q, err := log.request(tb.Context(), u)
	if err != nil {
		tb.Fatal(err)
	}
	log.queue <- q
	return q
}

// wantRun checks that a run is whole: n events of [storetest.Unit] and no quarantine.
func wantRun(tb testing.TB, log *Log, id pawl.RunID, n int) {
	tb.Helper()
	got := storetest.MustEvents(tb, log, id, 0)
	if len(got) != n {
		tb.Fatalf("run %s has %d events, want %d", id, len(got), n)
	}
	wantPrefix(tb, id, got)
	if q := quarantineOf(tb, log, id); q != "" {
		tb.Fatalf("run %s is quarantined: %s", id, q)
	}
}

// wantPrefix checks that events are the first ones of a run.
func wantPrefix(tb testing.TB, id pawl.RunID, got []pawl.Event) {
	tb.Helper()
	want := storetest.Unit(id, 0, len(got)).Events
	for i := range got {
		a, b := string(pawl.AppendEvent(nil, got[i])), string(pawl.AppendEvent(nil, want[i]))
		if got[i].Seq != want[i].Seq || a != b {
			tb.Fatalf("event %d of run %s is %+v", i+1, id, got[i])
		}
	}
}

// quarantineOf is why a run is quarantined; empty when it is not.
func quarantineOf(tb testing.TB, log *Log, id pawl.RunID) string {
	tb.Helper()
	for _, r := range storetest.MustRuns(tb, log) {
		if r.ID == id {
			if r.Status == pawl.StatusQuarantined {
				return r.Reason
			}
			return ""
		}
	}
	tb.Fatalf("run %s is not listed", id)
	return ""
}

// wantDamaged reads a run that must end in damage after events that are right,
// and must be quarantined by that. It returns how many events came.
func wantDamaged(tb testing.TB, log *Log, id pawl.RunID) int {
	tb.Helper()
	got, err := storetest.Collect(log.Events(tb.Context(), id, 0))
	storetest.WantCode(tb, err, pawl.CodeDamaged)
	wantPrefix(tb, id, got)
	if quarantineOf(tb, log, id) == "" {
		tb.Fatalf("run %s is not quarantined after %v", id, err)
	}
	return len(got)
}

func TestLog(t *testing.T) {
	storetest.Run(t, func(t testing.TB, dir string) pawl.Log { return mustOpen(t, dir) })
}

func TestOddPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b%20?x=1&mode=memory#é;", "deeper")
	log := mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 1, storetest.Noise(1, 100_000)))
	mustClose(t, log)
	log = mustOpenReadOnly(t, dir)
	defer mustClose(t, log)
	wantRun(t, log, "001-a", 1)
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		t.Error(err)
	}
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 1, storetest.Noise(1, 100_000)))
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("others may use %s: mode %o", strings.TrimPrefix(path, dir), mode)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A blob that the run has is not stored again, also after reopening.
func TestBlobStoredOnce(t *testing.T) {
	dir := t.TempDir()
	inRow, inFile := storetest.Noise(1, 3000), storetest.Noise(2, 100_000)
	log := mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 1, inRow, inFile, inRow))
	storetest.MustAppend(t, log, storetest.Unit("001-a", 1, 1, inFile, inRow))
	mustClose(t, log)
	log = mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 2, 1, inRow, inFile))
	mustClose(t, log)
	if n := mustInt(t, mustSQL(t, dir), "SELECT sum(length(blobs)) FROM units"); n != 3000 {
		t.Errorf("%d bytes of blobs are stored, want 3000", n)
	}
	files, err := filepath.Glob(filepath.Join(dir, blobFolder, "??", "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("files of blobs: %q (%v)", files, err)
	}
}

// Text shrinks; what does not shrink is not made larger.
func TestBlobsArePacked(t *testing.T) {
	dir := t.TempDir()
	text := []byte(strings.Repeat("--- PASS: TestEverything (0.00s)\n", 1000))
	noise := storetest.Noise(1, 30_000)
	log := mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 1, text))
	storetest.MustAppend(t, log, storetest.Unit("001-a", 1, 1, noise))
	mustClose(t, log)
	db := mustSQL(t, dir)
	if n := mustInt(t, db, "SELECT length(blobs) FROM units WHERE id = 1"); n > 1000 {
		t.Errorf("%d bytes of text are stored as %d", len(text), n)
	}
	if n := mustInt(t, db, "SELECT length(blobs) FROM units WHERE id = 2"); n != 30_000 {
		t.Errorf("%d bytes of noise are stored as %d", len(noise), n)
	}
}
