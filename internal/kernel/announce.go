package kernel

import (
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// announceStep is the place of the effects that announce a question.
const announceStep = "announce"

// isAnnouncement reports whether an effect serves only to announce a question. While it is
// open, the run still counts as waiting for a person.
func isAnnouncement(f *pawl.Effect) bool { return f.Place.Step == announceStep }

// announce retries a failed announcement of the loop's question a few times, and
// withdraws announcements of a question that is no longer open. If all tries fail,
// nothing follows: the question stays open.
func (d *draft) announce(l *Loop) {
	q := l.person.question
	for _, f := range slices.Clone(l.open) {
		if do, ok := f.Do.(*pawl.Announce); ok && (q == nil || q.n != do.Question) || q == nil && isAnnouncement(f) {
			d.withdraw(f, "the question is no longer open")
		}
	}
	if q == nil || q.announced == nil || q.failed == nil || d.s.Status == pawl.StatusPaused || slices.ContainsFunc(l.open, isAnnouncement) {
		return
	}
	why := q.failed
	switch {
	case q.announced.Try >= notifyTries || why.Code != pawl.FailMachine && why.Code != pawl.FailTimeout:
	case q.rested:
		do := *q.announced
		do.Try++
		d.requestAnnounce(l, &do)
	default:
		d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(announceStep),
			Do: &pawl.Wait{For: time.Second << (q.announced.Try - 1), Reason: "the announcement: " + brief.Cut(why.Message, 120)}})
	}
}

func (d *draft) requestAnnounce(l *Loop, do *pawl.Announce) {
	d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(announceStep), Timeout: notifyTimeout, Do: do})
}

// onlyPeople reports whether the run waits only for people: every effect that is open,
// if any, serves to announce a question.
func (s *State) onlyPeople() bool {
	return s.openQuestions+s.heldLoops > 0 && !s.hasOpen(func(f *pawl.Effect) bool { return !isAnnouncement(f) })
}
