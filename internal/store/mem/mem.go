// Package mem keeps the log of many runs in memory, for tests and for runs that
// nobody wants to keep.
package mem

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/store"
)

// Log implements [pawl.Log] in memory. It stores what package sqlite would
// store, so that an event which does not survive its encoding shows. Make one
// with [New].
type Log struct {
	content *content
	closed  bool // guarded by content.mu
}

// content outlives the Log it was appended through.
type content struct {
	mu    sync.Mutex
	runs  map[pawl.RunID]*run
	order []*run // oldest first
	// memory holds what is remembered, oldest first.
	memory []memory
	// stones are the tombstones of deleted runs. Those that are not erased are among runs.
	stones map[pawl.RunID]pawl.Tombstone
}

type run struct {
	id     pawl.RunID
	line   pawl.RunInfo
	events [][]byte // the stored form of each
	blobs  map[pawl.Hash][]byte
}

var _ pawl.Log = (*Log)(nil)

// New makes an empty log.
func New() *Log {
	return &Log{content: &content{runs: map[pawl.RunID]*run{}, stones: map[pawl.RunID]pawl.Tombstone{}}}
}

// Reopen gives a log with what was appended to l, as after a restart. Close l first.
func (l *Log) Reopen() *Log { return &Log{content: l.content} }

// Append implements [pawl.Log]. A unit must have an event.
func (l *Log) Append(ctx context.Context, u pawl.Unit) error {
	if err := store.Check(u); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("append to run %s: %w", u.Run, err)
	}
	c := l.content
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if s, deleted := c.stones[u.Run]; deleted {
		return pawl.Errorf(pawl.CodeState, "append to run %s: it was deleted on %s", u.Run, s.Deleted.Format(time.DateTime))
	}
	r := c.runs[u.Run]
	if r == nil {
		r = &run{id: u.Run, line: pawl.RunInfo{ID: u.Run}, blobs: map[pawl.Hash][]byte{}}
	}
	if last := pawl.Seq(len(r.events)); u.After != last {
		return pawl.Errorf(pawl.CodeConflict, "append to run %s: it is at event %d, not %d", u.Run, last, u.After)
	}
	if u.After == 0 {
		c.runs[u.Run] = r
		c.order = append(c.order, r)
	}
	for _, e := range u.Events {
		r.events = append(r.events, pawl.AppendEvent(nil, e))
	}
	for _, b := range u.Blobs {
		if _, ok := r.blobs[b.Hash()]; !ok {
			r.blobs[b.Hash()] = slices.Clone(b.Data())
		}
	}
	c.remember(r, u)
	if u.Info != nil {
		r.line = *u.Info
	}
	return nil
}

// usable fails when the log is closed. The content is locked.
func (l *Log) usable() error {
	if l.closed {
		return pawl.Errorf(pawl.CodeUnavailable, "the log is closed")
	}
	return nil
}

// Events implements [pawl.Log].
func (l *Log) Events(ctx context.Context, id pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		events, err := l.events(id)
		if err != nil {
			yield(pawl.Event{}, err)
			return
		}
		for i := int(min(after, pawl.Seq(len(events)))); i < len(events); i++ {
			e, err := pawl.DecodeEvent(id, pawl.Seq(i+1), events[i])
			if ctxErr := ctx.Err(); ctxErr != nil {
				err = fmt.Errorf("read run %s: %w", id, ctxErr)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// events are those the run has now; they are never changed, only added to.
func (l *Log) events(id pawl.RunID) ([][]byte, error) {
	r, err := l.lockRun(id)
	if err != nil {
		return nil, err
	}
	defer l.content.mu.Unlock()
	return r.events, nil
}

// lockRun finds a run and leaves the content locked, unless it fails.
func (l *Log) lockRun(id pawl.RunID) (*run, error) {
	l.content.mu.Lock()
	err := l.usable()
	r := l.content.runs[id]
	if err == nil && r == nil {
		err = pawl.Errorf(pawl.CodeNotFound, "there is no run %s", id)
	}
	if err != nil {
		l.content.mu.Unlock()
		return nil, err
	}
	return r, nil
}

// Blob implements [pawl.Log].
func (l *Log) Blob(_ context.Context, id pawl.RunID, hash pawl.Hash) ([]byte, error) {
	r, err := l.lockRun(id)
	if err != nil {
		return nil, err
	}
	defer l.content.mu.Unlock()
	data, ok := r.blobs[hash]
	if !ok {
		return nil, pawl.Errorf(pawl.CodeNotFound, "run %s has no blob %s", id, hash)
	}
	return slices.Clone(data), nil
}

// Runs implements [pawl.Log].
func (l *Log) Runs(context.Context) ([]pawl.RunInfo, error) {
	l.content.mu.Lock()
	defer l.content.mu.Unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	lines := make([]pawl.RunInfo, 0, len(l.content.order))
	for _, r := range l.content.order {
		if _, deleted := l.content.stones[r.id]; !deleted {
			lines = append(lines, r.line)
		}
	}
	return lines, nil
}

// Close implements [pawl.Log]. Later calls fail with [pawl.CodeUnavailable];
// see [Log.Reopen].
func (l *Log) Close() error {
	l.content.mu.Lock()
	defer l.content.mu.Unlock()
	l.closed = true
	return nil
}
