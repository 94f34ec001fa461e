package session

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// What the harness says in a session.
const (
	textAccepted    = "Accepted."
	textTrimmed     = "Accepted, and cut: it was still too long. What gave way is missing."
	textInterrupted = "interrupted: Pawl was stopped while this ran, so it may or may not have had its effect. Check the state before you rely on it."
	textCutCall     = "not run: your reply was cut at the output limit. Say less at once, or make the call again in smaller parts."
	textTimeIsUp    = "Your time is up: hand in what you have now, as it is, and do nothing else."
	textCutText     = "Your reply was cut at the output limit. Continue from where it stopped, in smaller parts."
)

// DefaultTurns is the cap on the model calls of a session whose recipe gives none.
const DefaultTurns = 20

// Bounds of a session.
const (
	maxInvalid = 3   // results that are refused
	maxSize    = 500 // tokens of a result with a bounded length; the tool tells the model how many it had
	maxNags    = 3   // replies that are answered with a request for the result that is owed
	lastTurns  = 3   // the reminder says how many turns are left when it is this many
)

// handInTime is how much longer the session of a coding agent goes on when its time is up, for one more turn in which
// the agent hands in what it has: to begin anew would throw away what it did.
const handInTime = 5 * time.Minute

// maxToolCall bounds a tool call of a session without a timeout.
const maxToolCall = 15 * time.Minute

// Spec holds what the recipe and the run want of a session. It is made anew for each [Session.Next].
type Spec struct {
	Output     string            // the name of the structured result that the session hands in; empty = none
	Required   bool              // the session must hand in its result
	Optional   bool              // the work can do without the session
	Limits     []pawl.ToolLimit  // on calls of single tools in the session
	NoReminder bool              // no reminder follows the calls of a reply
	Goal       string            // of the run, in short
	Task       *pawl.TaskEntry   // the loop's task, not nil; without an id, the goal is the task
	Retry      *pawl.RetryPolicy // for prompts and model calls, not nil; its Tries must be positive
	Noise      uint64            // spreads back-offs of different runs; equal at every replay
	// Patience is how long the session waits at most for a provider that says when it can be
	// called again; 0 = its tier has no further model.
	Patience time.Duration
	// Objection returns what is wrong with a result that fits its schema, or "". Insisted is
	// true if the harness has objected to a result of the session before. It must not be nil if
	// the session has an Output.
	Objection func(f pawl.Facts, insisted bool) string
}

// Act is a kind of thing that a session does next.
type Act uint8

// The acts, each with the fields of [Next] that it uses.
const (
	// Nothing means that the session waits for an effect in flight.
	Nothing Act = iota
	// Assemble requests the prompt.
	Assemble
	// Speak requests a model call, if the budget has room for it.
	Speak
	// CallTool requests the tool call Call, with Class and Timeout.
	CallTool
	// Harness answers the call Call from the run's state.
	Harness
	// Note adds a note with Blob, Text and IsError: to the call Call if ToCall is set.
	Note
	// Wait requests a back-off of the length For. Text says why.
	Wait
	// Switch makes the session use its tier's next model, because the last call failed.
	Switch
	// GiveUp ends the run, because the model or the machine fails for good. Text says how.
	GiveUp
	// End ends the session with Result, Output and Facts. Text says why, and is empty for a
	// session that is done.
	End
)

// Next is what a session does next. The zero value is Nothing.
type Next struct {
	Act     Act
	ToCall  bool               // the act is about a call of the last reply, or waits for one
	Limit   *pawl.LimitReached // a limit that was reached, to be recorded before the act; nil = none
	Call    int                // the position among the calls of the last reply, from 0
	Class   pawl.CrashClass    // of the tool
	Timeout time.Duration      // the most that the tool call may take; see also [Session.Remaining]
	For     time.Duration
	More    time.Duration // with a note: how much longer the session goes on
	Blob    pawl.Hash     // comes before Text
	Text    string
	IsError bool
	Result  pawl.SessionResult
	Output  pawl.Hash
	Facts   pawl.Facts
}

// Next decides what the session does next, and changes nothing. Alive is the time as in [Start].
// After the caller has recorded what it did, Next returns what follows, until it is Nothing.
//
// The calls of a reply are taken in order. Reads that stand together run side by side. Any other
// tool runs alone, after all calls before it are answered and before any call behind it is looked
// at. Calls that the harness answers from the run's state wait for the calls before them too.
// Refusals and results that are handed in are answered at once.
func (x *Session) Next(spec *Spec, alive time.Duration) Next {
	if x.open > 0 && !x.unanswered() {
		return Next{}
	}
	switch {
	case x.failed != nil:
		return x.retry(spec, alive)
	case !x.prompted:
		return Next{Act: Assemble}
	case x.turn == 0:
		return x.speak(alive)
	case x.unanswered():
		n := x.nextCall(spec, alive)
		n.ToCall = n.Act != End
		return n
	case len(x.calls) == 0 && x.spoke(), x.submitted == 0 && x.isAnswered():
		return x.spokeLast(spec)
	}
	return x.answeredAll(spec, alive)
}

