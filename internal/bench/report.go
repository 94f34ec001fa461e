package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"pawl"
)

// Report is what was measured, in raw figures: times are in nanoseconds.
type Report struct {
	Machine    string      `json:"machine"`
	At         time.Time   `json:"at"`
	Steps      *Throughput `json:"steps,omitempty"`
	Fold       *Fold       `json:"fold,omitempty"`
	Decide     []Decision  `json:"decide,omitempty"`
	Iterations []Iteration `json:"iterations,omitempty"`
	Rooms      *Rooms      `json:"rooms,omitempty"`
	Delegates  *Delegates  `json:"delegates,omitempty"`
	Start      *Start      `json:"start,omitempty"`
	Idle       *Idle       `json:"idle,omitempty"`
	Run        *Run        `json:"run,omitempty"`
	List       *List       `json:"list,omitempty"`
	Recovery   *Recovery   `json:"recovery,omitempty"`
	Watchers   *Watchers   `json:"watchers,omitempty"`
	Evidence   *Evidence   `json:"evidence,omitempty"`
}

// Throughput is durable steps beside what the disk does alone, before and after: disks
// change their mind.
type Throughput struct {
	Raw      Raw     `json:"raw_fdatasync"`
	Steps    []Steps `json:"durable_steps"`
	RawAgain Raw     `json:"raw_fdatasync_again"`
}

// DefaultTimes is how many times a command is run in each way by default.
const DefaultTimes = 200

// How much is measured.
const (
	stepsFor       = 4 * time.Second
	rawFor         = 2 * time.Second
	foldEvents     = 1_000_000
	decideLoops    = 500
	decideSteps    = 200_000
	iterationRuns  = 21
	bigRuns        = 5 // iterations on the repository that has many files
	bigFiles       = 13_000
	roomFiles      = bigFiles
	roomOpens      = 5
	delegateTimes  = 41
	claudeTimes    = 15
	delegateFiles  = 300
	memoryRuns     = 7
	starts         = 21
	idleProjects   = 5
	idleSettle     = 7 * time.Second
	idleFor        = 10 * time.Second
	runTimed       = 11
	liveRuns       = 16
	listRuns       = 10_000
	listTimes      = 1000
	recoveryRuns   = 8
	recoveryEvents = 10_000
	recoveryRounds = 9
	watchers       = 1000
	watchersStall  = 10
	watchedEvents  = 500
	watchedPace    = 20 * time.Millisecond
)

// Options say where and with which program to measure.
type Options struct {
	Dir      string // where files are written; the disk that is measured
	Program  string // the pawl that is started
	Other    bool   // Program is not the program that this code is part of
	Progress func(string)
	Sections []string // what is measured, by name; none = everything but evidence
	Times    int      // how often a command is run in each way; at least 1
	// Delegation returns how turns of coding agents are made for a user with an environment; nil = they
	// are not measured.
	Delegation func(environ []string) Delegation
}

// section is one thing that can be measured by itself.
type section struct {
	name, what string
	measure    func(ctx context.Context, o Options, r *Report) error
	// processes says that it only starts processes of the program, and makes no state with code of its
	// own, so that it can measure other programs than its own.
	processes bool
	// asked says that it is no part of everything: it measures no time, and needs toolchains.
	asked bool
}

func sections() []section {
	return []section{
		{name: "start", processes: true, what: "the program and its daemon, from when they are executed", measure: func(ctx context.Context, o Options, r *Report) error {
			return into(&r.Start)(MeasureStart(ctx, o, starts))
		}},
		{name: "idle", what: fmt.Sprintf("a daemon with %d projects at rest", idleProjects), measure: func(ctx context.Context, o Options, r *Report) error {
			return into(&r.Idle)(MeasureIdle(ctx, o, idleProjects, idleSettle, idleFor))
		}},
		{name: "run", processes: true, what: "pawl run until its first model call, and the memory of a daemon with live runs", measure: func(ctx context.Context, o Options, r *Report) error {
			return into(&r.Run)(MeasureRun(ctx, o, liveFiles, runTimed, Live{Projects: idleProjects, Runs: liveRuns, Settle: idleSettle}))
		}},
		{name: "steps", what: "durable steps beside the disk alone", measure: measureThroughput},
		{name: "fold", what: fmt.Sprintf("folding %d events", foldEvents), measure: func(ctx context.Context, _ Options, r *Report) error {
			return into(&r.Fold)(MeasureFold(ctx, foldEvents))
		}},
		{name: "decide", what: fmt.Sprintf("decisions in a run of %d loops", decideLoops), measure: measureDecide},
		{name: "iteration", what: "the harness's part of an iteration", measure: measureIterations},
		{name: "rooms", what: "confined commands beside plain bubblewrap", measure: func(ctx context.Context, o Options, r *Report) error {
			return into(&r.Rooms)(MeasureRooms(ctx, o, o.Times, roomFiles, roomOpens))
		}},
		{name: "delegate", what: "sessions of coding agents next to their programs", measure: func(ctx context.Context, o Options, r *Report) error {
			return into(&r.Delegates)(MeasureDelegates(ctx, o, delegateTimes, claudeTimes))
		}},
		{name: "list", what: fmt.Sprintf("listing %d stored runs", listRuns), measure: func(ctx context.Context, o Options, r *Report) error {
			return into(&r.List)(MeasureList(ctx, o, listRuns, listTimes))
		}},
		{name: "watchers", processes: true, what: fmt.Sprintf("%d watchers of one run, %d of which do not read", watchers, watchersStall), measure: func(ctx context.Context, o Options, r *Report) error {
			return into(&r.Watchers)(MeasureWatchers(ctx, o, watchers, watchersStall, watchedEvents, watchedPace))
		}},
		{name: "recovery", what: fmt.Sprintf("a daemon killed with %d runs of %d events", recoveryRuns, recoveryEvents), measure: func(ctx context.Context, o Options, r *Report) error {
			return into(&r.Recovery)(MeasureRecovery(ctx, o, recoveryRuns, recoveryEvents, recoveryRounds))
		}},
		{name: "evidence", what: "what is found in the changes of the corpus, with gates of four languages", asked: true, measure: func(ctx context.Context, o Options, r *Report) error {
			return into(&r.Evidence)(MeasureEvidence(ctx, o, nil))
		}},
	}
}

