package engine

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"pawl"
	"pawl/internal/kernel"
)

// Fork implements [pawl.Service]. The new run has the events in common as its own,
// with the blobs they refer to, so that nothing that becomes of the other one
// concerns it; they and what makes it a fork are durable at once. Once it has its
// place, a ctx that ends does not matter any more.
func (e *Engine) Fork(ctx context.Context, run pawl.RunID, at pawl.Seq) (pawl.RunInfo, error) {
	e.starting.Lock()
	defer e.starting.Unlock()
	if err := e.undeleted(ctx, run); err != nil {
		return pawl.RunInfo{}, err
	}
	events, err := e.until(ctx, run, at)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	task, _ := run.Task()
	to, err := e.nextRun(ctx, task)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	began := events[0].Body.(*pawl.RunStarted)
	if err := e.confines(run, began); err != nil {
		return pawl.RunInfo{}, err.WithHint("install bubblewrap")
	}
	accounts, err := e.accounts(ctx, "", began)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	ctx = context.WithoutCancel(ctx)
	unit := pawl.Unit{Run: to.id}
	if unit.Blobs, err = e.blobs(ctx, run, events); err != nil {
		return pawl.RunInfo{}, err
	}
	if unit.Events, err = inCommon(events, to.id); err != nil {
		return pawl.RunInfo{}, err
	}
	if err := e.begin(ctx, &unit); err != nil {
		return pawl.RunInfo{}, fmt.Errorf("fork run %s at event %d: %w", run, at, err)
	}
	var first []pawl.Steering
	if len(accounts) > 0 {
		first = append(first, pawl.Steering{Verb: pawl.SteerLimits, Accounts: accounts})
	}
	if err := e.driver.Adopt(ctx, to.id, first...); err != nil {
		return pawl.RunInfo{}, fmt.Errorf("continue run %s: %w", to.id, err)
	}
	return e.info(ctx, to.id)
}

// begin makes a run durable that has events already: the kernel says what follows
// from its being a fork, and its commit is kept before anything refers to it.
func (e *Engine) begin(ctx context.Context, unit *pawl.Unit) error {
	var s kernel.State
	for _, ev := range unit.Events {
		if err := kernel.Apply(&s, ev); err != nil {
			return err
		}
	}
	next, err := kernel.Decide(&s, kernel.Input{At: e.now(), Fork: &kernel.Fork{}})
	if err != nil {
		return err
	}
	for _, ev := range next {
		if err := kernel.Apply(&s, ev); err != nil {
			return err
		}
		if b, ok := ev.Body.(*pawl.Forked); ok && e.c.Pin != nil && b.Commit != "" {
			if err := e.c.Pin(ctx, "refs/pawl/forks/"+string(unit.Run), b.Commit); err != nil {
				return err
			}
		}
	}
	unit.Events = append(unit.Events, next...)
	info := kernel.Info(&s)
	unit.Info = &info
	return e.c.Log.Append(ctx, *unit)
}

// until are a run's events up to one of them, which is where a fork may begin: a
// loop of the run has begun.
func (e *Engine) until(ctx context.Context, run pawl.RunID, at pawl.Seq) (events []pawl.Event, err error) {
	last, first := pawl.Seq(0), pawl.Seq(0)
	for ev, err := range e.c.Log.Events(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		last = ev.Seq
		if _, ok := ev.Body.(*pawl.LoopStarted); ok && first == 0 {
			first = ev.Seq
		}
		if ev.Seq <= at {
			events = append(events, ev)
		}
	}
	switch {
	case first == 0:
		return nil, pawl.Errorf(pawl.CodeState, "run %s has not begun: there is nothing to continue from", run)
	case at < first || at > last:
		return nil, pawl.Errorf(pawl.CodeInvalid, "event %d: a fork of run %s begins at one of its events from %d to %d", at, run, first, last).
			WithHint("pawl events %s lists them", run)
	}
	return events, nil
}

// inCommon are a run's events as those of its fork.
func inCommon(events []pawl.Event, to pawl.RunID) ([]pawl.Event, error) {
	seed, err := draw()
	if err != nil {
		return nil, err
	}
	began := *events[0].Body.(*pawl.RunStarted)
	began.ForkOf, began.ForkAt, began.ForkEvents = events[0].Run, events[len(events)-1].Seq, hash(events)
	began.Branch, began.Seed = branch(to), seed
	if began.Attempts != "" {
		began.Attempts = attempts(to)
	}
	out := make([]pawl.Event, len(events))
	for i, ev := range events {
		out[i] = ev
		out[i].Run = to
	}
	out[0].Body = &began
	return out, nil
}

// hash is that of events as they are stored, one after the other.
func hash(events []pawl.Event) pawl.Hash {
	var stored []byte
	for _, ev := range events {
		stored = pawl.AppendEvent(stored, ev)
	}
	return pawl.HashOf(stored)
}

// blobs are those that events refer to, by a hash or by a fact that is one. A hash
// of something that is no blob of the run is passed over.
func (e *Engine) blobs(ctx context.Context, run pawl.RunID, events []pawl.Event) ([]pawl.Blob, error) {
	var out []pawl.Blob
	seen := map[pawl.Hash]bool{{}: true}
	for _, ev := range events {
		for _, h := range hashes(reflect.ValueOf(ev.Body), nil) {
			if seen[h] {
				continue
			}
			seen[h] = true
			data, err := e.c.Log.Blob(ctx, run, h)
			switch {
			case pawl.CodeOf(err) == pawl.CodeNotFound:
			case err != nil:
				return nil, fmt.Errorf("event %d of run %s: %w", ev.Seq, run, err)
			default:
				out = append(out, pawl.NewBlob(data))
			}
		}
	}
	return out, nil
}

var hashType = reflect.TypeFor[pawl.Hash]()

// hashes adds every hash that a value holds.
func hashes(v reflect.Value, out []pawl.Hash) []pawl.Hash {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			out = hashes(v.Elem(), out)
		}
	case reflect.Struct:
		if f, ok := v.Interface().(pawl.Fact); ok {
			var h pawl.Hash
			if h.UnmarshalText([]byte(f.Value)) == nil {
				out = append(out, h)
			}
			return out
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out = hashes(v.Field(i), out)
			}
		}
	case reflect.Array:
		if v.Type() == hashType {
			return append(out, v.Interface().(pawl.Hash))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return out
		}
		for i := range v.Len() {
			out = hashes(v.Index(i), out)
		}
	}
	return out
}

func (e *Engine) now() time.Time {
	if e.c.Now != nil {
		return e.c.Now().UTC()
	}
	return time.Now().UTC()
}
