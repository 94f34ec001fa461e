package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/budget"
	"pawl/internal/kernel/land"
	"pawl/internal/kernel/session"
)

// maxModelCall bounds a model call in a session without a timeout. The adapter ends a
// silent stream much earlier.
const maxModelCall = 30 * time.Minute

// converse takes a session one step further: its prompt, a model call, the calls of a
// reply, the reminder, or its end.
func (d *draft) converse(l *Loop, x *session.Session) {
	spec, alive := d.spec(l, x), d.s.alive(d.at)
	for n := x.Next(&spec, alive); d.act(l, x, &n) && n.ToCall; {
		if n = x.Next(&spec, alive); !n.ToCall {
			return
		}
	}
}

// spec returns what the recipe and the run want of a session.
func (d *draft) spec(l *Loop, x *session.Session) session.Spec {
	spec := session.Spec{Optional: l.optional(x), Goal: d.s.Started.Title, Task: l.task, Retry: &d.s.Settings.Retry}
	if x.Failed() != nil {
		spec.Noise = jitter(d.s.Started.Seed, d.s.Seq)
		spec.Patience = d.s.Settings.Patience(x.Place.Tier, x.Choice())
	}
	spec.Output, spec.Required = d.owed(l, x)
	if st := l.stepOf(x); st != nil {
		spec.Limits, spec.NoReminder = st.Limits, st.NoReminder
	}
	spec.Objection = func(f pawl.Facts, insisted bool) string { return d.s.objectionTo(l, x, f, insisted) }
	return spec
}

// act performs n in a session, and reports whether there was anything to do.
func (d *draft) act(l *Loop, x *session.Session, n *session.Next) bool {
	if n.Limit != nil {
		d.emit(l.Ref, n.Limit)
	}
	switch n.Act {
	case session.Nothing:
		return false
	case session.Assemble:
		d.assemble(l, x)
	case session.Speak:
		d.callModel(l, x)
	case session.CallTool:
		d.requestEffect(l, d.effect(x, n.Class, n.Timeout, &pawl.CallTool{Tool: x.Use(n.Call).Tool, Args: x.Use(n.Call).Args, Call: n.Call, Before: l.worktree.Tree}))
	case session.Harness:
		text, isError := d.harness(l, x, x.Use(n.Call))
		d.emit(l.Ref, &pawl.NoteAdded{Session: x.N, Call: n.Call + 1, Text: text, IsError: isError})
	case session.Note:
		b := &pawl.NoteAdded{Session: x.N, Blob: n.Blob, Text: n.Text, IsError: n.IsError, More: n.More}
		if n.ToCall {
			b.Call = n.Call + 1
		}
		d.emit(l.Ref, b)
	case session.Wait:
		d.backOff(l, x, n)
	case session.Switch:
		d.switchModel(l, x)
	case session.GiveUp:
		d.giveUpOn(x, n.Text)
	case session.End:
		d.endSession(l, x, n.Result, n.Text, n.Output, n.Facts)
	}
	return true
}

// backOff requests a wait before the next dispatch.
func (d *draft) backOff(l *Loop, x *session.Session, n *session.Next) {
	do := &pawl.Wait{For: n.For, Reason: n.Text}
	if why := x.Failed(); why.Limited() {
		do.Account, do.Why = d.s.Settings.Model(x.Place.Tier, x.Choice()).Account(), brief.Cut(why.Message, 120)
	}
	d.requestEffect(l, pawl.Effect{Session: x.N, Class: pawl.CrashRepeat, Place: x.Place, Do: do})
}

// giveUpOn ends the run because a model or the machine failed for good.
func (d *draft) giveUpOn(x *session.Session, reason string) {
	d.stop(d.s.onFailure(x.Failed()), reason)
}

// startSession starts a session of the loop. Unless b says otherwise, it is the first
// try and has the default cap on turns. A recipe's time is meant for sessions of models: a coding agent, which
// works on its own for long, has at least what sessions of agents may take.
func (d *draft) startSession(l *Loop, b pawl.SessionStarted) {
	if d.s.Settings.Model(b.Place.Tier, d.s.inUse[b.Place.Tier-1].choice).Agent {
		b.Timeout = max(b.Timeout, d.s.Settings.Session.Filled().Time)
	}
	b.Session, b.Turns, b.Try = l.session+1, cmp.Or(b.Turns, session.DefaultTurns), max(b.Try, 1)
	d.emit(l.Ref, &b)
}

