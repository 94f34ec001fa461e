package kernel

import (
	"testing"

	"pawl"
)

// several is a run of a root and more loops under it, in a world where all goes
// well but for what the lines say.
func several(t *testing.T, loops int, change func(*pawl.Settings), lines ...string) *driver {
	d := &driver{tb: t, now: worldBegin, keep: true}
	s := &script{w: &world{t: t, state: &d.state}}
	for _, line := range lines {
		s.rules = append(s.rules, parseRule(t, line))
	}
	d.answer = func(f *pawl.Effect) pawl.Answer {
		a, _ := s.answer(f, s.rule(f))
		if b, ok := a.(*pawl.Committed); ok {
			b.Commit, b.Tree = pawl.CommitHash(s.w.name("c", f.ID)), pawl.TreeHash(s.w.name("t", f.ID))
		}
		return a
	}
	r, set := taskLoop(), settings()
	r.Kinds[0].Complexity, r.Kinds[0].Steps = nil, r.Kinds[0].Steps[1:]
	set.Gates = []pawl.GateSpec{gate("tests")}
	change(set)
	d.take(Input{Start: &Start{Run: worldRun, Started: started(t, r, set)}})
	for i := 2; i <= loops; i++ {
		ref := pawl.LoopRef(i)
		d.apply(pawl.Event{Run: worldRun, Seq: d.state.Seq + 1, Loop: ref, Time: d.now, Body: &pawl.LoopStarted{ID: loopID(d.now, 7, ref), Kind: "task", Parent: 1}})
	}
	d.take(Input{Steer: &pawl.Steering{Verb: pawl.SteerLimits, Limits: &d.state.Limits}})
	return d
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
		if got := cut(row.in, row.n); got != row.want || len(got) > row.n {
			t.Errorf("%q cut to %d bytes is %q, want %q", row.in, row.n, got, row.want)
		}
	}
}
