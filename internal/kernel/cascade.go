package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/signal"
)

// teardown is the end of everything below a loop that ends or starts a new generation.
type teardown struct {
	open             int  // loops that were told to end and have not ended
	expired          bool // signalTime is over
	effectsWithdrawn bool // what was in flight then was withdrawn
}

// signalTime is how long loops that must end may take for what they have in flight.
const signalTime = 30 * time.Second

// signalStep is the step of the effects that end loops by signals.
const signalStep = "signal"

// tearDownBelow ends everything below a loop, and reports whether all of it has ended. Effects in
// flight have signalTime to finish; then they are withdrawn.
func (d *draft) tearDownBelow(l *Loop, kind pawl.SignalKind, reason string) bool {
	if l.exit.clearing == nil {
		d.acknowledgeAll(l, pawl.SignalError) // what follows from them is decided
		d.signalTeardown(l, kind, reason)
		l = d.s.Loop(l.Ref)
	}
	c := l.exit.clearing
	waits := slices.IndexFunc(l.open, isTeardownWait)
	switch {
	case c == nil || c.open == 0:
		if waits >= 0 {
			d.withdraw(l.open[waits], "all have ended")
		}
		return true
	case c.expired && !c.effectsWithdrawn:
		d.expire(l)
	case !c.expired && waits < 0:
		d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(signalStep), Do: &pawl.Wait{For: signalTime, Reason: "those below it end"}})
	}
	return false
}

// endBelow ends everything below a loop that ends, and reports whether all of it has ended.
func (d *draft) endBelow(l *Loop, reason string) bool {
	switch {
	case l.gen.plan == nil:
		return true
	case len(l.gen.plan.Kids) == 0 && !slices.ContainsFunc(l.open, isTeardownWait):
		return true
	}
	if d.s.Stopping != nil || !d.tearDownBelow(l, pawl.SignalStop, reason) {
		return false
	}
	return len(d.s.Loop(l.Ref).gen.plan.Kids) == 0 // a loop above has told those that are left to end
}

// isTeardownWait reports whether an effect is the wait of a loop for those below it to end.
func isTeardownWait(f *pawl.Effect) bool { return f.Place.Step == signalStep }

// signalTeardown ends the pending loops below a loop and tells those at work to end.
func (d *draft) signalTeardown(l *Loop, kind pawl.SignalKind, reason string) {
	var work []pawl.LoopRef
	for _, ref := range d.s.below(l.Ref) {
		switch o := d.s.Loop(ref); {
		case o.Phase == PhasePending:
			d.endLoop(ref, &pawl.LoopEnded{Outcome: outcomeBy(kind), Reason: brief.Cut(reason, 300)})
		case o.Phase != PhaseDone && o.exit.ender == 0:
			work = append(work, ref)
		}
	}
	d.signal(work, "descendants:"+l.ID, pawl.SignalSent{Signal: kind, Source: l.Ref, Reason: brief.Cut(reason, 300)})
}

// outcomeBy returns the outcome of a loop that a signal ends.
func outcomeBy(kind pawl.SignalKind) pawl.Outcome {
	if kind == pawl.SignalInvalidate {
		return pawl.OutcomeInvalid
	}
	return pawl.OutcomeCancelled
}

// countTeardown records that a loop told another loop below it to end.
func (s *State) countTeardown(source pawl.LoopRef, l *Loop) error {
	top := s.Loop(source)
	if top == nil {
		return fmt.Errorf("there is no loop %d", source)
	}
	if top.exit.clearing == nil {
		top.exit.clearing = &teardown{}
	}
	top.exit.clearing.open++
	l.exit.ender = source
	return nil
}

// expire withdraws what is in flight below a loop when signalTime is over. Effects on a worktree
// are short and always finish.
func (d *draft) expire(l *Loop) {
	d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitSignal, Max: int64(signalTime), Value: int64(signalTime)})
	for _, ref := range d.s.below(l.Ref) {
		o := d.s.Loop(ref)
		g := o.endSignal()
		if g == nil { // a loop between the two may have sent the signal
			continue
		}
		d.own(ref)
		d.cutOff(d.s.Loop(ref), "it did not end in "+signalTime.String())
		d.emit(ref, &pawl.SignalAcknowledged{N: g.N, Expired: true})
	}
}

