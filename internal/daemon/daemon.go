package daemon

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/project"
)

// Engine drives the runs of one project that this process has the lock of.
type Engine interface {
	pawl.Service
	// Driven reports whether a run is at work, or paused, in this process.
	Driven(run pawl.RunID) bool
	// Money returns what a run that is driven has spent, holds and has lost; nil = it is not.
	Money(run pawl.RunID) *pawl.Money
	// Adopt continues a run that was interrupted. [pawl.CodeUnavailable] or [pawl.CodeKey] means that
	// it may, once somebody hands over what it needs.
	Adopt(ctx context.Context, run pawl.RunID) error
	// Drain lets what is under way finish, until ctx ends, and begins nothing more.
	Drain(ctx context.Context)
	// Close ends driving as a crash would. The project's lock is still held.
	Close() error
}

// IdleProject is how long a project is kept open that nobody uses and that has no run at work.
const IdleProject = 10 * time.Minute

// quiet is how long nobody must have asked for anything before the daemon rests.
const quiet = 5 * time.Second

// Config is what a daemon is made of. All but Load, Rest, Idle and Again are needed.
type Config struct {
	Home    project.Home
	Version string
	// Find is the project of the repository that a folder is in.
	Find func(ctx context.Context, dir string) (project.Project, error)
	// Open makes the engine of a project whose lock this process has. It must call told with a
	// run's line whenever that changes. next lists the runs that will be adopted.
	Open func(ctx context.Context, p project.Project, told func(pawl.RunInfo), next []pawl.RunID) (Engine, error)
	// Read reads a project that another process has, or nobody, until the function it
	// returns is called.
	Read func(ctx context.Context, p project.Project) (pawl.Service, func() error, error)
	// Load says what the places of the machine are used for; nil knows of none.
	Load func(ctx context.Context) (pawl.Load, error)
	// Say tells people what the daemon does, one line each. It is called from many goroutines.
	Say func(format string, args ...any)
	// Rest gives back what is not needed when there is nothing to do; nil does nothing.
	Rest func()
	// Idle is how long a project that is not used is kept open; zero means [IdleProject].
	Idle time.Duration
	// Again is after how long it is tried again to open a project with interrupted runs
	// whose disk is full or cannot be written; zero means five seconds.
	Again time.Duration
}

// Daemon keeps projects open. It implements [pawl.Projects].
type Daemon struct {
	c Config

	mu       sync.Mutex // guards what follows, and the fields of projects that say so
	projects map[string]*held
	used     time.Time // when somebody last asked for something
	uses     int       // requests under way
	ending   bool
	rest     *time.Timer // goes off when it has been quiet
}

var _ pawl.Projects = (*Daemon)(nil)

// New makes a daemon that has no project open. The caller holds the home's lock.
func New(c Config) *Daemon {
	c.Idle, c.Again = cmp.Or(c.Idle, IdleProject), cmp.Or(c.Again, 5*time.Second)
	d := &Daemon{c: c, projects: map[string]*held{}, used: time.Now()}
	d.rest = time.AfterFunc(quiet, d.rests)
	return d
}

// rests gives back what is not needed, unless something is at work: then it is tried
// again when a run has ended, or somebody has asked for something.
func (d *Daemon) rests() {
	d.mu.Lock()
	busy := d.uses > 0 || d.ending || d.c.Rest == nil
	d.mu.Unlock()
	if !busy && d.Live(context.Background()) == 0 {
		d.c.Rest()
	}
}

func id(p project.Project) string { return filepath.Base(p.Dir) }

// held is what there is of a project.
func (d *Daemon) held(p project.Project) *held {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.projects[id(p)]
	if h == nil {
		h = &held{d: d, p: p, last: map[pawl.RunID]pawl.RunStatus{}}
		d.projects[id(p)] = h
	}
	if h.engine == nil {
		h.p = p // its work tree may have another place by now
	}
	return h
}

// stored are the projects that have a log, by the names of their folders, and a repository:
// the others only if runs of theirs may be at work, or cannot go on.
func (d *Daemon) stored() ([]*held, error) {
	all, err := d.known()
	return slices.DeleteFunc(all, func(h *held) bool { return !h.present() && !h.needed() }), err
}

// known are all projects that have a log, by the names of their folders.
func (d *Daemon) known() (out []*held, err error) {
	found, err := d.c.Home.Projects()
	for _, p := range found {
		if p.HasLog() {
			out = append(out, d.held(p))
		}
	}
	return out, err
}

