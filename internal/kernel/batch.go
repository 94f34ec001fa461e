package kernel

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/monitor"
)

// maxBatch bounds the tasks of a batch, also when all ready tasks land together.
const maxBatch = 64

// batchSize returns how many tasks the loop's next batch may have: as many as work at once, unless
// they land whole or not at all, or only the best does.
func (s *State) batchSize(l *Loop) int {
	switch ch := l.Kind.Children; {
	case ch.Group == pawl.GroupAll:
		return maxBatch
	case ch.Land == pawl.LandAll, ch.Land == pawl.LandBest:
		return min(ch.Group, maxBatch)
	default:
		return min(ch.Group, s.parallel(l))
	}
}

// batches works on a loop's tasks in batches that are judged as a whole, and reports whether
// nothing is left to do.
func (d *draft) batches(l *Loop) bool {
	if l.Kind.Children.IsEager() {
		d.spawnEager(l)
		l = d.s.Loop(l.Ref)
	}
	p := l.gen.plan
	switch {
	case !l.gen.Unlearned.IsZero():
		d.learnRollback(l)
	case l.gen.batch != nil:
		d.advanceBatch(l)
	case l.gen.Unjudged:
		d.judgeHealth(l)
	case l.gen.Unmarked:
		d.mark(l)
	case d.recordsDue(l):
		d.record(l)
	case p.Calling != "": // a person called for it during the batch
		d.replan(l)
	case len(l.gen.Recover) > 0:
		d.recoverHealth(l)
	case l.lastAnswerTo(pawl.AskHealth) != nil:
		return d.obeyHealthAnswer(l)
	default:
		return !d.replan(l) && d.nextBatch(l)
	}
	return false
}

// choiceStop is the answer to a question that ends the work.
const choiceStop = "stop"

// nextBatch starts the next batch, or reports that nothing is left to do.
func (d *draft) nextBatch(l *Loop) bool {
	d.block(l)
	l = d.s.Loop(l.Ref)
	tasks, scaffold := d.choose(l)
	if len(tasks) == 0 {
		return len(l.gen.plan.Kids) == 0 // children that are left wait for people
	}
	d.emit(l.Ref, &pawl.BatchStarted{N: l.gen.batches + 1, Tasks: tasks, Scaffold: scaffold})
	return false
}

// choose picks as many tasks for the next batch as there are places: first those whose loops try
// again, then those that are ready. While a scaffold task is open, only scaffold tasks and those
// that they depend on are picked.
func (d *draft) choose(l *Loop) (tasks []int, scaffold bool) {
	p := l.gen.plan
	places, limit := d.s.batchSize(l), d.s.childLimit(l)
	var ground []bool
	if l.Kind.Children.ScaffoldFirst {
		ground = p.Ground()
	}
	again := d.s.retryingTasks(l, places, ground)
	if l.Kind.Children.Land == pawl.LandAll && len(p.Kids) > 0 { // tasks that have begun land first
		if d.s.asksAny(p.Kids) {
			return nil, false
		}
		if len(again) > 0 {
			slices.Sort(again)
			return again, ground != nil
		}
	}
	tasks, capped := p.Choose(again, places, limit, ground)
	if capped && p.Capped != limit {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitTasks, Max: int64(limit), Value: int64(p.Started)})
	}
	if capped && len(tasks) == 0 { // the limit admits no more scaffold tasks
		ground = nil
		tasks = d.s.retryingTasks(l, places, ground)
	}
	slices.Sort(tasks)
	return tasks, ground != nil
}

// retryingTasks returns the tasks whose loops try again, at most as many as there are places. If
// ground is not nil, only the tasks that it marks are returned.
func (s *State) retryingTasks(l *Loop, places int, ground []bool) (tasks []int) {
	for _, ref := range l.gen.plan.Kids {
		if k := s.Loop(ref); l.gen.plan.At(k.slot.entry).Status == pawl.TaskRunning && k.person.question == nil && len(tasks) < places && (ground == nil || ground[k.slot.entry]) {
			tasks = append(tasks, k.slot.entry)
		}
	}
	return tasks
}

// asksAny reports whether one of the loops waits for a person.
func (s *State) asksAny(refs []pawl.LoopRef) bool {
	return slices.ContainsFunc(refs, func(ref pawl.LoopRef) bool { return s.Loop(ref).person.question != nil })
}

// advanceBatch takes the current batch one step further.
func (d *draft) advanceBatch(l *Loop) {
	b := l.gen.batch
	if !b.Moved && (d.runSteps(l, l.flow.Main, l.flow.Before, l.gen.beforeDone) || !d.workOnBatch(l) || !d.landGroup(l)) {
		return
	}
	if b.Moved && b.Land == pawl.LandBest && d.dropOthers(l) || !d.membersReacted(l) {
		return
	}
	if b.Moved && d.runSteps(l, l.flow.Before, l.flow.After, l.gen.afterDone) {
		return
	}
	attempted, approved := d.s.tally(l)
	d.emit(l.Ref, &pawl.BatchEnded{N: b.N, Attempted: attempted, Approved: approved})
}

