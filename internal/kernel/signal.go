package kernel

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/signal"
)

// ending is how a signal ends a loop.
type ending struct {
	outcome pawl.Outcome
	reason  string
}

// unseen returns the first signal of these kinds that the loop has not acknowledged, or nil.
func (l *Loop) unseen(kinds ...pawl.SignalKind) *signal.Signal { return l.inbox.Unseen(kinds...) }

// endSignal returns the signal by which a loop above ends this one, or nil.
func (l *Loop) endSignal() *signal.Signal { return l.inbox.Ended() }

// isEnding reports whether a signal ends the loop, or is going to.
func (l *Loop) isEnding() bool { return l.exit.ending != nil || l.endSignal() != nil }

// obeySignals obeys the loop's signals, and reports whether the loop starts nothing. A person's
// signal takes effect at the boundary of an iteration; one that ends the loop from above, as soon
// as the loop has nothing in flight.
func (d *draft) obeySignals(l *Loop) bool {
	if l.exit.ending != nil {
		d.windUp(l)
		return true
	}
	if g := l.endSignal(); g != nil {
		d.cutWaits(l, g.Reason)
		if !l.inFlight() && !d.s.isLanding(l) {
			d.acknowledge(l, g.N)
		}
		return true
	}
	stop, pause := l.unseen(pawl.SignalStop), l.unseen(pawl.SignalPause)
	switch {
	case stop == nil && pause == nil:
		return l.inbox.Held && l.isAtBoundary()
	case stop != nil && l.waits():
		d.cutWaits(l, stop.Reason)
	case !l.isAtBoundary():
		return false
	case stop == nil:
		d.acknowledge(l, pause.N)
		return true
	}
	d.acknowledge(l, stop.N)
	return true
}

// isAtBoundary reports whether the loop is at the boundary of an iteration with nothing in flight:
// it has not begun the iteration, or it waits for its children or for a person.
func (l *Loop) isAtBoundary() bool {
	switch {
	case l.inFlight():
		return false
	case l.person.question != nil, l.Phase <= PhaseReady:
		return true
	}
	return l.Phase == PhaseGates && l.gen.planned && len(l.sessions) == 0 && l.merge() == nil
}

// inFlight reports whether the loop has effects in flight, besides the wait for those below it to
// end.
func (l *Loop) inFlight() bool {
	return slices.ContainsFunc(l.open, func(f *pawl.Effect) bool { return !isTeardownWait(f) })
}

// waits reports whether the loop has waits in flight, such as for a provider's limit, and nothing
// else.
func (l *Loop) waits() bool {
	return l.inFlight() && !slices.ContainsFunc(l.open, func(f *pawl.Effect) bool { return f.Do.Verb() != pawl.VerbWait })
}

// cutWaits withdraws the loop's question and its waits. A loop that ends still waits for those
// below it and for the callback.
func (d *draft) cutWaits(l *Loop, reason string) {
	if q := l.person.question; q != nil {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: reason})
	}
	for _, f := range slices.Clone(l.open) {
		if f.Do.Verb() == pawl.VerbWait && !isTeardownWait(f) && f.Place.Step != callbackStep {
			d.withdraw(f, reason)
		}
	}
}

// windUp ends a loop that a signal ends: its work is committed to its branch, which is kept, and
// its worktree is closed.
func (d *draft) windUp(l *Loop) {
	e := l.exit.ending
	d.cutWaits(l, e.reason)
	if l.inFlight() || d.s.isLanding(l) {
		return
	}
	if l.exit.clearing != nil && d.s.Stopping == nil && !d.tearDownBelow(l, pawl.SignalStop, e.reason) {
		return
	}
	switch {
	case l.gen.plan != nil && len(l.gen.plan.Kids) > 0: // they end first
	case l.working() && l.worktree.Verify && l.worktree.Trouble() == nil: // after a crash
		d.restoreWorktree(l)
	case l.unfinished():
		d.abandon(l, e.reason)
		d.commit(l, "unfinished attempt")
	default:
		d.abandon(l, e.reason)
		d.shut(l, e.outcome, e.reason)
	}
}

// acknowledge records that a loop has seen a signal.
func (d *draft) acknowledge(l *Loop, n int) { d.emit(l.Ref, &pawl.SignalAcknowledged{N: n}) }

// acknowledgeAll records that a loop has seen every signal of these kinds, or every signal if none
// is given.
func (d *draft) acknowledgeAll(l *Loop, kinds ...pawl.SignalKind) {
	for _, g := range slices.Clone(l.inbox.Signals) {
		if len(kinds) == 0 || slices.Contains(kinds, g.Kind) {
			d.acknowledge(l, g.N)
		}
	}
}

// signaled records that a signal was sent to a loop.
func (s *State) signaled(l *Loop, b *pawl.SignalSent) error {
	if b.N != s.signals+1 {
		return fmt.Errorf("signal %d follows signal %d", b.N, s.signals)
	}
	s.signals = b.N
	if g := l.inbox.Take(b); g.Ends() {
		return s.countTeardown(b.Source, l)
	}
	return nil
}

