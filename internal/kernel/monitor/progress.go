package monitor

import "slices"

// mark is how far something had come: a candidate of a task, or the branch.
type mark struct {
	passing int // tests that pass; below 0 = not known
	failed  int // tests that fail; below 0 = not known
	failing uint64
}

// nearer reports whether the last mark is nearer to the aim than those before it:
// more tests pass than at any of the last n that are known, or a set of tests fails
// that never failed before and is smaller than the last one, or than all with n over
// [Nearer]. Fewer failing is none when tests that passed are gone with them. The
// first mark is not nearer than anything; the first that tells numbers is, against
// the few before it.
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
		n = 1 // which tests fail tells going on from going round
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

// attempt is a task's part in a batch that did not let it pass.
type attempt struct {
	at int // the batch, as an index
	*Task
}

// attempts are those of a task up to a batch, since it was approved last.
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

// open are the positions of the tasks that a batch attempted in vain.
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

// doubtful reports whether the last attempt tells no numbers after one that did: it is
// not known to be in vain.
func doubtful(marks []mark) bool {
	k := len(marks) - 1
	return k > 0 && !marks[k].known() && marks[k-1].known()
}

func (m mark) known() bool { return m.passing >= 0 || m.failed >= 0 }

// gains reports whether a batch made tests pass on the branch that did not in the
// n batches before it. On the same tree nothing was made: such a test is flaky.
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

// sameTree reports whether a batch left the branch as the one before it had.
func sameTree(before, b *Batch) bool {
	return before.Tree == b.Tree && (b.Tree != 0 || len(b.Hunks) == 0 && b.Approved == 0)
}

// sentBackMoves reports whether a task that had been sent back got through in a batch,
// or came nearer than in the n attempts before. Against the values shortly before, two
// things have the benefit of the doubt: an attempt that tells nothing, if no other is
// known to be in vain, and a batch that tries new tasks only, while others wait.
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

// again counts what became of the tasks of a batch that had been sent back: those that
// got through or came nearer; those tried in vain, as tests of them still fail or the
// same is objected as before; those that are doubtful. New objections to work whose
// tests pass are none of these.
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
