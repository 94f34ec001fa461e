package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
	"pawl/internal/testsize"
)

const (
	victim     = pawl.RunID("002-victim")
	eventsEach = 8
)

var bystanders = []pawl.RunID{"001-before", "003-after"}

func victimBlob(i int) []byte { return storetest.Noise(uint64(i), 60) }

// mustSmall makes a log of three runs of four units each, in turns; every unit
// has a blob, the first and the third a line.
func mustSmall(tb testing.TB, dir string) {
	tb.Helper()
	log := mustOpen(tb, dir)
	for i := range 4 {
		for _, id := range []pawl.RunID{bystanders[0], victim, bystanders[1]} {
			u := storetest.Unit(id, pawl.Seq(2*i), 2, victimBlob(i))
			if i%2 == 0 {
				u.Info = &pawl.RunInfo{ID: id, Iteration: i}
			}
			storetest.MustAppend(tb, log, u)
		}
	}
	mustClose(tb, log)
}

// wantBystanders checks that the other runs are whole, blobs included.
func wantBystanders(tb testing.TB, log *Log) {
	tb.Helper()
	for _, id := range bystanders {
		wantRun(tb, log, id, eventsEach)
		for i := range 4 {
			storetest.MustBlob(tb, log, id, victimBlob(i))
		}
	}
}

// mustForgetHeads makes the next Open find every run in units.
func mustForgetHeads(tb testing.TB, db *sql.DB) {
	mustExec(tb, db, "DELETE FROM heads")
	mustExec(tb, db, "DELETE FROM progress")
}

// Every byte of every column of each of a run's units is changed in turn, with
// heads that know the unit and without, and with a state of the run that is kept at its end or
// in its middle. Exactly that run is quarantined, with the events before the unit still readable.
func TestDamagedUnit(t *testing.T) {
	for _, row := range []struct {
		heads bool
		kept  pawl.Seq // 0 = none
	}{{true, 0}, {false, 0}, {true, 4}, {true, eventsEach}} {
		heads := row.heads
		t.Run(fmt.Sprintf("heads=%t,kept=%d", heads, row.kept), func(t *testing.T) {
			dir := t.TempDir()
			mustSmall(t, dir)
			if row.kept > 0 {
				log := mustOpen(t, dir)
				mustKeep(t, log, victim, row.kept)
				mustClose(t, log)
			}
			db := mustSQL(t, dir)
			if !heads {
				mustForgetHeads(t, db)
			}
			for n, id := range []int64{2, 5, 8, 11} {
				if n == 2 {
					continue // like the one before it
				}
				for _, column := range []string{"run", "seq", "count", "prev", "sum"} {
					for _, change := range []string{"+1", "-1", "+256", "<<20", "*-1", "||'x'", "||''"} {
						damageNumber(t, db, dir, n, id, column, change)
					}
				}
				for _, column := range []string{"name", "info", "refs", "data"} {
					size := mustInt(t, db, "SELECT coalesce(length("+column+"), 0) FROM units WHERE id = ?", id)
					for at := range int(size) {
						if testsize.Every(at, 5) {
							damageByte(t, db, dir, n, id, column, at)
						}
					}
				}
			}
		})
	}
}

func damageNumber(t *testing.T, db *sql.DB, dir string, n int, id int64, column, change string) {
	t.Helper()
	was := mustInt(t, db, "SELECT "+column+" FROM units WHERE id = ?", id)
	mustExec(t, db, "UPDATE units SET "+column+" = "+column+change+" WHERE id = ?", id)
	if mustInt(t, db, "SELECT "+column+" IS ? FROM units WHERE id = ?", was, id) == 0 {
		wantVictim(t, dir, n, column+change)
	}
	mustExec(t, db, "UPDATE units SET "+column+" = ? WHERE id = ?", was, id)
}