// into keeps what a measurement gave.
func into[T any](to **T) func(T, error) error {
	return func(v T, err error) error {
		if err == nil {
			*to = &v
		}
		return err
	}
}

// Names are the sections, in the order in which they are measured.
func Names() []string {
	var out []string
	for _, s := range sections() {
		out = append(out, s.name)
	}
	return out
}

// processSections are the sections that only start processes of a program.
func processSections() (out []string) {
	for _, s := range sections() {
		if s.processes {
			out = append(out, s.name)
		}
	}
	return out
}

// known returns an error if one of the names is not that of a section.
func known(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return pawl.Errorf(pawl.CodeInvalid, "nothing is measured that is called %q", name).WithHint("one of: %s", strings.Join(Names(), ", "))
		}
	}
	return nil
}

// wanted reports whether the section is measured if these are named.
func (s section) wanted(names []string) bool {
	if len(names) == 0 {
		return !s.asked
	}
	return slices.Contains(names, s.name)
}

// Measure measures the sections that are asked for, one after the other.
func Measure(ctx context.Context, o Options) (Report, error) {
	r := Report{At: time.Now().UTC(), Machine: fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())}
	if err := known(o.Sections); err != nil {
		return r, err
	}
	for _, s := range sections() {
		if !s.wanted(o.Sections) {
			continue
		}
		if o.Other && !s.processes {
			return r, pawl.Errorf(pawl.CodeInvalid, "the section %s runs code of this program, so it cannot measure %s", s.name, o.Program).
				WithHint("name sections that only start a program: %s", strings.Join(processSections(), ", "))
		}
		o.Progress(s.name + ": " + s.what)
		if err := s.measure(ctx, o, &r); err != nil {
			return r, fmt.Errorf("measure %s: %w", s.name, err)
		}
	}
	return r, nil
}

func measureThroughput(ctx context.Context, o Options, r *Report) (err error) {
	var t Throughput
	if t.Raw, err = MeasureRaw(ctx, o.Dir, rawFor); err != nil {
		return err
	}
	for _, c := range []struct{ runs, loops int }{{1, 1}, {50, 1}, {500, 1}, {1, 500}} {
		o.Progress(fmt.Sprintf("durable steps, %d runs of %d loops", c.runs, c.loops))
		s, err := MeasureSteps(ctx, o.Dir, c.runs, c.loops, stepsFor)
		if err != nil {
			return err
		}
		t.Steps = append(t.Steps, s)
	}
	t.RawAgain, err = MeasureRaw(ctx, o.Dir, rawFor)
	r.Steps = &t
	return err
}

func measureDecide(ctx context.Context, _ Options, r *Report) error {
	for _, cascade := range []bool{false, true} {
		d, err := MeasureDecide(ctx, decideLoops, decideSteps, cascade)
		if err != nil {
			return err
		}
		r.Decide = append(r.Decide, d)
	}
	return nil
}

func measureIterations(ctx context.Context, o Options, r *Report) error {
	for _, c := range []struct{ files, runs int }{{liveFiles, iterationRuns}, {bigFiles, bigRuns}} {
		o.Progress(fmt.Sprintf("the harness's part of an iteration, %d files", c.files))
		i, err := MeasureIteration(ctx, o.Dir, c.files, c.runs)
		if err != nil {
			return err
		}
		r.Iterations = append(r.Iterations, i)
	}
	return nil
}