func (d *draft) effect(x *session.Session, class pawl.CrashClass, timeout time.Duration, do pawl.Do) pawl.Effect {
	place := x.Place
	place.Turn = x.Turn() + 1
	switch do.(type) {
	case *pawl.CallTool:
		place.Turn = x.Turn()
	case *pawl.AssemblePrompt:
		place.Turn = 0
	}
	return pawl.Effect{Session: x.N, Class: class, Place: place, Timeout: x.Remaining(timeout, d.s.alive(d.at)), Do: do}
}

// callModel requests a model call, if the budget has room for it.
func (d *draft) callModel(l *Loop, x *session.Session) {
	if over := d.s.Exhausted(d.s.alive(d.at)); over != nil {
		d.shortOf(l, x, over)
		return
	}
	d.tryOwnModel(x.Place.Tier)
	model, choice := d.s.modelOf(x), d.s.choiceOf(x)
	if model.Agent {
		d.callAgent(l, x, choice)
		return
	}
	output, want, short := d.s.Room(model, x.Bytes(), d.s.Settings.OutputFloor)
	switch {
	case short == nil:
	case d.s.Reserved != budget.Purse{}: // calls in flight may release some
		return
	default:
		d.shortOf(l, x, short)
		return
	}
	do := x.CallModel(choice)
	do.MaxOutput, do.Reserved, do.ReservedTokens = output, want.Money, want.Tokens
	d.requestEffect(l, d.effect(x, pawl.CrashCharge, maxModelCall, do))
}

// callAgent requests a turn of a coding agent, if the session's limits and the budget have room for it.
func (d *draft) callAgent(l *Loop, x *session.Session, choice int) {
	limits := x.Limits(d.s.Settings.Session)
	if n, over := x.OverLimit(limits); over {
		d.act(l, x, &n)
		return
	}
	money, tokens := x.Left(limits)
	if d.s.Settings.Model(x.Place.Tier, choice).Plan {
		money = 0
	}
	want, short := d.s.RoomForTurn(budget.Purse{Money: money, Tokens: tokens})
	switch {
	case short == nil:
	case d.s.Reserved != budget.Purse{}: // calls in flight may release some
		return
	default:
		d.shortOf(l, x, short)
		return
	}
	do := x.CallAgent(choice, l.worktree.Tree)
	do.Reserved, do.ReservedTokens = want.Money, want.Tokens
	f := d.effect(x, pawl.CrashCharge, limits.Time, do)
	f.Timeout = x.RemainingOf(limits.Time, d.s.alive(d.at))
	d.requestEffect(l, f)
}

// shortOf decides what follows when a limit leaves no room for a model call: an
// optional session ends, any other stops the run.
func (d *draft) shortOf(l *Loop, x *session.Session, over *pawl.LimitReached) {
	if l.optional(x) {
		d.endSession(l, x, pawl.SessionFailed, fmt.Sprintf("the limit on %s leaves no room for it", over.Limit), pawl.Hash{}, nil)
		return
	}
	d.overBudget(over)
}

// optional reports whether the work can do without a session, because it only extracts
// learnings or runs a final step.
func (l *Loop) optional(x *session.Session) bool {
	return x.Purpose == pawl.ForExtract || l.isFinal(x)
}

// onError returns the outcome of a run in which a model or the machine fails for good.
func (s *State) onError() pawl.Outcome { return cmp.Or(s.Recipe.OnError, pawl.OutcomeHalted) }

// onFailure returns the outcome of a run that a failure ends. FailDefect is our own fault.
func (s *State) onFailure(why *pawl.Failure) pawl.Outcome {
	if why.Code == pawl.FailDefect {
		return pawl.OutcomeFailed
	}
	return s.onError()
}

// objectionTo returns what is wrong with a result that fits its schema, or "". The recipe's
// check may overrule its decision, to which it objects only once, or it is incomplete.
func (s *State) objectionTo(l *Loop, x *session.Session, f pawl.Facts, insisted bool) string {
	if st := l.stepOf(x); st != nil && !insisted && s.overrules(st, f) != "" {
		return fmt.Sprintf("You decided %s, and this request looks like %s: %s. Look again, and hand in your result once more.",
			f.Get("decision"), st.Check.Demands, strings.Join(s.Started.Signs, "; "))
	}
	if x.Purpose == pawl.ForReview && !insisted && f.Get("decision") == "pass" {
		if why := l.lacksInPass(x, f); why != "" {
			return why + "Then hand in your result once more."
		}
	}
	return s.incomplete(l, x, f)
}

// maxListed bounds the bytes of a list of ids in what is wrong with a result.
const maxListed = 36

