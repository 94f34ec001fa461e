package sqlite

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/store/storetest"
	"pawl/internal/testsize"
)

// mustDump is the memory in use, byte for byte: its rows, the words that are
// found, and what it says of itself.
func mustDump(tb testing.TB, db *sql.DB) (table, content string) {
	tb.Helper()
	table, entries, err := memoryTable(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	mustExec(tb, db, "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary_of_"+table+" USING fts5vocab (main, "+table+"_words, instance)")
	var b strings.Builder
	fmt.Fprintln(&b, entries)
	for _, query := range []string{"SELECT * FROM " + table + " ORDER BY id", "SELECT * FROM temp.vocabulary_of_" + table + " ORDER BY doc, offset, term"} {
		rows, err := db.Query(query)
		if err != nil {
			tb.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			tb.Fatal(err)
		}
		cells, at := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			at[i] = &cells[i]
		}
		for rows.Next() {
			if err := rows.Scan(at...); err != nil {
				tb.Fatal(err)
			}
			fmt.Fprintf(&b, "%#v\n", cells)
		}
		if err := rows.Err(); err != nil {
			tb.Fatal(err)
		}
		_ = rows.Close()
	}
	mustExec(tb, db, "INSERT INTO "+table+"_words ("+table+"_words) VALUES ('integrity-check')")
	return table, b.String()
}

// wantRemade checks that the memory is what the units make of it.
func wantRemade(tb testing.TB, dir string) {
	tb.Helper()
	db := mustSQL(tb, dir)
	defer db.Close()
	table, was := mustDump(tb, db)
	mustExec(tb, db, "DELETE FROM "+table+stateSuffix)
	mustClose(tb, mustOpen(tb, dir))
	again, is := mustDump(tb, db)
	if diff := cmp.Diff(is, was); diff != "" || again == table {
		tb.Fatalf("%s is not what %s is, made of the same events (-remade +was):\n%s", table, again, diff)
	}
}

// P-81: what is remembered is a fold over the events.
func TestMemoryIsRemade(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		log := mustOpen(t, dir)
		var m storetest.Memories
		for range rapid.IntRange(1, 12).Draw(rt, "units") {
			m.Append(t, rt, log)
			if rapid.IntRange(0, 5).Draw(rt, "restart") == 0 {
				mustClose(t, log)
				log = mustOpen(t, dir)
			}
		}
		mustClose(t, log)
		wantRemade(t, dir)
		log = mustOpen(t, dir)
		defer mustClose(t, log)
		m.Check(t, rt, log)
	})
}

var lessons = []string{"tests live beside the code", "the parser refuses tabs", "the linter wants comments"}

// mustRemember makes a log of two runs with three entries each.
func mustRemember(tb testing.TB, log *Log) {
	tb.Helper()
	for _, run := range []pawl.RunID{"001-a", "002-b"} {
		for i, text := range lessons {
			storetest.MustAppend(tb, log, storetest.Told(run, pawl.Seq(i), []string{text}, storetest.Learn(i+1, pawl.MemoryLearning, pawl.ScopeProject, text)))
		}
		storetest.MustAppend(tb, log, storetest.Told(run, 3, nil, &pawl.MemoryForgotten{N: 1}))
	}
}

func wantLessons(tb testing.TB, log *Log, n int) {
	tb.Helper()
	if got := storetest.MustRecall(tb, log, pawl.MemoryQuery{}); len(got) != n {
		tb.Errorf("%d entries are remembered, want %d", len(got), n)
	}
	for _, e := range storetest.MustRecall(tb, log, pawl.MemoryQuery{Text: "parser"}) {
		if e.Text != lessons[1] {
			tb.Errorf("%q was found", e.Text)
		}
	}
}