// renewGeneration undoes what came of a loop's last artifact before its next iteration, and reports
// whether nothing of it is left. Everything below the loop ends and is invalidated. The loop's work
// moves to a new branch; the root keeps the run's branch, which others may have already.
func (d *draft) renewGeneration(l *Loop) bool {
	if !l.Kind.Children.RestartsParent() || l.gen.plan == nil || l.gen.plan.Started == 0 {
		return true
	}
	why := cmp.Or(l.lastLine(), "a person wants another one")
	if !d.tearDownBelow(l, pawl.SignalInvalidate, "Parent re-iterating: "+why) || len(d.s.Loop(l.Ref).open) > 0 {
		return false
	}
	fresh := l.Parent != 0
	if fresh && l.HasWorkspace {
		d.onWorktree(l, "close", pawl.CrashProbe, &pawl.CloseWorkspace{Salvage: d.salvage("generation")})
		return false
	}
	if fresh || d.syncHead(l) {
		d.nextGeneration(d.s.Loop(l.Ref), fresh, why)
	}
	return false
}

// lastLine returns in short what was objected to in the last attempt.
func (l *Loop) lastLine() string {
	if a := l.lastAttempt(); a != nil {
		return cmp.Or(a.StepFailed, a.Line)
	}
	return ""
}

func (d *draft) nextGeneration(l *Loop, fresh bool, why string) {
	for _, ref := range d.s.below(l.Ref) {
		if o := d.s.Loop(ref); !o.isInvalidated {
			d.emit(ref, &pawl.Invalidated{By: l.Ref, Generation: l.gen.n, Reason: brief.Cut(why, 300)})
			d.emit(ref, &pawl.Archived{Reason: brief.Cut("invalidated by "+l.ID, 300)})
		}
	}
	b := &pawl.GenerationStarted{N: l.gen.n + 1, Reason: brief.Cut(why, 300), Branch: d.s.branch(l), Base: l.Head, Supersedes: l.Head != l.Base}
	if fresh {
		stem := strings.TrimSuffix(b.Branch, fmt.Sprintf("-g%d", l.gen.n))
		b.Branch, b.Base, b.Supersedes = fmt.Sprintf("%s-g%d", stem, b.N), l.Base, false
	}
	d.emit(l.Ref, b)
}

// beginGeneration records that the loop starts a new generation.
func (l *Loop) beginGeneration(b *pawl.GenerationStarted) error {
	if b.N != l.gen.n+1 || l.inIteration {
		return fmt.Errorf("generation %d of loop %d follows generation %d", b.N, l.Ref, l.gen.n)
	}
	plans := l.gen.plans
	if l.gen.plan != nil {
		plans = l.gen.plan.Version
	}
	course := monitor.Course{Marks: l.gen.Marks} // so that no checkpoint's name is used twice
	l.gen, l.exit.clearing = &Generation{n: b.N, plans: plans, batches: l.gen.batches, Course: course}, nil
	l.person.approved, l.person.reply = false, nil
	if b.Branch != l.branch && l.Parent != 0 {
		l.branch, l.Phase = b.Branch, PhaseOpening
		l.Head, l.upstream.rebase, l.cand, l.upstream.suspect, l.worktreeBehind = b.Base, nil, nil, pawl.Hash{}, false
	}
	l.Base = b.Base
	return nil
}

// invalidated records that a loop no longer counts.
func (l *Loop) invalidated() error {
	if l.Phase != PhaseDone {
		return fmt.Errorf("loop %d has not ended", l.Ref)
	}
	l.isInvalidated = true
	l.dropDetails()
	l.stopped = false // it does not continue when its run does
	return nil
}

// signalFailure tells a parent that a child has failed, if that fails the parent's iteration. A
// parent that is ending itself is not told.
func (d *draft) signalFailure(l *Loop, o pawl.Outcome, reason string, evidence pawl.Hash) {
	p := d.s.Loop(l.Parent)
	if p == nil || !p.Kind.Children.RestartsParent() || o.Succeeded() || d.s.Stopping != nil || p.exit.clearing != nil || p.isEnding() || p.Phase != PhaseGates {
		return
	}
	if p.gen.plan.At(l.slot.entry).Status == pawl.TaskBlocked { // the parent knows of the failure that blocks it
		return
	}
	d.signal([]pawl.LoopRef{p.Ref}, "", pawl.SignalSent{Signal: pawl.SignalError, Source: l.Ref, Reason: brief.Cut(l.task.ID+": "+reason, 300), Payload: evidence})
}

// evidence returns the text that tells most about why a loop failed, or the zero hash.
func (l *Loop) evidence() pawl.Hash {
	for _, f := range l.feedback() {
		if !f.Evidence.IsZero() {
			return f.Evidence
		}
	}
	return pawl.Hash{}
}

// failureSignal returns the signal of the first child whose failure ends the loop's iteration, or
// nil. A failure that is retried does not end it, nor does the end of a child that a person wanted.
func (s *State) failureSignal(l *Loop) *signal.Signal {
	if !l.Kind.Children.RestartsParent() || l.gen.plan == nil {
		return nil
	}
	for i := range l.inbox.Signals {
		if g := &l.inbox.Signals[i]; g.Kind == pawl.SignalError && s.isWorkFailure(l, g) {
			return g
		}
	}
	return nil
}

