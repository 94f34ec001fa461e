package monitor

import "slices"

// mark is how far a task's candidate or the branch has come.
type mark struct {
	passing int // tests that pass; below 0 = not known
	failed  int // tests that fail; below 0 = not known
	failing uint64
}

// nearer reports whether the last mark is progress over those before it: more tests pass than at
// each of the last n that are known, or a set of tests fails that never failed before and is
// smaller than the last one (than each of the last n, if n is over [Nearer]). Fewer failing tests
// are no progress if tests that passed are gone with them. The first mark is no progress; the first
// that has numbers is, if n is [Nearer].
func nearer(marks []mark, n int) bool {
	if len(marks) < 2 {
		return false
	}
	now, before := marks[len(marks)-1], marks[:len(marks)-1]
	return morePass(now, before, n) || fewerFail(now, before, n)
}

func morePass(now mark, before []mark, n int) bool {
	best, known := 0, 0
	for i := len(before) - 1; i >= 0 && known < n; i-- {
		if before[i].passing >= 0 {
			best, known = max(best, before[i].passing), known+1
		}
	}
	return now.passing > best && (known > 0 || n == Nearer)
}

func fewerFail(now mark, before []mark, n int) bool {
	if now.failing != 0 && n == Nearer {
		n = 1 // the set of failing tests shows whether the work moves on or in circles
	}
	known := 0
	for i := len(before) - 1; i >= 0; i-- {
		b := before[i]
		if b.failing != 0 && b.failing == now.failing {
			return false
		}
		if b.failed < 0 || known == n {
			continue
		}
		if known++; b.failed <= now.failed || known == 1 && now.passing < b.passing && now.passing >= 0 {
			return false
		}
	}
	return now.failed >= 0 && known > 0
}

// attempt is a task's part in a batch that did not approve it.
type attempt struct {
	at int // the index of the batch
	*Task
}

// attempts returns the attempts of a task up to a batch, since its last approval.
func (h batches) attempts(task, upTo int) []attempt {
	var out []attempt
	for i := range h[:upTo+1] {
		for k := range h[i].Tasks {
			t := &h[i].Tasks[k]
			switch {
			case t.Task != task:
			case t.Result == Approved:
				out = out[:0]
			case t.Result == Rejected || t.Result == Failed:
				out = append(out, attempt{i, t})
			}
		}
	}
	return out
}

// open returns the positions of the tasks that a batch attempted in vain.
func (b *Batch) open() []int {
	var out []int
	for i := range b.Tasks {
		if r := b.Tasks[i].Result; r == Rejected || r == Failed {
			out = append(out, b.Tasks[i].Task)
		}
	}
	return out
}

func marks(all []attempt) []mark {
	out := make([]mark, len(all))
	for i, a := range all {
		failed := a.Failed
		if failed == 0 && (a.Failing != 0 || a.Passing < 0) {
			failed = -1
		}
		out[i] = mark{a.Passing, failed, a.Failing}
	}
	return out
}

// doubtful reports whether the last attempt has no numbers after one that had: it is not known to
// be in vain.
func doubtful(marks []mark) bool {
	k := len(marks) - 1
	return k > 0 && !marks[k].known() && marks[k-1].known()
}

func (m mark) known() bool { return m.passing >= 0 || m.failed >= 0 }

// gains reports whether more tests pass on the branch after a batch than after each of the n before
// it. On an unchanged tree nothing is gained: a test that passes only now is flaky.
func (h batches) gains(at, n int) bool {
	if at == 0 || sameTree(h[at-1], h[at]) {
		return false
	}
	var out []mark
	for _, b := range h[:at+1] {
		out = append(out, mark{passing: b.Passing, failed: -1})
	}
	return nearer(out, n)
}

// sameTree reports whether a batch left the branch as the batch before it had.
func sameTree(before, b *Batch) bool {
	return before.Tree == b.Tree && (b.Tree != 0 || len(b.Hunks) == 0 && b.Approved == 0)
}

// sentBackMoves reports whether a task that had been sent back was approved in a batch, or came
// nearer than in the n attempts before. If n is [Nearer], two cases get the benefit of the doubt:
// an attempt without numbers, if no other is known to be in vain, and a batch that tries only new
// tasks while others wait.
func (h batches) sentBackMoves(at, n int) bool {
	moved, vain, doubt := h.again(at, n)
	if moved > 0 || n != Nearer || vain > 0 {
		return moved > 0
	}
	return doubt > 0 || h.newOnly(at) && slices.ContainsFunc(h[at].Tasks, func(t Task) bool { return t.Result == Waiting })
}

// newOnly reports whether no task of a batch had been attempted before.
func (h batches) newOnly(at int) bool {
	for _, task := range h[at].open() {
		if len(h.attempts(task, at)) > 1 {
			return false
		}
	}
	return true
}

// again counts what became of the tasks of a batch that had been sent back. Moved counts those that
// were approved or came nearer; vain those with tests that still fail, or with the same objection
// as before; doubt those that are doubtful. New objections to work whose tests pass count as none
// of these.
func (h batches) again(at, n int) (moved, vain, doubt int) {
	for i := range h[at].Tasks {
		t := &h[at].Tasks[i]
		all := h.attempts(t.Task, at)
		m := marks(all)
		switch {
		case t.Result == Approved:
			if len(h.attempts(t.Task, at-1)) > 0 {
				moved++
			}
		case t.Result == Waiting || len(all) < 2:
		case nearer(m, n):
			moved++
		case doubtful(m):
			doubt++
		case t.Failed > 0 || metBefore(all, len(all)-1):
			vain++
		}
	}
	return moved, vain, doubt
}
