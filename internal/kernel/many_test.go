package kernel

import (
	"fmt"
	"testing"

	"pawl"
	"pawl/internal/kernel/brief"
)

// several is a run of a root and tasks under it that are worked side by side, in a
// world where all goes well but for what the lines say. The root waits for them.
func several(t *testing.T, loops int, change func(*pawl.Settings), lines ...string) *driver {
	d := &driver{tb: t, now: worldBegin, keep: true}
	s := &script{w: &world{t: t, state: &d.state}}
	for _, line := range lines {
		s.rules = append(s.rules, parseRule(t, line))
	}
	d.answer = d.well(s, many(loops-1))
	r, set := treeLoop(), settings()
	set.Gates, set.Parallel = []pawl.GateSpec{gate("tests")}, loops-1
	change(set)
	d.plan(r, set, loops)
	return d
}

// many are tasks that wait for nobody.
func many(n int) []pawl.TaskEntry {
	var out []pawl.TaskEntry
	for i := range n {
		id := fmt.Sprintf("T%d", i+1)
		out = append(out, pawl.TaskEntry{ID: id, Title: "Task " + id, Spec: blobOf(id)})
	}
	return out
}

// plan starts a run with a list of tasks, and goes on until so many loops are there.
func (d *driver) plan(r *pawl.Recipe, set *pawl.Settings, loops int) {
	first := started(d.tb, r, set)
	first.Tasks = blobOf("tasks")
	d.take(Input{Start: &Start{Run: worldRun, Started: first}})
	for i := 0; len(d.state.Loops()) < loops; i++ {
		if len(Pending(&d.state)) == 0 {
			d.tb.Fatalf("there are %d loops: %s", len(d.state.Loops()), describe(&d.state))
		}
		d.step(i)
	}
}

// well answers what the lines of a script do not speak of: lists of tasks,
// commits, merges and where worktrees are.
func (d *driver) well(s *script, entries []pawl.TaskEntry) func(*pawl.Effect) pawl.Answer {
	return func(f *pawl.Effect) pawl.Answer {
		switch do := f.Do.(type) {
		case *pawl.ReadTasks:
			return &pawl.TasksRead{Effect: f.ID, Entries: entries}
		case *pawl.Merge:
			return &pawl.Merged{Effect: f.ID, Commit: pawl.CommitHash(s.w.name("m", f.ID)), Tree: d.state.Loop(f.Loop).cand.Tree}
		case *pawl.AdvanceBranch:
			return &pawl.BranchAdvanced{Effect: f.ID, Commit: do.To}
		case *pawl.ProbeConflicts:
			return &pawl.ConflictsProbed{Effect: f.ID}
		case *pawl.OpenWorkspace:
			return &pawl.WorkspaceOpened{Effect: f.ID, Head: do.Base}
		case *pawl.ResetWorkspace:
			return &pawl.WorkspaceReset{Effect: f.ID, Head: do.Commit}
		}
		a, _ := s.answer(f, s.rule(f))
		if b, ok := a.(*pawl.Committed); ok {
			b.Commit, b.Tree = pawl.CommitHash(s.w.name("c", f.ID)), pawl.TreeHash(s.w.name("t", f.ID))
		}
		return a
	}
}

// finish answers what is pending until nothing is.
func (d *driver) finish() {
	for i := 0; len(Pending(&d.state)) > 0; i++ {
		if i > 10_000 {
			d.tb.Fatal("it does not end")
		}
		d.step(i)
	}
}

func (d *driver) ended() map[pawl.LoopRef]pawl.Outcome {
	out := map[pawl.LoopRef]pawl.Outcome{}
	for _, e := range d.log {
		if b, ok := e.Body.(*pawl.LoopEnded); ok {
			out[e.Loop] = b.Outcome
		}
	}
	return out
}

// A run ends when its last loop has, and with what became of its root.
func TestManyLoopsEnd(t *testing.T) {
	d := several(t, 7, func(*pawl.Settings) {})
	d.finish()
	if ended := d.ended(); len(ended) != 7 || d.state.Outcome != pawl.OutcomeComplete || d.log[len(d.log)-1].Body.EventKind() != pawl.KindRunEnded {
		t.Errorf("loops ended %v, the run %s", ended, d.state.Outcome)
	}
	if got := d.state.Workspace(3); got != string(worldRun)+"-"+d.state.Loop(3).ID || d.state.Workspace(1) != string(worldRun) || d.state.Workspace(8) != "" {
		t.Errorf("worktrees %q and %q", d.state.Workspace(1), got)
	}
}

// The budget has room for one call at a time: the loops wait for each other, and
// none is forgotten.
func TestManyLoopsShareABudget(t *testing.T) {
	most := 0
	d := several(t, 7, func(set *pawl.Settings) { set.Limits.Money, set.OutputFloor = 250_000, 8000 })
	for i := 0; len(Pending(&d.state)) > 0; i++ {
		calls := 0
		for _, f := range Pending(&d.state) {
			if f.Do.Verb() == pawl.VerbCallModel {
				calls++
			}
		}
		most = max(most, calls)
		d.step(i)
	}
	if ended := d.ended(); len(ended) != 7 || d.state.Outcome != pawl.OutcomeComplete || most > 6 {
		t.Errorf("up to %d calls at once, loops ended %v, the run %s: %s", most, ended, d.state.Outcome, d.state.Reason)
	}
}

// What stops a run stops all of its loops, those that wait for nothing included.
func TestManyLoopsStop(t *testing.T) {
	d := several(t, 7, func(*pawl.Settings) {}, "implement: error auth x1")
	d.finish()
	for ref, outcome := range d.ended() {
		if outcome != pawl.OutcomeHalted {
			t.Errorf("loop %d ended %s", ref, outcome)
		}
	}
	if d.state.Outcome != pawl.OutcomeHalted || len(d.ended()) != 7 {
		t.Errorf("the run ended %s with %d loops", d.state.Outcome, len(d.ended()))
	}
	d.take(Input{Steer: &pawl.Steering{Verb: pawl.SteerResume}})
	d.finish()
	if d.state.Outcome != pawl.OutcomeComplete {
		t.Errorf("resumed, the run ended %s", d.state.Outcome)
	}
}

// A loop that waits for its back-off does not keep a run that stops waiting.
func TestManyLoopsStopAtOnce(t *testing.T) {
	d := several(t, 3, func(*pawl.Settings) {}, "implement: error overloaded wait=10m x1", "implement: error auth x1")
	for i := 0; d.state.Stopping == nil; i++ {
		pending := Pending(&d.state)
		f := pending[0]
		for _, o := range pending { // nobody waits long enough
			if o.Do.Verb() != pawl.VerbWait {
				f = o
				break
			}
		}
		d.take(Input{Answer: d.answer(f)})
	}
	for _, f := range Pending(&d.state) {
		if f.Do.Verb() == pawl.VerbWait {
			t.Errorf("effect %d still waits", f.ID)
		}
	}
}

func TestCut(t *testing.T) {
	for _, row := range []struct {
		in   string
		n    int
		want string
	}{{"short", 5, "short"}, {"longer", 5, "lo…"}, {"ääää", 6, "ä…"}, {"日本語", 8, "日…"}, {"", 0, ""}} {
		if got := brief.Cut(row.in, row.n); got != row.want || len(got) > row.n {
			t.Errorf("%q cut to %d bytes is %q, want %q", row.in, row.n, got, row.want)
		}
	}
}
