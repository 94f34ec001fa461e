package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func (s suite) events(t *testing.T) {
	log := s.fresh(t)
	var want []pawl.Event
	for _, n := range []int{1, 3, 1, 200, 2} {
		u := Unit("001-a", pawl.Seq(len(want)), n)
		MustAppend(t, log, u)
		want = append(want, u.Events...)
	}
	wantEvents(t, MustEvents(t, log, "001-a", 0), want)
	for _, after := range []pawl.Seq{1, 2, 4, 5, 6, 100, 204, 205, 206} {
		wantEvents(t, MustEvents(t, log, "001-a", after), want[after:])
	}
	for _, after := range []pawl.Seq{207, 208, 1000} {
		if got := MustEvents(t, log, "001-a", after); len(got) != 0 {
			t.Errorf("%d events after %d, want none", len(got), after)
		}
	}
}

func (s suite) unknown(t *testing.T) {
	log := s.fresh(t)
	MustAppend(t, log, Unit("001-a", 0, 1, []byte("x")))
	empty(t, log, "002-b")
	_, err := log.Blob(t.Context(), "002-b", pawl.HashOf([]byte("x")))
	WantCode(t, err, pawl.CodeNotFound)
	_, err = log.Blob(t.Context(), "001-a", pawl.HashOf([]byte("y")))
	WantCode(t, err, pawl.CodeNotFound)
}

func (s suite) conflict(t *testing.T) {
	log := s.fresh(t)
	err := log.Append(t.Context(), Unit("001-a", 1, 1))
	WantCode(t, err, pawl.CodeConflict)
	empty(t, log, "001-a")

	first := Unit("001-a", 0, 2)
	first.Info = &pawl.RunInfo{ID: "001-a", Title: "first"}
	MustAppend(t, log, first)
	for _, after := range []pawl.Seq{0, 1, 3, 4} {
		u := Unit("001-a", after, 2, []byte("lost"))
		u.Info = &pawl.RunInfo{ID: "001-a", Title: "lost"}
		WantCode(t, log.Append(t.Context(), u), pawl.CodeConflict)
	}
	wantEvents(t, MustEvents(t, log, "001-a", 0), first.Events)
	_, err = log.Blob(t.Context(), "001-a", pawl.HashOf([]byte("lost")))
	WantCode(t, err, pawl.CodeNotFound)
	if runs := MustRuns(t, log); len(runs) != 1 || runs[0].Title != "first" {
		t.Errorf("runs are %+v", runs)
	}
}

func (s suite) malformed(t *testing.T) {
	log := s.fresh(t)
	gap := Unit("001-a", 0, 3)
	gap.Events[2].Seq = 4
	other := Unit("001-a", 0, 2)
	other.Events[1].Run = "002-b"
	bare := Unit("001-a", 0, 2)
	bare.Events[1].Body = nil
	line := Unit("001-a", 0, 1)
	line.Info = &pawl.RunInfo{ID: "002-b"}
	zero := Unit("001-a", 0, 1, []byte("a blob"))
	zero.Blobs = append(zero.Blobs, pawl.Blob{})
	for name, u := range map[string]pawl.Unit{
		"no events":              {Run: "001-a"},
		"no run":                 Unit("", 0, 1),
		"a gap in the numbers":   gap,
		"another run's event":    other,
		"an event without body":  bare,
		"another run's line":     line,
		"a blob of nobody":       zero,
		"no events for a reader": {Run: "001-a", Info: &pawl.RunInfo{ID: "001-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			WantCode(t, log.Append(t.Context(), u), pawl.CodeInvalid)
			empty(t, log, "001-a")
		})
	}
}

func (s suite) rivals(t *testing.T) {
	log := s.fresh(t)
	for after := range pawl.Seq(20) {
		results := make(chan error)
		for range 4 {
			go func() { results <- log.Append(t.Context(), Unit("001-a", after, 1)) }()
		}
		won := 0
		for range 4 {
			if err := <-results; err == nil {
				won++
			} else if pawl.CodeOf(err) != pawl.CodeConflict {
				t.Errorf("a rival failed with %v", err)
			}
		}
		if won != 1 {
			t.Fatalf("%d rivals won at event %d", won, after+1)
		}
	}
	wantEvents(t, MustEvents(t, log, "001-a", 0), Unit("001-a", 0, 20).Events)
}

func sampleBlobs() [][]byte {
	text := bytes.Repeat([]byte("--- PASS: TestEverything (0.00s)\n"), 4000)
	blobs := [][]byte{{}, []byte("x"), text, text[:70_000], Noise(9, 5<<20)}
	for i, n := range []int{1, 100, 4095, 4096, 4097, 65535, 65536, 65537, 200_000} {
		blobs = append(blobs, text[:min(n, len(text))], Noise(uint64(i), n))
	}
	return blobs
}

