package kernel

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// maxModelCall bounds a model call of a session without a timeout of its own; a
// silent stream is ended much earlier by the adapter.
const maxModelCall = 30 * time.Minute

// maxToolCall bounds a tool call of a session without a timeout of its own.
const maxToolCall = 15 * time.Minute

// converse emits what is next in a session: the prompt, a model call, the calls
// of its reply, the reminder, or the end.
func (d *draft) converse(l *Loop, x *Session) {
	if x.open > 0 && !x.unanswered() {
		return
	}
	switch {
	case x.failed != nil:
		d.retry(l, x)
	case !x.prompted:
		d.assemble(l, x)
	case x.turn == 0:
		d.callModel(l, x)
	case x.unanswered():
		d.callTools(l, x)
	case len(x.calls) == 0 && x.spoke():
		d.spokeLast(l, x)
	default:
		d.batchDone(l, x)
	}
}

// over ends a session whose time is up.
func (d *draft) over(l *Loop, x *Session) bool {
	if x.deadline == 0 || d.s.alive(d.at) < x.deadline {
		return false
	}
	d.emit(l.Ref, &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitTime, Max: int64(x.timeout),
		Value: int64(d.s.alive(d.at) - x.deadline + x.timeout)})
	d.endSession(l, x, pawl.SessionTimeout, fmt.Sprintf("timed out after %s", x.timeout), pawl.Hash{}, nil)
	return true
}

// startSession begins a session of the loop: its first try, and with the default
// cap on turns, unless b says otherwise.
func (d *draft) startSession(l *Loop, b pawl.SessionStarted) {
	b.Session, b.Turns, b.Try = l.session+1, cmp.Or(b.Turns, defaultTurns), max(b.Try, 1)
	d.emit(l.Ref, &b)
}

func (d *draft) effect(x *Session, class pawl.CrashClass, timeout time.Duration, do pawl.Do) pawl.Effect {
	place := x.Place
	place.Turn = x.turn + 1
	switch do.(type) {
	case *pawl.CallTool:
		place.Turn = x.turn
	case *pawl.AssemblePrompt:
		place.Turn = 0
	}
	return pawl.Effect{Session: x.N, Class: class, Place: place, Timeout: d.remaining(x, timeout), Do: do}
}

// remaining is how long an effect of a session may take: what the session has
// left, and never more than the cap.
func (d *draft) remaining(x *Session, limit time.Duration) time.Duration {
	if x.deadline == 0 {
		return limit
	}
	return max(min(x.deadline-d.s.alive(d.at), limit), time.Millisecond)
}

// callModel lets the model speak, if time and budget have room for it.
func (d *draft) callModel(l *Loop, x *Session) {
	if d.over(l, x) {
		return
	}
	if name, limit, value, over := d.s.exhausted(d.at); over {
		d.shortOf(l, x, name, limit, value)
		return
	}
	output, want, short := d.s.room(x.Place.Tier, x.bytes)
	switch {
	case short == "":
	case d.s.Reserved != Purse{}: // calls in flight may give some back
		return
	default:
		limit, value := d.s.limitOn(short), int64(d.s.Spent.Money+want.Money)
		if short == pawl.LimitTokens {
			value = d.s.Spent.Tokens + want.Tokens
		}
		d.shortOf(l, x, short, limit, value)
		return
	}
	d.request(l, d.effect(x, pawl.CrashCharge, maxModelCall, &pawl.CallModel{
		Tier: x.Place.Tier, MaxOutput: output, System: x.system, Tools: x.tools, Items: len(x.items),
		Try: x.dispatches + 1, Reserved: want.Money, ReservedTokens: want.Tokens,
	}))
}

// shortOf says what follows when a limit has no room for a model call. The run
// stops, unless the session is one the work can do without.
func (d *draft) shortOf(l *Loop, x *Session, name pawl.LimitName, limit, value int64) {
	if l.optional(x) {
		d.endSession(l, x, pawl.SessionFailed, fmt.Sprintf("the limit on %s leaves no room for it", name), pawl.Hash{}, nil)
		return
	}
	d.overBudget(name, limit, value)
}

// optional reports whether the work can do without a session: one that only
// writes down what was learned, or tells how it went.
func (l *Loop) optional(x *Session) bool {
	return x.Purpose == pawl.ForExtract || l.isFinal(x)
}

