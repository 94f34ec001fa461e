package kernel

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pawl"
	"pawl/internal/kernel/budget"
	"pawl/internal/recipe"
)

// forked returns the events of another run as the log with which a fork of it begins.
func forked(log []pawl.Event) []pawl.Event {
	first := *log[0].Body.(*pawl.RunStarted)
	first.ForkOf, first.ForkAt = log[0].Run, log[len(log)-1].Seq
	first.Branch += "-r2"
	if first.Attempts != "" {
		first.Attempts += "-r2"
	}
	first.Seed++
	log = slices.Clone(log)
	for i := range log {
		log[i].Run += "-r2"
	}
	log[0].Body = &first
	return log
}

// fork continues a world that has another run's events as a fork of that run. The run's
// commits exist, its worktrees and branches do not.
func fork(t testing.TB, w *world) {
	t.Helper()
	first, at := w.state.Started, len(w.log)
	w.now = w.state.Last
	spent, head := w.state.Spent, w.state.head()
	w.mustTake(Input{Fork: &Fork{}})
	b, ok := w.log[at].Body.(*pawl.Forked)
	if !ok || head != "" && b.Commit != head || b.Cost != spent.Money || b.Tokens != spent.Tokens {
		t.Fatalf("the fork at event %d, with %v spent and the branch at %s, begins with %s", at, spent, head, mustJSON(t, w.log[at]))
	}
	s, root := w.state, w.state.Loop(1)
	for _, e := range w.log[at+1:] {
		if r, ok := e.Body.(*pawl.EffectRequested); ok && e.Loop == 1 {
			do, opens := r.Effect.Do.(*pawl.OpenWorkspace)
			if !opens || do.Base != b.Commit || do.Branch != first.WorkRef() {
				t.Fatalf("the fork at event %d continues with %s", at, mustJSON(t, e.Body))
			}
			break
		}
	}
	if s.Status != pawl.StatusRunning || s.Spent != (budget.Purse{}) || s.openQuestions > 0 || s.live != 1 || root.person.question != nil || root.person.approved {
		t.Fatalf("the fork at event %d keeps state of the original run: %s", at, describe(s))
	}
}

// Whatever a run had come to, a fork from there goes on with nothing under way, at
// the newest commit of the run's branch, and comes to its end.
func TestForkAnywhere(t *testing.T) {
	t.Parallel()
	seed, n := uint64(0), 0
	defer sayWhere(t, &plain, &seed, &n)
	for ; seed < 12; seed++ {
		of := plain.seeded(t, seed)
		c := calm(of, seed, func(*chance) {})
		for n = range c.w.replay(forked(of.log)) {
			if n < 2 || !isTried(n, seed, 1) {
				continue
			}
			c := c.clone()
			fork(t, c.w)
			c.calmDown()
		}
	}
}

// So does one of a run with children: those at work begin anew, on branches of the
// fork's own; what is merged stays.
func TestTreeForkAnywhere(t *testing.T) {
	t.Parallel()
	seed, n := uint64(1), 0
	defer sayWhere(t, &trees, &seed, &n)
	for ; seed < 14; seed++ {
		of := trees.seeded(t, seed)
		c := calm(of, seed, (*chance).grow)
		for n = range c.w.replay(forked(of.log)) {
			if n < 2 || !isTried(n, seed, 3) {
				continue
			}
			c := c.clone()
			loops := len(c.w.state.loops)
			fork(t, c.w)
			c.calmDown()
			for _, l := range c.w.state.loops[loops:] {
				if l.branch != "" && !strings.HasPrefix(l.branch, c.w.state.Started.WorkRef()+"--") {
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
	for range s.w.replay(forked(of.log[:s.told])) {
		continue
	}
	fork(t, s.w)
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
	t.Parallel()
	r, err := recipe.Load("coherence")
	if err != nil {
		t.Fatal(err)
	}
	set := settings()
	set.Limits.Iterations, set.Gates = 0, []pawl.GateSpec{gate("tests")}
	play := func() *script {
		s := &story{script: &script{w: newWorld(t)}}
		s.script.w.happens = s.script.happens
		s.world(t, `list: base scaffold, a after base, b after base, c after a, d
			plan-review: submits decision=APPROVED
			plan: submits count=4 decisions=2
			task a implement: submits decisions=1`)
		return s.script
	}
	of := play().w
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
	begun := play()
	begun.w.trees = maps.Clone(of.trees)
	for n := range begun.w.replay(forked(of.log)) {
		if n < 2 || !isTried(n, 0, 1) {
			continue
		}
		w := begun.clone().w
		fork(t, w)
		for w.land() {
		}
		if s := w.state; s.Outcome != pawl.OutcomeComplete || !s.Loop(1).gen.plan.Succeeded() {
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
