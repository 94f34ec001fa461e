// Package session holds one conversation with a model and decides what it needs next: its prompt,
// a model call, the tool calls of a reply, an answer or a reminder of the harness, a retry or its
// end. The caller makes the requests, records what comes of them in the session, and decides what
// follows from the session's result.
package session

import (
	"fmt"
	"slices"
	"time"

	"pawl"
)

// Session is a conversation that has not ended: a transcript that only grows, and the calls of
// its last reply. [Start] makes one.
type Session struct {
	N       int // its number in the loop, from 1
	Purpose pawl.SessionPurpose
	Place   pawl.Place
	Index   int // the step, stage or council member that it is for, by its purpose
	Turns   int // the most replies that it may have
	Try     int // of the step, from 1
	Vote    int // its number among several reviewers, from 1; 0 = it is the only one
	Item    int // the entry of a list that its step runs for, from 1; 0 = its step has no list
	// deadline is when its time is up, measured as in [Start]; 0 = never. Time that is not the
	// session's, such as a back-off, moves it: see [Session.Extend].
	deadline time.Duration
	timeout  time.Duration // 0 = none

	prompted      bool // it has its prompt
	system, tools pawl.Hash
	items         []pawl.Item // the transcript, oldest first
	bytes         int64       // of everything that a model call would send
	turn          int         // replies so far
	calls         []call      // of the last reply
	base          int         // the index in items of the first call's result
	stop          pawl.StopReason
	text          pawl.Hash // of the last reply; zero = none
	submitted     int       // the call that handed in the result, from 1; 0 = none has
	reminded      bool      // the calls of the last reply were followed by a reminder
	reminder      pawl.Hash // repeats the task; zero = a few words do
	reminderBytes int64
	invalid       int // results that were refused
	nags          int // replies without the result that the session owes
	// failed is why the last dispatch of the prompt, or of the present turn, gave nothing;
	// nil = it did not fail, or there is another one.
	failed     *pawl.Failure
	waited     bool        // the back-off after failed is over
	dispatches int         // of the prompt, or of the present turn
	open       int         // effects in flight
	used       []toolCount // how often tools were called
	objected   bool        // the harness has objected once to a result that fits its schema
	choice     int         // of the last call; see [pawl.CallModel]
	foreign    int         // how many items of the transcript another model has written
	cutOff     []pawl.Hash // transcripts of the failed turns of a coding agent since the last reply
	agent      agent
}

// call is one tool call of the last reply.
type call struct {
	use      pawl.ToolUse
	effect   pawl.Seq // 0 = not requested
	answered bool
}

// toolCount counts the calls of one tool.
type toolCount struct {
	tool string
	n    int
}

// Start begins a session. Alive is how long drivers have had the run: a session's time is measured
// by it, so that the time between two drivers does not count.
func Start(b *pawl.SessionStarted, alive time.Duration) *Session {
	x := &Session{N: b.Session, Purpose: b.Purpose, Place: b.Place, Index: b.Index, Turns: b.Turns, Try: b.Try, Vote: b.Vote, Item: b.Item, timeout: b.Timeout, agent: agent{cap: b.Cap}}
	if b.Timeout > 0 {
		x.deadline = alive + b.Timeout
	}
	return x
}

// Clone returns a copy that can change without x.
func (x *Session) Clone() *Session {
	c := *x
	c.used = slices.Clone(x.used)
	c.items = slices.Clone(x.items)
	c.calls = slices.Clone(x.calls)
	c.cutOff = slices.Clone(x.cutOff)
	return &c
}

// Turn returns how many replies the session has had.
func (x *Session) Turn() int { return x.turn }

// Bytes returns how many bytes a model call would send now.
func (x *Session) Bytes() int64 { return x.bytes }

// Use returns what a call of the last reply asks for. Calls are numbered from 0.
func (x *Session) Use(call int) *pawl.ToolUse { return &x.calls[call].use }

// Failed returns why the last dispatch of the prompt or of a model call failed, or nil if it did
// not fail or has been repeated.
func (x *Session) Failed() *pawl.Failure { return x.failed }

// Result returns the call that handed in the session's result, or nil if there is none.
func (x *Session) Result() *pawl.ToolUse {
	if x.submitted == 0 {
		return nil
	}
	return &x.calls[x.submitted-1].use
}

// CallModel returns the request for the next reply, without its output limit and reservation. Choice is
// the model, as in [pawl.CallModel].
func (x *Session) CallModel(choice int) *pawl.CallModel {
	return &pawl.CallModel{Tier: x.Place.Tier, Choice: choice, Foreign: x.foreign, System: x.system, Tools: x.tools, Items: len(x.items), Try: x.dispatches + 1}
}