func damageByte(t *testing.T, db *sql.DB, dir string, n int, id int64, column string, at int) {
	t.Helper()
	var was []byte
	if err := db.QueryRow("SELECT "+column+" FROM units WHERE id = ?", id).Scan(&was); err != nil {
		t.Fatal(err)
	}
	wrong := bytes.Clone(was)
	wrong[at] ^= 1 << (at % 8)
	mustExec(t, db, "UPDATE units SET "+column+" = ? WHERE id = ?", wrong, id)
	wantVictim(t, dir, n, fmt.Sprintf("byte %d of %s", at, column))
	mustExec(t, db, "UPDATE units SET "+column+" = ? WHERE id = ?", was, id)
}

// wantVictim checks that the victim alone is quarantined once it was read, and
// ends before unit n. A victim whose name is lost has another one.
func wantVictim(t *testing.T, dir string, n int, what string) {
	t.Helper()
	log := mustOpenReadOnly(t, dir)
	defer mustClose(t, log)
	for _, r := range storetest.MustRuns(t, log) {
		if r.ID == victim {
			if got := wantDamaged(t, log, victim); got != 2*n {
				t.Errorf("unit %d, %s: %d events could be read, want %d", n, what, got, 2*n)
			}
		}
	}
	quarantined := 0
	for _, r := range storetest.MustRuns(t, log) {
		if r.Status == pawl.StatusQuarantined && r.Reason != "" {
			quarantined++
		}
	}
	if quarantined != 1 {
		t.Fatalf("unit %d, %s: %d runs are quarantined, want one", n, what, quarantined)
	}
	wantBystanders(t, log)
}

// A missing unit is damage too, the newest one included.
func TestMissingUnit(t *testing.T) {
	for n, id := range []int64{2, 5, 8, 11} {
		dir := t.TempDir()
		mustSmall(t, dir)
		mustExec(t, mustSQL(t, dir), "DELETE FROM units WHERE id = ?", id)
		wantVictim(t, dir, n, "removed")
	}
}

// A run that was found damaged takes no more events, now and after a restart;
// the others do.
func TestQuarantine(t *testing.T) {
	dir := t.TempDir()
	mustSmall(t, dir)
	log := mustOpen(t, dir)
	mustExec(t, mustSQL(t, dir), "UPDATE units SET data = data || x'00' WHERE id = 5")
	if got := wantDamaged(t, log, victim); got != 2 {
		t.Errorf("%d events before the damage, want 2", got)
	}
	storetest.WantCode(t, log.Append(t.Context(), storetest.Unit(victim, eventsEach, 1)), pawl.CodeDamaged)
	mustClose(t, log)

	log = mustOpen(t, dir)
	defer mustClose(t, log)
	reason := quarantineOf(t, log, victim)
	if !strings.Contains(reason, "unit 5") {
		t.Errorf("the reason is %q, want it to name unit 5", reason)
	}
	storetest.WantCode(t, log.Append(t.Context(), storetest.Unit(victim, eventsEach, 1)), pawl.CodeDamaged)
	_, err := storetest.Collect(log.Events(t.Context(), victim, eventsEach))
	storetest.WantCode(t, err, pawl.CodeDamaged)
	storetest.MustBlob(t, log, victim, victimBlob(0)) // it was before the damage
	wantBystanders(t, log)
	for _, id := range bystanders {
		storetest.MustAppend(t, log, storetest.Unit(id, eventsEach, 2))
		wantRun(t, log, id, eventsEach+2)
	}
}

// A unit that is sound but that this Pawl cannot read quarantines its run for as
// long as the log is open: a newer Pawl can read it.
func TestUnreadableUnit(t *testing.T) {
	for _, kept := range []pawl.Seq{0, 6, eventsEach} {
		t.Run(fmt.Sprintf("kept=%d", kept), func(t *testing.T) { unreadableUnit(t, kept) })
	}
}

func sealed(u unit) uint32 {
	u.content = u.contentSum()
	return u.seal()
}