// Boot opens every project that has interrupted runs and lets these go on, all of
// them at once. What cannot be opened or go on is told of and left as it is, such as the runs
// of a repository that is gone. A project whose disk is full or cannot be written is tried
// again until it can be, or ctx ends.
func (d *Daemon) Boot(ctx context.Context) {
	all, err := d.known()
	if err != nil {
		d.c.Say("looking for projects: %v", err)
	}
	var wg sync.WaitGroup
	for _, h := range all {
		wg.Go(func() { h.boot(ctx) })
	}
	wg.Wait()
}

// Open implements [pawl.Projects]. Runs that wait for what the caller hands over go on.
func (d *Daemon) Open(ctx context.Context, dir string) (pawl.ProjectInfo, error) {
	p, err := d.c.Find(ctx, dir)
	if err != nil {
		return pawl.ProjectInfo{}, err
	}
	h := d.held(p)
	if h.settle(ctx, p) {
		h.boot(ctx)
	}
	_, done, err := h.use(ctx)
	if err != nil {
		return pawl.ProjectInfo{}, err
	}
	defer done()
	if Environ(ctx) != nil {
		h.adopt(ctx, h.takeWaiting())
	}
	return h.info(ctx), nil
}

// Projects implements [pawl.Projects]: those that have something stored, opened or not.
func (d *Daemon) Projects(ctx context.Context) ([]pawl.ProjectInfo, error) {
	defer d.enter()()
	all, err := d.stored()
	if err != nil {
		return nil, err
	}
	out := make([]pawl.ProjectInfo, 0, len(all))
	for _, h := range all {
		out = append(out, h.info(ctx))
	}
	slices.SortStableFunc(out, func(a, b pawl.ProjectInfo) int { return cmp.Compare(a.Root, b.Root) })
	return out, nil
}

// Project implements [pawl.Projects]. The project is opened when something of it is
// asked for.
func (d *Daemon) Project(_ context.Context, name string) (pawl.Service, error) {
	defer d.enter()()
	d.mu.Lock()
	h := d.projects[name]
	d.mu.Unlock()
	if h != nil {
		return service{h}, nil
	}
	all, err := d.stored()
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		if id(h.p) == name {
			return service{h}, nil
		}
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "there is no project %.40q", name).WithHint("pawl serve status lists them")
}

// Load implements [pawl.Projects].
func (d *Daemon) Load(ctx context.Context) (pawl.Load, error) {
	defer d.enter()()
	if d.c.Load == nil {
		return pawl.Load{At: time.Now()}, nil
	}
	load, err := d.c.Load(ctx)
	for i, r := range load.Runs {
		d.mu.Lock()
		h := d.projects[r.Project]
		var e Engine
		if h != nil {
			e = h.engine
		}
		d.mu.Unlock()
		if e != nil {
			load.Runs[i].Money = e.Money(r.Run)
		}
	}
	return load, err
}

// enter counts a request; the function it returns ends it.
func (d *Daemon) enter() func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uses++
	d.used = time.Now()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.uses--
		d.used = time.Now()
		if !d.ending {
			d.rest.Reset(quiet)
		}
	}
}

// Idle returns nil when no request has arrived for the duration after and no run is active,
// or the error of ctx. Once it has returned nil the daemon refuses every request, as it does
// after [Daemon.End]: a run that began now would be interrupted at once.
func (d *Daemon) Idle(ctx context.Context, after time.Duration) error {
	for wait := after; ; {
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		if d.Live(ctx) > 0 {
			wait = after
			continue
		}
		// From here on a run can begin only through a request. The lock orders each request
		// before or after this decision.
		d.mu.Lock()
		busy, since := d.uses > 0, time.Since(d.used)
		idle := !busy && since >= after
		d.ending = d.ending || idle
		d.mu.Unlock()
		switch {
		case idle:
			return nil
		case busy:
			wait = after
		default:
			wait = after - since
		}
	}
}

// Live counts the runs that are at work.
func (d *Daemon) Live(ctx context.Context) (n int) {
	for _, h := range d.all() {
		n += h.live(ctx)
	}
	return n
}

func (d *Daemon) all() []*held {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []*held
	for _, h := range d.projects {
		out = append(out, h)
	}
	return out
}

// End refuses what is asked from now on, lets what is under way finish until ctx
// ends, and closes every project. What has not finished is interrupted: whoever takes
// its run over goes on from there.
func (d *Daemon) End(ctx context.Context) error {
	d.mu.Lock()
	d.ending = true
	d.rest.Stop()
	d.mu.Unlock()
	var wg sync.WaitGroup
	errs := make(chan error, len(d.all()))
	for _, h := range d.all() {
		wg.Go(func() {
			h.drain(ctx)
			errs <- h.close()
		})
	}
	wg.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}
