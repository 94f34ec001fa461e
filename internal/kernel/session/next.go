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
	textCutText     = "Your reply was cut at the output limit. Go on from where it stopped, in smaller parts."
)

// DefaultTurns is how many model calls a session may have whose recipe says nothing.
const DefaultTurns = 20

// Bounds of a session.
const (
	maxInvalid = 3 // structured results that do not fit their schema
	// maxSize is how long a result may be that has a length, in tokens. How long one
	// was is said in its refusals.
	maxSize   = 500
	maxNags   = 3 // replies without the structured result that is owed
	lastTurns = 3 // turns before the cap at which the reminder says how many are left
)

// maxToolCall bounds a tool call of a session without a timeout of its own.
const maxToolCall = 15 * time.Minute

// Spec is what the recipe and the run want of a session.
type Spec struct {
	Output     string // the structured result that it hands in; empty = none
	Required   bool   // it must
	Optional   bool   // the work can do without the session
	Limits     []pawl.ToolLimit
	NoReminder bool
	Goal       string          // the run's, in short
	Task       *pawl.TaskEntry // the loop's own; one without an id = the goal is
	Retry      *pawl.RetryPolicy
	Noise      uint64 // moves back-offs apart; the same at every replay
	// Objection says what is wrong with a result that fits its schema; empty = nothing is.
	// Insisted is true when the harness has objected to one already.
	Objection func(f pawl.Facts, insisted bool) string
}

// Act is what a session does next.
type Act uint8

// The acts. What each needs is in [Next].
const (
	Nothing  Act = iota // it waits for an effect
	Assemble            // its prompt is made
	Speak               // the model is called, if there is money for it
	CallTool            // a tool is called: Call, Class, Timeout
	Harness             // a call is answered from the run's state: Call
	Note                // the harness says something, to a call if it is about one: Call, Text, IsError
	Wait                // a back-off: For, Text
	GiveUp              // the model or the machine fails for good: Text
	End                 // it is over: Result, Text, Output, Facts
)

// Next is an act with what it needs.
type Next struct {
	Act     Act
	ToCall  bool               // it is about a call of the last reply
	Limit   *pawl.LimitReached // that was reached, to be said before the act; nil = none was
	Call    int                // its position among the calls of the last reply
	Class   pawl.CrashClass
	Timeout time.Duration
	For     time.Duration
	Text    string
	IsError bool
	Result  pawl.SessionResult
	Output  pawl.Hash
	Facts   pawl.Facts
}

// Next says what a session does next, when a driver has had the run for alive. Asked again
// after it was done, it says what comes then; Nothing is last.
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
	case len(x.calls) == 0 && x.spoke():
		return x.spokeLast(spec)
	}
	return x.answeredAll(spec, alive)
}

// isOver reports whether the session's time is up, and how it ends then.
func (x *Session) isOver(alive time.Duration) (Next, bool) {
	if x.deadline == 0 || alive < x.deadline {
		return Next{}, false
	}
	n := end(pawl.SessionTimeout, fmt.Sprintf("timed out after %s", x.timeout))
	n.Limit = &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitTime, Max: int64(x.timeout), Value: int64(alive - x.deadline + x.timeout)}
	return n, true
}

// Remaining is how long an effect of the session may take: what the session has left, and
// never more than the limit.
func (x *Session) Remaining(limit, alive time.Duration) time.Duration {
	if x.deadline == 0 {
		return limit
	}
	return max(min(x.deadline-alive, limit), time.Millisecond)
}

func end(r pawl.SessionResult, reason string) Next { return Next{Act: End, Result: r, Text: reason} }

// speak lets the model speak, if there is time for it.
func (x *Session) speak(alive time.Duration) Next {
	if n, over := x.isOver(alive); over {
		return n
	}
	return Next{Act: Speak}
}

// retry says what follows when a prompt could not be made or a model gave no reply.
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
	case code == pawl.ModelRefused || code == pawl.ModelContextLong:
		return x.fail()
	case code.Retryable() || why.Wait > 0 || why.Code == pawl.FailTimeout || why.Code == pawl.FailMachine:
		return x.waitAndRetry(spec, alive)
	case spec.Optional:
		return x.fail()
	case why.Code == pawl.FailDefect:
		return Next{Act: GiveUp, Text: fmt.Sprintf("%s: %s", x.Place, why.Message)}
	}
	return Next{Act: GiveUp, Text: fmt.Sprintf("%s: %s: %s", x.Place, why.Code, why.Message)}
}

