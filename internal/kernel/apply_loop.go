package kernel

import (
	"fmt"
	"slices"

	"pawl"
)

func (l *Loop) startIteration(b *pawl.IterationStarted) {
	l.Iteration, l.Attempt, l.inside = b.N, 1, true
	l.Tier, l.tierWhy, l.From = b.Tier, "", b.From
	l.Phase = PhaseSteps
	l.spentAt = l.spent
	if l.afterward > 0 {
		l.afterward--
	}
	l.beginSteps()
}

// beginSteps sets the iteration to its first step with nothing left of an earlier try.
func (l *Loop) beginSteps() {
	l.step, l.try, l.stepFailed, l.candidate, l.sessions = 0, 1, "", nil, nil
	l.gates, l.results = nil, nil
	l.outputs = slices.DeleteFunc(l.outputs, func(in pawl.Input) bool { return !l.keeps(in.Name) })
	l.skipSteps()
}

// keeps reports whether a step's output outlives the iteration.
func (l *Loop) keeps(name string) bool {
	for _, st := range l.Kind.Steps {
		if st.Output == name || st.Name == name {
			return st.Keep || (l.Kind.Complexity != nil && l.Kind.Complexity.From == st.Name)
		}
	}
	return false
}

// skipSteps moves to the next step that runs in this iteration; past the last
// one the work is committed.
func (l *Loop) skipSteps() {
	for l.step < len(l.Kind.Steps) {
		st := &l.Kind.Steps[l.step]
		assess := l.Kind.Complexity != nil && l.Kind.Complexity.From == st.Name
		if !assess && !(st.First && l.Iteration > 1) && !l.skips(st.When) {
			return
		}
		l.step++
	}
	l.Phase = PhaseCommit
}

// skips reports whether a condition keeps something from happening now.
func (l *Loop) skips(w *pawl.When) bool {
	return w != nil && len(w.Tier) > 0 && !slices.Contains(w.Tier, l.Tier)
}

func (l *Loop) startSession(s *State, b *pawl.SessionStarted) {
	x := &Session{N: b.Session, Purpose: b.Purpose, Place: b.Place, Index: b.Index, Turns: b.Turns, Try: b.Try, timeout: b.Timeout}
	if b.Timeout > 0 {
		x.deadline = s.Alive + b.Timeout
	}
	l.session = b.Session
	l.sessions = append(l.sessions, x)
}

func (x *Session) prompt(b *pawl.PromptAssembled) {
	x.prompted = true
	x.system, x.tools, x.bytes = b.System, b.Tools, b.Bytes
	x.items = []pawl.Item{{Kind: pawl.ItemUser, Blob: b.Prompt}}
	x.failed, x.waited = nil, false
}

func (x *Session) reply(b *pawl.ModelReplied) {
	x.turn++
	x.stop, x.text = b.Stop, b.Text
	x.dispatches, x.reminded = 0, false
	x.bytes += b.Bytes
	x.items = append(x.items, pawl.Item{Kind: pawl.ItemAssistant, Blob: b.Message})
	x.base = len(x.items)
	x.calls = make([]call, len(b.Calls))
	for i := range b.Calls {
		x.calls[i].use = b.Calls[i]
		x.items = append(x.items, pawl.Item{Kind: pawl.ItemResult, Call: uint16(i)})
	}
}

func (l *Loop) toolReturned(x *Session, f *pawl.Effect, b *pawl.ToolReturned) {
	do := f.Do.(*pawl.CallTool)
	item := pawl.Item{Blob: b.Output, IsError: b.IsError}
	if b.Interrupted {
		item.Text = textInterrupted
	}
	x.answer(do.Call, item, b.Bytes)
	if b.Tree != "" {
		l.Tree = b.Tree
	}
	if b.Conflict {
		l.restore = true
	}
}

func (l *Loop) note(b *pawl.NoteAdded) {
	x := l.sessionByN(b.Session)
	if x == nil {
		return
	}
	if b.Call > 0 {
		i := b.Call - 1
		x.answer(i, pawl.Item{Text: b.Text, IsError: b.IsError}, int64(len(b.Text)))
		if use := &x.calls[i].use; use.Submit {
			if b.IsError {
				x.invalid++
			} else {
				x.submitted = use
			}
		}
		return
	}
	x.items = append(x.items, pawl.Item{Kind: pawl.ItemNote, Text: b.Text})
	x.bytes += int64(len(b.Text))
	if len(x.calls) > 0 && x.stop != pawl.StopMaxOutput {
		x.reminded = true
	} else {
		x.nags++
		x.calls, x.stop = nil, ""
	}
}

