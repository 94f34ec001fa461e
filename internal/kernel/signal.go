package kernel

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/signal"
)

// ending is how a loop ends that a signal ends.
type ending struct {
	outcome pawl.Outcome
	reason  string
}

// unseen is the first signal of these kinds that the loop has not acknowledged, or nil.
func (l *Loop) unseen(kinds ...pawl.SignalKind) *signal.Signal { return l.inbox.Unseen(kinds...) }

// ended is the signal that ends the loop because of a loop above it, or nil.
func (l *Loop) ended() *signal.Signal { return l.inbox.Ended() }

// isLeaving reports whether a signal ends the loop, or will.
func (l *Loop) isLeaving() bool { return l.exit.ending != nil || l.ended() != nil }

// obeySignals obeys what the loop was told, and reports whether it begins nothing. What a
// person says holds at the boundary of an iteration; what ends it from above, as soon
// as nothing of it is in flight.
func (d *draft) obeySignals(l *Loop) bool {
	if l.exit.ending != nil {
		d.windUp(l)
		return true
	}
	if g := l.ended(); g != nil {
		d.cutWaits(l, g.Reason)
		if !l.inFlight() && !d.s.isLanding(l) {
			d.acknowledge(l, g.N)
		}
		return true
	}
	stop, pause := l.unseen(pawl.SignalStop), l.unseen(pawl.SignalPause)
	switch {
	case stop == nil && pause == nil:
		return l.inbox.Held && l.rests()
	case stop != nil && l.waits():
		d.cutWaits(l, stop.Reason)
	case !l.rests():
		return false
	case stop == nil:
		d.acknowledge(l, pause.N)
		return true
	}
	d.acknowledge(l, stop.N)
	return true
}

// rests reports whether the loop is at the boundary of an iteration with nothing in
// flight: it has not begun one, it waits for its children, or for a person.
func (l *Loop) rests() bool {
	switch {
	case l.inFlight():
		return false
	case l.person.question != nil, l.Phase <= PhaseReady:
		return true
	}
	return l.Phase == PhaseGates && l.gen.planned && len(l.sessions) == 0 && l.merge() == nil
}

// inFlight reports whether the loop has anything in flight of its own: that it waits for
// those below it to end is not.
func (l *Loop) inFlight() bool {
	return slices.ContainsFunc(l.open, func(f *pawl.Effect) bool { return !clears(f) })
}

// waits reports whether all the loop has in flight is a time that has to pass, such as
// a provider's limit.
func (l *Loop) waits() bool {
	return l.inFlight() && !slices.ContainsFunc(l.open, func(f *pawl.Effect) bool { return f.Do.Verb() != pawl.VerbWait })
}

// cutWaits withdraws what the loop waits for: its time need not pass any more. One that
// ends goes on to wait for those below it, and for the callback.
func (d *draft) cutWaits(l *Loop, reason string) {
	if q := l.person.question; q != nil {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: reason})
	}
	for _, f := range slices.Clone(l.open) {
		if f.Do.Verb() == pawl.VerbWait && !clears(f) && f.Place.Step != callbackStep {
			d.withdraw(f, reason)
		}
	}
}