// isOver reports whether the session's time is up, and returns what follows: its end, or of a coding agent that can
// continue, once, that it hands in what it has.
func (x *Session) isOver(alive time.Duration) (Next, bool) {
	if x.deadline == 0 || alive < x.deadline {
		return Next{}, false
	}
	n := Next{Act: Note, Text: textTimeIsUp, More: handInTime}
	if !x.CanContinue() || x.agent.handsIn {
		n = end(pawl.SessionTimeout, fmt.Sprintf("timed out after %s", pawl.Span(x.timeout)))
	}
	n.Limit = &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitTime, Max: int64(x.timeout), Value: int64(alive - x.deadline + x.timeout)}
	return n, true
}

// Timeout returns the limit on the time of the whole session; 0 = none.
func (x *Session) Timeout() time.Duration { return x.timeout }

// Remaining returns how long an effect of the session may take: the time that the session has
// left, at least a millisecond, but no more than limit.
func (x *Session) Remaining(limit, alive time.Duration) time.Duration {
	if x.deadline == 0 {
		return limit
	}
	return max(min(x.deadline-alive, limit), time.Millisecond)
}

// end returns the end of a session.
// RemainingOf returns how long a turn may take in a session that is given at least this much time with it: see
// [Session.Limit].
func (x *Session) RemainingOf(least, alive time.Duration) time.Duration {
	with := *x
	with.Limit(least, alive)
	return with.Remaining(least, alive)
}

func end(r pawl.SessionResult, reason string) Next { return Next{Act: End, Result: r, Text: reason} }

// speak returns a model call, or the end of the session if its time is up.
func (x *Session) speak(alive time.Duration) Next {
	if n, over := x.isOver(alive); over {
		return n
	}
	return Next{Act: Speak}
}

// retry returns what follows when the prompt could not be made or the model gave no reply. A
// refusal, or a context that is too long, ends the session. Failures that may pass are retried
// after a back-off. Any other failure, or too many tries, ends the run, or only the session if the
// work can do without it.
func (x *Session) retry(spec *Spec, alive time.Duration) Next {
	why := x.failed
	code := pawl.ModelErrorKind(why.Code)
	if why.Code == pawl.FailTimeout {
		if n, over := x.isOver(alive); over {
			return n
		}
	}
	switch {
	case x.waited && x.prompted:
		return x.speak(alive)
	case x.waited:
		return Next{Act: Assemble}
	case x.fallsBack(spec):
		return Next{Act: Switch}
	case code == pawl.ModelRefused || code == pawl.ModelContextLong:
		return x.fail()
	case code.Retryable() || why.Wait > 0 || why.Code == pawl.FailTimeout || why.Code == pawl.FailMachine:
		return x.waitAndRetry(spec, alive)
	case spec.Optional:
		return x.fail()
	}
	return Next{Act: GiveUp, Text: x.Place.Words() + ": " + why.Text()}
}

// fallsBack reports whether the failure of the last call makes the session use its tier's next model.
// Failures that may pass do so when the provider asks for a longer wait than a session with a fallback
// has patience for, or where a session without one would pause.
func (x *Session) fallsBack(spec *Spec) bool {
	why := x.failed
	if spec.Patience == 0 || !x.prompted {
		return false
	}
	switch code := pawl.ModelErrorKind(why.Code); {
	case code == pawl.ModelUnknown, code == pawl.ModelContextLong, code == pawl.ModelAuth, code == pawl.ModelNoServer, code == pawl.ModelNoStart:
		return true
	case code == pawl.ModelQuota:
		return why.Wait == 0 || why.Wait > spec.Patience
	case code.Retryable(), why.Code == pawl.FailTimeout:
		return why.Wait > spec.Patience || x.dispatches%spec.Retry.Tries == 0
	}
	return false
}

// fail returns the end of the session by the failure of its last dispatch.
func (x *Session) fail() Next {
	return end(pawl.SessionFailed, brief.Cut(x.failed.Text(), 200))
}

// waitAndRetry returns a back-off, or what follows when all tries are used up.
func (x *Session) waitAndRetry(spec *Spec, alive time.Duration) Next {
	if n, over := x.isOver(alive); over {
		return n
	}
	wait, reason, more := x.backoff(spec.Retry, spec.Noise)
	switch {
	case more:
		return Next{Act: Wait, For: wait, Text: reason}
	case spec.Optional:
		return x.fail()
	}
	what := "no model"
	if !x.prompted {
		what = "no prompt"
	}
	return Next{Act: GiveUp,
		Limit: &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitRetries, Max: int64(spec.Retry.Tries * (spec.Retry.Pauses + 1)), Value: int64(x.dispatches)},
		Text:  fmt.Sprintf("%s for %s after %s: %s", what, x.Place.Words(), tries(x.dispatches), x.failed.Text())}
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