// Choice returns which of its tier's models the session's last call went to; 0 if there was none.
func (x *Session) Choice() int { return x.choice }

// SwitchTo makes a session use another of its tier's models because its last call failed. What the
// session has so far is then told as text, with what a coding agent did in turns that failed.
func (x *Session) SwitchTo(choice int) {
	x.choice, x.agent = choice, agent{cap: x.agent.cap, handsIn: x.agent.handsIn}
	for _, turn := range x.cutOff {
		x.items = append(x.items, pawl.Item{Kind: pawl.ItemCutOff, Blob: turn})
		x.bytes += pawl.MaxCutOff
	}
	if len(x.items) > 1 {
		x.foreign = len(x.items)
	}
	x.failed, x.cutOff, x.waited, x.dispatches = nil, nil, false, 0
}

// Request records that an effect of the session was requested. A prompt or a model call needs a
// session with nothing in flight, and tool calls may be requested side by side. The transcript as
// it is now is what a model call sends.
//
// Request fails for an effect that does not follow: a second prompt, a model call before the
// prompt or with calls unanswered, a tool call that does not exist or was requested or answered
// before.
func (x *Session) Request(f *pawl.Effect) error {
	switch do := f.Do.(type) {
	case *pawl.AssemblePrompt:
		if x.prompted || x.open > 0 {
			return fmt.Errorf("session %d has its prompt", x.N)
		}
		x.dispatches++
		x.failed, x.waited = nil, false
	case *pawl.CallModel:
		if !x.prompted || x.open > 0 || x.unanswered() || do.Items < 0 || do.Items > len(x.items) {
			return fmt.Errorf("a call of tier %d with %d of %d items", do.Tier, do.Items, len(x.items))
		}
		f.Transcript = x.items[:do.Items:do.Items]
		x.dispatches, x.failed, x.waited = do.Try, nil, false
		x.choice, x.agent.now = do.Choice, progress{}
	case *pawl.CallTool:
		if do.Call < 0 || do.Call >= len(x.calls) || x.calls[do.Call].effect != 0 || x.calls[do.Call].answered {
			return fmt.Errorf("call %d of %d", do.Call, len(x.calls))
		}
		x.count(do.Tool)
		x.calls[do.Call].effect, x.calls[do.Call].use.Args = f.ID, pawl.Hash{} // the effect has them
	}
	x.open++
	return nil
}

// Limit gives a session at least this much time, from its beginning or, if it had no limit, from now. A tier may use a
// coding agent in place of a model.
func (x *Session) Limit(timeout, alive time.Duration) {
	switch {
	case x.timeout == 0:
		x.timeout, x.deadline = timeout, alive+timeout
	case x.timeout < timeout:
		x.timeout, x.deadline = timeout, x.deadline+timeout-x.timeout
	}
}

// handIn gives a session whose time is up more of it, in which its coding agent hands in what it has. It does so at
// once, whatever the last turn ended with.
func (x *Session) handIn(more, alive time.Duration) {
	x.agent.handsIn, x.waited, x.dispatches = true, true, 0
	x.timeout, x.deadline = x.timeout+more, alive+more
}

// HandsIn reports whether the session's time was up and its agent was told to hand in what it has.
func (x *Session) HandsIn() bool { return x.agent.handsIn }

// Closed records that one of the session's effects has ended.
func (x *Session) Closed() { x.open-- }

// Extend moves the deadline, if there is one, because time has passed that is not the session's.
func (x *Session) Extend(by time.Duration) {
	if x.deadline > 0 {
		x.deadline += by
	}
}

// Lost records that a driver died during a dispatch, so that its result is not known. It does not
// count as a try.
func (x *Session) Lost() {
	x.dispatches--
	x.agent.lost = x.CanContinue()
	x.Spent(x.Progress())
}

// Prompt records the prompt that the session begins with.
func (x *Session) Prompt(b *pawl.PromptAssembled) {
	x.prompted = true
	x.system, x.tools, x.bytes = b.System, b.Tools, b.Bytes
	x.reminder, x.reminderBytes = b.Reminder, b.ReminderBytes
	x.items = []pawl.Item{{Kind: pawl.ItemUser, Blob: b.Prompt}}
	x.failed, x.waited, x.dispatches = nil, false, 0
}

