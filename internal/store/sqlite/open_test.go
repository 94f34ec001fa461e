package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
)

func TestSchemaVersion(t *testing.T) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	newest := names[len(names)-1]
	if want := fmt.Sprintf("migrations/%04d_", schemaVersion); !strings.HasPrefix(newest, want) {
		t.Errorf("the newest migration is %s, want %s…", newest, want)
	}
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var version int
		if _, err := fmt.Sscanf(filepath.Base(name), "%04d_", &version); err != nil {
			t.Fatal(err)
		}
		if set := fmt.Sprintf("PRAGMA user_version = %d;", version); !strings.Contains(string(text), set) {
			t.Errorf("%s does not say %q", name, set)
		}
	}
}

// A file of a newer Pawl is refused, for writing and for reading, and left alone.
func TestNewerSchema(t *testing.T) {
	dir := t.TempDir()
	mustSmall(t, dir)
	db := mustSQL(t, dir)
	mustExec(t, db, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion+1))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := mustRead(t, filepath.Join(dir, fileName))
	for name, open := range map[string]func(string) (*Log, error){"writing": Open, "reading": OpenReadOnly} {
		_, err := open(dir)
		storetest.WantCode(t, err, pawl.CodeState)
		if !strings.Contains(err.Error(), fmt.Sprintf("schema %d", schemaVersion+1)) {
			t.Errorf("opening for %s: the error does not name the schema: %v", name, err)
		}
	}
	if string(mustRead(t, filepath.Join(dir, fileName))) != string(before) {
		t.Error("the file was changed")
	}
	if info, err := os.Stat(filepath.Join(dir, fileName+"-wal")); err == nil && info.Size() > 0 {
		t.Errorf("a WAL of %d bytes was written", info.Size())
	}
}

func TestNotADatabase(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, fileName), []byte(strings.Repeat("this is no database ", 1000)))
	for _, open := range []func(string) (*Log, error){Open, OpenReadOnly} {
		_, err := open(dir)
		storetest.WantCode(t, err, pawl.CodeDamaged)
	}
}

// Whatever happens to heads, every run is found with its events, line and end.
func TestHeadsAreRepaired(t *testing.T) {
	for name, spoil := range map[string][]string{
		"empty":                 {"DELETE FROM heads", "DELETE FROM progress"},
		"heads lost":            {"DELETE FROM heads"},
		"one lost":              {"DELETE FROM heads WHERE run = 2"},
		"progress lost":         {"DELETE FROM progress"},
		"one points ahead":      {"UPDATE heads SET head = 10000 WHERE run = 2"},
		"values of other types": {"UPDATE heads SET seq = 'many', head = x'00'"},
		"no name":               {"UPDATE heads SET id = '' WHERE run = 1"},
		"behind": {
			"UPDATE heads SET head = 4, seq = 4 WHERE run = 1", "UPDATE heads SET head = 5, seq = 4 WHERE run = 2",
			"UPDATE heads SET head = 6, seq = 4 WHERE run = 3", "UPDATE progress SET unit = 6",
		},
		"behind with a run less": {
			"UPDATE heads SET head = 1, seq = 2 WHERE run = 1", "UPDATE heads SET head = 2, seq = 2 WHERE run = 2",
			"DELETE FROM heads WHERE run = 3", "UPDATE progress SET unit = 2, runs = 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustSmall(t, dir)
			db := mustSQL(t, dir)
			want := storetest.MustRuns(t, mustOpenForTest(t, dir))
			for _, text := range spoil {
				mustExec(t, db, text)
			}
			wantSmall(t, mustOpenForTest(t, dir), want)
			log := mustOpen(t, dir)
			wantSmall(t, log, want)
			u := storetest.Unit(victim, eventsEach, 2, victimBlob(1), victimBlob(9))
			u.Info = &pawl.RunInfo{ID: victim, Title: "goes on"}
			storetest.MustAppend(t, log, u)
			mustClose(t, log)
			log = mustOpenForTest(t, dir)
			wantRun(t, log, victim, eventsEach+2)
			wantBystanders(t, log)
			if n := mustInt(t, db, "SELECT count(*) FROM heads JOIN progress ON runs = 3 AND unit = 13"); n != 3 {
				t.Errorf("heads was not written anew: %d rows", n)
			}
		})
	}
}

