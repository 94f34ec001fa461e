package engine

import (
	"context"
	"errors"
	"testing"

	"pawl"
)

// Text that overtook the wake-up for its effect's request is kept until that has
// been read.
func TestTextWaitsForItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var h hub
	w := h.watch("001-a")
	defer h.leave("001-a", w)
	h.live("002-b", pawl.Live{Effect: 1, Text: "of another run"})
	h.live("001-a", pawl.Live{Effect: 5, Text: "early"})
	nothing := func(u pawl.Update, err error) bool {
		t.Errorf("%+v, %v before event 5 was read", u, err)
		return false
	}
	if !w.listen(ctx, 3, nothing) {
		t.Fatal("it did not ask for the events to be read")
	}
	var heard []string
	if w.listen(ctx, 5, func(u pawl.Update, err error) bool {
		switch {
		case err == nil:
			heard = append(heard, u.Live.Text)
			cancel()
		case !errors.Is(err, context.Canceled):
			t.Error(err)
		}
		return err == nil
	}) {
		t.Error("it asked for events that there are not")
	}
	if len(heard) != 1 || heard[0] != "early" {
		t.Errorf("heard %q", heard)
	}
}

// Whoever says something never waits for whoever does not listen.
func TestHubDropsWhatNobodyTakes(t *testing.T) {
	var h hub
	slow, gone := h.watch("001-a"), h.watch("001-a")
	h.leave("001-a", gone)
	for range 2 * liveBuffer {
		h.live("001-a", pawl.Live{Effect: 1})
		h.wake("001-a")
	}
	if len(slow.live) != liveBuffer || len(slow.woken) != 1 || len(gone.live) != 0 {
		t.Errorf("%d and %d pieces wait, and %d wake-ups", len(slow.live), len(gone.live), len(slow.woken))
	}
	h.leave("001-a", slow)
	if len(h.watchers) != 0 {
		t.Errorf("%d runs are still watched", len(h.watchers))
	}
}
