package kernel

import (
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pawl"
	"pawl/internal/recipe"
)

// fork lets a world have a run whose first events are those of another one. The
// commits are there, worktrees and branches are not.
func fork(t testing.TB, w *world, log []pawl.Event) {
	t.Helper()
	first := *log[0].Body.(*pawl.RunStarted)
	first.ForkOf, first.ForkAt = log[0].Run, log[len(log)-1].Seq
	first.Branch += "-r2"
	first.Seed++
	for i, e := range log {
		if e.Run += "-r2"; i == 0 {
			e.Body = &first
		}
		w.append(e)
		if b, ok := e.Body.(*pawl.Committed); ok {
			w.commits[b.Effect] = b
		}
	}
	w.now = w.state.Last
	spent, head := w.state.Spent, w.state.head()
	w.mustTake(Input{Fork: &Fork{}})
	b, ok := w.log[len(log)].Body.(*pawl.Forked)
	if !ok || head != "" && b.Commit != head || b.Cost != spent.Money || b.Tokens != spent.Tokens {
		t.Fatalf("the fork at event %d, with %v spent and the branch at %s, begins with %s", len(log), spent, head, mustJSON(t, w.log[len(log)]))
	}
	s, root := w.state, w.state.Loop(1)
	for _, e := range w.log[len(log)+1:] {
		if r, ok := e.Body.(*pawl.EffectRequested); ok && e.Loop == 1 {
			do, opens := r.Effect.Do.(*pawl.OpenWorkspace)
			if !opens || do.Base != b.Commit || do.Branch != first.Branch {
				t.Fatalf("the fork at event %d goes on with %s", len(log), mustJSON(t, e.Body))
			}
			break
		}
	}
	if s.Status != pawl.StatusRunning || s.Spent != (Purse{}) || s.waiting > 0 || s.live != 1 || root.question != nil || root.approved {
		t.Fatalf("the fork at event %d is as the other run was: %s", len(log), describe(s))
	}
}

// Whatever a run had come to, a fork from there goes on with nothing under way, at
// the newest commit of the run's branch, and comes to its end.
func TestForkAnywhere(t *testing.T) {
	seed, n := uint64(0), 0
	defer sayWhere(t, &seed, &n)
	for ; seed < 12; seed++ {
		of := plain.seeded(t, seed)
		for n = 2; n <= len(of.log); n += 5 {
			w := newWorld(t)
			w.trees = maps.Clone(of.trees)
			c := newChance(w, seed)
			c.calm, w.happens = true, c.happens
			fork(t, w, of.log[:n])
			c.calmDown()
		}
	}
}

// So does one of a run with children: those at work begin anew, on branches of the
// fork's own; what is merged stays.
func TestTreeForkAnywhere(t *testing.T) {
	seed, n := uint64(1), 0
	defer sayWhere(t, &seed, &n)
	for ; seed < 14; seed++ {
		of := trees.seeded(t, seed)
		for n = 2; n <= len(of.log); n += 11 {
			w := newWorld(t)
			w.lists, w.trees, w.compares = maps.Clone(of.lists), maps.Clone(of.trees), 8
			c := newChance(w, seed)
			c.grove, c.calm, c.tasks, w.happens = &grove{w: w}, true, 4, c.happens
			w.watch, w.look = c.grove.saw, c.grove.settled
			fork(t, w, of.log[:n])
			c.calmDown()
			for _, l := range w.state.loops {
				if l.branch != "" && int(l.Ref) > loopsIn(of.log[:n]) && !strings.HasPrefix(l.branch, "pawl/001-add-login-r2--") {
					t.Fatalf("a loop of the fork has the branch %s", l.branch)
				}
			}
		}
	}
}

// fork lets a story go on with a fork of its run.
func (s *story) fork(t *testing.T, td *datadriven.TestData) {
	at, _ := arg(td, "at")
	of := s.w
	s.w, s.told = newWorld(t), atoi(t, at)
	s.w.trees, s.script.w, s.w.happens = maps.Clone(of.trees), s.w, s.script.happens
	s.world(t, td.Input)
	fork(t, s.w, of.log[:s.told])
}

// sayWhere says which fork it was when it fails.
func sayWhere(t testing.TB, seed *uint64, n *int) {
	if t.Failed() {
		t.Logf("this was the fork at event %d of PAWL_SEED or PAWL_TREE_SEED=%d", *n, *seed)
	}
}

func loopsIn(log []pawl.Event) (n int) {
	for _, e := range log {
		if e.Body.EventKind() == pawl.KindLoopStarted {
			n++
		}
	}
	return n
}

// A run that was not made of another one is no fork.
func TestForkOfNothing(t *testing.T) {
	w := newWorld(t)
	w.happens = (&script{w: w}).happens
	w.start(taskLoop(), settings())
	if err := w.take(Input{Fork: &Fork{}}); pawl.CodeOf(err) != pawl.CodeInternal {
		t.Errorf("it is forked: %v", err)
	}
}

// A fork from anywhere in batches that are judged as a whole, and on the way back to a
// checkpoint, finishes the work: what was approved stays approved, what was at work is
// done once more, and of a rollback one thing is learned, once. V-51
func TestForkOfBatches(t *testing.T) {
	r, err := recipe.Load("coherence")
	if err != nil {
		t.Fatal(err)
	}
	set := settings()
	set.Limits.Iterations, set.Gates = 0, []pawl.GateSpec{gate("tests")}
	play := func() *world {
		s := &story{w: newWorld(t)}
		s.script = &script{w: s.w}
		s.w.happens = s.script.happens
		s.world(t, `list: base scaffold, a after base, b after base, c after a, d
			plan-review: submits decision=APPROVED
			plan: submits count=4 decisions=2
			task a implement: submits decisions=1`)
		return s.w
	}
	of := play()
	of.start(&r, set)
	rolled := 0
	for of.land() {
		if rolled == 0 && len(all[*pawl.BatchStarted](of)) == 3 {
			if err := of.steer(pawl.Steering{Verb: pawl.SteerRollback, Checkpoint: 1}); err != nil {
				t.Fatal(err)
			}
			rolled = len(of.log)
		}
	}
	if of.state.Outcome != pawl.OutcomeComplete || rolled == 0 {
		t.Fatalf("the run ends %s: %s", of.state.Outcome, of.state.Reason)
	}
	for n := 2; n <= len(of.log); n++ {
		w := play()
		w.trees, w.compares = maps.Clone(of.trees), 8
		fork(t, w, of.log[:n])
		for w.land() {
		}
		if s := w.state; s.Outcome != pawl.OutcomeComplete || !s.Loop(1).plan.succeeded() {
			t.Fatalf("the fork at event %d ends %s: %s", n, s.Outcome, s.Reason)
		}
		learned := 0
		for _, b := range all[*pawl.MemoryAdded](w) {
			if b.Kind == pawl.MemoryAntiPattern {
				learned++
			}
		}
		if back := len(all[*pawl.RolledBack](w)); learned != back || back != len(all[*pawl.RollbackCalled](w)) {
			t.Fatalf("the fork at event %d goes back %d times and learns %d things", n, back, learned)
		}
		w.checkWhole()
	}
}