// backoff returns how long to wait before the next dispatch of the prompt or of a model call, and
// whether there is one more. After each of the first Tries dispatches but the last, the wait
// doubles from First up to Cap, with jitter. Then follow a pause and as many dispatches again,
// Pauses times. A wait that the provider asks for takes the place of a back-off or a pause.
func (x *Session) backoff(p *pawl.RetryPolicy, noise uint64) (wait time.Duration, reason string, more bool) {
	try, round := x.dispatches%p.Tries, x.dispatches/p.Tries
	switch {
	case try != 0:
		wait = p.First << min(try-1, 30)
		if wait <= 0 || wait > p.Cap {
			wait = p.Cap
		}
		// A quarter of jitter either way, so that many runs do not come back at once.
		if spread := uint64(wait / 2); spread > 0 {
			wait = min(wait-wait/4+time.Duration(noise%spread), p.Cap)
		}
		reason = fmt.Sprintf("back-off %d of %d", try, p.Tries-1)
	case round <= p.Pauses:
		wait, reason = p.Pause, fmt.Sprintf("pause %d of %d", round, p.Pauses)
	default:
		return 0, "", false
	}
	if x.failed.Wait > 0 {
		wait, reason = x.failed.Wait, "the provider asked for it"
	}
	return wait, reason + ": " + string(x.failed.Code), true
}

// nextCall returns what the first call that needs something needs: see [Session.Next].
func (x *Session) nextCall(spec *Spec, alive time.Duration) Next {
	for i := range x.calls {
		c := &x.calls[i]
		if c.answered {
			continue
		}
		n, itself := x.reply(c)
		if !itself && c.effect == 0 {
			n, itself = x.permit(spec, c)
		}
		n.Call = i
		reads := c.use.Class == pawl.CrashRepeat
		switch {
		case itself:
			n.Act = Note
			return n
		case (c.use.Harness || !reads) && x.waitsBefore(i):
			return Next{}
		case c.use.Harness:
			return Next{Act: Harness, Call: i}
		case c.effect == 0:
			if n, over := x.isOver(alive); over {
				return n
			}
			return Next{Act: CallTool, Call: i, Class: c.use.Class, Timeout: maxToolCall}
		case !reads:
			return Next{}
		}
	}
	return Next{}
}

// reply returns the harness's refusal of a call that cannot be run, and whether there is one.
func (x *Session) reply(c *call) (Next, bool) {
	switch {
	case x.stop == pawl.StopMaxOutput:
		return refusal(textCutCall), true
	case x.takesTrimmed(c):
		return Next{}, false
	case c.use.Problem != "":
		return refusal(c.use.Problem), true
	case c.use.Submit || c.use.Harness:
		return Next{}, false
	case c.use.Class == 0:
		return refusal(fmt.Sprintf("there is no tool %q here", brief.Cut(c.use.Tool, 60))), true
	}
	return Next{}, false
}

// permit returns the harness's answer to a call that is not run, and whether there is one: to a
// result that is handed in, or to a call above the tool's limit.
func (x *Session) permit(spec *Spec, c *call) (Next, bool) {
	if x.takesTrimmed(c) {
		return Next{Text: textTrimmed, Limit: &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitSize, Max: maxSize, Value: maxSize + 1}}, true
	}
	if c.use.Submit {
		if why := spec.Objection(c.use.Facts, x.objected); why != "" {
			return refusal(why), true
		}
		return Next{Text: textAccepted}, true
	}
	for _, lim := range spec.Limits {
		if n := x.called(lim.Tool); lim.Tool == c.use.Tool && n >= lim.Max {
			no := refusal(fmt.Sprintf("not run: %s may be called %d times in a session, and was", lim.Tool, lim.Max))
			no.Limit = &pawl.LimitReached{Scope: x.Place.String() + "/" + lim.Tool, Limit: pawl.LimitCalls, Max: int64(lim.Max), Value: int64(n + 1)}
			return no, true
		}
	}
	return Next{}, false
}

// refusal returns a note that tells the model why its call is not run.
func refusal(text string) Next { return Next{Text: brief.Cut(text, 400), IsError: true} }

