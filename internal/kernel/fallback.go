package kernel

import (
	"fmt"
	"time"

	"pawl"
	"pawl/internal/kernel/session"
)

// inUse is which of its models a tier uses. Its zero value means its own.
type inUse struct {
	choice int           // as in [pawl.CallModel]
	since  time.Time     // when it was switched to
	alive  time.Duration // how long drivers had had the run then
	rest   time.Duration // how long it is used before the tier's own model is tried again; 0 = for the rest of the run
}

// isOver reports whether the tier's own model is to be tried again. The clock counts, so that a
// provider's reset is noticed after a night without a driver, and so does the time with drivers, because
// a clock can be set back.
func (u *inUse) isOver(now time.Time, alive time.Duration) bool {
	return u.choice > 0 && u.rest > 0 && (now.Sub(u.since) >= u.rest || alive-u.alive >= u.rest)
}

// model returns the model that a call goes to.
func (s *State) model(do *pawl.CallModel) *pawl.ModelChoice {
	return s.Settings.Model(do.Tier, do.Choice)
}

// modelOf returns the model of the session's next call.
func (s *State) modelOf(x *session.Session) *pawl.ModelChoice {
	return s.Settings.Model(x.Place.Tier, s.choiceOf(x))
}

// choiceOf returns which of its tier's models the session's next call goes to. A session that has had
// replies stays with its model, until a call of it fails.
func (s *State) choiceOf(x *session.Session) int {
	if x.Turn() > 0 {
		return x.Choice()
	}
	return max(x.Choice(), s.inUse[x.Place.Tier-1].choice)
}

// switchModel makes a session use another model because its call failed. Its tier uses that model too,
// unless the failure concerns only the session.
func (d *draft) switchModel(l *Loop, x *session.Session) {
	tier, from, why := x.Place.Tier, x.Choice(), x.Failed()
	b := &pawl.ModelSwitched{Tier: tier, From: from, To: from + 1, Session: x.N, Reason: pawl.Failure{Code: why.Code}.Text()}
	switch kind := pawl.ModelErrorKind(why.Code); {
	case d.s.inUse[tier-1].choice > from: // another session's call has switched it
		b.To, b.SessionOnly = d.s.inUse[tier-1].choice, true
	case kind == pawl.ModelContextLong:
		b.SessionOnly = true
	case kind != pawl.ModelUnknown:
		b.For = max(d.s.Settings.Patience(tier, from), why.Wait)
	}
	d.emit(l.Ref, b)
}

// tryOwnModel lets a tier use its own model again if the wait for it is over.
func (d *draft) tryOwnModel(tier int) {
	if u := &d.s.inUse[tier-1]; u.isOver(d.at, d.s.alive(d.at)) {
		d.emit(0, &pawl.ModelSwitched{Tier: tier, From: u.choice, Reason: "its wait is over"})
	}
}

// modelSwitched records that a tier, or only a session, uses another model.
func (s *State) modelSwitched(l *Loop, b *pawl.ModelSwitched, at time.Time) error {
	if s.Settings.Model(b.Tier, b.From) == nil || s.Settings.Model(b.Tier, b.To) == nil {
		return fmt.Errorf("tier %d has no models %d and %d", b.Tier, b.From, b.To)
	}
	if !b.SessionOnly {
		s.inUse[b.Tier-1] = inUse{choice: b.To, since: at, alive: s.alive(at), rest: b.For}
	}
	if b.Session == 0 {
		return nil
	}
	x := (*session.Session)(nil)
	if l != nil {
		x = l.sessionByN(b.Session)
	}
	if x == nil {
		return fmt.Errorf("there is no session %d whose model could be switched", b.Session)
	}
	x.SwitchTo(b.To)
	return nil
}
