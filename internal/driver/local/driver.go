// Package local drives runs in this process, one goroutine each.
//
// A run's goroutine takes every input that is queued, lets the kernel decide
// each on the state ahead of durability, appends all their events as one unit,
// and only then answers whoever gave the inputs, tells the observer, and starts
// or cancels effects. While an append is under way further inputs queue, so a
// busy run's units grow instead of its latency. A unit that cannot be appended
// because the store is short of space is tried again until it can; nothing is
// performed or shown meanwhile. Any other failure quarantines the run: its
// effects are cancelled and it stops until it is adopted again.
package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel"
)

// Driver drives the runs of one log. Its fields are set before the first call.
type Driver struct {
	Log pawl.Log
	// Keeper keeps states of the log's runs, which are folded faster then; nil means none are kept.
	Keeper pawl.Keeper
	// KeepEvery is how many events of a run are decided before its state is kept again, so that
	// a recovery folds about as many; zero means 1,000, which take 10 ms or less. The state of a
	// run that ends, or whose driver is closed, is kept after a tenth of that.
	KeepEvery int
	Performer driver.Performer
	// Places say when an effect may be performed; nil means at once.
	Places driver.Places
	// Observe is told of events after they are durable, in order, from the run's
	// goroutine; it must not block. It may be nil.
	Observe func(run pawl.RunID, events []pawl.Event, info pawl.RunInfo)
	// Live is told of text that is not durable; it must not block. It may be nil.
	Live func(run pawl.RunID, live pawl.Live)
	// Accepted is told that what somebody asked for, to start a run, to take it over or to
	// steer it, is durable, before anything that follows from it is begun. The context is
	// that of whoever asked. It is called from the run's goroutine and must not block. It
	// may be nil.
	Accepted func(ctx context.Context, run pawl.RunID)
	// Left is told when a run comes to rest here: it has ended (err is nil), or
	// could not be driven on. It may be nil.
	Left func(run pawl.RunID, err error)
	// Seen says when somebody last followed the run here, which is now while somebody does; zero = nobody
	// has. Nil means that nobody ever follows one.
	Seen func(run pawl.RunID) time.Time
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Steady is a clock that never jumps, from any moment on. nil means the monotonic clock of
	// the process, or, where Now is not nil, that no jump of Now is noticed.
	Steady func() time.Duration
	// SpaceRetry is the time between attempts to append, or to perform an effect, while a disk
	// has no space; zero means five seconds.
	SpaceRetry time.Duration
	Logger     *slog.Logger

	mu   sync.Mutex // guards what follows
	runs map[pawl.RunID]*run
	wg   sync.WaitGroup
	done bool

	waiting map[pawl.RunID][]*waiter     // effects of which it was said that they wait
	stalls  map[pawl.RunID]*pawl.Waiting // runs whose log cannot be written

	flying  int           // effects that are under way, but for timers; guarded by mu
	drained chan struct{} // not nil: nothing begins any more; closed when nothing flies
}

// Start begins a run: its first events are durable when Start returns.
func (d *Driver) Start(ctx context.Context, id pawl.RunID, started *pawl.RunStarted, blobs []pawl.Blob) error {
	r, err := d.add(id, &kernel.State{})
	if err != nil {
		return err
	}
	d.wanted()
	return r.ask(ctx, item{in: kernel.Input{Start: &kernel.Start{Run: id, Started: started}}, blobs: blobs})
}

// Adopt takes over a run from its log: it folds the events, says what became of
// the effects that were under way, and goes on. A command given with it is
// obeyed before anything is begun; one that is refused does not keep the run
// from going on. A run that has ended is left alone.
func (d *Driver) Adopt(ctx context.Context, id pawl.RunID, first ...pawl.Steering) error {
	s, err := fold(ctx, d.Log, d.Keeper, id)
	if err != nil {
		return err
	}
	return d.AdoptFolded(ctx, id, s, first...)
}

// AdoptFolded is Adopt for a caller who has just folded the run's log: a long one is
// not folded twice. The state is the driver's from now on.
func (d *Driver) AdoptFolded(ctx context.Context, id pawl.RunID, s *kernel.State, first ...pawl.Steering) error {
	if s.Status == pawl.StatusEnded {
		return nil
	}
	r, err := d.add(id, s)
	if err != nil {
		return err
	}
	in := kernel.Input{Recover: &kernel.Recover{Pid: os.Getpid()}}
	if len(first) > 0 {
		in.Steer = &first[0]
	}
	return r.ask(ctx, item{in: in})
}

