package kernel

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// agentRun starts a run whose tiers are coding agents, in which rules say what happens. Change may
// adjust the settings; it may be nil.
func agentRun(t *testing.T, change func(*pawl.Recipe, *pawl.Settings), rules ...string) *world {
	t.Helper()
	w := newWorld(t)
	s := &script{w: w}
	for _, line := range rules {
		s.rules = append(s.rules, parseRule(t, line))
	}
	w.happens = s.happens
	r, set := taskLoop(), settings()
	easy(r, set)
	for i := range set.Models {
		set.Models[i].Agent = true
	}
	if change != nil {
		change(r, set)
	}
	w.start(r, set)
	return w
}

// turnOf lands effects until a turn of a step is open that is none of those before, and returns it.
func (w *world) turnOf(step string, before ...*pawl.Effect) *pawl.Effect {
	w.t.Helper()
	for {
	open:
		for _, f := range Pending(w.state) {
			for _, b := range before {
				if f.ID == b.ID {
					continue open
				}
			}
			if isTurn(f) && f.Place.Step == step {
				return f
			}
		}
		if !w.land() {
			w.t.Fatalf("there is no turn of %s", step)
		}
	}
}

func agentCall(f *pawl.Effect) *pawl.AgentCall { return f.Do.(*pawl.CallModel).Agent }

func (w *world) finish() {
	w.t.Helper()
	for w.state.Status != pawl.StatusEnded {
		if !w.land() {
			w.t.Fatal("the run waits for nothing")
		}
	}
}

// After a crash an agent continues its session with the tree that it had left, which a ref keeps.
func TestAgentContinuesAfterCrash(t *testing.T) {
	w := agentRun(t, nil)
	first := w.turnOf("implement")
	if a := agentCall(first); a.Session != "" || a.From != 0 || a.Before != w.tree {
		t.Errorf("the first turn is %+v", a)
	}
	w.mustTake(Input{Turn: &pawl.AgentProgressed{Effect: first.ID, Session: "s1"}})
	w.tree = "half"
	w.crash(time.Minute)
	second := w.turnOf("implement", first)
	if a := agentCall(second); a.Session != "s1" || a.From != 1 || a.Before != "half" {
		t.Errorf("the turn after the crash is %+v", a)
	}
	if looks := requests[*pawl.InspectWorkspace](w); len(looks) != 1 || !strings.HasPrefix(looks[0].Do.(*pawl.InspectWorkspace).Salvage, "refs/pawl/salvage/") {
		t.Errorf("the worktree was looked at by %+v", looks)
	}
	w.finish()
	if n := len(all[*pawl.WorkspaceReset](w)) + len(all[*pawl.IterationRestarted](w)); n != 0 || w.state.Outcome != pawl.OutcomeUnverified {
		t.Errorf("%d resets and restarts; the run ended %s", n, w.state.Outcome)
	}
}

// Without a session that can be continued, what the agent had written is set aside, and the iteration
// starts again. The agent is shown what that was, in this iteration only.
func TestAgentStartsAgainAfterCrash(t *testing.T) {
	for _, name := range []string{"unknown", "lost"} {
		w := agentRun(t, func(_ *pawl.Recipe, s *pawl.Settings) { s.Gates = []pawl.GateSpec{gate("tests")} }, "iteration 1 tests: fail a")
		f := w.turnOf("implement")
		if name == "lost" {
			w.mustTake(Input{Turn: &pawl.AgentProgressed{Effect: f.ID, Session: "s1"}})
		}
		w.tree = "half"
		w.crash(time.Minute)
		if name == "lost" {
			f = w.turnOf("implement", f)
			w.mustTake(Input{Answer: failed(f, pawl.FailureCode(pawl.ModelNoSession), "gone")})
		}
		w.finish()
		if resets := all[*pawl.WorkspaceReset](w); len(resets) != 1 || resets[0].Salvage == "" || len(all[*pawl.IterationRestarted](w)) != 1 {
			t.Errorf("%s: the worktree was reset %d times", name, len(resets))
		}
		for _, f := range requests[*pawl.AssemblePrompt](w) {
			told := slices.ContainsFunc(f.Do.(*pawl.AssemblePrompt).Feedback, func(b pawl.Feedback) bool {
				return b.From == "interrupted session" && b.Evidence == blobOf("what was removed")
			})
			if want := f.Place.Step == "implement" && f.Place.Iteration == 1 && f.Place.Attempt == 2; told != want {
				t.Errorf("%s: the prompt of %s is told of what was removed: %t", name, f.Place, told)
			}
		}
	}
}

