// Package servicetest is the suite every [pawl.Service] that drives runs passes,
// however far away its engine is: what is started is what was asked for, a
// command is obeyed or changes nothing, watchers miss no event, and errors keep
// their codes and hints.
package servicetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
)

// Service makes a service over an engine of this configuration. end ends both.
type Service func(tb testing.TB, c engine.Config) (s pawl.Service, end func())

// Run runs the suite. newLog makes an empty log.
func Run(t *testing.T, newLog func(testing.TB) pawl.Log, newService Service) {
	s := &suite{newLog, newService}
	t.Run("Start", s.start)
	t.Run("Task", s.task)
	t.Run("Fork", s.fork)
	t.Run("Delete", s.delete)
	t.Run("Garbage", s.garbage)
	t.Run("Steer", s.steer)
	t.Run("Interrupted", s.interrupted)
	t.Run("Read", s.read)
	t.Run("Watch", s.watch)
	t.Run("Recall", s.recall)
}

type suite struct {
	newLog     func(testing.TB) pawl.Log
	newService Service
}

// bed is a service with what it stands on.
type bed struct {
	pawl.Service
	t       *testing.T
	world   *drivertest.World
	log     *log
	consent *consent
	remains *remains
	end     func()

	specs    sync.Map                          // what requests mean, by the name of their recipe
	resolved atomic.Pointer[pawl.StartRequest] // the last one
	started  atomic.Int64
	numbers  atomic.Int64 // the highest number the repository shows
	later    atomic.Int64 // by how much the clock is put on
	inspect  error        // what looking at the repository fails with
	confined bool

	mu      sync.Mutex
	cleaned []pawl.RunID
	told    pawl.Instructions // what every commit tells those who work on it
	untold  error             // what reading that fails with
	asked   []pawl.CommitHash // the commits it was read from
}

func (s *suite) bed(t *testing.T) *bed {
	return s.over(t, &log{Log: s.newLog(t)})
}

// over is a service over a log that may have runs.
func (s *suite) over(t *testing.T, l *log) *bed {
	b := &bed{t: t, world: &drivertest.World{Calls: 1}, log: l, consent: &consent{}, remains: &remains{}, confined: true}
	service, end := s.newService(t, engine.Config{
		Log: l, Performer: b.world, Version: "test", Resolve: b.resolve,
		Inspect: func(context.Context, string) (pawl.Repository, error) {
			return pawl.Repository{Head: "base", Notes: []string{"a note"}}, b.inspect
		},
		Instructions: func(_ context.Context, commit pawl.CommitHash) (pawl.Instructions, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.asked = append(b.asked, commit)
			return b.told, b.untold
		},
		Known: func(_ context.Context, task string) (engine.Known, error) {
			if task == known {
				return engine.Known{Base: "known", Runs: 1}, nil
			}
			return engine.Known{}, nil
		},
		Numbers: func(context.Context) (int, error) { return int(b.numbers.Load()), nil },
		Sandbox: box{b},
		Consent: b.consent,
		Remains: b.remains,
		Now:     func() time.Time { return time.Now().Add(time.Duration(b.later.Load())) },
		Clean: func(run pawl.RunID) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.cleaned = append(b.cleaned, run)
			return nil
		},
	})
	b.Service, b.end = service, sync.OnceFunc(end)
	t.Cleanup(b.end)
	return b
}

// begin starts a run of a spec: the request has no more than a name for it and its goal.
func (b *bed) begin(ctx context.Context, spec pawl.RunSpec) (pawl.RunInfo, error) {
	return b.Start(ctx, b.asking(spec))
}

// asking is a request that means a spec.
func (b *bed) asking(spec pawl.RunSpec) pawl.StartRequest {
	name := fmt.Sprintf("spec-%d", b.started.Add(1))
	b.specs.Store(name, spec)
	return pawl.StartRequest{Goal: spec.Goal, Recipe: name}
}

func (b *bed) resolve(_ context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
	b.resolved.Store(&req)
	of, ok := b.specs.Load(req.Recipe)
	if !ok {
		return pawl.RunSpec{}, pawl.Errorf(pawl.CodeNotFound, "there is no recipe %s", req.Recipe).WithField("recipe").WithHint("another one")
	}
	spec := of.(pawl.RunSpec)
	spec.Goal = req.Goal
	return spec, nil
}

// known is a task that the repository has a branch of, at the commit "known".
const known = "004-known"

// box is a sandbox that is never used.
type box struct{ b *bed }

func (x box) Confined() bool { return x.b.confined }
func (box) Describe() string { return "a box without walls" }

// consent remembers what was allowed until it is told otherwise.
type consent struct {
	mu      sync.Mutex
	allowed map[pawl.Hash]bool
	err     error
}

func (c *consent) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *consent) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.allowed)
}

// PrepareAllowed implements [engine.Consent].
func (c *consent) PrepareAllowed(commands pawl.Hash) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allowed[commands], c.err
}

// AllowPrepare implements [engine.Consent].
func (c *consent) AllowPrepare(hash pawl.Hash, _ []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if c.allowed == nil {
		c.allowed = make(map[pawl.Hash]bool)
	}
	c.allowed[hash] = true
	return nil
}

// log is a log that fails as it is told.
type log struct {
	pawl.Log
	mu      sync.Mutex
	refuse  error                   // of every append
	damaged map[pawl.RunID]pawl.Seq // from which event on
	rotten  bool                    // no blob can be read
}