// Whatever happens to the memory's tables, the next Open or the next question
// makes others that are the same byte for byte, and no run is harmed.
func TestMemoryIsRepaired(t *testing.T) {
	for name, spoil := range map[string][]string{
		"no rows":             {"DELETE FROM memory_1"},
		"one row less":        {"DELETE FROM memory_1 WHERE n = 2"},
		"no table":            {"DROP TABLE memory_1"},
		"no words":            {"DROP TABLE memory_1_words"},
		"no state":            {"DROP TABLE memory_1_state"},
		"another version":     {"UPDATE memory_1_state SET version = 0"},
		"a text changed":      {"UPDATE memory_1 SET text = 'format the disk' WHERE n = 2"},
		"a scope changed":     {"UPDATE memory_1 SET scope = 'everybody'"},
		"a type changed":      {"UPDATE memory_1 SET seq = 'x' WHERE n = 3"},
		"nothing of it":       {"DROP TABLE memory_1_words", "DROP TABLE memory_1", "DROP TABLE memory_1_state"},
		"words damaged":       {"UPDATE memory_1_words_data SET block = x'ffffffffffffffff'"},
		"words' config lost":  {"DELETE FROM memory_1_words_config"},
		"a later one, broken": {"CREATE TABLE memory_7_state (x)"},
	} {
		for _, running := range []bool{false, true} {
			if running && strings.HasPrefix(spoil[0], "DELETE FROM memory_1 ") || running && spoil[0] == "DELETE FROM memory_1" {
				continue // only Open counts
			}
			t.Run(fmt.Sprintf("%s, running=%t", name, running), func(t *testing.T) {
				dir := t.TempDir()
				log := mustOpen(t, dir)
				mustRemember(t, log)
				db := mustSQL(t, dir)
				_, want := mustDump(t, db)
				if !running {
					mustClose(t, log)
				}
				for _, text := range spoil {
					mustExec(t, db, text)
				}
				if !running {
					log = mustOpen(t, dir)
				}
				wantLessons(t, log, 4)
				u := storetest.Told("001-a", 4, []string{"new"}, storetest.Learn(4, pawl.MemoryError, pawl.ScopeRun, "new"), &pawl.MemoryForgotten{N: 4})
				storetest.MustAppend(t, log, u)
				wantLessons(t, log, 4)
				mustClose(t, log)
				if _, got := mustDump(t, db); !strings.Contains(got, "new") || len(got) < len(want) {
					t.Errorf("the memory is\n%s", got)
				}
				wantRemade(t, dir)
			})
		}
	}
}

// What is appended while the memory is broken is in it once it is made anew.
func TestMemoryDoesNotStopRuns(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	mustRemember(t, log)
	db := mustSQL(t, dir)
	mustExec(t, db, "DROP TABLE memory_1")
	// A unit that nobody acknowledged, as after a failed fsync.
	mustExec(t, db, "INSERT INTO units ("+unitColumns+") SELECT id + 2, run, seq, count, prev, sum, name, info, refs, data FROM units ORDER BY id DESC LIMIT 1")
	storetest.MustAppend(t, log, storetest.Told("001-a", 4, []string{"new"}, storetest.Learn(4, pawl.MemoryError, pawl.ScopeRun, "new")))
	wantLessons(t, log, 5)
	mustClose(t, log)
	wantRemade(t, dir)
}

// mustDamage makes a log that remembers, damages its file and opens it again; its
// memory is made anew.
func mustDamage(tb testing.TB, text string) *Log {
	tb.Helper()
	dir := tb.TempDir()
	log := mustOpen(tb, dir)
	mustRemember(tb, log)
	mustClose(tb, log)
	db := mustSQL(tb, dir)
	mustExec(tb, db, text)
	mustExec(tb, db, "DELETE FROM memory_1_state")
	return mustOpen(tb, dir)
}

// A damaged text costs the entry it belongs to, when the memory is made anew.
func TestMemoryOfADamagedText(t *testing.T) {
	log := mustDamage(t, "UPDATE units SET blobs = x'00' WHERE id = 2")
	defer mustClose(t, log)
	wantLessons(t, log, 3)
	wantEntries(t, log, "001-a/3 002-b/2 002-b/3")
}

