package monitor

import (
	"math/rand/v2"
	"slices"
)

// world is a project in which honest work is done: who works gets on with it, sooner
// or later. Everything in it is drawn anew for each world, from wide ranges; it knows
// nothing of what the monitor counts. The one thing it takes from the requirements is
// what stalling is (V-45): an honest task does not stand still for three attempts.
type world struct {
	*rand.Rand
	width int // how many tasks a batch takes, 1 to 12
	// What a task is like: how often the first attempt does it, how many tests it
	// leaves failing otherwise (skewed: mostly few), how many tests a task adds at most.
	easy            float64
	hardest, adds   int
	skill           float64 // the chance that an attempt mends a failing test
	slips           float64 // that an attempt breaks some that were mended
	idle            float64 // that an attempt brings nothing: a wrong guess, a plateau
	strict          float64 // that a review objects although all tests pass
	gates           float64 // that a failure is one of the task's own gates
	silent          float64 // that an attempt tells no numbers: no build, a timeout
	waits           float64 // that a task starts to wait for a person
	kinds           int     // how many different errors there are
	textual         bool    // errors are normalised texts; if not, the failing set is part of them
	flaky           int     // how many tests of the project are flaky
	flakes          float64 // how often each of them fails and is not told for flaky
	leaks           float64 // that a flaky test is taken for a broken one
	breaks          float64 // that approved work breaks a verified test; the next mends it
	reverts, toggle float64 // that an attempt takes back its last change; that a trivial line comes and goes

	batch   int
	passing int // on the branch, without the flaky ones
	tree    uint64
	next    int // the next new task
	open    []*job
	broken  []uint64
	debt    []uint64 // the trivial line on the branch, if it is there
}

// job is a task that is not approved.
type job struct {
	task, attempts int
	failing        []uint64
	best, still    int // the fewest that failed, and attempts since that did not get there
	waiting        int // batches it waits for a person
	tests          int
	last           []uint64 // its last change, to be taken back
	reverted, line bool
	tree           uint64
}

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 7))}
	w.width = 1 + w.IntN(12)
	w.easy, w.hardest, w.adds = w.between(.2, .95), 1+w.IntN(20), w.IntN(25)
	w.skill, w.slips, w.idle = w.between(.3, .9), w.between(0, .2), w.between(0, .25)
	w.strict, w.gates, w.silent = w.between(0, .3), w.between(0, .5), w.between(0, .1)
	w.waits = w.sometimes(.3, .3)
	w.kinds, w.textual = 2+w.IntN(30), w.IntN(2) == 0
	w.flaky, w.flakes, w.leaks = w.IntN(4), w.between(0, .15), w.sometimes(.2, .05)
	w.breaks, w.reverts, w.toggle = w.sometimes(.3, .05), w.sometimes(.5, .15), w.sometimes(.3, .1)
	w.passing, w.tree = w.IntN(500), w.Uint64()
	return w
}

func (w *world) between(low, high float64) float64 { return low + w.Float64()*(high-low) }

// sometimes is a chance up to high in a share of the worlds, and 0 in the others.
func (w *world) sometimes(share, high float64) float64 {
	if w.Float64() >= share {
		return 0
	}
	return w.Float64() * high
}

func (w *world) chance(p float64) bool { return w.Float64() < p }

func (w *world) honest(batches int) []Batch {
	var out []Batch
	for range batches {
		out = append(out, w.work())
	}
	return out
}

// work does one batch: tasks sent back go first, new ones fill it up.
func (w *world) work() Batch {
	w.batch++
	b := Batch{N: w.batch, Passing: -1}
	var now []*job
	for _, j := range w.open {
		if len(now) < w.width {
			now = append(now, j)
		}
	}
	for want := 1 + w.IntN(w.width); len(now) < want; w.next++ {
		j := &job{task: w.next, tests: w.IntN(w.adds + 1)}
		now, w.open = append(now, j), append(w.open, j)
	}
	gained := 0
	if len(w.broken) > 0 { // a task that mends what broke comes first, and does
		b.Tasks = append(b.Tasks, Task{Task: w.next, Result: Approved, Passing: -1, Tree: w.Uint64()})
		b.Attempted, b.Approved, w.next = 1, 1, w.next+1
	}
	for _, j := range now {
		if j.waiting == 0 && w.chance(w.waits) {
			j.waiting = 1 + w.IntN(3)
		}
		if j.waiting > 0 {
			j.waiting--
			b.Tasks = append(b.Tasks, Task{Task: j.task, Result: Waiting, Passing: -1})
			continue
		}
		t := w.attempt(j)
		if b.Attempted++; t.Result == Approved {
			b.Approved++
			gained += j.tests
			b.Hunks = append(b.Hunks, w.Uint64(), w.Uint64())
			w.open = slices.DeleteFunc(w.open, func(o *job) bool { return o == j })
		}
		b.Tasks = append(b.Tasks, t)
	}
	w.merge(&b, gained)
	return b
}

