package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
)

// A check of a database that is cut off names every run and how many of its events are left, and
// nothing writes to it: SQLite would fill with zeros what is missing. F-16
func TestCutOff(t *testing.T) {
	whole := mustInterrupt(t, pawl.StatusRunning)
	lengths := map[pawl.RunID]int{"001-before": eventsEach, victim: 2 * eventsEach, "003-after": eventsEach, "004-late": eventsEach}
	size := len(mustRead(t, filepath.Join(whole, fileName)))
	refused := 0
	for _, length := range []int{100, 4096, 8192, 9000, 16384, size / 2, size - 4096, size - 1, size} {
		dir := copyOf(t, whole)
		name := filepath.Join(dir, fileName)
		if err := os.Truncate(name, int64(length)); err != nil {
			t.Fatal(err)
		}
		log := mustOpenReadOnly(t, dir)
		cut := log.CheckFile(t.Context())
		lost := 0
		for id, all := range lengths {
			err := log.Examine(t.Context(), id)
			events, _ := storetest.Collect(log.Events(t.Context(), id, 0))
			if err == nil && len(events) == all {
				continue
			}
			lost++
			if want := fmt.Sprintf("the log has %d of its %d events", len(events), all); pawl.CodeOf(err) != pawl.CodeDamaged || !strings.Contains(err.Error(), want) {
				t.Errorf("%d bytes: run %s: %v does not say %q", length, id, err, want)
			}
		}
		runs := storetest.MustRuns(t, log)
		mustClose(t, log)
		if len(runs) != len(lengths) || slices.ContainsFunc(runs, func(r pawl.RunInfo) bool { return lengths[r.ID] == 0 }) {
			t.Errorf("%d bytes: the runs are %+v", length, runs)
		}
		owner, err := Open(dir)
		if err == nil {
			mustClose(t, owner)
		}
		if cut == nil {
			if err != nil || lost > 0 {
				t.Errorf("%d bytes: all is said to be there, and %d runs are not: %v", length, lost, err)
			}
			continue
		}
		refused++
		storetest.WantCode(t, cut, pawl.CodeDamaged)
		storetest.WantCode(t, err, pawl.CodeDamaged)
		if want := fmt.Sprintf("has %d of its ", length); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(cut.Error(), "(11)") {
			t.Errorf("%d bytes: looked over: %v; opened: %v", length, cut, err)
		}
		if now := len(mustRead(t, name)); now != length {
			t.Errorf("%d bytes: now it has %d", length, now)
		}
	}
	if refused < 5 {
		t.Errorf("only %d were refused", refused)
	}
}

