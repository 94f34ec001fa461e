package bench

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/local"
	"pawl/internal/kernel"
	"pawl/internal/store/sqlite"
)

// blobSize is the size of the text each step stores twice, in bytes.
const blobSize = 2 << 10

// Steps is a measurement of durable steps: effects requested and answered by the
// real kernel and driver on the real store, each with two blobs of 2 KiB.
type Steps struct {
	Runs      int     `json:"runs"`
	Loops     int     `json:"loops"` // in each run
	Steps     int64   `json:"steps"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
	MiBs      float64 `json:"blob_mib_per_second"`
}

// MeasureSteps drives runs, each with so many loops, for a while.
func MeasureSteps(ctx context.Context, dir string, runs, loops int, lasting time.Duration) (Steps, error) {
	dir, err := os.MkdirTemp(dir, "steps-")
	if err != nil {
		return Steps{}, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	log, err := sqlite.Open(dir)
	if err != nil {
		return Steps{}, err
	}
	defer log.Close()
	w := &chatter{tasks: loops}
	d := &local.Driver{Log: log, Performer: w}
	defer d.Close()
	started, err := endless(loops)
	if err != nil {
		return Steps{}, err
	}
	for i := range runs {
		id := pawl.RunID(fmt.Sprintf("%03d-bench", i+1))
		if err := d.Start(ctx, id, started, nil); err != nil {
			return Steps{}, err
		}
	}
	warm := w.count.Load()
	from := time.Now()
	select {
	case <-time.After(lasting):
	case <-ctx.Done():
		return Steps{}, ctx.Err()
	}
	n, took := w.count.Load()-warm, time.Since(from).Seconds()
	return Steps{Runs: runs, Loops: loops, Steps: n, Seconds: took, PerSecond: float64(n) / took,
		MiBs: float64(n) * 2 * blobSize / took / (1 << 20)}, nil
}

// endless is a run whose attempts all fail, so that the next one begins: of one
// loop, or of a list of tasks with so many loops side by side.
func endless(loops int) (*pawl.RunStarted, error) {
	r := pawl.Recipe{Name: "bench", Start: "task", Kinds: []pawl.LoopKind{{
		Name: "task", Steps: []pawl.Step{{Name: "chat", Prompt: "p", Turns: 8, NoReminder: true}},
		Gates:  []pawl.Stage{{Name: "quality", Commands: []string{"*"}}},
		Ladder: pawl.Ladder{Rungs: []pawl.Rung{{Tier: 1, Failures: 1 << 30}}},
	}}}
	if loops > 1 {
		r.Start = "list"
		r.Kinds = append(r.Kinds, pawl.LoopKind{Name: "list", Steps: []pawl.Step{{Name: "plan", Prompt: "p", Output: "plan"}},
			Children: &pawl.Children{From: "plan", Kind: "task", Order: "list", Parallel: loops}})
	}
	recipe, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the recipe: %w", err)
	}
	m := pawl.ModelChoice{Provider: "none", Name: "none", MaxOutput: 1000}
	settings, err := json.Marshal(pawl.Settings{Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, NoStuckDetection: true,
		Gates: []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests}}})
	if err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	started := &pawl.RunStarted{Task: 1, Title: "bench", Base: "base", Branch: "pawl/001-bench", Seed: 1, Recipe: recipe, Settings: settings}
	if loops > 1 {
		started.Tasks = pawl.HashOf([]byte("tasks"))
	}
	return started, nil
}

// chatter is a world that answers at once, with two new blobs each time.
type chatter struct {
	count, serial atomic.Int64
	tasks         int // in a list
}

func (c *chatter) Perform(_ context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	c.count.Add(1)
	id, place := job.Effect.ID, job.Effect.Place
	blobs := []pawl.Blob{c.blob(), c.blob()}
	a, b := blobs[0].Hash(), blobs[1].Hash()
	switch do := job.Effect.Do.(type) {
	case *pawl.OpenWorkspace:
		return &pawl.WorkspaceOpened{Effect: id, Head: do.Base, Tree: "t"}, blobs
	case *pawl.AssemblePrompt:
		return &pawl.PromptAssembled{Effect: id, System: a, Prompt: b, Bytes: 2 * blobSize}, blobs
	case *pawl.CallModel:
		r := &pawl.ModelReplied{Effect: id, Message: a, Bytes: blobSize, Stop: pawl.StopToolUse, Model: "none"}
		if place.Turn < 8 {
			r.Calls = []pawl.ToolUse{{Tool: "run", Args: b, Class: pawl.CrashOnce}}
		} else {
			r.Text, r.Stop = b, pawl.StopEnd
		}
		return r, blobs
	case *pawl.CallTool:
		return &pawl.ToolReturned{Effect: id, Output: a, Bytes: blobSize, Tree: "t"}, blobs
	case *pawl.WeighGoals:
		return &pawl.GoalsWeighed{Effect: id}, nil
	case *pawl.RunGate:
		return &pawl.GateJudged{Effect: id, Gate: do.Gate, Kind: pawl.GateTests, Verdict: pawl.VerdictFail, OnBase: do.OnBase, Error: uint64(id), Evidence: a}, blobs
	case *pawl.Prepare:
		return &pawl.Prepared{Effect: id, Key: "key"}, nil
	case *pawl.ReadTasks:
		read := &pawl.TasksRead{Effect: id}
		for i := range c.tasks {
			read.Entries = append(read.Entries, pawl.TaskEntry{ID: fmt.Sprintf("task-%d", i+1), Title: "bench", Spec: a})
		}
		return read, blobs
	case *pawl.ProbeConflicts:
		return &pawl.ConflictsProbed{Effect: id}, blobs
	case *pawl.Commit:
		return &pawl.Committed{Effect: id, Commit: pawl.CommitHash(fmt.Sprint(id)), Tree: pawl.TreeHash(fmt.Sprint(id)), Paths: a}, blobs
	}
	return &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: pawl.FailDefect, Message: "not part of the bench"}}, nil
}

// blob is 2 KiB that do not compress and that no other blob has.
func (c *chatter) blob() pawl.Blob {
	data := make([]byte, blobSize)
	copy(data, noise())
	binary.LittleEndian.PutUint64(data, uint64(c.serial.Add(1)))
	return pawl.NewBlob(data)
}

var noise = sync.OnceValue(func() []byte {
	n := make([]byte, blobSize)
	_, _ = rand.Read(n) // never fails
	return n
})

// Raw is what the disk does without a database: one append and fdatasync after another.
type Raw struct {
	PerSecond float64 `json:"per_second"`
	Bytes     int     `json:"bytes_each"`
}

// MeasureRaw appends what one step stores to a file, again and again.
func MeasureRaw(ctx context.Context, dir string, lasting time.Duration) (Raw, error) {
	f, err := os.CreateTemp(dir, "raw-")
	if err != nil {
		return Raw{}, fmt.Errorf("make a file: %w", err)
	}
	defer os.Remove(filepath.Clean(f.Name()))
	defer f.Close()
	data := make([]byte, 2*blobSize+300)
	n, from := 0, time.Now()
	for time.Since(from) < lasting && ctx.Err() == nil {
		if _, err := f.Write(data); err != nil {
			return Raw{}, fmt.Errorf("append: %w", err)
		}
		if err := fdatasync(f); err != nil {
			return Raw{}, fmt.Errorf("fdatasync: %w", err)
		}
		n++
	}
	return Raw{PerSecond: float64(n) / time.Since(from).Seconds(), Bytes: len(data)}, ctx.Err()
}

// Fold is a measurement of folding a log into a state.
type Fold struct {
	Events    int     `json:"events"`
	Seconds   float64 `json:"seconds"`
	Decoded   float64 `json:"seconds_with_decoding"`
	PerSecond float64 `json:"per_second"`
}

// MeasureFold makes a run of about n events in memory and folds it.
func MeasureFold(ctx context.Context, n int) (Fold, error) {
	started, err := endless(1)
	if err != nil {
		return Fold{}, err
	}
	events, err := history(ctx, started, n)
	if err != nil {
		return Fold{}, err
	}
	stored := make([][]byte, len(events))
	for i, e := range events {
		stored[i] = pawl.AppendEvent(nil, e)
	}
	out := Fold{Events: len(events)}
	from := time.Now()
	s := &kernel.State{}
	for _, e := range events {
		if err := kernel.Apply(s, e); err != nil {
			return out, err
		}
	}
	out.Seconds = time.Since(from).Seconds()
	from, s = time.Now(), &kernel.State{}
	for i, data := range stored {
		e, err := pawl.DecodeEvent(events[i].Run, events[i].Seq, data)
		if err == nil {
			err = kernel.Apply(s, e)
		}
		if err != nil {
			return out, err
		}
	}
	out.Decoded = time.Since(from).Seconds()
	out.PerSecond = float64(out.Events) / out.Decoded
	return out, nil
}

// history is a run's events as the kernel decides them, without a driver.
func history(ctx context.Context, started *pawl.RunStarted, n int) ([]pawl.Event, error) {
	s, w := &kernel.State{}, &chatter{}
	var all []pawl.Event
	take := func(in kernel.Input) error {
		in.At = time.Unix(1_700_000_000, int64(len(all))*int64(time.Microsecond)).UTC()
		events, err := kernel.Decide(s, in)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := kernel.Apply(s, e); err != nil {
				return err
			}
		}
		all = append(all, events...)
		return nil
	}
	if err := take(kernel.Input{Start: &kernel.Start{Run: "001-bench", Started: started}}); err != nil {
		return nil, err
	}
	for len(all) < n && ctx.Err() == nil {
		pending := kernel.Pending(s)
		if len(pending) == 0 {
			return nil, fmt.Errorf("the bench's run came to rest after %d events", len(all))
		}
		a, _ := w.Perform(ctx, driver.Job{Effect: pending[0]})
		if err := take(kernel.Input{Answer: a}); err != nil {
			return nil, err
		}
	}
	return all, ctx.Err()
}
