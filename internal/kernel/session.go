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
	submitted     *pawl.ToolUse
	reminded      bool // the batch has had its reminder
	invalid, nags int
	// failed is why the present turn's last dispatch gave no reply; waited that its
	// back-off is over; dispatches counts them.
	failed     *pawl.Failure
	waited     bool
	dispatches int
	open       int // effects of this session
}

// call is one tool call of the last reply.
type call struct {
	use      pawl.ToolUse
	effect   pawl.Seq // 0 = not requested
	answered bool
}

func (x *Session) clone() *Session {
	c := *x
	c.items = slices.Clone(x.items)
	c.calls = slices.Clone(x.calls)
	return &c
}

// answer fills in the result of a call.
func (x *Session) answer(i int, item pawl.Item, bytes int64) {
	item.Kind, item.Call = pawl.ItemResult, uint16(i)
	x.items[x.base+i] = item
	x.calls[i].answered = true
	x.bytes += bytes + 40
}

func (x *Session) unanswered() bool {
	return slices.ContainsFunc(x.calls, func(c call) bool { return !c.answered })
}

// What the harness says in a session.
const (
	textAccepted    = "Accepted."
	textInterrupted = "interrupted: Pawl was stopped while this ran, so it may or may not have had its effect. Check the state before you rely on it."
	textCutCall     = "not run: your reply was cut at the output limit. Say less at once, or make the call again in smaller parts."
	textCutText     = "Your reply was cut at the output limit. Go on from where it stopped, in smaller parts."
)

// Bounds of a session.
const (
	defaultTurns = 20 // model calls of a session whose recipe says nothing
	maxInvalid   = 3  // structured results that do not fit their schema
	maxNags      = 3  // replies without the structured result that is owed
)