// retry says what follows when a prompt could not be made or a model gave no reply.
func (d *draft) retry(l *Loop, x *Session) {
	why := x.failed
	code := pawl.ModelErrorKind(why.Code)
	switch {
	case why.Code == pawl.FailTimeout && d.over(l, x):
	case x.waited && x.prompted:
		d.callModel(l, x)
	case x.waited:
		d.assemble(l, x)
	case code == pawl.ModelRefused || code == pawl.ModelContextLong:
		d.failSession(l, x)
	case code.Retryable() || why.Wait > 0 || why.Code == pawl.FailTimeout || why.Code == pawl.FailMachine:
		d.waitAndRetry(l, x)
	case l.optional(x):
		d.failSession(l, x)
	case why.Code == pawl.FailDefect:
		d.stop(pawl.OutcomeFailed, fmt.Sprintf("%s: %s", x.Place, why.Message))
	default:
		d.stop(d.s.onError(), fmt.Sprintf("%s: %s: %s", x.Place, why.Code, why.Message))
	}
}

// failSession ends a session with what its last effect failed with.
func (d *draft) failSession(l *Loop, x *Session) {
	d.endSession(l, x, pawl.SessionFailed, brief.Cut(string(x.failed.Code)+": "+x.failed.Message, 200), pawl.Hash{}, nil)
}

// onError is how the run ends when a model or the machine fails for good.
func (s *State) onError() pawl.Outcome { return cmp.Or(s.Recipe.OnError, pawl.OutcomeHalted) }

func (d *draft) waitAndRetry(l *Loop, x *Session) {
	if d.over(l, x) {
		return
	}
	wait, reason, more := d.s.backoff(x)
	if !more && l.optional(x) {
		d.failSession(l, x)
		return
	}
	if more {
		do := &pawl.Wait{For: wait, Reason: reason}
		if x.failed.Limited() {
			do.Account, do.Why = d.s.Settings.Models[x.Place.Tier-1].Account(), brief.Cut(x.failed.Message, 120)
		}
		d.request(l, pawl.Effect{Session: x.N, Class: pawl.CrashRepeat, Place: x.Place, Do: do})
		return
	}
	what := "no model"
	if !x.prompted {
		what = "no prompt"
	}
	p := d.s.Settings.Retry
	d.emit(l.Ref, &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitRetries,
		Max: int64(p.Tries * (p.Pauses + 1)), Value: int64(x.dispatches)})
	d.stop(d.s.onError(), fmt.Sprintf("%s: it was tried %d times, and the last time it was %s: %s", what, x.dispatches, x.failed.Code, x.failed.Message))
}

// callTools answers what the harness answers itself and requests the rest: reads
// that stand together side by side, everything else one at a time, in order.
func (d *draft) callTools(l *Loop, x *Session) {
	for i := range x.calls {
		c := &x.calls[i]
		if c.answered {
			continue
		}
		text, isError, ok := c.reply(x)
		if !ok && c.effect == 0 {
			text, isError, ok = d.permits(l, x, c)
		}
		if !ok && c.use.Harness {
			if x.waitsBefore(i) {
				return
			}
			text, isError = d.harness(l, x, i)
			ok = true
		}
		if ok {
			d.emit(l.Ref, &pawl.NoteAdded{Session: x.N, Call: i + 1, Text: text, IsError: isError})
			continue
		}
		reads := c.use.Class == pawl.CrashRepeat
		if !reads && x.waitsBefore(i) {
			return
		}
		if c.effect == 0 {
			if d.over(l, x) {
				return
			}
			d.request(l, d.effect(x, c.use.Class, maxToolCall, &pawl.CallTool{Tool: c.use.Tool, Args: c.use.Args, Call: i, Before: l.worktree.tree}))
		}
		if !reads {
			return
		}
	}
}

// reply is what the harness answers to a call without running anything.
func (c *call) reply(x *Session) (text string, isError, ok bool) {
	switch {
	case x.stop == pawl.StopMaxOutput:
		return textCutCall, true, true
	case x.takesTrimmed(c):
		return "", false, false
	case c.use.Problem != "":
		return brief.Cut(c.use.Problem, 400), true, true
	case c.use.Submit || c.use.Harness:
		return "", false, false
	case c.use.Class == 0:
		return fmt.Sprintf("there is no tool %q here", brief.Cut(c.use.Tool, 60)), true, true
	}
	return "", false, false
}

