package kernel

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/session"
	"pawl/internal/kernel/verdict"
)

// rule decides what follows from the attempt that has just been judged, and emits it.
func (d *draft) rule(l *Loop, j ladder.Judgement, b *pawl.IterationEnded) {
	r := d.s.ruling(l, j, b)
	b.Decision, b.Reason, b.Outcome = r.Decision, brief.Cut(r.Reason, 300), r.Outcome
	b.Unproven = j.Pass() && r.Decision == pawl.DecideIterate
	if !r.Outcome.Succeeded() {
		b.Proof = pawl.Proof{}
	}
	switch again, settles := d.endWithWeak(l, r); {
	case again != 0:
		b.Decision, b.Outcome, b.Settles = pawl.DecideIterate, "", again
		b.Reason = brief.Cut(fmt.Sprintf("%s; attempt %d has only weak goal tests red", r.Reason, again), 300)
		r = ladder.Ruling{Decision: pawl.DecideIterate, Reason: b.Reason}
	case settles:
		if d.s.isLastIteration(l) {
			d.emitMaxIterations(l)
		}
		return
	}
	if r.Outcome != "" && d.runFinalSteps(l) {
		return
	}
	if r.Outcome.Succeeded() && !d.publishWork(l) {
		return
	}
	if r.Decision == pawl.DecideHalt && d.askWhenStuck(l, r) {
		return
	}
	if j.Conflict && l.ladder.Conflicts+1 == ladder.ConflictTries {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.place("merge").String(), Limit: pawl.LimitConflicts, Max: ladder.ConflictTries, Value: int64(l.ladder.Conflicts + 1)})
	}
	if j.Children == "" && d.s.isLastIteration(l) && (r.Outcome == pawl.OutcomeIncomplete || r.Outcome == pawl.OutcomeFailed && r.Decision == pawl.DecideHalt && d.s.failsUpward(l)) {
		d.emitMaxIterations(l)
	}
	if l.ratchets() {
		best := d.s.bestAfter(l, b.N)
		b.Best = best.N
	}
	d.emit(l.Ref, b)
	if l.Parent == 0 {
		b.Max = d.eventMax()
	}
	if l.Parent != 0 && r.Outcome == pawl.OutcomeHalted {
		d.stop(r.Outcome, l.task.ID+": "+r.Reason)
	}
	switch r.Decision {
	case pawl.DecideEscalate, pawl.DecideIterate:
		if r.Tier > 0 && r.Tier != l.Tier {
			d.escalate(l, r.Tier, r.Reason, r.Stuck)
		}
	case pawl.DecideCouncil:
		d.emit(l.Ref, &pawl.CouncilCalled{Members: len(l.Kind.Ladder.Council.Lenses), Reason: brief.Cut(r.Reason, 300), Stuck: r.Stuck, Resume: r.Tier})
	}
	d.judgeAttempts(d.s.Loop(l.Ref))
}

// failsUpward reports whether a failure may spread upward: from the loop to its parent's iteration,
// or from a child to the loop's own.
func (s *State) failsUpward(l *Loop) bool {
	p := s.Loop(l.Parent)
	return l.Kind.Children.RestartsParent() || p != nil && p.Kind.Children.RestartsParent()
}

// escalate moves the next iteration to another tier: a stronger one, or back to where the ladder stood
// before a council.
func (d *draft) escalate(l *Loop, tier int, reason string, stuck bool) {
	d.emit(l.Ref, &pawl.Escalated{From: l.Tier, To: tier, Reason: brief.Cut(reason, 300), Iteration: l.Iteration + 1, Stuck: stuck})
}