// What a session with a model had written before a crash is set aside, and not told to the next one.
func TestModelIsNotToldAfterCrash(t *testing.T) {
	w := fallbackRun(t, false, func(*pawl.Recipe, *pawl.Settings) {})
	for len(w.choices("implement")) == 0 {
		w.land()
	}
	w.tree = "half"
	w.crash(time.Minute)
	w.finish()
	for _, f := range requests[*pawl.ResetWorkspace](w) {
		if f.Do.(*pawl.ResetWorkspace).Diff {
			t.Error("the reset keeps the diff of what it removes")
		}
	}
	if len(all[*pawl.WorkspaceReset](w)) != 1 {
		t.Errorf("%d resets", len(all[*pawl.WorkspaceReset](w)))
	}
}

// An agent that has forgotten its session begins another at once; what it has written stays.
func TestAgentForgets(t *testing.T) {
	w := agentRun(t, nil, "implement turn 1: calls board=list", "implement turn 2: error no_session x1")
	second := w.turnOf("implement", w.turnOf("implement"))
	if a := agentCall(second); a.Session == "" || a.From != 2 {
		t.Errorf("the second turn is %+v", a)
	}
	third := w.turnOf("implement", second)
	if a, do := agentCall(third), third.Do.(*pawl.CallModel); a.Session != "" || a.Before != w.tree || do.Try != 1 || do.Items <= 3 {
		t.Errorf("the turn of a new session is %+v, %+v", do, a)
	}
	w.finish()
	if n := len(all[*pawl.WorkspaceReset](w)) + len(requests[*pawl.Wait](w)); n != 0 {
		t.Errorf("%d resets and waits", n)
	}
}

// A reply whose calls were answered during the turn needs no further turn. One that still has to be
// told something does.
func TestAgentIsTold(t *testing.T) {
	optional := func(r *pawl.Recipe, _ *pawl.Settings) { r.Kinds[0].Steps[1].Required = false }
	for rule, turns := range map[string]int{
		"implement: says": 1, "implement turn 1: calls remember=learning/x": 1, "implement turn 1: calls board=list": 2, "implement turn 1: calls submit": 1, "implement turn 1: calls remember=learning/x board=list": 2,
	} {
		w := agentRun(t, optional, rule)
		w.finish()
		n := 0
		for _, f := range requests[*pawl.CallModel](w) {
			if f.Place.Step == "implement" && f.Place.Iteration == 1 {
				n++
			}
		}
		if n != turns {
			t.Errorf("%s: %d turns, want %d", rule, n, turns)
		}
	}
}

// A session reserves what is left of its cap and ends when that is used up. With a plan it costs no
// money, and what it is worth counts against the session's cap all the same.
func TestAgentCap(t *testing.T) {
	for name, plan := range map[string]bool{"key": false, "plan": true} {
		w := agentRun(t, func(_ *pawl.Recipe, s *pawl.Settings) {
			s.Session.Money = 500_000
			for i := range s.Models {
				s.Models[i].Plan = plan
			}
		}, "implement: calls board=list")
		first := w.turnOf("implement")
		second := w.turnOf("implement", first)
		want := [2]pawl.Micros{500_000, 200_000}
		if plan {
			want = [2]pawl.Micros{}
		}
		if got := [2]pawl.Micros{first.Do.(*pawl.CallModel).Reserved, second.Do.(*pawl.CallModel).Reserved}; got != want {
			t.Errorf("%s: reserved %v, want %v", name, got, want)
		}
		if a := agentCall(second); a.Spent != 300_000 || a.Used.Total() != 1400 {
			t.Errorf("%s: the second turn is %+v", name, a)
		}
		w.land()
		ended := all[*pawl.SessionEnded](w)
		if last := ended[len(ended)-1]; last.Result != pawl.SessionTurns || last.Reason != "it used $0.60, and a session may use $0.50" {
			t.Errorf("%s: the session ended %+v", name, last)
		}
		limits := all[*pawl.LimitReached](w)
		if len(limits) != 1 || limits[0].Limit != pawl.LimitMoney || limits[0].Value != 600_000 {
			t.Errorf("%s: limits %+v", name, limits)
		}
		replies := all[*pawl.ModelReplied](w)
		if last := replies[len(replies)-1]; last.Agent.Worth != 300_000 || (last.Cost == 0) != plan || (w.state.Spent.Money == 0) != plan || w.state.Spent.Tokens == 0 {
			t.Errorf("%s: the last reply is %+v %+v, and %v is spent", name, last, last.Agent, w.state.Spent)
		}
	}
}