// permits says what the harness answers to a call instead of running it: a result
// that is accepted, or a decision that the recipe's check objects to; a tool that
// was called as often as it may be. It is false when the call is to be run.
func (d *draft) permits(l *Loop, x *Session, c *call) (text string, isError, ok bool) {
	st := l.stepOf(x)
	if x.takesTrimmed(c) {
		d.emit(l.Ref, &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitSize, Max: maxSize, Value: maxSize + 1})
		return textTrimmed, false, true
	}
	if c.use.Submit {
		if st != nil && !x.objected && d.s.overrules(st, c.use.Facts) != "" {
			return brief.Cut(fmt.Sprintf("You decided %s, and this request looks like %s: %s. Look again, and hand in your result once more.",
				c.use.Facts.Get("decision"), st.Check.Demands, strings.Join(d.s.Started.Signs, "; ")), 400), true, true
		}
		if why := d.s.incomplete(l, x, c.use.Facts); why != "" {
			return brief.Cut(why, 400), true, true
		}
		return textAccepted, false, true
	}
	if st == nil {
		return "", false, false
	}
	for _, lim := range st.Limits {
		if n := x.calledSoFar(lim.Tool); lim.Tool == c.use.Tool && n >= lim.Max {
			d.emit(l.Ref, &pawl.LimitReached{Scope: x.Place.String() + "/" + lim.Tool, Limit: pawl.LimitCalls, Max: int64(lim.Max), Value: int64(n + 1)})
			return fmt.Sprintf("not run: %s may be called %d times in a session, and was", lim.Tool, lim.Max), true, true
		}
	}
	return "", false, false
}

// incomplete says what is wrong with a result beyond what its schema can say; empty =
// nothing is.
func (s *State) incomplete(l *Loop, x *Session, f pawl.Facts) string {
	st := l.stepOf(x)
	switch {
	case x.Purpose == pawl.ForBatch && l.gen.batch != nil:
		return s.unjudged(l, f)
	case st != nil && !st.Questions && f.Get("questions") != "" && (f.Get("count") == "" || f.Get("count") == "0") && st.Output == "plan":
		return "Nobody can be asked here. Hand in a plan with what you know; say in it what you take for granted."
	}
	return ""
}

// overrules is the decision that a step's check puts in the place of another one;
// empty = there are no signs for it, or it was made.
func (s *State) overrules(st *pawl.Step, f pawl.Facts) string {
	if st.Check == nil || len(s.Started.Signs) == 0 || f.Get("decision") == st.Check.Demands {
		return ""
	}
	return st.Check.Demands
}

// stepOf is the step of the recipe that a session is for, or nil.
func (l *Loop) stepOf(x *Session) *pawl.Step {
	switch x.Purpose {
	case pawl.ForStep, pawl.ForReplan:
		return l.flow.steps[x.Index]
	case pawl.ForExtract:
		return l.Kind.Extract
	}
	return nil
}

// spokeLast ends a session whose model called no tool, or asks for what is owed.
func (d *draft) spokeLast(l *Loop, x *Session) {
	output, required := d.owed(l, x)
	switch {
	case x.stop == pawl.StopMaxOutput:
		d.goOn(l, x, textCutText)
	case output == "" || !required:
		d.endSession(l, x, pawl.SessionDone, "", x.text, nil)
	case x.nags >= maxNags:
		d.endSession(l, x, pawl.SessionNoResult, fmt.Sprintf("it ended %d times without calling %s", x.nags+1, pawl.SubmitTool(output)), x.text, nil)
	default:
		d.goOn(l, x, fmt.Sprintf("You have not handed in your result. Call %s now, with what you have.", pawl.SubmitTool(output)))
	}
}

// goOn says something and lets the model speak again, if it has a turn left.
func (d *draft) goOn(l *Loop, x *Session, text string) {
	if x.turn >= x.Turns {
		d.turnCap(l, x)
		return
	}
	d.emit(l.Ref, &pawl.NoteAdded{Session: x.N, Text: text})
}

