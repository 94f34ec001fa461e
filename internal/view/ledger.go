package view

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// Charge is what calls of one model, made in one role on one day, were charged.
type Charge struct {
	Day   string // as 2026-11-26, in the time zone of whoever asks
	Model string // PROVIDER/NAME, as the run's settings have it
	Role  string
	Calls int // model calls that are over, those that failed included
	pawl.Money
}

// Charges tells a run's money apart by day, model and role. What calls under way hold is of
// the day on which they began. The sum is [Run.Money] of the run, which comes with it; of a
// run that is damaged it is what can be read, and the error says why that is not all.
func Charges(events iter.Seq2[pawl.Event, error], zone *time.Location) ([]Charge, *Run, error) {
	r := New()
	book := ledger{}
	var damage error
	for e, err := range events {
		if err != nil {
			if pawl.CodeOf(err) == pawl.CodeDamaged {
				r.Quarantine(err.Error())
			}
			damage = err
			break
		}
		before := r.lost
		r.Apply(e)
		if _, forked := e.Body.(*pawl.Forked); forked { // what was spent so far was the other run's
			book = ledger{}
			continue
		}
		f, d := r.closedBy(e), r.lost.without(before)
		if _, called := doOf[*pawl.CallModel](f); called || d.money() != (pawl.Money{}) { // other effects cost nothing
			c := book.of(r, f, e.Time.In(zone))
			c.Calls += d.Calls + d.Failed
			c.Add(d.money())
		}
	}
	for _, p := range r.open {
		if m := reservation(p.Effect); m != (pawl.Money{}) {
			book.of(r, p.Effect, p.at.In(zone)).Add(m)
		}
	}
	return book.sorted(), r, damage
}

// without returns what was added to an earlier spending.
func (s Spending) without(earlier Spending) Spending {
	return Spending{Calls: s.Calls - earlier.Calls, Failed: s.Failed - earlier.Failed, Cost: s.Cost - earlier.Cost, Tokens: s.Tokens - earlier.Tokens,
		Lost: s.Lost - earlier.Lost, LostTokens: s.LostTokens - earlier.LostTokens}
}

// closedBy returns the effect that an event ended, once that was applied; nil = none that is
// known.
func (r *Run) closedBy(e pawl.Event) *pawl.Effect {
	var id pawl.Seq
	switch b := e.Body.(type) {
	case *pawl.EffectLost:
		id = b.Effect
	case *pawl.EffectWithdrawn:
		id = b.Effect
	case pawl.Answer:
		id = b.Answers()
	}
	if r.closed == nil || r.closed.ID != id {
		return nil
	}
	return r.closed
}

type account struct{ day, model, role string }

type ledger map[account]*Charge

// of returns the charge of calls such as an effect.
func (l ledger) of(r *Run, f *pawl.Effect, at time.Time) *Charge {
	const unknown = "unknown"
	k := account{at.Format(time.DateOnly), unknown, unknown}
	if _, ok := doOf[*pawl.CallModel](f); ok {
		k.role = plain.Line(cmp.Or(f.Place.Role, f.Place.Step, unknown), 60)
		if m := r.modelOf(f); m.Provider != "" {
			k.model = modelName(m)
		}
	}
	if l[k] == nil {
		l[k] = &Charge{Day: k.day, Model: k.model, Role: k.role}
	}
	return l[k]
}

func modelName(m pawl.ModelChoice) string {
	if m.Name == "" {
		return plain.Line(m.Provider, 60)
	}
	return plain.Line(m.Provider+"/"+m.Name, 80)
}

func (l ledger) sorted() (out []Charge) {
	for _, c := range l {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Charge) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Role, b.Role))
	})
	return out
}
