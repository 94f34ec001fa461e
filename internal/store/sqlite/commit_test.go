package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
)

// mustHold keeps the committer from committing until release is called.
func mustHold(tb testing.TB, dir string) (release func()) {
	tb.Helper()
	db := mustSQL(tb, dir)
	mustExec(tb, db, "BEGIN IMMEDIATE")
	return func() { mustExec(tb, db, "ROLLBACK") }
}

// mustBlock queues a unit that the committer, which is held, takes and waits with.
func mustBlock(tb testing.TB, log *Log, u pawl.Unit) *request {
	tb.Helper()
	q := mustQueue(tb, log, u)
	for q.state.Load() != taken {
		runtime.Gosched()
	}
	return q
}

// appendTogether appends units in one transaction, in this order.
func appendTogether(tb testing.TB, log *Log, dir string, units ...pawl.Unit) []error {
	tb.Helper()
	release := mustHold(tb, dir)
	first := mustBlock(tb, log, storetest.Unit("000-first", 0, 1))
	var queued []*request
	for _, u := range units {
		queued = append(queued, mustQueue(tb, log, u))
	}
	release()
	if err := <-first.done; err != nil {
		tb.Fatal(err)
	}
	var errs []error
	for _, q := range queued {
		errs = append(errs, <-q.done)
	}
	return errs
}

// refuse makes the database refuse units of a run.
func refuse(t *testing.T, db *sql.DB, id pawl.RunID) {
	t.Helper()
	mustExec(t, db, fmt.Sprintf(`CREATE TRIGGER refuse BEFORE INSERT ON units WHEN NEW.name = '%s'
		BEGIN SELECT RAISE(ABORT, 'refused'); END`, id))
}

// When a transaction fails, only the unit that makes it fail gets the error.
func TestOneBadUnitInAGroup(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 2))
	refuse(t, mustSQL(t, dir), "003-bad")
	errs := appendTogether(t, log, dir,
		storetest.Unit("001-a", 2, 2, []byte("a")),
		storetest.Unit("002-b", 0, 2),
		storetest.Unit("003-bad", 0, 2, []byte("bad")),
		storetest.Unit("004-c", 0, 2, []byte("c")),
		storetest.Unit("001-a", 4, 2),
		storetest.Unit("003-bad", 2, 2), // its run never began
		storetest.Unit("001-a", 5, 2),   // does not follow
	)
	for i, err := range errs {
		switch i {
		case 2:
			if err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("the bad unit: %v", err)
			}
		case 5, 6:
			storetest.WantCode(t, err, pawl.CodeConflict)
		default:
			if err != nil {
				t.Errorf("unit %d: %v", i, err)
			}
		}
	}
	check := func(log *Log) {
		wantRun(t, log, "001-a", 6)
		wantRun(t, log, "002-b", 2)
		wantRun(t, log, "004-c", 2)
		storetest.MustBlob(t, log, "001-a", []byte("a"))
		_, err := storetest.Collect(log.Events(t.Context(), "003-bad", 0))
		storetest.WantCode(t, err, pawl.CodeNotFound)
	}
	check(log)
	reader := mustOpenReadOnly(t, dir)
	defer mustClose(t, reader)
	check(reader)
}

// A unit whose caller goes before the committer takes it is not stored, and the
// caller does not wait for the committer.
func TestWithdrawnUnit(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	release := mustHold(t, dir)
	first := mustBlock(t, log, storetest.Unit("001-a", 0, 1))
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { second <- log.Append(ctx, storetest.Unit("002-b", 0, 1)) }()
	for len(log.queue) == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled append: %v", err)
	}
	release()
	if err := <-first.done; err != nil {
		t.Error(err)
	}
	storetest.MustAppend(t, log, storetest.Unit("003-c", 0, 1))
	_, err := storetest.Collect(log.Events(t.Context(), "002-b", 0))
	storetest.WantCode(t, err, pawl.CodeNotFound)
	wantRun(t, log, "001-a", 1)
}

// Units of one run may be appended without waiting for each other's answer.
func TestPipelinedUnits(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	var units []pawl.Unit
	for i := range 30 {
		units = append(units, storetest.Unit("001-a", pawl.Seq(3*i), 3, []byte{byte(i)}, []byte("the same")))
	}
	for i, err := range appendTogether(t, log, dir, units...) {
		if err != nil {
			t.Errorf("unit %d: %v", i, err)
		}
	}
	wantRun(t, log, "001-a", 90)
	mustClose(t, log)
	log = mustOpen(t, dir)
	defer mustClose(t, log)
	wantRun(t, log, "001-a", 90)
	storetest.MustBlob(t, log, "001-a", []byte("the same"))
}

// Units that are appended one by one fill the WAL with whole pages. It is copied before it has
// many of them, or each commit would make the file larger, which is slower than overwriting it.
func TestSmallUnitsKeepTheWALSmall(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	log.copyAfter = 128 << 10
	for n := range pawl.Seq(500) {
		storetest.MustAppend(t, log, storetest.Unit("001-a", n, 1))
	}
	info, err := os.Stat(filepath.Join(dir, fileName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(4 * log.copyAfter); info.Size() > most { // all of it has 2 MiB
		t.Errorf("the WAL has %d bytes, want at most %d", info.Size(), most)
	}
}