// A session reserves no more than the run has left.
func TestAgentReservesWhatIsLeft(t *testing.T) {
	w := agentRun(t, func(_ *pawl.Recipe, s *pawl.Settings) { s.Limits.Money, s.Limits.Tokens = 310_000, 7000 }, "implement: calls board=list")
	first := w.turnOf("implement")
	if do := first.Do.(*pawl.CallModel); do.Reserved != 310_000 || do.ReservedTokens != 7000 {
		t.Errorf("the first turn reserves %s and %d tokens", do.Reserved, do.ReservedTokens)
	}
	second := w.turnOf("implement", first)
	if do := second.Do.(*pawl.CallModel); do.Reserved != 10_000 || do.ReservedTokens != 5600 {
		t.Errorf("the second turn reserves %s and %d tokens", do.Reserved, do.ReservedTokens)
	}
	w.finish()
	if w.state.Outcome != pawl.OutcomeHalted || !strings.Contains(w.state.Reason, "the limit on money is $0.31") {
		t.Errorf("the run ended %s: %s", w.state.Outcome, w.state.Reason)
	}
}

// An agent that was ended at its cap ends its session.
func TestAgentCapped(t *testing.T) {
	w := agentRun(t, nil, "implement iteration 1: says capped")
	w.turnOf("implement", w.turnOf("implement"))
	if ended := all[*pawl.SessionEnded](w)[0]; ended.Result != pawl.SessionTurns || ended.Reason != "it reached the limit on what a session may use" {
		t.Errorf("the session ended %+v", ended)
	}
}

// A worktree that an agent changed and may only read is reset before anything uses it.
func TestAgentChangesWhatItMayOnlyRead(t *testing.T) {
	w := agentRun(t, nil, "requirements iteration 1: changes x1")
	w.finish()
	if resets := all[*pawl.WorkspaceReset](w); len(resets) != 1 {
		t.Errorf("the worktree was reset %d times", len(resets))
	}
}

// What a failed turn has written stays for its next try, which is told apart from a lost one.
func TestAgentTriesAgain(t *testing.T) {
	w := agentRun(t, nil)
	first := w.turnOf("implement")
	w.mustTake(Input{Turn: &pawl.AgentProgressed{Effect: first.ID, Session: "s1"}})
	w.tree = "half"
	why := failed(first, pawl.FailureCode(pawl.ModelOverloaded), "no")
	why.Failure.Used = pawl.Usage{Input: 1000}
	w.mustTake(Input{Answer: why})
	second := w.turnOf("implement", first)
	if a := agentCall(second); a.Session != "s1" || a.From != 1 || a.Before != "half" || a.Used.Input != 1000 || a.Spent != 1000 || second.Do.(*pawl.CallModel).Try != 2 {
		t.Errorf("the second try is %+v", a)
	}
}

// A session of an agent may take at least what the settings give such sessions: the recipe's time is meant for
// sessions of models, and wins where it is longer. F-124
func TestAgentTimeout(t *testing.T) {
	w := agentRun(t, func(r *pawl.Recipe, _ *pawl.Settings) {
		if r.Kinds[0].Steps[1].Timeout != 5*time.Minute || r.Kinds[0].Gates[1].Timeout == 0 {
			t.Fatal("the recipe's steps have no time of their own")
		}
		r.Kinds[0].Gates[1].Timeout = 2 * time.Hour
	})
	w.finish()
	for _, b := range all[*pawl.SessionStarted](w) {
		want := 45 * time.Minute
		if b.Place.Step == "requirements" {
			want = 2 * time.Hour
		}
		if b.Timeout != want {
			t.Errorf("%s has a timeout of %s, want %s", b.Place.Step, b.Timeout, want)
		}
	}
	for _, f := range requests[*pawl.CallModel](w) {
		if f.Timeout > 45*time.Minute || f.Timeout < 44*time.Minute {
			t.Errorf("a turn of %s may take %s", f.Place.Step, f.Timeout)
		}
	}
}

