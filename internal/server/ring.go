package server

import (
	"context"
	"sync"
	"time"

	"pawl"
)

// Limits of a ring. A reader that is further behind reads the log.
const (
	// RingEntries is how many updates of a run are kept for its watchers.
	RingEntries = 2048
	// RingBytes is how large they may be together, in bytes as they are sent. The
	// newest one is kept however large it is.
	RingBytes = 4 << 20
	// GatherEach is how long a ring waits after waking its readers until it wakes them
	// again, for each reader: a few are told everything at once, a thousand some
	// updates together, because waking them all costs the processor as much. Below
	// gatherLeast it does not wait, GatherMost it does at most.
	GatherEach  = 40 * time.Microsecond
	GatherMost  = 100 * time.Millisecond
	gatherLeast = time.Millisecond
)

// entry is an update as it is sent.
type entry struct {
	seq  pawl.Seq // 0 = text that is not durable
	data []byte
}

// ring keeps the newest entries for readers that each have a cursor of their own:
// the number of the next entry they want. Whoever puts waits for nobody.
type ring struct {
	mu      sync.RWMutex
	entries []entry
	first   uint64 // number of entries[0]
	bytes   int
	// gone is the last event that readers have to find in the log: it is not in the
	// ring any more, or never was.
	gone pawl.Seq
	more chan struct{} // closed when there is more to read, and made anew
	over bool          // nothing will be put any more
	last []byte        // what readers are told then; empty = nothing

	gather  time.Duration // between two times that readers are woken; 0 = none
	woken   time.Time     // when they were last
	waiting bool          // they will be when that is over
}

func newRing(after pawl.Seq) *ring { return &ring{gone: after, more: make(chan struct{})} }

func (r *ring) put(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	r.bytes += len(e.data)
	drop := 0
	for len(r.entries)-drop > RingEntries || r.bytes > RingBytes && len(r.entries)-drop > 1 {
		old := &r.entries[drop]
		r.bytes -= len(old.data)
		r.gone = max(r.gone, old.seq)
		*old = entry{}
		drop++
	}
	r.entries, r.first = r.entries[drop:], r.first+uint64(drop)
	r.wake()
}

func (r *ring) close(last []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over, r.last = true, last
	r.wakeNow()
}

// wake tells the readers that there is more, now or when they have been told long
// enough ago. The caller holds the lock, as for wakeNow.
func (r *ring) wake() {
	if r.waiting {
		return
	}
	if left := r.gather - time.Since(r.woken); left > 0 {
		r.waiting = true
		time.AfterFunc(left, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.wakeNow()
		})
		return
	}
	r.wakeNow()
}

func (r *ring) wakeNow() {
	r.waiting, r.woken = false, time.Now()
	close(r.more)
	r.more = make(chan struct{})
}

// serve says how many readers there are.
func (r *ring) serve(readers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gather = min(time.Duration(readers)*GatherEach, GatherMost); r.gather < gatherLeast {
		r.gather = 0
	}
}

// seek is the cursor of a reader that has all events up to one; false when it has to
// read the log first. Text that is in the ring already is not for it.
func (r *ring) seek(have pawl.Seq) (cursor uint64, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i, e := range r.entries {
		if e.seq > have {
			return r.first + uint64(i), r.gone <= have
		}
	}
	return r.first + uint64(len(r.entries)), r.gone <= have
}

// lastGone returns the last event that readers have to find in the log.
func (r *ring) lastGone() pawl.Seq {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.gone
}

// place is where a reader stands after reading.
type place struct {
	cursor uint64
	have   pawl.Seq
}

// read appends what there is for a reader, about [piece] bytes at most. When there is
// nothing, more is closed as soon as that changes; behind reports that the reader has
// to read the log.
func (r *ring) read(at place, out []byte) (text []byte, to place, more <-chan struct{}, over, behind bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if at.cursor < r.first {
		return out, at, nil, false, true
	}
	for _, e := range r.entries[at.cursor-r.first:] {
		if len(out) > 0 && len(out)+len(e.data) > piece {
			break
		}
		at.cursor++
		if e.seq != 0 && e.seq <= at.have {
			continue
		}
		at.have = max(at.have, e.seq)
		out = append(out, e.data...)
	}
	if len(out) == 0 && at.cursor == r.first+uint64(len(r.entries)) {
		return nil, at, r.more, r.over, false
	}
	return out, at, nil, false, false
}

// watched names a run that is watched.
type watched struct {
	project string
	run     pawl.RunID
}

// feed reads what happens to one run for all who watch it.
type feed struct {
	*ring
	readers int
	cancel  context.CancelFunc
	done    chan struct{}
}

// feeds are the runs that are watched. A feed lives while somebody watches, and is
// not found any more when its run has come to rest.
type feeds struct {
	mu  sync.Mutex
	all map[watched]*feed
}

// join finds the feed of a run, or begins one for a reader that has its events up to
// one. leave must be called.
func (fs *feeds) join(w watched, s pawl.Service, have pawl.Seq) (f *feed, leave func()) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f = fs.all[w]
	if f == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f = &feed{ring: newRing(have), cancel: cancel, done: make(chan struct{})}
		if fs.all == nil {
			fs.all = map[watched]*feed{}
		}
		fs.all[w] = f
		go func() {
			defer close(f.done)
			defer cancel()
			last := f.fill(ctx, s, w.run, have)
			fs.forget(w, f)
			f.close(last)
		}()
	}
	f.readers++
	f.serve(f.readers)
	return f, func() { fs.leave(w, f) }
}

// leave ends a feed that nobody reads, and waits until it has ended.
func (fs *feeds) leave(w watched, f *feed) {
	fs.mu.Lock()
	f.readers--
	f.serve(f.readers)
	last := f.readers == 0
	if last && fs.all[w] == f {
		delete(fs.all, w)
	}
	fs.mu.Unlock()
	if last {
		f.cancel()
		<-f.done
	}
}

func (fs *feeds) forget(w watched, f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.all[w] == f {
		delete(fs.all, w)
	}
}

// fill puts what happens into the ring until the run is at rest or ctx ends, and
// returns what is told last.
func (f *feed) fill(ctx context.Context, s pawl.Service, run pawl.RunID, have pawl.Seq) (last []byte) {
	for u, err := range s.Watch(ctx, run, have) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return sse("error", "", problem(err))
		case u.Event != nil:
			f.put(entry{u.Event.Seq, eventMessage(u.Event)})
		case u.Live != nil:
			f.put(entry{data: sse("live", "", u.Live)})
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return sse("end", "", struct{}{})
}
