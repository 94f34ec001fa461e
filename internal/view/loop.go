package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pawl"
)

// Loop is one loop of a run.
type Loop struct {
	Ref pawl.LoopRef
	pawl.LoopStarted
	Began time.Time
	End   *pawl.LoopEnded // nil while it is under way
	Ended time.Time
	Tier  int // 0 = not known yet
	// Score is the complexity, -1 when it is not known; ScoreWhy tells how it came about.
	Score    int
	ScoreWhy string
	Spent    Spending // its own and that of the loops below it

	loopIterations
	loopCouncils
	loopSessions
	loopPlans
	loopBoard
	// What becomes of its children where they are judged in batches. Of a loop without
	// children, its health and its rollbacks are about its attempts.
	loopBatches
	loopHealths
	loopCheckpoints
	loopGeneration
	loopEvidence
	loopGoals

	alone bool // its kind has no children
}

// root returns the run's first loop, or nil.
func (r *Run) root() *Loop {
	if len(r.Loops) == 0 {
		return nil
	}
	return r.Loops[0]
}

// loop finds a loop, or nil.
func (r *Run) loop(ref pawl.LoopRef) *Loop {
	if i := int(ref) - 1; i >= 0 && i < len(r.Loops) && r.Loops[i].Ref == ref {
		return r.Loops[i] // as they are numbered
	}
	for _, l := range r.Loops {
		if l.Ref == ref && ref > 0 { // 0 is the run, and the root's parent
			return l
		}
	}
	return nil
}

// lead names the task of a loop before a line, behind those above it: "[auth/tokens] ";
// empty for the root.
func (r *Run) lead(l *Loop) string {
	path := r.path(l)
	if path == "" {
		return ""
	}
	return "[" + path + "] "
}

// path returns the tasks from the root's children down to a loop's own.
func (r *Run) path(l *Loop) string {
	if l == nil || l.Task == "" {
		return ""
	}
	above := r.loop(l.Parent)
	name := l.Task
	if above != nil && above.Task == l.Task {
		name = l.Kind // the one piece of work its parent is about
	}
	if path := r.path(above); path != "" {
		return path + "/" + name
	}
	return name
}

// called returns what people call a loop: its path, or what kind of loop it is.
func (r *Run) called(l *Loop) string {
	if path := r.path(l); path != "" {
		return path
	}
	return "the " + l.Kind
}

// startLoop adds a loop; the task it works on is running from now on.
func (r *Run) startLoop(e pawl.Event, b *pawl.LoopStarted) {
	l := &Loop{Ref: e.Loop, LoopStarted: *b, Began: e.Time, Score: -1}
	l.Generation, l.sessions = 1, map[int]*Session{}
	if k := r.Recipe.Kind(l.Kind); k != nil {
		l.alone = k.Children == nil
	}
	if l.Parent >= l.Ref { // it would be above itself
		l.Parent = 0
	}
	r.Loops = append(r.Loops, l)
	if t := r.task(l); t != nil {
		t.Loops = append(slices.Clip(t.Loops), l)
		if !b.Pending {
			t.move(e, pawl.TaskRunning, "", "")
		}
	}
}

// endLoop ends a loop and settles its task. One that ended because the run did
// goes on when the run does.
func (r *Run) endLoop(l *Loop, e pawl.Event, b *pawl.LoopEnded) {
	l.End, l.Ended = b, e.Time
	t := r.task(l)
	said, known := pawl.TaskStatusOf(b.Task)
	switch {
	case t == nil || b.Stopped && b.Outcome.Resumable() || t.Status == pawl.TaskDropped:
	case b.Outcome == pawl.OutcomeInvalid:
		t.move(e, pawl.TaskSkipped, "", b.Reason)
	case known && said == pawl.TaskPending:
		t.move(e, pawl.TaskPending, "", "")
		t.begun = false
	case known && said == pawl.TaskPassed:
		t.move(e, said, "", "")
	case known && said == pawl.TaskFailed && b.Stopped:
		t.move(e, said, "", "cut off at its work"+because(b.Reason))
	case known && said != t.Status:
		t.move(e, said, "", b.Reason)
	case known: // as it was, such as blocked by another one
	case r.fenced(l, t): // an older log, from here on
		t.move(e, pawl.TaskPending, "", "")
		t.begun = false
	case b.Stopped:
		t.move(e, pawl.TaskSkipped, "", b.Reason)
	case b.Outcome.Succeeded():
		t.move(e, pawl.TaskPassed, "", "")
	default:
		t.move(e, pawl.TaskFailed, "", b.Reason)
	}
}

// reopen lets a loop that had ended go on.
func (r *Run) reopen(l *Loop, e pawl.Event) {
	t := r.task(l)
	if l.End == nil {
		if t != nil && t.Status == pawl.TaskPending { // it was held back
			t.move(e, pawl.TaskRunning, "", "")
		}
		return
	}
	l.End, l.Ended = nil, time.Time{}
	if t != nil && t.Status != pawl.TaskPassed {
		t.move(e, pawl.TaskRunning, "", "")
	}
}

// retry lets a loop that had ended do again what it did not reach: the tasks that
// did not pass, or its plan, for which it has as many attempts as before.
func (r *Run) retry(l *Loop, e pawl.Event) {
	p, it := l.Plan(), l.last()
	if p == nil {
		if k := r.Recipe.Kind(l.Kind); k != nil && k.Children != nil && it != nil && it.End != nil {
			l.freed = it.N
		}
		return
	}
	for _, t := range p.Tasks {
		switch t.Status {
		case pawl.TaskFailed, pawl.TaskBlocked, pawl.TaskSkipped:
			t.move(e, pawl.TaskPending, "", "")
			t.begun = false
		}
	}
}

