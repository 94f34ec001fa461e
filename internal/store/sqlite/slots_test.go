package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
	"pawl/internal/testsize"
)

// mustInterrupt makes the log of [mustSmall] as a crash leaves it, its WAL not copied.
func mustInterrupt(t *testing.T, last pawl.RunStatus) (dir string) {
	t.Helper()
	from := t.TempDir()
	mustSmall(t, from)
	log := mustOpen(t, from)
	defer mustClose(t, log)
	for i := range 4 {
		u := storetest.Unit("004-late", pawl.Seq(2*i), 2, victimBlob(i))
		u.Info = &pawl.RunInfo{ID: "004-late", Status: pawl.StatusRunning}
		if i == 3 {
			u.Info.Status = last
		}
		storetest.MustAppend(t, log, u)
		storetest.MustAppend(t, log, storetest.Unit(victim, pawl.Seq(eventsEach+2*i), 2, victimBlob(i+4)))
	}
	file, wal := copyFiles(t, from)
	dir = filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, fileName), file)
	mustWrite(t, filepath.Join(dir, fileName+"-wal"), wal)
	mustWrite(t, filepath.Join(dir, slotsName), mustRead(t, filepath.Join(from, slotsName)))
	return dir
}

// copyOf copies a log that nobody has open.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(filepath.Join(to, "log"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, "log")
}

// Whatever is done to the WAL, each run is whole or said to be damaged, by those who read and
// by the owner; the WAL is kept, and new runs begin. F-16
func TestLostEnd(t *testing.T) {
	whole := mustInterrupt(t, pawl.StatusRunning)
	wal := mustRead(t, filepath.Join(whole, fileName+"-wal"))
	lengths := map[pawl.RunID]int{"001-before": eventsEach, victim: 2 * eventsEach, "003-after": eventsEach, "004-late": eventsEach}
	rnd := rand.New(rand.NewPCG(1, 2))
	damages := map[string]func(dir string) error{
		"none":        func(string) error { return nil },
		"WAL removed": func(dir string) error { return os.Remove(filepath.Join(dir, fileName+"-wal")) },
	}
	for i := range 120 {
		at, bit := rnd.IntN(len(wal)), byte(1)<<rnd.IntN(8)
		if !testsize.Every(i, 6) {
			continue
		}
		damages[fmt.Sprintf("%d, bit flip at %d", i, at)] = func(dir string) error {
			data := bytes.Clone(wal)
			data[at] ^= bit
			return os.WriteFile(filepath.Join(dir, fileName+"-wal"), data, 0o600)
		}
		damages[fmt.Sprintf("%d, cut at %d", i, at)] = func(dir string) error {
			return os.Truncate(filepath.Join(dir, fileName+"-wal"), int64(at))
		}
	}
	lost := 0
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir := copyOf(t, whole)
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			look := func(log *Log) (damaged int) {
				t.Helper()
				runs := storetest.MustRuns(t, log)
				if len(runs) != len(lengths) {
					t.Fatalf("the runs are %+v", runs)
				}
				for _, r := range runs {
					events, err := storetest.Collect(log.Events(t.Context(), r.ID, 0))
					switch {
					case r.Status == pawl.StatusQuarantined:
						damaged++
						storetest.WantCode(t, err, pawl.CodeDamaged)
						if want := fmt.Sprintf("%d of its %d events", len(events), lengths[r.ID]); !strings.Contains(r.Reason, want) {
							t.Errorf("run %s: %q does not say %q", r.ID, r.Reason, want)
						}
					case err != nil || len(events) != lengths[r.ID]:
						t.Errorf("run %s has %d of %d events, and is not said to be damaged: %v", r.ID, len(events), lengths[r.ID], err)
					}
				}
				return damaged
			}
			reader := mustOpenReadOnly(t, dir)
			seen := look(reader)
			mustClose(t, reader)
			for range 2 { // the second owner has nothing more to keep
				owner := mustOpen(t, dir)
				if again := look(owner); again != seen {
					t.Errorf("readers find %d damaged runs, the owner %d", seen, again)
				}
				mustClose(t, owner)
			}
			owner := mustOpen(t, dir)
			storetest.MustAppend(t, owner, storetest.Unit("005-new", 0, 1))
			mustClose(t, owner)
			kept, err := filepath.Glob(filepath.Join(dir, fileName+"-wal.damaged.*"))
			hadWAL := name != "WAL removed"
			if want := seen > 0 && hadWAL; err != nil || (len(kept) == 1) != want && !strings.Contains(name, "cut at 0") {
				t.Errorf("%d damaged runs, and of the WAL is kept: %q, %v", seen, kept, err)
			}
			if seen > 0 {
				lost++
			}
		})
	}
	if lost < len(damages)/4 {
		t.Errorf("only %d of %d did any damage", lost, len(damages))
	}
}

