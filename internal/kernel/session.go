package kernel

import (
	"slices"
	"time"

	"pawl"
)

// Session is an agent session that is under way: a transcript that only grows,
// and the calls of its last reply.
type Session struct {
	N       int
	Purpose pawl.SessionPurpose
	Place   pawl.Place
	Index   int
	Turns   int
	Try     int
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
	vote       int // of a review with several, from 1; 0 = it is the only one
	item       int // of a step that runs for each entry of a list, from 1
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

// calledSoFar is how often a tool was called.
func (x *Session) calledSoFar(tool string) int {
	for _, u := range x.used {
		if u.tool == tool {
			return u.n
		}
	}
	return 0
}

func (x *Session) clone() *Session {
	c := *x
	c.used = slices.Clone(x.used)
	c.items = slices.Clone(x.items)
	c.calls = slices.Clone(x.calls)
	return &c
}

func (x *Session) prompt(b *pawl.PromptAssembled) {
	x.prompted = true
	x.system, x.tools, x.bytes = b.System, b.Tools, b.Bytes
	x.items = []pawl.Item{{Kind: pawl.ItemUser, Blob: b.Prompt}}
	x.failed, x.waited, x.dispatches = nil, false, 0
}

// reply takes over what the model said, with an empty place for each result.
func (x *Session) reply(b *pawl.ModelReplied) {
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

// answer fills in the result of a call.
func (x *Session) answer(i int, item pawl.Item, bytes int64) {
	item.Kind, item.Call = pawl.ItemResult, uint16(i)
	x.items[x.base+i] = item
	x.calls[i].answered = true
	x.bytes += bytes + 40
}

// answerItself fills in what the harness answers to a call it does not run.
func (x *Session) answerItself(b *pawl.NoteAdded) {
	i := b.Call - 1
	x.answer(i, pawl.Item{Text: b.Text, IsError: b.IsError}, int64(len(b.Text)))
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

// What the harness says in a session.
const (
	textAccepted    = "Accepted."
	textTrimmed     = "Accepted, and cut: it was still too long. What gave way is missing."
	textInterrupted = "interrupted: Pawl was stopped while this ran, so it may or may not have had its effect. Check the state before you rely on it."
	textCutCall     = "not run: your reply was cut at the output limit. Say less at once, or make the call again in smaller parts."
	textCutText     = "Your reply was cut at the output limit. Go on from where it stopped, in smaller parts."
)

// Bounds of a session.
const (
	defaultTurns = 20 // model calls of a session whose recipe says nothing
	maxInvalid   = 3  // structured results that do not fit their schema
	// maxSize is how long a result may be that has a length, in tokens. How long one
	// was is said in its refusals.
	maxSize = 500
	maxNags = 3 // replies without the structured result that is owed
)
