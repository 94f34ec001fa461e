package kernel

import (
	"fmt"
	"time"

	"pawl"
)

// A run that waits for nothing but answers, and that nobody is told of or looks at, is halted after
// [pawl.Settings.AnswerTime]. Its loops stay as they are and its questions stay open: whoever answers one,
// or resumes the run, lets it continue. Approvals of plans and tasks wait as long as it takes.

// Unanswered returns since when the run has waited for nothing but an answer, and for how long it may at
// most if nobody is there; 0 = as long as it takes, or it waits for something else.
func (s *State) Unanswered() (since time.Time, most time.Duration) {
	if s.Status != pawl.StatusRunning || s.Stopping != nil || s.Settings.Announce != nil || s.heldLoops > 0 || !s.onlyPeople() || s.longestOpen() == nil {
		return time.Time{}, 0
	}
	return s.Last, s.Settings.AnswerTime
}

// longestOpen returns the loop whose question, other than an approval, has been open for longest, or nil.
func (s *State) longestOpen() (first *Loop) {
	for l := range s.each {
		q := l.person.question
		if q != nil && q.kind != pawl.AskPlan && q.kind != pawl.AskStart && (first == nil || q.n < first.person.question.n) {
			first = l
		}
	}
	return first
}

// unanswered records that nobody answered in time.
func (d *draft) unanswered() {
	_, most := d.s.Unanswered()
	if most == 0 {
		return
	}
	l := d.s.longestOpen()
	d.emit(l.Ref, &pawl.LimitReached{Scope: fmt.Sprintf("question %d", l.person.question.n), Limit: pawl.LimitAnswer, Max: int64(most), Value: int64(most)})
}

// haltUnanswered halts a run to which nobody answered in time, once its callback knows. It reports whether
// anything followed.
func (d *draft) haltUnanswered() bool {
	s := &d.s
	if s.Status != pawl.StatusRunning || s.Stopping != nil || s.openQuestions == 0 {
		return false
	}
	l := s.longestOpen()
	if l == nil || !l.person.question.overdue || s.hasOpen(func(f *pawl.Effect) bool { return f.Place.Step != callbackStep }) {
		return false
	}
	before, n := len(d.events), l.person.question.n
	reason := fmt.Sprintf("nobody answered question %d for %s (limits.answer_seconds)", n, pawl.Span(s.Settings.AnswerTime))
	if !d.notify(s.Loop(1), pawl.OutcomeHalted, reason) {
		d.emit(0, &pawl.RunEnded{Outcome: pawl.OutcomeHalted, Reason: reason, Head: s.Loop(1).Head, Question: n})
	}
	return len(d.events) > before
}

// continueFor lets the run continue for the answer to a loop's question, if it was halted for want of one.
func (d *draft) continueFor(l *Loop) error {
	switch {
	case d.s.isSuspended():
		return d.resume(&pawl.Steering{Verb: pawl.SteerResume, Reason: fmt.Sprintf("question %d is answered", l.person.question.n)})
	case l.person.question.overdue:
		return pawl.Errorf(pawl.CodeConflict, "run %s is being halted for want of this answer: give it again when it is", d.s.Run)
	}
	return nil
}

// isSuspended reports whether the run was halted because nobody answered.
func (s *State) isSuspended() bool {
	if s.Status != pawl.StatusEnded {
		return false
	}
	l := s.longestOpen()
	return l != nil && l.person.question.overdue
}

// wake lets a loop of a run continue that was halted because nobody answered.
func (l *Loop) wake() {
	l.callback = callback{}
	l.worktree.Verify = l.HasWorkspace && l.Phase < PhaseClosing
	if q := l.person.question; q != nil && q.overdue {
		again := *q
		again.overdue = false
		l.person.question = &again
	}
}