// effectFailed keeps why an effect gave no fact; advance says what follows.
func (l *Loop) effectFailed(x *Session, f *pawl.Effect, b *pawl.EffectFailed) {
	switch do := f.Do.(type) {
	case *pawl.CallModel, *pawl.AssemblePrompt:
		x.failed, x.waited = &b.Failure, false
	case *pawl.CallTool:
		x.answer(do.Call, pawl.Item{Text: "the tool could not work: " + b.Failure.Message, IsError: true}, int64(len(b.Failure.Message)))
	case *pawl.RunGate:
		for i := range l.gates {
			if g := &l.gates[i]; g.effect == f.ID {
				g.effect, g.failed = 0, b.Failure.Message
			}
		}
	case *pawl.Wait: // waiting failed: it is over
		if x != nil {
			x.waited = true
		}
	default:
		l.trouble = &b.Failure
		l.troubles++
	}
}

// gateRun finds the entry of a gate, or makes one.
func (l *Loop) gateRun(gate int) *gateRun {
	for i := range l.gates {
		if l.gates[i].gate == gate {
			return &l.gates[i]
		}
	}
	l.gates = append(l.gates, gateRun{gate: gate})
	return &l.gates[len(l.gates)-1]
}

func (g *gateRun) request(id pawl.Seq) {
	g.effect, g.failed = id, ""
	g.tries++
}

func (l *Loop) endSession(b *pawl.SessionEnded) {
	i := slices.IndexFunc(l.sessions, func(x *Session) bool { return x.N == b.Session })
	if i < 0 {
		return
	}
	x := l.sessions[i]
	l.sessions = slices.Delete(l.sessions, i, i+1)
	if b.Result == pawl.SessionAbandoned {
		return
	}
	switch x.Purpose {
	case pawl.ForStep:
		l.endStep(x, b)
	case pawl.ForProposal:
		l.council.proposed(x.Index, b)
	case pawl.ForBallot:
		l.council.voted(x.Index, b)
	case pawl.ForReview: // GateJudged follows
	}
}

func (l *Loop) endStep(x *Session, b *pawl.SessionEnded) {
	st := &l.Kind.Steps[x.Index]
	if !b.Output.IsZero() {
		name := st.Output
		if name == "" {
			name = st.Name
		}
		if !st.Append {
			l.outputs = slices.DeleteFunc(l.outputs, func(in pawl.Input) bool { return in.Name == name })
		}
		l.outputs = append(l.outputs, pawl.Input{Name: name, Blob: b.Output})
	}
	if l.Phase != PhaseSteps { // the assessment: ComplexityScored follows
		return
	}
	switch {
	case b.Result == pawl.SessionDone:
		l.step, l.try = l.step+1, 1
		l.skipSteps()
	case b.Result == pawl.SessionTimeout && x.Try == 1:
		l.try = 2
	default:
		l.stepFailed = fmt.Sprintf("%s: %s", st.Name, b.Reason)
		l.Phase = PhaseCommit
	}
}

func (l *Loop) reuse(b *pawl.GatesReused) {
	for i := range l.history {
		if a := &l.history[i]; a.n == b.From {
			l.results = slices.Clone(a.results)
		}
	}
	l.judged = l.Tree
}

func (l *Loop) endIteration(b *pawl.IterationEnded) {
	a := attempt{
		n: b.N, tier: b.Tier, failed: b.Decision != pawl.DecideComplete,
		files: b.Files, tests: b.Tests, error: b.Error,
		security: securityPrint(l.results), tree: l.judged, results: l.results, stepFailed: l.stepFailed,
		line: fmt.Sprintf("attempt %d: %s", b.N, cut(firstError(b), 90)),
	}
	for i := range l.history { // only the last attempt's results are ever used again
		l.history[i].results = nil
	}
	if l.history = append(l.history, a); len(l.history) > kept {
		l.history = slices.Delete(l.history, 0, 1)
	}
	l.inside = false
	l.advice = pawl.Hash{}
	l.Phase = PhaseReady
	switch b.Decision {
	case pawl.DecideComplete:
		l.failures = 0
	default:
		l.failures++
	}
	if b.Outcome != "" {
		l.Phase, l.Outcome, l.Reason = PhaseClosing, b.Outcome, b.Reason
	}
}

func firstError(b *pawl.IterationEnded) string {
	if len(b.Errors) > 0 {
		return b.Errors[0]
	}
	return b.Reason
}

// cut shortens s to at most n bytes at a rune's boundary.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
