package monitor

import "fmt"

// stalls says why the loop does not get anywhere; empty = it does.
func (h batches) stalls() string {
	if h.inVain(FailedBatches, Nearer) {
		return fmt.Sprintf("nothing was approved in batches %s, no test newly passes and no failure set shrinks", h.numbers(FailedBatches))
	}
	if h.inVain(Fruitless, Window) {
		return fmt.Sprintf("nothing was approved in batches %s, and none came nearer than those before", h.numbers(Fruitless))
	}
	last := len(h) - 1
	for _, task := range h[last].open() {
		all := h.attempts(task, last)
		if h.repeats(all, SameError, Nearer, true) {
			return fmt.Sprintf("task %d met the same objections in %s, and nothing newly passes", task+1, h.where(all, SameError))
		}
		if h.repeats(all, Fruitless, Window, false) {
			return fmt.Sprintf("task %d met the same objections in %s and came no nearer", task+1, h.where(all, Fruitless))
		}
	}
	return ""
}

// inVain reports whether the last n batches approved nothing and brought nothing
// forward, each against the values before it, as many as back says.
func (h batches) inVain(n, back int) bool {
	if len(h) < n {
		return false
	}
	for i := len(h) - n; i < len(h); i++ {
		if h[i].Approved > 0 || h.gains(i, back) || h.sentBackMoves(i, back) {
			return false
		}
	}
	return true
}

// repeats reports whether the last n attempts of a task met what had been objected
// before, and came no nearer. Where the branch counts, its gains speak for them.
func (h batches) repeats(all []attempt, n, back int, branch bool) bool {
	first := len(all) - n
	if first < 0 {
		return false
	}
	m := marks(all)
	for i := first; i < len(all); i++ {
		if comesNearer(m[:i+1], back) {
			return false
		}
		if i > first && (!metBefore(all, i) || branch && h.gains(all[i].at, back)) {
			return false
		}
	}
	return true
}

// metBefore reports whether an attempt met the error or the failing tests of one of
// the two before it: two errors in turn are met again as one is.
func metBefore(all []attempt, i int) bool {
	for _, b := range all[max(0, i-2):i] {
		if a := all[i]; a.Error != 0 && a.Error == b.Error || a.Failing != 0 && a.Failing == b.Failing {
			return true
		}
	}
	return false
}

// where names the batches of the last n attempts.
func (h batches) where(all []attempt, n int) string {
	var in batches
	for _, a := range all[len(all)-n:] {
		in = append(in, h[a.at])
	}
	return "batches " + in.numbers(n)
}
