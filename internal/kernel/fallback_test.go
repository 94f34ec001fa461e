package kernel

import (
	"slices"
	"testing"
	"time"

	"pawl"
)

// withFallbacks gives each tier further models. Those whose name begins with "agent" are coding agents.
func withFallbacks(names ...string) func(*pawl.Recipe, *pawl.Settings) {
	return func(_ *pawl.Recipe, s *pawl.Settings) {
		for i := range s.Models {
			for _, name := range names {
				m := s.Models[i]
				m.Name, m.Provider, m.Agent = name, name, name[:5] == "agent"
				s.Fallbacks[i] = append(s.Fallbacks[i], m)
			}
		}
	}
}

// fallbackRun starts a run with fallbacks, in which rules say what happens.
func fallbackRun(t *testing.T, agents bool, change func(*pawl.Recipe, *pawl.Settings), rules ...string) *world {
	t.Helper()
	return agentRun(t, func(r *pawl.Recipe, s *pawl.Settings) {
		for i := range s.Models {
			s.Models[i].Agent = agents
		}
		change(r, s)
	}, rules...)
}

// choices returns which models the calls of a step went to.
func (w *world) choices(step string) (out []int) {
	for _, f := range requests[*pawl.CallModel](w) {
		if f.Place.Step == step {
			out = append(out, f.Do.(*pawl.CallModel).Choice)
		}
	}
	return out
}

// A call that fails because of its model or provider goes to the next model of the tier, and no counter
// moves.
func TestFallback(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		choices    []int
		waits      int
		rest       time.Duration // how long the first model rests; -1 = no tier was switched
		outcome    pawl.Outcome
	}{
		{"unknown model", "implement: error unknown_model x1", []int{0, 1}, 0, 0, pawl.OutcomeUnverified},
		{"refused key", "implement: error auth x1", []int{0, 1}, 0, 30 * time.Minute, pawl.OutcomeUnverified},
		{"no server", "implement: error no_server x1", []int{0, 1}, 0, 30 * time.Minute, pawl.OutcomeUnverified},
		{"quota", "implement: error quota x1", []int{0, 1}, 0, 30 * time.Minute, pawl.OutcomeUnverified},
		{"quota with a late reset", "implement: error quota wait=31m x1", []int{0, 1}, 0, 31 * time.Minute, pawl.OutcomeUnverified},
		{"quota with an early reset", "implement: error quota wait=30m x1", []int{0, 0}, 1, -1, pawl.OutcomeUnverified},
		{"limit with a late reset", "implement: error rate_limit wait=2h x1", []int{0, 1}, 0, 2 * time.Hour, pawl.OutcomeUnverified},
		{"short outage", "implement: error overloaded x2", []int{0, 0, 0}, 2, -1, pawl.OutcomeUnverified},
		{"outage", "implement: error overloaded x3", []int{0, 0, 0, 1}, 2, 30 * time.Minute, pawl.OutcomeUnverified},
		{"outage of both", "implement: error network x6", []int{0, 0, 0, 1, 1, 1, 2}, 4, 30 * time.Minute, pawl.OutcomeUnverified},
		{"long context", "implement: error context_too_long x1", []int{0, 1}, 0, -1, pawl.OutcomeUnverified},
		{"no further model", "implement: error unknown_model", []int{0, 1, 2}, 0, 0, pawl.OutcomeHalted},
		{"refusal", "implement: error refused x1", []int{0}, 0, -1, ""},
		{"bad request", "implement: error bad_request", []int{0}, 0, -1, pawl.OutcomeHalted},
		{"our machine", "implement: breaks x3", []int{0, 0, 0, 0}, 3, -1, pawl.OutcomeUnverified},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := fallbackRun(t, false, withFallbacks("second", "third"), c.rule)
			w.finish()
			if got := w.choices("implement"); !slices.Equal(got[:min(len(got), len(c.choices))], c.choices) {
				t.Errorf("the calls went to the models %v, want %v", got, c.choices)
			}
			if got := len(requests[*pawl.Wait](w)); got != c.waits {
				t.Errorf("%d waits, want %d", got, c.waits)
			}
			if c.outcome != "" && w.state.Outcome != c.outcome {
				t.Errorf("the run ended %s: %s", w.state.Outcome, w.state.Reason)
			}
			rest := time.Duration(-1)
			for _, b := range all[*pawl.ModelSwitched](w) {
				if !b.SessionOnly && rest < 0 {
					rest = b.For
				}
			}
			if rest != c.rest {
				t.Errorf("the model rests for %s, want %s", rest, c.rest)
			}
			if c.outcome == pawl.OutcomeUnverified {
				if n := len(all[*pawl.Escalated](w)) + len(all[*pawl.IterationEnded](w)) - 1; n != 0 {
					t.Errorf("%d further iterations and changes of the tier", n)
				}
			}
		})
	}
}