// A database that is gone, empty or made anew does not look like one that never was. F-16
func TestLostDatabase(t *testing.T) {
	whole := mustInterrupt(t, pawl.StatusRunning)
	for name, damage := range map[string]func(dir string) error{
		"removed": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, fileName)), os.Remove(filepath.Join(dir, fileName+"-wal")))
		},
		"empty": func(dir string) error {
			return errors.Join(os.Truncate(filepath.Join(dir, fileName), 0), os.Remove(filepath.Join(dir, fileName+"-wal")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyOf(t, whole)
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			log, err := OpenReadOnly(dir)
			if err == nil {
				mustClose(t, log)
			}
			storetest.WantCode(t, err, pawl.CodeDamaged)
			if err != nil && !strings.Contains(err.Error(), "run 001-before of 8 events, run 002-victim of 16 events") {
				t.Errorf("it does not name what is lost: %v", err)
			}
			owner := mustOpen(t, dir)
			defer mustClose(t, owner)
			for _, r := range storetest.MustRuns(t, owner) {
				if r.Status != pawl.StatusQuarantined {
					t.Errorf("%+v", r)
				}
			}
			storetest.WantCode(t, owner.Append(t.Context(), storetest.Unit(victim, 0, 1)), pawl.CodeDamaged)
			storetest.MustAppend(t, owner, storetest.Unit("005-new", 0, 1))
		})
	}
}

// When a run comes to rest, nothing of it is in the WAL alone. F-16
func TestWALIsEmptyAtRest(t *testing.T) {
	for _, status := range []pawl.RunStatus{pawl.StatusEnded, pawl.StatusPaused, pawl.StatusRunning} {
		dir := t.TempDir()
		log := mustOpen(t, dir)
		u := storetest.Unit("001-a", 0, 2, storetest.Noise(1, 30_000))
		u.Info = &pawl.RunInfo{ID: "001-a", Status: status}
		storetest.MustAppend(t, log, u)
		mustTidied(t, log)
		info, err := os.Stat(filepath.Join(dir, fileName+"-wal"))
		if err != nil {
			t.Fatal(err)
		}
		if atRest := status != pawl.StatusRunning; (info.Size() == 0) != atRest {
			t.Errorf("a run is %s, and the WAL has %d bytes", status, info.Size())
		}
		mustClose(t, log)
	}
}

// mustTidied waits until the committer has done what was due after the last append.
func mustTidied(t *testing.T, log *Log) {
	t.Helper()
	if err := log.chore(t.Context(), "wait", func(*writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// What a reader finds damaged in a run that has ended is known from then on. F-18
func TestDamagedEndedRunIsListed(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	for i := range 3 {
		u := storetest.Unit("001-a", pawl.Seq(i), 1)
		u.Info = &pawl.RunInfo{ID: "001-a", Status: pawl.StatusEnded, Outcome: pawl.OutcomeComplete}
		storetest.MustAppend(t, log, u)
	}
	mustClose(t, log)
	mustExec(t, mustSQL(t, dir), "UPDATE units SET sum = sum+1 WHERE id = 2")
	for _, want := range []pawl.RunStatus{pawl.StatusEnded, pawl.StatusQuarantined} {
		reader := mustOpenReadOnly(t, dir)
		if r := storetest.MustRuns(t, reader); r[0].Status != want {
			t.Errorf("it is listed %s, want %s", r[0].Status, want)
		}
		_, err := storetest.Collect(reader.Events(t.Context(), "001-a", 0))
		storetest.WantCode(t, err, pawl.CodeDamaged)
		mustClose(t, reader)
	}
	owner := mustOpen(t, dir)
	defer mustClose(t, owner)
	if r := storetest.MustRuns(t, owner); r[0].Status != pawl.StatusQuarantined {
		t.Errorf("the owner lists it %s", r[0].Status)
	}
}

// A log from before there were slots gets them. Records that are damaged are told of, and made
// anew by the owner; no run is taken for damaged for them. F-16
func TestDamagedSlots(t *testing.T) {
	whole := t.TempDir()
	mustSmall(t, whole)
	slots := mustRead(t, filepath.Join(whole, slotsName))
	if len(slots) != 3*slotSize {
		t.Fatalf("the slots have %d bytes", len(slots))
	}
	try := func(what string, data []byte, problems int) {
		t.Helper()
		dir := copyOf(t, whole)
		name := filepath.Join(dir, slotsName)
		if mustWrite(t, name, data); data == nil {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		for _, open := range []func(testing.TB, string) *Log{mustOpenReadOnly, mustOpen} {
			log := open(t, dir)
			if len(log.Problems()) != problems {
				t.Errorf("%s: the problems are %q", what, log.Problems())
			}
			wantBystanders(t, log)
			wantRun(t, log, victim, eventsEach)
			mustClose(t, log)
		}
		if again := mustRead(t, name); !bytes.Equal(again, slots) {
			t.Errorf("%s: the slots are not as they were", what)
		}
	}
	try("removed", nil, 0)
	try("cut off behind a record", slots[:2*slotSize], 0)
	try("cut off in a record", slots[:2*slotSize+7], 1)
	for at := range 8 * len(slots) {
		if !testsize.Every(at, 11) {
			continue
		}
		data := bytes.Clone(slots)
		data[at/8] ^= 1 << (at % 8)
		try(fmt.Sprintf("bit %d", at), data, 1)
	}
	swapped := append(append(bytes.Clone(slots[slotSize:2*slotSize]), slots[:slotSize]...), slots[2*slotSize:]...)
	try("two records exchanged", swapped, 2)
}