func (s suite) blobs(t *testing.T) {
	dir := t.TempDir()
	log := s.open(t, dir)
	blobs := sampleBlobs()
	MustAppend(t, log, Unit("001-a", 0, 2, blobs[:8]...))
	for i, b := range blobs[8:] {
		MustAppend(t, log, Unit("001-a", pawl.Seq(2+i), 1, b))
	}
	MustAppend(t, log, Unit("002-b", 0, 1))
	for _, b := range blobs {
		MustBlob(t, log, "001-a", b)
		_, err := log.Blob(t.Context(), "002-b", pawl.HashOf(b))
		WantCode(t, err, pawl.CodeNotFound)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log = s.reopened(t, dir)
	for _, b := range blobs {
		MustBlob(t, log, "001-a", b)
	}
}

func (s suite) repeatedBlob(t *testing.T) {
	log := s.fresh(t)
	a, b, c := Noise(1, 3000), Noise(2, 3000), Noise(3, 3000)
	MustAppend(t, log, Unit("001-a", 0, 1, a, b, a))
	MustAppend(t, log, Unit("001-a", 1, 1, b))
	MustAppend(t, log, Unit("001-a", 2, 1, a, c, b))
	for _, blob := range [][]byte{a, b, c} {
		MustBlob(t, log, "001-a", blob)
	}
}

func (s suite) runs(t *testing.T) {
	dir := t.TempDir()
	log := s.open(t, dir)
	if runs := MustRuns(t, log); len(runs) != 0 {
		t.Fatalf("an empty log lists %+v", runs)
	}
	var want []pawl.RunInfo
	for i, id := range []pawl.RunID{"003-c", "001-a", "002-b", "001-a-r2"} {
		u := Unit(id, 0, 1)
		line := pawl.RunInfo{ID: id, Task: i, Title: "first", Status: pawl.StatusRunning, Started: start, Updated: start, Seq: 1}
		u.Info = &line
		MustAppend(t, log, u)
		want = append(want, line)
	}
	MustAppend(t, log, Unit("004-plain", 0, 1))
	want = append(want, pawl.RunInfo{ID: "004-plain"})

	u := Unit("001-a", 1, 1)
	want[1] = pawl.RunInfo{ID: "001-a", Title: "second", Recipe: "taskloop", Status: pawl.StatusEnded, Outcome: pawl.OutcomeComplete,
		Branch: "pawl/001-a", Iteration: 3, Max: 10, Tier: "fast", Cost: 12345, Tokens: 99, Started: start, Updated: start, Seq: 2}
	line := want[1]
	u.Info = &line
	MustAppend(t, log, u)
	line.Title = "changed by the caller afterwards"
	MustAppend(t, log, Unit("002-b", 1, 1)) // keeps its line
	if diff := cmp.Diff(want, MustRuns(t, log)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	wantJSON(t, log, want)
	for most, newest := range map[int][]pawl.RunInfo{0: want, 2: want[3:], 9: want} {
		got, err := pawl.NewestRuns(t.Context(), log, most)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(newest, got); diff != "" {
			t.Errorf("the newest %d runs (-want +got):\n%s", most, diff)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log = s.reopened(t, dir)
	if diff := cmp.Diff(want, MustRuns(t, log)); diff != "" {
		t.Errorf("runs after reopening (-want +got):\n%s", diff)
	}
	wantJSON(t, log, want)
}

// wantJSON checks that a line's JSON, where it is known, is that of the line.
func wantJSON(t testing.TB, log pawl.Log, want []pawl.RunInfo) {
	t.Helper()
	lines, err := pawl.NewestLines(t.Context(), log, 0)
	if err != nil || len(lines) != len(want) {
		t.Fatalf("%d lines, %v; want %d", len(lines), err, len(want))
	}
	for i, l := range lines {
		data, err := json.Marshal(want[i])
		if err != nil {
			t.Fatal(err)
		}
		if l.JSON != nil && string(l.JSON) != string(data) {
			t.Errorf("line %d is %s, want %s", i, l.JSON, data)
		}
	}
}

func (s suite) concurrent(t *testing.T) {
	log := s.fresh(t)
	const runs, units = 40, 25
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			id := pawl.RunID(fmt.Sprintf("%03d-run", i))
			for n := range units {
				blob := Noise(uint64(i*units+n), 500)
				if err := log.Append(t.Context(), Unit(id, pawl.Seq(2*n), 2, blob)); err != nil {
					t.Errorf("append to %s: %v", id, err)
					return
				}
				if got, err := Collect(log.Events(t.Context(), id, pawl.Seq(2*n))); err != nil || len(got) != 2 {
					t.Errorf("%s has %d new events, want 2 (%v)", id, len(got), err)
				}
				if _, err := log.Blob(t.Context(), id, pawl.HashOf(blob)); err != nil {
					t.Errorf("a blob of %s: %v", id, err)
				}
				if _, err := log.Runs(t.Context()); err != nil {
					t.Errorf("list runs: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for i := range runs {
		id := pawl.RunID(fmt.Sprintf("%03d-run", i))
		wantEvents(t, MustEvents(t, log, id, 0), Unit(id, 0, 2*units).Events)
	}
}

func (s suite) stopEarly(t *testing.T) {
	log := s.fresh(t)
	for i := range 300 {
		MustAppend(t, log, Unit("001-a", pawl.Seq(3*i), 3))
	}
	for _, stop := range []pawl.Seq{1, 2, 3, 500, 899, 900} {
		seen := pawl.Seq(0)
		for e, err := range log.Events(t.Context(), "001-a", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; e.Seq != seen {
				t.Fatalf("event %d came as number %d", e.Seq, seen)
			}
			if seen == stop {
				// A reader may use the log while it reads.
				MustAppend(t, log, Unit("002-b", lastOf(t, log, "002-b"), 1))
				break
			}
		}
		if seen != stop {
			t.Errorf("saw %d events, wanted to stop at %d", seen, stop)
		}
	}
}

// lastOf is the number of a run's last event; 0 when there is no run.
func lastOf(t testing.TB, log pawl.Log, run pawl.RunID) pawl.Seq {
	t.Helper()
	events, err := Collect(log.Events(t.Context(), run, 0))
	if err != nil && pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Fatal(err)
	}
	return pawl.Seq(len(events))
}

func (s suite) cancelled(t *testing.T) {
	log := s.fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := log.Append(ctx, Unit("001-a", 0, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("append with a cancelled context: %v", err)
	}
	empty(t, log, "001-a")

	// Whenever the context ends, the answer tells the truth.
	last := pawl.Seq(0)
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- log.Append(ctx, Unit("002-b", last, 1)) }()
		for range i {
			ctx.Err() // a little time, more each round
		}
		cancel()
		if err := <-done; err == nil {
			last++
		} else if !errors.Is(err, context.Canceled) {
			t.Fatalf("append: %v", err)
		}
	}
	MustAppend(t, log, Unit("002-b", last, 1))
	wantEvents(t, MustEvents(t, log, "002-b", 0), Unit("002-b", 0, int(last)+1).Events)
}

func (s suite) cancelledReader(t *testing.T) {
	log := s.fresh(t)
	for i := range 400 {
		MustAppend(t, log, Unit("001-a", pawl.Seq(i), 1))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	var last error
	for _, err := range log.Events(ctx, "001-a", 0) {
		if last = err; err == nil {
			seen++
		}
		cancel()
	}
	if !errors.Is(last, context.Canceled) || seen == 0 || seen == 400 {
		t.Errorf("the reader saw %d of 400 events, then %v", seen, last)
	}
}

func (s suite) reopen(t *testing.T) {
	dir := t.TempDir()
	for round := range 5 {
		log := s.open(t, dir)
		for i := range 3 {
			id := pawl.RunID(fmt.Sprintf("%03d-run", i))
			if round > 0 {
				wantEvents(t, MustEvents(t, log, id, 0), Unit(id, 0, 4*round).Events)
				WantCode(t, log.Append(t.Context(), Unit(id, pawl.Seq(4*round-1), 1)), pawl.CodeConflict)
			}
			for n := range 2 {
				MustAppend(t, log, Unit(id, pawl.Seq(4*round+2*n), 2, Noise(uint64(round), 5000), []byte("always the same")))
			}
		}
		for i := range 3 {
			id := pawl.RunID(fmt.Sprintf("%03d-run", i))
			for past := range round + 1 {
				MustBlob(t, log, id, Noise(uint64(past), 5000))
			}
			MustBlob(t, log, id, []byte("always the same"))
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func (s suite) closed(t *testing.T) {
	log := s.open(t, t.TempDir())
	MustAppend(t, log, Unit("001-a", 0, 1, []byte("x")))
	for range 2 {
		if err := log.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	WantCode(t, log.Append(t.Context(), Unit("001-a", 1, 1)), pawl.CodeUnavailable)
	_, err := Collect(log.Events(t.Context(), "001-a", 0))
	WantCode(t, err, pawl.CodeUnavailable)
	_, err = log.Runs(t.Context())
	WantCode(t, err, pawl.CodeUnavailable)
	_, err = log.Blob(t.Context(), "001-a", pawl.HashOf([]byte("x")))
	WantCode(t, err, pawl.CodeUnavailable)
}