// workOnBatch lets the members of the batch work, and reports whether all of them rest: they wait
// to be merged or for a person, were rejected, or have failed.
func (d *draft) workOnBatch(l *Loop) bool {
	over, busy := true, d.s.busyOf(l, nil, false)
	for i := range l.gen.batch.Members {
		l = d.s.Loop(l.Ref)
		m := &l.gen.batch.Members[i]
		t := l.gen.plan.At(m.Task)
		begins := t.Status == pawl.TaskPending && t.Open == 0 && !m.Begun && !l.failureStopsOthers()
		switch {
		case !begins && d.s.memberRests(l, m):
			continue
		case !begins:
			d.markDirty(t.Loop)
		case busy >= d.s.parallel(l): // it waits for a place
		case l.Kind.Children.IsEager(): // its loop exists and waits to be admitted
			d.placesOpened, busy = true, busy+1
		default:
			d.spawn(l, m.Task)
			busy++
		}
		over = false
	}
	return over
}

// busyOf counts the loops of the batch that are at work, without but. If inside is true, it counts
// only those in an iteration.
func (s *State) busyOf(l, but *Loop, inside bool) (n int) {
	for i := range l.gen.batch.Members {
		m := &l.gen.batch.Members[i]
		t := l.gen.plan.At(m.Task)
		if k := s.Loop(t.Loop); t.Status == pawl.TaskRunning && k != but && (k.inIteration || !inside) && !s.memberRests(l, m) {
			n++
		}
	}
	return n
}

// failureStopsOthers reports whether a task that failed keeps the other tasks of the plan from
// starting.
func (l *Loop) failureStopsOthers() bool {
	return len(l.gen.plan.Dead) > 0 && l.Kind.Children.OnFailure == pawl.FailStop
}

// dropOthers drops the members of a group that were not picked, and reports whether there were any.
func (d *draft) dropOthers(l *Loop) bool {
	b := l.gen.batch
	picked := b.Members[b.Chain[len(b.Chain)-1].Member].Task
	dropped := false
	for i := range b.Members {
		task := b.Members[i].Task
		switch d.s.Loop(l.Ref).gen.plan.At(task).Status {
		case pawl.TaskRunning, pawl.TaskFailed, pawl.TaskPending:
			if task != picked {
				d.emit(l.Ref, &pawl.TaskJudged{Batch: b.N, Task: task, By: land.ByReview, Verdict: pawl.VerdictSkip, Reason: l.taskID(picked) + " was picked"})
				dropped = true
			}
		}
	}
	return dropped
}

// memberRests reports whether a member's loop does nothing more before it is judged.
func (s *State) memberRests(l *Loop, m *land.Member) bool {
	t := l.gen.plan.At(m.Task)
	if t.Status != pawl.TaskRunning {
		return true
	}
	k := s.Loop(t.Loop)
	between := k.Phase == PhaseReady || k.Phase == PhaseBase && !k.inIteration && len(k.open) == 0 // PhaseBase if it started over
	return k.person.question != nil || k.merge() != nil || between && m.Rejected()
}

// isQueued reports whether a member's loop waits to be merged and nothing rules it out.
func (s *State) isQueued(l *Loop, m *land.Member) bool {
	t := l.gen.plan.At(m.Task)
	return t.Status == pawl.TaskRunning && s.Loop(t.Loop).merge() != nil && !m.Rejected() &&
		(m.In || !l.gen.batch.Sealed)
}

// membersReacted reports whether the loops of a judged batch have reacted to the verdicts: approved
// ones have ended; the others have ended too, are between two attempts, wait for a person, or came
// too late and wait for the next batch.
func (d *draft) membersReacted(l *Loop) bool {
	for i := range l.gen.batch.Members {
		m := &l.gen.batch.Members[i]
		if t := l.gen.plan.At(m.Task); t.Status == pawl.TaskRunning {
			k := d.s.Loop(t.Loop)
			waits := k.person.question != nil || k.merge() != nil && m.Verdict == ""
			if m.Verdict == pawl.VerdictPass || !waits && (k.inIteration || k.Phase == PhaseClosing) {
				return false
			}
		}
	}
	return true
}

// tally counts the tasks of the batch that were attempted, and those that were approved.
func (s *State) tally(l *Loop) (attempted, approved int) {
	for _, m := range l.gen.batch.Members {
		switch s.resultOf(l, &m) {
		case monitor.Waiting:
		case monitor.Approved:
			attempted++
			approved++
		default:
			attempted++
		}
	}
	return attempted, approved
}

