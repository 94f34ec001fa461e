package kernel

import (
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// announceStep is the place of everything that is done to tell of a question.
const announceStep = "announce"

// announcing reports whether an effect does nothing but tell of a question: the run
// waits for a person all the same.
func announcing(f *pawl.Effect) bool { return f.Place.Step == announceStep }

// announce tells whoever is to be told that a question is open, with a few tries.
// That it fails changes nothing; a question that is no longer open is not told of.
func (d *draft) announce(l *Loop) {
	q := l.person.question
	for _, f := range slices.Clone(l.open) {
		if do, ok := f.Do.(*pawl.Announce); ok && (q == nil || q.n != do.Question) || q == nil && announcing(f) {
			d.withdraw(f, "the question is no longer open")
		}
	}
	if q == nil || q.told == nil || q.failed == nil || d.s.Status == pawl.StatusPaused || slices.ContainsFunc(l.open, announcing) {
		return
	}
	why := q.failed
	switch {
	case q.told.Try >= notifyTries || why.Code != pawl.FailMachine && why.Code != pawl.FailTimeout:
	case q.rested:
		do := *q.told
		do.Try++
		d.requestAnnounce(l, &do)
	default:
		d.request(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(announceStep),
			Do: &pawl.Wait{For: time.Second << (q.told.Try - 1), Reason: "the announcement: " + brief.Cut(why.Message, 120)}})
	}
}

func (d *draft) requestAnnounce(l *Loop, do *pawl.Announce) {
	d.request(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place(announceStep), Timeout: notifyTimeout, Do: do})
}

// onlyPeople reports whether nothing but people is waited for: what is under way, if
// anything, tells them.
func (s *State) onlyPeople() bool {
	return s.waiting+s.holding > 0 && !slices.ContainsFunc(s.open, func(f *pawl.Effect) bool { return !announcing(f) })
}
