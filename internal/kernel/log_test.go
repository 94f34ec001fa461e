package kernel

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"pawl"
)

// worldAt is the world after a part of a log: the driver has died with the last event.
func worldAt(t testing.TB, log []pawl.Event) *world {
	return worldOf(newWorld(t), log)
}

// worldOf lets a part of a log have happened in a new world.
func worldOf(w *world, log []pawl.Event) *world {
	w.t.Helper()
	for _, e := range log {
		w.append(e)
		if b, ok := e.Body.(*pawl.Committed); ok {
			w.commits[b.Effect] = b
		}
	}
	w.now = w.state.Last
	for _, l := range w.state.loops {
		*w.folderOf(l.Ref) = folder{l.worktree.tree, l.Head}
		w.branches[w.state.branch(l)] = l.Head
	}
	return w
}

// Whatever is in the log when a driver dies, the next one brings the run to its
// end: also after a part of what was decided at once, as a fork from there finds it.
func TestCrashAfterAnyEvent(t *testing.T) {
	for seed := range uint64(30) {
		log := plain.seeded(t, seed).log
		for n := 1; n <= len(log); n++ {
			if _, first := log[n-1].Body.(*pawl.RunStarted); first {
				continue // decided together with the loop's start, and never without it
			}
			w := worldAt(t, log[:n])
			c := newChance(w, seed)
			c.calm, w.happens = true, c.happens
			w.crash(0)
			c.calmDown()
		}
	}
}

// Pausing and resuming loses nothing and repeats nothing, wherever it happens:
// the same effects are performed as without it.
func TestPauseAnywhere(t *testing.T) {
	effects := func(pauseAt pawl.Seq) (out []string) {
		w := newWorld(t)
		s := &script{w: w}
		w.happens = s.happens
		for _, line := range []string{"implement turn 1: calls read write run", "iteration 1 tests: fail TestA", "iteration 2 tests: fail TestB",
			"implement turn 2: error overloaded x2", "commit: breaks machine x1"} {
			s.rules = append(s.rules, parseRule(t, line))
		}
		r, set := taskLoop(), settings()
		set.Gates, r.Kinds[0].Ladder.Rungs[0].Failures, r.Kinds[0].Ladder.Rungs = []pawl.GateSpec{gate("tests"), gate("lint")}, 1, r.Kinds[0].Ladder.Rungs[:1]
		w.start(r, set)
		for paused := false; w.state.Status != pawl.StatusEnded; {
			if !paused && w.state.Seq >= pauseAt {
				paused = true
				w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerPause}})
			}
			if !w.land() {
				w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerResume}})
			}
		}
		for _, e := range w.log {
			if r, ok := e.Body.(*pawl.EffectRequested); ok {
				out = append(out, fmt.Sprint(r.Effect.Do.Verb(), r.Effect.Place))
			}
		}
		return append(out, string(w.state.Outcome))
	}
	want := effects(1 << 40)
	for at := range pawl.Seq(len(want) * 3) {
		if got := effects(at + 1); !reflect.DeepEqual(got, want) {
			t.Fatalf("paused at event %d, other effects are performed:\n%v\n%v", at+1, got, want)
		}
	}
}

// A damaged log is an error, or another log, and never a panic.
func TestDamagedLogs(t *testing.T) { damaged(t, &plain, 60, 200) }

// Nor is one of a tree.
func TestDamagedLogsOfTrees(t *testing.T) { damaged(t, &cascaded, 20, 100) }

func damaged(t *testing.T, of *simulation, seeds uint64, times int) {
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
