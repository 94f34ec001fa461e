package kernel

import (
	"slices"
	"testing"
	"time"

	"pawl"
	"pawl/internal/recipe"
)

// eager plays a run whose models claim success at every turn. The first reply of a session
// calls every tool, and some whose names would end a session or a run. The next reply submits
// a result that approves. The gates fail as soon as anything has changed.
func eager(t *testing.T, r *pawl.Recipe, list string) *world {
	t.Helper()
	w := newWorld(t)
	s := &script{w: w}
	s.list(t, list)
	tools := []string{"finish", "complete_task", "stop", "cancel", "submit_result", "submit_verdict", "submit_summary"}
	recipe.Walk(r, func(st *pawl.Step) { tools = append(tools, st.Tools...) }, func(v *pawl.Review) { tools = append(tools, v.Tools...) })
	slices.Sort(tools)
	tools = slices.Compact(tools)
	s.rules = []rule{parseRule(t, "tests: fail TestA"), parseRule(t, "plan-review: submits decision=APPROVED")}
	w.happens = func(f *pawl.Effect) (pawl.Answer, time.Duration) {
		if _, ok := f.Do.(*pawl.CallModel); ok && f.Place.Turn == 1 {
			return s.replied(f, &rule{what: append([]string{"calls"}, tools...)}), time.Second
		}
		return s.happens(f)
	}
	set := settings()
	set.Limits.Iterations, set.Gates = 0, []pawl.GateSpec{gate("tests")}
	w.start(r, set)
	for w.land() {
		continue
	}
	return w
}

// L-01: a model's tool calls end no session except through its own result, and nothing a model
// says ends a loop or a run successfully. Only the gates do.
func TestModelsDecideNothing(t *testing.T) {
	tree := levels()
	tree.Kinds[0].Approval = nil
	lists := map[*pawl.Recipe]string{taskLoop(): "list: one", tree: "list: one"} // each phase has one code child
	for _, name := range []string{"pandora", "loom", "coherence"} {
		r, err := recipe.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		lists[&r] = "list: one, two, three"
	}
	for r, list := range lists {
		w := eager(t, r, list)
		turns := map[int]int{}
		for _, f := range requests[*pawl.CallModel](w) {
			turns[f.Place.Turn]++
		}
		if turns[1] == 0 || turns[2] != turns[1] {
			t.Errorf("%s: %d sessions called every tool and %d of them continued", r.Name, turns[1], turns[2])
		}
		if w.state.Outcome.Succeeded() || len(requests[*pawl.RunGate](w)) < 2 {
			t.Errorf("%s: the run is %s with outcome %s after %d gate runs", r.Name, w.state.Status, w.state.Outcome, len(requests[*pawl.RunGate](w)))
		}
		for _, b := range all[*pawl.LoopEnded](w) {
			if b.Outcome.Succeeded() {
				t.Errorf("%s: a loop ended %s although its gates failed", r.Name, b.Outcome)
			}
		}
	}
}

// L-01: the run continues while subtasks are left, even if a model says that all are done.
func TestRunGoesOnWhileTasksAreLeft(t *testing.T) {
	w := playList(t, "loom", nil, "list: one, two, three", "executor: says")
	if p := w.state.Loop(1).gen.plan; p.States() != "aaa" || len(all[*pawl.LoopStarted](w)) != 4 {
		t.Errorf("after %d loops the task states are %s", len(all[*pawl.LoopStarted](w)), p.States())
	}
}
