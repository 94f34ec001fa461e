package message

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"pawl"
)

// Limits of a feed.
const (
	// FeedEntries is how many messages are kept for subscribers that are behind. One
	// that is further behind is told so, and subscribes again with its cursor.
	FeedEntries = 4096
	// MaxCursor is how large a cursor may be, in bytes.
	MaxCursor = 64 << 10
)

// Feed gives the messages of many runs, in the order they came, to whoever
// subscribes. It follows runs only while somebody does. Its methods may be called
// from many goroutines.
type Feed struct {
	projects pawl.Projects

	mu  sync.Mutex // guards now and everything in it
	now *watch     // nil = nobody subscribes
}

// watch is what is followed from the first subscriber's coming to the last one's going.
type watch struct {
	subs    int
	ctx     context.Context // of the followers
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	runs    map[key]*follower
	entries []Message
	first   uint64        // number of entries[0]
	more    chan struct{} // closed when there is another one, and made anew
}

// key names a run.
type key struct {
	project string
	run     pawl.RunID
}

// follower is a run that is followed, or was.
type follower struct {
	fold   Run
	seq    pawl.Seq // folded up to here
	quiet  pawl.Seq // what came up to here is not told
	active bool
	again  bool // there may be more than it has read
}

// told is how far its messages have been given.
func (w *follower) told() pawl.Seq { return max(w.seq, w.quiet) }

// NewFeed is a feed of the runs of projects.
func NewFeed(projects pawl.Projects) *Feed {
	return &Feed{projects: projects}
}

// Notify says that a run may have events that were not there before. It never
// blocks. Runs that were at work when the first subscriber came need no notice.
func (f *Feed) Notify(project string, run pawl.RunID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now != nil {
		f.follow(f.now, key{project, run}, 0)
	}
}

// follow begins to follow a run, or to follow it again. What it has up to an event
// is not told. The caller holds the lock.
func (f *Feed) follow(on *watch, k key, quiet pawl.Seq) {
	w := on.runs[k]
	if w == nil {
		w = &follower{fold: Run{Project: k.project}, quiet: quiet}
		on.runs[k] = w
	}
	if w.active {
		w.again = true
		return
	}
	w.active = true
	on.wg.Go(func() { f.read(on, k, w) })
}

// read folds what happens to a run until it is at rest and nothing more is known of.
func (f *Feed) read(on *watch, k key, w *follower) {
	ctx := on.ctx
	for {
		if s, err := f.projects.Project(ctx, k.project); err == nil {
			w.fold.Blobs = func(h pawl.Hash) ([]byte, error) { return s.Blob(ctx, k.run, h) }
			for u, err := range s.Watch(ctx, k.run, w.seq) {
				if err != nil {
					break
				}
				if u.Event != nil {
					f.take(on, w, *u.Event)
				}
			}
		}
		f.mu.Lock()
		again := w.again && ctx.Err() == nil
		w.again = false
		if w.active = again; !again { // a run at rest is folded anew when it goes on
			*w = follower{fold: Run{Project: k.project}, quiet: w.told()}
		}
		f.mu.Unlock()
		if !again {
			return
		}
	}
}

// take folds an event and keeps its messages for the subscribers.
func (f *Feed) take(on *watch, w *follower, e pawl.Event) {
	out := w.fold.Add(e) // reads blobs, which may take a while
	f.mu.Lock()
	defer f.mu.Unlock()
	w.seq = e.Seq
	if e.Seq <= w.quiet || len(out) == 0 {
		return
	}
	on.entries = append(on.entries, out...)
	if drop := len(on.entries) - FeedEntries; drop > 0 {
		clear(on.entries[:drop])
		on.entries, on.first = on.entries[drop:], on.first+uint64(drop)
	}
	close(on.more)
	on.more = make(chan struct{})
}

// Cursor is how far a subscriber has come: the last event of each run whose messages
// it has all seen. Its text is opaque to whoever keeps it.
type Cursor map[string]pawl.Seq

func (k key) String() string { return k.project + "/" + string(k.run) }

