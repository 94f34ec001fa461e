package monitor

import (
	"fmt"
	"slices"
	"strings"
)

// regresses says what was reached and is lost; empty = nothing.
func (h batches) regresses() string {
	if test := h.staysBroken(); test != 0 {
		return fmt.Sprintf("test %x passed at the last good checkpoint and fails after batches %s", test, h.numbers(BrokenFor))
	}
	return h.rateFalls()
}

// staysBroken is a verified test that the last batches left failing; 0 = none.
func (h batches) staysBroken() uint64 {
	if len(h) < BrokenFor {
		return 0
	}
	recent := h[len(h)-BrokenFor:]
	for _, test := range recent[0].Broke {
		if !slices.ContainsFunc(recent, func(b *Batch) bool { return !slices.Contains(b.Broke, test) }) && !h.flaky(test) {
			return test
		}
	}
	return 0
}

// flaky reports whether a test came out differently on the same tree.
func (h batches) flaky(test uint64) bool {
	for i := 1; i < len(h); i++ {
		a, b := h[i-1], h[i]
		same := a.Tree == b.Tree && (b.Tree != 0 || len(b.Hunks) == 0)
		if same && slices.Contains(a.Broke, test) != slices.Contains(b.Broke, test) {
			return true
		}
	}
	return false
}

// rateFalls says how the share of approved tasks fell, batch after batch. A batch too
// small for a rate ends the row. What speaks against it: the branch gained tests in
// the last batch, or what had been sent back got through or came nearer while the
// rate fell. Where tests are counted it takes more, as tasks that come up later may
// just be harder: one that was sent back was tried again in vain.
func (h batches) rateFalls() string {
	last := len(h) - 1
	if last < Drops || h.gains(last, Nearer) || h[last].Passing > 0 && !h.again(last) {
		return ""
	}
	for i := last - Drops + 1; i <= last; i++ {
		if h.sentBackMoves(i, Nearer) {
			return ""
		}
	}
	in := h[last-Drops:]
	var rates []string
	for i, b := range in {
		if b.Attempted < RateOf || i > 0 && b.Approved*in[i-1].Attempted >= in[i-1].Approved*b.Attempted {
			return ""
		}
		rates = append(rates, fmt.Sprintf("%d of %d", b.Approved, b.Attempted))
	}
	return fmt.Sprintf("fewer are approved in each of the batches %s: %s", in.numbers(len(in)), strings.Join(rates, ", "))
}

// again reports whether a batch tried a task again in vain: the same was objected,
// or tests of it still fail.
func (h batches) again(at int) bool {
	for _, task := range h[at].open() {
		all := h.attempts(task, at)
		if i := len(all) - 1; i > 0 && !comesNearer(marks(all), Nearer) && (all[i].Failed > 0 || metBefore(all, i)) {
			return true
		}
	}
	return false
}