// acknowledged records that a loop has seen a signal, and does what the signal says.
func (s *State) acknowledged(l *Loop, b *pawl.SignalAcknowledged) error {
	g := l.inbox.See(b.N)
	if g == nil {
		return fmt.Errorf("loop %d does not know signal %d", l.Ref, b.N)
	}
	switch g.Kind {
	case pawl.SignalPause:
		s.hold(l, true)
	case pawl.SignalResume:
		s.hold(l, false)
	case pawl.SignalStop, pawl.SignalInvalidate:
		l.exit.ending = &ending{outcomeBy(g.Kind), g.Reason}
		s.hold(l, false)
	}
	return nil
}

// hold records whether a signal holds a loop.
func (s *State) hold(l *Loop, held bool) {
	switch {
	case held && !l.inbox.Held:
		s.heldLoops++
	case !held && l.inbox.Held:
		s.heldLoops--
	}
	l.inbox.Held = held
}

// limited reports whether the loop waits because of a provider's limit.
func (l *Loop) limited() bool {
	return slices.ContainsFunc(l.open, func(f *pawl.Effect) bool {
		x := l.sessionByN(f.Session)
		return f.Do.Verb() == pawl.VerbWait && x != nil && x.Failed() != nil && x.Failed().Limited()
	})
}

// status returns the status of a loop, as selectors of signals name it.
func (l *Loop) status() pawl.LoopStatus {
	switch {
	case l.Phase == PhasePending && !l.inbox.Held:
		return pawl.LoopPending
	case l.isInvalidated, l.Phase == PhaseDone && l.Outcome == pawl.OutcomeInvalid:
		return pawl.LoopInvalidated
	case l.Phase == PhaseDone && l.Outcome.Succeeded():
		return pawl.LoopComplete
	case l.Phase == PhaseDone:
		return pawl.LoopFailed
	case l.inbox.Held, l.limited():
		return pawl.LoopPaused
	case l.upstream.rebase != nil || slices.ContainsFunc(l.open, func(f *pawl.Effect) bool { return f.Place.Step == rebaseStep }):
		return pawl.LoopRebasing
	case l.gen.planned && l.Phase == PhaseGates:
		return pawl.LoopComplete
	}
	return pawl.LoopRunning
}

