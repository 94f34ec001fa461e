package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/session"
	"pawl/internal/kernel/verdict"
)

// vote lets several models judge independently, and counts the votes when all are in. A missing
// vote is a failure. A unanimous vote decides; on any split, a person is asked.
func (d *draft) vote(l *Loop, stage int) {
	st := l.stage(stage)
	for _, x := range slices.Clone(l.sessions) {
		d.converse(l, x)
		if d.s.Stopping != nil {
			return
		}
	}
	all := true
	for i := range st.Review.Votes {
		if l.cand.HasVoted(i + 1) {
			continue
		}
		all = false
		if !slices.ContainsFunc(l.sessions, func(x *session.Session) bool { return x.Vote == i+1 }) {
			d.seatReviewer(l, stage, i+1)
		}
	}
	if all {
		d.countVotes(l, st)
	}
}

// seatReviewer starts the session of a reviewer. Vote is its number among several, from 1, or 0 if
// it is the only one.
func (d *draft) seatReviewer(l *Loop, stage, vote int) {
	st := l.stage(stage)
	place := l.place(st.Name)
	place.Role, place.Tier = st.Review.Role, st.Review.Tier
	if l.looksAgain(st.Name) {
		place.Tier++
	}
	place.Tier, _ = l.cand.NextReviewer(stage, vote, min(place.Tier, ladder.Top))
	if vote > 0 {
		place.Lens = fmt.Sprintf("vote %d", vote)
	}
	d.startSession(l, pawl.SessionStarted{Purpose: pawl.ForReview, Place: place, Index: stage, Turns: st.Review.Turns, Cap: st.Review.Cap, Timeout: st.Timeout, Vote: vote})
}

func (d *draft) countVotes(l *Loop, st *pawl.Stage) {
	b, unanimous := l.cand.Count(st.Name)
	switch {
	case unanimous:
		d.reviewFindings(l, b, l.cand.VotedFacts())
	case l.lastAnswerTo(pawl.AskVotes) != nil:
		r := l.person.reply
		b.By, b.Verdict = cmp.Or(r.by, "a person"), personal(r.choice)
		b.Reason += "; decided by a person: " + cmp.Or(r.text, r.choice)
		if r.choice == choicePass {
			d.acceptAll(l, r.by)
		}
	case l.isLost(st.Name):
	default:
		d.ask(l, pawl.AskVotes, d.withFindings(l, fmt.Sprintf("The reviewers of %s disagree: %d of %d would pass it. Does it pass?", l.judgedNow(), b.Passed, b.Total)),
			b.Evidence, d.s.passOrFail(l)...)
		return
	}
	d.emit(l.Ref, b)
}

// The choices of questions that ask for a verdict.
const (
	choicePass = "pass"
	choiceFail = "fail"
)

// passOrFail returns the choices of a question about the work of an attempt.
func (s *State) passOrFail(l *Loop) []option {
	return []option{{choicePass, "this review counts as passed, despite any objection"}, {choiceFail, s.ifFails(l, "the attempt fails, and the next one gets your words")}}
}

// isLost reports whether the attempt fails whatever the judge of this name says, so that no person needs to
// say it.
func (l *Loop) isLost(gate string) bool {
	return slices.ContainsFunc(l.verdicts(), func(r *pawl.GateJudged) bool { return r.Gate != gate && !verdict.Passes(r.Verdict) })
}

func personal(choice string) pawl.Verdict {
	if choice == choicePass {
		return pawl.VerdictPass
	}
	return pawl.VerdictFail
}

// lastAnswerTo returns the last answer if it is to a question of this kind, or nil.
func (l *Loop) lastAnswerTo(kind pawl.QuestionKind) *reply {
	if l.person.reply != nil && l.person.reply.kind == kind {
		return l.person.reply
	}
	return nil
}

// askVerdict asks a person for a verdict, and records the answer as that of a gate.
func (d *draft) askVerdict(l *Loop, gate, text string) {
	r := l.lastAnswerTo(pawl.AskVerdict)
	if r == nil {
		d.ask(l, pawl.AskVerdict, text, l.cand.Paths, d.s.passOrFail(l)...)
		return
	}
	if r.choice == choicePass {
		d.acceptAll(l, r.by)
	}
	d.emit(l.Ref, &pawl.GateJudged{Gate: gate, Verdict: personal(r.choice), By: cmp.Or(r.by, "a person"),
		Reason: brief.Cut("decided by a person: "+cmp.Or(r.text, r.choice), 300)})
}

// route counts how often an iteration has gone back to a step, because of a gate's verdicts or of
// answers to the step's questions.
type route struct {
	step int
	by   string // the gate; empty = the command gates, which count as one, or the step's questions
	n    int
}

// routed returns how often the candidate's iteration has gone back to a step because of a gate.
func (l *Loop) routed(step int, gate string) int {
	for _, r := range l.iter.routes {
		if r.step == step && r.by == l.router(gate) {
			return r.n
		}
	}
	return 0
}

// router returns under which name the verdicts of a gate are counted in [route].
func (l *Loop) router(gate string) string {
	if r := l.result(gate); r != nil && r.Kind != "" {
		return ""
	}
	return gate
}

