package view

import (
	"fmt"

	"pawl"
)

// loopGeneration is how often a loop has begun anew.
type loopGeneration struct {
	Generation int  // from 1
	Renewed    Mark // why it did last
}

// applyGeneration folds the events of loops that begin anew.
func (r *Run) applyGeneration(l *Loop, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.GenerationStarted:
		l.Generation, l.Branch, l.Base = b.N, b.Branch, b.Base
		l.Renewed = mark(e, "%sgeneration %d%s", r.lead(l), b.N, because(b.Reason))
	case *pawl.Invalidated:
		if l.End == nil { // it had not begun
			r.endLoop(l, e, &pawl.LoopEnded{Outcome: pawl.OutcomeInvalid, Reason: b.Reason})
		}
	}
}

func (t teller) tellGeneration() string {
	switch b := t.e.Body.(type) {
	case *pawl.GenerationStarted:
		s := fmt.Sprintf("It starts over as generation %d, on %s from %s%s", b.N, b.Branch, short(b.Base), because(b.Reason))
		if b.Supersedes {
			s += " · its earlier work is merged and stays"
		}
		return s
	case *pawl.Invalidated:
		who := "a loop above it"
		if l := t.r.loop(b.By); l != nil {
			who = t.r.called(l)
		}
		return fmt.Sprintf("no longer counts: %s starts over after generation %d%s", who, b.Generation, because(b.Reason))
	}
	return ""
}

func (k *Look) lookGeneration(e pawl.Event) {
	switch e.Body.(type) {
	case *pawl.GenerationStarted:
		k.Tone = ToneWarning
	case *pawl.Invalidated:
		k.Level, k.Tone = Normal, ToneWarning
	}
}