// loopNamed returns the loop with this id, or nil.
func (s *State) loopNamed(id string) *Loop {
	for l := range s.each {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// below returns the loops below one, in the order in which they were created.
func (s *State) below(top pawl.LoopRef) (out []pawl.LoopRef) {
	in := make([]bool, len(s.loops)+1)
	in[top] = true
	for l := range s.each {
		if l.Ref > top && in[l.Parent] {
			in[l.Ref] = true
			out = append(out, l.Ref)
		}
	}
	return out
}

// selected returns the loops that a person names by an id or a selector. It returns the selector
// too, or "" for an id.
func (s *State) selected(to string) (refs []pawl.LoopRef, selector string, err error) {
	form, of, is := strings.Cut(to, ":")
	if !is {
		if l := s.loopNamed(to); l != nil {
			return []pawl.LoopRef{l.Ref}, "", nil
		}
		return nil, "", pawl.Errorf(pawl.CodeNotFound, "run %s has no loop %q", s.Run, to)
	}
	where := func(fits func(*Loop) bool) {
		for l := range s.each {
			if fits(l) {
				refs = append(refs, l.Ref)
			}
		}
	}
	switch form {
	case "descendants", "children":
		top := s.loopNamed(of)
		switch {
		case top == nil:
			return nil, "", pawl.Errorf(pawl.CodeNotFound, "run %s has no loop %q", s.Run, of)
		case form == "descendants":
			refs = s.below(top.Ref)
		default:
			where(func(l *Loop) bool { return l.Parent == top.Ref })
		}
	case "type":
		where(func(l *Loop) bool { return l.Kind.Name == of })
	case "status":
		if !slices.Contains(pawl.LoopStatuses(), pawl.LoopStatus(of)) {
			return nil, "", pawl.Errorf(pawl.CodeInvalid, "unknown status %q: want one of %q", of, pawl.LoopStatuses())
		}
		where(func(l *Loop) bool { return l.status() == pawl.LoopStatus(of) })
	default:
		return nil, "", pawl.Errorf(pawl.CodeInvalid, "unknown selector %q: want a loop's id, descendants:ID, children:ID, type:KIND or status:STATUS", to)
	}
	if len(refs) == 0 {
		return nil, "", pawl.Errorf(pawl.CodeNotFound, "run %s has no loop that is %s", s.Run, to)
	}
	return refs, to, nil
}

// steerSignal sends a person's signal to the loops it names.
func (d *draft) steerSignal(in *pawl.Steering) error {
	g := in.Signal
	if err := signal.Check(g); err != nil {
		return err
	}
	if d.s.Status == pawl.StatusEnded || d.s.Stopping != nil {
		return d.refuse("only loops of an active run can receive a signal")
	}
	refs, selector, err := d.s.selected(g.To)
	if err != nil {
		return err
	}
	refs = slices.DeleteFunc(refs, func(ref pawl.LoopRef) bool { return d.s.Loop(ref).Phase == PhaseDone })
	if len(refs) == 0 {
		return d.refuse("what %s names has ended", g.To)
	}
	for _, ref := range refs {
		if l := d.s.Loop(ref); len(l.inbox.Signals) >= signal.MaxUnseen {
			return d.refuse("loop %s has %d signals it has not acknowledged yet", l.ID, len(l.inbox.Signals))
		}
	}
	b := pawl.SignalSent{Signal: g.Signal, Reason: brief.Cut(in.Reason, 300), By: brief.Cut(in.By, 60)}
	if g.Signal == pawl.SignalInfo {
		b.Reason, b.Payload = g.Text, pawl.HashOf([]byte(g.Text))
	}
	d.signal(refs, selector, b)
	if g.Signal == pawl.SignalStop {
		d.stopBelow(refs, b)
	}
	for _, ref := range refs {
		d.seen(ref, g.Signal)
	}
	return nil
}

// signal sends a signal to loops, one event for each.
func (d *draft) signal(refs []pawl.LoopRef, selector string, b pawl.SignalSent) {
	for _, ref := range refs {
		sent := b
		sent.N, sent.Selector = d.s.signals+1, selector
		if b.Signal == pawl.SignalInfo {
			sent.Turn = d.s.hearing(d.s.Loop(ref))
		}
		d.emit(ref, &sent)
	}
}

// hearing returns the open turn of a coding agent that can receive an info now; zero = there is none.
// It is a turn of a step, whose prompts have the infos too.
func (s *State) hearing(l *Loop) pawl.Seq {
	for _, f := range l.open {
		if x := l.sessionByN(f.Session); isTurn(f) && s.model(f.Do.(*pawl.CallModel)).Hears && x != nil && x.Purpose == pawl.ForStep {
			return f.ID
		}
	}
	return 0
}

// stopBelow sends a stop to the loops below those that are stopped, unless they have ended or are
// ending.
func (d *draft) stopBelow(refs []pawl.LoopRef, b pawl.SignalSent) {
	for _, top := range refs {
		below := slices.DeleteFunc(d.s.below(top), func(ref pawl.LoopRef) bool {
			l := d.s.Loop(ref)
			return l.Phase == PhaseDone || l.isEnding() || l.unseen(pawl.SignalStop) != nil
		})
		d.signal(below, "descendants:"+d.s.Loop(top).ID, b)
	}
}

// seen acknowledges a signal that has no effect to wait for: an info, a resume, or a rebase of a
// loop that cannot be rebased.
func (d *draft) seen(ref pawl.LoopRef, kind pawl.SignalKind) {
	switch l := d.s.Loop(ref); kind {
	case pawl.SignalInfo:
		d.acknowledgeAll(l, pawl.SignalInfo)
	case pawl.SignalResume: // a pause that has not taken effect is over too
		d.acknowledgeAll(l, pawl.SignalPause, pawl.SignalResume)
	case pawl.SignalRebase:
		if l.Parent == 0 || l.hasChildren() || l.Iteration == 0 {
			d.acknowledgeAll(l, pawl.SignalRebase)
		}
	}
}

// tellSiblings signals a rebase to the siblings that work beside an eager child, because its work
// is now in their parent's branch.
func (d *draft) tellSiblings(l *Loop) {
	p := d.s.Loop(l.Parent)
	if p == nil || !p.Kind.Children.IsEager() {
		return
	}
	for _, ref := range slices.Clone(p.gen.plan.Kids) {
		o := d.s.Loop(ref)
		if ref == l.Ref || o.Iteration == 0 || o.hasChildren() || o.merge().IsDone() || o.isEnding() || o.unseen(pawl.SignalRebase) != nil {
			continue
		}
		d.signal([]pawl.LoopRef{ref}, "", pawl.SignalSent{Signal: pawl.SignalRebase, Source: l.Ref, Reason: brief.Cut(l.task.ID+" is merged", 300)})
	}
}

// hasChildren reports whether children stand on the loop's work, so that it cannot move.
func (l *Loop) hasChildren() bool {
	return l.gen.planned && l.gen.plan != nil && l.gen.plan.Started > 0
}

// rebaseSeen acknowledges the signal to rebase, once the loop is on its parent's head.
func (d *draft) rebaseSeen(l *Loop) {
	if l.unseen(pawl.SignalRebase) != nil && (l.Parent == 0 || l.Base == d.s.Loop(l.Parent).Head) {
		d.acknowledgeAll(l, pawl.SignalRebase)
	}
}
