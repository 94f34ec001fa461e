package monitor

import (
	"slices"
	"testing"

	"pawl"
)

// sickness is a pattern let into honest work: what it does with the batch of its step,
// from 0, and after which step it is complete. It goes on behaving so afterwards.
type sickness struct {
	name     string
	want     pawl.Health
	complete int
	alone    bool // nothing else is going on beside it
	step     func(s *sick, b *Batch, step int)
}

// sick is a loop that has caught something. Beside what is sick, the others go on as
// before, or nothing else happens, as it comes.
type sick struct {
	*world
	quiet   bool     // nothing else is going on
	task    int      // the sick task
	prints  []uint64 // its fingerprints: errors, sets, trees, tests
	failed  int
	passing int
}

// V-45 V-46 V-47 V-48: each pattern, inserted into honest histories at a random place, is
// found at most three batches after it is complete, in at least nineteen of twenty histories.
func TestInjectedPatterns(t *testing.T) {
	t.Parallel()
	const histories = 1000
	for i, k := range sicknesses() {
		t.Run(k.name, func(t *testing.T) {
			missed := 0
			for seed := range uint64(histories) {
				if !found(k, 2_000_000+uint64(i)*histories+seed) {
					missed++
				}
			}
			t.Logf("%d histories with %s: %d missed (%d.%d %%)", histories, k.name, missed, missed*100/histories, missed*1000/histories%10)
			if missed*20 > histories {
				t.Errorf("%d of %d are missed, want at most 5 %%", missed, histories)
			}
		})
	}
}

// found plays an honest history with a pattern in it and reports whether it is seen in
// time: as what it is, or as what takes precedence.
func found(k sickness, seed uint64) bool {
	w := newWorld(seed)
	h := w.honest(w.IntN(12))
	s := &sick{world: w, quiet: k.alone || w.IntN(2) == 0, task: 5000, failed: 1 + w.IntN(9), passing: w.passing - w.IntN(5)}
	for range 8 {
		s.prints = append(s.prints, w.Uint64())
	}
	pauses := w.sometimes(.3, .4)
	for step := 0; step <= k.complete+3; {
		if w.chance(pauses) { // everything waits for a person
			w.batch++
			h = append(h, Batch{N: w.batch, Tree: w.tree, Passing: -1, Tasks: []Task{{Task: s.task, Result: Waiting}}})
			continue
		}
		b := s.background()
		k.step(s, &b, step)
		h = append(h, b)
		v := tuned(recent(h, len(h)-1))
		if step >= k.complete && slices.Index(healths(), v.Health) <= slices.Index(healths(), k.want) {
			return true
		}
		step++
	}
	return false
}

// background is the batch as it is without the sick task.
func (s *sick) background() Batch {
	if !s.quiet {
		return s.work()
	}
	s.batch++
	return Batch{N: s.batch, Tree: s.tree, Passing: s.world.passing + s.flaky - len(s.red())}
}

// fails adds the sick task's attempt to a batch: error, failing set and tree as given,
// in numbers that only flaky tests move. Now and then it tells none.
func (s *sick) fails(b *Batch, err, failing, tree uint64, hunks ...uint64) {
	t := Task{Task: s.task, Result: Rejected, Error: err, Tree: tree, Hunks: append(hunks, s.Uint64(), s.Uint64()), Passing: -1}
	if s.chance(s.gates) {
		t.Result = Failed
	}
	if !s.chance(s.silent) {
		t.Failed, t.Failing, t.Passing = s.failed, failing, max(0, s.passing)
		if s.chance(s.flakes / 2) {
			t.Failed, t.Failing, t.Passing = t.Failed+1, failing+1, max(0, s.passing-1)
		}
	}
	b.Attempted++
	b.Tasks = append(b.Tasks, t)
}

// approves adds tasks whose work gets through and brings no test.
func (s *sick) approves(b *Batch, n int) {
	for range n {
		b.Tasks = append(b.Tasks, Task{Task: 6000 + s.next, Result: Approved, Passing: -1, Tree: s.Uint64()})
		b.Attempted, b.Approved, s.next = b.Attempted+1, b.Approved+1, s.next+1
	}
	if n > 0 {
		s.tree = s.Uint64()
		b.Tree, b.Hunks = s.tree, append(b.Hunks, s.Uint64(), s.Uint64())
	}
}

