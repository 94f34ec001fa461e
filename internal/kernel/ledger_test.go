package kernel

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"pawl"
	"pawl/internal/kernel/budget"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/session"
	"pawl/internal/kernel/verdict"
)

// ledger keeps its own books of a run, from its events alone, and compares them
// with what the kernel says.
type ledger struct {
	t        testing.TB
	open     []*pawl.Effect
	asked    map[pawl.Seq]request // every open effect, as it was requested
	reserved budget.Purse
	spent    budget.Purse
	lost     budget.Purse
	ended    bool
	forked   bool
	turns    map[seat]int // replies by session
	caps     map[seat]int
	sent     map[seat][]byte // the transcript a session sent last
	verdicts map[pawl.LoopRef][]*pawl.GateJudged
	weighed  map[pawl.LoopRef]pawl.GoalsWeighed // of the present candidate
	added    map[pawl.LoopRef]int               // new tests that fail on the base's code, of the last candidate that was examined
	kept     map[seat][]*pawl.GateJudged        // verdicts by iteration
	missing  map[string]string                  // the programs that required gates lack on the run's base, by gate
	leftOut  map[string]bool                    // gates that are not part of the run
	signals  signalBook
	doubted  map[doubt]int        // how often gates were asked again
	resume   map[pawl.LoopRef]int // where the ladder goes on after the last council
}

// doubt is a gate that was asked again about a commit.
type doubt struct {
	loop      pawl.LoopRef
	iteration int
	commit    pawl.CommitHash
	gate      string
}

// request is an effect as it was stored, and the transcript that its session sends with it.
type request struct {
	effect     pawl.Effect
	transcript []byte
}

// seat is a number within a loop: of a session, or of an iteration.
type seat struct {
	loop pawl.LoopRef
	n    int
}

// before checks an event against the state it is decided on.
func (g *ledger) before(s *State, e pawl.Event) {
	g.signals.keep(g.t, s, e)
	r, ok := e.Body.(*pawl.EffectRequested)
	if !ok {
		return
	}
	if g.ended {
		g.t.Fatalf("event %d requests %s after the run's end", e.Seq, r.Effect.Do.Verb())
	}
	switch do := r.Effect.Do.(type) {
	case *pawl.CallModel:
		g.dispatch(s, e.Seq, do)
		for gate, program := range g.missing { // F-25
			if program != "" && !g.leftOut[gate] {
				g.t.Fatalf("event %d asks a model though gate %s lacks %s", e.Seq, gate, program)
			}
		}
	case *pawl.RunGate:
		if g.leftOut[do.Gate] {
			g.t.Fatalf("event %d runs gate %s, which is left out", e.Seq, do.Gate)
		}
	case *pawl.AssemblePrompt:
		if p := r.Effect.Place; p.Iteration > 1 && p.Role == "implementer" && len(do.Feedback) == 0 && !g.forked {
			g.t.Fatalf("event %d: iteration %d is not told why the last one failed", e.Seq, p.Iteration)
		}
	}
	if r.Effect.Session > 0 {
		g.order(s.Loop(e.Loop).sessionByN(r.Effect.Session), &r.Effect)
	}
}

// dispatch checks that a model call keeps within every limit.
func (g *ledger) dispatch(s *State, seq pawl.Seq, do *pawl.CallModel) {
	if p := s.Settings.Retry; do.Try > p.Tries*(p.Pauses+1) {
		g.t.Fatalf("event %d is dispatch %d of one turn", seq, do.Try)
	}
	if !s.haltsOn(pawl.HaltBudget) {
		return
	}
	if m := g.spent.Money + g.reserved.Money + do.Reserved; s.Limits.Money > 0 && m > s.Limits.Money {
		g.t.Fatalf("event %d could cost %s with a limit of %s", seq, m, s.Limits.Money)
	}
	if n := g.spent.Tokens + g.reserved.Tokens + do.ReservedTokens; s.Limits.Tokens > 0 && n > s.Limits.Tokens {
		g.t.Fatalf("event %d could use %d tokens with a limit of %d", seq, n, s.Limits.Tokens)
	}
	if s.Limits.Time > 0 && s.Alive > s.Limits.Time {
		g.t.Fatalf("event %d is a model call after %s with a limit of %s", seq, s.Alive, s.Limits.Time)
	}
}

// order checks that a session does one thing at a time, but for reads.
func (g *ledger) order(x *session.Session, f *pawl.Effect) {
	for _, o := range g.open {
		if o.Loop == f.Loop && o.Session == x.N && (o.Class != pawl.CrashRepeat || f.Class != pawl.CrashRepeat || o.Do.Verb() != f.Do.Verb()) {
			g.t.Fatalf("session %d wants %s while %s is under way", x.N, f.Do.Verb(), o.Do.Verb())
		}
	}
}

