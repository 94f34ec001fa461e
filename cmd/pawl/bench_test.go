//go:build unix

package main

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"pawl/internal/bench"
)

// Benchmarks with daemon processes run to their end and count correctly. The test checks no
// durations. F-66
func TestBenchOfDaemons(t *testing.T) {
	t.Parallel()
	o := bench.Options{Dir: t.TempDir(), Program: pawlProgram(t), Progress: func(what string) { t.Log(what) }}
	t.Run("Recovery", func(t *testing.T) {
		r, err := bench.MeasureRecovery(t.Context(), o, 2, 60, 1)
		if err != nil || r.Effect.Max > r.Call.Max {
			t.Errorf("%+v, %v", r, err)
		}
		// On a slow machine some orphans may outlive the benchmark. TestDaemon waits for their end.
		t.Logf("%d orphans", r.Orphans)
	})
	t.Run("Watchers", func(t *testing.T) {
		w, err := bench.MeasureWatchers(t.Context(), o, 30, 3, 20, time.Millisecond)
		if err != nil || w.Lost > 0 || w.Duplicated > 0 || w.Bytes < 1800 {
			t.Errorf("%+v, %v", w, err)
		}
	})
	t.Run("List", func(t *testing.T) {
		l, err := bench.MeasureList(t.Context(), o, 150, 20)
		if err != nil || l.Page.Runs != 100 || l.All.Bytes < l.Page.Bytes*5/4 {
			t.Errorf("%+v, %v", l, err)
		}
	})
	t.Run("Start", func(t *testing.T) {
		if s, err := bench.MeasureStart(t.Context(), o, 1); err != nil {
			t.Errorf("%+v, %v", s, err)
		}
	})
	t.Run("Run", func(t *testing.T) {
		r, err := bench.MeasureRun(t.Context(), o, 10, 1, bench.Live{Projects: 2, Runs: 3})
		if err != nil || r.Started.Median <= 0 || r.Opened.Median < r.Started.Median || r.Call.Median < r.Opened.Median {
			t.Errorf("%+v, %v", r, err)
		}
		if runtime.GOOS == "linux" && (r.Memory.Rest.Private <= 0 || r.Memory.Live.RSS <= r.Memory.Live.Private) {
			t.Errorf("%+v", r.Memory)
		}
	})
	t.Run("Idle", func(t *testing.T) {
		if i, err := bench.MeasureIdle(t.Context(), o, 1, 0, 0); err != nil {
			t.Errorf("%+v, %v", i, err)
		}
	})
}

// Commands are measured in every way, and a loop's worktree beside one of git's own.
func TestBenchOfRooms(t *testing.T) {
	t.Parallel()
	o := bench.Options{Dir: t.TempDir(), Progress: func(what string) { t.Log(what) }}
	r, err := bench.MeasureRooms(t.Context(), o, 3, 60, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Skipped != "" {
		t.Skip(r.Skipped)
	}
	for name, p := range map[string]bench.Percentiles{
		"shell": r.Shell, "bubblewrap": r.Bubblewrap, "command": r.Command, "gate": r.Gate,
		"open": r.Trees.Open, "worktree": r.Trees.Worktree, "git": r.Trees.Git,
	} {
		if p.P10 <= 0 || p.Median < p.P10 || p.P90 < p.Median {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if want := float64(r.Command.Median) / float64(r.Bubblewrap.Median); r.Ratio != want {
		t.Errorf("ratio %v, want %v", r.Ratio, want)
	}
	if least := int64(60 * 900); r.Trees.GitDisk < least || r.Trees.OpenDisk <= 0 || r.Trees.FirstDisk < r.Trees.OpenDisk || r.Trees.First <= 0 {
		t.Errorf("git's worktree has %d bytes, want at least %d; a loop's %d, the first %d in %s", r.Trees.GitDisk, least, r.Trees.OpenDisk, r.Trees.FirstDisk, r.Trees.First)
	}
	if text := (bench.Report{Rooms: &r}).String(); !strings.Contains(text, "in an agent's room that is open") || strings.Contains(text, "!(") {
		t.Error(text)
	}
}

// Sessions of a coding agent are measured beside its program alone.
func TestBenchOfDelegates(t *testing.T) {
	t.Parallel()
	o := bench.Options{Dir: t.TempDir(), Progress: func(what string) { t.Log(what) }, Delegation: delegation}
	d, err := bench.MeasureDelegates(t.Context(), o, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if d.Skipped != "" {
		t.Skip(d.Skipped)
	}
	a := d.Agents[0]
	if len(d.Agents) != 1 || a.Times != 2 || a.First.Median <= a.FirstAlone.Median || a.NextAlone.Median <= 0 || a.Next.Median <= 0 {
		t.Errorf("got %+v", d)
	}
	if runtime.GOOS == "linux" && a.Helpers <= 0 {
		t.Errorf("the memory of helpers is %d", a.Helpers)
	}
}