// batchDone goes on after all calls of a reply are answered.
func (d *draft) batchDone(l *Loop, x *Session) {
	output, _ := d.owed(l, x)
	switch {
	case x.submitted > 0:
		use := &x.calls[x.submitted-1].use
		d.endSession(l, x, pawl.SessionDone, "", cmp.Or(use.Trimmed, use.Args), use.Facts)
	case x.invalid >= maxInvalid:
		d.endSession(l, x, pawl.SessionNoResult, fmt.Sprintf("%d results did not fit the schema of %s", x.invalid, pawl.SubmitTool(output)), x.text, nil)
	case x.turn >= x.Turns:
		d.turnCap(l, x)
	case d.over(l, x):
	case len(x.calls) > 0 && x.stop != pawl.StopMaxOutput && !x.reminded && d.reminds(l, x):
		d.emit(l.Ref, &pawl.NoteAdded{Session: x.N, Text: d.reminder(l, x, output)})
	default:
		d.callModel(l, x)
	}
}

func (d *draft) turnCap(l *Loop, x *Session) {
	d.emit(l.Ref, &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitTurns, Max: int64(x.Turns), Value: int64(x.turn)})
	d.endSession(l, x, pawl.SessionTurns, fmt.Sprintf("it used all %d turns", x.Turns), x.text, nil)
}

// owed is the structured result a session hands in, and whether it must.
func (d *draft) owed(l *Loop, x *Session) (output string, required bool) {
	switch x.Purpose {
	case pawl.ForReview:
		return l.stage(x.Index).Review.Output, true
	case pawl.ForBatch:
		return l.Kind.Children.Review.Output, true
	case pawl.ForProposal:
		return proposalOutput, true
	case pawl.ForBallot:
		return ballotOutput, true
	}
	st := l.stepOf(x)
	return st.Output, st.Required || x.Purpose == pawl.ForReplan
}

func (d *draft) reminds(l *Loop, x *Session) bool {
	st := l.stepOf(x)
	return st == nil || !st.NoReminder
}

// lastTurns is how many turns before the cap the reminder says how many are left.
const lastTurns = 3

// reminder keeps the task in view of a session with a long transcript. It is the
// same after every batch but one, so that it is kept once. A loop with a task of
// its own is told where that ends: models like to begin the next one.
func (d *draft) reminder(l *Loop, x *Session, output string) string {
	text := "Reminder: the task is still: " + brief.Cut(d.s.Started.Title, 120) + "."
	if l.task.ID != "" {
		what := l.task.ID + " — " + brief.Cut(l.task.Title, 60)
		text = "CURRENT TASK STATE:\nGoal: " + brief.Cut(d.s.Started.Title, 60) + "\nCurrent subtask: " + what + "\nStatus: running\n\n" +
			"REMAINING WORK FOR THIS SUBTASK:\nContinue working on: " + brief.Cut(l.task.Title, 60) +
			"\nDo NOT move to the next subtask; complete ONLY this one.\nWhen finished, summarize what you did."
	}
	if output != "" {
		text += fmt.Sprintf(" When it is done, call %s.", pawl.SubmitTool(output))
	}
	if x.Turns-x.turn == lastTurns {
		text += fmt.Sprintf(" %d turns are left.", lastTurns)
	}
	return brief.Cut(text, 400)
}

// endSession ends a session; what follows from its result follows at once. Where
// the recipe's check has the last word, the decision is its.
func (d *draft) endSession(l *Loop, x *Session, r pawl.SessionResult, reason string, output pawl.Hash, facts pawl.Facts) {
	if st := l.stepOf(x); x.Purpose == pawl.ForStep && r == pawl.SessionDone {
		if to := d.s.overrules(st, facts); to != "" && facts.Get("decision") != "" {
			facts = append(pawl.Facts{{Name: "decision", Value: to}, {Name: "overruled", Value: facts.Get("decision")}}, facts...)
		}
	}
	d.tooManyRounds(l, x, r, facts)
	d.emit(l.Ref, &pawl.SessionEnded{Session: x.N, Result: r, Reason: reason, Output: output, Facts: facts})
	if r == pawl.SessionDone {
		d.noted(l, x, facts)
	}
	switch {
	case x.Purpose == pawl.ForBatch:
		d.batchReviewed(l, r, output, facts)
	case x.Purpose == pawl.ForReview && x.vote == 0:
		d.reviewed(l, x, r, reason, output, facts)
	case x.Purpose == pawl.ForExtract && r == pawl.SessionDone:
		d.extracted(l, x, facts)
	case x.Purpose == pawl.ForReplan && r != pawl.SessionDone:
		d.emit(l.Ref, &pawl.PlanRefused{Reason: brief.Cut("there is no new plan: "+reason, 300)})
	case x.Purpose == pawl.ForStep && l.assesses(x.Index):
		d.assessed(l, r, facts)
	}
}