// isAlone reports whether the loop does its work itself: its kind has no children.
func (l *Loop) isAlone() bool { return l != nil && l.alone }

func (t teller) loopStarted(b *pawl.LoopStarted) string {
	if b.Task == "" {
		return fmt.Sprintf("loop %s (%s) started", b.ID, b.Kind)
	}
	s := capital(b.Kind) + " started"
	if b.Pending {
		s = capital(b.Kind) + " waits for its turn"
	}
	if x := t.r.task(t.l); x != nil {
		s += fmt.Sprintf(", %d of %d", x.N, len(t.r.loop(t.l.Parent).Plan().Tasks))
		if n := len(x.Loops); n > 1 {
			s += fmt.Sprintf(", again (loop %d of it)", n)
		}
		s += because(x.Title)
	}
	return s
}

func (t teller) loopEnded(b *pawl.LoopEnded) string {
	x := t.r.task(t.l)
	if x == nil {
		return fmt.Sprintf("loop ended %s%s", b.Outcome, because(b.Reason))
	}
	plan := t.r.loop(t.l.Parent).Plan()
	done := fmt.Sprintf("%d of %d passed", plan.Count(pawl.TaskPassed), len(plan.Tasks))
	switch {
	case b.Outcome == pawl.OutcomeInvalid:
		return fmt.Sprintf("%s ended: it no longer counts%s", capital(t.l.Kind), because(b.Reason))
	case x.Status == pawl.TaskPending:
		return fmt.Sprintf("%s left off%s", capital(t.l.Kind), because(b.Reason))
	case b.Outcome == pawl.OutcomeBlocked && len(t.l.Iterations) == 0:
		return fmt.Sprintf("%s never started%s · %s", capital(t.l.Kind), because(b.Reason), done)
	case b.Stopped && x.Status == pawl.TaskFailed:
		return fmt.Sprintf("%s FAILED%s", capital(t.l.Kind), because(x.Reason))
	case b.Stopped:
		return fmt.Sprintf("%s stopped with the run%s", capital(t.l.Kind), because(b.Reason))
	case x.Status == pawl.TaskDropped: // its group has another one
		return fmt.Sprintf("%s dropped%s · %s · %s", capital(t.l.Kind), because(cmp.Or(x.Reason, b.Reason)), t.r.spending(t.l.Spent), done)
	case x.Status == pawl.TaskPassed && b.Outcome == pawl.OutcomeUnverified:
		return fmt.Sprintf("%s PASSED, UNVERIFIED%s · %s · %s", capital(t.l.Kind), because(b.Reason), t.r.spending(t.l.Spent), done)
	case x.Status == pawl.TaskPassed:
		return fmt.Sprintf("%s PASSED · %s · %s", capital(t.l.Kind), t.r.spending(t.l.Spent), done)
	case b.Outcome == pawl.OutcomeCancelled && len(t.l.Iterations) == 0:
		return fmt.Sprintf("%s never started%s · %s", capital(t.l.Kind), because(b.Reason), done)
	}
	return fmt.Sprintf("%s FAILED (%s)%s · %s · %s", capital(t.l.Kind), b.Outcome, because(b.Reason), t.r.spending(t.l.Spent), done)
}

// applyLoop folds the events of a loop as a whole; l is nil before its first.
func (r *Run) applyLoop(l *Loop, e pawl.Event) {
	if b, ok := e.Body.(*pawl.LoopStarted); ok {
		r.startLoop(e, b)
	}
	if l == nil {
		return
	}
	switch b := e.Body.(type) {
	case *pawl.LoopAdmitted:
		l.Began = e.Time // it has been worked on since
		if b.Base != "" {
			l.Base = b.Base
		}
		if t := r.task(l); t != nil {
			t.move(e, pawl.TaskRunning, "", "")
		}
	case *pawl.ComplexityScored:
		l.Score, l.ScoreWhy, l.Tier = b.Score, b.Why, b.Tier
	case *pawl.LoopEnded:
		r.endLoop(l, e, b)
	}
}

func (t teller) tellLoop() string {
	switch b := t.e.Body.(type) {
	case *pawl.LoopStarted:
		return t.loopStarted(b)
	case *pawl.LoopAdmitted:
		return t.loopAdmitted(b)
	case *pawl.ComplexityScored:
		return fmt.Sprintf("Complexity %d/14: starts on %s (%s)", b.Score, t.r.Recipe.Tier(b.Tier), b.Why)
	case *pawl.LoopEnded:
		return t.loopEnded(b)
	case *pawl.Archived:
		if t.l == nil {
			return fmt.Sprintf("The run is archived%s%s", by(b.By), because(b.Reason))
		}
		return fmt.Sprintf("archived%s%s", by(b.By), because(b.Reason))
	}
	return ""
}

func (t teller) loopAdmitted(b *pawl.LoopAdmitted) string {
	kind := "loop"
	if t.l != nil {
		kind = t.l.Kind
	}
	s := capital(kind) + " starts"
	if x := t.r.task(t.l); x != nil {
		s += because(x.Title)
	}
	s += fmt.Sprintf(" (score %d", b.Score)
	if b.Waited != "" {
		s += "; it waited: " + b.Waited
	}
	return s + ")"
}

func (k *Look) lookLoop(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.LoopStarted:
		switch {
		case b.Pending: // a line for each would hide the plan it comes from
			k.Level = Normal
		case b.Task == "":
			k.Level = Detail
		}
	case *pawl.LoopEnded:
		switch {
		case e.Loop == 1: // the run's end says it
			k.Level = Detail
		case b.Outcome.Succeeded():
			k.Tone = ToneGood
		case !b.Stopped:
			k.Tone = ToneBad
		}
	case *pawl.Archived:
		if e.Loop != 0 {
			k.Level = Detail
		}
	}
}
