package monitor

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
)

// Attempt is what is known of one attempt of a loop that does its work itself.
type Attempt struct {
	N      int32 // the number of its iteration
	Passed bool
	// Passing counts the tests that pass, Failed those that fail; -1 and 0 = not known.
	Passing, Failed int32
	// Error, Failing and Tree are as in [Task].
	Error, Failing, Tree uint64
	Hunks                []uint64 // as in [Task]
	Broke                []uint64 // fingerprints of tests that passed in the best attempt and now fail
}

// batch returns the attempt as a batch of one task.
func (a *Attempt) batch() Batch {
	t := Task{Result: Failed, Error: a.Error, Failing: a.Failing, Failed: int(a.Failed), Passing: int(a.Passing), Tree: a.Tree, Hunks: a.Hunks}
	b := Batch{N: int(a.N), Attempted: 1, Passing: int(a.Passing), Tree: a.Tree, Broke: a.Broke}
	if a.Passed {
		t.Result, b.Approved = Approved, 1
	}
	b.Tasks = []Task{t}
	return b
}

// Attempts judges the last attempts of a loop that does its work itself, oldest first. It looks for
// flip-flops and regressions, and for stalls if nothing else does. Attempts up to the one with the number since led to a recovery: a pattern has to end in
// attempts after that, and those before are what they are compared with. The health is empty if there is
// nothing to say: the last attempt has none to be compared with, or falls behind and may be the only one
// to do so.
func Attempts(history []Attempt, since int32, stalls bool) Verdict {
	all := make([]Batch, len(history))
	fresh := 0
	for i := range history {
		all[i] = history[i].batch()
		if history[i].N > since {
			fresh++
		}
	}
	h := counted(all)
	if len(h) < 2 || fresh == 0 {
		return Verdict{}
	}
	n := h[len(h)-1].N
	if why := h.toAndFro(fresh); why != "" {
		return verdictOf(pawl.HealthFlipFlop, why)
	}
	if test := h.breaksAgain(); test != 0 {
		return verdictOf(pawl.HealthFlipFlop, fmt.Sprintf("test %x broke, was fixed and is broken again in attempt %d", test, n))
	}
	if fresh >= BrokenFor {
		if test := h.staysBroken(); test != 0 {
			return verdictOf(pawl.HealthRegressing, fmt.Sprintf("test %x passed in the best attempt and fails in attempts %s", test, h.numbers(BrokenFor)))
		}
		if why := h.fallsBehind(); why != "" {
			return verdictOf(pawl.HealthRegressing, why)
		}
	}
	if stalls && fresh >= SameError && h.standsStill() {
		return verdictOf(pawl.HealthStalled, fmt.Sprintf("attempts %s met the same objections, and no new test passes", h.numbers(SameError)))
	}
	if h.isBehind() {
		return Verdict{}
	}
	return verdictOf(pawl.HealthProgressing, fmt.Sprintf("attempt %d neither alternates nor loses what was reached", n))
}

// standsStill reports whether the last [SameError] attempts were refused for the same, and none came nearer.
func (h batches) standsStill() bool {
	if len(h) < SameError {
		return false
	}
	first := h[len(h)-SameError]
	for _, b := range h[len(h)-SameError:] {
		t, f := &b.Tasks[0], &first.Tasks[0]
		if t.Result == Approved || t.Error == 0 || t.Error != f.Error || t.Failing != f.Failing || b.Passing > first.Passing {
			return false
		}
	}
	return true
}

// isBehind reports whether the last attempt has less than an earlier one had: a test that passed in the best
// one fails, fewer tests pass, or it is a state that was refused before.
func (h batches) isBehind() bool {
	last := h[len(h)-1]
	return len(last.Broke) > 0 || slices.ContainsFunc(h[:len(h)-1], func(b *Batch) bool {
		return b.Passing > last.Passing || last.Tree != 0 && b.Tree == last.Tree && b.Approved == 0
	})
}

// toAndFro returns how the attempts flip-flop, or "". Each attempt is a batch of one task. Fresh is how many
// attempts a pattern may end in.
func (h batches) toAndFro(fresh int) string {
	all := h.attempts(h[len(h)-1].Tasks[0].Task, len(h)-1)
	if len(all) == 0 {
		return "" // it passed
	}
	var trees []uint64
	var hunks [][]uint64
	for _, a := range all {
		trees, hunks = append(trees, a.Tree), append(hunks, a.Hunks)
	}
	n := h[len(h)-1].N
	switch {
	case fresh >= Turns && inTurn(trees):
		return fmt.Sprintf("attempt %d leads back to a state that was there before, as the one before it did", n)
	case refusedAgain(all) >= 0:
		return fmt.Sprintf("attempt %d is a state that was there before, after another one, and is refused for the same", n)
	case redone(hunks) && !nearer(marks(all), Nearer):
		return fmt.Sprintf("attempt %d makes a change again that was made and undone before", n)
	}
	return ""
}

// fallsBehind returns how the last two attempts pass fewer tests than the best one and do not rise,
// or "" if they do not fall behind or the tests are not counted.
func (h batches) fallsBehind() string {
	last := len(h) - 1
	if last < BrokenFor || h[last].Passing < 0 || h[last-1].Passing < h[last].Passing {
		return ""
	}
	best := slices.MaxFunc(h, func(a, b *Batch) int { return cmp.Compare(a.Passing, b.Passing) })
	if best.Passing <= h[last-1].Passing {
		return ""
	}
	return fmt.Sprintf("%d tests passed in attempt %d, but only %d in attempt %d and %d in attempt %d", best.Passing, best.N,
		h[last-1].Passing, h[last-1].N, h[last].Passing, h[last].N)
}
