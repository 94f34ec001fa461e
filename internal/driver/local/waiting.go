package local

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// sayAfter is how long an effect waits for its places before that is said, unless it waits
// for nothing but its own run. It is said again as often, for those who begin to watch later.
const sayAfter = 2 * time.Second

// waiter is an effect that waits: for its places, for its account to open, for space on a disk, or
// for its model.
type waiter struct {
	d     *Driver
	job   driver.Job
	after time.Duration // how long it waits before that is said
	lacks string        // why it waits for space on a disk; empty = it waits for something else
	model string        // which model it waits for; empty = it waits for something else

	mu    sync.Mutex // guards the rest; taken before the driver's
	since time.Time
	timer *time.Timer
	said  *pawl.Waiting // last; nil = nothing was said
	over  bool
}

// waits begins to tell that an effect waits: for its places, for its account to open or, if lacks
// is not empty, for space on a disk.
func (d *Driver) waits(job driver.Job, since time.Time, lacks string) *waiter {
	return (&waiter{d: d, job: job, after: sayAfter, since: since, lacks: lacks}).begin()
}

// listens starts to watch for a silent model; [waiter.heard] restarts the watch.
func (d *Driver) listens(job driver.Job, do *pawl.CallModel) *waiter {
	model := ""
	if choice := job.Settings.Model(do.Tier, do.Choice); choice != nil {
		model = choice.Provider + "/" + choice.Name
	}
	return (&waiter{d: d, job: job, after: pawl.SilentAfter, since: d.now(), model: cmp.Or(model, "the model")}).begin()
}

func (w *waiter) begin() *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.after, w.say)
	return w
}

func (w *waiter) say() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	if left := w.after - w.d.now().Sub(w.since); w.said == nil && left > 0 { // something was heard
		w.timer.Reset(left)
		return
	}
	w.timer.Reset(sayAfter)
	now, waits := w.now()
	if !waits || w.said == nil && w.forItself(now) {
		return
	}
	if w.said == nil {
		w.d.mu.Lock()
		if w.d.waiting == nil {
			w.d.waiting = make(map[pawl.RunID][]*waiter)
		}
		w.d.waiting[w.job.Run] = append(w.d.waiting[w.job.Run], w)
		w.d.mu.Unlock()
	}
	w.said = &now
	w.tell(now)
}

// heard notes that the model has sent something.
func (w *waiter) heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.unsay()
	w.since = w.d.now()
}

// forItself reports whether an effect only waits for others of its run, whose progress is shown.
func (w *waiter) forItself(now pawl.Waiting) bool {
	return len(now.Runs) == 1 && now.Runs[0] == w.job.Run && now.Elsewhere == 0 && now.Until.IsZero()
}

// end tells that the effect no longer waits, if it was told that it did.
func (w *waiter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
	w.unsay()
}

// unsay tells that the wait is over, if it was told.
func (w *waiter) unsay() {
	if w.said == nil {
		return
	}
	w.d.mu.Lock()
	all := slices.DeleteFunc(w.d.waiting[w.job.Run], func(x *waiter) bool { return x == w })
	if w.d.waiting[w.job.Run] = all; len(all) == 0 {
		delete(w.d.waiting, w.job.Run)
	}
	w.d.mu.Unlock()
	now := *w.said
	w.said = nil
	if now.Over, now.For = true, w.d.now().Sub(w.since).Round(time.Millisecond); w.over && w.model != "" {
		return // how the call ended says more
	}
	w.tell(now)
}

func (w *waiter) tell(now pawl.Waiting) {
	if w.d.Live != nil {
		w.d.Live(w.job.Run, pawl.Live{Effect: now.Effect, Place: now.Place, Waiting: &now})
	}
}

// waiting returns what is known of the wait without asking the governor.
func (w *waiter) waiting() pawl.Waiting {
	f := w.job.Effect
	name, account := strings.ReplaceAll(f.Do.Verb().String(), "_", " "), ""
	switch do := f.Do.(type) {
	case *pawl.RunGate:
		name = "gate " + do.Gate
	case *pawl.CallModel:
		name = callName(f.Place)
	case *pawl.CallTool:
		name = "tool " + do.Tool + " of " + f.Place.Words()
	case *pawl.Wait: // the call that it holds up
		name, account = callName(f.Place), do.Account.String()
	}
	return pawl.Waiting{Effect: f.ID, Place: f.Place, Name: name, Account: account, Since: w.since, For: w.d.now().Sub(w.since).Round(time.Millisecond)}
}

