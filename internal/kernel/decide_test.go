package kernel

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pawl"
)

// What recipe and settings say together, and what a decision would stumble over, is
// refused before anything is in the log. What a recipe says is checked by package recipe.
func TestStartRefuses(t *testing.T) {
	for _, row := range []struct {
		want   string
		of     func() *pawl.Recipe
		change func(*pawl.Recipe, *pawl.Settings)
	}{
		{`starts with the kind "nobody"`, taskLoop, func(r *pawl.Recipe, _ *pawl.Settings) { r.Start = "nobody" }},
		{`of kind "nobody"`, treeLoop, func(r *pawl.Recipe, _ *pawl.Settings) { r.Kinds[0].Children.Kind = "nobody" }},
		{"tier 2 has no output limit", taskLoop, func(_ *pawl.Recipe, s *pawl.Settings) { s.Models[1].MaxOutput = 0 }},
		{"retry.tries is 0", taskLoop, func(_ *pawl.Recipe, s *pawl.Settings) { s.Retry.Tries = 0 }},
		{`gate "x" has no kind`, taskLoop, func(_ *pawl.Recipe, s *pawl.Settings) { s.Gates = []pawl.GateSpec{{Name: "x"}} }},
		{`gate "requirements"`, taskLoop, func(_ *pawl.Recipe, s *pawl.Settings) { s.Gates = []pawl.GateSpec{gate("requirements")} }},
		{`gate "tests"`, taskLoop, func(_ *pawl.Recipe, s *pawl.Settings) { s.Gates = []pawl.GateSpec{gate("tests"), gate("tests")} }},
		{"never approved automatically", levels, func(_ *pawl.Recipe, s *pawl.Settings) { s.Approval = "auto" }},
		{"never approved automatically", levels, func(_ *pawl.Recipe, s *pawl.Settings) { s.Approval = "confidence_threshold" }},
		{"never approved automatically", levels, func(_ *pawl.Recipe, s *pawl.Settings) { s.Approval = "manual" }},
		{"says itself where a person is asked", levels, func(r *pawl.Recipe, s *pawl.Settings) { r.Kinds[0].Approval, s.Approval = nil, "human" }},
	} {
		t.Run(row.want, func(t *testing.T) {
			r, set := row.of(), settings()
			row.change(r, set)
			_, err := Decide(&State{}, Input{At: worldBegin, Start: &Start{Run: worldRun, Started: started(t, r, set)}})
			if err == nil || pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
	broken := started(t, taskLoop(), settings())
	broken.Settings = pawl.JSON("{")
	if _, err := Decide(&State{}, Input{Start: &Start{Run: worldRun, Started: broken}}); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Errorf("settings that are no JSON: %v", err)
	}
}

func TestInputsOutOfPlace(t *testing.T) {
	fresh, run := &State{}, newWorld(t)
	run.happens = (&script{w: run}).happens
	run.start(taskLoop(), settings())
	for _, row := range []struct {
		why  string
		s    *State
		in   Input
		code pawl.Code
	}{
		{"an answer before the start", fresh, Input{Answer: &pawl.WaitEnded{Effect: 1}}, pawl.CodeState},
		{"a command before the start", fresh, Input{Steer: &pawl.Steering{Verb: pawl.SteerCancel}}, pawl.CodeState},
		{"a recovery before the start", fresh, Input{Recover: &Recover{}}, pawl.CodeState},
		{"nothing", run.state, Input{}, pawl.CodeInternal},
		{"a start without a run", fresh, Input{Start: &Start{}}, pawl.CodeInternal},
		{"a second start", run.state, Input{Start: &Start{Run: worldRun}}, pawl.CodeConflict},
		{"an unknown command", run.state, Input{Steer: &pawl.Steering{Verb: "dance"}}, pawl.CodeInvalid},
		{"an unknown way to cancel", run.state, Input{Steer: &pawl.Steering{Verb: pawl.SteerCancel, Running: "slowly"}}, pawl.CodeInvalid},
		{"limits without limits", run.state, Input{Steer: &pawl.Steering{Verb: pawl.SteerLimits}}, pawl.CodeInvalid},
		{"a limit below zero", run.state, Input{Steer: &pawl.Steering{Verb: pawl.SteerLimits, Limits: &pawl.Limits{Money: -1}}}, pawl.CodeInvalid},
		{"resuming what runs", run.state, Input{Steer: &pawl.Steering{Verb: pawl.SteerResume}}, pawl.CodeState},
	} {
		row.in.At = worldBegin
		if events, err := Decide(row.s, row.in); pawl.CodeOf(err) != row.code || err == nil || len(events) > 0 {
			t.Errorf("%s: %d events and %v (%s), want %s", row.why, len(events), err, pawl.CodeOf(err), row.code)
		}
	}
}

// A driver that takes over with a command says both at once: what was under way
// is settled, and nothing is begun that the command does not want.
func TestRecoverWithCommand(t *testing.T) {
	for _, row := range []struct {
		paused bool
		steer  pawl.Steering
		want   string
	}{
		{false, pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}, "recovered effect_lost cancel_requested run_stopping session_ended effect_requested"},
		{false, pawl.Steering{Verb: pawl.SteerPause}, "recovered effect_lost run_paused"},
		{true, pawl.Steering{Verb: pawl.SteerResume}, "recovered effect_lost run_resumed effect_requested"},
	} {
		w := newWorld(t)
		s := &script{w: w}
		w.happens = s.happens
		w.start(taskLoop(), settings())
		for len(w.flights) == 0 || w.flights[0].effect.Do.Verb() != pawl.VerbCallModel {
			w.land()
		}
		if row.paused {
			w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerPause}})
		}
		w.flights, w.now = nil, w.now.Add(time.Hour)
		before := len(w.log)
		w.mustTake(Input{Recover: &Recover{Pid: 2}, Steer: &row.steer})
		var kinds []string
		for _, e := range w.log[before:] {
			kinds = append(kinds, e.Body.EventKind().String())
		}
		if got := strings.Join(kinds, " "); got != row.want {
			t.Errorf("%s: got %s, want %s", row.steer.Verb, got, row.want)
		}
		if w.state.Alive > time.Minute {
			t.Errorf("the hour without a driver counts: %s", w.state.Alive)
		}
	}
}

