package local_test

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"iter"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/driver/local"
	"pawl/internal/kernel"
	"pawl/internal/store/mem"
	"pawl/internal/store/sqlite"
)

// keeper keeps states beside a log.
type keeper struct {
	pawl.Log
	mu    sync.Mutex
	kept  map[pawl.RunID]pawl.Kept
	given int // events that were read after a kept state
	keeps []pawl.Seq
}

func (k *keeper) Keep(ctx context.Context, run pawl.RunID, s pawl.Kept) error {
	sum, _, err := k.sum(ctx, run, s.Seq)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s.Sum = sum
	k.kept[run], k.keeps = s, append(k.keeps, s.Seq)
	return nil
}

// sum returns the checksum of a run's first events, and how many there are.
func (k *keeper) sum(ctx context.Context, run pawl.RunID, to pawl.Seq) (sum uint32, n pawl.Seq, err error) {
	for e, err := range k.Events(ctx, run, 0) {
		if err != nil {
			return 0, n, err
		}
		if e.Seq <= to {
			sum, n = crc32.Update(sum, crc32.IEEETable, pawl.AppendEvent(nil, e)), e.Seq
		}
	}
	return sum, n, nil
}

func (k *keeper) Kept(_ context.Context, run pawl.RunID) (pawl.Kept, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept[run], nil
}

func (k *keeper) Since(ctx context.Context, run pawl.RunID, s pawl.Kept) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		if sum, n, err := k.sum(ctx, run, s.Seq); err != nil || n != s.Seq || sum != s.Sum {
			yield(pawl.Event{}, pawl.Errorf(pawl.CodeConflict, "it is of another log: %v", err))
			return
		}
		for e, err := range k.Events(ctx, run, s.Seq) {
			k.mu.Lock()
			k.given++
			k.mu.Unlock()
			if !yield(e, err) {
				return
			}
		}
	}
}

// A driver that continues from the state after the last unit passes the same suite.
func TestDriverThatKeeps(t *testing.T) {
	drivertest.Run(t,
		func(testing.TB) pawl.Log { return mem.New() },
		func(_ testing.TB, o drivertest.Options) drivertest.Driver {
			k := &keeper{Log: o.Log, kept: map[pawl.RunID]pawl.Kept{}}
			return &local.Driver{Log: k, Keeper: k, KeepEvery: 1, Performer: o.Performer, Places: o.Places, Observe: o.Observe, Left: o.Left,
				SpaceRetry: time.Millisecond}
		})
}

// finished drives a run to its end and returns its log.
func finished(t *testing.T, log pawl.Log, k pawl.Keeper, every int) {
	t.Helper()
	left := make(chan error, 1)
	d := &local.Driver{Log: log, Keeper: k, KeepEvery: every, Performer: &drivertest.World{Calls: 5}, Left: func(_ pawl.RunID, err error) { left <- err }}
	defer d.Close()
	if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-left; err != nil {
		t.Fatal(err)
	}
}