// The error of a database that SQLite cannot open is plain, and names the runs that were in it. F-16
func TestUnreadableDatabase(t *testing.T) {
	for what, damage := range map[string]func(name string) error{
		"first page": func(name string) error { return os.WriteFile(name, storetest.Noise(1, 40_000), 0o600) },
		"cut off":    func(name string) error { return os.Truncate(name, 8192) },
	} {
		dir := t.TempDir()
		mustSmall(t, dir)
		if err := damage(filepath.Join(dir, fileName)); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func(string) (*Log, error){OpenReadOnly, Open} {
			_, err := open(dir)
			storetest.WantCode(t, err, pawl.CodeDamaged)
			if err == nil || strings.ContainsAny(err.Error(), "()") || !strings.Contains(err.Error(), "run 002-victim of 8 events") {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// A run whose name is lost in the log gets it from its slot. F-16
func TestNameFromSlot(t *testing.T) {
	dir := t.TempDir()
	mustSmall(t, dir)
	db := mustSQL(t, dir)
	mustExec(t, db, "DELETE FROM progress")
	mustExec(t, db, "DELETE FROM units WHERE run = 2 AND seq = 1")
	for _, open := range []func(testing.TB, string) *Log{mustOpenReadOnly, mustOpen, mustOpenReadOnly} {
		log := open(t, dir)
		runs := storetest.MustRuns(t, log)
		at := slices.IndexFunc(runs, func(r pawl.RunInfo) bool { return r.ID == victim })
		if len(runs) != 3 || at < 0 || runs[at].Task != 2 || runs[at].Status != pawl.StatusQuarantined {
			t.Errorf("the runs are %+v", runs)
		}
		err := log.Examine(t.Context(), victim)
		if want := fmt.Sprintf("the log has 0 of its %d events", eventsEach); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
		mustClose(t, log)
	}
}

// A run that lost all of its events is found by the number in its name. F-16
func TestNumberOfALostRun(t *testing.T) {
	dir := mustInterrupt(t, pawl.StatusRunning)
	if err := os.Remove(filepath.Join(dir, fileName+"-wal")); err != nil {
		t.Fatal(err)
	}
	log := mustOpenReadOnly(t, dir)
	defer mustClose(t, log)
	if r := storetest.MustRuns(t, log)[3]; r.ID != "004-late" || r.Task != 4 {
		t.Errorf("%+v", r)
	}
	for id, want := range map[pawl.RunID]int{"007-a-b": 7, "007": 0, "": 0, "a-7": 0, "-7-a": 0, "damaged-24": 0} {
		if got := taskOf(id); got != want {
			t.Errorf("%s has the number %d, want %d", id, got, want)
		}
	}
}

// A damaged blob quarantines a run that has ended, whoever finds it. A run that has not ended goes
// on. F-18
func TestDamagedBlobIsListed(t *testing.T) {
	for _, status := range []pawl.RunStatus{pawl.StatusEnded, pawl.StatusRunning} {
		for _, inFile := range []bool{false, true} {
			for how, find := range map[string]func(*Log, pawl.Hash) error{
				"read":     func(l *Log, h pawl.Hash) error { _, err := l.Blob(t.Context(), "001-a", h); return err },
				"examined": func(l *Log, _ pawl.Hash) error { return l.Examine(t.Context(), "001-a") },
			} {
				dir := t.TempDir()
				blob := storetest.Noise(1, map[bool]int{false: 100, true: fileOver + 1}[inFile])
				log := mustOpen(t, dir)
				u := storetest.Unit("001-a", 0, 1, blob)
				u.Info = &pawl.RunInfo{ID: "001-a", Status: status, Outcome: pawl.OutcomeComplete}
				storetest.MustAppend(t, log, u)
				mustClose(t, log)
				if inFile {
					if err := os.RemoveAll(filepath.Join(dir, blobFolder)); err != nil {
						t.Fatal(err)
					}
				} else {
					mustExec(t, mustSQL(t, dir), "UPDATE units SET blobs = zeroblob(100)")
				}
				want := status
				for i, open := range []func(testing.TB, string) *Log{mustOpenReadOnly, mustOpenReadOnly, mustOpen, mustOpenReadOnly} {
					log := open(t, dir)
					if got := storetest.MustRuns(t, log)[0].Status; got != want {
						t.Errorf("%s, in a file %v, %s, %d: it is listed %s, want %s", status, inFile, how, i, got, want)
					}
					err := find(log, pawl.HashOf(blob))
					storetest.WantCode(t, err, pawl.CodeDamaged)
					if err == nil || !strings.Contains(err.Error(), pawl.HashOf(blob).String()) {
						t.Errorf("%v does not name the blob", err)
					}
					if status == pawl.StatusEnded {
						want = pawl.StatusQuarantined
					}
					if got := storetest.MustRuns(t, log)[0].Status; got != want {
						t.Errorf("%s, in a file %v, %s, %d: then it is listed %s, want %s", status, inFile, how, i, got, want)
					}
					mustClose(t, log)
				}
			}
		}
	}
}

// Runs without a slot are found, whatever removed it. F-16
func TestUnslotted(t *testing.T) {
	whole := t.TempDir()
	mustSmall(t, whole)
	slots := mustRead(t, filepath.Join(whole, slotsName))
	none, all := []pawl.RunID(nil), []pawl.RunID{"001-before", victim, "003-after"}
	for what, c := range map[string]struct {
		left []byte
		want []pawl.RunID
	}{
		"whole":            {slots, none},
		"removed":          {nil, all},
		"empty":            {[]byte{}, all},
		"zeroed":           {make([]byte, len(slots)), all},
		"one zeroed":       {append(make([]byte, slotSize), slots[slotSize:]...), all[:1]},
		"cut at a record":  {slots[:2*slotSize], all[2:]},
		"cut in a record":  {slots[:2*slotSize+9], none}, // which is a problem
		"a damaged record": {append([]byte{slots[0] + 1}, slots[1:]...), none},
	} {
		dir := copyOf(t, whole)
		name := filepath.Join(dir, slotsName)
		if mustWrite(t, name, c.left); c.left == nil {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		log := mustOpenReadOnly(t, dir)
		got, file, err := log.Unslotted()
		if err != nil || file != (c.left != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, %v; want %q", what, got, file, err, c.want)
		}
		mustClose(t, log)
		owner := mustOpen(t, dir)
		if got, file, err := owner.Unslotted(); len(got) > 0 || !file || err != nil {
			t.Errorf("%s: the owner has not made them anew: %q, %v, %v", what, got, file, err)
		}
		mustClose(t, owner)
	}
}
