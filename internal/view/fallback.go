package view

import (
	"fmt"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// Fallbacks: which of its models a tier uses.

// SwitchRow is a tier that uses another of its models than its first, for other programs.
type SwitchRow struct {
	Tier string `json:"tier"`
	// Model is used in place of InPlaceOf, both as PROVIDER/NAME.
	Model     string    `json:"model"`
	InPlaceOf string    `json:"in_place_of"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"` // when the tier's own model is tried again; missing = for the rest of the run
	Reason    string    `json:"reason"`
	Event     pawl.Seq  `json:"event"`

	mark Mark
}

// applyFallback folds the events that say which of its models a tier uses.
func (r *Run) applyFallback(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.RunResumed: // as in the kernel, each tier begins with its own model again
		r.switched = [3]*SwitchRow{}
	case *pawl.ModelSwitched:
		if b.SessionOnly || b.Tier < 1 || b.Tier > len(r.switched) {
			return
		}
		r.switched[b.Tier-1] = nil
		if b.Session == 0 {
			return
		}
		x := &SwitchRow{Tier: plain.Line(r.Recipe.Tier(b.Tier), 0), Model: r.choiceName(b.Tier, b.To), InPlaceOf: r.choiceName(b.Tier, 0),
			Since: e.Time, Reason: plain.Line(b.Reason, 200), Event: e.Seq, mark: mark(e, "%s", r.switchedText(nil, b))}
		if b.For > 0 {
			x.Until = e.Time.Add(b.For)
		}
		r.switched[b.Tier-1] = x
	}
}

// Switched returns the tiers that use another of their models than their first.
func (r *Run) Switched() (out []SwitchRow) {
	for _, x := range r.switched {
		if x != nil {
			out = append(out, *x)
		}
	}
	return out
}

// text returns a row for people.
func (x *SwitchRow) text(now time.Time) string {
	until := ""
	if !x.Until.IsZero() {
		until = " until " + ClockFrom(x.Until, now)
	}
	return line("%s uses %s in place of %s%s: %s", x.Tier, x.Model, x.InPlaceOf, until, x.Reason)
}

// choiceName returns the name of one of a tier's models, as PROVIDER/NAME.
func (r *Run) choiceName(tier, choice int) string {
	if m := r.Settings.Model(tier, choice); m != nil {
		return modelName(*m)
	}
	return fmt.Sprintf("model %d", choice+1)
}

// switchedText tells that a tier, or a session of the loop, uses another model.
func (r *Run) switchedText(l *Loop, b *pawl.ModelSwitched) string {
	whose, long := "Tier "+r.Recipe.Tier(b.Tier), " for the rest of the run"
	to, from := r.choiceName(b.Tier, b.To), r.choiceName(b.Tier, b.From)
	switch {
	case b.Session == 0:
		return fmt.Sprintf("%s uses %s again in place of %s: %s", whose, to, from, plain.Line(b.Reason, 200))
	case b.SessionOnly:
		whose, long = fmt.Sprintf("Session %d", b.Session), ""
		t := teller{r: r, l: l}
		if x := t.session(b.Session); x != nil {
			whose = t.words(x.Place)
		}
	case b.For > 0:
		long = " for " + pawl.Span(b.For)
	}
	return fmt.Sprintf("%s uses %s in place of %s%s: %s", whose, to, from, long, plain.Line(b.Reason, 200))
}