// mustOpenForTest opens a log for reading until the test ends.
func mustOpenForTest(t *testing.T, dir string) *Log {
	t.Helper()
	log := mustOpenReadOnly(t, dir)
	t.Cleanup(func() { mustClose(t, log) })
	return log
}

func wantSmall(t *testing.T, log *Log, lines []pawl.RunInfo) {
	t.Helper()
	got := storetest.MustRuns(t, log)
	if len(got) != len(lines) {
		t.Fatalf("%d runs, want %d", len(got), len(lines))
	}
	for i := range lines {
		if got[i] != lines[i] {
			t.Errorf("run %d is %+v, want %+v", i, got[i], lines[i])
		}
	}
	wantRun(t, log, victim, eventsEach)
	wantBystanders(t, log)
}

// Runs that have a line which cannot be read are listed all the same, and are
// not quarantined for it.
func TestUnreadableLine(t *testing.T) {
	dir := t.TempDir()
	mustSmall(t, dir)
	mustExec(t, mustSQL(t, dir), `UPDATE heads SET info = '{"id": [' WHERE run = 2`)
	log := mustOpen(t, dir)
	runs := storetest.MustRuns(t, log)
	if len(runs) != 3 || runs[1].ID != victim || !strings.Contains(runs[1].Reason, "cannot be read") {
		t.Errorf("runs are %+v", runs)
	}
	wantRun(t, log, victim, eventsEach)
	u := storetest.Unit(victim, eventsEach, 1)
	u.Info = &pawl.RunInfo{ID: victim, Title: "made again"}
	storetest.MustAppend(t, log, u)
	mustClose(t, log)
	if runs := storetest.MustRuns(t, mustOpenForTest(t, dir)); runs[1] != *u.Info {
		t.Errorf("the line is %+v", runs[1])
	}
}

func TestReadOnly(t *testing.T) {
	t.Run("a folder without a log", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "nothing")
		_, err := OpenReadOnly(dir)
		storetest.WantCode(t, err, pawl.CodeNotFound)
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the folder is there now: %v", err)
		}
	})
	t.Run("a log whose making was cut off", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenReadOnly(dir)
		storetest.WantCode(t, err, pawl.CodeNotFound)
	})
	t.Run("a log whose switch to WAL mode was cut off", func(t *testing.T) {
		dir := t.TempDir()
		mustHotJournal(t, dir)
		_, err := OpenReadOnly(dir)
		storetest.WantCode(t, err, pawl.CodeNotFound)
		log := mustOpen(t, dir)
		storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 1))
		mustClose(t, log)
		if runs := storetest.MustRuns(t, mustOpenForTest(t, dir)); len(runs) != 1 {
			t.Errorf("%d runs, want 1", len(runs))
		}
	})
	t.Run("while nobody writes", func(t *testing.T) {
		dir := t.TempDir()
		mustSmall(t, dir)
		before := mustRead(t, filepath.Join(dir, fileName))
		log := mustOpenReadOnly(t, dir)
		wantRun(t, log, victim, eventsEach)
		wantBystanders(t, log)
		storetest.WantCode(t, log.Append(t.Context(), storetest.Unit("004-d", 0, 1)), pawl.CodeState)
		mustClose(t, log)
		if string(mustRead(t, filepath.Join(dir, fileName))) != string(before) {
			t.Error("the file was changed")
		}
		if wal := mustRead(t, filepath.Join(dir, fileName+"-wal")); len(wal) > 0 {
			t.Errorf("a WAL of %d bytes was written", len(wal))
		}
	})
	t.Run("while another process writes", func(t *testing.T) {
		dir := t.TempDir()
		writer := mustOpen(t, dir)
		defer mustClose(t, writer)
		reader := mustOpenForTest(t, dir)
		for i := range 50 {
			storetest.MustAppend(t, writer, storetest.Unit("001-a", pawl.Seq(2*i), 2, victimBlob(i), storetest.Noise(uint64(i), 70_000)))
			wantRun(t, reader, "001-a", 2*i+2)
			storetest.MustBlob(t, reader, "001-a", victimBlob(i))
			storetest.MustBlob(t, reader, "001-a", storetest.Noise(uint64(i), 70_000))
		}
	})
}