// Without a fallback everything is as it was.
func TestNoFallback(t *testing.T) {
	w := fallbackRun(t, false, func(*pawl.Recipe, *pawl.Settings) {}, "implement: error quota wait=5h x1")
	w.finish()
	if len(requests[*pawl.Wait](w)) != 1 || len(all[*pawl.ModelSwitched](w)) != 0 || w.state.Outcome != pawl.OutcomeUnverified {
		t.Errorf("the run ended %s with %d waits", w.state.Outcome, len(requests[*pawl.Wait](w)))
	}
}

// A tier's own model is tried again when the wait for it is over, by either clock.
func TestOwnModelAgain(t *testing.T) {
	for name, takes := range map[string]string{"soon": "1s", "alive": "100s", "between": "1s"} {
		w := fallbackRun(t, false, func(r *pawl.Recipe, s *pawl.Settings) {
			withFallbacks("second")(r, s)
			s.FallbackAfter, s.Gates = 90*time.Second, []pawl.GateSpec{gate("tests")}
		}, "implement: error quota x1", "iteration 1 tests: fail a takes "+takes)
		for len(w.choices("implement")) < 2 {
			if !w.land() {
				t.Fatal("the run waits for nothing")
			}
		}
		if name == "between" {
			w.crash(4 * time.Minute)
		}
		w.finish()
		if got := w.choices("implement"); len(got) < 3 || (got[len(got)-1] == 1) != (name == "soon") {
			t.Errorf("%s: the calls went to the models %v", name, got)
		}
		again := 0
		for _, b := range all[*pawl.ModelSwitched](w) {
			if b.Session == 0 && b.To == 0 {
				again++
			}
		}
		if want := map[bool]int{false: 1}[name == "soon"]; again != want {
			t.Errorf("%s: the own model was tried again %d times, want %d", name, again, want)
		}
	}
}

// Either clock is enough: one goes on without a driver, and the other when the clock is set back.
func TestRestIsOver(t *testing.T) {
	since := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		choice             int
		rest, clock, alive time.Duration
		want               bool
	}{
		"Clock":    {1, time.Hour, time.Hour, 0, true},
		"Alive":    {1, time.Hour, -time.Hour, time.Hour, true},
		"Neither":  {1, time.Hour, time.Hour - 1, time.Hour - 1, false},
		"Forever":  {1, 0, time.Hour, time.Hour, false},
		"OwnModel": {0, time.Hour, time.Hour, time.Hour, false},
	} {
		u := inUse{choice: row.choice, since: since, alive: time.Minute, rest: row.rest}
		if got := u.isOver(since.Add(row.clock), time.Minute+row.alive); got != row.want {
			t.Errorf("%s: the rest is over: %t", name, got)
		}
	}
}