// after enters an event, as it was stored, in the books.
func (g *ledger) after(s *State, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		g.request(s, e, b)
	case *pawl.EffectWithdrawn:
		g.lose(b.Effect, budget.Purse{Money: b.Charged, Tokens: b.ChargedTokens})
	case *pawl.EffectLost:
		g.lose(b.Effect, budget.Purse{Money: b.Charged, Tokens: b.ChargedTokens})
	case *pawl.EffectFailed:
		cost := budget.Purse{Money: b.Charged, Tokens: b.ChargedTokens}
		switch { // F-38
		case b.Failure.Unsent || b.Failure.Free:
			if cost != (budget.Purse{}) {
				g.t.Fatalf("event %d charges %v for a call that certainly cost nothing", e.Seq, cost)
			}
			g.close(b.Effect, cost)
		case b.Failure.Used != pawl.Usage{}:
			if cost.Tokens != b.Failure.Used.Total() {
				g.t.Fatalf("event %d charges %v for a call that used %+v", e.Seq, cost, b.Failure.Used)
			}
			g.close(b.Effect, cost)
		default:
			g.lose(b.Effect, cost)
		}
	case *pawl.ModelReplied:
		g.turn(b)
		g.close(b.Effect, budget.Purse{Money: b.Cost, Tokens: b.Usage.Total()})
	case *pawl.GateJudged:
		if b.Effect != 0 {
			g.close(b.Effect, budget.Purse{})
		}
		switch {
		case !b.OnBase:
			g.judged(e.Loop, b)
		case e.Loop == 1 && !b.Optional && !s.Loop(1).base[s.gateIndex(b.Gate)].again: // it ran when the run began
			g.missing[b.Gate] = b.Missing
		}
	case *pawl.GateLeftOut:
		if g.missing[b.Gate] != b.Missing || b.By == "" && !slices.Contains(s.Settings.AllowMissingGates, b.Gate) {
			g.t.Fatalf("event %d leaves out gate %s, which lacks %q, because nobody allowed it or it has %q", e.Seq, b.Gate, g.missing[b.Gate], b.Missing)
		}
		g.leftOut[b.Gate] = true
	case *pawl.Committed:
		if b.Effect != 0 {
			g.close(b.Effect, budget.Purse{})
		}
	case *pawl.GoalsWeighed:
		g.close(b.Effect, budget.Purse{})
		if s.Loop(e.Loop).cand != nil {
			g.weighed[e.Loop] = *b
		}
	case *pawl.Examined:
		g.close(b.Effect, budget.Purse{})
		g.added[e.Loop] = b.Added
	case pawl.Answer:
		g.close(b.Answers(), budget.Purse{})
	case *pawl.IterationRestarted, *pawl.Rerouted:
		delete(g.verdicts, e.Loop)
		delete(g.weighed, e.Loop)
	case *pawl.GatesReused:
		g.verdicts[e.Loop] = slices.DeleteFunc(slices.Clone(g.kept[seat{e.Loop, b.From}]), func(v *pawl.GateJudged) bool {
			return v.Partial || v.Judge != pawl.JudgeGate
		})
	case *pawl.IterationEnded:
		g.decided(s.Loop(e.Loop), e, b)
		g.rests(s, e, b)
	case *pawl.Escalated:
		if b.To <= b.From && (b.To != g.resume[e.Loop] || b.Reason != ladder.ResumesLadder) {
			g.t.Fatalf("event %d escalates from %d to %d", e.Seq, b.From, b.To)
		}
	case *pawl.CouncilCalled:
		g.resume[e.Loop] = b.Resume
	case *pawl.SessionStarted:
		g.caps[seat{e.Loop, b.Session}], g.turns[seat{e.Loop, b.Session}] = b.Turns, 0
	case *pawl.IterationStarted:
		delete(g.verdicts, e.Loop)
		delete(g.weighed, e.Loop)
		l := s.Loop(e.Loop)
		if m := s.maxIterations(l); m > 0 && b.N > m {
			g.t.Fatalf("event %d begins iteration %d of %d", e.Seq, b.N, m)
		}
	case *pawl.LoopEnded:
		delete(g.verdicts, e.Loop)
	case *pawl.RunEnded:
		g.ended = true
	case *pawl.RunResumed:
		g.ended = false
	case *pawl.Forked: // what was under way and what was spent is another run's
		g.open, g.reserved, g.spent, g.lost, g.ended, g.forked = nil, budget.Purse{}, budget.Purse{}, budget.Purse{}, false, true
		clear(g.verdicts)
	}
}

