package daemon_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/daemon"
	"pawl/internal/project"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine is a project with one run that a test decides about.
type engine struct {
	pawl.Service
	mu      sync.Mutex
	status  pawl.RunStatus
	driven  bool
	refuses error // to adopt
	told    func(pawl.RunInfo)
	looked  func()        // called by Runs; may be nil
	entered chan struct{} // a watcher has come
	watched chan struct{} // watchers may go
	drained bool
}

func (e *engine) Runs(context.Context) ([]pawl.RunInfo, error) {
	if e.looked != nil {
		e.looked()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return []pawl.RunInfo{{ID: "001-a", Status: e.status}}, nil
}

func (e *engine) Driven(pawl.RunID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.driven
}

func (e *engine) Money(pawl.RunID) *pawl.Money {
	if !e.Driven("") {
		return nil
	}
	return &pawl.Money{Spent: 1, Held: 2, Lost: 3}
}

func (e *engine) Adopt(ctx context.Context, _ pawl.RunID) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuses != nil && daemon.Environ(ctx) == nil {
		return e.refuses
	}
	e.driven = true
	return nil
}

func (e *engine) Steer(context.Context, pawl.RunID, pawl.Steering) error {
	return pawl.Errorf(pawl.CodeState, "it runs")
}

func (e *engine) Cache(context.Context) (pawl.CacheInfo, error) { return pawl.CacheInfo{Size: 5}, nil }

func (e *engine) PruneCache(context.Context, pawl.PruneRequest) (pawl.PruneResult, error) {
	return pawl.PruneResult{Freed: 5}, nil
}

func (e *engine) DeleteRun(_ context.Context, run pawl.RunID, _ pawl.DeleteRequest) (pawl.Deletion, error) {
	return pawl.Deletion{Run: run}, nil
}

func (e *engine) DeletedRuns(context.Context) ([]pawl.Tombstone, error) {
	return []pawl.Tombstone{{By: "ada"}}, nil
}

func (e *engine) Garbage(context.Context) (pawl.Garbage, error) { return pawl.Garbage{Used: 7}, nil }

func (e *engine) CollectGarbage(context.Context) (pawl.Garbage, error) {
	return pawl.Garbage{Freed: 7}, nil
}

func (e *engine) Watch(context.Context, pawl.RunID, pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(func(pawl.Update, error) bool) {
		close(e.entered)
		<-e.watched
	}
}

func (e *engine) Drain(context.Context) { e.drained = true }
func (e *engine) Close() error          { return nil }

// bed is a daemon with projects whose engines are at hand.
type bed struct {
	*daemon.Daemon
	home    project.Home
	engines map[string]*engine // by the root
	load    pawl.Load
	opened  chan string
	closed  chan struct{}
	full    atomic.Int32 // how many times opening a project still fails
}