// A session that has had replies starts again with another model and the transcript as text. It stays
// with that model, and a session that waits uses the tier's.
func TestFallbackTellsTheTranscript(t *testing.T) {
	for _, c := range []struct {
		name     string
		agents   bool
		fallback string
	}{
		{"model to model", false, "model"}, {"model to agent", false, "agent"}, {"agent to model", true, "model"}, {"agent to agent", true, "agent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := fallbackRun(t, c.agents, withFallbacks(c.fallback+"-2"), "implement turn 1: calls board=list", "implement turn 2: error quota x1", "implement turn 2: calls board=list")
			w.finish()
			var calls []*pawl.CallModel
			for _, f := range requests[*pawl.CallModel](w) {
				if f.Place.Step == "implement" {
					calls = append(calls, f.Do.(*pawl.CallModel))
				}
			}
			if len(calls) < 4 || calls[1].Choice != 0 || calls[2].Choice != 1 || calls[3].Choice != 1 {
				t.Fatalf("the calls are %+v", calls)
			}
			first, next := calls[2], calls[3]
			if first.Foreign != first.Items || first.Items <= 1 || next.Foreign != first.Items || first.Try != 1 {
				t.Errorf("the calls are %+v and %+v", first, next)
			}
			if agent := c.fallback == "agent"; (first.Agent != nil) != agent || agent && (first.Agent.Session != "" || first.Agent.From != 0 || next.Agent.Session == "") {
				t.Errorf("the turns are %+v and %+v", first.Agent, next.Agent)
			}
			if w.state.Outcome != pawl.OutcomeUnverified {
				t.Errorf("the run ended %s: %s", w.state.Outcome, w.state.Reason)
			}
		})
	}
}

// What a coding agent did in its first turn, which failed, is told to the model that takes its place.
func TestFallbackTellsTheTurnThatFailed(t *testing.T) {
	for _, fallback := range []string{"model-2", "agent-2"} {
		w := fallbackRun(t, true, withFallbacks(fallback))
		f := w.turnOf("implement")
		quota := failed(f, pawl.FailureCode(pawl.ModelQuota), "used up")
		quota.Transcript = blobOf("half a turn")
		w.mustTake(Input{Answer: quota})
		w.finish()
		n := 0
		for _, f := range requests[*pawl.CallModel](w) {
			do := f.Do.(*pawl.CallModel)
			if f.Place.Step != "implement" || do.Choice != 1 {
				continue
			}
			if n++; n == 1 && (do.Items != 2 || do.Foreign != 2) {
				t.Errorf("%s: the call is %+v", fallback, do)
			}
		}
		if n == 0 {
			t.Errorf("%s: there are no calls of the fallback", fallback)
		}
	}
}

// What a call of a fallback costs is computed with its own prices.
func TestFallbackPrice(t *testing.T) {
	cost := func(double bool) pawl.Micros {
		w := fallbackRun(t, false, func(r *pawl.Recipe, s *pawl.Settings) {
			withFallbacks("second")(r, s)
			for i := range s.Fallbacks {
				if p := &s.Fallbacks[i][0].Price; double {
					p.Input, p.Output = 2*p.Input, 2*p.Output
				}
			}
		}, "implement: error unknown_model x1", "iteration 1 tests: pass")
		w.finish()
		var sum pawl.Micros
		for _, b := range all[*pawl.ModelReplied](w) {
			sum += b.Cost
		}
		return sum
	}
	if once, twice := cost(false), cost(true); twice <= once {
		t.Errorf("with doubled prices of the fallback the run cost %s, before %s", twice, once)
	}
}

// A person who resumes a run, and a change of accounts, concern the fallbacks too.
func TestFallbackAfterResume(t *testing.T) {
	w := fallbackRun(t, false, withFallbacks("second"), "implement: error unknown_model x2")
	w.finish()
	if w.state.inUse[0].choice == 0 || w.state.Outcome != pawl.OutcomeHalted {
		t.Fatalf("the run ended %s with %+v", w.state.Outcome, w.state.inUse)
	}
	to := pawl.Account{Provider: "second", Address: "https://other", Key: "k"}
	w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerResume, Accounts: []pawl.Account{to}}})
	if w.state.inUse != [3]inUse{} {
		t.Errorf("after the resume %+v is in use", w.state.inUse)
	}
	if got := w.state.Settings.Fallbacks[2][0].Account(); got != to {
		t.Errorf("the fallback's account is %+v", got)
	}
	w.finish()
	if w.state.Outcome != pawl.OutcomeUnverified {
		t.Errorf("the run ended %s: %s", w.state.Outcome, w.state.Reason)
	}
}

