package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pawl"
	"pawl/internal/kernel/land"
)

// TestRatchetSimulation drives runs of one loop whose attempts return to earlier trees, break tests
// and mend them, with every reaction that a recipe may have to that. Whenever the work goes back, it
// is to what the gates judged best, and a run that does not end well ends there. F-43
//
// PAWL_RATCHET_SEED=n simulates one run alone, PAWL_RATCHET_SEEDS=n that many.
func TestRatchetSimulation(t *testing.T) {
	ratchets.test(t)
}

var ratchets = simulation{env: "PAWL_RATCHET_SEED", seeds: 1200, short: 4, simulate: simulateRatchet, complete: (*census).ratchetComplete}

func (c *census) ratchetComplete(t *testing.T) {
	if t.Failed() {
		return
	}
	for _, k := range []pawl.Kind{pawl.KindHealthJudged, pawl.KindRollbackCalled, pawl.KindRolledBack, pawl.KindEscalated, pawl.KindLimitReached} {
		if c.kinds[k] < 20 {
			t.Errorf("%s happened %d times in %d events", k, c.kinds[k], c.events)
		}
	}
	t.Logf("%d events; %d judgements, %d ways back; runs ended %v", c.events, c.kinds[pawl.KindHealthJudged], c.kinds[pawl.KindRolledBack], c.outcomes)
}

func simulateRatchet(t testing.TB, seed uint64) *world {
	w := newWorld(t)
	c := newChance(w, seed)
	c.rare, c.moves = 4, true
	w.happens = c.ratchetHappens
	b := &climber{w: w, trees: map[int]pawl.TreeHash{}, verbs: map[pawl.Seq]pawl.Verb{}}
	w.watch, w.look = b.saw, b.looks
	r, set := c.recipe(), c.settings()
	k := &r.Kinds[0]
	k.Monitor = map[string][]string{}
	for _, status := range []string{"REGRESSING", "FLIP-FLOPPING"} {
		if to := pick(c, nil, []string{"rollback"}, []string{"escalate"}, []string{"escalate", "rollback"}); to != nil {
			k.Monitor[status] = to
		}
	}
	k.Recoveries = c.IntN(4)
	if !slices.ContainsFunc(set.Gates, func(g pawl.GateSpec) bool { return g.Kind == pawl.GateTests }) {
		set.Gates = append(set.Gates, gate("tests"))
	}
	set.Limits.Iterations = 1 + c.IntN(12)
	w.start(r, set)
	for range 100 + c.IntN(300) {
		if !c.step() {
			break
		}
	}
	c.calmDown()
	return w
}

// TestRatchetTreeSimulation does the same to the children of a run, which are brought onto each
// other's work in the meantime: one that goes back keeps it, which the world checks.
func TestRatchetTreeSimulation(t *testing.T) {
	var clean, conflicted atomic.Int32
	simulate := func(t testing.TB, seed uint64) *world {
		return simulateRatchetTree(t, seed, func(b *pawl.Merged) {
			if b.Conflicts > 0 {
				conflicted.Add(1)
			} else {
				clean.Add(1)
			}
		})
	}
	s := simulation{env: "PAWL_RATCHET_TREE_SEED", seeds: 300, short: 4, simulate: simulate, complete: func(c *census, t *testing.T) {
		if n := c.kinds[pawl.KindRolledBack]; !t.Failed() && (n < 20 || clean.Load() < 2 || conflicted.Load() < 2) {
			t.Errorf("children went back %d times in %d events, %d times onto the work of others and %d times in conflict with it", n, c.events, clean.Load(), conflicted.Load())
		}
	}}
	s.test(t)
}

// simulateRatchetTree calls merged for each merge of a way back.
func simulateRatchetTree(t testing.TB, seed uint64, merged func(*pawl.Merged)) *world {
	w := newWorld(t)
	c := newChance(w, seed)
	c.rare, c.tasks = 12, 2+c.IntN(4)
	w.happens = c.ratchetHappens
	r, set := c.treeRecipe(), c.treeSettings()
	task := &r.Kinds[1]
	task.Iterations, task.Recoveries = 4+c.IntN(5), 3
	task.Monitor = map[string][]string{"REGRESSING": {"rollback"}, "FLIP-FLOPPING": {"escalate", "rollback"}}
	if !slices.ContainsFunc(set.Gates, func(g pawl.GateSpec) bool { return g.Kind == pawl.GateTests }) {
		set.Gates = append(set.Gates, gate("tests"))
	}
	c.grow()
	back := map[pawl.Seq]bool{} // merges of a way back
	checks := w.watch
	w.watch = func(e pawl.Event) {
		checks(e)
		toldOfHealth(w, e)
		switch b := e.Body.(type) {
		case *pawl.EffectRequested:
			if b.Effect.Place.Step == "rollback" && b.Effect.Do.Verb() == pawl.VerbMerge {
				back[b.Effect.ID] = true
			}
		case *pawl.Merged:
			if back[b.Effect] {
				merged(b)
			}
		}
	}
	w.startWith(r, set, c.given())
	for range 100 + c.IntN(100+20*c.tasks) {
		if !c.step() {
			break
		}
	}
	c.calmDown()
	return w
}