// callName returns what a model call is called, such as "model call 7 of implement in iteration 2".
func callName(p pawl.Place) string {
	if p.Turn == 0 {
		return "a model call of " + p.Words()
	}
	return fmt.Sprintf("model call %d of %s", p.Turn, p.Words())
}

// now returns the wait as it is now. It reports false when the effect has its places.
func (w *waiter) now() (pawl.Waiting, bool) {
	if do, ok := w.job.Effect.Do.(*pawl.Wait); ok {
		out := w.waiting()
		out.Pool, out.Until, out.Why = "account:"+do.Account.Provider, w.since.Add(do.For), do.Why
		return out, true
	}
	out := w.waiting()
	if w.model != "" {
		out.Pool, out.Model = pawl.PoolModel, w.model
		return out, true
	}
	if w.lacks != "" {
		out.Pool, out.Why = pawl.PoolDisk, w.lacks
		return out, true
	}
	pool, waits := w.d.Places.Waits(w.job)
	out.Pool, out.Slots, out.Runs, out.Elsewhere, out.Why = pool.Name, pool.Slots, pool.Runs, pool.Elsewhere, pool.Why
	if len(pool.Accounts) > 0 {
		out.Account, out.Until, out.Why = pool.Accounts[0].Account, pool.Accounts[0].Until, pool.Accounts[0].Why
	}
	return out, waits
}

// Waiting returns the effect of a run that has waited longest for its places or its model; nil when
// none has waited for so long that it is said.
func (d *Driver) Waiting(run pawl.RunID) *pawl.Waiting {
	d.mu.Lock()
	all, stall := slices.Clone(d.waiting[run]), d.stalls[run]
	d.mu.Unlock()
	if stall != nil {
		now := *stall
		now.For = d.now().Sub(now.Since).Round(time.Millisecond)
		return &now
	}
	var waiting []pawl.Waiting
	for _, w := range all {
		w.mu.Lock()
		now, waits := w.now()
		if waits && !w.over && w.said != nil {
			waiting = append(waiting, now)
		}
		w.mu.Unlock()
	}
	if len(waiting) == 0 {
		return nil
	}
	oldest := slices.MinFunc(waiting, func(a, b pawl.Waiting) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Effect, b.Effect))
	})
	oldest.Others = len(waiting) - 1
	return &oldest
}

// stalled says that a run waits until its log can be written, each time it was tried.
func (d *Driver) stalled(run pawl.RunID, since time.Time, err error) {
	why := err.Error()
	if e, ok := errors.AsType[*pawl.Error](err); ok && e.Hint != "" {
		why += ". " + e.Hint
	}
	now := pawl.Waiting{Name: "the run", Pool: pawl.PoolStore, Why: why, Since: since, For: d.now().Sub(since).Round(time.Millisecond)}
	d.mu.Lock()
	if d.stalls == nil {
		d.stalls = make(map[pawl.RunID]*pawl.Waiting)
	}
	d.stalls[run] = &now
	d.mu.Unlock()
	if d.Live != nil {
		d.Live(run, pawl.Live{Waiting: &now})
	}
}

// stall is why a run waits for its log; nil when it does not.
func (d *Driver) stall(run pawl.RunID) *pawl.Waiting {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stalls[run]
}

// stored says that a run waits for its log no more, if it did.
func (d *Driver) stored(run pawl.RunID) {
	d.mu.Lock()
	stall := d.stalls[run]
	delete(d.stalls, run)
	d.mu.Unlock()
	if stall == nil || d.Live == nil {
		return
	}
	now := *stall
	now.Over, now.For = true, d.now().Sub(now.Since).Round(time.Millisecond)
	d.Live(run, pawl.Live{Waiting: &now})
}

// spaceRetry returns the time between two attempts while a disk has no space.
func (d *Driver) spaceRetry() time.Duration { return cmp.Or(d.SpaceRetry, 5*time.Second) }
