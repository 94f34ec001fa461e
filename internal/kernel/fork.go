package kernel

import (
	"cmp"
	"fmt"

	"pawl"
	"pawl/internal/kernel/budget"
)

// Fork is the first input of a run that was made of the first events of another run.
// Its RunStarted names the other run and has a branch and a seed of its own.
type Fork struct{}

// fork continues the run from the events that it shares with another run, with no
// effects in flight.
func (d *draft) fork() error {
	root := d.s.Loop(1)
	switch {
	case d.s.Started.ForkOf == "":
		return pawl.Errorf(pawl.CodeInternal, "run %s was not made of another one", d.s.Run)
	case root == nil:
		return pawl.Errorf(pawl.CodeInvalid, "no loop of run %s had begun at event %d", d.s.Started.ForkOf, d.s.Seq)
	}
	b := &pawl.Forked{Commit: cmp.Or(root.Head, root.Base), Lost: int(d.s.Seq - d.s.headAt), Cost: d.s.Spent.Money, Tokens: d.s.Spent.Tokens}
	d.emit(0, b)
	b.Max = d.eventMax()
	return nil
}

// head returns the newest commit of the run's branch; empty = its worktree was never open.
func (s *State) head() pawl.CommitHash {
	if root := s.Loop(1); root != nil {
		return root.Head
	}
	return ""
}

// forked records that the run is a fork. Open effects and questions belong to the other
// run, and so do its end, its stop and what it spent. Work that is not in the branch is
// lost: tasks get new loops, and the root's iteration starts again.
func (s *State) forked(e pawl.Event, b *pawl.Forked) error {
	root := s.Loop(1)
	if root == nil {
		return fmt.Errorf("no loop has begun")
	}
	for l := range s.each {
		for _, f := range l.open {
			s.removeOpen(f.ID)
		}
		l.open, l.spent, l.HasWorkspace = nil, budget.Purse{}, false
		if l.iter != nil {
			l.iter.spentAt = budget.Purse{}
		}
	}
	for l := range s.each {
		if l.Parent != 0 {
			s.dropChild(l)
		}
	}
	s.reopenRoot(root)
	s.forkedAt, s.began = b.Commit, e.Time
	s.Status, s.Outcome, s.Reason, s.Stopping, s.Drain = pawl.StatusRunning, "", "", nil, ""
	s.Budget.Reset()
	s.Alive = 0
	s.Interruptions, s.openQuestions, s.heldLoops, s.notified, s.archived = 0, 0, 0, false, false
	return nil
}

// dropChild ends a child, which the fork does not continue. If the parent's branch has
// its work already, its task has passed; if not, the task may run again.
func (s *State) dropChild(l *Loop) {
	live := l.Phase != PhaseDone
	if !live && !l.stopped {
		return
	}
	p := s.Loop(l.Parent)
	running := p.gen.plan != nil && l.slot.version == p.gen.plan.Version && p.gen.plan.At(l.slot.entry).Loop == l.Ref && p.gen.plan.At(l.slot.entry).Status == pawl.TaskRunning
	b := &pawl.LoopEnded{Outcome: pawl.OutcomeCancelled, Reason: "the run was forked", Stopped: true}
	switch {
	case live && l.Phase == PhaseClosing && l.Outcome.Succeeded():
		b = &pawl.LoopEnded{Outcome: l.Outcome, Reason: l.Reason}
	case live && l.merge().IsDone():
		b = &pawl.LoopEnded{Outcome: pawl.OutcomeUnverified, Reason: "its work was merged when the run was forked"}
		if j := s.withProof(l, l.judgement()); j.Green && !j.Proof.IsNone() {
			b.Outcome = pawl.OutcomeComplete
		}
	}
	if live {
		s.applyLoopEnded(l, b)
	}
	l.stopped, l.inbox.Held = false, false
	l.dropDetails()
	if running && p.gen.plan.At(l.slot.entry).Status != pawl.TaskPassed {
		p.gen.plan.Set(l.slot.entry, pawl.TaskPending)
		p.gen.plan.Started--
	}
}

// reopenRoot restarts the root loop with the opening of its worktree, at the commit
// that its branch had. A root that had ended or was ending continues as when its run
// is resumed.
func (s *State) reopenRoot(l *Loop) {
	over := l.Phase == PhaseDone || l.Phase == PhaseClosing || s.Stopping != nil
	outcome := l.Outcome
	if l.Phase != PhaseDone {
		s.applyLoopEnded(l, &pawl.LoopEnded{Outcome: pawl.OutcomeHalted, Stopped: true})
	}
	s.reopen(l)
	l.stopped, l.person.approved, l.inbox.Held = false, false, false
	l.person.overrulings, l.person.rejudge, l.iter.rejudges = nil, false, false // consents are not inherited
	p := l.gen.plan
	if p != nil {
		l.beginAround()
		l.gen.batch, p.Capped = nil, 0
	}
	if l.gen.Back != nil {
		l.gen.Back.Requested = false
	}
	if over && outcome == pawl.OutcomeBlocked {
		l.ladder.Failures, l.ladder.Afterward, l.ladder.StuckFrom = 0, -1, l.Iteration
	}
	switch {
	case over && p != nil:
		l.requestReplan()
		l.gen.batch = l.gen.batch.Again()
		p.Retry()
		l.gen.planned, l.inIteration, l.gen.refused = true, true, false
	case over && !l.inIteration && (l.Kind.Children != nil || outcome.Succeeded()):
		l.ladder.Freed = l.Iteration
	case !l.inIteration:
		l.gen.planned = false
	}
}