// merge brings what was approved into the branch and counts its tests.
func (w *world) merge(b *Batch, gained int) {
	if b.Approved > 0 {
		w.passing += gained
		w.tree, w.broken = w.Uint64(), nil
		if w.chance(w.breaks) {
			w.broken = []uint64{w.Uint64()}
		}
		if w.chance(w.toggle) {
			b.Hunks = append(b.Hunks, w.line()...)
		}
	}
	b.Tree, b.Broke = w.tree, slices.Clone(w.broken)
	red := w.red()
	if w.chance(w.leaks) {
		b.Broke = append(b.Broke, red...)
	}
	b.Passing = w.passing + w.flaky - len(red) - len(w.broken)
}

// line is the trivial line of the branch that comes and goes.
func (w *world) line() []uint64 {
	if w.debt == nil {
		w.debt = []uint64{0, 99}
	} else {
		slices.Reverse(w.debt)
	}
	return slices.Clone(w.debt)
}

// red are the flaky tests that fail this time.
func (w *world) red() (out []uint64) {
	for i := range w.flaky {
		if w.chance(w.flakes) {
			out = append(out, uint64(1000+i))
		}
	}
	return out
}

// attempt works at a task and says what became of it.
func (w *world) attempt(j *job) Task {
	w.advance(j)
	j.attempts++
	t := Task{Task: j.task, Passing: -1, Tree: j.tree, Hunks: w.change(j)}
	object := len(j.failing) > 0
	finding := !object && w.chance(w.strict) && j.still < 2
	switch {
	case !object && !finding:
		t.Result = Approved
	case object && w.chance(w.gates):
		t.Result = Failed
	default:
		t.Result = Rejected
	}
	if finding {
		j.still++
	}
	red := append(w.red(), j.failing...)
	if t.Result != Approved {
		t.Error = 1 + uint64(w.IntN(w.kinds))
		if finding {
			t.Error = w.Uint64() // reviewers find something else each time
		}
	}
	if w.chance(w.silent) {
		return t
	}
	t.Passing, t.Failed = max(0, w.passing+w.flaky+j.tests-len(red)), len(red)
	for _, f := range red {
		t.Failing ^= f * 0x9E3779B97F4A7C15
	}
	if t.Result != Approved && !w.textual && !finding {
		t.Error = t.Error<<32 ^ t.Failing | 1
	}
	return t
}

// advance changes which tests of the task fail. The first attempt draws them; later
// ones mend some, mend none or break some. After two that won nothing, not even what
// was lost on the way, the next one gets beyond the best so far.
func (w *world) advance(j *job) {
	j.tree = w.Uint64()
	if j.attempts == 0 {
		if !w.chance(w.easy) {
			for range 1 + min(w.IntN(w.hardest), w.IntN(w.hardest)) {
				j.failing = append(j.failing, w.Uint64())
			}
		}
		j.best, j.still = len(j.failing), 1
		return
	}
	overdue := j.still >= 2
	if overdue || !w.chance(w.idle) {
		j.failing = slices.DeleteFunc(j.failing, func(uint64) bool { return w.chance(w.skill) })
	}
	if overdue {
		j.failing = j.failing[:min(len(j.failing), max(0, j.best-1))]
	} else if len(j.failing) > 0 && w.chance(w.slips) {
		j.failing = append(j.failing, w.Uint64(), w.Uint64())[:len(j.failing)+1+w.IntN(2)]
	}
	if j.still++; len(j.failing) < j.best {
		j.best, j.still = len(j.failing), 0
	}
}

// change is what an attempt changed against the one before: something new; now and
// then the last change is taken back, once, or a trivial line comes or goes.
func (w *world) change(j *job) []uint64 {
	if j.attempts == 1 {
		return nil
	}
	var out []uint64
	if j.last != nil && !j.reverted && w.chance(w.reverts) {
		out, j.reverted = []uint64{j.last[1], j.last[0]}, true
	}
	j.last = []uint64{w.Uint64(), w.Uint64()}
	out = append(out, j.last...)
	if w.chance(w.toggle) {
		if j.line = !j.line; j.line {
			out = append(out, 0, 77)
		} else {
			out = append(out, 77, 0)
		}
	}
	return out
}
