package monitor

import "fmt"

// stalls returns why the loop makes no progress, or "".
func (h batches) stalls() string {
	if h.inVain(FailedBatches, Nearer) {
		return fmt.Sprintf("in batches %s nothing was approved, no new test passes and no list of failures is shorter", h.numbers(FailedBatches))
	}
	if h.inVain(Fruitless, Window) {
		return fmt.Sprintf("in batches %s nothing was approved, and none came nearer than those before", h.numbers(Fruitless))
	}
	last := len(h) - 1
	for _, task := range h[last].open() {
		all := h.attempts(task, last)
		if h.repeats(all) {
			return fmt.Sprintf("task %d met the same objections in %s, and no new test passes", task+1, h.where(all, SameError))
		}
		if len(all) >= Fruitless && !nearerWithin(marks(all), Fruitless) {
			return fmt.Sprintf("task %d came no nearer in %s than it had been", task+1, h.where(all, Fruitless))
		}
	}
	return ""
}

// inVain reports whether each of the last n batches approved nothing and made no progress over the
// batches before it, of which back are compared.
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

// repeats reports whether the last attempts of a task met the same objections as before and came no
// nearer. It is false if the branch gained tests meanwhile, which speaks for the attempts.
func (h batches) repeats(all []attempt) bool {
	first := len(all) - SameError
	if first < 0 {
		return false
	}
	m := marks(all)
	for i := first; i < len(all); i++ {
		if nearer(m[:i+1], Nearer) {
			return false
		}
		if i > first && (!metBefore(all, i) || h.gains(all[i].at, Nearer)) {
			return false
		}
	}
	return true
}

// nearerWithin reports whether one of the last n marks is progress over all before it.
func nearerWithin(marks []mark, n int) bool {
	for i := len(marks) - n; i < len(marks); i++ {
		if nearer(marks[:i+1], Window) {
			return true
		}
	}
	return false
}

// metBefore reports whether an attempt met the error or the failing tests of one of the two
// attempts before it. Looking at two finds errors that alternate as well as one that repeats.
func metBefore(all []attempt, i int) bool {
	for _, b := range all[max(0, i-2):i] {
		if a := all[i]; a.Error != 0 && a.Error == b.Error || a.Failing != 0 && a.Failing == b.Failing {
			return true
		}
	}
	return false
}

// where returns the numbers of the batches of the last n attempts, in words.
func (h batches) where(all []attempt, n int) string {
	var in batches
	for _, a := range all[len(all)-n:] {
		in = append(in, h[a.at])
	}
	return "batches " + in.numbers(n)
}