// A tier that goes over from a model to an agent gives the agent its time, from the session's beginning. F-124
func TestAgentInPlaceOfModelHasItsTime(t *testing.T) {
	w := agentRun(t, func(_ *pawl.Recipe, set *pawl.Settings) {
		for i := range set.Models {
			agent := set.Models[i]
			agent.Provider, set.Models[i].Agent = "agent", false
			set.Fallbacks[i] = []pawl.ModelChoice{agent}
		}
	}, "implement iteration 1: error auth x1")
	w.finish()
	turns := 0
	for _, f := range requests[*pawl.CallModel](w) {
		if agentCall(f) != nil && f.Place.Step == "implement" {
			if turns++; f.Timeout > 45*time.Minute || f.Timeout < 44*time.Minute {
				t.Errorf("the agent's turn may take %s", f.Timeout)
			}
		}
	}
	if turns == 0 {
		t.Error("no agent took over")
	}
}

// An agent as slow as real ones is not cut off: sessions of twenty minutes and reviews of three, in every recipe.
// F-124
func TestSlowAgents(t *testing.T) {
	w := agentRun(t, nil, "implement: submits takes 1200s", "requirements: submits takes 180s", "assess: submits takes 180s")
	w.finish()
	for _, b := range all[*pawl.SessionEnded](w) {
		if b.Result != pawl.SessionDone {
			t.Errorf("session %d ended %s: %s", b.Session, b.Result, b.Reason)
		}
	}
	if w.state.Outcome != pawl.OutcomeUnverified || len(all[*pawl.Escalated](w)) > 0 {
		t.Errorf("the run ended %s: %s", w.state.Outcome, w.state.Reason)
	}
}

// An agent whose time is up is told so in its own session, and has one short turn to hand in what it has. A session that
// ends without it is over: it has no second one with twice the time. F-124 D-59
func TestAgentHandsInWhenItsTimeIsUp(t *testing.T) {
	for _, row := range []struct {
		name     string
		session  string // that the agent tells of
		rules    string
		judge    bool // what was made is judged when the time is used up
		turns    int
		sessions int
		result   pawl.SessionResult
	}{
		{name: "it hands in", session: "s1", turns: 2, sessions: 1, result: pawl.SessionDone},
		{name: "it goes on", session: "s1", rules: "implement iteration 1: submits takes 3000s", turns: 2, sessions: 1, result: pawl.SessionTimeout},
		{name: "it goes on, and its work is judged", session: "s1", rules: "implement iteration 1: submits takes 3000s", judge: true, turns: 2, sessions: 1, result: pawl.SessionTimeout},
		{name: "its session is not known", turns: 1, sessions: 1, result: pawl.SessionTimeout},
	} {
		rules := []string{"iteration 1 assess: submits"}
		if row.rules != "" {
			rules = append(rules, row.rules)
		}
		w := agentRun(t, func(r *pawl.Recipe, _ *pawl.Settings) {
			if row.judge {
				r.Kinds[0].Steps[1].TimeCap = pawl.TurnCapJudge
			}
		}, rules...)
		first := w.turnOf("implement")
		if row.session != "" {
			w.mustTake(Input{Turn: &pawl.AgentProgressed{Effect: first.ID, Session: row.session, Used: pawl.Usage{Input: 100}}})
		}
		w.now = w.now.Add(45 * time.Minute)
		w.mustTake(Input{Answer: failed(first, pawl.FailTimeout, "it took too long")})
		w.finish()
		var turns []*pawl.Effect
		for _, f := range requests[*pawl.CallModel](w) {
			if f.Place.Step == "implement" && f.Place.Iteration == 1 {
				turns = append(turns, f)
			}
		}
		ended := 0
		for _, b := range all[*pawl.SessionEnded](w) {
			if b.Session == first.Session {
				if b.Result != row.result {
					t.Errorf("%s: the session ended %s: %s", row.name, b.Result, b.Reason)
				}
			}
		}
		for _, b := range all[*pawl.SessionStarted](w) {
			if b.Place.Step == "implement" && b.Place.Iteration == 1 {
				if ended++; b.Timeout > 45*time.Minute {
					t.Errorf("%s: a session has %s", row.name, b.Timeout)
				}
			}
		}
		if len(turns) != row.turns || ended != row.sessions {
			t.Fatalf("%s: %d turns in %d sessions", row.name, len(turns), ended)
		}
		if row.turns > 1 {
			last := turns[1]
			if a := agentCall(last); a.Session != "s1" || a.From != 1 || last.Timeout != 5*time.Minute {
				t.Errorf("%s: the last turn is %+v, for %s", row.name, a, last.Timeout)
			}
			notes := all[*pawl.NoteAdded](w)
			i := slices.IndexFunc(notes, func(b *pawl.NoteAdded) bool { return b.More == 5*time.Minute && b.Session == first.Session })
			if i < 0 || !strings.HasPrefix(notes[i].Text, "Your time is up: hand in what you have") || last.Do.(*pawl.CallModel).Items != 2 {
				t.Errorf("%s: the agent was told %+v", row.name, notes)
			}
		}
	}
}

