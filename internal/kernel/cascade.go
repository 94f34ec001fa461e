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

// clearing is the end of everything below a loop that begins anew, or fails.
type clearing struct {
	open    int  // loops that were told to end and have not
	expired bool // the time they have for what is in flight is over
	said    bool // and what was in flight then is withdrawn
}

// signalTime is how long a loop that must end may take for what it has in flight.
const signalTime = 30 * time.Second

// signalStep is the place of everything that has to do with signals.
const signalStep = "signal"

// clearBelow ends what stands below a loop, and reports whether all of it has ended. What
// is in flight may come to its end for a while; then it is withdrawn.
func (d *draft) clearBelow(l *Loop, kind pawl.SignalKind, reason string) bool {
	if l.exit.clearing == nil {
		d.acknowledgeAll(l, pawl.SignalError) // it is decided what they lead to
		d.clear(l, kind, reason)
		l = d.s.Loop(l.Ref)
	}
	c := l.exit.clearing
	waits := slices.IndexFunc(l.open, clears)
	switch {
	case c == nil || c.open == 0:
		if waits >= 0 {
			d.withdraw(l.open[waits], "all have ended")
		}
		return true
	case c.expired && !c.said:
		d.expire(l)
	case !c.expired && waits < 0:
		d.request(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(signalStep), Do: &pawl.Wait{For: signalTime, Reason: "those below it end"}})
	}
	return false
}

// endBelow ends what stands below a loop that ends, and reports whether all of it has ended.
func (d *draft) endBelow(l *Loop, reason string) bool {
	switch {
	case l.gen.plan == nil:
		return true
	case len(l.gen.plan.Kids) == 0 && !slices.ContainsFunc(l.open, clears):
		return true
	}
	return d.s.Stopping == nil && d.clearBelow(l, pawl.SignalStop, reason)
}

// clears reports whether an effect is the time that loops below one have to end.
func clears(f *pawl.Effect) bool { return f.Place.Step == signalStep }

// clear tells everything below a loop that is at work to end.
func (d *draft) clear(l *Loop, kind pawl.SignalKind, reason string) {
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

// outcomeBy is how a loop ends that a signal ends.
func outcomeBy(kind pawl.SignalKind) pawl.Outcome {
	if kind == pawl.SignalInvalidate {
		return pawl.OutcomeInvalid
	}
	return pawl.OutcomeCancelled
}

// clears takes over that a loop has told another one below it to end.
func (s *State) clears(source pawl.LoopRef, l *Loop) error {
	top := s.Loop(source)
	if top == nil {
		return fmt.Errorf("there is no loop %d", source)
	}
	if top.exit.clearing == nil {
		top.exit.clearing = &clearing{}
	}
	top.exit.clearing.open++
	l.exit.ender = source
	return nil
}

// expire withdraws what is in flight below a loop after its time. What is done to a
// worktree comes to its end in any case; it is short.
func (d *draft) expire(l *Loop) {
	d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitSignal, Max: int64(signalTime), Value: int64(signalTime)})
	for _, ref := range d.s.below(l.Ref) {
		o := d.s.Loop(ref)
		g := o.ended()
		if g == nil { // also of one that was told by a loop between the two
			continue
		}
		d.own(ref)
		d.cutOff(d.s.Loop(ref), "it did not end in "+signalTime.String())
		d.emit(ref, &pawl.SignalAcknowledged{N: g.N, Expired: true})
	}
}

