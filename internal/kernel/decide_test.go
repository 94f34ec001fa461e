package kernel

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pawl"
)

// What a kernel cannot decide to its end, or would pass over in silence, is
// refused before anything is in the log.
func TestStartRefuses(t *testing.T) {
	for _, row := range []struct {
		want   string
		change func(*pawl.Recipe, *pawl.LoopKind, *pawl.Settings)
	}{
		{`starts with the kind "nobody"`, func(r *pawl.Recipe, _ *pawl.LoopKind, _ *pawl.Settings) { r.Start = "nobody" }},
		{"which must be another one of the recipe", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) {
			k.Children = &pawl.Children{Kind: "task", From: "implement"}
		}},
		{"approval", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Approval = &pawl.Approval{By: "human"} }},
		{`from the step "gone"`, func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Complexity.From = "gone" }},
		{"band of tier 4", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Complexity.Tiers[0].Tier = 4 }},
		{"group implement: want steps", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Steps[1].Repeat = &pawl.Repeat{} }},
		{`not "shrug"`, func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) {
			k.Steps[1].Repeat = &pawl.Repeat{Max: 2, Until: []string{"DONE"}, OnMax: "shrug", Steps: []pawl.Step{{Name: "a"}}}
		}},
		{"holds another one", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) {
			k.Steps[1].Repeat = &pawl.Repeat{Max: 2, Until: []string{"DONE"}, OnMax: "fail", Steps: []pawl.Step{{Name: "a", Repeat: &pawl.Repeat{}}}}
		}},
		{"can only be among the steps", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) {
			k.FinalSteps = []pawl.Step{{Name: "a", Repeat: &pawl.Repeat{}}}
		}},
		{"step implement has tier 7", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Steps[1].Tier = 7 }},
		{`step implement runs for each of "files"`, func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Steps[1].ForEach = "files" }},
		{`tier from "mood"`, func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Steps[1].TierFrom = "mood" }},
		{`check "weather"`, func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) {
			k.Steps[1].Check = &pawl.Check{Name: "weather"}
		}},
		{"gate quality: want one of", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Gates[0].Human = true }},
		{"gate quality: want one of", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Gates[0].Commands = nil }},
		{"gate quality: retry leads to", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) {
			k.Gates[0].On = map[pawl.Verdict]pawl.Route{"retry": {}}
		}},
		{`gate quality: retry leads to "nowhere"`, func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) {
			k.Gates[0].On = map[pawl.Verdict]pawl.Route{"retry": {From: "nowhere", Max: 1}}
		}},
		{`gate guess is the check "luck"`, func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) {
			k.FinalGates = []pawl.Stage{{Name: "guess", Builtin: "luck"}}
		}},
		{"review requirements: want a tier", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Gates[1].Review.Tier = 0 }},
		{"at most 9 votes", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Gates[1].Review.Votes = 10 }},
		{`ends in "prayer"`, func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Ladder.Then = "prayer" }},
		{"rising tiers", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Ladder.Rungs[2].Tier = 1 }},
		{"stuck is 9", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Ladder.Stuck = 9 }},
		{"the council", func(_ *pawl.Recipe, k *pawl.LoopKind, _ *pawl.Settings) { k.Ladder.Council.Lenses = nil }},
		{"tier 2 has no output limit", func(_ *pawl.Recipe, _ *pawl.LoopKind, s *pawl.Settings) { s.Models[1].MaxOutput = 0 }},
		{"retry.tries is 0", func(_ *pawl.Recipe, _ *pawl.LoopKind, s *pawl.Settings) { s.Retry.Tries = 0 }},
		{`gate "x" has no kind`, func(_ *pawl.Recipe, _ *pawl.LoopKind, s *pawl.Settings) { s.Gates = []pawl.GateSpec{{Name: "x"}} }},
		{`gate "requirements"`, func(_ *pawl.Recipe, _ *pawl.LoopKind, s *pawl.Settings) {
			s.Gates = []pawl.GateSpec{gate("requirements")}
		}},
		{`gate "tests"`, func(_ *pawl.Recipe, _ *pawl.LoopKind, s *pawl.Settings) {
			s.Gates = []pawl.GateSpec{gate("tests"), gate("tests")}
		}},
	} {
		t.Run(row.want, func(t *testing.T) {
			r, set := taskLoop(), settings()
			row.change(r, &r.Kinds[0], set)
			_, err := Decide(&State{}, Input{At: worldBegin, Start: &Start{Run: worldRun, Started: started(t, r, set)}})
			if err == nil || pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
	for _, row := range []struct {
		want   string
		change func(*pawl.Recipe, *pawl.Children)
	}{
		{`of kind "nobody"`, func(_ *pawl.Recipe, c *pawl.Children) { c.Kind = "nobody" }},
		{`from the step "gone"`, func(_ *pawl.Recipe, c *pawl.Children) { c.From = "gone" }},
		{"a child's tier comes from its task", func(r *pawl.Recipe, _ *pawl.Children) { r.Kinds[1].Complexity = &pawl.Bands{From: "implement"} }},
		{"a review of batches", func(_ *pawl.Recipe, c *pawl.Children) { c.Review = &pawl.Review{} }},
		{"are judged as a whole, and cannot be rolling", func(_ *pawl.Recipe, c *pawl.Children) { c.ScaffoldFirst, c.Batch = true, "rolling" }},
		{"no way to make the plan anew", func(_ *pawl.Recipe, c *pawl.Children) {
			c.Batch, c.Monitor = "", map[string][]string{"STALLED": {"revise"}}
		}},
		{"no checkpoints", func(_ *pawl.Recipe, c *pawl.Children) {
			c.Batch, c.Monitor = "", map[string][]string{"REGRESSING": {"rollback"}}
		}},
		{`leads to "hope"`, func(_ *pawl.Recipe, c *pawl.Children) {
			c.Batch, c.Monitor = "", map[string][]string{"STALLED": {"hope"}}
		}},
		{"may have 0 versions", func(_ *pawl.Recipe, c *pawl.Children) { c.Replan = &pawl.Replan{} }},
		{"request, which stands above it", func(r *pawl.Recipe, c *pawl.Children) {
			below := *c
			below.From, below.Kind = "implement", "request"
			r.Kinds[1].Children = &below
		}},
		{"go with neither", func(r *pawl.Recipe, c *pawl.Children) {
			leaf := r.Kinds[1]
			leaf.Name = "leaf"
			r.Kinds[1].Children = &pawl.Children{From: "implement", Kind: "leaf"}
			r.Kinds = append(r.Kinds, leaf)
			c.ScaffoldFirst, c.Batch = true, ""
		}},
		{`approval by "nobody"`, func(r *pawl.Recipe, _ *pawl.Children) { r.Kinds[0].Approval = &pawl.Approval{By: "nobody"} }},
	} {
		t.Run(row.want, func(t *testing.T) {
			r := treeLoop()
			row.change(r, r.Kinds[0].Children)
			_, err := Decide(&State{}, Input{At: worldBegin, Start: &Start{Run: worldRun, Started: started(t, r, settings())}})
			if err == nil || pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
	for _, row := range []struct {
		want   string
		change func(*pawl.Recipe, *pawl.Settings)
	}{
		{"never approved automatically", func(_ *pawl.Recipe, s *pawl.Settings) { s.Approval = "auto" }},
		{"never approved automatically", func(_ *pawl.Recipe, s *pawl.Settings) { s.Approval = "confidence_threshold" }},
		{"never approved automatically", func(_ *pawl.Recipe, s *pawl.Settings) { s.Approval = "manual" }},
		{"says itself where a person is asked", func(r *pawl.Recipe, s *pawl.Settings) { r.Kinds[0].Approval, s.Approval = nil, "human" }},
		{`an approval by "auto", and its children cascade`, func(r *pawl.Recipe, _ *pawl.Settings) { r.Kinds[0].Approval.By = "auto" }},
		{"kind code has none", func(r *pawl.Recipe, _ *pawl.Settings) { r.Kinds[3].Gates[0].Builtin = wellFormed }},
		{"children of kind spec cascade", func(r *pawl.Recipe, _ *pawl.Settings) { r.Kinds[1].Children.Batch = "rolling" }},
		{"children of kind spec cascade", func(r *pawl.Recipe, _ *pawl.Settings) { r.Kinds[1].Children.OnFailure = "block" }},
		{"children of kind spec cascade", func(r *pawl.Recipe, _ *pawl.Settings) {
			r.Kinds[1].Children.Replan = &pawl.Replan{MaxVersions: 1}
		}},
	} {
		t.Run(row.want, func(t *testing.T) {
			r, set := levels(), settings()
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
		Outcome: pawl.OutcomeComplete, Reason: "every gate passed", Iteration: 2, Max: 10, Tier: "haiku",
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
