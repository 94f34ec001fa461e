package monitor

import (
	"fmt"
	"slices"
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

// rateFalls says how the share of approved tasks fell, batch after batch, while the
// last one brought nothing forward. Batches too small for a rate are left out.
func (h batches) rateFalls() string {
	var in batches
	for _, b := range h {
		if b.Attempted >= RateOf {
			in = append(in, b)
		}
	}
	last := len(h) - 1
	if len(in) <= Drops || in[len(in)-1] != h[last] || h.progress(last, Nearer) {
		return ""
	}
	in = in[len(in)-Drops-1:]
	rates := fmt.Sprintf("%d of %d", in[0].Approved, in[0].Attempted)
	for i, b := range in[1:] {
		if b.Approved*in[i].Attempted >= in[i].Approved*b.Attempted {
			return ""
		}
		rates += fmt.Sprintf(", %d of %d", b.Approved, b.Attempted)
	}
	return fmt.Sprintf("fewer are approved in each of the batches %s: %s", in.numbers(len(in)), rates)
}
