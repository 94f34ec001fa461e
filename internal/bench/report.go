package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/store/sqlite"
)

// Report is everything that is measured, in raw figures.
type Report struct {
	Machine    string        `json:"machine"`
	Raw        Raw           `json:"raw_fdatasync"`
	Steps      []Steps       `json:"durable_steps"`
	RawAgain   Raw           `json:"raw_fdatasync_again"` // the same, after the steps: disks change their mind
	Fold       Fold          `json:"fold"`
	Iterations []Iteration   `json:"iterations"`
	Start      time.Duration `json:"version_median_ns"` // of pawl version, as a process
	Rest       int64         `json:"rest_rss_bytes"`    // of a process that owns a project and waits
}

// The lengths of the measurements.
const (
	stepsFor      = 4 * time.Second
	rawFor        = 2 * time.Second
	foldEvents    = 1_000_000
	iterationRuns = 21
	starts        = 21
)

// Options say where and with which program to measure.
type Options struct {
	Dir      string // where files are written; the disk that is measured
	Program  string // the pawl that is started
	Progress func(string)
}

// Measure measures everything, one after the other.
func Measure(ctx context.Context, o Options) (Report, error) {
	r := Report{Machine: fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())}
	var err error
	if r.Rest, err = measureRest(o.Dir); err != nil { // before anything else has used memory
		return r, err
	}
	o.Progress("append and fdatasync, the disk alone")
	if r.Raw, err = MeasureRaw(ctx, o.Dir, rawFor); err != nil {
		return r, err
	}
	for _, c := range []struct{ runs, loops int }{{1, 1}, {50, 1}, {500, 1}, {1, 500}} {
		o.Progress(fmt.Sprintf("durable steps, %d runs of %d loops", c.runs, c.loops))
		s, err := MeasureSteps(ctx, o.Dir, c.runs, c.loops, stepsFor)
		if err != nil {
			return r, err
		}
		r.Steps = append(r.Steps, s)
	}
	if r.RawAgain, err = MeasureRaw(ctx, o.Dir, rawFor); err != nil {
		return r, err
	}
	o.Progress(fmt.Sprintf("folding %d events", foldEvents))
	if r.Fold, err = MeasureFold(ctx, foldEvents); err != nil {
		return r, err
	}
	for _, c := range []struct{ files, runs int }{{300, iterationRuns}, {13_000, 3}} {
		o.Progress(fmt.Sprintf("the harness's part of an iteration, %d files", c.files))
		i, err := MeasureIteration(ctx, o.Dir, c.files, c.runs)
		if err != nil {
			return r, err
		}
		r.Iterations = append(r.Iterations, i)
	}
	o.Progress("pawl version, as a process")
	r.Start, err = measureStart(ctx, o.Program)
	return r, err
}

func measureStart(ctx context.Context, program string) (time.Duration, error) {
	var took []time.Duration
	for range starts {
		from := time.Now()
		if err := exec.CommandContext(ctx, program, "version").Run(); err != nil {
			return 0, fmt.Errorf("pawl version: %w", err)
		}
		took = append(took, time.Since(from))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// measureRest is this process's memory with a store open and nothing to do.
func measureRest(dir string) (int64, error) {
	dir, err := os.MkdirTemp(dir, "rest-")
	if err != nil {
		return 0, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	log, err := sqlite.Open(dir)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, nil //nolint:nilerr // not told on this system
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, nil
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read /proc/self/statm: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}

// String is the report as a table.
func (r Report) String() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("%s", r.Machine)
	p("")
	p("durable steps per second (request and answer, two new blobs of 2 KiB each)")
	p("  %-28s %10.0f   %d bytes each; %.0f after the steps", "append + fdatasync alone", r.Raw.PerSecond, r.Raw.Bytes, r.RawAgain.PerSecond)
	for _, s := range r.Steps {
		what := fmt.Sprintf("%d runs at once", s.Runs)
		if s.Runs == 1 {
			what = fmt.Sprintf("1 run with %d loops", s.Loops)
		}
		p("  %-28s %10.0f   %.2f of the disk alone, %.0f MiB/s of blobs", what, s.PerSecond, s.PerSecond/((r.Raw.PerSecond+r.RawAgain.PerSecond)/2), s.MiBs)
	}
	p("")
	p("fold of %d events: %.2f s, decoding included; %.2f s without", r.Fold.Events, r.Fold.Decoded, r.Fold.Seconds)
	for _, i := range r.Iterations {
		p("iteration on %d files: %s of the harness's own (median of %d, %s to %s); its worktree %s, once",
			i.Files, ms(i.Overhead), i.Runs, ms(i.Min), ms(i.Max), ms(i.Open))
	}
	p("pawl version: %s", ms(r.Start))
	p("memory at rest: %.0f MiB", float64(r.Rest)/(1<<20))
	return b.String()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