// String is the cursor as text.
func (c Cursor) String() string {
	data, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// ParseCursor reads what String wrote. The empty text is the empty cursor.
func ParseCursor(text string) (Cursor, error) {
	c := Cursor{}
	if text == "" {
		return c, nil
	}
	bad := pawl.Errorf(pawl.CodeInvalid, "the cursor is not known here").WithHint("start without a cursor")
	if len(text) > MaxCursor {
		return nil, bad
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &c) != nil {
		return nil, bad
	}
	return c, nil
}

// See moves the cursor behind a message.
func (c Cursor) See(m Message) {
	if m.Last {
		c[key{m.Project, m.Run}.String()] = m.Seq
	}
}

// ErrBehind ends the messages of a subscriber that does not keep up: it subscribes
// again with its cursor.
var ErrBehind = pawl.Errorf(pawl.CodeUnavailable, "more has happened than is kept: subscribe again with your cursor")

// Subscribe gives messages from now on, and before them those of the runs in a cursor
// that came after it. It goes on until ctx ends. begun, unless it is nil, is called
// when nothing that happens from then on is missed.
func (f *Feed) Subscribe(ctx context.Context, from Cursor, begun func()) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		on, at, have, err := f.join(ctx)
		defer f.leave(on)
		if begun != nil {
			begun()
		}
		if err == nil {
			err = f.catchUp(ctx, from, have, yield)
		}
		if err != nil {
			if !errors.Is(err, errStopped) {
				yield(Message{}, err)
			}
			return
		}
		for {
			var some []Message
			var more <-chan struct{}
			if some, at, more, err = f.from(on, at); err != nil {
				yield(Message{}, err)
				return
			}
			for _, m := range some {
				if !yield(m, nil) {
					return
				}
			}
			if len(some) > 0 {
				continue
			}
			select {
			case <-more:
			case <-ctx.Done():
				yield(Message{}, ctx.Err())
				return
			}
		}
	}
}

// join counts a subscriber in. It gives the number of the next message, and how far
// each run that is followed has come. The first one begins to follow the runs at work.
func (f *Feed) join(ctx context.Context) (on *watch, next uint64, have map[key]pawl.Seq, err error) {
	live, err := f.live(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil {
		f.now = &watch{runs: map[key]*follower{}, more: make(chan struct{})}
		f.now.ctx, f.now.cancel = context.WithCancel(context.WithoutCancel(ctx))
	}
	on = f.now
	on.subs++
	for k, seq := range live {
		if on.runs[k] == nil {
			f.follow(on, k, seq)
		}
	}
	have = map[key]pawl.Seq{}
	for k, w := range on.runs {
		have[k] = w.told()
	}
	return on, on.first + uint64(len(on.entries)), have, err
}

// live are the runs that are not at rest, and their last events.
func (f *Feed) live(ctx context.Context) (map[key]pawl.Seq, error) {
	all, err := f.projects.Projects(ctx)
	if err != nil {
		return nil, err
	}
	live := map[key]pawl.Seq{}
	for _, p := range all {
		if p.Closed {
			continue // and stays so: when it is opened, its engine notifies
		}
		s, err := f.projects.Project(ctx, p.ID)
		if err != nil {
			continue // it was closed in the meantime
		}
		runs, err := s.Runs(ctx)
		if err != nil {
			continue // it cannot be read: its own commands say so
		}
		for _, r := range runs {
			if r.Status != pawl.StatusEnded && r.Status != pawl.StatusQuarantined {
				live[key{p.ID, r.ID}] = r.Seq
			}
		}
	}
	return live, nil
}

// leave counts a subscriber out. After the last one nothing is followed.
func (f *Feed) leave(on *watch) {
	f.mu.Lock()
	on.subs--
	last := on.subs == 0
	if last {
		f.now = nil
		on.cancel()
	}
	f.mu.Unlock()
	if last {
		on.wg.Wait()
	}
}

// errStopped says that the subscriber wants no more.
var errStopped = pawl.Errorf(pawl.CodeUnavailable, "stopped")

// catchUp gives the messages of a cursor's runs from there to where the feed began
// for this subscriber, run by run.
func (f *Feed) catchUp(ctx context.Context, from Cursor, have map[key]pawl.Seq, yield func(Message, error) bool) error {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		project, run, _ := strings.Cut(name, "/")
		k, seen := key{project, pawl.RunID(run)}, from[name]
		upTo, followed := have[k]
		if !followed { // it has come to rest
			upTo = math.MaxUint64
		}
		if seen >= upTo {
			continue
		}
		s, err := f.projects.Project(ctx, k.project)
		if err != nil {
			continue // it is closed: nothing happens there
		}
		fold := Run{Project: k.project, Blobs: func(h pawl.Hash) ([]byte, error) { return s.Blob(ctx, k.run, h) }}
		for e, err := range s.Events(ctx, k.run, 0) {
			if err != nil {
				return err
			}
			if e.Seq > upTo {
				break
			}
			for _, m := range fold.Add(e) {
				if m.Seq > seen && !yield(m, nil) {
					return errStopped
				}
			}
		}
	}
	return nil
}

// from are the messages from a number on; when there are none, more is closed as soon
// as there are.
func (f *Feed) from(on *watch, at uint64) (some []Message, next uint64, more <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at < on.first {
		return nil, at, nil, ErrBehind
	}
	some = append(some, on.entries[at-on.first:]...)
	return some, at + uint64(len(some)), on.more, nil
}
