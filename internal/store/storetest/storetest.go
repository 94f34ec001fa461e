// Package storetest holds the tests that every [pawl.Log] passes.
package storetest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// Open opens the log in a folder. Opened again after it was closed, it has what
// was appended before.
type Open func(t testing.TB, dir string) pawl.Log

// Run tests a log.
func Run(t *testing.T, open Open) {
	s := suite{open}
	t.Run("appended events are read in order", s.events)
	t.Run("an unknown run is not found", s.unknown)
	t.Run("a unit that does not follow is refused whole", s.conflict)
	t.Run("a malformed unit is refused whole", s.malformed)
	t.Run("one of two rivals wins", s.rivals)
	t.Run("blobs come back", s.blobs)
	t.Run("a blob is stored once per run", s.repeatedBlob)
	t.Run("runs are listed oldest first with their newest line", s.runs)
	t.Run("many runs at once", s.concurrent)
	t.Run("a reader may stop early", s.stopEarly)
	t.Run("a cancelled append stores nothing", s.cancelled)
	t.Run("a cancelled reader stops", s.cancelledReader)
	t.Run("everything survives reopening", s.reopen)
	t.Run("a closed log says so", s.closed)
	t.Run("memory", s.memory)
	t.Run("a deleted run is read and not listed", s.deleted)
	t.Run("an erased run is gone", s.erased)
	t.Run("a deleted run is not remembered", s.deletedMemory)
	t.Run("any sequence of calls does what a plain list does", s.model)
}

type suite struct{ open Open }

// fresh opens a log in a folder of its own and closes it after the test.
func (s suite) fresh(t testing.TB) pawl.Log {
	t.Helper()
	return s.reopened(t, t.TempDir())
}

func (s suite) reopened(t testing.TB, dir string) pawl.Log {
	t.Helper()
	log := s.open(t, dir)
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return log
}

// Unit is a unit of n events after a number, whose content depends on nothing
// else, with these blobs.
func Unit(run pawl.RunID, after pawl.Seq, n int, blobs ...[]byte) pawl.Unit {
	u := pawl.Unit{Run: run, After: after}
	for i := range n {
		seq := after + 1 + pawl.Seq(i)
		e := pawl.Event{Run: run, Seq: seq, Loop: pawl.LoopRef(seq % 3), Time: start.Add(time.Duration(seq) * time.Second)}
		switch seq % 3 {
		case 0:
			e.Body = &pawl.RunPaused{Reason: fmt.Sprintf("%s is at %d", run, seq)}
		case 1:
			e.Body = &pawl.ToolReturned{Effect: seq, Bytes: int64(seq) * 7, Tree: pawl.TreeHash(fmt.Sprintf("%040d", seq))}
		case 2:
			e.Body = &pawl.LimitReached{Scope: "run", Limit: pawl.LimitTokens, Max: 10, Value: int64(seq)}
		}
		u.Events = append(u.Events, e)
	}
	for _, b := range blobs {
		u.Blobs = append(u.Blobs, pawl.NewBlob(b))
	}
	return u
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// Noise is n bytes that do not compress and depend on the seed only.
func Noise(seed uint64, n int) []byte {
	var key [32]byte
	key[0], key[1], key[2], key[3] = byte(seed), byte(seed>>8), byte(seed>>16), byte(seed>>24)
	data := make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(data) // it never fails
	return data
}

// MustAppend appends a unit.
func MustAppend(t testing.TB, log pawl.Log, u pawl.Unit) {
	t.Helper()
	if err := log.Append(t.Context(), u); err != nil {
		t.Fatalf("append events %d to %d of %s: %v", u.After+1, int(u.After)+len(u.Events), u.Run, err)
	}
}

// MustEvents reads a run's events after a number.
func MustEvents(t testing.TB, log pawl.Log, run pawl.RunID, after pawl.Seq) []pawl.Event {
	t.Helper()
	events, err := Collect(log.Events(t.Context(), run, after))
	if err != nil {
		t.Fatalf("read %s after %d: %v", run, after, err)
	}
	return events
}

// Collect takes the events up to the first error.
func Collect(events iter.Seq2[pawl.Event, error]) (all []pawl.Event, err error) {
	for e, err := range events {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// MustRuns lists the runs.
func MustRuns(t testing.TB, log pawl.Log) []pawl.RunInfo {
	t.Helper()
	runs, err := log.Runs(t.Context())
	if err != nil {
		t.Fatalf("list runs: %v", err)
	}
	return runs
}

// MustBlob reads a blob that must have this content.
func MustBlob(t testing.TB, log pawl.Log, run pawl.RunID, want []byte) {
	t.Helper()
	got, err := log.Blob(t.Context(), run, pawl.HashOf(want))
	if err != nil {
		t.Fatalf("read a blob of %d bytes of %s: %v", len(want), run, err)
	}
	if string(got) != string(want) {
		t.Fatalf("a blob of %d bytes of %s came back as %d other bytes", len(want), run, len(got))
	}
}

// WantCode checks an error's code.
func WantCode(t testing.TB, err error, code pawl.Code) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with code %s", code)
	}
	if got := pawl.CodeOf(err); got != code {
		t.Fatalf("error %v has code %s, want %s", err, got, code)
	}
}

func wantEvents(t testing.TB, got, want []pawl.Event) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
}

// empty checks that nothing of a run is there.
func empty(t testing.TB, log pawl.Log, run pawl.RunID) {
	t.Helper()
	_, err := Collect(log.Events(context.Background(), run, 0))
	WantCode(t, err, pawl.CodeNotFound)
	for _, r := range MustRuns(t, log) {
		if r.ID == run {
			t.Fatalf("run %s is listed", run)
		}
	}
}