// isWorkFailure reports whether a child failed because of its work.
func (s *State) isWorkFailure(l *Loop, g *signal.Signal) bool {
	o := s.Loop(g.Source)
	return !l.gen.plan.Excuses(o.slot.entry) && !s.mayRetry(l, o)
}

// mayRetry reports whether a task runs once more because its loop failed for a reason other than
// its work.
func (s *State) mayRetry(l, o *Loop) bool {
	return o.exit.broke && !l.gen.plan.At(o.slot.entry).Again
}

// handleExcusedFailures handles the failures of children that do not end the loop's iteration. A
// task whose loop failed because of the machine runs once more, in a new loop. A task that a person
// ended stays ended.
func (d *draft) handleExcusedFailures(l *Loop) {
	for _, g := range slices.Clone(l.inbox.Signals) {
		if g.Kind != pawl.SignalError || d.s.isWorkFailure(d.s.Loop(l.Ref), &g) {
			continue
		}
		if o := d.s.Loop(g.Source); d.s.mayRetry(d.s.Loop(l.Ref), o) {
			d.emit(l.Ref, &pawl.TaskRetried{Task: o.slot.entry, Reason: brief.Cut(o.Reason, 300)})
		}
		d.acknowledge(l, g.N)
	}
}

// failures returns why children failed, as feedback for the loop's next prompts.
func (s *State) failures(l *Loop) (out []pawl.Feedback) {
	if !l.Kind.Children.RestartsParent() || l.gen.plan == nil {
		return nil
	}
	for i := range l.inbox.Signals {
		if g := &l.inbox.Signals[i]; g.Kind == pawl.SignalError && s.isWorkFailure(l, g) && len(out) < maxChildFailures {
			o := s.Loop(g.Source)
			out = append(out, pawl.Feedback{From: brief.Cut(o.task.ID, 60), Verdict: pawl.VerdictFail, Summary: brief.Cut(o.Reason, 120), Evidence: g.Payload})
		}
	}
	return out
}

// maxChildFailures bounds how many child failures a prompt lists.
const maxChildFailures = 3

// lostWorktree reports whether a loop ends because its worktree failed for good. Its parent can
// decide what follows, so the run need not stop.
func (s *State) lostWorktree(l *Loop) bool {
	p, w := s.Loop(l.Parent), &l.worktree
	return p != nil && p.Kind.Children.RestartsParent() && w.Trouble() != nil && w.Trouble().Code != pawl.FailDefect && !w.MayRetry()
}

// endLostChild ends a child whose worktree failed for good, as soon as its work is not being
// landed. The rest of the run is not affected.
func (d *draft) endLostChild(l *Loop) {
	if d.s.isLanding(l) {
		return
	}
	w := &l.worktree
	if q := l.person.question; q != nil {
		d.emit(l.Ref, &pawl.QuestionWithdrawn{N: q.n, Reason: brief.Cut(w.Trouble().Message, 200)})
	}
	if l.inFlight() {
		d.cutOff(l, string(w.Trouble().Code))
	}
	if !l.inFlight() {
		d.abandon(l, w.Trouble().Message)
		d.shut(l, pawl.OutcomeFailed, w.Reason())
	}
}

// withFailure adds to a judgement the failure of a child that ends the loop's iteration.
func (s *State) withFailure(l *Loop, j ladder.Judgement) ladder.Judgement {
	if g := s.failureSignal(l); g != nil && j.Pass() {
		o := s.Loop(g.Source)
		j.StepFailed, j.Children = strings.TrimSuffix(fmt.Sprintf("the %s %s failed: %s", o.Kind.Name, o.task.ID, o.Reason), ": "), ""
	}
	return j
}

// resumesInNewGeneration reports whether the run's end stopped the loop between two iterations.
// When the run is resumed, the loop starts a new generation instead of continuing the last one.
func (l *Loop) resumesInNewGeneration() bool {
	return l.Kind.Children.RestartsParent() && l.stopped && !l.inIteration && l.gen.plan != nil
}

// endSignals drops the signals of a loop that has ended. If the loop may continue, a signal that
// holds it still does.
func (s *State) endSignals(l *Loop, b *pawl.LoopEnded) {
	l.exit.broke = b.Outcome == pawl.OutcomeFailed && l.worktree.IsLost()
	if top := s.Loop(l.exit.ender); top != nil && top.exit.clearing != nil {
		top.exit.clearing.open--
	}
	l.inbox.Signals, l.inbox.Infos, l.exit.ending, l.exit.clearing = nil, nil, nil, nil
	if l.inbox.Held {
		s.hold(l, false)
		l.inbox.Held = b.Stopped
	}
}
