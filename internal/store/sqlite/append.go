package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"pawl"
	"pawl/internal/store"
)

// request is a unit on its way to the committer.
type request struct {
	after pawl.Seq
	// unit is complete but for id, run, prev and sum.
	id    pawl.RunID
	unit  unit
	blobs []byte // the blobs in the row, end to end
	fresh []ref  // the blobs this unit brings
	line  *pawl.RunInfo
	// memory is what the unit does to the memory.
	memory []change

	state atomic.Int32
	done  chan error // takes one answer without blocking
}

// The states of a request: whoever moves it on from waiting decides.
const (
	waiting   = int32(iota)
	taken     // the committer answers
	withdrawn // the caller has gone, and nothing is stored
)

func (q *request) take() bool {
	return q.state.CompareAndSwap(waiting, taken) || q.state.Load() == taken
}

// size is about how many bytes the unit adds to the file.
func (q *request) size() int {
	return len(q.unit.data) + len(q.unit.info) + len(q.unit.refs) + len(q.blobs) + 64
}

// places are those of the blobs that the unit brings.
func (q *request) places() []place {
	places := make([]place, 0, len(q.fresh))
	offset := 0
	for _, r := range q.fresh {
		places = append(places, place{unit: q.unit.id, offset: offset, ref: r})
		if r.form&inFile == 0 {
			offset += r.stored
		}
	}
	return places
}

// Append implements [pawl.Log]. It blocks while too many units wait. A unit
// whose context ends before the committer takes it is not stored; after that
// the context has no effect. A unit must have an event.
func (l *Log) Append(ctx context.Context, u pawl.Unit) error {
	if err := store.Check(u); err != nil {
		return err
	}
	if l.queue == nil {
		return pawl.Errorf(pawl.CodeState, "append to run %s: the log is open for reading only", u.Run)
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	l.appending.RLock()
	defer l.appending.RUnlock()
	q, err := l.request(ctx, u)
	if err != nil {
		return l.files.explain(fmt.Sprintf("append to run %s", u.Run), err)
	}
	select {
	case l.queue <- q:
	case <-ctx.Done():
		return fmt.Errorf("append to run %s: %w", u.Run, ctx.Err())
	}
	select {
	case err = <-q.done:
	case <-ctx.Done():
		if q.state.CompareAndSwap(waiting, withdrawn) {
			return fmt.Errorf("append to run %s: %w", u.Run, ctx.Err())
		}
		err = <-q.done
	}
	if err != nil {
		return l.files.explain(fmt.Sprintf("append to run %s", u.Run), err)
	}
	return nil
}

// request does the caller's share of an append: it encodes, and stores the
// blobs that become files.
func (l *Log) request(ctx context.Context, u pawl.Unit) (*request, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q := &request{after: u.After, id: u.Run, done: make(chan error, 1)}
	q.unit = unit{seq: u.After + 1, count: len(u.Events), data: appendEvents(make([]byte, 0, 256*len(u.Events)), u.Events)}
	if u.After == 0 {
		q.unit.name = string(u.Run)
	}
	if u.Info != nil {
		info, err := json.Marshal(u.Info)
		if err != nil {
			return nil, pawl.Errorf(pawl.CodeInvalid, "encode its line: %w", err)
		}
		line := *u.Info
		q.unit.info, q.line = info, &line
	}
	if err := l.requestBlobs(ctx, q, u.Blobs); err != nil {
		return nil, err
	}
	var err error
	if q.memory, err = l.changes(ctx, u); err != nil {
		return nil, err
	}
	q.unit.refs = appendRefs(nil, q.fresh)
	q.unit.content = q.unit.contentSum()
	return q, nil
}

func (l *Log) requestBlobs(ctx context.Context, q *request, blobs []pawl.Blob) error {
	blobs, err := l.newBlobs(ctx, q.id, blobs)
	if err != nil {
		return err
	}
	room := 0
	for _, b := range blobs {
		if len(b.Data()) <= fileOver {
			room += len(b.Data())
		}
	}
	q.fresh, q.blobs = make([]ref, 0, len(blobs)), make([]byte, 0, room)
	for _, b := range blobs {
		stored, form := l.pack.pack(b.Data())
		r := ref{hash: b.Hash(), form: form, stored: len(stored), size: len(b.Data())}
		if len(b.Data()) > fileOver {
			r.form |= inFile
			if err := l.files.write(blobFile(r), stored); err != nil {
				return fmt.Errorf("write blob %s: %w", b.Hash().Short(), err)
			}
		} else {
			q.blobs = append(q.blobs, stored...)
		}
		q.fresh = append(q.fresh, r)
	}
	return nil
}

// newBlobs leaves out what the run has already, and repetitions.
func (l *Log) newBlobs(ctx context.Context, id pawl.RunID, blobs []pawl.Blob) ([]pawl.Blob, error) {
	if len(blobs) == 0 {
		return nil, nil
	}
	if err := l.indexBlobs(ctx, id); err != nil {
		return nil, err
	}
	fresh := make([]pawl.Blob, 0, len(blobs))
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.index.byID[id]
next:
	for _, b := range blobs {
		if r != nil {
			if _, ok := r.blobs[b.Hash()]; ok {
				continue
			}
		}
		for _, other := range fresh {
			if other.Hash() == b.Hash() {
				continue next
			}
		}
		fresh = append(fresh, b)
	}
	return fresh, nil
}