// mustHotJournal leaves a database in dir as a process does that dies in its
// first transaction: with a rollback journal that must be played back.
func mustHotJournal(t *testing.T, dir string) {
	t.Helper()
	made := t.TempDir()
	mustWrite(t, filepath.Join(made, fileName), nil)
	db := mustSQL(t, made)
	mustExec(t, db, "PRAGMA journal_mode = delete")
	mustExec(t, db, "PRAGMA cache_size = 1") // pages are written, and the journal synced, before the commit
	mustExec(t, db, "CREATE TABLE t (x)")
	mustExec(t, db, "BEGIN")
	for range 100 {
		mustExec(t, db, "INSERT INTO t VALUES (randomblob(5000))")
	}
	for _, name := range []string{fileName, fileName + "-journal"} {
		mustWrite(t, filepath.Join(dir, name), mustRead(t, filepath.Join(made, name)))
	}
	mustExec(t, db, "ROLLBACK")
}

// The JSON of a line is that of what is listed, whoever wrote what is stored. F-15
func TestLineJSON(t *testing.T) {
	now, err := json.Marshal(pawl.RunInfo{ID: victim, Title: "<now>", Money: &pawl.Money{Spent: 3}, Seq: eventsEach})
	if err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string]string{
		"this version":         string(now),
		"an earlier version":   `{"id":"` + string(victim) + `","title":"earlier","cost":7}`,
		"a later version":      strings.Replace(string(now), `{`, `{"later":[1,2],`, 1),
		"spaces and escapes":   strings.Replace(strings.ReplaceAll(string(now), `,`, " ,\n"), "now", `\u006eow`, 1),
		"another run's name":   strings.Replace(string(now), string(victim), "999-other", 1),
		"no JSON":              `{"id": [`,
		"an array":             `[1]`,
		"nothing":              ``,
		"more than one object": string(now) + string(now),
		"invalid UTF-8":        strings.Replace(string(now), "now", "\xff", 1),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustSmall(t, dir)
			mustExec(t, mustSQL(t, dir), `UPDATE heads SET info = ? WHERE run = 2`, stored)
			log := mustOpenReadOnly(t, dir)
			defer mustClose(t, log)
			for range 2 { // the second time it is known
				lines, err := log.NewestLines(t.Context(), 0)
				if err != nil || len(lines) != 3 {
					t.Fatalf("%d lines, %v", len(lines), err)
				}
				for _, l := range lines {
					if want, err := json.Marshal(l.Info); err != nil || string(l.JSON) != string(want) {
						t.Errorf("%s, want %s", l.JSON, want)
					}
				}
				if lines[1].Info.ID != victim {
					t.Errorf("the line is of %s", lines[1].Info.ID)
				}
			}
			r := log.index.byID[victim]
			if shared := len(r.info) > 0 && &r.json[0] == &r.info[0]; shared != (name == "this version") {
				t.Errorf("it is %t that what is stored is used", shared)
			}
			log.quarantine(victim, errors.New("damaged"), true)
			lines, err := log.NewestLines(t.Context(), 0)
			if err != nil || lines[1].JSON != nil || lines[1].Info.Status != pawl.StatusQuarantined || lines[0].JSON == nil || lines[2].JSON == nil {
				t.Errorf("with one in quarantine: %+v, %v", lines, err)
			}
		})
	}
}
