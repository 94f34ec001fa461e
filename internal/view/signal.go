package view

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/plain"
)

func (t teller) signal(b *pawl.SignalSent) string {
	s := fmt.Sprintf("Signal %d: %s", b.N, b.Signal)
	switch from := t.r.loop(b.Source); {
	case from != nil:
		s += " from " + t.r.called(from)
	case b.By != "":
		s += by(b.By)
	}
	if b.Selector != "" {
		s += " to " + b.Selector
	}
	s += because(b.Reason)
	if rec := t.r.Records.signalN(b.N); rec != nil && rec.Hears() != "" {
		s += " · " + rec.Hears()
	}
	return s
}

// Hears says when a coding agent receives an info: "claude-code hears it now". It is empty for other
// signals, and if no turn of an agent is open, so that the info is in the next prompt.
func (s *SignalRecord) Hears() string { return hears(s.Agent, s.Now) }

func hears(agent string, now bool) string {
	switch {
	case agent == "":
		return ""
	case now:
		return agent + " hears it now"
	}
	return agent + " hears it at its next session"
}

// Hears says when a coding agent receives an info that is sent to a loop now, as
// [SignalRecord.Hears] does.
func (r *Run) Hears(ref pawl.LoopRef) string { return hears(r.listener(ref)) }

// listener returns the coding agent whose turn of a step is open in a loop, and reports whether it can
// receive infos in the middle of it.
func (r *Run) listener(ref pawl.LoopRef) (agent string, now bool) {
	for _, p := range r.open {
		if x := r.sessionOf(p); p.Loop != ref || !isTurn(p.Effect) || x == nil || x.Purpose != pawl.ForStep {
			continue
		}
		m := r.modelOf(p.Effect)
		if agent = plain.Line(m.Provider, 60); m.Hears {
			return agent, true
		}
	}
	return agent, false
}

// modelOf returns the model that an effect calls.
func (r *Run) modelOf(f *pawl.Effect) pawl.ModelChoice {
	if do, ok := doOf[*pawl.CallModel](f); ok {
		if m := r.Settings.Model(do.Tier, do.Choice); m != nil {
			return *m
		}
	}
	return pawl.ModelChoice{}
}

// applySignal notes who receives an info. [Records] have the rest of signals.
func (r *Run) applySignal(e pawl.Event) {
	b, ok := e.Body.(*pawl.SignalSent)
	if !ok || b.Signal != pawl.SignalInfo {
		return
	}
	if rec := r.Records.signalN(b.N); rec != nil {
		rec.Agent, _ = r.listener(e.Loop)
		rec.Now = b.Turn != 0
	}
}

// signalN finds a signal by its number, or nil.
func (rs *Records) signalN(n int) *SignalRecord {
	i, ok := slices.BinarySearchFunc(rs.Signals, n, func(s *SignalRecord, n int) int { return s.N - n })
	if !ok {
		return nil
	}
	return rs.Signals[i]
}

// tellSignal puts the events of signals into words. [Records] fold them.
func (t teller) tellSignal() string {
	switch b := t.e.Body.(type) {
	case *pawl.SignalSent:
		return t.signal(b)
	case *pawl.SignalAcknowledged:
		what := fmt.Sprintf("signal %d", b.N)
		if s := t.r.Records.signalN(b.N); s != nil {
			what = fmt.Sprintf("signal %d (%s)", b.N, s.SignalType)
		}
		if b.Expired {
			return what + " was not acknowledged in time: what was in flight was withdrawn"
		}
		return what + " acknowledged"
	}
	return ""
}

func (k *Look) lookSignal(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.SignalSent:
		if b.Source != 0 && b.Signal != pawl.SignalError {
			k.Level = Normal
		}
	case *pawl.SignalAcknowledged:
		if !b.Expired {
			k.Level = Detail
		}
	}
}
