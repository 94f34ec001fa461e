package engine

import (
	"context"
	"iter"
	"sync"
	"time"

	"pawl"
)

// Watch implements [pawl.Service]. It goes on for as long as this process drives
// the run. Events are read from the log, so a watcher that is slow loses none; of
// live text it loses what does not fit the few hundred pieces kept for it.
func (e *Engine) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		w := e.hub.watch(run)
		defer e.hub.leave(run, w)
		for {
			driven := e.driver.Driven(run) // asked before reading: what ends it is then read too
			for ev, err := range e.c.Log.Events(ctx, run, after) {
				if err != nil {
					yield(pawl.Update{}, err)
					return
				}
				after = ev.Seq
				if !yield(pawl.Update{Event: &ev}, nil) {
					return
				}
			}
			if !driven || !w.listen(ctx, after, yield) {
				return
			}
		}
	}
}

// hub tells watchers that there is something to read. Events themselves are
// read from the log, so none can be lost: a wake-up that finds a watcher awake
// already is dropped. Live text goes through a bounded channel and is dropped
// when the watcher is slow. Nothing here blocks.
type hub struct {
	mu       sync.Mutex
	watchers map[pawl.RunID]map[*watcher]bool
	left     map[pawl.RunID]time.Time // when the last watcher of a run left, of those that had some
}

type watcher struct {
	woken chan struct{}
	live  chan pawl.Live
	early *pawl.Live // text of an effect whose request has not been read yet
}

// liveBuffer is how many pieces of live text wait for a slow watcher.
const liveBuffer = 256

// listen passes live text on until there are events to read: then it returns
// true. Text never comes before the event that requested its effect.
func (w *watcher) listen(ctx context.Context, after pawl.Seq, yield func(pawl.Update, error) bool) bool {
	if l := w.early; l != nil {
		w.early = nil
		if !yield(pawl.Update{Live: l}, nil) {
			return false
		}
	}
	for {
		select {
		case <-ctx.Done():
			yield(pawl.Update{}, ctx.Err())
			return false
		case <-w.woken:
			return true
		case l := <-w.live:
			if l.Effect > after {
				w.early = &l
				return true
			}
			if !yield(pawl.Update{Live: &l}, nil) {
				return false
			}
		}
	}
}

func (h *hub) watch(run pawl.RunID) *watcher {
	w := &watcher{woken: make(chan struct{}, 1), live: make(chan pawl.Live, liveBuffer)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[pawl.RunID]map[*watcher]bool)
	}
	if h.watchers[run] == nil {
		h.watchers[run] = make(map[*watcher]bool)
	}
	h.watchers[run][w] = true
	return w
}

func (h *hub) leave(run pawl.RunID, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers[run], w)
	if len(h.watchers[run]) == 0 {
		delete(h.watchers, run)
		if h.left == nil {
			h.left = make(map[pawl.RunID]time.Time)
		}
		h.left[run] = time.Now()
	}
}

// seen returns when somebody last watched the run, which is now while somebody does; zero = never.
func (h *hub) seen(run pawl.RunID) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers[run]) > 0 {
		return time.Now()
	}
	return h.left[run]
}

func (h *hub) wake(run pawl.RunID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers[run] {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}

func (h *hub) live(run pawl.RunID, l pawl.Live) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers[run] {
		select {
		case w.live <- l:
		default:
		}
	}
}
