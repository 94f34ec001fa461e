package kernel

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pawl"
)

// TestAgentSimulation drives runs whose tiers are coding agents through random worlds, as
// TestSimulation does with models.
func TestAgentSimulation(t *testing.T) { agents.test(t) }

var agents = simulation{env: "PAWL_AGENT_SEED", seeds: 800, short: 4, simulate: simulateAgents, complete: func(c *census, t *testing.T) {
	for _, k := range []pawl.Kind{pawl.KindAgentProgressed, pawl.KindModelReplied, pawl.KindEffectLost, pawl.KindWorkspaceReset, pawl.KindIterationRestarted} {
		if !t.Failed() && c.kinds[k] < 10 {
			t.Errorf("%s happened %d times in %d events", k, c.kinds[k], c.events)
		}
	}
	for _, r := range []pawl.SessionResult{pawl.SessionDone, pawl.SessionTurns, pawl.SessionTimeout, pawl.SessionFailed} {
		if !t.Failed() && c.ends[r] < 3 {
			t.Errorf("%d sessions ended %s", c.ends[r], r)
		}
	}
}}

func simulateAgents(t testing.TB, seed uint64) *world {
	w := newWorld(t)
	c := newChance(w, seed)
	s := c.settings()
	for i := range s.Models {
		m := &s.Models[i]
		m.Agent, m.Plan = (seed+uint64(i))%4 != 0, (seed+uint64(i))%4 == 1
		m.Provider = fmt.Sprint("agent-", i)
		m.Hears = (seed+uint64(i))%3 != 0
	}
	s.Session.Money = pawl.Micros(20_000 * (1 + seed%7))
	w.happens = func(f *pawl.Effect) (pawl.Answer, time.Duration) {
		if do, ok := f.Do.(*pawl.CallModel); ok && do.Agent != nil {
			return c.turn(f, do), time.Duration(c.IntN(50)) * time.Minute
		}
		return c.happens(f)
	}
	w.start(c.recipe(), s)
	for range 50 + c.IntN(200) {
		if c.in(3) {
			c.begins()
		}
		if c.in(6) {
			c.informs()
		}
		if !c.step() {
			break
		}
	}
	c.calmDown()
	checkInfos(t, w)
	return w
}

// informs has a person tell the root loop something, if it can be told.
func (c *chance) informs() {
	_ = c.w.steer(pawl.Steering{Verb: pawl.SteerSignal, Signal: &pawl.Signaling{Signal: pawl.SignalInfo, To: c.w.state.Loop(1).ID, Text: fmt.Sprint("info ", c.w.state.Seq)}})
}

// checkInfos checks that what an agent has heard is not in a prompt of a later iteration, and that what
// nobody has heard is in the next prompt of a step, but for the oldest of very many.
func checkInfos(t testing.TB, w *world) {
	t.Helper()
	var waiting []pawl.Hash             // infos that were not told
	var heard []pawl.Hash               // those that are not to be told any more
	turns := map[pawl.Seq][]pawl.Hash{} // what was sent to open turns
	told := func(texts []pawl.Hash) {
		heard = append(heard, texts...)
		waiting = slices.DeleteFunc(waiting, func(h pawl.Hash) bool { return slices.Contains(texts, h) })
	}
	var now []pawl.Hash // told in this iteration
	for _, e := range w.log {
		switch b := e.Body.(type) {
		case *pawl.LoopEnded: // if it is resumed, it has no infos
			waiting, now = nil, nil
		case *pawl.IterationEnded:
			told(now)
			now = nil
		case *pawl.SignalSent:
			if b.Signal == pawl.SignalInfo {
				waiting = append(waiting, b.Payload)
				waiting = waiting[max(0, len(waiting)-3):]
				turns[b.Turn] = append(turns[b.Turn], b.Payload)
			}
		case *pawl.ModelReplied:
			if b.Agent != nil {
				sent := turns[b.Effect]
				now = append(now, sent[:min(b.Agent.Heard, len(sent))]...)
			}
		case *pawl.EffectRequested:
			do, ok := b.Effect.Do.(*pawl.AssemblePrompt)
			if !ok || !slices.Contains(stepSessions(w), b.Effect.Session) {
				continue
			}
			has := func(h pawl.Hash) bool {
				return slices.ContainsFunc(do.Feedback, func(f pawl.Feedback) bool { return f.Evidence == h })
			}
			for _, h := range heard {
				if has(h) {
					t.Fatalf("event %d: a prompt repeats what was heard in an earlier iteration", e.Seq)
				}
			}
			for _, h := range waiting {
				if !has(h) {
					t.Fatalf("event %d: a prompt lacks an info", e.Seq)
				}
			}
			now = append(now, waiting...)
		}
	}
}

// stepSessions returns the sessions of the root loop's steps.
func stepSessions(w *world) (out []int) {
	for _, b := range all[*pawl.SessionStarted](w) {
		if b.Purpose == pawl.ForStep {
			out = append(out, b.Session)
		}
	}
	return out
}

// begins has a coding agent tell of its session in the middle of a turn, or of a turn that is over.
func (c *chance) begins() {
	w := c.w
	if c.in(20) {
		w.mustTake(Input{Turn: &pawl.AgentProgressed{Effect: w.state.Seq, Session: "late"}})
	}
	for _, f := range w.flights {
		if isTurn(f.effect) && c.IntN(2) == 0 {
			w.mustTake(Input{Turn: &pawl.AgentProgressed{Effect: f.effect.ID, Session: sessionOf(f.effect),
				Used: pawl.Usage{Input: int64(c.IntN(3)) * 1000}, Worth: pawl.Micros(c.IntN(20_000))}})
			return
		}
	}
}

// sessionOf returns the session that a turn begins or continues.
func sessionOf(f *pawl.Effect) string {
	if do := f.Do.(*pawl.CallModel); do.Agent.Session != "" {
		return do.Agent.Session
	}
	return fmt.Sprint("s", f.ID)
}

// turn returns how a turn of a coding agent ends.
func (c *chance) turn(f *pawl.Effect, do *pawl.CallModel) pawl.Answer {
	if do.Agent.Session != "" && c.in(15) {
		return failed(f, pawl.FailureCode(pawl.ModelNoSession), "it has no such session")
	}
	a := c.model(f)
	b, ok := a.(*pawl.ModelReplied)
	if !ok {
		return a
	}
	b.Agent = &pawl.AgentTurned{Stop: pawl.AgentEnded, Session: sessionOf(f), Transcript: blobOf("turn"), Worth: pawl.Micros(c.IntN(30_000)), Heard: c.IntN(3)}
	for i := range b.Calls {
		if use := &b.Calls[i]; use.Submit || use.Harness {
			use.Told = true
		}
	}
	switch {
	case c.in(15):
		b.Agent.Stop = pawl.AgentCapped
	case c.in(15):
		b.Agent.Stop = pawl.AgentTurns
	case c.in(15):
		b.Agent.Session = ""
	}
	if b.Stop != pawl.StopEnd {
		b.Stop = pawl.StopToolUse
	}
	if x := c.w.state.Loop(f.Loop).sessionByN(f.Session); x != nil && x.Purpose != pawl.ForStep && c.in(20) {
		b.Agent.Changed = true
	}
	return b
}