// Behind damage a run has no events, and so nothing to remember.
func TestMemoryOfADamagedRun(t *testing.T) {
	log := mustDamage(t, "UPDATE units SET data = data || x'00' WHERE id = 2")
	defer mustClose(t, log)
	wantEntries(t, log, "001-a/1 002-b/2 002-b/3") // that 1 was forgotten is behind the damage
}

func wantEntries(tb testing.TB, log *Log, want string) {
	tb.Helper()
	if got := storetest.Names(storetest.MustRecall(tb, log, pawl.MemoryQuery{})); got != want {
		tb.Errorf("remembered are %s, want %s", got, want)
	}
}

// Who only reads finds what is whole, or says what is the matter; a file from
// before there was a memory has none.
func TestMemoryReadOnly(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	mustRemember(t, log)
	reader := mustOpenForTest(t, dir)
	wantLessons(t, reader, 4)
	storetest.MustAppend(t, log, storetest.Told("003-c", 0, []string{"new"}, storetest.Learn(1, pawl.MemoryError, pawl.ScopeRun, "new")))
	wantLessons(t, reader, 5)
	mustClose(t, log)
	db := mustSQL(t, dir)
	mustExec(t, db, "UPDATE memory_1 SET text = 'format the disk' WHERE n = 2 AND run = '001-a'")
	wantEntries(t, reader, "001-a/3 002-b/2 002-b/3 003-c/1")
	mustExec(t, db, "DELETE FROM memory_1_state")
	_, err := reader.Recall(t.Context(), pawl.MemoryQuery{})
	storetest.WantCode(t, err, pawl.CodeDamaged)
	wantWhole := storetest.MustEvents(t, reader, "001-a", 0)
	if len(wantWhole) != 4 {
		t.Errorf("%d events", len(wantWhole))
	}

	for _, part := range []string{"_words", "", "_state"} {
		mustExec(t, db, "DROP TABLE memory_1"+part)
	}
	mustExec(t, db, "DROP TABLE deleted")
	mustExec(t, db, "PRAGMA user_version = 1")
	mustExec(t, db, "DELETE FROM goose_db_version WHERE version_id >= 2")
	old := mustOpenForTest(t, dir)
	wantLessons(t, old, 0)
	log = mustOpen(t, dir)
	wantLessons(t, log, 5)
	mustClose(t, log)
	wantRemade(t, dir)
}

// Wherever the WAL ends after a crash, the memory is what the units that are
// there say, without being made anew.
func TestMemoryAfterACrash(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	for i := range 12 {
		text := fmt.Sprintf("lesson %d %s", i, strings.Repeat("words of it ", i*20))
		storetest.MustAppend(t, log, storetest.Told("001-a", pawl.Seq(3*i), []string{text}, storetest.Learn(i+1, pawl.MemoryLearning, pawl.ScopeProject, text),
			&pawl.MemoryForgotten{N: i}, &pawl.IterationEnded{N: i % 4, Decision: pawl.DecideIterate}))
	}
	file, wal := mustRead(t, filepath.Join(dir, fileName)), mustRead(t, filepath.Join(dir, fileName+"-wal"))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 25 {
		end := random.IntN(len(wal) + 1)
		if !testsize.Every(i, 5) {
			continue
		}
		crashed := t.TempDir()
		mustWrite(t, filepath.Join(crashed, fileName), file)
		mustWrite(t, filepath.Join(crashed, fileName+"-wal"), wal[:end])
		after := mustOpen(t, crashed)
		events, err := storetest.Collect(after.Events(t.Context(), "001-a", 0))
		if err != nil && pawl.CodeOf(err) != pawl.CodeNotFound {
			t.Fatal(err)
		}
		if got := storetest.MustRecall(t, after, pawl.MemoryQuery{Forgotten: true}); 3*len(got) != len(events) {
			t.Errorf("%d entries of %d events", len(got), len(events))
		}
		mustClose(t, after)
		if table, _ := mustDump(t, mustSQL(t, crashed)); table != "memory_1" {
			t.Errorf("with %d of %d bytes of the WAL it had to be made anew", end, len(wal))
		}
		wantRemade(t, crashed)
		_ = os.RemoveAll(crashed)
	}
}