func mustFold(t *testing.T, log pawl.Log) *kernel.State {
	t.Helper()
	s, err := local.Fold(t.Context(), log, "001-small")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eventsOnly hides that a log keeps states.
type eventsOnly struct{ pawl.Log }

// The state of a run at rest is kept in a real log, and folds as all of its events do.
func TestFoldOfAKeptState(t *testing.T) {
	dir := t.TempDir()
	log, err := sqlite.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	finished(t, log, log, 100)
	k, err := log.Kept(t.Context(), "001-small")
	if err != nil || k.Seq == 0 {
		t.Fatalf("after event %d something is kept: %v", k.Seq, err)
	}
	s, whole := mustFold(t, log), mustFold(t, eventsOnly{log})
	if s.Seq != whole.Seq || k.Seq != s.Seq || !reflect.DeepEqual(s, whole) {
		t.Errorf("folded from event %d the state at %d is\n%+v\nand not\n%+v", k.Seq, s.Seq, s, whole)
	}
}

// A state is kept every so many events and at the end, and one by one.
func TestKeepEvery(t *testing.T) { synctest.Test(t, keepEvery) }

func keepEvery(t *testing.T) {
	for _, row := range []struct{ every, least, most int }{{1000, 0, 0}, {100, 1, 1}, {20, 2, 3}, {10, 2, 6}} {
		k := &keeper{Log: mem.New(), kept: map[pawl.RunID]pawl.Kept{}}
		finished(t, k, k, row.every)
		end := mustFold(t, k).Seq
		if n := len(k.keeps); n < row.least || n > row.most || n > 0 && k.keeps[n-1] != end { // some while another one was kept
			t.Errorf("every %d events: states were kept after events %d of %d", row.every, k.keeps, end)
		}
	}
}

// A kept state that is of no use costs nothing but time.
func TestFoldWithoutUse(t *testing.T) { synctest.Test(t, foldWithoutUse) }

func foldWithoutUse(t *testing.T) {
	k := &keeper{Log: mem.New(), kept: map[pawl.RunID]pawl.Kept{}}
	finished(t, k, k, 1)
	want := mustFold(t, eventsOnly{k})
	good := k.kept["001-small"]
	if k.given = 0; !reflect.DeepEqual(mustFold(t, k), want) {
		t.Error("the kept state folds to another one")
	}
	if k.given > 0 || good.Seq != want.Seq {
		t.Errorf("%d events were folded after a state that was kept at %d of %d", k.given, good.Seq, want.Seq)
	}
	for name, change := range map[string]func(*pawl.Kept){
		"of another program": func(s *pawl.Kept) {
			other := mustFold(t, eventsOnly{k})
			other.Reason = "as another program sees it"
			s.Form, s.State = "another", other.Snapshot()
		},
		"of a program unknown": func(s *pawl.Kept) { s.Form = "" },
		"cut short":            func(s *pawl.Kept) { s.State = s.State[:len(s.State)/2] },
		"of another event":     func(s *pawl.Kept) { s.Seq-- },
		"of another log":       func(s *pawl.Kept) { s.Sum++ },
		"after the log's end":  func(s *pawl.Kept) { s.Seq += 10 },
		"not there":            func(s *pawl.Kept) { *s = pawl.Kept{} },
		"of no loop that the events have": func(s *pawl.Kept) {
			bare := &kernel.State{}
			for e, err := range k.Events(t.Context(), "001-small", 0) {
				if err == nil {
					err = kernel.Apply(bare, e)
				}
				if err != nil {
					t.Fatal(err)
				}
				break //nolint:staticcheck // only the first one
			}
			bare.Seq = s.Seq / 2
			sum, _, err := k.sum(t.Context(), "001-small", bare.Seq)
			if err != nil {
				t.Fatal(err)
			}
			s.Seq, s.Sum, s.State = bare.Seq, sum, bare.Snapshot()
		},
	} {
		bad := good
		change(&bad)
		k.kept["001-small"] = bad
		if got := mustFold(t, k); !reflect.DeepEqual(got, want) {
			t.Errorf("with a state that is %s, the run folds to another one", name)
		}
	}
}

// The state of a run that is stopped is kept, and that of one that was given up is not.
func TestKeepAtTheEnd(t *testing.T) { synctest.Test(t, keepAtTheEnd) }

func keepAtTheEnd(t *testing.T) {
	for _, broken := range []bool{false, true} {
		k := &keeper{Log: mem.New(), kept: map[pawl.RunID]pawl.Kept{}}
		world := &drivertest.World{Calls: 3}
		world.Before = func(ctx context.Context, job driver.Job) {
			if job.Effect.Do.Verb() == pawl.VerbCallTool {
				<-ctx.Done()
			}
		}
		left := make(chan error, 1)
		d := &local.Driver{Log: k, Keeper: k, KeepEvery: 10, Performer: world, Left: func(_ pawl.RunID, err error) { left <- err }}
		if err := d.Start(t.Context(), "001-small", drivertest.Started(), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := len(k.keeps)
		at := mustFold(t, eventsOnly{k}).Seq
		if broken { // nobody else may write to the log
			rival := pawl.Unit{Run: "001-small", After: at, Events: []pawl.Event{{Run: "001-small", Seq: at + 1, Body: &pawl.RunPaused{Reason: "a rival"}}}}
			if err := k.Append(t.Context(), rival); err != nil {
				t.Fatal(err)
			}
			if err := d.Steer(t.Context(), "001-small", pawl.Steering{Verb: pawl.SteerPause}); err == nil {
				t.Error("the run was paused")
			}
			<-left
		}
		d.Close()
		switch after := k.keeps[before:]; {
		case broken && len(after) > 0:
			t.Errorf("states were kept after events %d of a run that was given up", after)
		case !broken && (len(after) != 1 || after[0] != at):
			t.Errorf("states were kept after events %d, want one after %d", after, at)
		}
	}
}

// Whoever folds many events keeps the state, and a run that is adopted does not do it again.
func TestFoldKeeps(t *testing.T) { synctest.Test(t, foldKeeps) }

func foldKeeps(t *testing.T) {
	k := &keeper{Log: mem.New(), kept: map[pawl.RunID]pawl.Kept{}}
	world := &drivertest.World{Calls: 30, GateVerdict: func(int, string) pawl.Verdict { return pawl.VerdictFail }}
	d := &local.Driver{Log: k, Performer: world}
	var steps atomic.Int64
	world.Before = func(ctx context.Context, job driver.Job) {
		if steps.Add(1) > 420 {
			<-ctx.Done()
		}
	}
	started, recipe := drivertest.Started(), drivertest.Recipe()
	recipe.Kinds[0].Ladder.Rungs = []pawl.Rung{{Tier: 1, Failures: 1 << 30}}
	var err error
	if started.Recipe, err = json.Marshal(recipe); err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context(), "001-small", started, nil); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	d.Close()
	whole := mustFold(t, eventsOnly{k})
	if whole.Seq < 1000 || whole.Status == pawl.StatusEnded {
		t.Fatalf("the run is %s after %d events: %s", whole.Status, whole.Seq, whole.Reason)
	}
	if got := mustFold(t, k); len(k.keeps) != 1 || k.keeps[0] != whole.Seq || !reflect.DeepEqual(got, whole) {
		t.Errorf("states were kept after events %d, want one after %d", k.keeps, whole.Seq)
	}
	mustFold(t, k)
	d = &local.Driver{Log: k, Keeper: k, Performer: world}
	if err := d.Adopt(t.Context(), "001-small"); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	d.Close()
	if len(k.keeps) != 1 {
		t.Errorf("states were kept after events %d, want no more", k.keeps)
	}
}
