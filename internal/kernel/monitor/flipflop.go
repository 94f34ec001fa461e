package monitor

import (
	"fmt"
	"slices"
)

// flipFlops returns what flip-flops, or "": a task, a test, or the branch. Merged is as in [Verdict].
func (h batches) flipFlops() (why string, merged int) {
	last := len(h) - 1
	for _, task := range h[last].open() {
		if why := h.taskFlips(task); why != "" {
			return why, 0
		}
	}
	n := h[last].N
	if test := h.breaksAgain(); test != 0 {
		return fmt.Sprintf("test %x broke, was fixed and is broken again in batch %d", test, n), n
	}
	var trees []uint64
	var hunks [][]uint64
	for _, b := range h {
		trees, hunks = append(trees, b.Tree), append(hunks, b.Hunks)
	}
	if last > 0 && h[last].Tree != h[last-1].Tree && inTurn(trees) {
		return fmt.Sprintf("after batch %d the branch is as it was after batch %d, and it goes back and forth between two states", n, h[before(trees)].N), n
	}
	if redone(hunks) && !h.gains(last, Nearer) {
		return fmt.Sprintf("batch %d makes a change of the branch again that a batch before it had undone", n), n
	}
	return "", 0
}

// taskFlips returns how a task of the last batch flip-flops, or "".
func (h batches) taskFlips(task int) string {
	all := h.attempts(task, len(h)-1)
	var trees []uint64
	var hunks [][]uint64
	for _, a := range all {
		trees, hunks = append(trees, a.Tree), append(hunks, a.Hunks)
	}
	if len(all) == 0 {
		return "" // the batch also approved it
	}
	n := h[len(h)-1].N
	switch same := refusedAgain(all); {
	case same >= 0:
		return fmt.Sprintf("task %d handed in the same work in batch %d as in batch %d, after other work in between, and it is refused for the same reason", task+1, n, h[all[same].at].N)
	case inTurn(trees):
		return fmt.Sprintf("task %d handed in the same work in batch %d as in batch %d, and it goes back and forth between two states", task+1, n, h[all[before(trees)].at].N)
	case redone(hunks) && !nearer(marks(all), Nearer):
		return fmt.Sprintf("task %d makes a change again in batch %d that it had made and undone", task+1, n)
	}
	return ""
}

// before returns the index of the last tree that equals the final one with another in between. There
// must be one.
func before(trees []uint64) int {
	last := len(trees) - 1
	between := false
	for i := last - 1; i >= 0; i-- {
		switch {
		case trees[i] != trees[last]:
			between = between || trees[i] != 0
		case between:
			return i
		}
	}
	return last
}

// inTurn reports whether each of the last [Turns] trees was there before, with others in between:
// A-B-A-B. The same tree twice running counts once.
func inTurn(trees []uint64) bool {
	if trees[len(trees)-1] == 0 {
		return false
	}
	trees = slices.Compact(slices.DeleteFunc(slices.Clone(trees), func(t uint64) bool { return t == 0 }))
	for i := len(trees) - Turns; i < len(trees); i++ {
		if i < 0 || !slices.Contains(trees[:i], trees[i]) {
			return false
		}
	}
	return true
}

// refusedAgain returns the index of an attempt that was refused for the same reason as the last one and
// has its tree, with another tree in between; -1 = there is none.
func refusedAgain(all []attempt) int {
	last := all[len(all)-1]
	between := false
	for i := len(all) - 2; i >= 0 && last.Tree != 0 && last.Error != 0; i-- {
		switch a := all[i]; {
		case a.Tree != last.Tree:
			between = between || a.Tree != 0
		case between && a.Error == last.Error:
			return i
		}
	}
	return -1
}

// redone reports whether the last list of changes has one that was made and undone before.
func redone(hunks [][]uint64) bool {
	last := len(hunks) - 1
	for k := 0; k+1 < len(hunks[last]); k += 2 {
		went, came := hunks[last][k], hunks[last][k+1]
		if !makes(hunks[last], went, came) {
			continue
		}
		undone := false
		for i := last - 1; i >= 0; i-- {
			if undone && makes(hunks[i], went, came) {
				return true
			}
			undone = undone || makes(hunks[i], came, went)
		}
	}
	return false
}

// makes reports whether a list has a change. A change whose opposite is in the list too does not
// count, because the lines only moved.
func makes(hunks []uint64, went, came uint64) bool {
	there, opposite := false, false
	for k := 0; k+1 < len(hunks); k += 2 {
		there = there || hunks[k] == went && hunks[k+1] == came
		opposite = opposite || hunks[k] == came && hunks[k+1] == went
	}
	return there && !opposite
}

// breaksAgain returns a verified test that the last batch broke after an earlier batch had broken
// it and one in between had mended it; 0 = none.
func (h batches) breaksAgain() uint64 {
	last := len(h) - 1
	if last < 2 {
		return 0
	}
	for _, test := range h[last].Broke {
		broken := func(b *Batch) bool { return slices.Contains(b.Broke, test) }
		if !broken(h[last-1]) && slices.ContainsFunc(h[:last-1], broken) && !h.flaky(test) {
			return test
		}
	}
	return 0
}