// What a recipe lets a session of a coding agent use holds for the next agent too, and so does the time
// limit of agents if the session began with a model.
func TestFallbackLimits(t *testing.T) {
	w := fallbackRun(t, true, func(r *pawl.Recipe, s *pawl.Settings) {
		withFallbacks("agent-2")(r, s)
		for i := range r.Kinds[0].Steps {
			r.Kinds[0].Steps[i].Cap = pawl.SessionCap{Money: 70_000}
		}
	}, "implement: error quota x1")
	w.turnOf("implement", w.turnOf("implement"))
	calls := requests[*pawl.CallModel](w)
	if do := calls[len(calls)-1].Do.(*pawl.CallModel); do.Choice != 1 || do.Reserved != 70_000 {
		t.Errorf("the call of the next agent is %+v", do)
	}
	w = fallbackRun(t, false, func(r *pawl.Recipe, s *pawl.Settings) {
		withFallbacks("agent-2")(r, s)
		for i := range r.Kinds[0].Steps {
			r.Kinds[0].Steps[i].Timeout = 0
		}
		s.Session.Time = 10 * time.Minute
	}, "implement: error quota x1", "implement turn 1: calls board=list takes 4m", "implement turn 2: calls board=list takes 4m", "implement turn 3: calls board=list takes 4m")
	w.finish()
	if reached := all[*pawl.LimitReached](w); len(reached) != 1 || reached[0].Limit != pawl.LimitTime || reached[0].Max != int64(10*time.Minute) {
		t.Errorf("the limits %+v were reached", reached)
	}
}

// When another session has switched the tier, a session that has had replies stays with its model. When
// a call of it fails too, it follows, and the tier stays as it is.
func TestFallbackOfAnotherSession(t *testing.T) {
	w := fallbackRun(t, false, withFallbacks("second", "third"), "implement turn 1: calls board=list", "implement turn 2: calls board=list", "implement turn 3: error quota x1")
	for len(w.choices("implement")) < 2 {
		if !w.land() {
			t.Fatal("the run waits for nothing")
		}
	}
	do := requests[*pawl.CallModel](w)
	tier := do[len(do)-1].Do.(*pawl.CallModel).Tier
	used := inUse{choice: 2, since: w.state.Last}
	w.state.inUse[tier-1], w.shadow.inUse[tier-1] = used, used
	for len(w.choices("implement")) < 4 {
		if !w.land() {
			t.Fatal("the run waits for nothing")
		}
	}
	if got := w.choices("implement"); !slices.Equal(got, []int{0, 0, 0, 2}) {
		t.Errorf("the calls went to the models %v", got)
	}
	if all := all[*pawl.ModelSwitched](w); len(all) != 1 || all[0].To != 2 || !all[0].SessionOnly || w.state.inUse[tier-1] != used {
		t.Errorf("switches %+v, and %+v is in use", all, w.state.inUse)
	}
}

// Whether a plan pays, and whose account a call waits for, is that of the model that is called.
func TestFallbackPays(t *testing.T) {
	for _, planOfFallback := range []bool{true, false} {
		w := fallbackRun(t, true, func(r *pawl.Recipe, s *pawl.Settings) {
			withFallbacks("agent-2")(r, s)
			for i := range s.Models {
				s.Models[i].Plan, s.Fallbacks[i][0].Plan = !planOfFallback, planOfFallback
			}
		}, "implement: error unknown_model x1", "implement: error quota wait=10m x1")
		w.finish()
		calls := map[pawl.Seq]*pawl.CallModel{}
		for _, f := range requests[*pawl.CallModel](w) {
			do := f.Do.(*pawl.CallModel)
			calls[f.ID] = do
			if isPlan := (do.Choice == 1) == planOfFallback; isPlan != (do.Reserved == 0) {
				t.Errorf("the call of model %d reserves %s; a plan pays for the fallback: %t", do.Choice, do.Reserved, planOfFallback)
			}
		}
		for _, b := range all[*pawl.ModelReplied](w) {
			if isPlan := (calls[b.Effect].Choice == 1) == planOfFallback; isPlan != (b.Cost == 0) {
				t.Errorf("the call of model %d costs %s; a plan pays for the fallback: %t", calls[b.Effect].Choice, b.Cost, planOfFallback)
			}
		}
		waits := requests[*pawl.Wait](w)
		if len(waits) != 1 || waits[0].Do.(*pawl.Wait).Account.Provider != "agent-2" {
			t.Errorf("%d waits, not one for the fallback's account", len(waits))
		}
	}
}