// beginAnew takes back what a loop's last artifact led to before its next iteration,
// and reports whether there is nothing of it left: what stands below it ends and does
// not count any more, and its work goes to a fresh branch, unless others have it already.
func (d *draft) beginAnew(l *Loop) bool {
	if !l.Kind.Children.RestartsParent() || l.gen.plan == nil || l.gen.plan.Started == 0 {
		return true
	}
	why := cmp.Or(l.lastLine(), "a person wants another one")
	if !d.clearBelow(l, pawl.SignalInvalidate, "Parent re-iterating: "+why) || len(d.s.Loop(l.Ref).open) > 0 {
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

// lastLine is what was objected to the last attempt, in short.
func (l *Loop) lastLine() string {
	if a := l.lastAttempt(); a != nil {
		return cmp.Or(a.StepFailed, a.Line)
	}
	return ""
}

func (d *draft) nextGeneration(l *Loop, fresh bool, why string) {
	for _, ref := range d.s.below(l.Ref) {
		if o := d.s.Loop(ref); !o.invalid {
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

// beginGeneration takes over that the loop begins anew.
func (l *Loop) beginGeneration(b *pawl.GenerationStarted) error {
	if b.N != l.gen.n+1 || l.inside {
		return fmt.Errorf("generation %d of loop %d follows generation %d", b.N, l.Ref, l.gen.n)
	}
	plans := l.gen.plans
	if l.gen.plan != nil {
		plans = l.gen.plan.Version
	}
	course := monitor.Course{Marks: l.gen.Marks} // no name of a checkpoint is given twice
	l.gen, l.exit.clearing = &Generation{n: b.N, plans: plans, batches: l.gen.batches, Course: course}, nil
	l.person.approved, l.person.reply = false, nil
	if b.Branch != l.branch && l.Parent != 0 {
		l.branch, l.Phase = b.Branch, PhaseOpening
		l.Head, l.upstream.rebase, l.cand, l.upstream.suspect, l.ahead = b.Base, nil, nil, pawl.Hash{}, false
	}
	l.Base = b.Base
	return nil
}

// invalidated takes over that a loop does not count any more.
func (l *Loop) invalidated() error {
	if l.Phase != PhaseDone {
		return fmt.Errorf("loop %d has not ended", l.Ref)
	}
	l.invalid = true
	l.forget()
	l.stopped = false // it does not go on when its run does
	return nil
}

// troubled tells a parent that a child has failed, where the children stand on its
// artifact. Nobody is told who ends as well.
func (d *draft) troubled(l *Loop, o pawl.Outcome, reason string, evidence pawl.Hash) {
	p := d.s.Loop(l.Parent)
	if p == nil || !p.Kind.Children.RestartsParent() || o.Succeeded() || d.s.Stopping != nil || p.exit.clearing != nil || p.isLeaving() || p.Phase != PhaseGates {
		return
	}
	if p.gen.plan.At(l.slot.entry).Status == pawl.TaskBlocked { // what blocks it has been told
		return
	}
	d.signal([]pawl.LoopRef{p.Ref}, "", pawl.SignalSent{Signal: pawl.SignalError, Source: l.Ref, Reason: brief.Cut(l.task.ID+": "+reason, 300), Payload: evidence})
}

// evidence is what a loop that fails leaves to read about it.
func (l *Loop) evidence() pawl.Hash {
	for _, f := range l.feedback() {
		if !f.Evidence.IsZero() {
			return f.Evidence
		}
	}
	return pawl.Hash{}
}

// failing is the first child's failure that the loop's iteration ends by, or nil: not
// one that was tried again, nor the end that a person wanted.
func (s *State) failing(l *Loop) *signal.Signal {
	if !l.Kind.Children.RestartsParent() || l.gen.plan == nil {
		return nil
	}
	for i := range l.inbox.Signals {
		if g := &l.inbox.Signals[i]; g.Kind == pawl.SignalError && s.plainly(l, g) {
			return g
		}
	}
	return nil
}

// plainly reports whether a child's failure is the failure of its work.
func (s *State) plainly(l *Loop, g *signal.Signal) bool {
	o := s.Loop(g.Source)
	return !l.gen.plan.Excuses(o.slot.entry) && !s.mayRetry(l, o)
}

// mayRetry reports whether a task runs once more because of what its loop failed by.
func (s *State) mayRetry(l, o *Loop) bool { return o.broke && !l.gen.plan.At(o.slot.entry).Again }

// weigh decides what follows from the failures of a loop's children that do not end its
// iteration: a task whose loop failed by the machine runs once more with a fresh one,
// and what a person ended is left at that.
func (d *draft) weigh(l *Loop) {
	for _, g := range slices.Clone(l.inbox.Signals) {
		if g.Kind != pawl.SignalError || d.s.plainly(d.s.Loop(l.Ref), &g) {
			continue
		}
		if o := d.s.Loop(g.Source); d.s.mayRetry(d.s.Loop(l.Ref), o) {
			d.emit(l.Ref, &pawl.TaskRetried{Task: o.slot.entry, Reason: brief.Cut(o.Reason, 300)})
		}
		d.acknowledge(l, g.N)
	}
}

// failures are what children failed by, for the loop's next prompts.
func (s *State) failures(l *Loop) (out []pawl.Feedback) {
	if !l.Kind.Children.RestartsParent() || l.gen.plan == nil {
		return nil
	}
	for i := range l.inbox.Signals {
		if g := &l.inbox.Signals[i]; g.Kind == pawl.SignalError && s.plainly(l, g) && len(out) < maxChildFailures {
			o := s.Loop(g.Source)
			out = append(out, pawl.Feedback{From: brief.Cut(o.task.ID, 60), Verdict: pawl.VerdictFail, Summary: brief.Cut(o.Reason, 120), Evidence: g.Payload})
		}
	}
	return out
}

// maxChildFailures is of how many children a prompt is told what they failed by.
const maxChildFailures = 3

// breaksOff reports whether a loop ends because its worktree fails for good: its parent can decide
// what follows.
func (s *State) breaksOff(l *Loop) bool {
	p, w := s.Loop(l.Parent), &l.worktree
	return p != nil && p.Kind.Children.RestartsParent() && w.Trouble() != nil && w.Trouble().Code != pawl.FailDefect && !w.MayRetry()
}

// breakOff ends a child whose worktree fails for good, once its work is not being landed any more.
// Nothing else of the run is affected.
func (d *draft) breakOff(l *Loop) {
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

// withFailure adds to a judgement that a child has failed the loop's iteration.
func (s *State) withFailure(l *Loop, j ladder.Judgement) ladder.Judgement {
	if g := s.failing(l); g != nil && j.Pass() {
		o := s.Loop(g.Source)
		j.StepFailed, j.Children = strings.TrimSuffix(fmt.Sprintf("the %s %s failed: %s", o.Kind.Name, o.task.ID, o.Reason), ": "), ""
	}
	return j
}

// beginsAnew reports whether a run that ended stopped a loop between two iterations:
// what its last artifact led to does not go on.
func (l *Loop) beginsAnew() bool {
	return l.Kind.Children.RestartsParent() && l.stopped && !l.inside && l.gen.plan != nil
}

// endSignals leaves nothing of what a loop that has ended was told. That a signal holds
// it stays, if it may go on.
func (s *State) endSignals(l *Loop, b *pawl.LoopEnded) {
	l.broke = b.Outcome == pawl.OutcomeFailed && l.worktree.IsLost()
	if top := s.Loop(l.exit.ender); top != nil && top.exit.clearing != nil {
		top.exit.clearing.open--
	}
	l.inbox.Signals, l.inbox.Infos, l.exit.ending, l.exit.clearing = nil, nil, nil, nil
	if l.inbox.Held {
		s.hold(l, false)
		l.inbox.Held = b.Stopped
	}
}