// windUp ends a loop that a signal ends: what it has done is committed to its branch,
// which is kept, and its worktree is closed.
func (d *draft) windUp(l *Loop) {
	e := l.exit.ending
	d.cutWaits(l, e.reason)
	if l.inFlight() || d.s.isLanding(l) {
		return
	}
	if l.exit.clearing != nil && d.s.Stopping == nil && !d.clearBelow(l, pawl.SignalStop, e.reason) {
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

// acknowledge says that a loop has seen a signal.
func (d *draft) acknowledge(l *Loop, n int) { d.emit(l.Ref, &pawl.SignalAcknowledged{N: n}) }

// acknowledgeAll says that a loop has seen every signal of a kind; of every kind when
// none is named.
func (d *draft) acknowledgeAll(l *Loop, kinds ...pawl.SignalKind) {
	for _, g := range slices.Clone(l.inbox.Signals) {
		if len(kinds) == 0 || slices.Contains(kinds, g.Kind) {
			d.acknowledge(l, g.N)
		}
	}
}

// signaled takes over that a loop was told something.
func (s *State) signaled(l *Loop, b *pawl.SignalSent) error {
	if b.N != s.signals+1 {
		return fmt.Errorf("signal %d follows signal %d", b.N, s.signals)
	}
	s.signals = b.N
	if g := l.inbox.Take(b); g.Ends() {
		return s.clears(b.Source, l)
	}
	return nil
}

// acknowledged takes over that a loop has seen a signal, and what that makes of it.
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

// hold lets a signal hold a loop, or not any more.
func (s *State) hold(l *Loop, held bool) {
	switch {
	case held && !l.inbox.Held:
		s.holding++
	case !held && l.inbox.Held:
		s.holding--
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

// status is where a loop stands, in the words of signals' selectors.
func (l *Loop) status() pawl.LoopStatus {
	switch {
	case l.Phase == PhasePending && !l.inbox.Held:
		return pawl.LoopPending
	case l.invalid, l.Phase == PhaseDone && l.Outcome == pawl.OutcomeInvalid:
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

func statuses() []pawl.LoopStatus {
	return []pawl.LoopStatus{pawl.LoopPending, pawl.LoopRunning, pawl.LoopPaused, pawl.LoopRebasing,
		pawl.LoopComplete, pawl.LoopFailed, pawl.LoopInvalidated}
}

// loopNamed is the loop of an id, or nil.
func (s *State) loopNamed(id string) *Loop {
	for l := range s.each {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// below lists the loops that stand below one, in the order they began.
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

// selected lists the loops that a person names: by an id, or by a selector, which is
// said then.
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
		if !slices.Contains(statuses(), pawl.LoopStatus(of)) {
			return nil, "", pawl.Errorf(pawl.CodeInvalid, "unknown status %q: want one of %q", of, statuses())
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

// steerSignal tells loops what a person has to say, each by a signal of its own.
func (d *draft) steerSignal(in *pawl.Steering) error {
	g := in.Signal
	if err := signal.Check(g); err != nil {
		return err
	}
	if d.s.Status == pawl.StatusEnded || d.s.Stopping != nil {
		return d.refuse("only loops of a run that goes on can be told something")
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

// signal tells loops the same thing, one event for each.
func (d *draft) signal(refs []pawl.LoopRef, selector string, b pawl.SignalSent) {
	for _, ref := range refs {
		sent := b
		sent.N, sent.Selector = d.s.signals+1, selector
		d.emit(ref, &sent)
	}
}

// stopBelow stops what stands below loops that are stopped and has not ended.
func (d *draft) stopBelow(refs []pawl.LoopRef, b pawl.SignalSent) {
	for _, top := range refs {
		below := slices.DeleteFunc(d.s.below(top), func(ref pawl.LoopRef) bool {
			l := d.s.Loop(ref)
			return l.Phase == PhaseDone || l.isLeaving() || l.unseen(pawl.SignalStop) != nil
		})
		d.signal(below, "descendants:"+d.s.Loop(top).ID, b)
	}
}

// seen lets a loop acknowledge what holds or ends nothing at once: what it is told, that
// it may go on, and a rebase where there is nothing to take over.
func (d *draft) seen(ref pawl.LoopRef, kind pawl.SignalKind) {
	switch l := d.s.Loop(ref); kind {
	case pawl.SignalInfo:
		d.acknowledgeAll(l, pawl.SignalInfo)
	case pawl.SignalResume: // a pause that has not held yet is over, too
		d.acknowledgeAll(l, pawl.SignalPause, pawl.SignalResume)
	case pawl.SignalRebase:
		if l.Parent == 0 || l.hasChildren() || l.Iteration == 0 {
			d.acknowledgeAll(l, pawl.SignalRebase)
		}
	}
}

// tellSiblings tells those that work beside a loop that its work is in their parent's
// branch, where they stand on one artifact together.
func (d *draft) tellSiblings(l *Loop) {
	p := d.s.Loop(l.Parent)
	if p == nil || !p.Kind.Children.IsEager() {
		return
	}
	for _, ref := range slices.Clone(p.gen.plan.Kids) {
		o := d.s.Loop(ref)
		if ref == l.Ref || o.Iteration == 0 || o.hasChildren() || o.merge().IsDone() || o.isLeaving() || o.unseen(pawl.SignalRebase) != nil {
			continue
		}
		d.signal([]pawl.LoopRef{ref}, "", pawl.SignalSent{Signal: pawl.SignalRebase, Source: l.Ref, Reason: brief.Cut(l.task.ID+" is merged", 300)})
	}
}

// hasChildren reports whether others stand on the loop's work: it cannot move any more.
func (l *Loop) hasChildren() bool {
	return l.gen.planned && l.gen.plan != nil && l.gen.plan.Started > 0
}

// rebaseSeen acknowledges that a loop was to take over its parent's head, once it has.
func (d *draft) rebaseSeen(l *Loop) {
	if l.unseen(pawl.SignalRebase) != nil && (l.Parent == 0 || l.Base == d.s.Loop(l.Parent).Head) {
		d.acknowledgeAll(l, pawl.SignalRebase)
	}
}