// A recipe's limit on a session wins over that of the settings.
func TestRecipeCapsAgent(t *testing.T) {
	w := agentRun(t, func(r *pawl.Recipe, set *pawl.Settings) {
		set.Session = pawl.SessionLimits{Money: 500_000, Tokens: 700_000}
		i := slices.IndexFunc(r.Kinds[0].Steps, func(s pawl.Step) bool { return s.Name == "implement" })
		r.Kinds[0].Steps[i].Cap = pawl.SessionCap{Tokens: 90_000}
		for i := range r.Kinds[0].Gates {
			if review := r.Kinds[0].Gates[i].Review; review != nil {
				review.Cap = pawl.SessionCap{Money: 30_000}
			}
		}
	})
	w.finish()
	want := map[string][2]int64{"implement": {500_000, 90_000}, "requirements": {30_000, 700_000}}
	for _, f := range requests[*pawl.CallModel](w) {
		do := f.Do.(*pawl.CallModel)
		if cap, ok := want[f.Place.Step]; ok && (int64(do.Reserved) != cap[0] || do.ReservedTokens != cap[1]) {
			t.Errorf("a turn of %s reserves %s and %d tokens", f.Place.Step, do.Reserved, do.ReservedTokens)
		}
		delete(want, f.Place.Step)
	}
	if len(want) > 0 {
		t.Errorf("there was no turn of %v", want)
	}
}

// A turn that is lost is charged what it had used when it last told, and a tenth of its reservation
// more. F-63
func TestLostTurnsAreCharged(t *testing.T) {
	for name, row := range map[string]struct {
		told *pawl.AgentProgressed
		want pawl.Micros
	}{
		"Nothing": {nil, 2 * pawl.Dollars},
		"Session": {&pawl.AgentProgressed{Session: "s1"}, 2 * pawl.Dollars},
		"Some":    {&pawl.AgentProgressed{Session: "s1", Used: pawl.Usage{Input: 100_000}, Worth: 500_000}, 700_000},
		"All":     {&pawl.AgentProgressed{Used: pawl.Usage{Input: 100_000}, Worth: 1_950_000}, 2 * pawl.Dollars},
	} {
		for _, how := range []string{"lost", "withdrawn", "failed"} {
			w := agentRun(t, nil)
			f := w.turnOf("implement")
			if row.told != nil {
				b := *row.told
				b.Effect = f.ID
				w.mustTake(Input{Turn: &b})
			}
			switch how {
			case "lost":
				w.crash(time.Second)
			case "withdrawn":
				w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}})
			case "failed":
				w.mustTake(Input{Answer: failed(f, pawl.FailTimeout, "it took too long")})
			}
			if got := w.state.Spent.Money; got != row.want {
				t.Errorf("%s, %s: charged %s, want %s", name, how, got, row.want)
			}
		}
	}
}