func sicknesses() []sickness {
	p := func(s *sick, i int) uint64 { return s.prints[i%len(s.prints)] }
	return []sickness{
		{"a task that needs a person", pawl.HealthBlocked, 0, false, func(s *sick, b *Batch, _ int) {
			b.Tasks = append(b.Tasks, Task{Task: s.task, Result: Blocked, Passing: -1, Blocker: "an account"})
		}},
		{"the same error again", pawl.HealthStalled, 2, false, func(s *sick, b *Batch, _ int) {
			s.fails(b, p(s, 0), p(s, 1), s.Uint64())
		}},
		{"new texts for the same tests", pawl.HealthStalled, 2, false, func(s *sick, b *Batch, _ int) {
			s.fails(b, s.Uint64(), p(s, 1), s.Uint64())
		}},
		{"two errors in turn", pawl.HealthStalled, 3, false, func(s *sick, b *Batch, step int) {
			s.fails(b, p(s, step%2), p(s, 2+step%2), s.Uint64())
		}},
		{"nothing is approved", pawl.HealthStalled, 2, true, func(s *sick, b *Batch, step int) {
			for i := range 1 + s.IntN(4) {
				if s.task = 5000 + i; s.chance(.2) {
					s.task += 10 * step // another one
				}
				s.fails(b, s.Uint64(), p(s, i), s.Uint64())
			}
		}},
		{"the pass rate falls", pawl.HealthRegressing, 2, true, func(s *sick, b *Batch, step int) {
			size := 5 + s.IntN(5)
			approved := size * max(0, 4-step) / 5
			b.Passing = max(0, b.Passing-step)
			for i := range size - approved { // those sent back come first, and no nearer
				s.task = 5000 + i
				s.fails(b, s.Uint64(), p(s, i), s.Uint64())
			}
			s.approves(b, approved)
		}},
		{"a broken test is left", pawl.HealthRegressing, 1, false, func(s *sick, b *Batch, step int) {
			if s.approves(b, s.IntN(3)); step == 0 {
				s.approves(b, 1) // it broke it
			}
			s.fails(b, s.Uint64(), s.Uint64(), s.Uint64())
			b.Broke = append(b.Broke, p(s, 0))
		}},
		{"two trees in turn", pawl.HealthFlipFlop, 3, false, func(s *sick, b *Batch, step int) {
			s.fails(b, s.Uint64(), p(s, 2+step%2), p(s, step%2))
		}},
		{"a tree again with its error", pawl.HealthFlipFlop, 2, false, func(s *sick, b *Batch, step int) {
			s.fails(b, p(s, step%2), p(s, 2+step%2), p(s, 4+step%2))
		}},
		{"three trees in turn", pawl.HealthFlipFlop, 4, false, func(s *sick, b *Batch, step int) {
			s.fails(b, s.Uint64(), s.Uint64(), p(s, step%3))
		}},
		{"a change to and fro", pawl.HealthFlipFlop, 3, false, func(s *sick, b *Batch, step int) {
			hunk := []uint64{p(s, step%2), p(s, (step+1)%2)}
			if step == 0 {
				hunk = nil
			}
			s.fails(b, s.Uint64(), s.Uint64(), s.Uint64(), hunk...)
		}},
		{"tasks undo each other", pawl.HealthFlipFlop, 2, true, func(s *sick, b *Batch, step int) {
			s.approves(b, 1+s.IntN(3))
			b.Hunks = append(b.Hunks, p(s, step%2), p(s, (step+1)%2))
		}},
		{"a test breaks again", pawl.HealthFlipFlop, 2, false, func(s *sick, b *Batch, step int) {
			s.approves(b, 1)
			if step%2 == 0 {
				b.Broke = append(b.Broke, p(s, 0))
			}
		}},
		{"the branch in turn", pawl.HealthFlipFlop, 3, false, func(s *sick, b *Batch, step int) {
			s.approves(b, 1)
			b.Tree = p(s, step%2)
		}},
	}
}