func (l *log) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = err
}

func (l *log) damage(run pawl.RunID, from pawl.Seq) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.damaged == nil {
		l.damaged = make(map[pawl.RunID]pawl.Seq)
	}
	l.damaged[run] = from
}

func (l *log) Append(ctx context.Context, u pawl.Unit) error {
	l.mu.Lock()
	err := l.refuse
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.Log.Append(ctx, u)
}

func (l *log) Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	l.mu.Lock()
	from, damaged := l.damaged[run]
	l.mu.Unlock()
	return func(yield func(pawl.Event, error) bool) {
		for e, err := range l.Log.Events(ctx, run, after) {
			if damaged && e.Seq >= from {
				yield(pawl.Event{}, pawl.Errorf(pawl.CodeDamaged, "event %d is damaged", e.Seq).WithHint("keep a copy"))
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (l *log) Blob(ctx context.Context, run pawl.RunID, h pawl.Hash) ([]byte, error) {
	data, err := l.Log.Blob(ctx, run, h)
	if err == nil && l.rotten {
		return nil, pawl.Errorf(pawl.CodeDamaged, "blob %s is damaged", h.Short())
	}
	return data, err
}

func (l *log) Runs(ctx context.Context) ([]pawl.RunInfo, error) {
	runs, err := l.Log.Runs(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range runs {
		if _, ok := l.damaged[runs[i].ID]; ok {
			runs[i] = pawl.RunInfo{ID: runs[i].ID, Status: pawl.StatusQuarantined, Reason: "an event is damaged"}
		}
	}
	return runs, err
}

// holding makes the world wait in effects of a verb: each says that it has begun,
// and ends when it is let go or not wanted any more.
func (b *bed) holding(verb pawl.Verb) (begun <-chan driver.Job, letGo func()) {
	jobs, gate := make(chan driver.Job, 64), make(chan struct{})
	b.world.Before = func(ctx context.Context, job driver.Job) {
		if job.Effect.Do.Verb() != verb {
			return
		}
		jobs <- job
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	return jobs, sync.OnceFunc(func() { close(gate) })
}

// request asks for a run of a small recipe with free models.
func request(goal string) pawl.RunSpec {
	m := pawl.ModelChoice{Provider: "none", Name: "none", MaxOutput: 1000}
	return pawl.RunSpec{
		Goal: goal, Recipe: drivertest.Recipe(), Prompts: map[string]string{"p": "Work on {{.Goal}}."},
		Settings: pawl.Settings{
			Limits: pawl.DefaultLimits, Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, OutputFloor: 100,
			HaltOn: []pawl.HaltCondition{pawl.HaltSecurity, pawl.HaltIterations, pawl.HaltBudget},
			Gates:  []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests}, {Name: "lint", Kind: pawl.GateLint}},
		},
	}
}

func (b *bed) mustStart(goal string) pawl.RunInfo {
	b.t.Helper()
	info, err := b.begin(b.t.Context(), request(goal))
	if err != nil {
		b.t.Fatal(err)
	}
	return info
}

func (b *bed) mustSteer(run pawl.RunID, s pawl.Steering) {
	b.t.Helper()
	if err := b.Steer(b.t.Context(), run, s); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) mustRuns() []pawl.RunInfo {
	b.t.Helper()
	runs, err := b.Runs(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return runs
}

func (b *bed) mustEvents(run pawl.RunID, after pawl.Seq) []pawl.Event {
	b.t.Helper()
	events, err := collect(b.Events(b.t.Context(), run, after))
	if err != nil {
		b.t.Fatal(err)
	}
	return events
}

func (b *bed) info(run pawl.RunID) pawl.RunInfo {
	b.t.Helper()
	for _, r := range b.mustRuns() {
		if r.ID == run {
			return r
		}
	}
	b.t.Fatalf("run %s is not listed", run)
	return pawl.RunInfo{}
}

// mustRest waits until the run is at rest, and returns its line.
func (b *bed) mustRest(run pawl.RunID) pawl.RunInfo {
	b.t.Helper()
	b.mustSee(run, func(pawl.Event) bool { return false })
	return b.info(run)
}

// mustSee watches the run from its beginning until an event is what is waited for.
func (b *bed) mustSee(run pawl.RunID, wanted func(pawl.Event) bool) {
	b.t.Helper()
	for u, err := range b.Watch(bounded(b.t), run, 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		if u.Event != nil && wanted(*u.Event) {
			return
		}
	}
}

// mustBe checks an error's code, and that it tells the next step.
func (b *bed) mustBe(err error, code pawl.Code, hint bool) {
	b.t.Helper()
	if pawl.CodeOf(err) != code || err == nil {
		b.t.Errorf("got %v, want code %s", err, code)
		return
	}
	if e, ok := errors.AsType[*pawl.Error](err); hint && (!ok || e.Hint == "") {
		b.t.Errorf("%v: without a hint", err)
	}
}

// deadline bounds waiting: reaching it is a failure, not a measure.
const deadline = 2 * time.Minute

// bounded returns a context that ends at the deadline or with the test.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// receive returns the next value of a channel. It fails the test at the deadline.
func receive[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-bounded(t).Done():
		t.Fatalf("there is no %s", what)
	}
	return v
}

func collect(in iter.Seq2[pawl.Event, error]) (out []pawl.Event, err error) {
	for e, err := range in {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}