// A run that has ended is not taken over, and what comes late is only recorded.
func TestAfterTheEnd(t *testing.T) {
	w := play(t, easy)
	before := len(w.log)
	w.mustTake(Input{Recover: &Recover{}})
	if len(w.log) != before {
		t.Errorf("recovering an ended run gave %d events", len(w.log)-before)
	}
	w.mustTake(Input{Answer: &pawl.WaitEnded{Effect: 3}})
	if e := w.log[len(w.log)-1]; e.Body.EventKind() != pawl.KindAnswerIgnored || w.state.Status != pawl.StatusEnded {
		t.Errorf("a late answer gave %s", e.Body.EventKind())
	}
	for _, verb := range []pawl.SteerVerb{pawl.SteerPause, pawl.SteerResume, pawl.SteerCancel} {
		if err := w.steer(pawl.Steering{Verb: verb}); pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if err := w.steer(pawl.Steering{Verb: pawl.SteerLimits, Limits: &pawl.Limits{}}); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("limits: %v", err)
	}
}

func TestInfo(t *testing.T) {
	if got := Info(&State{}); got != (pawl.RunInfo{}) {
		t.Errorf("before the start: %+v", got)
	}
	w := play(t, easy, "iteration 1 tests: fail TestA")
	got := Info(w.state)
	want := pawl.RunInfo{ID: worldRun, Task: 1, Title: "Add login", Recipe: "taskloop", Branch: "pawl/001-add-login", Status: pawl.StatusEnded,
		Outcome: pawl.OutcomeComplete, Reason: "every gate passed", Proof: pawl.Proof{Kept: 3}, Iteration: 2, Max: 10, Tier: "haiku",
		Cost: w.state.Spent.Money, Tokens: w.state.Spent.Tokens, Started: worldBegin, Updated: w.now, Seq: w.state.Seq}
	money := got.Figures()
	if got.Money = nil; got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if want := (pawl.Money{Spent: w.state.Spent.Money, SpentTokens: w.state.Spent.Tokens}); money != want {
		t.Errorf("got  %+v\nwant %+v", money, want)
	}
}

// a loop's id is when it began, in milliseconds, and four hex digits; loops that
// begin with one input, of which there are many, have different ones.
func TestLoopIDs(t *testing.T) {
	s := &State{}
	at := time.UnixMilli(1738300800123)
	form := regexp.MustCompile(`^1738300800123-[0-9a-f]{4}$`)
	seen := map[string]bool{}
	for ref := pawl.LoopRef(1); ref <= 5000; ref++ {
		id := s.loopID(at, 42, ref)
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("loop %d is called %q, which is another one's or not of the form %s", ref, id, form)
		}
		seen[id] = true
		s.loops = append(s.loops, &Loop{Ref: ref, ID: id})
	}
}