// toldOfHealth checks that no loop starts an iteration before its health was said and what follows
// from it was done.
func toldOfHealth(w *world, e pawl.Event) {
	l := w.state.Loop(e.Loop)
	if _, starts := e.Body.(*pawl.IterationStarted); !starts || !l.ratchets() || l.gen.ratchet == nil {
		return
	}
	if v := l.judgeRatchet(w.state, l.gen.ratchet); v.Health != "" && v.Health != l.gen.Health && v.Health != pawl.HealthProgressing {
		w.t.Fatalf("iteration %d of loop %d starts, and %s: %s was not said", l.Iteration, l.Ref, v.Health, v.Reason)
	}
	if slices.Contains(l.gen.Recover, pawl.RecoverRollback) && l.best().N != 0 && l.best().Commit != l.Head {
		w.t.Fatalf("iteration %d of loop %d starts, and its work did not go back to attempt %d", l.Iteration, l.Ref, l.best().N)
	}
}

// A fork may begin between what is said of the attempts and what follows from it.
func TestRatchetForkAnywhere(t *testing.T) {
	t.Parallel()
	seed, n := uint64(0), 0
	defer sayWhere(t, &ratchets, &seed, &n)
	back := 0
	for ; seed < 24; seed++ {
		of := ratchets.seeded(t, seed)
		c := calm(of, seed, func(*chance) {})
		for n = range c.w.replay(forked(of.log)) {
			if n < 2 || !isTried(n, seed, 1) {
				continue
			}
			c := c.clone()
			c.w.watch = func(e pawl.Event) {
				toldOfHealth(c.w, e)
				if e.Body.EventKind() == pawl.KindRolledBack {
					back++
				}
			}
			fork(t, c.w)
			c.calmDown()
		}
	}
	if back == 0 {
		t.Error("no fork went back")
	}
}

// ratchetHappens lets trees and changes return and tests break.
func (c *chance) ratchetHappens(f *pawl.Effect) (pawl.Answer, time.Duration) {
	a, takes := c.happens(f)
	switch b := a.(type) {
	case *pawl.Committed:
		if c.in(1) || c.calm {
			b.Tree = pawl.TreeHash(fmt.Sprint("T", c.IntN(3)))
			b.Hunks = []uint64{uint64(1 + c.IntN(4)), uint64(1 + c.IntN(4))}
		}
		if c.IntN(12) == 0 {
			b.Kept = 1
		}
	case *pawl.Merged:
		if f.Place.Step == "rollback" && c.IntN(3) == 0 {
			b.Conflicts, b.Hunks, b.Paths = 1, blobOf("hunks"), blobOf("conflicts")
		}
	case *pawl.WorkspaceOpened:
		if l := c.w.state.Loop(f.Loop); c.moves && l.Iteration > 0 && c.IntN(3) == 0 { // by a person
			do := f.Do.(*pawl.OpenWorkspace)
			c.w.branches[cmp.Or(do.Result, do.Branch)] = pawl.CommitHash(fmt.Sprint("p", f.ID))
		}
	case *pawl.GateJudged:
		if do, ok := f.Do.(*pawl.RunGate); ok && !do.OnBase && b.Verdict != pawl.VerdictHalt && c.IntN(3) > 0 {
			b.Verdict, b.Total, b.Passed = pawl.VerdictFail, 10, c.IntN(10)
			b.Failing = uint64(c.IntN(2)) //nolint:gosec // 0 or 1
			if !do.Before.IsZero() && c.IntN(2) == 0 {
				b.Broke = []string{fmt.Sprint("test", c.IntN(2))}
			}
		}
	}
	return a, takes
}

// climber follows the attempts of the only loop.
type climber struct {
	w      *world
	n      int
	judged map[string]pawl.Verdict // by the command gates that ran in the iteration
	trees  map[int]pawl.TreeHash   // of the candidates, by the number of the iteration
	best   land.Verified
	// overruled is the iteration whose halt is overruled and that is to be judged once more; 0 = none is.
	overruled int
	back      *pawl.RollbackCalled // under way; nil = none is
	verbs     map[pawl.Seq]pawl.Verb
	head      pawl.CommitHash // of the branch after the last event
	stuck     bool            // git could not do something to the worktree, and nobody has resumed the run since
}

