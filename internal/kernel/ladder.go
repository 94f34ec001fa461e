package kernel

import (
	"fmt"

	"pawl"
)

// judgement is what the gates said of one attempt.
type judgement struct {
	quality, requirements pawl.Verdict // empty = nothing judged
	stepFailed            string       // why the steps failed; empty = they did not
	proven                bool         // a command gate passed
}

func (j judgement) halt() bool {
	return j.quality == pawl.VerdictHalt || j.requirements == pawl.VerdictHalt
}

func (j judgement) pass() bool {
	fine := func(v pawl.Verdict) bool { return v == "" || v == pawl.VerdictPass }
	return j.stepFailed == "" && fine(j.quality) && fine(j.requirements)
}

// ruling is what follows from an attempt.
type ruling struct {
	decision pawl.Decision
	reason   string
	outcome  pawl.Outcome // of the loop; empty = it goes on
	tier     int          // to escalate to
	stuck    bool         // stuck detection decided
}

// rule decides what follows from the attempt that has just been judged and
// emits it. The rules are tried in this order:
//
//  1. a halt ends the run, if the halt condition is in force; else the next
//     attempt runs on the top tier;
//  2. everything passed: complete, or unverified when no command gate did;
//  3. the last allowed iteration has failed: incomplete;
//  4. the attempt after a council has failed: blocked;
//  5. stuck: the next tier, or at the top a council;
//  6. the tier's patience is used up: the next tier, or at the top a council;
//  7. the same security finding twice: the top tier;
//  8. the user wants a council: now;
//  9. once more on the same tier.
func (d *draft) rule(l *Loop, j judgement, b *pawl.IterationEnded) {
	r := d.s.ruling(l, j, b)
	b.Decision, b.Reason, b.Outcome = r.decision, cut(r.reason, 300), r.outcome
	if r.outcome == pawl.OutcomeIncomplete {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitIterations, Max: int64(d.s.maxIterations(l)), Value: int64(l.Iteration)})
	}
	tier := l.Tier
	d.emit(l.Ref, b)
	switch r.decision {
	case pawl.DecideEscalate:
		d.emit(l.Ref, &pawl.Escalated{From: tier, To: r.tier, Reason: r.reason, Iteration: b.N + 1, Stuck: r.stuck})
	case pawl.DecideCouncil:
		d.emit(l.Ref, &pawl.CouncilCalled{Members: len(l.Kind.Ladder.Council.Lenses), Reason: r.reason, Stuck: r.stuck})
	}
}

func (s *State) ruling(l *Loop, j judgement, b *pawl.IterationEnded) ruling {
	lad := &l.Kind.Ladder
	if j.halt() {
		if s.haltsOn(pawl.HaltSecurity) {
			return ruling{decision: pawl.DecideHalt, reason: haltReason(l), outcome: pawl.OutcomeHalted}
		}
		if l.Tier < topTier && !s.last(l) {
			return ruling{decision: pawl.DecideEscalate, reason: haltReason(l), tier: topTier}
		}
	}
	if j.pass() {
		if j.proven {
			return ruling{decision: pawl.DecideComplete, reason: "every gate passed", outcome: pawl.OutcomeComplete}
		}
		return ruling{decision: pawl.DecideComplete, reason: "nothing failed, but no command gate passed either", outcome: pawl.OutcomeUnverified}
	}
	if s.last(l) {
		return ruling{decision: pawl.DecideHalt, outcome: pawl.OutcomeIncomplete,
			reason: fmt.Sprintf("max iterations reached: %d of %d", l.Iteration, s.maxIterations(l))}
	}
	if l.afterward == 0 {
		return s.exhaustedLadder(lad, "the attempt after the council failed too")
	}
	if reason := s.stuck(l, b); reason != "" {
		return s.climb(l, reason, true)
	}
	failures := l.failures + 1 // with this one
	if n := patience(lad, l.Tier); n > 0 && failures >= n {
		return s.climb(l, fmt.Sprintf("%d consecutive failures", failures), false)
	}
	if p := securityPrint(l.results); p != 0 && l.Tier < topTier && len(l.history) > 0 && l.history[len(l.history)-1].security == p {
		return ruling{decision: pawl.DecideEscalate, reason: "the same security finding twice in a row", tier: topTier}
	}
	if s.Settings.Council && l.councils == 0 && lad.Council != nil {
		return ruling{decision: pawl.DecideCouncil, reason: "the user asked for a council"}
	}
	return ruling{decision: pawl.DecideIterate, reason: firstError(b)}
}

// last reports whether no further iteration is allowed.
func (s *State) last(l *Loop) bool {
	m := s.maxIterations(l)
	return m > 0 && l.Iteration >= m
}

// climb goes to the ladder's next rung.
func (s *State) climb(l *Loop, reason string, stuck bool) ruling {
	lad := &l.Kind.Ladder
	if next := nextRung(lad, l.Tier); next > 0 {
		return ruling{decision: pawl.DecideEscalate, reason: reason, tier: next, stuck: stuck}
	}
	if lad.Council != nil {
		return ruling{decision: pawl.DecideCouncil, reason: reason, stuck: stuck}
	}
	return s.exhaustedLadder(lad, reason)
}

func (s *State) exhaustedLadder(lad *pawl.Ladder, reason string) ruling {
	r := ruling{decision: pawl.DecideHalt, reason: "the ladder is used up: " + reason, outcome: pawl.OutcomeBlocked}
	if lad.Then == "fail" {
		r.outcome = pawl.OutcomeFailed
	}
	return r
}

// patience is how many consecutive failures a tier may have; 0 = no limit.
func patience(lad *pawl.Ladder, tier int) int {
	for _, r := range lad.Rungs {
		if r.Tier == tier {
			return r.Failures
		}
	}
	return 0
}

// nextRung is the tier of the rung after this tier's; 0 = there is none.
func nextRung(lad *pawl.Ladder, tier int) int {
	for _, r := range lad.Rungs {
		if r.Tier > tier {
			return r.Tier
		}
	}
	return 0
}

func haltReason(l *Loop) string {
	for _, r := range l.results {
		if r.Verdict == pawl.VerdictHalt {
			return fmt.Sprintf("%s halts: %s", r.Gate, r.Reason)
		}
	}
	return "a gate halts"
}

// haltedForSecurity reports whether the last attempt ended with a halt of a gate.
func (l *Loop) haltedForSecurity() bool {
	if len(l.history) == 0 {
		return false
	}
	for _, r := range l.history[len(l.history)-1].results {
		if r.Verdict == pawl.VerdictHalt {
			return true
		}
	}
	return false
}