// lacksInPass returns what a review that passes should have in it besides, or "".
func (l *Loop) lacksInPass(x *session.Session, f pawl.Facts) string {
	why := ""
	if loose := f.All("loose"); len(loose) > 0 && l.looksAgain(l.stage(x.Index).Name) {
		why = fmt.Sprintf("This tree did not pass before. Name for each of these in its evidence the file and line (path:12), or the test, that answers the objection: %s. ",
			brief.Cut(strings.Join(loose, ", "), maxListed))
	}
	if open := f.All("unanswered"); len(open) > 0 {
		why += fmt.Sprintf("Findings that you do not answer are not accepted: %s. Answer each in findings, with a quote of the words that ask for it, or with how to undo it. ",
			brief.Cut(strings.Join(open, ", "), maxListed))
	}
	return why
}

// incomplete returns what a result lacks that its schema cannot demand, or "".
func (s *State) incomplete(l *Loop, x *session.Session, f pawl.Facts) string {
	st := l.stepOf(x)
	switch {
	case x.Purpose == pawl.ForBatch && l.gen.batch != nil:
		return l.gen.batch.Unjudged(f, s.openIDs(l))
	case st != nil && !st.Questions && f.Get("questions") != "" && (f.Get("count") == "" || f.Get("count") == "0") && st.Output == "plan":
		return "Nobody can be asked here. Hand in a plan with what you know; say in it what you take for granted."
	}
	return ""
}

// openIDs returns the ids of the tasks of a batch that its review judges.
func (s *State) openIDs(l *Loop) []string {
	var open []string
	for _, i := range s.candidates(l) {
		open = append(open, l.taskID(l.gen.batch.Members[i].Task))
	}
	return open
}

// overrules returns the decision that a step's check demands instead of the one in f. It
// returns "" if the goal shows no signs that call for it, or if f has it.
func (s *State) overrules(st *pawl.Step, f pawl.Facts) string {
	c := st.Check
	switch has := f.Get("decision"); {
	case c == nil || len(s.Started.Signs) == 0 || has == c.Demands, len(c.Over) > 0 && !slices.Contains(c.Over, has):
		return ""
	}
	return c.Demands
}

// stepOf returns the recipe's step that a session is for, or nil.
func (l *Loop) stepOf(x *session.Session) *pawl.Step {
	switch x.Purpose {
	case pawl.ForStep, pawl.ForReplan:
		return l.flow.Steps[x.Index]
	case pawl.ForExtract:
		return l.Kind.Extract
	}
	return nil
}

// owed returns the name of the structured result that a session may submit, and whether it
// must.
func (d *draft) owed(l *Loop, x *session.Session) (output string, required bool) {
	switch x.Purpose {
	case pawl.ForReview:
		return l.stage(x.Index).Review.Output, true
	case pawl.ForBatch:
		return l.Kind.Children.Judge.Output, true
	case pawl.ForProposal:
		return proposalOutput, true
	case pawl.ForBallot:
		return ballotOutput, true
	}
	st := l.stepOf(x)
	return st.Output, st.Required || x.Purpose == pawl.ForReplan
}

// endSession ends a session, and emits what follows from its result. A decision that the
// recipe's check overrules is replaced, and kept as the fact "overruled".
func (d *draft) endSession(l *Loop, x *session.Session, r pawl.SessionResult, reason string, output pawl.Hash, facts pawl.Facts) {
	if st := l.stepOf(x); x.Purpose == pawl.ForStep && r == pawl.SessionDone {
		if to := d.s.overrules(st, facts); to != "" && facts.Get("decision") != "" {
			facts = append(pawl.Facts{{Name: "decision", Value: to}, {Name: "overruled", Value: facts.Get("decision")}}, facts...)
		}
	}
	if x.Purpose == pawl.ForBatch && l.gen.batch != nil {
		facts = land.OfBatch(facts, d.s.openIDs(l))
	}
	d.tooManyRounds(l, x, r, facts)
	d.emit(l.Ref, &pawl.SessionEnded{Session: x.N, Result: r, Reason: reason, Output: output, Facts: facts})
	if r == pawl.SessionDone {
		d.rememberNotes(l, x, facts)
	}
	switch {
	case x.Purpose == pawl.ForBatch:
		d.batchReviewed(l, r, output, facts)
	case x.Purpose == pawl.ForReview && x.Vote == 0:
		d.reviewed(l, x, r, reason, output, facts)
	case x.Purpose == pawl.ForExtract && r == pawl.SessionDone:
		d.extracted(l, x, facts)
	case x.Purpose == pawl.ForReplan && r != pawl.SessionDone:
		d.emit(l.Ref, &pawl.PlanRefused{Reason: brief.Cut("there is no new plan: "+reason, 300)})
	case x.Purpose == pawl.ForStep && l.isAssessingStep(x.Index):
		d.scoreAssessment(l, r, facts)
	}
}