// judged keeps what a gate said last.
func (g *ledger) judged(ref pawl.LoopRef, b *pawl.GateJudged) {
	if b.On != "" { // it says nothing of the candidate
		return
	}
	of := slices.DeleteFunc(slices.Clone(g.verdicts[ref]), func(v *pawl.GateJudged) bool { return v.Gate == b.Gate })
	g.verdicts[ref] = append(of, b)
}

// decided checks that nothing is called complete that was not proven: by a command that is green or a test
// that names the work, and by something that shows that the work was done; and that no goal test is
// red then. F-67
func (g *ledger) decided(l *Loop, e pawl.Event, b *pawl.IterationEnded) {
	verdicts := g.verdicts[e.Loop]
	g.kept[seat{e.Loop, b.N}] = verdicts
	tasks := l.gen.plan != nil && l.gen.plan.Succeeded() && l.gen.plan.Unproven == 0
	goals, examined := g.weighed[e.Loop], g.added[e.Loop]
	proven, all := tasks || goals.Count-goals.Red-goals.RedWeak > 0 || examined > 0, true
	shown := proven || l.judgesOnly()
	for _, v := range verdicts {
		all = all && verdict.Passes(v.Verdict)
		shown = shown || v.Kept > 0 || v.By != "" || v.Kind == pawl.GateHeldOut
		proven = proven || v.Judge == pawl.JudgeGate && v.Kind != "" && v.Kind != pawl.GateValidation && v.Verdict == pawl.VerdictPass && !v.RedAtBase
	}
	complete := b.Decision == pawl.DecideComplete
	if complete && !all || b.Outcome == pawl.OutcomeComplete && !(proven && shown && goals.Red+goals.RedWeak == 0) || complete != (b.Outcome == pawl.OutcomeComplete || b.Outcome == pawl.OutcomeUnverified) {
		g.t.Fatalf("event %d decides %s %s with verdicts %s and goals %s", e.Seq, b.Decision, b.Outcome, mustJSON(g.t, verdicts), mustJSON(g.t, goals))
	}
}

// asksAgain checks that a gate is asked again about a candidate only after it failed with a full report,
// and a bounded number of times.
func (g *ledger) asksAgain(s *State, f *pawl.Effect, do *pawl.RunGate) {
	l := s.Loop(f.Loop)
	if l.gen.batch != nil {
		return
	}
	i := slices.IndexFunc(g.verdicts[f.Loop], func(v *pawl.GateJudged) bool { return v.Gate == do.Gate })
	if i < 0 || s.Settings.Evidence == "" || s.Settings.Evidence == pawl.EvidenceOff || !do.FailsNew {
		g.t.Fatalf("effect %d asks gate %s again", f.ID, do.Gate)
	}
	if v := g.verdicts[f.Loop][i]; v.Again || v.Partial || verdict.Passes(v.Verdict) || v.Kind != pawl.GateTests || v.Evidence != do.Doubt {
		g.t.Fatalf("effect %d asks gate %s again, which said %s", f.ID, do.Gate, mustJSON(g.t, v))
	}
	at := doubt{f.Loop, f.Place.Iteration, do.Commit, do.Gate}
	if g.doubted[at]++; g.doubted[at] > gateTries {
		g.t.Fatalf("effect %d asks gate %s again for the %dth time", f.ID, do.Gate, g.doubted[at])
	}
}

// rests checks that no more than another attempt follows from a test gate's first answer.
func (g *ledger) rests(s *State, e pawl.Event, b *pawl.IterationEnded) {
	more := b.Decision == pawl.DecideEscalate || b.Decision == pawl.DecideCouncil || b.Decision == pawl.DecideHalt
	if !more || !s.looksForEvidence() || b.Conflict || verdict.Halt(g.verdicts[e.Loop]) != nil {
		return
	}
	for _, v := range g.verdicts[e.Loop] {
		if v.Kind != pawl.GateTests || v.Judge != pawl.JudgeGate || v.Again || v.Partial || verdict.Passes(v.Verdict) {
			continue
		}
		if g.doubted[doubt{e.Loop, b.N, b.Commit, v.Gate}] == 0 {
			g.t.Fatalf("event %d decides %s after the first answer %s", e.Seq, b.Decision, mustJSON(g.t, v))
		}
	}
}

func (g *ledger) turn(b *pawl.ModelReplied) {
	for _, f := range g.open {
		if f.ID == b.Effect {
			at := seat{f.Loop, f.Session}
			if g.turns[at]++; g.turns[at] > g.caps[at] {
				g.t.Fatalf("session %d has %d turns of %d", f.Session, g.turns[at], g.caps[at])
			}
		}
	}
}

