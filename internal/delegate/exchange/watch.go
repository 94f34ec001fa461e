package exchange

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pawl"
)

// errCapped ends an exchange at its limit on money or tokens.
var errCapped = errors.New("the limit on what the session may use was reached")

// watch cancels an exchange that is silent for too long or uses too much.
type watch struct {
	limits pawl.AgentLimits
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	open  map[string]bool // tool calls that have no result yet
	limit time.Duration   // to which the timer is set
	spoke bool            // the program has sent something: it has started
}

func newWatch(limits pawl.AgentLimits, cancel context.CancelCauseFunc) *watch {
	w := &watch{limits: limits, cancel: cancel, open: make(map[string]bool)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(time.Hour, w.silent)
	w.reset()
	return w
}

// reset restarts the timer. A start is no silence: it may take minutes where a program is installed, or a machine is
// busy.
func (w *watch) reset() {
	switch w.limit = w.limits.Silence; {
	case len(w.open) > 0:
		w.limit = w.limits.ToolTime
	case !w.spoke:
		w.limit = max(w.limits.Silence, w.limits.ToolTime)
	}
	if w.limit <= 0 {
		w.timer.Stop()
		return
	}
	w.timer.Reset(w.limit)
}

func (w *watch) silent() {
	w.mu.Lock()
	limit, open, spoke := w.limit, len(w.open), w.spoke
	w.mu.Unlock()
	what := "the agent sent nothing"
	switch {
	case open > 0:
		what = "a tool call of the agent did not end"
	case !spoke:
		what = "the agent did not start: it sent nothing"
	}
	w.cancel(&pawl.ModelError{Kind: pawl.ModelTimeout, Message: fmt.Sprintf("%s for %s", what, pawl.Span(limit))})
}

// heard is called when the agent has sent something.
func (w *watch) heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spoke = true
	w.reset()
}

// isSilent reports whether the program has not sent anything.
func (w *watch) isSilent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.spoke
}

// saw is called for each update.
func (w *watch) saw(u *pawl.AgentUpdate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch u.Kind {
	case pawl.UpdateCall:
		w.open[u.Call] = true
	case pawl.UpdateResult:
		delete(w.open, u.Call)
	case pawl.UpdateUsage:
		if w.exceeds(u) {
			w.cancel(errCapped)
		}
	}
	w.reset()
}

// exceeds reports whether an update has reached the limit on money or tokens.
func (w *watch) exceeds(u *pawl.AgentUpdate) bool {
	cost := u.Cost
	if cost == 0 {
		cost = w.limits.Price.Cost(u.Usage)
	}
	return w.limits.Money > 0 && cost >= w.limits.Money || w.limits.Tokens > 0 && u.Usage.Total() >= w.limits.Tokens
}

func (w *watch) stop() { w.timer.Stop() }