func unreadableUnit(t *testing.T, kept pawl.Seq) {
	dir := t.TempDir()
	mustSmall(t, dir)
	if kept > 0 {
		log := mustOpen(t, dir)
		mustKeep(t, log, victim, kept)
		mustClose(t, log)
	}
	db := mustSQL(t, dir)
	u := unit{run: 2, seq: 3, count: 2, prev: 2}
	if err := db.QueryRow("SELECT refs, data FROM units WHERE id = 5").Scan(&u.refs, &u.data); err != nil {
		t.Fatal(err)
	}
	const kind = 2 // after the length and the version of the first event
	was := u.data[kind]
	u.data[kind] = 250
	mustExec(t, db, "UPDATE units SET data = ?, sum = ? WHERE id = 5", u.data, sealed(u))
	log := mustOpen(t, dir)
	if n := wantDamaged(t, log, victim); n != 2 {
		t.Errorf("%d events before the unit, want 2", n)
	}
	storetest.WantCode(t, log.Append(t.Context(), storetest.Unit(victim, eventsEach, 1)), pawl.CodeDamaged)
	wantBystanders(t, log)
	mustClose(t, log)
	u.data[kind] = was
	mustExec(t, db, "UPDATE units SET data = ?, sum = ? WHERE id = 5", u.data, sealed(u))
	log = mustOpen(t, dir)
	defer mustClose(t, log)
	wantRun(t, log, victim, eventsEach)
	storetest.MustAppend(t, log, storetest.Unit(victim, eventsEach, 1))
}

// A damaged blob is named when it is read, and its run goes on.
func TestDamagedBlob(t *testing.T) {
	dir := t.TempDir()
	text := []byte(strings.Repeat("the same line again\n", 400))
	blobs := [][]byte{storetest.Noise(1, 200), text, storetest.Noise(2, 100), storetest.Noise(3, 70_000), bytes.Repeat(text, 10)}
	log := mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 1, blobs...))
	mustClose(t, log)
	db := mustSQL(t, dir)

	// damaged returns how many blobs are; the others come back right.
	damaged := func(what string, most int) int {
		t.Helper()
		log := mustOpenReadOnly(t, dir)
		defer mustClose(t, log)
		bad := 0
		for _, b := range blobs {
			got, err := log.Blob(t.Context(), "001-a", pawl.HashOf(b))
			switch {
			case err != nil:
				storetest.WantCode(t, err, pawl.CodeDamaged)
				if !strings.Contains(err.Error(), pawl.HashOf(b).String()) {
					t.Errorf("%s: the error does not name the blob: %v", what, err)
				}
				bad++
			case !bytes.Equal(got, b):
				t.Fatalf("%s: a blob of %d bytes came back wrong", what, len(b))
			}
		}
		if bad > most {
			t.Errorf("%s: %d blobs are damaged, want %d", what, bad, most)
		}
		wantRun(t, log, "001-a", 1)
		return bad
	}
	damaged("untouched", 0)
	var was []byte
	if err := db.QueryRow("SELECT blobs FROM units").Scan(&was); err != nil {
		t.Fatal(err)
	}
	told := 0
	tried := 0
	for at := range was {
		if !testsize.Every(at, 5) {
			continue
		}
		wrong := bytes.Clone(was)
		wrong[at] ^= 1 << (at % 8)
		mustExec(t, db, "UPDATE units SET blobs = ?", wrong)
		told += damaged(fmt.Sprintf("byte %d of %d", at, len(was)), 1)
		tried++
	}
	// A few bits of a compressed form mean nothing.
	if told < tried-5 {
		t.Errorf("%d of %d wrong bytes were noticed", told, tried)
	}
	mustExec(t, db, "UPDATE units SET blobs = NULL")
	if n := damaged("none", 3); n != 3 {
		t.Errorf("%d of 3 lost blobs were noticed", n)
	}
	mustExec(t, db, "UPDATE units SET blobs = ?", was)

	files, err := filepath.Glob(filepath.Join(dir, blobFolder, "??", "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files of blobs: %q (%v)", files, err)
	}
	one := func(what string) {
		t.Helper()
		if n := damaged(what, 1); n != 1 {
			t.Errorf("%s: %d blobs are damaged, want 1", what, n)
		}
	}
	for _, file := range files {
		was := mustRead(t, file)
		for _, at := range []int{0, 10, 20, len(was) / 2, len(was) - 1} {
			wrong := bytes.Clone(was)
			wrong[at] ^= 0x10
			mustWrite(t, file, wrong)
			one(fmt.Sprintf("byte %d of a file", at))
		}
		mustWrite(t, file, was[:len(was)-1])
		one("a file cut short")
		mustWrite(t, file, append(was, 0))
		one("a file grown")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		one("a file removed")
		mustWrite(t, file, was)
	}
	damaged("restored", 0)
}