func newBed(t *testing.T, idle time.Duration, roots ...string) *bed {
	t.Helper()
	state := t.TempDir()
	b := &bed{home: project.HomeAt(state), engines: map[string]*engine{}, opened: make(chan string, 10), closed: make(chan struct{}, 10)}
	at := func(root string) (project.Project, error) {
		return project.At(state, pawl.Repository{GitDir: filepath.Join(state, root), Root: root})
	}
	for _, root := range roots {
		p, err := at(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{filepath.Join(p.Dir, "pawl.db"), p.Repo.GitDir} {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b.engines[root] = &engine{status: pawl.StatusRunning, entered: make(chan struct{}), watched: make(chan struct{})}
	}
	b.Daemon = daemon.New(daemon.Config{
		Home: b.home, Version: "test", Idle: idle, Again: time.Millisecond,
		Find: func(_ context.Context, dir string) (project.Project, error) { return at(dir) },
		Open: func(_ context.Context, p project.Project, told func(pawl.RunInfo), _ []pawl.RunID) (daemon.Engine, error) {
			if strings.HasPrefix(p.Repo.Root, "bad") {
				return nil, pawl.Errorf(pawl.CodeDamaged, "it is damaged")
			}
			if b.full.Add(-1) >= 0 {
				return nil, pawl.Errorf(pawl.CodeUnavailable, "no space")
			}
			b.opened <- p.Repo.Root
			b.engines[p.Repo.Root].told = told
			return b.engines[p.Repo.Root], nil
		},
		Load: func(context.Context) (pawl.Load, error) { return b.load, nil },
		Read: func(_ context.Context, p project.Project) (pawl.Service, func() error, error) {
			return b.engines[p.Repo.Root], func() error { return nil }, nil
		},
		Say: func(format string, _ ...any) {
			if strings.HasPrefix(format, "closed") {
				b.closed <- struct{}{}
			}
		},
	})
	t.Cleanup(func() {
		if err := b.End(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bed) line(t *testing.T, root string) pawl.ProjectInfo {
	t.Helper()
	all, err := b.Projects(t.Context())
	i := slices.IndexFunc(all, func(p pawl.ProjectInfo) bool { return p.Root == root })
	if err != nil || i < 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[i]
}

func TestBoot(t *testing.T) {
	t.Run("InterruptedRunsGoOn", func(t *testing.T) {
		b := newBed(t, 0, "a", "bad", "done")
		b.engines["done"].status = pawl.StatusPaused
		b.Boot(t.Context())
		if p := b.line(t, "a"); p.Live != 1 {
			t.Errorf("%+v", p)
		}
		if p := b.line(t, "bad"); p.Problem != "it is damaged" {
			t.Errorf("%+v", p)
		}
		if len(b.opened) != 1 || b.Live(t.Context()) != 1 {
			t.Errorf("%d were opened", len(b.opened))
		}
	})
	t.Run("WhenThereIsSpaceAgain", func(t *testing.T) { // F-18
		b := newBed(t, 0, "a")
		b.full.Store(3)
		b.Boot(t.Context())
		if root := <-b.opened; root != "a" {
			t.Errorf("opened %s", root)
		}
	})
	t.Run("NotWhatSomebodyLeft", func(t *testing.T) {
		b := newBed(t, 0, "a")
		p := mustProject(t, b, "a")
		lock, err := p.Lock("local")
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Leave(); err != nil {
			t.Fatal(err)
		}
		b.Boot(t.Context())
		if p := b.line(t, "a"); p.Live != 0 || len(b.opened) != 0 {
			t.Errorf("%+v", p)
		}
	})
	for code, lacks := range map[pawl.Code]string{pawl.CodeKey: "no key", pawl.CodeUnavailable: "no server"} {
		t.Run("NotWithoutWhatItNeeds: "+lacks, func(t *testing.T) {
			b := newBed(t, 0, "a")
			b.engines["a"].refuses = pawl.Errorf(code, "%s", lacks)
			b.Boot(t.Context())
			if p := b.line(t, "a"); p.Live != 0 {
				t.Errorf("%+v", p)
			}
			p, err := b.Open(daemon.WithEnviron(t.Context(), []string{"KEY=x"}), "a")
			if err != nil || p.Live != 1 {
				t.Errorf("with its keys: %+v, %v", p, err)
			}
			s, err := b.Project(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			resume := pawl.Steering{Verb: pawl.SteerResume}
			if err := s.Steer(t.Context(), "001-a", resume); err != nil {
				t.Errorf("resuming what has just gone on: %v", err)
			}
			if err := s.Steer(t.Context(), "001-a", resume); pawl.CodeOf(err) != pawl.CodeState {
				t.Errorf("and again: %v", err)
			}
		})
	}
}

func mustProject(t *testing.T, b *bed, root string) project.Project {
	t.Helper()
	all, err := b.home.Projects()
	i := slices.IndexFunc(all, func(p project.Project) bool { return p.Repo.Root == root })
	if err != nil || i < 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[i]
}

// Load has what each run costs that is driven. F-38
func TestLoadHasMoney(t *testing.T) {
	b := newBed(t, time.Hour, "a", "b")
	ids := map[string]string{}
	for _, root := range []string{"a", "b"} {
		info, err := b.Open(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		ids[root] = info.ID
	}
	b.engines["a"].driven = true
	b.load = pawl.Load{Runs: []pawl.RunLoad{{Project: ids["a"], Run: "001-a"}, {Project: ids["b"], Run: "001-a"}, {Project: "gone", Run: "001-a"}}}
	got, err := b.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []*pawl.Money{{Spent: 1, Held: 2, Lost: 3}, nil, nil}
	for i, r := range got.Runs {
		if !reflect.DeepEqual(r.Money, want[i]) {
			t.Errorf("%s: got %+v, want %+v", r.Project, r.Money, want[i])
		}
	}
}

func TestAway(t *testing.T) {
	b := newBed(t, 0, "a")
	p := mustProject(t, b, "a")
	lock, err := p.Lock("local")
	if err != nil {
		t.Fatal(err)
	}
	info, err := b.Open(t.Context(), "a")
	if err != nil || info.Holder != os.Getpid() || info.Closed {
		t.Errorf("%+v, %v", info, err)
	}
	s, err := b.Project(t.Context(), info.ID)
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := s.Runs(t.Context()); err != nil || len(runs) != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
	if err := s.Steer(t.Context(), "001-a", pawl.Steering{}); pawl.CodeOf(err) != pawl.CodeConflict {
		t.Errorf("steering it: %v", err)
	}
	if info, err := pawl.ListCache(t.Context(), s); err != nil || info.Size != 5 {
		t.Errorf("its cache: %+v, %v", info, err)
	}
	if _, err := pawl.PruneCache(t.Context(), s, pawl.PruneRequest{}); pawl.CodeOf(err) != pawl.CodeConflict {
		t.Errorf("pruning it: %v", err)
	}
	if stones, err := pawl.DeletedRuns(t.Context(), s); err != nil || len(stones) != 1 {
		t.Errorf("its deleted runs: %+v, %v", stones, err)
	}
	for what, do := range deletions(s) { // F-31
		if err := do(t.Context()); pawl.CodeOf(err) != pawl.CodeConflict {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Runs(t.Context()); err != nil || <-b.opened != "a" {
		t.Errorf("when that process has gone: %v", err)
	}
	if result, err := pawl.PruneCache(t.Context(), s, pawl.PruneRequest{}); err != nil || result.Freed != 5 {
		t.Errorf("pruning it then: %+v, %v", result, err)
	}
	for what, do := range deletions(s) {
		if err := do(t.Context()); err != nil {
			t.Errorf("%s then: %v", what, err)
		}
	}
	if _, err := b.Project(t.Context(), "none"); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Error(err)
	}
}

// deletions are what only the process can do that has a project.
func deletions(s pawl.Service) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"deleting a run": func(ctx context.Context) error {
			d, err := pawl.DeleteRun(ctx, s, "001-a", pawl.DeleteRequest{})
			if err == nil && d.Run != "001-a" {
				err = pawl.Errorf(pawl.CodeInternal, "%+v", d)
			}
			return err
		},
		"finding garbage": func(ctx context.Context) error {
			g, err := pawl.FindGarbage(ctx, s)
			if err == nil && g.Used != 7 {
				err = pawl.Errorf(pawl.CodeInternal, "%+v", g)
			}
			return err
		},
		"collecting it": func(ctx context.Context) error {
			g, err := pawl.CollectGarbage(ctx, s)
			if err == nil && g.Freed != 7 {
				err = pawl.Errorf(pawl.CodeInternal, "%+v", g)
			}
			return err
		},
	}
}

// A project whose repository goes while it is open is not lost sight of.
func TestRepositoryGone(t *testing.T) {
	b := newBed(t, 0, "a")
	b.Boot(t.Context())
	if err := os.Remove(mustProject(t, b, "a").Repo.GitDir); err != nil {
		t.Fatal(err)
	}
	if p := b.line(t, "a"); p.Live != 1 || !strings.Contains(p.Problem, "no longer exists") {
		t.Errorf("%+v", p)
	}
}

func TestIdle(t *testing.T) {
	b := newBed(t, time.Millisecond, "a")
	info, err := b.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	<-b.opened
	if info.Closed {
		t.Error("it is open, and called closed")
	}
	s, err := b.Project(t.Context(), info.ID)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range s.Watch(t.Context(), "001-a", 0) {
		}
	}()
	<-b.engines["a"].entered
	for len(b.closed) > 0 { // the project may have been idle before the watcher came, and reopened
		<-b.closed
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Idle(ctx, time.Millisecond); err == nil {
		t.Error("it is idle, and watched")
	}
	if _, held, err := mustProject(t, b, "a").Holder(t.Context()); !held || err != nil {
		t.Errorf("it is closed, and watched: %v", err)
	}
	close(b.engines["a"].watched)
	<-b.closed
	if _, held, err := mustProject(t, b, "a").Holder(t.Context()); held || err != nil {
		t.Errorf("it is closed, and held: %v", err)
	}
	if !b.line(t, "a").Closed {
		t.Error("it is not called closed")
	}
	if err := b.Idle(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
	if _, err := b.Open(t.Context(), "a"); pawl.CodeOf(err) != pawl.CodeUnavailable { // F-66
		t.Errorf("Open after Idle returned nil: %v, want unavailable", err)
	}
}

// F-66: a request that arrives while the daemon checks for active runs counts as use.
func TestIdleSeesWhoComesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 24*time.Hour, "a")
		if _, err := b.Open(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		come := sync.OnceFunc(func() {
			if _, err := b.Project(t.Context(), "a"); pawl.CodeOf(err) != pawl.CodeNotFound {
				t.Error(err)
			}
		})
		b.engines["a"].looked = come
		begun := time.Now()
		if err := b.Idle(t.Context(), time.Hour); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 2*time.Hour { // on the bubble's clock
			t.Errorf("Idle returned after %s, want 2h: an hour after the request, which came at 1h", took)
		}
	})
}

func TestEnd(t *testing.T) {
	b := newBed(t, 0, "a")
	info, err := b.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Project(t.Context(), info.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.End(t.Context()); err != nil || !b.engines["a"].drained {
		t.Error(err)
	}
	if _, err := s.Runs(t.Context()); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("asked at its end: %v", err)
	}
	if _, held, err := mustProject(t, b, "a").Holder(t.Context()); held || err != nil {
		t.Errorf("the project is held: %v", err)
	}
}

func TestEquipped(t *testing.T) {
	want := []string{"A_KEY=sk-\"x\"\n", "PATH=/bin"}
	text, err := daemon.EncodeEnviron(want)
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string][]string{text: want, "": nil, "!": nil, "AAAA": nil} {
		var got []string
		h := daemon.Equipped(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = daemon.Environ(r.Context())
			if r.Header.Get(daemon.EnvironHeader) != "" {
				t.Error("the header continues")
			}
		}))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set(daemon.EnvironHeader, header)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q", header, got)
		}
	}
	if _, err := daemon.EncodeEnviron([]string{strings.Repeat("x", 1<<16)}); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Error(err)
	}
}