// Reply records what the model said. The transcript gets an empty result for each of its calls,
// which [Session.Answer] or [Session.Note] fills in.
func (x *Session) Reply(b *pawl.ModelReplied) {
	x.turn++
	x.stop, x.text = b.Stop, b.Text
	x.dispatches, x.reminded, x.cutOff = 0, false, nil
	x.bytes += b.Bytes
	x.items = append(x.items, pawl.Item{Kind: pawl.ItemAssistant, Blob: b.Message})
	x.base = len(x.items)
	x.calls = make([]call, len(b.Calls))
	for i := range b.Calls {
		x.calls[i].use = b.Calls[i]
		x.items = append(x.items, pawl.Item{Kind: pawl.ItemResult, Call: uint16(i)})
	}
	x.agent.turned(b, x.base)
}

// Answer fills in the result of a call of the last reply. Calls are numbered from 0. Bytes is the
// size of the result; 40 are added for what surrounds it in the request.
func (x *Session) Answer(i int, item pawl.Item, bytes int64) {
	item.Kind, item.Call = pawl.ItemResult, uint16(i)
	x.items[x.base+i] = item
	x.calls[i].answered = true
	x.bytes += bytes + 40
}

// Interrupted returns the result of a call that a driver's death cut off: item with a text that
// tells the model so.
func Interrupted(item pawl.Item) pawl.Item {
	item.Text = textInterrupted
	return item
}

// Fail records why the last dispatch of the prompt or of a model call failed, and the transcript of the
// turn if it was one of a coding agent. If the agent does not have its session any more, the dispatch
// does not count, and the next one begins another.
func (x *Session) Fail(why *pawl.Failure, transcript pawl.Hash) {
	if !transcript.IsZero() {
		x.cutOff = append(x.cutOff, transcript)
	}
	if pawl.ModelErrorKind(why.Code) == pawl.ModelNoSession && x.agent.id != "" {
		x.agent.id, x.agent.lost = "", false
		x.dispatches--
		return
	}
	x.failed, x.waited = why, false
}

// Rested records that a back-off of this length is over. It does not count as the session's time.
func (x *Session) Rested(after time.Duration) {
	x.waited = true
	x.Extend(after)
}

// Note records what the harness says: the answer to a call that is not run, or a sentence to the
// model. Alive is how long drivers have had the run. It fails if the call does not exist or is answered.
func (x *Session) Note(b *pawl.NoteAdded, alive time.Duration) error {
	switch {
	case b.Call < 0 || b.Call > len(x.calls):
		return fmt.Errorf("session %d has no call %d", x.N, b.Call)
	case b.Call > 0 && x.calls[b.Call-1].answered:
		return fmt.Errorf("call %d is answered", b.Call)
	case b.Call > 0:
		x.answerItself(b)
	case !b.Blob.IsZero() && b.Blob != x.reminder:
		return fmt.Errorf("session %d has no text %s to be told", b.Session, b.Blob.Short())
	default:
		x.say(b)
	}
	if b.More > 0 {
		x.handIn(b.More, alive)
	}
	return nil
}

// answerItself records the harness's answer to a call that is not run. If the call hands in the
// result, an answer that is no error accepts it.
func (x *Session) answerItself(b *pawl.NoteAdded) {
	i := b.Call - 1
	x.Answer(i, pawl.Item{Text: b.Text, IsError: b.IsError}, int64(len(b.Text)))
	switch use := &x.calls[i].use; {
	case use.Harness:
		x.count(use.Tool)
	case !use.Submit:
	case b.IsError:
		x.objected = x.objected || use.Problem == ""
		x.invalid++
	default:
		x.submitted = b.Call
	}
}

// say appends a sentence of the harness: the reminder after the calls of a reply, or what a reply
// without calls should have had.
func (x *Session) say(b *pawl.NoteAdded) {
	text := b.Text
	for i := range x.items { // most reminders are equal, so their text is kept once
		if x.items[i].Text == text {
			text = x.items[i].Text
			break
		}
	}
	saidLast := len(x.calls) == 0 || x.isAnswered()
	x.items = append(x.items, pawl.Item{Kind: pawl.ItemNote, Blob: b.Blob, Text: text})
	if x.bytes += int64(len(text)); !b.Blob.IsZero() {
		x.bytes += x.reminderBytes
	}
	switch {
	case b.More > 0:
	case !saidLast:
		x.reminded = true
	case x.stop != pawl.StopMaxOutput:
		x.nags++
	}
}

// count counts a call of a tool.
func (x *Session) count(tool string) {
	for i := range x.used {
		if x.used[i].tool == tool {
			x.used[i].n++
			return
		}
	}
	x.used = append(x.used, toolCount{tool, 1})
}

// called returns how often a tool was called.
func (x *Session) called(tool string) int {
	for _, u := range x.used {
		if u.tool == tool {
			return u.n
		}
	}
	return 0
}
