package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/engine/servicetest"
	"pawl/internal/store/mem"
	"pawl/internal/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestService(t *testing.T) {
	newService := func(_ testing.TB, c engine.Config) (pawl.Service, func()) {
		e := engine.New(c)
		return e, e.Close
	}
	t.Run("Mem", func(t *testing.T) {
		servicetest.Run(t, func(testing.TB) pawl.Log { return mem.New() }, newService)
	})
	t.Run("SQLite", func(t *testing.T) {
		servicetest.Run(t, func(tb testing.TB) pawl.Log {
			log, err := sqlite.Open(tb.TempDir())
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() {
				if err := log.Close(); err != nil {
					tb.Error(err)
				}
			})
			return log
		}, newService)
	})
}

type box struct{}

func (box) Confined() bool   { return true }
func (box) Describe() string { return "a box" }

// newEngine makes an engine over a log whose effects are answered by rule.
func newEngine(tb testing.TB, log pawl.Log, world driver.Performer, clean func(pawl.RunID) error) *engine.Engine {
	c := engineConfig(log, world)
	c.Clean = clean
	e := engine.New(c)
	tb.Cleanup(e.Close)
	return e
}

func engineConfig(log pawl.Log, world driver.Performer) engine.Config {
	return engine.Config{
		Log: log, Performer: world, Sandbox: box{}, Resolve: resolve,
		Inspect: func(context.Context, string) (pawl.Repository, error) { return pawl.Repository{Head: "base"}, nil },
		Numbers: func(context.Context) (int, error) { return 0, nil },
	}
}

func mustStart(tb testing.TB, e *engine.Engine) pawl.RunID {
	tb.Helper()
	info, err := start(context.Background(), e, spec())
	if err != nil {
		tb.Fatal(err)
	}
	return info.ID
}

// specKey is the key of the spec that a request means, in its context.
type specKey struct{}

func resolve(ctx context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
	s := ctx.Value(specKey{}).(pawl.RunSpec)
	s.Goal = req.Goal
	return s, nil
}

// start starts a run of a spec.
func start(ctx context.Context, e *engine.Engine, s pawl.RunSpec) (pawl.RunInfo, error) {
	return e.Start(context.WithValue(ctx, specKey{}, s), pawl.StartRequest{Goal: s.Goal})
}

func spec() pawl.RunSpec {
	m := pawl.ModelChoice{Provider: "none", Name: "none", MaxOutput: 1000}
	return pawl.RunSpec{
		Goal: "do it", Recipe: drivertest.Recipe(), Settings: pawl.Settings{
			Limits: pawl.DefaultLimits, Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, OutputFloor: 100,
			Gates: []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests}},
		},
	}
}

