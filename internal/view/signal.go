package view

import (
	"fmt"
	"slices"

	"pawl"
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
	return s + because(b.Reason)
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