func (b *climber) saw(e pawl.Event) {
	t, l := b.w.t, b.w.state.Loop(1)
	toldOfHealth(b.w, e)
	if l != nil {
		defer func() { b.head = l.Head }()
	}
	switch x := e.Body.(type) {
	case *pawl.WorkspaceOpened:
		if b.head != "" && x.Head != b.head {
			b.best, b.back, b.overruled = land.Verified{}, nil, 0
		}
	case *pawl.IterationStarted:
		if x.Rejudges != (b.overruled != 0) {
			t.Fatalf("iteration %d judges anew: %t; overruled is the halt of iteration %d", x.N, x.Rejudges, b.overruled)
		}
		b.overruled = 0
		if b.back != nil {
			t.Fatalf("iteration %d starts while the work is on its way back to attempt %d", x.N, b.back.To)
		}
		b.n, b.judged = x.N, map[string]pawl.Verdict{}
	case *pawl.Committed:
		if l.cand != nil && l.cand.Committed != nil && l.cand.Commit == x.Commit {
			b.trees[b.n] = x.Tree
		}
	case *pawl.GateJudged:
		if x.Judge == pawl.JudgeGate && x.On == "" && x.Kind != "" && b.judged != nil {
			b.judged[x.Gate] = x.Verdict
		}
	case *pawl.IterationEnded:
		if x.Settles != 0 {
			b.overruled = x.Settles
		}
		if x.Best != l.best().N {
			t.Fatalf("after attempt %d the best one is said to be %d, and is %d", x.N, x.Best, l.best().N)
		}
		if best := l.best(); best.N != b.best.N {
			if best.N != x.N || b.best.N > 0 && !b.best.Below(best) {
				t.Fatalf("after attempt %d the best state is %+v in place of %+v", x.N, best, b.best)
			}
			for gate, v := range b.judged {
				if v == pawl.VerdictHalt {
					t.Fatalf("attempt %d is verified, and %s halted it", x.N, gate)
				}
			}
			b.best = *best
		}
	case *pawl.GateOverruled:
		b.overruled = x.Iteration
	case *pawl.RollbackCalled:
		if x.To != b.best.N && x.To != b.overruled || b.back != nil {
			t.Fatalf("the work goes back to attempt %d; the best one is %d", x.To, b.best.N)
		}
		if health := l.Kind.Monitor; x.Ending == "" && len(health) == 0 && x.To != b.overruled {
			t.Fatalf("the recipe has no reaction, and the work goes back to attempt %d", x.To)
		}
		b.back = x
	case *pawl.RolledBack:
		if b.back == nil || x.To != b.back.To || b.w.treeAt(x.Commit) != b.trees[x.To] {
			t.Fatalf("the work is back at attempt %d with the tree %s; attempt %d had %s", x.To, b.w.treeAt(x.Commit), x.To, b.trees[x.To])
		}
		if b.back = nil; x.To == b.best.N {
			b.best.Commit = x.Commit
		}
	case *pawl.EffectRequested:
		b.verbs[x.Effect.ID] = x.Effect.Do.Verb()
	case *pawl.EffectFailed:
		switch b.verbs[x.Effect] {
		case pawl.VerbCallModel, pawl.VerbCallTool, pawl.VerbRunGate, pawl.VerbAssemblePrompt, pawl.VerbPrepare:
		default:
			b.stuck = true
		}
	case *pawl.RunResumed: // one that ended tries again, one that was paused only goes on
		b.stuck = b.stuck && x.From == ""
	case *pawl.HealthJudged:
		b.healthy(x)
	case *pawl.RunEnded:
		b.ended(x)
	}
}

// healthy checks that no more follows a judgement than the recipe says.
func (b *climber) healthy(x *pawl.HealthJudged) {
	t, k := b.w.t, b.w.state.Loop(1).Kind
	for _, to := range x.Recoveries {
		if !slices.Contains(k.Monitor[string(x.Health)], string(to)) {
			t.Fatalf("%s leads to %s, and the recipe says %v", x.Health, to, k.Monitor)
		}
	}
	if x.Try > x.Max || x.Max > 3 {
		t.Fatalf("try %d of %d", x.Try, x.Max)
	}
}

// ended checks what the branch has at the end.
func (b *climber) ended(x *pawl.RunEnded) {
	if x.Question > 0 { // it only rests
		return
	}
	t, l := b.w.t, b.w.state.Loop(1)
	last := b.w.treeAt(l.Head)
	switch x.Outcome {
	case pawl.OutcomeIncomplete, pawl.OutcomeBlocked, pawl.OutcomeHalted, pawl.OutcomeFailed:
		if b.best.N > 0 && last != b.best.Tree && !b.stuck {
			t.Fatalf("the run ended %s with the tree %s, and the best verified one is %s of attempt %d", x.Outcome, last, b.best.Tree, b.best.N)
		}
	case pawl.OutcomeCancelled, pawl.OutcomeUnverified, pawl.OutcomeComplete:
		if b.back != nil && b.back.Ending != "" {
			t.Fatalf("the run ended %s on its way to attempt %d", x.Outcome, b.back.To)
		}
	}
}

// looks checks that a run which has ended is not on its way anywhere.
func (b *climber) looks() {
	if s := b.w.state; s.Status == pawl.StatusEnded && b.back != nil && b.back.Ending != "" && !b.stuck {
		b.w.t.Fatalf("the run has ended %s, and attempt %d was not delivered", s.Outcome, b.back.To)
	}
}