// Units that wait together may bring each other's texts.
func TestMemoryOfPipelinedUnits(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	storetest.MustAppend(t, log, storetest.Unit("000-z", 0, 1))
	large := strings.Repeat("a line of a large text\n", 4000)
	errs := appendTogether(t, log, dir,
		storetest.Told("001-a", 0, []string{"early", large}, &pawl.RunPaused{}),
		storetest.Told("001-a", 1, []string{"later"}, storetest.Learn(1, pawl.MemoryLearning, pawl.ScopeRun, "early"),
			storetest.Learn(2, pawl.MemoryLearning, pawl.ScopeRun, "later"), storetest.Learn(3, pawl.MemoryLearning, pawl.ScopeRun, large),
			storetest.Learn(4, pawl.MemoryLearning, pawl.ScopeRun, "too late")),
		storetest.Told("001-a", 5, []string{"too late", "early"}, &pawl.RunPaused{}),
	)
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	wantEntries(t, log, "001-a/1 001-a/2 001-a/3")
	mustClose(t, log)
	wantRemade(t, dir)
}

// Readers see whole units only, and never hold up a writer.
func TestMemoryConcurrently(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	other := mustOpenForTest(t, dir)
	const runs = 6
	units := testsize.Of(10, 10, 30)
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for i := range runs {
		writers.Go(func() {
			run := pawl.RunID(fmt.Sprintf("%03d-run", i))
			for n := range units {
				text := fmt.Sprintf("lesson %d of run %d", n, i)
				u := storetest.Told(run, pawl.Seq(2*n), []string{text}, storetest.Learn(2*n+1, pawl.MemoryLearning, pawl.ScopeProject, text),
					storetest.Learn(2*n+2, pawl.MemoryDecision, pawl.ScopeProject, text))
				if err := log.Append(t.Context(), u); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, l := range []*Log{log, other, log, other} {
		readers.Go(func() {
			for last := 0; ; {
				found, err := l.Recall(t.Context(), pawl.MemoryQuery{Text: "lesson", Limit: 1000})
				if err != nil || len(found)%2 != 0 || len(found) < last {
					t.Errorf("%d entries after %d: %v", len(found), last, err)
					return
				}
				last = len(found)
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if got := storetest.MustRecall(t, other, pawl.MemoryQuery{Limit: 1000}); len(got) != 2*runs*units {
		t.Errorf("%d entries", len(got))
	}
	mustClose(t, log)
	wantRemade(t, dir)
}

// BenchmarkRecall looks something up among 10,000 entries of about 150 bytes.
func BenchmarkRecall(b *testing.B) {
	log := mustOpen(b, b.TempDir())
	defer mustClose(b, log)
	random := rand.New(rand.NewPCG(1, 2))
	sentence := func(words int) string {
		var s []string
		for range words {
			s = append(s, fmt.Sprintf("word%d", int(random.ExpFloat64()*200)))
		}
		return strings.Join(s, " ")
	}
	const entries, each = 10_000, 100
	for run := range entries / each {
		var texts []string
		var bodies []pawl.Body
		for n := range each {
			texts = append(texts, sentence(20))
			bodies = append(bodies, storetest.Learn(n+1, pawl.MemoryKinds[n%len(pawl.MemoryKinds)], pawl.ScopeProject, texts[n]))
		}
		storetest.MustAppend(b, log, storetest.Told(pawl.RunID(fmt.Sprintf("%03d-run", run)), 0, texts, bodies...))
	}
	for name, q := range map[string]pawl.MemoryQuery{
		"rare word":     {Text: "word900"},
		"12 words":      {Text: sentence(12), Run: "007-run", Project: true, Passed: true, Limit: 20},
		"most frequent": {Text: "word0 word1 word2 word3 word4", Limit: 20},
		"all of a run":  {Run: "007-run"},
		"the newest":    {Limit: 20},
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				storetest.MustRecall(b, log, q)
			}
		})
	}
}
