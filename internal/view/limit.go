package view

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// limit keeps a limit and, for one on the run's money or tokens, what wanted
// more. The limits of one session stop the session, those of a child the child,
// not the run.
func (r *Run) limit(e pawl.Event, b *pawl.LimitReached) {
	if b.Limit == pawl.LimitLoops { // others are at work: nothing went wrong
		return
	}
	m := r.problem(e, "%s", limitText(b))
	ofSession := b.Limit == pawl.LimitTurns || b.Limit == pawl.LimitCalls || (b.Limit == pawl.LimitTime && b.Scope != "run")
	if l := r.loop(e.Loop); ofSession || b.Limit == pawl.LimitSignal || l != nil && l.Parent > 0 && b.Scope != "run" && b.Limit != pawl.LimitRetries {
		return
	}
	r.stops.limit, r.stops.limited, r.stops.wanted = m, b.Limit, Mark{}
	spent := map[pawl.LimitName]int64{pawl.LimitMoney: int64(r.Cost), pawl.LimitTokens: r.Tokens}
	had, counted := spent[b.Limit]
	lost := map[pawl.LimitName]int64{pawl.LimitMoney: int64(r.lost.Lost), pawl.LimitTokens: r.lost.LostTokens}[b.Limit]
	if !counted || b.Scope != "run" || b.Value <= had {
		return
	}
	for _, l := range r.Loops {
		if s := l.sessionOf(); s != nil {
			with := b.Limit.Amount(had-lost) + " spent"
			if lost > 0 {
				with += " and " + b.Limit.Amount(lost) + " lost"
			}
			r.stops.wanted = Mark{s.Seq, s.Began, line("model call %d of %s wanted up to %s of %s, with %s",
				s.Turn+1, s.Place.Words(), b.Limit.Amount(b.Value-had), b.Limit, with)}
		}
	}
}

// said keeps the limit on the root's iterations that an event says.
func (r *Run) said(max int) {
	if root := r.root(); root != nil && max != 0 {
		root.Max = max
	}
}

// maxIterations returns the limit on the root's iterations; 0 = none. What older logs do not say is
// derived.
func (r *Run) maxIterations(l *Loop) int {
	if limit, ok := pawl.MaxSaid(l.Max); ok {
		return limit
	}
	kind := r.Recipe.Kind(l.Kind)
	switch {
	case l.Parent == 0 && !slices.Contains(r.Settings.HaltOn, pawl.HaltIterations):
		return 0
	case l.Parent == 0 && r.Limits.Iterations > 0 && (kind == nil || kind.Children == nil):
		return r.Limits.Iterations + l.freed
	case kind != nil && kind.Iterations > 0:
		return kind.Iterations + l.freed
	}
	return 0
}

func limitsText(l pawl.Limits) string {
	var parts []string
	add := func(name pawl.LimitName, v int64) {
		text := "none"
		if v > 0 {
			text = name.Amount(v)
		}
		parts = append(parts, string(name)+" "+text)
	}
	add(pawl.LimitMoney, int64(l.Money))
	add(pawl.LimitTokens, l.Tokens)
	add(pawl.LimitTime, int64(l.Time))
	add(pawl.LimitIterations, int64(l.Iterations))
	return strings.Join(parts, ", ")
}

// applyLimit folds the events of limits, and what other events say of the limit on iterations.
func (r *Run) applyLimit(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.LimitsChanged:
		r.said(b.Max)
		if r.loop(e.Loop) == nil {
			r.Limits = b.Limits
		}
	case *pawl.RunResumed:
		r.said(b.Max)
	case *pawl.Forked:
		r.said(b.Max)
	case *pawl.IterationEnded:
		r.said(b.Max)
	case *pawl.LimitReached:
		r.limit(e, b)
	}
}

func (t teller) tellLimit() string {
	switch b := t.e.Body.(type) {
	case *pawl.LimitsChanged:
		return "Limits changed: " + limitsText(b.Limits)
	case *pawl.LimitReached:
		return capital(limitText(b))
	case *pawl.BudgetWarned:
		return fmt.Sprintf("Warning: four fifths of the limit on %s are used: %s of %s", b.Limit, b.Limit.Amount(b.Value), b.Limit.Amount(b.Max))
	}
	return ""
}

func (k *Look) lookLimit(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.LimitReached:
		if k.Tone = ToneBad; b.Limit == pawl.LimitLoops || b.Limit == pawl.LimitRetries { // others are active; the reason for the stop says it
			k.Level = Normal
		}
	case *pawl.BudgetWarned:
		k.Tone = ToneWarning
	}
}
