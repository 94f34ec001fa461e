package view

import (
	"fmt"
	"slices"
	"time"

	"pawl"
)

// pending is an effect that is under way, or should be.
type pending struct {
	*pawl.Effect
	at time.Time // when it was requested
}

// doOf returns what an effect does, if it is of this kind; a nil effect does nothing.
func doOf[T pawl.Do](f *pawl.Effect) (T, bool) {
	if f == nil {
		var none T
		return none, false
	}
	do, ok := f.Do.(T)
	return do, ok
}

// close takes an effect from those under way; nil when it is not one of them.
func (r *Run) close(id pawl.Seq) *pawl.Effect {
	i := slices.IndexFunc(r.open, func(p pending) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	f := r.open[i].Effect
	r.closed = f
	r.open = slices.Delete(r.open, i, i+1)
	return f
}

// charge counts what an effect cost. Only model calls cost anything.
func (r *Run) charge(l *Loop, f *pawl.Effect, s Spending) {
	r.Cost += s.Cost
	r.Tokens += s.Tokens
	r.lost.add(s)
	if f == nil || l == nil || f.Do.Verb() != pawl.VerbCallModel {
		return
	}
	for p := l; p != nil; p = r.loop(p.Parent) {
		p.Spent.add(s)
	}
	x := l.session(f)
	if x == nil {
		return
	}
	x.Spent.add(s)
	if x.iteration != nil && x.iteration.End == nil {
		x.iteration.Spent.add(s)
	}
}

// held adds up what the calls under way hold for which counts returns true.
func (r *Run) held(counts func(pending) bool) (m pawl.Money) {
	for _, p := range r.open {
		if counts(p) {
			m.Add(reservation(p.Effect))
		}
	}
	return m
}

// reservation returns what an effect holds while it is under way.
func reservation(f *pawl.Effect) pawl.Money {
	if do, ok := doOf[*pawl.CallModel](f); ok {
		return pawl.Money{Held: do.Reserved, HeldTokens: do.ReservedTokens}
	}
	return pawl.Money{}
}

// charged says what a call that failed was charged; empty when that is nothing.
func charged(b *pawl.EffectFailed) string {
	switch {
	case b.Lost() || b.Charged == 0:
		return lost(b.Charged)
	case b.Failure.Estimated:
		return fmt.Sprintf(" (%s spent, as estimated)", b.Charged)
	}
	return fmt.Sprintf(" (%s spent)", b.Charged)
}

// lost says what a call was charged whose cost nobody knows.
func lost(m pawl.Micros) string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s lost)", m)
}

// asked names the effect that this event ended.
func (t teller) asked(id pawl.Seq) string {
	if f := t.r.answered(id); f != nil {
		return effectName(f)
	}
	return fmt.Sprintf("effect %d", id)
}

// answered returns the effect that the last event ended, if it is this one; nil when it is not known.
func (r *Run) answered(id pawl.Seq) *pawl.Effect {
	if f := r.closed; f != nil && f.ID == id {
		return f
	}
	return nil
}

// ended closes the effect that an event ends, and returns it; nil = the event ends none
// that is known.
func (r *Run) ended(e pawl.Event) *pawl.Effect {
	switch b := e.Body.(type) {
	case *pawl.EffectLost:
		return r.close(b.Effect)
	case *pawl.EffectWithdrawn:
		f := r.close(b.Effect)
		r.keepWithdrawn(f)
		return f
	case *pawl.AnswerIgnored:
		return r.endWithdrawn(b)
	case pawl.Answer:
		return r.close(b.Answers())
	}
	return nil
}

// applyEffect folds the requests of effects, and the ends that give no fact. The answers
// are events of other nouns.
func (r *Run) applyEffect(l *Loop, e pawl.Event, f *pawl.Effect) {
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		f := b.Effect
		f.ID, f.Loop = e.Seq, e.Loop
		r.open = append(r.open, pending{&f, e.Time})
		if do, ok := f.Do.(*pawl.Wait); ok && f.Session > 0 {
			r.waitAgain(e, do)
		}
	case *pawl.EffectLost:
		r.stops.failure = r.problem(e, "%s", lostText(f))
		r.charge(l, f, lostCall(b.Charged, b.ChargedTokens))
	case *pawl.EffectWithdrawn:
		r.charge(l, f, lostCall(b.Charged, b.ChargedTokens))
	case *pawl.AnswerIgnored:
		if f != nil {
			r.hearWithdrawn(e, f)
		}
	case *pawl.EffectFailed:
		r.fail(e, f, b.Failure)
		cost := Spending{Failed: 1, Cost: b.Charged, Tokens: b.ChargedTokens}
		if b.Lost() {
			cost = lostCall(b.Charged, b.ChargedTokens)
		}
		r.charge(l, f, cost)
	}
}

func (t teller) tellEffect() string {
	switch b := t.e.Body.(type) {
	case *pawl.EffectRequested:
		switch do := b.Effect.Do.(type) {
		case *pawl.CallTool:
			return fmt.Sprintf("%s: %s", b.Effect.Place.String(), toolCall(do.Tool, t.blobs.bytes(do.Args)))
		case *pawl.Wait:
			if b.Effect.Session > 0 && do.Account == (pawl.Account{}) { // before its next try
				return fmt.Sprintf("Trying again in %s%s", pawl.Span(do.For), because(do.Reason))
			}
			return fmt.Sprintf("Waiting %s%s%s", pawl.Span(do.For), accountText(do), because(do.Reason))
		}
		return effectName(&b.Effect)
	case *pawl.EffectFailed:
		return t.r.failedText(t.r.answered(b.Effect), &b.Failure) + charged(b)
	case *pawl.EffectLost:
		return lostText(t.r.answered(b.Effect)) + lost(b.Charged)
	case *pawl.EffectWithdrawn:
		return fmt.Sprintf("%s withdrawn%s%s", t.asked(b.Effect), because(b.Reason), lost(b.Charged))
	case *pawl.AnswerIgnored:
		if f := t.r.answered(b.Effect); f != nil && !b.Transcript.IsZero() {
			return effectName(f) + ": what the agent did before it was withdrawn is kept"
		}
		return fmt.Sprintf("an answer (%s) to effect %d came too late and changes nothing", b.What, b.Effect)
	case *pawl.WaitEnded:
		return "the wait is over"
	case *pawl.Notified:
		if do, ok := doOf[*pawl.Announce](t.r.closed); ok && t.r.closed.ID == b.Effect {
			if b.Status == 0 {
				return fmt.Sprintf("question %d was announced", do.Question)
			}
			return fmt.Sprintf("question %d was announced, the address answered %d", do.Question, b.Status)
		}
		return fmt.Sprintf("the callback answered %d", b.Status)
	}
	return ""
}

func (k *Look) lookEffect(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		switch b.Effect.Do.(type) {
		case *pawl.Wait:
		case *pawl.CallTool:
			k.Level = Normal
		default:
			k.Level = Detail
		}
	case *pawl.EffectFailed, *pawl.EffectLost:
		k.Tone = ToneBad
	case *pawl.EffectWithdrawn:
		k.Level = Normal
	case *pawl.AnswerIgnored, *pawl.WaitEnded:
		k.Level = Detail
	case *pawl.Notified:
		if b.Status == 0 || b.Status >= 200 && b.Status < 300 {
			k.Level = Normal
		}
	}
}
