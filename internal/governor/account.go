package governor

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pawl"
)

const (
	// BreakerRest is how long effects fail without being sent after a provider refused
	// a key or said that a quota is used up. Then one is sent while the others wait for
	// its answer; if it fails the same way, the rest starts again. A person who starts or
	// resumes a run ends the rest.
	BreakerRest = time.Minute
	// limitGrowth is how often the time an account is closed for doubles when the
	// provider names none: 2, 4, 8, 16, 32, 64 seconds.
	limitGrowth = 6
	// maxWhy is how many bytes of what a provider said are shown.
	maxWhy = 200
)

// account is what is known of an account's limits.
type account struct {
	pawl.Account
	tickets  int                 // that wait, or have their places
	until    time.Time           // nothing begins before
	closed   time.Time           // when that was learnt
	kind     pawl.ModelErrorKind // of the failure that told it
	why      string
	hits     int // rate limits without a time since the last success
	breakers []*breaker
}

// breaker is a failure that will not pass by itself. A quota is the account's; a key may
// be refused for one model and accepted for another.
//
//	resting   until lies ahead: calls fail unsent
//	untested  until is past and probe is nil: the next call that gets its places is its probe
//	probing   the probe is under way: other calls wait for its answer
//
// A success removes the breaker, the same failure lets it rest again, and any other answer,
// or none, leaves it untested. No call that it concerns waits while it rests, so no timer has
// to end the rest.
type breaker struct {
	model   string // empty = every one
	failure pawl.Failure
	since   time.Time
	until   time.Time // it rests until then
	probe   *ticket   // the call that was sent then; nil = none is under way
}

// concerns reports whether b holds up calls of a model.
func (b *breaker) concerns(model string) bool { return b.model == "" || b.model == model }

// learn takes over what the answer of a call says of its account; nil = there was none.
// It reports whether calls that wait may have to be refused now.
func (a *account) learn(now time.Time, t *ticket, answer pawl.Answer) (refuses bool) {
	for _, b := range a.breakers {
		if b.probe == t {
			b.probe = nil
		}
	}
	switch x := answer.(type) {
	case *pawl.ModelReplied:
		a.hits = 0
		a.breakers = slices.DeleteFunc(a.breakers, func(b *breaker) bool {
			return b.concerns(t.model) && !t.begun.Before(b.since)
		})
	case *pawl.EffectFailed:
		switch kind := pawl.ModelErrorKind(x.Failure.Code); {
		case x.Failure.Limited():
			a.limited(now, t, x.Failure)
			return true
		case kind == pawl.ModelQuota:
			return a.trip(now, t, "", x.Failure)
		case kind == pawl.ModelAuth:
			return a.trip(now, t, t.model, x.Failure)
		}
	}
	return false
}

// limited closes the account: until the time that was named, or for a while that grows.
// Of calls that were under way together and are all refused, only the first makes it grow.
func (a *account) limited(now time.Time, t *ticket, why pawl.Failure) {
	wait := why.Wait
	if wait <= 0 {
		if !a.closed.IsZero() && t.begun.Before(a.closed) {
			return
		}
		a.hits++
		wait = time.Second << min(a.hits, limitGrowth)
	}
	if until := now.Add(wait); until.After(a.until) {
		a.until, a.closed, a.kind, a.why = until, now, pawl.ModelErrorKind(why.Code), why.Message
	}
}

// trip starts the rest of the breaker of a model, which it creates if there is none. It reports
// false if t began before the breaker last tripped: such a failure says nothing new, and must
// not refuse those that wait for a probe.
func (a *account) trip(now time.Time, t *ticket, model string, why pawl.Failure) bool {
	i := slices.IndexFunc(a.breakers, func(b *breaker) bool { return b.model == model })
	if i < 0 {
		i, a.breakers = len(a.breakers), append(a.breakers, &breaker{model: model})
	}
	b := a.breakers[i]
	if t.begun.Before(b.since) {
		return false
	}
	why.Unsent = true // of those that fail because of it
	b.failure, b.since, b.until = why, now, now.Add(BreakerRest)
	return true
}

// refuses says why a call is not sent; nil = it may be, or waits.
func (a *account) refuses(now time.Time, t *ticket) error {
	if wait := a.until.Sub(now); t.patience > 0 && wait > t.patience {
		return &pawl.ModelError{
			Kind: a.kind, Unsent: true, Wait: wait,
			Message: fmt.Sprintf("%s (not sent: %s opens at %s)", a.why, a.String(), a.until.Local().Format(time.DateTime)),
		}
	}
	for _, b := range a.breakers {
		if b.concerns(t.model) && b.until.After(now) {
			return &pawl.ModelError{
				Kind: pawl.ModelErrorKind(b.failure.Code), Unsent: true, Fix: b.failure.Fix,
				Message: fmt.Sprintf("%s (not sent: %s answered so at %s, and is asked again from %s on)", b.failure.Message, a.String(),
					b.since.Local().Format(time.DateTime), b.until.Local().Format(time.DateTime)),
			}
		}
	}
	return nil
}

// begin makes a call that got its places the probe of the breakers that concern it. None of
// them has another one, or the call would still wait.
func (a *account) begin(t *ticket) {
	for _, b := range a.breakers {
		if b.concerns(t.model) {
			b.probe = t
		}
	}
}

// probing returns the breaker whose probe a call of a model waits for; nil = there is none.
func (a *account) probing(model string) *breaker {
	for _, b := range a.breakers {
		if b.concerns(model) && b.probe != nil {
			return b
		}
	}
	return nil
}

// shut reports whether nothing may begin because of a limit; nil is never shut.
func (a *account) shut(now time.Time) bool { return a != nil && a.until.After(now) }

// open reports whether neither a limit nor a breaker keeps any call.
func (a *account) open(now time.Time) bool { return len(a.breakers) == 0 && !a.shut(now) }

// idle reports an account of which nothing needs to be remembered.
func (a *account) idle(now time.Time) bool { return a.tickets == 0 && a.hits == 0 && a.open(now) }

// load returns the account's limit as people see it; false = nothing limits it.
func (a *account) load(now time.Time) (l pawl.AccountLoad, limited bool) {
	l.Account = a.String()
	l.Until, l.Why = a.shown(now)
	return l, !l.Until.IsZero()
}

// shown is until when nothing begins, and what the provider said.
func (a *account) shown(now time.Time) (until time.Time, why string) {
	if a.until.After(now) {
		until, why = a.until, a.why
	}
	for _, b := range a.breakers {
		if b.until.After(until) && b.until.After(now) {
			until, why = b.until, b.failure.Message
		}
	}
	return until, cut(why)
}

func cut(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxWhy {
		return s
	}
	n := maxWhy - len("…")
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