// A person's info reaches an agent in the middle of its turn, if the agent can hear. What it has heard
// is not in the next session's prompt; what it has not heard is.
func TestAgentHears(t *testing.T) {
	for _, row := range []struct {
		hears bool
		heard int
		want  []string // of the next prompt
	}{
		{true, 2, []string{"three"}},
		{true, 9, nil},
		{true, 0, []string{"one", "two", "three"}},
		{false, 0, []string{"one", "two", "three"}},
	} {
		w := agentRun(t, func(_ *pawl.Recipe, s *pawl.Settings) {
			for i := range s.Models {
				s.Models[i].Hears = row.hears
			}
		}, "requirements iteration 1: submits decision=fail unmet=AC-1 met=1 total=2")
		script := w.happens
		w.happens = func(f *pawl.Effect) (pawl.Answer, time.Duration) {
			a, takes := script(f)
			if b, ok := a.(*pawl.ModelReplied); ok && f.Place.Step == "implement" && f.Place.Iteration == 1 {
				b.Agent.Heard = row.heard
			}
			return a, takes
		}
		turn := w.turnOf("implement")
		for _, text := range []string{"one", "two", "three"} {
			if err := w.steer(pawl.Steering{Verb: pawl.SteerSignal, Signal: &pawl.Signaling{Signal: pawl.SignalInfo, To: w.state.Loop(1).ID, Text: text}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, b := range all[*pawl.SignalSent](w) {
			if (b.Turn == turn.ID) != row.hears {
				t.Errorf("hears %t: signal %d was sent to turn %d, and %d is open", row.hears, b.N, b.Turn, turn.ID)
			}
		}
		for len(prompts(w, "implement")) < 2 && w.land() { // until the next iteration
		}
		var got []string
		for _, f := range prompts(w, "implement")[1].Feedback {
			for _, text := range []string{"one", "two", "three"} {
				if f.Evidence == pawl.HashOf([]byte(text)) {
					got = append(got, text)
				}
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("hears %t, heard %d: the next prompt has %q, want %q", row.hears, row.heard, got, row.want)
		}
	}
}

// An info that is sent when no turn is open, or in the turn of a reviewer, is in the next prompt.
func TestAgentHearsInTurnsOfSteps(t *testing.T) {
	w := agentRun(t, func(_ *pawl.Recipe, s *pawl.Settings) {
		for i := range s.Models {
			s.Models[i].Hears = true
		}
	})
	w.turnOf("requirements")
	if err := w.steer(pawl.Steering{Verb: pawl.SteerSignal, Signal: &pawl.Signaling{Signal: pawl.SignalInfo, To: w.state.Loop(1).ID, Text: "one"}}); err != nil {
		t.Fatal(err)
	}
	if b := all[*pawl.SignalSent](w); len(b) != 1 || b[0].Turn != 0 {
		t.Errorf("the signals are %+v", b)
	}
}

// What the agent's last command led to comes from what it shows of its calls. It is not judged if
// the agent does not show all of them.
func TestToolResultsOfAgent(t *testing.T) {
	for _, c := range []struct {
		rule  string
		hides bool
		want  pawl.Verdict
	}{
		{"implement: runs x1", false, pawl.VerdictPass},
		{"implement: fails x1", false, pawl.VerdictFail},
		{"implement: fails x1", true, pawl.VerdictSkip},
		{"implement: runs x1", true, pawl.VerdictSkip},
	} {
		w := agentRun(t, func(r *pawl.Recipe, s *pawl.Settings) {
			r.Kinds[0].Gates = append(r.Kinds[0].Gates, pawl.Stage{Name: "commands", Builtin: toolResults})
			for i := range s.Models {
				s.Models[i].Hides = c.hides
			}
		}, c.rule)
		w.finish()
		var got pawl.Verdict
		for _, b := range all[*pawl.GateJudged](w) {
			if b.Gate == "commands" && got == "" {
				got = b.Verdict
			}
		}
		if got != c.want {
			t.Errorf("%s, hides %t: %s, want %s", c.rule, c.hides, got, c.want)
		}
	}
}
