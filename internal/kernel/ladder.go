package kernel

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/session"
)

// judgement is what the gates said of one attempt.
type judgement struct {
	quality, requirements pawl.Verdict // empty = nothing judged
	stepFailed            string       // why the steps failed; empty = they did not
	proven                bool         // a command gate passed
	conflict              bool         // it conflicts with what was merged in the meantime
	children              string       // why not every child passed; empty = they did, or there are none
	childrenOutcome       pawl.Outcome // what that makes of the loop
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
//  1. a halt ends the run, if the halt condition is in force;
//  2. everything passed: complete, or unverified when no command gate did; with
//     children that have not all passed, what they make of it;
//     a conflict with what was merged in the meantime: again, twice in a row;
//     a person wants another iteration: it has it; a person rejected the plan: blocked,
//     or failed where children stand on it; the list the user gave is refused: the ladder is used up;
//  3. the last allowed iteration has failed: incomplete;
//  4. the last attempt after a council has failed: the ladder is used up;
//  5. the user wants a council: now, once;
//  6. a halt that is not in force, or the same security finding twice: the top tier;
//  7. stuck: the next tier, or at the top a council;
//  8. the tier's patience is used up: the next tier, or at the top a council;
//  9. once more on the same tier.
func (d *draft) rule(l *Loop, j judgement, b *pawl.IterationEnded) {
	r := d.s.ruling(l, j, b)
	b.Decision, b.Reason, b.Outcome = r.decision, brief.Cut(r.reason, 300), r.outcome
	if r.outcome != "" && d.finalStep(l) {
		return
	}
	if r.decision == pawl.DecideHalt && d.askWhenStuck(l, r) {
		return
	}
	if j.conflict && l.ladder.conflicts+1 == conflictTries {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.place("merge").String(), Limit: pawl.LimitConflicts, Max: conflictTries, Value: int64(l.ladder.conflicts + 1)})
	}
	if j.children == "" && (r.outcome == pawl.OutcomeIncomplete || r.outcome == pawl.OutcomeFailed && r.decision == pawl.DecideHalt && d.s.inCascade(l) && d.s.last(l)) {
		d.maxIterations(l)
	}
	d.emit(l.Ref, b)
	if l.Parent != 0 && r.outcome == pawl.OutcomeHalted {
		d.stop(r.outcome, l.task.ID+": "+r.reason)
	}
	switch r.decision {
	case pawl.DecideEscalate:
		d.escalate(l, r.tier, r.reason, r.stuck)
	case pawl.DecideCouncil:
		d.emit(l.Ref, &pawl.CouncilCalled{Members: len(l.Kind.Ladder.Council.Lenses), Reason: brief.Cut(r.reason, 300), Stuck: r.stuck})
	}
}

// escalate makes the next iteration run on another tier.
func (d *draft) escalate(l *Loop, tier int, reason string, stuck bool) {
	d.emit(l.Ref, &pawl.Escalated{From: l.Tier, To: tier, Reason: brief.Cut(reason, 300), Iteration: l.Iteration + 1, Stuck: stuck})
}

func (s *State) ruling(l *Loop, j judgement, b *pawl.IterationEnded) ruling {
	lad := &l.Kind.Ladder
	switch {
	case j.halt() && s.haltsOn(pawl.HaltSecurity):
		return ruling{decision: pawl.DecideHalt, reason: haltReason(l), outcome: pawl.OutcomeHalted}
	case j.pass() && j.children != "":
		return ruling{decision: pawl.DecideHalt, reason: j.children, outcome: j.childrenOutcome}
	case j.pass() && j.proven:
		return ruling{decision: pawl.DecideComplete, reason: "every gate passed", outcome: pawl.OutcomeComplete}
	case j.pass():
		return ruling{decision: pawl.DecideComplete, reason: "nothing failed, but no command gate passed either", outcome: pawl.OutcomeUnverified}
	case j.conflict && l.ladder.conflicts+1 < conflictTries:
		return ruling{decision: pawl.DecideIterate, reason: j.stepFailed}
	case l.wantsAnother():
		return ruling{decision: pawl.DecideIterate, reason: j.stepFailed}
	case l.said(pawl.AskPlan) != nil && l.person.reply.choice == choiceReject && l.cascades():
		return ruling{decision: pawl.DecideHalt, reason: j.stepFailed, outcome: pawl.OutcomeFailed}
	case l.said(pawl.AskPlan) != nil && l.person.reply.choice == choiceReject:
		return ruling{decision: pawl.DecideHalt, reason: j.stepFailed, outcome: pawl.OutcomeBlocked}
	case l.isGiven() && l.cannotPlan(): // it will be the same list the next time
		return ruling{decision: pawl.DecideHalt, reason: firstError(b), outcome: usedUp(lad, "").outcome}
	case s.last(l):
		r := ruling{decision: pawl.DecideHalt, outcome: pawl.OutcomeIncomplete, reason: s.lastFailed(l, b)}
		if lad.Then == "fail" && (l.Kind.Children != nil || s.inCascade(l)) { // as when a child does not pass
			r.outcome = pawl.OutcomeFailed
		}
		return r
	case l.ladder.afterward == 0:
		return usedUp(lad, "the attempt after the council failed too")
	case s.Settings.Council && l.ladder.councils == 0 && lad.Council != nil:
		return ruling{decision: pawl.DecideCouncil, reason: "the user asked for a council"}
	}
	if reason := l.insecure(j); reason != "" && l.Tier < l.top() {
		return ruling{decision: pawl.DecideEscalate, reason: reason, tier: l.top()}
	}
	if reason := s.stuck(l, b); reason != "" {
		return l.climb(reason, true, b)
	}
	failures := l.ladder.failures + 1 // with this one
	if n := patience(lad, l.Tier); n > 0 && failures >= n {
		return l.climb(consecutive(failures), false, b)
	}
	return ruling{decision: pawl.DecideIterate, reason: firstError(b)}
}

