package kernel

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pawl"
	"pawl/internal/testsize"
)

// replay folds the events of another world's log one by one and yields how many it has folded.
// A test continues clones from there, so that the log is folded only once.
func (w *world) replay(log []pawl.Event) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, e := range log {
			w.append(e)
			if b, ok := e.Body.(*pawl.Committed); ok {
				w.commits[b.Effect] = b
			}
			if !yield(i + 1) {
				return
			}
		}
	}
}

// inherit sets the clock, the worktrees and the branches to what the log says.
func (w *world) inherit() {
	w.now = w.state.Last
	if w.state.publishes() && w.state.result.head != "" {
		w.branches[w.state.Started.Branch] = w.state.result.head
	}
	for _, l := range w.state.loops {
		*w.folderOf(l.Ref) = folder{tree: l.worktree.Tree, head: l.Head, closed: !l.HasWorkspace, furnished: l.worktree.Furnished}
		w.branches[w.state.branch(l)] = l.Head
		if p := l.gen.plan; p != nil && l.gen.batch != nil && l.gen.batch.Shown != "" { // to the batch's review
			w.folderOf(l.Ref).head = l.gen.batch.Shown
		}
	}
}

// isTried reports whether a test tries the nth event of a log. With make soak it tries one event in
// distance, and ten turns together try the same. With -short it tries one in twelve of those.
// The seed shifts them.
func isTried(n int, seed uint64, distance int) bool {
	n += int(seed)
	if n%distance != 0 {
		return false
	}
	n /= distance
	if testing.Short() {
		return n%12 == 0
	}
	return testsize.Case(n, 0)
}

// sayWhere logs the event at which a test failed.
func sayWhere(t testing.TB, of *simulation, seed *uint64, n *int) {
	if t.Failed() {
		t.Logf("this was event %d of %s=%d", *n, of.env, *seed)
	}
}

// Whatever is in the log when a driver dies, the next driver brings the run to its end. A fork
// can also begin after only a part of what was decided at once. F-56
func TestCrashAfterAnyEvent(t *testing.T) {
	t.Parallel()
	seed, n := uint64(0), 0
	defer sayWhere(t, &plain, &seed, &n)
	for ; seed < 30; seed++ {
		full := plain.seeded(t, seed)
		c := calm(full, seed, func(*chance) {})
		for n = range c.w.replay(full.log) {
			if n == 1 || !isTried(n, seed, 1) { // a log never ends between the first event and the loop's start
				continue
			}
			c := c.clone()
			c.w.inherit()
			c.w.crash(0)
			c.calmDown()
		}
	}
}

// Pausing and resuming loses nothing and repeats nothing, wherever it happens:
// the same effects are performed as without it.
func TestPauseAnywhere(t *testing.T) {
	t.Parallel()
	s := &script{w: newWorld(t)}
	s.w.happens = s.happens
	for _, line := range []string{"implement turn 1: calls read write run", "iteration 1 tests: fail TestA", "iteration 2 tests: fail TestB",
		"implement turn 2: error overloaded x2", "commit: breaks machine x1"} {
		s.rules = append(s.rules, parseRule(t, line))
	}
	r, set := taskLoop(), settings()
	set.Gates, r.Kinds[0].Ladder.Rungs[0].Failures, r.Kinds[0].Ladder.Rungs = []pawl.GateSpec{gate("tests"), gate("lint")}, 1, r.Kinds[0].Ladder.Rungs[:1]
	effects := func(w *world) (out []string) {
		for _, f := range requests[pawl.Do](w) {
			out = append(out, fmt.Sprint(f.Do.Verb(), f.Place))
		}
		return append(out, string(w.state.Outcome))
	}
	var paused []*world
	s.w.start(r, set)
	for n := 0; s.w.state.Status != pawl.StatusEnded; n++ {
		if isTried(n, 0, 1) {
			w := s.clone().w
			w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerPause}})
			for w.state.Status != pawl.StatusEnded {
				if !w.land() {
					w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerResume}})
				}
			}
			paused = append(paused, w)
		}
		if !s.w.land() {
			t.Fatal("the run does not end")
		}
	}
	want := effects(s.w)
	for _, w := range paused {
		if got := effects(w); !reflect.DeepEqual(got, want) {
			at := slices.IndexFunc(w.log, func(e pawl.Event) bool { return e.Body.EventKind() == pawl.KindRunPaused })
			t.Errorf("paused after event %d, the run performs other effects:\n got %v\nwant %v", at, got, want)
		}
	}
}

// A damaged log is an error, or another log, and never a panic.
func TestDamagedLogs(t *testing.T) { damaged(t, &plain, 60, 200) }

// Nor is one of a tree.
func TestDamagedLogsOfTrees(t *testing.T) { damaged(t, &cascaded, 20, 100) }

func damaged(t *testing.T, of *simulation, seeds uint64, times int) {
	t.Parallel()
	if testing.Short() {
		seeds /= 5
	}
	for seed := range seeds {
		log := of.seeded(t, seed).log
		rng := rand.New(rand.NewPCG(seed, 2))
		for range times {
			s := &State{}
			for _, e := range damage(rng, log) {
				e.Seq = s.Seq + 1
				if err := Apply(s, e); err != nil {
					if pawl.CodeOf(err) != pawl.CodeDamaged {
						t.Fatal(err)
					}
					break
				}
			}
		}
	}
}

// damage leaves out, repeats, exchanges and changes events.
func damage(rng *rand.Rand, log []pawl.Event) []pawl.Event {
	out := append([]pawl.Event(nil), log...)
	for range 1 + rng.IntN(6) {
		i, j := 1+rng.IntN(len(out)-1), 1+rng.IntN(len(out)-1)
		switch rng.IntN(6) {
		case 0:
			out = append(out[:i], out[i+1:]...)
		case 1:
			out = append(out[:i+1], out[i:]...)
		case 2:
			out[i], out[j] = out[j], out[i]
		case 3:
			out[i].Loop = pawl.LoopRef(rng.IntN(3))
		default: // a byte
			data := pawl.AppendEvent(nil, out[i])
			data[2+rng.IntN(len(data)-2)] ^= byte(1 << rng.IntN(8))
			if e, err := pawl.DecodeEvent(out[i].Run, out[i].Seq, data); err == nil {
				out[i] = e
			}
		}
		if len(out) < 3 {
			break
		}
	}
	return out
}