// A file whose pages are damaged still opens; the runs that lost something are
// quarantined, the others go on.
func TestDamagedPage(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	const runs = 30
	id := func(i int) pawl.RunID { return pawl.RunID(fmt.Sprintf("%03d-run", i)) }
	for i := range runs {
		u := storetest.Unit(id(i), 0, 1, storetest.Noise(uint64(i), 9000))
		u.Info = &pawl.RunInfo{ID: id(i), Status: pawl.StatusEnded}
		storetest.MustAppend(t, log, u)
	}
	storetest.MustAppend(t, log, storetest.Unit("100-long", 0, 1))
	mustClose(t, log)
	path := filepath.Join(dir, fileName)
	sound := mustRead(t, path)
	root := int(mustInt(t, mustSQL(t, dir), "SELECT rootpage FROM sqlite_schema WHERE name = 'units'"))
	for _, heads := range []bool{true, false} {
		for page := 2; page <= len(sound)/4096; page++ {
			if !testsize.Every(page, 3) {
				continue
			}
			broken := bytes.Clone(sound)
			for at := range 4096 {
				broken[(page-1)*4096+at] = 0xff
			}
			mustWrite(t, path, broken)
			if !heads {
				db, err := fileSystem{dir, osDisk{}}.connect("rw")
				if err != nil {
					t.Fatal(err)
				}
				_, _ = db.Exec("DELETE FROM progress") // it may be the damaged page
				_ = db.Close()
			}
			readable := wantTruth(t, dir, page, runs, id)
			if readable < runs-12 && page != root {
				t.Errorf("page %d: only %d of %d runs can be read", page, readable, runs)
			}
			for _, suffix := range []string{"-wal", "-shm"} {
				_ = os.Remove(path + suffix)
			}
		}
	}
}

// wantTruth checks that every run is whole or called damaged, and returns how
// many are whole.
func wantTruth(t *testing.T, dir string, page, runs int, id func(int) pawl.RunID) (whole int) {
	t.Helper()
	log, err := Open(dir)
	if err != nil {
		storetest.WantCode(t, err, pawl.CodeDamaged)
		return 0
	}
	defer func() { _ = log.Close() }()
	for i := range runs {
		got, err := storetest.Collect(log.Events(t.Context(), id(i), 0))
		switch {
		case err == nil && len(got) == 1:
			wantPrefix(t, id(i), got)
			whole++
		case err == nil:
			t.Fatalf("page %d: run %d has silently lost its events", page, i)
		case pawl.CodeOf(err) != pawl.CodeDamaged && pawl.CodeOf(err) != pawl.CodeNotFound:
			t.Fatalf("page %d: %v", page, err)
		}
	}
	// A new run is taken, or refused for the damage.
	if err := log.Append(t.Context(), storetest.Unit("200-new", 0, 1)); err != nil {
		storetest.WantCode(t, err, pawl.CodeDamaged)
	}
	return whole
}