// cannotPlan reports whether the iteration failed because its list of tasks cannot
// be its plan.
func (l *Loop) cannotPlan() bool {
	return l.gen.refused || slices.ContainsFunc(l.Kind.Gates, func(st pawl.Stage) bool {
		r := l.result(st.Name)
		return (st.Builtin == "actionable" || st.Builtin == wellFormed) && r != nil && !lets(r.Verdict)
	})
}

func consecutive(failures int) string {
	if failures == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d consecutive failures", failures)
}

// insecure says why security asks for the strongest model; empty = it does not.
func (l *Loop) insecure(j judgement) string {
	if j.halt() {
		return haltReason(l)
	}
	if a := l.lastAttempt(); a != nil && a.security != 0 && a.security == securityPrint(l.verdicts()) {
		return "the same security finding twice in a row"
	}
	return ""
}

// last reports whether no further iteration is allowed.
func (s *State) last(l *Loop) bool {
	m := s.maxIterations(l)
	return m > 0 && l.Iteration >= m
}

// maxIterations says that the loop's iterations are used up.
func (d *draft) maxIterations(l *Loop) {
	d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitIterations, Max: int64(d.s.maxIterations(l)), Value: int64(l.Iteration)})
}

// lastFailed says why the last allowed iteration does not pass. Where there is
// only one anyway, it is what was objected to it.
func (s *State) lastFailed(l *Loop, b *pawl.IterationEnded) string {
	used, why := s.usedIterations(l), firstError(b)
	switch {
	case l.Parent == 0 && l.Kind.Children == nil || why == "":
		return used
	case s.maxIterations(l)-l.ladder.freed == 1:
		return why
	}
	return used + ": " + why
}

func (s *State) usedIterations(l *Loop) string {
	return fmt.Sprintf("max iterations reached: %d of %d", l.Iteration, s.maxIterations(l))
}

// climb goes to the ladder's next rung. As long as attempts are left that a
// council has advised, there is no other one.
func (l *Loop) climb(reason string, stuck bool, b *pawl.IterationEnded) ruling {
	lad := &l.Kind.Ladder
	switch next := nextRung(lad, l.Tier); {
	case next > 0:
		return ruling{decision: pawl.DecideEscalate, reason: reason, tier: next, stuck: stuck}
	case l.ladder.afterward > 0:
		return ruling{decision: pawl.DecideIterate, reason: firstError(b)}
	case lad.Council != nil:
		return ruling{decision: pawl.DecideCouncil, reason: reason, stuck: stuck}
	}
	return usedUp(lad, reason)
}

func usedUp(lad *pawl.Ladder, reason string) ruling {
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
	for _, r := range l.verdicts() {
		if r.Verdict == pawl.VerdictHalt {
			return fmt.Sprintf("%s halts: %s", r.Gate, r.Reason)
		}
	}
	return "a gate halts"
}

// haltedForSecurity reports whether the last attempt ended with a halt of a gate.
func (l *Loop) haltedForSecurity() bool {
	a := l.lastAttempt()
	return a != nil && slices.ContainsFunc(a.results, func(r *pawl.GateJudged) bool { return r.Verdict == pawl.VerdictHalt })
}

// finishing reports whether the loop does its final steps: nothing else begins.
func (l *Loop) finishing() bool {
	return l.iter != nil && l.iter.final > 0 || slices.ContainsFunc(l.sessions, l.isFinal)
}

// isFinal reports whether a session is for a final step.
func (l *Loop) isFinal(x *session.Session) bool {
	return x.Purpose == pawl.ForStep && x.Index >= l.flow.after
}

// finalStep lets a loop that ends do its final steps, and reports whether one is
// at work. The work can do without them.
func (d *draft) finalStep(l *Loop) bool {
	return d.s.Stopping == nil && d.runSteps(l, l.flow.after, len(l.flow.steps), l.iter.final)
}

// runSteps runs those of the flow's steps from one position to another that have
// their turn outside an iteration's own, one after the other, the first done of them
// being over. It reports whether one is at work: its session, or what it needs first.
func (d *draft) runSteps(l *Loop, from, to, done int) bool {
	for i := from + done; i < to; i++ {
		switch {
		case l.iter.unclear != nil:
			d.clarify(l)
		case len(l.sessions) > 0 && l.sessions[0].Item == 0:
			d.converse(l, l.sessions[0])
		case len(l.sessions) > 0:
			d.eachEntry(l, l.sessions[0].Index)
		case l.skips(l.flow.steps[i].When), l.idle(i):
			continue
		case !d.onFinalHead(l):
		default:
			d.startStep(l, i, 1)
		}
		return true
	}
	return false
}

// askWhenStuck asks a person whether to go on when the recipe's ladder ends in a
// question, and reports whether the loop waits or goes on.
func (d *draft) askWhenStuck(l *Loop, r ruling) bool {
	if l.Kind.Ladder.Then != "ask" || r.outcome != pawl.OutcomeBlocked {
		return false
	}
	if said := l.said(pawl.AskStuck); said != nil {
		if said.choice != choiceAgain {
			return false
		}
		d.emit(l.Ref, &pawl.Rerouted{Gate: "ladder", Verdict: pawl.VerdictRetry, N: 1})
		return true
	}
	d.ask(l, pawl.AskStuck, r.reason+". Try once more?", pawl.Hash{}, choiceAgain, "stop")
	return true
}

// choiceAgain answers a question with one more attempt.
const choiceAgain = "again"
