// Package session runs one conversation with a model: what it is asked next, what the
// harness answers itself, when it is reminded, retried and ended. Why there is a session
// and what follows from its result is its caller's business.
package session

import (
	"fmt"
	"slices"
	"time"

	"pawl"
)

// Session is a conversation that is under way: a transcript that only grows, and the calls of
// its last reply.
type Session struct {
	N       int
	Purpose pawl.SessionPurpose
	Place   pawl.Place
	Index   int
	Turns   int // replies it may have
	Try     int
	Vote    int // of a review with several, from 1; 0 = it is the only one
	Item    int // of a step that runs for each entry of a list, from 1; 0 = it does not
	// deadline is when its time is up, on the run's clock of alive time; 0 = never.
	// Back-offs move it: they are not the session's time.
	deadline time.Duration
	timeout  time.Duration

	prompted      bool
	system, tools pawl.Hash
	items         []pawl.Item
	bytes         int64 // of everything a call would send
	turn          int   // replies so far
	calls         []call
	base          int // index in items of the first result of calls
	stop          pawl.StopReason
	text          pawl.Hash // the last reply's text
	submitted     int       // the call that handed in the result, from 1; 0 = none did
	reminded      bool      // the batch has had its reminder
	invalid, nags int
	// failed is why the last dispatch of the prompt, or of the present turn, gave
	// nothing; waited that its back-off is over; dispatches counts them.
	failed     *pawl.Failure
	waited     bool
	dispatches int
	open       int // effects of this session
	used       []toolCount
	objected   bool // the harness has objected to its decision once
}

// call is one tool call of the last reply.
type call struct {
	use      pawl.ToolUse
	effect   pawl.Seq // 0 = not requested
	answered bool
}

// toolCount is how often a tool was called.
type toolCount struct {
	tool string
	n    int
}

// Start begins a session. Alive is how long a driver has had the run, by which its time is
// measured.
func Start(b *pawl.SessionStarted, alive time.Duration) *Session {
	x := &Session{N: b.Session, Purpose: b.Purpose, Place: b.Place, Index: b.Index, Turns: b.Turns, Try: b.Try, Vote: b.Vote, Item: b.Item, timeout: b.Timeout}
	if b.Timeout > 0 {
		x.deadline = alive + b.Timeout
	}
	return x
}

// Clone is a copy that shares nothing that changes.
func (x *Session) Clone() *Session {
	c := *x
	c.used = slices.Clone(x.used)
	c.items = slices.Clone(x.items)
	c.calls = slices.Clone(x.calls)
	return &c
}

// Turn is how many replies it has had.
func (x *Session) Turn() int { return x.turn }

// Bytes is how much a model call would send.
func (x *Session) Bytes() int64 { return x.bytes }

// Use is what a call of the last reply asks for.
func (x *Session) Use(call int) *pawl.ToolUse { return &x.calls[call].use }

// Failed is why the last dispatch gave nothing; nil = it gave something, or none was made.
func (x *Session) Failed() *pawl.Failure { return x.failed }

// Result is how the result was handed in; nil = it was not.
func (x *Session) Result() *pawl.ToolUse {
	if x.submitted == 0 {
		return nil
	}
	return &x.calls[x.submitted-1].use
}

// CallModel is a request for the next reply.
func (x *Session) CallModel() *pawl.CallModel {
	return &pawl.CallModel{Tier: x.Place.Tier, System: x.system, Tools: x.tools, Items: len(x.items), Try: x.dispatches + 1}
}

// Request takes over what the session wants done. It wants one thing at a time, but for its
// calls. What a model call sends is the transcript as it is now.
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

// Closed takes over that one of its effects is over.
func (x *Session) Closed() { x.open-- }

// Extend moves the end of its time: what passed meanwhile was not the session's.
func (x *Session) Extend(by time.Duration) {
	if x.deadline > 0 {
		x.deadline += by
	}
}

// Lost takes over that nobody knows what became of a model call: it does not count as a
// failure of the model.
func (x *Session) Lost() { x.dispatches-- }

// Prompt takes over what the session begins with.
func (x *Session) Prompt(b *pawl.PromptAssembled) {
	x.prompted = true
	x.system, x.tools, x.bytes = b.System, b.Tools, b.Bytes
	x.items = []pawl.Item{{Kind: pawl.ItemUser, Blob: b.Prompt}}
	x.failed, x.waited, x.dispatches = nil, false, 0
}

// Reply takes over what the model said, with an empty place for each result.
func (x *Session) Reply(b *pawl.ModelReplied) {
	x.turn++
	x.stop, x.text = b.Stop, b.Text
	x.dispatches, x.reminded = 0, false
	x.bytes += b.Bytes
	x.items = append(x.items, pawl.Item{Kind: pawl.ItemAssistant, Blob: b.Message})
	x.base = len(x.items)
	x.calls = make([]call, len(b.Calls))
	for i := range b.Calls {
		x.calls[i].use = b.Calls[i]
		x.items = append(x.items, pawl.Item{Kind: pawl.ItemResult, Call: uint16(i)})
	}
}

// Answer fills in the result of a call.
func (x *Session) Answer(i int, item pawl.Item, bytes int64) {
	item.Kind, item.Call = pawl.ItemResult, uint16(i)
	x.items[x.base+i] = item
	x.calls[i].answered = true
	x.bytes += bytes + 40
}

// Interrupted is the result of a call that was cut off by the death of a driver.
func Interrupted(item pawl.Item) pawl.Item {
	item.Text = textInterrupted
	return item
}

// Fail takes over that the last dispatch gave nothing.
func (x *Session) Fail(why *pawl.Failure) { x.failed, x.waited = why, false }

// Rested takes over that a back-off is over. It was not the session's time.
func (x *Session) Rested(after time.Duration) {
	x.waited = true
	x.Extend(after)
}

// Note takes over what the harness says: the answer to a call it does not run, or a sentence.
func (x *Session) Note(b *pawl.NoteAdded) error {
	switch {
	case b.Call < 0 || b.Call > len(x.calls):
		return fmt.Errorf("session %d has no call %d", x.N, b.Call)
	case b.Call > 0 && x.calls[b.Call-1].answered:
		return fmt.Errorf("call %d is answered", b.Call)
	case b.Call > 0:
		x.answerItself(b)
	default:
		x.say(b.Text)
	}
	return nil
}

// answerItself fills in what the harness answers to a call it does not run.
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

// say adds a sentence of the harness: the reminder after a batch of calls, or
// what a reply without calls should have had.
func (x *Session) say(text string) {
	for i := range x.items { // most are alike, and kept once
		if x.items[i].Text == text {
			text = x.items[i].Text
			break
		}
	}
	x.items = append(x.items, pawl.Item{Kind: pawl.ItemNote, Text: text})
	x.bytes += int64(len(text))
	switch {
	case len(x.calls) > 0:
		x.reminded = true
	case x.stop != pawl.StopMaxOutput:
		x.nags++
	}
}

// count notes that a tool was called.
func (x *Session) count(tool string) {
	for i := range x.used {
		if x.used[i].tool == tool {
			x.used[i].n++
			return
		}
	}
	x.used = append(x.used, toolCount{tool, 1})
}

// called is how often a tool was called.
func (x *Session) called(tool string) int {
	for _, u := range x.used {
		if u.tool == tool {
			return u.n
		}
	}
	return 0
}