// reroute sends the iteration back to a step if a gate of the stage objects and the recipe has a
// way for its verdict that is not used up. A gate's ways to the same step share one count. It
// reports whether judging has to stop, also because a person is asked instead.
func (d *draft) reroute(l *Loop, st *pawl.Stage) bool {
	r := l.objection(st)
	if r == nil || l.merge() != nil {
		return false
	}
	way, ok := st.On[r.Verdict]
	if !ok {
		return false
	}
	if l.isGiven() && l.spawns() && way.From == l.Kind.Children.From { // that step does not run
		return false
	}
	step := 0
	if way.From != "start" {
		step = l.flow.Find(way.From)
	}
	n := l.routed(step, r.Gate)
	if n < way.Max {
		if len(l.open) == 0 {
			d.emit(l.Ref, &pawl.Rerouted{Gate: r.Gate, Verdict: r.Verdict, Step: step, N: n + 1, Max: way.Max})
		}
		return true
	}
	if !l.cand.Astray {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.place(r.Gate).String() + "/" + string(r.Verdict), Limit: pawl.LimitRoutes, Max: int64(way.Max), Value: int64(n)})
	}
	if way.Then != "ask" || r.By != "" || l.isLost(r.Gate) {
		return false
	}
	d.askVerdict(l, r.Gate, fmt.Sprintf("%s still says %s after the work was sent back %s. Does it pass?", r.Gate, r.Verdict, times(n)))
	return true
}

// objection returns the first verdict of the stage's gates that does not pass, or nil.
func (l *Loop) objection(st *pawl.Stage) *pawl.GateJudged {
	for _, r := range l.verdicts() {
		if of := r.Gate == st.Name || r.Kind != "" && selects(st, r.Kind); of && !verdict.Passes(r.Verdict) {
			return r
		}
	}
	return nil
}

// leadsBack reports whether a person's answer sends the iteration back to a step.
func (l *Loop) leadsBack() bool {
	plan, blocked := l.lastAnswerTo(pawl.AskPlan), l.lastAnswerTo(pawl.AskBlocked)
	stuck := l.lastAnswerTo(pawl.AskStuck)
	return plan != nil && plan.choice == choiceRevise || blocked != nil && blocked.choice == choiceAgain || stuck != nil && stuck.text != ""
}

// rerouted records that the iteration goes back to a step.
func (l *Loop) rerouted(b *pawl.Rerouted) error {
	if b.Step < 0 || b.Step >= l.flow.Main {
		return fmt.Errorf("there is no step %d", b.Step)
	}
	l.iter.objections, l.iter.judged = nil, sentBack{}
	if l.cand != nil && l.iter.stepFailed == "" {
		l.iter.judged = sentBack{l.cand.Tree, byCommands(l.verdicts())}
	}
	for _, r := range l.verdicts() {
		if !verdict.Passes(r.Verdict) {
			l.iter.objections = append(l.iter.objections, r)
		}
	}
	if l.leadsBack() {
		l.iter.objections = append(l.iter.objections, &pawl.GateJudged{Gate: b.Gate, Verdict: b.Verdict, Reason: l.person.reply.text})
	}
	by := l.router(b.Gate)
	isOf := func(r route) bool { return r.step == b.Step && r.by == by }
	l.iter.routes = append(slices.DeleteFunc(l.iter.routes, isOf), route{b.Step, by, b.N})
	l.Attempt++
	l.setCandidate(nil)
	l.Phase, l.sessions, l.iter.rejudges = PhaseSteps, nil, false
	l.left.Decision, l.iter.blocked = "", nil
	l.moveToStep(b.Step)
	return nil
}

// check runs a check of the harness itself and emits its verdict.
func (d *draft) check(l *Loop, st *pawl.Stage) {
	b := &pawl.GateJudged{Gate: st.Name, Verdict: pawl.VerdictPass, Reason: st.Builtin}
	switch st.Builtin {
	case "actionable":
		switch {
		case !l.spawns() || l.gen.planned:
			b.Reason = "there is no list of tasks"
		case l.gen.read == nil:
			d.readPlan(l)
			return
		default:
			l.actionable(b)
		}
	case wellFormed:
		switch {
		case !l.spawns() || l.gen.planned:
			b.Reason = "there is no artifact to read"
		case l.gen.read == nil && l.list().IsZero():
			b.Verdict, b.Reason, b.Error = pawl.VerdictFail, l.noArtifact(), brief.Fingerprint(wellFormed)
		case l.gen.read == nil:
			d.readPlan(l)
			return
		default:
			l.readable(b)
		}
	case toolResults:
		switch {
		case l.left.RunHidden:
			b.Verdict, b.Reason = pawl.VerdictSkip, "the coding agent does not show all of its tool calls"
		case l.left.RunFailed:
			b.Verdict, b.Reason = pawl.VerdictFail, brief.Cut("the last command the agent ran failed, and it left it at that", 300)
		}
	}
	d.emit(l.Ref, b)
}

// actionable judges whether every task of a list can be worked on and checked.
func (l *Loop) actionable(b *pawl.GateJudged) {
	if why := l.judgeList(); why != "" {
		b.Verdict, b.Reason = pawl.VerdictRevise, brief.Cut(why, 300)
		b.Error = brief.Words(why)
		return
	}
	b.Total = len(l.gen.read.Entries)
	for i := range l.gen.read.Entries {
		e := &l.gen.read.Entries[i]
		if e.Incomplete == "" {
			b.Passed++
			continue
		}
		if b.Verdict == pawl.VerdictPass {
			b.Verdict, b.Reason = pawl.VerdictRevise, brief.Cut(fmt.Sprintf("task %s: %s", e.ID, e.Incomplete), 300)
		}
		b.Failing = brief.Mix(b.Failing, brief.Fingerprint(e.ID), brief.Words(e.Incomplete))
	}
}
