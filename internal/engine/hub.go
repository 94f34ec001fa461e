package engine

import (
	"sync"

	"pawl"
)

// hub tells watchers that there is something to read. Events themselves are
// read from the log, so none can be lost: a wake-up that finds a watcher awake
// already is dropped. Live text goes through a bounded channel and is dropped
// when the watcher is slow. Nothing here blocks.
type hub struct {
	mu       sync.Mutex
	watchers map[pawl.RunID][]*watcher
}

type watcher struct {
	woken chan struct{}
	live  chan pawl.Live
}

// liveBuffer is how many pieces of live text wait for a slow watcher.
const liveBuffer = 256

func (h *hub) watch(run pawl.RunID) *watcher {
	w := &watcher{woken: make(chan struct{}, 1), live: make(chan pawl.Live, liveBuffer)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[pawl.RunID][]*watcher)
	}
	h.watchers[run] = append(h.watchers[run], w)
	return w
}

func (h *hub) leave(run pawl.RunID, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := h.watchers[run][:0]
	for _, x := range h.watchers[run] {
		if x != w {
			left = append(left, x)
		}
	}
	if h.watchers[run] = left; len(left) == 0 {
		delete(h.watchers, run)
	}
}

func (h *hub) wake(run pawl.RunID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.watchers[run] {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}
}

func (h *hub) live(run pawl.RunID, l pawl.Live) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.watchers[run] {
		select {
		case w.live <- l:
		default:
		}
	}
}