// mustWatch watches a run until no process drives it, and returns how it is then.
func mustWatch(tb testing.TB, e *engine.Engine, run pawl.RunID) pawl.RunInfo {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, err := range e.Watch(ctx, run, 0) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	runs, err := e.Runs(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	i := slices.IndexFunc(runs, func(r pawl.RunInfo) bool { return r.ID == run })
	return runs[i]
}

// at says of each effect of a verb that it is under way, and lets it go on when
// it is not wanted any more.
func at(verb pawl.Verb) (world *drivertest.World, begun <-chan struct{}) {
	jobs := make(chan struct{}, 64)
	return &drivertest.World{Before: func(ctx context.Context, job driver.Job) {
		if job.Effect.Do.Verb() == verb {
			jobs <- struct{}{}
			<-ctx.Done()
		}
	}}, jobs
}

// inBubble runs a subtest in a synctest bubble, where a test that hangs fails at once.
func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// V-64: what earlier runs have learned is counted on, here and in what the
// repository has of the task; the new run starts where its work is.
func TestTaskOfTheRepository(t *testing.T) {
	log := mem.New()
	now := time.Unix(1, 0).UTC()
	err := log.Append(t.Context(), pawl.Unit{Run: "007-do-it", Events: []pawl.Event{
		{Run: "007-do-it", Seq: 1, Time: now, Body: &pawl.RunStarted{Task: 7, Learnings: 2}},
		{Run: "007-do-it", Seq: 2, Time: now, Body: &pawl.MemoryAdded{N: 1, Kind: pawl.MemoryLearning, Learning: 3}},
		{Run: "007-do-it", Seq: 3, Time: now, Body: &pawl.MemoryAdded{N: 2, Kind: pawl.MemoryLearning}},
	}, Info: &pawl.RunInfo{ID: "007-do-it", Task: 7, Status: pawl.StatusEnded}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		known     engine.Known
		base      pawl.CommitHash
		learnings int
		id        pawl.RunID
	}{
		{engine.Known{}, "base", 3, "007-do-it-r2"},
		{engine.Known{Base: "branch", Learnings: 11, Runs: 4}, "branch", 11, "007-do-it-r5"},
	} {
		c := engineConfig(log, &drivertest.World{})
		c.Known = func(_ context.Context, task string) (engine.Known, error) {
			if task != "007-do-it" {
				t.Errorf("asked for %s", task)
			}
			return test.known, nil
		}
		e := engine.New(c)
		again := spec()
		again.Task = "007-do-it"
		info, err := start(t.Context(), e, again)
		if err != nil {
			t.Fatal(err)
		}
		mustWatch(t, e, info.ID)
		e.Close()
		for ev := range log.Events(t.Context(), info.ID, 0) {
			if b, ok := ev.Body.(*pawl.RunStarted); ok && (b.Base != test.base || b.Learnings != test.learnings || info.ID != test.id) {
				t.Errorf("run %s starts from %s with %d learnings, want %s from %s with %d", info.ID, b.Base, b.Learnings, test.id, test.base, test.learnings)
			}
		}
	}
}

func TestClose(t *testing.T) {
	log := mem.New()
	world, begun := at(pawl.VerbCallModel)
	e := newEngine(t, log, world, nil)
	run := mustStart(t, e)
	<-begun

	t.Run("EndsWatchers", func(t *testing.T) {
		var wg sync.WaitGroup
		watching := make(chan struct{}, 4)
		for range cap(watching) {
			wg.Go(func() {
				seen := pawl.Seq(0)
				for u, err := range e.Watch(context.Background(), run, 0) {
					if err != nil {
						t.Error(err)
						return
					}
					if u.Event.Seq == 1 {
						watching <- struct{}{}
					}
					seen = u.Event.Seq
				}
				if seen == 0 {
					t.Error("it saw nothing")
				}
			})
		}
		for range cap(watching) {
			<-watching
		}
		e.Close()
		wg.Wait()
	})
	t.Run("LeavesTheRunAsItIs", func(t *testing.T) {
		if got := mustWatch(t, e, run); got.Status != pawl.StatusRunning {
			t.Errorf("the run is %s", got.Status)
		}
	})
	t.Run("RefusesMore", func(t *testing.T) {
		for _, verb := range []pawl.SteerVerb{pawl.SteerPause, pawl.SteerResume, pawl.SteerCancel} {
			if err := e.Steer(t.Context(), run, pawl.Steering{Verb: verb}); pawl.CodeOf(err) != pawl.CodeUnavailable {
				t.Errorf("%s: %v", verb, err)
			}
		}
		e.Close()
	})
}

func TestClean(t *testing.T) {
	inBubble(t, "AtStartWhatDeadProcessesLeft", func(t *testing.T) {
		log := &quarantining{Log: mem.New()}
		world, begun := at(pawl.VerbCallModel)
		old := newEngine(t, log, &drivertest.World{}, func(pawl.RunID) error { return errors.New("the disk is away") })
		ended, damaged := mustStart(t, old), mustStart(t, old)
		for _, run := range []pawl.RunID{ended, damaged} {
			if got := mustWatch(t, old, run); got.Outcome != pawl.OutcomeComplete {
				t.Fatalf("run %s is %s", run, got.Status)
			}
		}
		log.run = damaged
		old.Close()
		cut := newEngine(t, log, world, nil)
		interrupted := mustStart(t, cut)
		<-begun
		cut.Close()

		var cleaned []pawl.RunID
		e := newEngine(t, log, &drivertest.World{}, func(run pawl.RunID) error {
			cleaned = append(cleaned, run)
			return nil
		})
		if !slices.Equal(cleaned, []pawl.RunID{ended, damaged}) {
			t.Errorf("cleaned up after %v, want %s and %s, not %s", cleaned, ended, damaged, interrupted)
		}
		if err := e.Steer(t.Context(), interrupted, pawl.Steering{Verb: pawl.SteerResume}); err != nil {
			t.Fatal(err)
		}
		mustWatch(t, e, interrupted)
		if !slices.Equal(cleaned, []pawl.RunID{ended, damaged, interrupted}) {
			t.Errorf("cleaned up after %v", cleaned)
		}
	})

	// What is removed could be what the resumed run is just using.
	inBubble(t, "BeforeAnythingElseBegins", func(t *testing.T) {
		var mu sync.Mutex
		cleaning := false
		world := &drivertest.World{GateVerdict: func(int, string) pawl.Verdict { return pawl.VerdictFail }}
		world.Before = func(context.Context, driver.Job) {
			mu.Lock()
			defer mu.Unlock()
			if cleaning {
				t.Error("an effect began while the run was cleaned up after")
			}
		}
		begun, letGo := make(chan struct{}, 2), make(chan struct{}, 2)
		e := newEngine(t, mem.New(), world, func(pawl.RunID) error {
			mu.Lock()
			cleaning = true
			mu.Unlock()
			begun <- struct{}{}
			<-letGo
			mu.Lock()
			cleaning = false
			mu.Unlock()
			return nil
		})
		run := mustStart(t, e)
		<-begun
		resumed := make(chan error)
		go func() { resumed <- e.Steer(t.Context(), run, pawl.Steering{Verb: pawl.SteerResume}) }()
		letGo <- struct{}{}
		if err := <-resumed; err != nil {
			t.Fatal(err)
		}
		letGo <- struct{}{}
		if got := mustWatch(t, e, run); got.Iteration != 6 { // the ladder allows four, and two more
			t.Errorf("it ended after %d iterations", got.Iteration)
		}
	})
}

// quarantining lists one run as quarantined.
type quarantining struct {
	pawl.Log
	run pawl.RunID
}

func (l *quarantining) Runs(ctx context.Context) ([]pawl.RunInfo, error) {
	runs, err := l.Log.Runs(ctx)
	for i := range runs {
		if runs[i].ID == l.run {
			runs[i] = pawl.RunInfo{ID: l.run, Status: pawl.StatusQuarantined}
		}
	}
	return runs, err
}

// unlisted is a log that cannot list its runs.
type unlisted struct {
	pawl.Log
	err error
}

func (l unlisted) Runs(context.Context) ([]pawl.RunInfo, error) { return nil, l.err }

// While the runs cannot be listed, another run of the task may be active: none is resumed.
func TestResumeNeedsTheOtherRuns(t *testing.T) {
	log := mem.New()
	world, begun := at(pawl.VerbCallModel)
	first := newEngine(t, log, world, nil)
	run := mustStart(t, first)
	<-begun
	first.Close()
	broken := errors.New("the index is damaged")
	e := newEngine(t, unlisted{log, broken}, world, nil)
	if err := e.Steer(t.Context(), run, pawl.Steering{Verb: pawl.SteerResume}); !errors.Is(err, broken) || e.Driven(run) {
		t.Errorf("resume: %v, driven: %v; want %v and not driven", err, e.Driven(run), broken)
	}
}

func TestReader(t *testing.T) {
	log := mem.New()
	e := newEngine(t, log, &drivertest.World{}, nil)
	run := mustStart(t, e)
	mustWatch(t, e, run)
	r := engine.Reader{Log: log}

	t.Run("ShowsWhatThereIs", func(t *testing.T) {
		runs, err := r.Runs(t.Context())
		if err != nil || len(runs) != 1 || runs[0].ID != run {
			t.Errorf("the runs are %+v, %v", runs, err)
		}
		var read, watched []pawl.Seq
		for ev, err := range r.Events(t.Context(), run, 3) {
			if err != nil {
				t.Fatal(err)
			}
			read = append(read, ev.Seq)
		}
		for u, err := range r.Watch(t.Context(), run, 3) {
			if err != nil {
				t.Fatal(err)
			}
			watched = append(watched, u.Event.Seq)
		}
		if len(read) == 0 || !slices.Equal(read, watched) {
			t.Errorf("read %v, watched %v", read, watched)
		}
	})
	t.Run("ChangesNothing", func(t *testing.T) {
		if _, err := r.Start(t.Context(), pawl.StartRequest{Goal: "x"}); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Error(err)
		}
		if _, err := r.Preview(t.Context(), pawl.StartRequest{Goal: "x"}); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Error(err)
		}
		if err := r.Steer(t.Context(), run, pawl.Steering{Verb: pawl.SteerResume}); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Error(err)
		}
	})
	t.Run("UnknownRun", func(t *testing.T) {
		for _, err := range r.Watch(t.Context(), "007-nobody", 0) {
			if pawl.CodeOf(err) != pawl.CodeNotFound {
				t.Error(err)
			}
		}
	})
}