// ruling returns what follows from an attempt, by the rules of [ladder.State.Rule].
func (s *State) ruling(l *Loop, j ladder.Judgement, b *pawl.IterationEnded) ladder.Ruling {
	c := ladder.Case{
		Ladder: &l.Kind.Ladder, Judgement: j, Results: l.verdicts(), Ended: b, Tier: l.Tier, Top: l.top(),
		HaltsOnSecurity: s.haltsOn(pawl.HaltSecurity), DetectsStuck: !s.Settings.NoStuckDetection, WantsCouncil: s.Settings.Council,
		Again: l.wantsAnother(), Refused: l.planRefusal(b), AsksForProof: s.asksForProof(l),
	}
	if l.failsGoalsAgain() {
		c.Last = ladder.FirstError(b) + ", and so it was with the plan before"
	}
	if s.isLastIteration(l) {
		c.Last = s.lastFailed(l, b)
		c.FailsUpward = l.Kind.Children != nil || s.failsUpward(l)
	}
	return l.ladder.Rule(&c)
}

// failsGoalsAgain reports whether what the loop's children made left goal tests red once more: a new plan was
// made for them already, which is dear, and no other one follows.
func (l *Loop) failsGoalsAgain() bool {
	fails := func(r *pawl.GateJudged) bool { return r.Judge == pawl.JudgeGoal && !verdict.Passes(r.Verdict) }
	last := l.lastAttempt()
	return l.spawns() && last != nil && slices.ContainsFunc(last.Results, fails) && slices.ContainsFunc(l.verdicts(), fails)
}

// asksForProof reports whether an attempt that passes without proof is followed by another one, once. Tests
// that show nothing by themselves cannot be proof.
func (s *State) asksForProof(l *Loop) bool {
	named := slices.ContainsFunc(l.verdicts(), func(r *pawl.GateJudged) bool {
		return r.Kind == pawl.GateTests && r.Judge == pawl.JudgeGate && r.Total > 0
	})
	asked := slices.ContainsFunc(l.ladder.History, func(a ladder.Attempt) bool { return a.Passed })
	return l.Kind.Proof == pawl.ProofFeedback && s.looksForEvidence() && named && !asked
}

// planRefusal returns what follows if the list of tasks is refused for good: by a person, or by the
// harness if the user gave the list. It returns nil otherwise.
func (l *Loop) planRefusal(b *pawl.IterationEnded) *ladder.Ruling {
	r := ladder.Ruling{Decision: pawl.DecideHalt, Reason: l.planRejection(), Outcome: pawl.OutcomeBlocked}
	rejected := l.lastAnswerTo(pawl.AskPlan) != nil && l.person.reply.choice == choiceReject
	switch {
	case rejected && l.Kind.Children.RestartsParent():
		r.Outcome = pawl.OutcomeFailed
	case rejected:
	case l.isGiven() && l.cannotPlan(): // the next attempt would have the same list
		r.Reason, r.Outcome = ladder.FirstError(b), ladder.UsedUp(&l.Kind.Ladder, "").Outcome
	default:
		return nil
	}
	return &r
}

// cannotPlan reports whether the iteration failed because its list of tasks cannot become its plan.
func (l *Loop) cannotPlan() bool {
	return l.gen.refused || slices.ContainsFunc(l.Kind.Gates, func(st pawl.Stage) bool {
		r := l.result(st.Name)
		return (st.Builtin == "actionable" || st.Builtin == wellFormed) && r != nil && !verdict.Passes(r.Verdict)
	})
}

// isLastIteration reports whether no further iteration is allowed.
func (s *State) isLastIteration(l *Loop) bool {
	m := s.maxIterations(l)
	return m > 0 && l.Iteration >= m
}

// eventMax returns the limit on the root's iterations, in the form that the event just decided
// carries it. Events carry it so that their readers need not derive the limit.
func (d *draft) eventMax() int { return pawl.SayMax(d.s.maxIterations(d.s.Loop(1))) }

// emitMaxIterations emits that the loop has used up its iterations.
func (d *draft) emitMaxIterations(l *Loop) {
	d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitIterations, Max: int64(d.s.maxIterations(l)), Value: int64(l.Iteration)})
}