func (g *ledger) request(s *State, e pawl.Event, b *pawl.EffectRequested) {
	if g.asked == nil {
		g.asked, g.turns, g.caps, g.sent, g.resume = map[pawl.Seq]request{}, map[seat]int{}, map[seat]int{}, map[seat][]byte{}, map[pawl.LoopRef]int{}
		g.verdicts, g.kept = map[pawl.LoopRef][]*pawl.GateJudged{}, map[seat][]*pawl.GateJudged{}
		g.weighed, g.added = map[pawl.LoopRef]pawl.GoalsWeighed{}, map[pawl.LoopRef]int{}
		g.missing, g.leftOut, g.doubted = map[string]string{}, map[string]bool{}, map[doubt]int{}
	}
	f := s.Find(e.Seq)
	g.open = append(g.open, f)
	now := transcript(f)
	g.asked[e.Seq] = request{b.Effect, now}
	if do, ok := b.Effect.Do.(*pawl.RunGate); ok && !do.Doubt.IsZero() {
		g.asksAgain(s, f, do)
	}
	if do, ok := b.Effect.Do.(*pawl.CallModel); ok {
		g.reserved = g.reserved.Add(budget.Purse{Money: do.Reserved, Tokens: do.ReservedTokens})
		at := seat{f.Loop, f.Session}
		if before := g.sent[at]; !bytes.HasPrefix(now, before) {
			g.t.Fatalf("event %d: session %d sends something else than before", e.Seq, f.Session)
		}
		g.sent[at] = now
	}
}

func transcript(f *pawl.Effect) []byte {
	var out []byte
	for _, item := range f.Transcript {
		out = append(out, byte(item.Kind), byte(item.Call))
		out = append(append(out, item.Blob[:]...), item.Text...)
	}
	return out
}

func (g *ledger) lose(id pawl.Seq, cost budget.Purse) {
	g.lost = g.lost.Add(cost)
	g.close(id, cost)
}

func (g *ledger) close(id pawl.Seq, cost budget.Purse) {
	for i, f := range g.open {
		if f.ID == id {
			g.unchanged(f)
			delete(g.asked, id)
			g.open = append(g.open[:i:i], g.open[i+1:]...)
			g.spent = g.spent.Add(cost)
			if do, ok := f.Do.(*pawl.CallModel); ok {
				g.reserved = g.reserved.Sub(budget.Purse{Money: do.Reserved, Tokens: do.ReservedTokens})
			}
			return
		}
	}
	g.t.Fatalf("effect %d is closed and was not open", id)
}

// unchanged checks that an open effect is still as it was requested.
func (g *ledger) unchanged(f *pawl.Effect) {
	now, then := *f, g.asked[f.ID]
	now.Transcript = nil
	if !equal(&now, &then.effect) || !bytes.Equal(transcript(f), then.transcript) {
		g.t.Fatalf("effect %d differs from its request", f.ID)
	}
}

// settled checks what must hold whenever a driver looks. If whole is true, it also compares
// every pending effect with its request; otherwise only effects that close are compared.
func (g *ledger) settled(s *State, whole bool) {
	if len(g.open) != len(Pending(s)) || (len(g.open) > 0 && !reflect.DeepEqual(g.open, Pending(s))) {
		g.t.Fatalf("event %d: %d effects are pending, and the log has %d open requests", s.Seq, len(Pending(s)), len(g.open))
	}
	n := 0
	for _, l := range s.Loops() {
		for _, f := range PendingOf(s, l.Ref) {
			if n++; s.Find(f.ID) != f || f.Loop != l.Ref {
				g.t.Fatalf("event %d: effect %d of loop %d is not pending", s.Seq, f.ID, l.Ref)
			}
		}
	}
	if n != len(g.open) {
		g.t.Fatalf("event %d: the loops have %d of %d pending effects", s.Seq, n, len(g.open))
	}
	if whole {
		for _, f := range Pending(s) {
			g.unchanged(f)
		}
	}
	if s.Spent != g.spent || s.Lost != g.lost || s.Reserved != g.reserved {
		g.t.Fatalf("event %d: spent %v, lost %v, reserved %v, and by the log %v, %v and %v", s.Seq, s.Spent, s.Lost, s.Reserved, g.spent, g.lost, g.reserved)
	}
	busy := s.Status == pawl.StatusRunning || s.Status == pawl.StatusStopping
	if busy && len(g.open) == 0 && s.openQuestions+s.heldLoops == 0 {
		g.t.Fatalf("event %d: the run is %s and waits for nothing: %s", s.Seq, s.Status, describe(s))
	}
	if s.Status == pawl.StatusEnded && len(g.open) > 0 {
		g.t.Fatalf("event %d: the run has ended with %d effects under way", s.Seq, len(g.open))
	}
}
