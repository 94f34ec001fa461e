package monitor

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// regresses returns what was reached and is lost, or "". Merged is as in [Verdict].
func (h batches) regresses(rules pawl.MonitorRules) (why string, merged int) {
	if test := h.staysBroken(); test != 0 {
		return fmt.Sprintf("test %x passed at the last good checkpoint and fails after batches %s", test, h.numbers(BrokenFor)), h.brokenSince(test)
	}
	return h.rateFalls(rules), 0
}

// brokenSince returns the batch that broke a test which has been broken since. If all that are compared
// have it broken, it is 1, as an earlier batch may have done it.
func (h batches) brokenSince(test uint64) int {
	for i := len(h) - 1; i >= 0; i-- {
		if !slices.Contains(h[i].Broke, test) {
			return h[i+1].N
		}
	}
	return 1
}

// staysBroken returns a verified test that each of the last [BrokenFor] batches left failing, or 0.
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

// flaky reports whether a test gave different results on the same tree.
func (h batches) flaky(test uint64) bool {
	for i := 1; i < len(h); i++ {
		if sameTree(h[i-1], h[i]) && slices.Contains(h[i-1].Broke, test) != slices.Contains(h[i].Broke, test) {
			return true
		}
	}
	return false
}

// rateFalls returns how the share of approved tasks fell from batch to batch, or "". A batch that
// is too small for a rate ends the row. A fall does not count if the branch gained tests in the
// last batch. Tasks that come up later may just be harder, so it counts only if, of what had been
// sent back meanwhile, more than twice as much was tried in vain as came nearer. If no tests are
// counted, it is enough that nothing came nearer. By the rules of the seed every fall of the rate
// counts, whatever the size of the batches (V-47, V-B06).
func (h batches) rateFalls(rules pawl.MonitorRules) string {
	last := len(h) - 1
	least, tuned := RateOf, rules != pawl.RulesSeed
	if !tuned {
		least = 1
	}
	if last < Drops || tuned && h.gains(last, Nearer) {
		return ""
	}
	in := h[last-Drops:]
	var rates []string
	moved, vain := 0, 0
	for i, b := range in {
		if b.Attempted < least || i > 0 && b.Approved*in[i-1].Attempted >= in[i-1].Approved*b.Attempted {
			return ""
		}
		rates = append(rates, fmt.Sprintf("%d of %d in batch %d", b.Approved, b.Attempted, b.N))
		if i > 0 {
			m, v, _ := h.again(last-Drops+i, Nearer)
			moved, vain = moved+m, vain+v
		}
	}
	if tuned && (2*moved >= max(vain, 1) || vain == 0 && h[last].Passing > 0) {
		return ""
	}
	return "fewer tasks were approved from batch to batch: " + strings.Join(rates, ", ")
}