// lastFailed returns why the last allowed iteration does not pass: that the limit is reached,
// followed by what was objected. For a root without children it names only the limit, and if one
// iteration is all that is allowed, only the objection.
func (s *State) lastFailed(l *Loop, b *pawl.IterationEnded) string {
	used, why := s.usedIterations(l), ladder.FirstError(b)
	switch {
	case l.Parent == 0 && l.Kind.Children == nil || why == "":
		return used
	case s.maxIterations(l)-l.ladder.Freed == 1:
		return why
	}
	return used + ": " + why
}

func (s *State) usedIterations(l *Loop) string {
	return fmt.Sprintf("max iterations reached: %d of %d", l.Iteration, s.maxIterations(l))
}

// haltedForSecurity reports whether a gate halted the last attempt.
func (l *Loop) haltedForSecurity() bool {
	a := l.lastAttempt()
	return a != nil && verdict.Halt(a.Results) != nil
}

// finishing reports whether the loop has begun its final steps. Nothing else starts then.
func (l *Loop) finishing() bool {
	return l.iter != nil && l.iter.final > 0 || slices.ContainsFunc(l.sessions, l.isFinal)
}

// isFinal reports whether a session belongs to a final step.
func (l *Loop) isFinal(x *session.Session) bool {
	return x.Purpose == pawl.ForStep && x.Index >= l.flow.After
}

// runFinalSteps runs the final steps of a loop that ends, and reports whether one is in progress.
// Their failure does not fail the work.
func (d *draft) runFinalSteps(l *Loop) bool {
	return d.s.Stopping == nil && d.runSteps(l, l.flow.After, len(l.flow.Steps), l.iter.final)
}

// runSteps runs flow.Steps[from:to], which are outside an iteration's own steps, one after the
// other. The first done of them are over. It reports whether one is in progress: its session, its
// questions, or what it needs first.
func (d *draft) runSteps(l *Loop, from, to, done int) bool {
	for i := from + done; i < to; i++ {
		switch {
		case l.iter.unclear != nil:
			d.clarify(l)
		case len(l.sessions) > 0 && l.sessions[0].Item == 0:
			d.converse(l, l.sessions[0])
		case len(l.sessions) > 0:
			d.eachEntry(l, l.sessions[0].Index)
		case l.skips(l.flow.Steps[i].When), l.hasNoEntries(i):
			continue
		default:
			if d.syncHead(l) {
				d.startStep(l, i, 1)
			}
		}
		return true
	}
	return false
}

// askWhenStuck asks a person whether to try once more if the recipe's ladder ends in a question,
// and reports whether the loop waits for the answer or continues.
func (d *draft) askWhenStuck(l *Loop, r ladder.Ruling) bool {
	if l.Kind.Ladder.Then != "ask" || r.Outcome != pawl.OutcomeBlocked {
		return false
	}
	if said := l.lastAnswerTo(pawl.AskStuck); said != nil {
		if said.choice != choiceAgain {
			return false
		}
		d.emit(l.Ref, &pawl.Rerouted{Gate: "ladder", Verdict: pawl.VerdictRetry, N: 1})
		return true
	}
	what, ends := "The work", "the run ends blocked; its attempts stay in the history, and it can be resumed"
	if l.Parent != 0 {
		what = "Task " + l.task.ID
		ends = fmt.Sprintf("task %s ends blocked, and tasks that depend on it are not begun; the others continue, and its attempts stay on its branch", l.task.ID)
	}
	text := fmt.Sprintf("%s does not pass: %s.", what, r.Reason)
	if why, ok := strings.CutPrefix(r.Reason, ladder.AllUsed); ok {
		text = fmt.Sprintf("%s does not pass, and nothing stronger is left to try (%s).", what, why)
	}
	d.ask(l, pawl.AskStuck, text+" Try once more?", pawl.Hash{},
		option{choiceAgain, "one more attempt is made " + withWords}, option{choiceStop, ends})
	return true
}

// choiceAgain is the answer that asks for one more attempt.
const choiceAgain = "again"
