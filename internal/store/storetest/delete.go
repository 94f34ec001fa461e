package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func mustDeleter(t testing.TB, log pawl.Log) pawl.Deleter {
	t.Helper()
	d, ok := log.(pawl.Deleter)
	if !ok {
		t.Fatalf("%T deletes no runs", log)
	}
	return d
}

// MustDelete deletes a run a number of hours after the first event of all tests.
func MustDelete(t testing.TB, log pawl.Log, run pawl.RunID, hours int) pawl.Tombstone {
	t.Helper()
	stone := pawl.Tombstone{Run: pawl.RunInfo{ID: run, Task: 7, Title: "deleted"}, Deleted: start.Add(time.Duration(hours) * time.Hour), By: "ada", Learnings: 3}
	if err := mustDeleter(t, log).Delete(t.Context(), stone); err != nil {
		t.Fatalf("delete %s: %v", run, err)
	}
	return stone
}

// MustErase erases a run.
func MustErase(t testing.TB, log pawl.Log, run pawl.RunID) {
	t.Helper()
	if err := mustDeleter(t, log).Erase(t.Context(), run); err != nil {
		t.Fatalf("erase %s: %v", run, err)
	}
}

// MustDeleted lists the tombstones.
func MustDeleted(t testing.TB, log pawl.Log) []pawl.Tombstone {
	t.Helper()
	stones, err := mustDeleter(t, log).Deleted(t.Context())
	if err != nil {
		t.Fatalf("list deleted runs: %v", err)
	}
	return stones
}

// wantRuns checks which runs are listed.
func wantRuns(t testing.TB, log pawl.Log, want ...pawl.RunID) {
	t.Helper()
	var got []pawl.RunID
	for _, r := range MustRuns(t, log) {
		got = append(got, r.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("runs (-want +got):\n%s", diff)
	}
}

// F-31
func (s suite) deleted(t *testing.T) {
	dir := t.TempDir()
	log := s.open(t, dir)
	blob := Noise(1, 100_000)
	MustAppend(t, log, Unit("001-a", 0, 3, blob))
	MustAppend(t, log, Unit("002-b", 0, 2))
	MustAppend(t, log, Unit("003-c", 0, 1))
	if got := MustDeleted(t, log); len(got) != 0 {
		t.Fatalf("deleted: %+v", got)
	}
	d := mustDeleter(t, log)
	WantCode(t, d.Delete(t.Context(), pawl.Tombstone{Run: pawl.RunInfo{ID: "009-z"}, Deleted: start}), pawl.CodeNotFound)
	WantCode(t, d.Erase(t.Context(), "009-z"), pawl.CodeNotFound)
	WantCode(t, d.Erase(t.Context(), "001-a"), pawl.CodeState)

	c, a := MustDelete(t, log, "003-c", 1), MustDelete(t, log, "001-a", 2)
	MustDelete(t, log, "003-c", 9) // it keeps the tombstone it has
	check := func(log pawl.Log) {
		t.Helper()
		wantRuns(t, log, "002-b")
		newest, err := pawl.NewestRuns(t.Context(), log, 1)
		if err != nil || len(newest) != 1 || newest[0].ID != "002-b" {
			t.Errorf("the newest run is %+v, %v", newest, err)
		}
		if diff := cmp.Diff([]pawl.Tombstone{c, a}, MustDeleted(t, log)); diff != "" {
			t.Errorf("tombstones (-want +got):\n%s", diff)
		}
		wantEvents(t, MustEvents(t, log, "001-a", 0), Unit("001-a", 0, 3).Events)
		MustBlob(t, log, "001-a", blob)
		for _, after := range []pawl.Seq{0, 3} { // neither goes on nor begins anew
			WantCode(t, log.Append(t.Context(), Unit("001-a", after, 1)), pawl.CodeState)
		}
		MustAppend(t, log, Unit("002-b", pawl.Seq(len(MustEvents(t, log, "002-b", 0))), 1))
	}
	check(log)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	check(s.reopened(t, dir))
}

// F-31
func (s suite) erased(t *testing.T) {
	dir := t.TempDir()
	log := s.open(t, dir)
	shared, own := Noise(1, 100_000), Noise(2, 90_000)
	for i := range 300 {
		MustAppend(t, log, Unit("001-a", pawl.Seq(i), 1))
	}
	MustAppend(t, log, Unit("002-b", 0, 2, shared))
	MustAppend(t, log, Unit("001-a", 300, 1, shared, own))
	stone := MustDelete(t, log, "001-a", 1)
	MustErase(t, log, "001-a")
	MustErase(t, log, "001-a")
	stone.Erased = true
	next := pawl.Seq(2)
	check := func(log pawl.Log) {
		t.Helper()
		empty(t, log, "001-a")
		wantRuns(t, log, "002-b")
		if diff := cmp.Diff([]pawl.Tombstone{stone}, MustDeleted(t, log)); diff != "" {
			t.Errorf("tombstones (-want +got):\n%s", diff)
		}
		_, err := log.Blob(t.Context(), "001-a", pawl.HashOf(own))
		WantCode(t, err, pawl.CodeNotFound)
		MustBlob(t, log, "002-b", shared)
		WantCode(t, log.Append(t.Context(), Unit("001-a", 0, 1)), pawl.CodeState)
		MustAppend(t, log, Unit("002-b", next, 1))
		next++
		wantEvents(t, MustEvents(t, log, "002-b", 0), Unit("002-b", 0, int(next)).Events)
	}
	check(log)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log = s.open(t, dir)
	check(log)
	MustAppend(t, log, Unit("003-c", 0, 1))
	wantRuns(t, log, "002-b", "003-c")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	wantRuns(t, s.reopened(t, dir), "002-b", "003-c")
}

// F-31
func (s suite) deletedMemory(t *testing.T) {
	dir := t.TempDir()
	log := s.open(t, dir)
	for _, run := range []pawl.RunID{"001-a", "002-b"} {
		text := "the cache of " + string(run) + " is warm"
		MustAppend(t, log, Told(run, 0, []string{text}, Learn(1, pawl.MemoryLearning, pawl.ScopeProject, text)))
	}
	MustDelete(t, log, "001-a", 1)
	check := func(log pawl.Log) {
		t.Helper()
		for _, q := range []pawl.MemoryQuery{{}, {Text: "cache"}, {Run: "003-c", Project: true}} {
			if got := MustRecall(t, log, q); len(got) != 1 || got[0].Run != "002-b" {
				t.Errorf("%+v finds %+v", q, got)
			}
		}
	}
	check(log)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log = s.open(t, dir)
	check(log)
	MustErase(t, log, "001-a")
	check(log)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	check(s.reopened(t, dir))
}