// resultOf returns how a member's part in the batch ended.
func (s *State) resultOf(l *Loop, m *land.Member) monitor.Result {
	t := l.gen.plan.At(m.Task)
	switch {
	case t.Status == pawl.TaskPassed:
		return monitor.Approved
	case t.Status == pawl.TaskPending, t.Status == pawl.TaskDropped: // it was held back, or not picked
		return monitor.Waiting
	case t.Status == pawl.TaskFailed && s.Loop(t.Loop).Outcome == pawl.OutcomeCancelled: // a person left it out
		return monitor.Waiting
	case t.Status == pawl.TaskRunning && m.Verdict == "" && (s.Loop(t.Loop).person.question != nil || s.Loop(t.Loop).merge() != nil):
		return monitor.Waiting
	case m.Verdict != "":
		return monitor.Rejected
	}
	return monitor.Failed
}

// mayWork reports whether a loop may begin an attempt. If its parent judges batches, the loop must
// be a member of the current one.
func (s *State) mayWork(l *Loop) bool {
	p := s.Loop(l.Parent)
	if p == nil || !p.Kind.Children.Groups() {
		return true
	}
	b := p.gen.batch
	return b != nil && !b.Moved && b.Open(l.slot.entry) && !p.stepsLeft(p.flow.Main, p.flow.Before, p.gen.beforeDone) && s.busyOf(p, l, true) < s.parallel(p)
}

// isRejected reports whether a loop's batch has rejected its work.
func (s *State) isRejected(l *Loop) bool {
	m := s.Loop(l.Parent).gen.batch.Member(l.slot.entry)
	return m != nil && m.Rejected()
}

// isLanding reports whether the parent's branch is being moved to a batch that contains the loop's
// work.
func (s *State) isLanding(l *Loop) bool {
	p := s.Loop(l.Parent)
	if p == nil || !p.Kind.Children.Groups() || !p.wants(pawl.VerbAdvanceBranch) {
		return false
	}
	m := p.gen.batch.Member(l.slot.entry)
	return m != nil && m.In && m.Verdict == pawl.VerdictPass
}

// startBatch records which tasks are in a new batch.
func (l *Loop) startBatch(b *pawl.BatchStarted) error {
	if l.gen.batch != nil || b.N != l.gen.batches+1 {
		return fmt.Errorf("batch %d follows batch %d, and one is active", b.N, l.gen.batches)
	}
	l.gen.batches = b.N
	l.beginAround()
	l.gen.batch = &land.Batch{N: b.N, Scaffold: b.Scaffold, Land: l.Kind.Children.Land}
	for _, i := range b.Tasks {
		if i < 0 || i >= len(l.gen.plan.Entries) {
			return fmt.Errorf("there is no task %d", i)
		}
		l.gen.batch.Members = append(l.gen.batch.Members, land.Member{Task: i, Begun: l.gen.plan.At(i).Status == pawl.TaskRunning, Facts: monitor.Task{Task: i, Passing: -1}})
	}
	return nil
}

// judgedTask records the batch's verdict on one of its tasks. Rejecting a task changes the
// candidate.
func (s *State) judgedTask(l *Loop, b *pawl.TaskJudged) error {
	m := l.gen.batch.Member(b.Task)
	if m == nil || b.Batch != l.gen.batch.N {
		return fmt.Errorf("batch %d has no task %d", b.Batch, b.Task)
	}
	if b.By == byPerson {
		l.person.reply = nil
	}
	if b.Verdict == pawl.VerdictSkip {
		l.gen.plan.Drop(b.Task, b.Batch)
		return nil
	}
	if t := l.gen.plan.At(b.Task); b.Verdict != pawl.VerdictPass && t.Status == pawl.TaskRunning {
		s.Loop(t.Loop).noteIn(m, land.Objection(b.By, b.Reason, b.Evidence, b.Words))
	}
	if l.gen.batch.Judged(b.Task, b.Verdict) {
		l.cand.Again()
	}
	return nil
}

// taskID returns the id of a task of the loop's plan.
func (l *Loop) taskID(i int) string { return l.gen.plan.Entries[i].ID }

// endBatch records how a batch ended, as the monitor sees it.
func (s *State) endBatch(l *Loop, b *pawl.BatchEnded) error {
	if l.gen.batch == nil || l.gen.batch.N != b.N {
		return fmt.Errorf("batch %d is not active", b.N)
	}
	bt := l.gen.batch
	facts := bt.Facts(b, l.gen.History, l.gen.Tree, func(m *land.Member) monitor.Result { return s.resultOf(l, m) })
	l.gen.Ended(facts, monitor.LastBatch{N: b.N, Attempted: b.Attempted, Approved: b.Approved, Scaffold: bt.Scaffold, Passing: facts.Passing, Broke: bt.Broken(l.gen.Last.Broke)}, ladder.Kept)
	// A batch that only waits says nothing about the health, and another one that got nowhere may not yet.
	l.gen.Unjudged = l.Kind.Children.Monitor != nil && b.Attempted > 0 && monitor.Judge(l.gen.History, l.Kind.Children.MonitorRules).Health != ""
	l.gen.Unmarked = l.Kind.Children.Checkpoint && b.Approved > 0
	l.unrecorded = true
	l.gen.batch = nil
	return nil
}
