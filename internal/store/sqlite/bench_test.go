package sqlite

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
)

// benchUnit is a unit as a turn of an agent makes it: two events of about 150
// bytes and two blobs of 2 KiB that do not compress. n makes it unlike others.
func benchUnit(run pawl.RunID, after pawl.Seq, noise []byte, n uint64) pawl.Unit {
	blobs := make([]pawl.Blob, 2)
	for i := range blobs {
		data := append([]byte(nil), noise[i*2048:(i+1)*2048]...)
		binary.LittleEndian.PutUint64(data, n)
		blobs[i] = pawl.NewBlob(data)
	}
	seen := pawl.Event{Run: run, Seq: after + 1, Loop: 1, Body: &pawl.ModelReplied{
		Effect: after, Message: blobs[0].Hash(), Text: blobs[1].Hash(), Bytes: 2048, Stop: "tool_use",
		Model: "a-model-of-medium-size-20260101", Usage: pawl.Usage{Input: 12_345, CacheRead: 99_999, Output: 512}, Cost: 31_415,
	}}
	wanted := pawl.Event{Run: run, Seq: after + 2, Loop: 1, Body: &pawl.ToolReturned{
		Effect: after + 1, Output: blobs[1].Hash(), Bytes: 2048,
		Tree: "0123456789012345678901234567890123456789012345678901234567890123",
	}}
	return pawl.Unit{Run: run, After: after, Events: []pawl.Event{seen, wanted}, Blobs: blobs}
}

// BenchmarkAppend is read beside BenchmarkRawFdatasync of the same run.
func BenchmarkAppend(b *testing.B) { benchmarkAppend(b, true) }

// BenchmarkAppendEvents appends the same units without their blobs.
func BenchmarkAppendEvents(b *testing.B) { benchmarkAppend(b, false) }

func benchmarkAppend(b *testing.B, blobs bool) {
	for _, runs := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			log := mustOpen(b, b.TempDir())
			defer log.Close()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ResetTimer()
			for i := range runs {
				id := pawl.RunID(fmt.Sprintf("%03d-bench", i))
				wg.Go(func() {
					noise := storetest.Noise(uint64(i), 4096)
					for after := pawl.Seq(0); left.Add(-1) >= 0; after += 2 {
						u := benchUnit(id, after, noise, uint64(after))
						if !blobs {
							u.Blobs = nil
						}
						if err := log.Append(b.Context(), u); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "units/s")
		})
	}
}

// BenchmarkRead reads a run of 100,000 events, two a unit, that stands alone in
// its file, and one of 10,000 whose units lie between those of 9 others.
func BenchmarkRead(b *testing.B) {
	for _, runs := range []int{1, 10} {
		events := pawl.Seq(100_000 / runs)
		b.Run(fmt.Sprintf("runs=%d/events=%d", runs, events), func(b *testing.B) {
			log := mustOpen(b, b.TempDir())
			defer log.Close()
			noise := storetest.Noise(1, 4096)
			var last *request
			for after := pawl.Seq(0); after < events; after += 2 {
				for i := range runs {
					u := benchUnit(pawl.RunID(fmt.Sprintf("%03d-bench", i)), after, noise, uint64(after))
					u.Blobs = nil
					last = mustQueue(b, log, u)
				}
			}
			if err := <-last.done; err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for range b.N {
				if n := len(storetest.MustEvents(b, log, "000-bench", 0)); n != int(events) {
					b.Fatalf("%d events", n)
				}
			}
			b.ReportMetric(float64(b.N)*float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkOpenNew makes a log in a new folder, schema included.
func BenchmarkOpenNew(b *testing.B) {
	root := b.TempDir()
	for i := range b.N {
		mustClose(b, mustOpen(b, filepath.Join(root, strconv.Itoa(i))))
	}
}

// BenchmarkOpenAfterCrash opens what a kill leaves at worst: heads as far behind
// as they may be, and a WAL that was not copied.
func BenchmarkOpenAfterCrash(b *testing.B) {
	dir := b.TempDir()
	log := mustOpen(b, dir)
	noise := storetest.Noise(1, 4096)
	var last *request
	for i := range flushAtLatest - 1 {
		last = mustQueue(b, log, benchUnit(pawl.RunID(fmt.Sprintf("%05d-bench", i/4)), pawl.Seq(i%4*2), noise, uint64(i)))
	}
	if err := <-last.done; err != nil {
		b.Fatal(err)
	}
	file, wal := copyFiles(b, dir)
	mustClose(b, log)
	b.ReportMetric(float64(len(wal))/1e6, "wal-MB")
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		mustWrite(b, filepath.Join(dir, fileName), file)
		mustWrite(b, filepath.Join(dir, fileName+"-wal"), wal)
		b.StartTimer()
		log := mustOpen(b, dir)
		b.StopTimer()
		mustClose(b, log)
		b.StartTimer()
	}
}

// BenchmarkOpen opens a log of 10,000 runs of two events.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	log := mustOpen(b, dir)
	const runs = 10_000
	var wg sync.WaitGroup
	for part := range 100 {
		wg.Go(func() {
			for i := part; i < runs; i += 100 {
				u := storetest.Unit(pawl.RunID(fmt.Sprintf("%05d-bench", i)), 0, 2)
				u.Info = &pawl.RunInfo{ID: u.Run, Task: i, Title: "a run with a title of some length", Recipe: "taskloop",
					Status: pawl.StatusEnded, Outcome: pawl.OutcomeComplete, Branch: "pawl/" + string(u.Run), Seq: 2}
				storetest.MustAppend(b, log, u)
			}
		})
	}
	wg.Wait()
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for range b.N {
			if err := mustOpen(b, dir).Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open and list", func(b *testing.B) {
		for range b.N {
			log := mustOpen(b, dir)
			if n := len(storetest.MustRuns(b, log)); n != runs {
				b.Fatalf("%d runs", n)
			}
			if err := log.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSince opens a log and reads 8 runs of 10,000 events at once, as a daemon does after a kill.
// The runs' units alternate in the file, and the states after their last events are kept.
func BenchmarkSince(b *testing.B) {
	const runs, events = 8, 10_000
	dir := b.TempDir()
	log := mustOpen(b, dir)
	noise := storetest.Noise(1, 4096)
	var last *request
	id := func(i int) pawl.RunID { return pawl.RunID(fmt.Sprintf("%03d-bench", i)) }
	for after := pawl.Seq(0); after < events; after += 2 {
		for i := range runs {
			u := benchUnit(id(i), after, noise, uint64(after))
			u.Blobs = u.Blobs[:1]
			last = mustQueue(b, log, u)
		}
	}
	if err := <-last.done; err != nil {
		b.Fatal(err)
	}
	for i := range runs {
		if err := log.Keep(b.Context(), id(i), pawl.Kept{Seq: events, Form: "bench", State: noise}); err != nil {
			b.Fatal(err)
		}
	}
	mustClose(b, log)
	b.ReportAllocs()
	for b.Loop() {
		log := mustOpen(b, dir)
		var wg sync.WaitGroup
		for i := range runs {
			wg.Go(func() {
				k, err := log.Kept(b.Context(), id(i))
				if err != nil || k.Seq != events {
					b.Errorf("kept after %d: %v", k.Seq, err)
				}
				for _, err := range log.Since(b.Context(), id(i), k) {
					b.Errorf("an event: %v", err)
				}
			})
		}
		wg.Wait()
		mustClose(b, log)
	}
}
