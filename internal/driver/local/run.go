package local

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel"
)

// run is one run that is driven. Everything but inbox, ctx, blobs and line belongs to
// its goroutine.
type run struct {
	d      *Driver
	id     pawl.RunID
	ctx    context.Context
	cancel context.CancelCauseFunc
	inbox  chan item
	blobs  *blobCache
	clock  clock

	state   *kernel.State
	info    pawl.RunInfo                 // as last stored
	line    atomic.Pointer[pawl.RunInfo] // after its last durable event; nil before the first here
	kept    pawl.Seq                     // a state after this event was folded or given to the log; 0 = none was
	keeping sync.Mutex                   // held while the log keeps a state
	running map[pawl.Seq]*flight
	again   map[pawl.Seq]bool // effects that may have been under way before
}

// ask queues an input and waits until what follows from it is durable, or has to wait for space.
func (r *run) ask(ctx context.Context, it item) error {
	it.reply = make(chan error, 1)
	if r.d.Accepted != nil {
		it.accepted = func() { r.d.Accepted(ctx, r.id) }
	}
	select {
	case r.inbox <- it:
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-it.reply:
		return err
	case <-r.ctx.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	select { // the run may have come to rest because of this very input
	case err := <-it.reply:
		return err
	default:
		return context.Cause(r.ctx)
	}
}

func (r *run) loop() {
	defer r.leave()
	defer r.survive()
	for {
		items, ok := r.next()
		if !ok {
			return
		}
		if err := r.step(items); err != nil {
			r.d.logger().Error("the run is quarantined", "run", r.id, "error", err)
			r.cancel(err)
			return
		}
		if r.state.Status == pawl.StatusEnded {
			return
		}
	}
}

// next waits for inputs, or for the time in which nobody answered to be over. It reports false if the run
// is given up.
func (r *run) next() ([]item, bool) {
	for {
		var over <-chan time.Time
		left, waits := r.unanswered()
		if waits {
			over = time.After(left)
		}
		select {
		case <-r.ctx.Done():
			return nil, false
		case it := <-r.inbox:
			return r.queued(it), true
		case <-over:
			if left, waits = r.unanswered(); waits && left <= 0 { // nobody has come in the meantime
				return []item{{in: kernel.Input{Unanswered: true}}}, true
			}
		}
	}
}

// unanswered returns how long the run still waits for an answer while nobody is there. It reports false
// if the run waits for anything else, or as long as it takes.
func (r *run) unanswered() (left time.Duration, waits bool) {
	since, most := r.state.Unanswered()
	if most == 0 {
		return 0, false
	}
	if r.d.Seen != nil && !r.state.Settings.Unattended { // who follows it may be a person
		if seen := r.d.Seen(r.id); seen.After(since) {
			since = seen
		}
	}
	return most - r.d.clock().wall.Sub(since), true
}

// leave cancels what is under way, keeps the state unless it was given up, and forgets the run.
func (r *run) leave() {
	for _, f := range r.running {
		r.d.arrive(f)
	}
	if cause := context.Cause(r.ctx); cause == nil || errors.Is(cause, errClosed) {
		r.keepLast()
	}
	r.d.mu.Lock()
	delete(r.d.runs, r.id)
	r.d.mu.Unlock()
	r.cancel(errAtRest)
	if r.d.Left != nil {
		err := context.Cause(r.ctx)
		if errors.Is(err, errAtRest) {
			err = nil
		}
		r.d.Left(r.id, err)
	}
}

// queued is the input and all that wait behind it.
func (r *run) queued(first item) []item {
	items := []item{first}
	for len(items) < inboxSize {
		select {
		case it := <-r.inbox:
			items = append(items, it)
		default:
			return items
		}
	}
	return items
}

// step decides inputs, makes what follows durable, and only then lets anyone know.
func (r *run) step(items []item) error {
	unit := pawl.Unit{Run: r.id, After: r.state.Seq}
	var answered []item
	var refused []refusal
	for _, it := range items {
		events, err := r.decide(it.in)
		unit.Events = append(unit.Events, events...)
		switch {
		case err == nil:
			unit.Blobs = append(append(unit.Blobs, it.blobs...), said(events)...)
			answered = append(answered, it)
		case pawl.CodeOf(err) == pawl.CodeDamaged || r.state.Seq == 0:
			reply([]item{it}, err)
			return err
		default: // a refused command
			refused = append(refused, refusal{it, err})
		}
	}
	if err := r.append(unit, answered); err != nil {
		reply(answered, err)
		return err
	}
	line := kernel.Info(r.state)
	r.line.Store(&line)
	for _, it := range answered {
		if it.accepted != nil {
			it.accepted()
		}
	}
	reply(answered, nil)
	for _, f := range refused {
		reply([]item{f.item}, f.err)
	}
	if r.d.Observe != nil && len(unit.Events) > 0 {
		r.d.Observe(r.id, unit.Events, line)
	}
	r.reconcile(unit.Events)
	r.keepSome()
	return nil
}

// said are the texts of persons' answers and signals, and of what these decide, which prompts read as blobs.
func said(events []pawl.Event) []pawl.Blob {
	var out []pawl.Blob
	for _, e := range events {
		switch b := e.Body.(type) {
		case *pawl.QuestionAnswered:
			if !b.Said.IsZero() {
				out = append(out, pawl.NewBlob([]byte(b.Text)))
			}
		case *pawl.MemoryAdded:
			if b.Said != "" {
				out = append(out, pawl.NewBlob([]byte(b.Said)))
			}
		case *pawl.SignalSent:
			if b.Signal == pawl.SignalInfo && !b.Payload.IsZero() {
				out = append(out, pawl.NewBlob([]byte(b.Reason)))
			}
		}
	}
	return out
}

type refusal struct {
	item item
	err  error
}

// decide folds what follows from an input into the state. A run is taken over
// also when the command that came with it is refused.
func (r *run) decide(in kernel.Input) ([]pawl.Event, error) {
	now := r.d.clock()
	in.At, in.Jumped = now.wall, now.jumped(r.clock)
	events, refused := kernel.Decide(r.state, in)
	if refused != nil && in.Recover != nil && in.Steer != nil {
		in.Steer = nil
		var err error
		if events, err = kernel.Decide(r.state, in); err != nil {
			return nil, err
		}
	}
	if refused == nil || len(events) > 0 {
		r.clock = now
	}
	for _, e := range events {
		if err := kernel.Apply(r.state, e); err != nil {
			return nil, err
		}
	}
	return events, refused
}

func reply(items []item, err error) {
	for _, it := range items {
		if it.reply != nil {
			it.reply <- err
		}
	}
}

// append makes a unit durable. Without space for it, it waits until there is some. Those who asked
// for what is in the unit get an error at once and do not wait with it.
func (r *run) append(u pawl.Unit, asked []item) error {
	if len(u.Events) == 0 {
		return nil
	}
	if info := kernel.Info(r.state); changed(r.info, info) {
		r.info, u.Info = info, &info
	}
	var since time.Time // when the first try failed
	defer func() { r.d.stored(r.id) }()
	for {
		err := r.d.Log.Append(r.ctx, u)
		if err == nil {
			r.blobs.add(u.Blobs)
			return nil
		}
		if pawl.CodeOf(err) != pawl.CodeUnavailable || r.ctx.Err() != nil {
			return err
		}
		if since.IsZero() {
			since = r.d.now()
			if u.After > 0 { // who starts a run has to know whether there is one, and waits
				reply(asked, pawl.Errorf(pawl.CodeUnavailable, "run %s will act on this once its log can be written, if it is still driven then: %w", r.id, err))
				for i := range asked {
					asked[i].reply = nil
				}
			}
		}
		r.d.stalled(r.id, since, err)
		r.d.logger().Warn("the store is not available; trying again", "run", r.id, "error", err)
		if !rest(r.ctx, r.d.spaceRetry()) {
			return err
		}
	}
}

// changed reports whether a run's line in lists is worth storing anew.
func changed(a, b pawl.RunInfo) bool {
	return a.Status != b.Status || a.Outcome != b.Outcome || a.Iteration != b.Iteration || a.Tier != b.Tier || a.Max != b.Max ||
		a.Tasks != b.Tasks || a.Passed != b.Passed || a.Questions != b.Questions || a.Health != b.Health
}

// reconcile makes what is under way equal to what is pending in the loops that
// the events touched.
func (r *run) reconcile(events []pawl.Event) {
	var touched []pawl.LoopRef
	for _, e := range events {
		if !slices.Contains(touched, e.Loop) {
			touched = append(touched, e.Loop)
		}
		switch b := e.Body.(type) {
		case pawl.Answer:
			r.stop(b.Answers())
		case *pawl.EffectWithdrawn:
			r.stop(b.Effect)
		case *pawl.EffectLost:
			r.stop(b.Effect)
		case *pawl.Recovered:
			for _, l := range r.state.Loops() {
				touched = append(touched, l.Ref)
			}
		}
	}
	for _, ref := range touched {
		for _, f := range kernel.PendingOf(r.state, ref) {
			if r.running[f.ID] == nil {
				r.start(f)
			}
		}
	}
	for _, e := range events {
		if b, ok := e.Body.(*pawl.SignalSent); ok && b.Turn != 0 {
			r.inform(b)
		}
	}
}

// maxInfos is how many infos wait for a coding agent. Of further ones it hears none: they are in the
// next prompt.
const maxInfos = 32

// inform hands an info to the turn that it was sent to.
func (r *run) inform(b *pawl.SignalSent) {
	f := r.running[b.Turn]
	if f == nil || f.infos == nil {
		return
	}
	select {
	case f.infos <- b.Reason:
	default:
		f.infos = nil // what is heard is counted from the first one
	}
}

func (r *run) stop(id pawl.Seq) {
	if f := r.running[id]; f != nil {
		r.d.arrive(f)
		delete(r.running, id)
	}
}

// answerGrace is what a gate or preparation gets beyond its time: it ends its command itself
// and reports what there was until then.
const answerGrace = 30 * time.Second

// timeout is how long an effect may take from when it has its places.
func timeout(f *pawl.Effect) time.Duration {
	switch {
	case f.Timeout <= 0:
		return math.MaxInt64
	case f.Do.Verb() == pawl.VerbRunGate, f.Do.Verb() == pawl.VerbPrepare:
		return f.Timeout + answerGrace
	}
	return f.Timeout
}

func (r *run) start(f *pawl.Effect) {
	ctx, cancel := context.WithCancel(r.ctx)
	fl := &flight{cancel: cancel, counts: f.Do.Verb() != pawl.VerbWait}
	r.running[f.ID] = fl
	job := driver.Job{
		Effect: f, Run: r.id, Started: r.state.Started, Settings: r.state.Settings, Recipe: r.state.Recipe,
		Workspace: r.state.Workspace(f.Loop), Task: r.state.Task(f.Loop), Again: r.again[f.ID],
		Blob: r.blob, Events: func(ctx context.Context) iter.Seq2[pawl.Event, error] { return r.until(ctx, f.ID) },
		Live: func(text string) {
			if r.d.Live != nil {
				r.d.Live(r.id, pawl.Live{Effect: f.ID, Place: f.Place, Text: text})
			}
		},
	}
	if do, ok := f.Do.(*pawl.CallModel); ok && do.Agent != nil {
		fl.infos = make(chan string, maxInfos)
		job.Infos = fl.infos
	}
	job.Progressed = func(b *pawl.AgentProgressed) {
		select {
		case r.inbox <- item{in: kernel.Input{Turn: b}}:
		case <-ctx.Done():
		}
	}
	r.d.wg.Go(func() {
		defer cancel()
		r.perform(ctx, fl, job)
	})
}

func (r *run) blob(ctx context.Context, h pawl.Hash) ([]byte, error) {
	if data, ok := r.blobs.get(h); ok {
		return data, nil
	}
	return r.d.Log.Blob(ctx, r.id, h)
}

// until reads the run's events up to one of them.
func (r *run) until(ctx context.Context, last pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		for e, err := range r.d.Log.Events(ctx, r.id, 0) {
			if !yield(e, err) || e.Seq == last {
				return
			}
		}
	}
}