// Steer gives a run a command, and returns when what follows from it is
// durable. A run that is not driven is taken over from its log with the command.
func (d *Driver) Steer(ctx context.Context, id pawl.RunID, in pawl.Steering) error {
	if in.Verb.Resumes() {
		d.wanted()
	}
	for {
		d.mu.Lock()
		r := d.runs[id]
		d.mu.Unlock()
		if r == nil {
			s, err := fold(ctx, d.Log, d.Keeper, id)
			if err != nil {
				return err
			}
			if s.Status != pawl.StatusEnded {
				return d.Adopt(ctx, id, in)
			}
			if r, err = d.add(id, s); err != nil {
				return err
			}
		}
		if w := d.stall(id); w != nil {
			return pawl.Errorf(pawl.CodeUnavailable, "run %s takes nothing until its log can be written: %s", id, w.Why)
		}
		err := r.ask(ctx, item{in: kernel.Input{Steer: &in}})
		if !errors.Is(err, errAtRest) { // it came to rest before it took the command
			return err
		}
	}
}

func (d *Driver) wanted() {
	if d.Places != nil {
		d.Places.Wanted()
	}
}

// Driven reports whether the run was started or adopted here and has not failed.
func (d *Driver) Driven(id pawl.RunID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[id] != nil
}

// Line returns the line of a run after its last durable event. The stored one is older: it is
// not replaced by every event. It returns nil for a run that is not driven, or of which nothing
// has happened here yet. The line is shared and must not be changed.
func (d *Driver) Line(id pawl.RunID) *pawl.RunInfo {
	d.mu.Lock()
	r := d.runs[id]
	d.mu.Unlock()
	if r == nil {
		return nil
	}
	return r.line.Load()
}

// Close ends driving: effects under way are cancelled and not answered, as if
// the process had died, and Close returns when none is left. The log stays open.
func (d *Driver) Close() {
	d.mu.Lock()
	d.done = true
	for _, r := range d.runs {
		r.cancel(errClosed)
	}
	d.mu.Unlock()
	d.wg.Wait()
}

var (
	errClosed = errors.New("the driver is closed")
	errAtRest = errors.New("the run is at rest")
)

func (d *Driver) add(id pawl.RunID, s *kernel.State) (*run, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drained != nil && !d.done {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "run %s: %w", id, errDraining)
	}
	if d.done {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "run %s: %w", id, errClosed)
	}
	if d.runs[id] != nil {
		return nil, pawl.Errorf(pawl.CodeConflict, "run %s is driven already", id)
	}
	if d.runs == nil {
		d.runs = make(map[pawl.RunID]*run)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &run{d: d, id: id, state: s, kept: s.Seq, ctx: ctx, cancel: cancel, inbox: make(chan item, inboxSize),
		running: make(map[pawl.Seq]*flight), again: make(map[pawl.Seq]bool), blobs: newBlobCache()}
	for _, f := range kernel.Pending(s) {
		r.again[f.ID] = true
	}
	d.runs[id] = r
	d.wg.Go(r.loop)
	return r, nil
}

// clockJump is how much the clock may differ from what has passed between two inputs of a run.
// More is a jump, which is no time of the run; a clock that is only adjusted differs by less.
const clockJump = 10 * time.Second

// begun is when the process began, on its monotonic clock.
var begun = time.Now()

// clock is a time: by the clock on the wall, which may jump, and by one that does not, where
// there is one.
type clock struct {
	wall     time.Time
	steady   time.Duration
	isSteady bool
}

func (d *Driver) clock() clock {
	c := clock{wall: d.now().Round(0), isSteady: true}
	switch {
	case d.Steady != nil:
		c.steady = d.Steady()
	case d.Now == nil:
		c.steady = time.Since(begun)
	default:
		c.isSteady = false
	}
	return c
}

// jumped is by how much the wall's clock has jumped since a time before; zero when it has not.
func (c clock) jumped(before clock) time.Duration {
	if before.wall.IsZero() || !c.isSteady {
		return 0
	}
	if by := c.wall.Sub(before.wall) - (c.steady - before.steady); by.Abs() >= clockJump {
		return by
	}
	return 0
}

func (d *Driver) now() time.Time {
	if d.Now != nil {
		return d.Now().UTC()
	}
	return time.Now().UTC()
}

func (d *Driver) logger() *slog.Logger {
	if d.Logger != nil {
		return d.Logger
	}
	return slog.New(slog.DiscardHandler)
}

// inboxSize is how many inputs of a run may queue before whoever brings one waits.
const inboxSize = 256

// item is one queued input. reply, when it is not nil, is answered once the
// events that follow are durable, or the input was refused.
type item struct {
	in    kernel.Input
	blobs []pawl.Blob
	reply chan error
	// accepted is called when what follows from the input is durable; it may be nil.
	accepted func()
}