// fail ends the session with what its last effect failed with.
func (x *Session) fail() Next {
	return end(pawl.SessionFailed, brief.Cut(string(x.failed.Code)+": "+x.failed.Message, 200))
}

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
		Text:  fmt.Sprintf("%s: it was tried %d times, and the last time it was %s: %s", what, x.dispatches, x.failed.Code, x.failed.Message)}
}

// backoff is how long to wait before the next dispatch of a prompt or a model
// call, and false when there is none: First doubling up to Cap with jitter,
// Tries times, then a pause and the same again, Pauses times. What a provider
// asks for wins.
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

// nextCall is the first call that needs something: reads that stand together run side by
// side, everything else one at a time, in order.
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

// reply is what the harness answers to a call without running anything, and whether it does.
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

// permit says what the harness answers to a call instead of running it: a result that is
// accepted, or objected to; a tool that was called as often as it may be. It is false when
// the call is to be run.
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

func refusal(text string) Next { return Next{Text: brief.Cut(text, 400), IsError: true} }

// spokeLast ends a session whose model called no tool, or asks for what is owed.
func (x *Session) spokeLast(spec *Spec) Next {
	switch {
	case x.stop == pawl.StopMaxOutput:
		return x.goOn(textCutText)
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

// goOn says something and lets the model speak again, if it has a turn left.
func (x *Session) goOn(text string) Next {
	if x.turn >= x.Turns {
		return x.turnCap()
	}
	return Next{Act: Note, Text: text}
}

// answeredAll goes on after all calls of a reply are answered.
func (x *Session) answeredAll(spec *Spec, alive time.Duration) Next {
	switch {
	case x.submitted > 0:
		use := x.Result()
		n := end(pawl.SessionDone, "")
		n.Output, n.Facts = cmp.Or(use.Trimmed, use.Args), use.Facts
		return n
	case x.invalid >= maxInvalid:
		n := end(pawl.SessionNoResult, fmt.Sprintf("%d results did not fit the schema of %s", x.invalid, pawl.SubmitTool(spec.Output)))
		n.Output = x.text
		return n
	case x.turn >= x.Turns:
		return x.turnCap()
	}
	if n, over := x.isOver(alive); over {
		return n
	}
	if len(x.calls) > 0 && x.stop != pawl.StopMaxOutput && !x.reminded && !spec.NoReminder {
		return Next{Act: Note, Text: x.reminder(spec)}
	}
	return x.speak(alive)
}

func (x *Session) turnCap() Next {
	n := end(pawl.SessionTurns, fmt.Sprintf("it used all %d turns", x.Turns))
	n.Output = x.text
	n.Limit = &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitTurns, Max: int64(x.Turns), Value: int64(x.turn)}
	return n
}

// reminder keeps the task in view of a session with a long transcript. It is the
// same after every batch but one, so that it is kept once. A loop with a task of
// its own is told where that ends: models like to begin the next one.
func (x *Session) reminder(spec *Spec) string {
	text := "Reminder: the task is still: " + brief.Cut(spec.Goal, 120) + "."
	if t := spec.Task; t.ID != "" {
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
	return brief.Cut(text, 400)
}

// takesTrimmed reports whether a result that is only too long is taken as the harness
// cuts it: it was refused as often as it may be.
func (x *Session) takesTrimmed(c *call) bool {
	return c.use.Submit && c.use.Problem != "" && !c.use.Trimmed.IsZero() && x.invalid >= maxInvalid-1
}

// spoke reports whether the model's reply is the last thing in the transcript.
func (x *Session) spoke() bool { return x.items[len(x.items)-1].Kind == pawl.ItemAssistant }

func (x *Session) unanswered() bool {
	return slices.ContainsFunc(x.calls, func(c call) bool { return !c.answered })
}

// waitsBefore reports whether a call before this one is still open.
func (x *Session) waitsBefore(i int) bool {
	return slices.ContainsFunc(x.calls[:i], func(c call) bool { return !c.answered })
}