// spokeLast returns what follows a reply without calls: the end of the session, or a note that
// asks for the rest of a reply that was cut, or for the result that is owed.
func (x *Session) spokeLast(spec *Spec) Next {
	switch {
	case x.stop == pawl.StopMaxOutput:
		return x.goOn(textCutText)
	case x.agent.isCapped():
		return x.capped()
	case spec.Output == "" || !spec.Required:
		n := end(pawl.SessionDone, "")
		n.Output = x.text
		return n
	case x.nags >= maxNags:
		n := end(pawl.SessionNoResult, fmt.Sprintf("it ended %d times without calling %s", x.nags+1, pawl.SubmitTool(spec.Output)))
		n.Output = x.text
		return n
	}
	return x.goOn(fmt.Sprintf("You have not handed in your result. Call %s now, with what you have.", pawl.SubmitTool(spec.Output)))
}

// goOn returns a note before the next reply, or the end of the session if no turn is left.
func (x *Session) goOn(text string) Next {
	if x.turn >= x.Turns {
		return x.turnCap()
	}
	return Next{Act: Note, Text: text}
}

// maxProblem bounds the bytes of what is wrong with a result in the reason of a session's end.
const maxProblem = 160

// problem returns what is wrong with the last result that was refused, as the end of a sentence.
func (x *Session) problem() string {
	for _, c := range slices.Backward(x.calls) {
		if c.use.Submit && c.use.Problem != "" {
			return ": " + brief.Cut(c.use.Problem, maxProblem)
		}
	}
	return ""
}

// answeredAll returns what follows when all calls of a reply are answered: the end of the session,
// the reminder, or a model call.
func (x *Session) answeredAll(spec *Spec, alive time.Duration) Next {
	switch {
	case x.submitted > 0:
		use := x.Result()
		n := end(pawl.SessionDone, "")
		n.Output, n.Facts = cmp.Or(use.Trimmed, use.Args), use.Facts
		return n
	case x.invalid >= maxInvalid:
		n := end(pawl.SessionNoResult, fmt.Sprintf("%d calls of %s were refused%s", x.invalid, pawl.SubmitTool(spec.Output), x.problem()))
		n.Output = x.text
		return n
	case x.turn >= x.Turns:
		return x.turnCap()
	}
	if n, over := x.isOver(alive); over {
		return n
	}
	if len(x.calls) > 0 && x.stop != pawl.StopMaxOutput && !x.reminded && !spec.NoReminder {
		return x.remind(spec)
	}
	return x.speak(alive)
}

// turnCap returns the end of a session that has used all its turns.
func (x *Session) turnCap() Next {
	n := end(pawl.SessionTurns, fmt.Sprintf("it used all %d turns", x.Turns))
	n.Output = x.text
	n.Limit = &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitTurns, Max: int64(x.Turns), Value: int64(x.turn)}
	return n
}

// remind returns the note that repeats the task after the calls of a reply, because models lose
// it in a long transcript. It is the same each time but once, so that its text is kept once. In a
// loop with a task of its own it says that only this task is to be done, because models like to
// begin the next one. If the prompt came with a reminder, that one repeats the task, whole.
func (x *Session) remind(spec *Spec) Next {
	n := Next{Act: Note, Blob: x.reminder}
	text := "Reminder: the task is still: " + brief.Cut(spec.Goal, 120) + "."
	switch t := spec.Task; {
	case !n.Blob.IsZero():
		text = ""
	case t.ID != "":
		what := t.ID + " — " + brief.Cut(t.Title, 60)
		text = "CURRENT TASK STATE:\nGoal: " + brief.Cut(spec.Goal, 60) + "\nCurrent subtask: " + what + "\nStatus: running\n\n" +
			"REMAINING WORK FOR THIS SUBTASK:\nContinue working on: " + brief.Cut(t.Title, 60) +
			"\nDo NOT move to the next subtask; complete ONLY this one.\nWhen finished, summarize what you did."
	}
	if spec.Output != "" {
		text += fmt.Sprintf(" When it is done, call %s.", pawl.SubmitTool(spec.Output))
	}
	if x.Turns-x.turn == lastTurns {
		text += fmt.Sprintf(" %d turns are left.", lastTurns)
	}
	n.Text = brief.Cut(text, 400)
	return n
}

// takesTrimmed reports whether a result that is only too long is accepted in the form that the
// harness has cut: at the last refusal that the session may have.
func (x *Session) takesTrimmed(c *call) bool {
	return c.use.Submit && c.use.Problem != "" && !c.use.Trimmed.IsZero() && x.invalid >= maxInvalid-1
}

// spoke reports whether the transcript ends with a reply of the model.
func (x *Session) spoke() bool { return x.items[len(x.items)-1].Kind == pawl.ItemAssistant }

// unanswered reports whether a call of the last reply has no result.
func (x *Session) unanswered() bool {
	return slices.ContainsFunc(x.calls, func(c call) bool { return !c.answered })
}

// waitsBefore reports whether a call before call i has no result.
func (x *Session) waitsBefore(i int) bool {
	return slices.ContainsFunc(x.calls[:i], func(c call) bool { return !c.answered })
}
