package pawl

// The events of signals between loops.

// SignalKind says what a loop is told.
type SignalKind string

// The signals.
const (
	SignalStop       SignalKind = "stop"       // end: as cancelled when a person says so
	SignalPause      SignalKind = "pause"      // begin nothing after this iteration
	SignalResume     SignalKind = "resume"     // go on
	SignalRebase     SignalKind = "rebase"     // take over the parent's head before the next iteration
	SignalError      SignalKind = "error"      // to a parent: a child cannot pass
	SignalInfo       SignalKind = "info"       // a text for the next prompt, or for an agent's open turn
	SignalInvalidate SignalKind = "invalidate" // the parent begins anew: what stands on it ends
)

// SignalSent says that a loop is told something. The event's loop is the one that
// is told: a selector leads to one event for each loop it names, all in one append.
type SignalSent struct {
	N      int        `json:"n"` // its number in the run, from 1
	Signal SignalKind `json:"signal"`
	// Source is the loop that tells it; zero = a person does.
	Source LoopRef `json:"source,omitempty"`
	// Selector is what chose the loop: descendants:ID, children:ID, type:KIND or
	// status:STATUS; empty = it was named itself.
	Selector string `json:"selector,omitempty"`
	// Reason is why, at most 300 bytes; of an info, the text, at most 1000.
	Reason  string `json:"reason,omitempty"`
	Payload Hash   `json:"payload,omitzero"` // what there is to read about it; of an info, its text
	By      string `json:"by,omitempty"`     // the person, at most 60 bytes
	// Turn is the open turn of a coding agent that receives the info at once. Zero = there is none: the
	// info is in the next prompt.
	Turn Seq `json:"turn,omitempty"`
}

// EventKind implements [Body].
func (*SignalSent) EventKind() Kind { return KindSignalSent }

func (b *SignalSent) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Signal)
	num(c, 3, &b.Source)
	str(c, 4, &b.Selector)
	str(c, 5, &b.Reason)
	sum(c, 6, &b.Payload)
	str(c, 7, &b.By)
	num(c, 8, &b.Turn)
}

// SignalAcknowledged says that a loop has seen a signal and, of one that holds or
// ends it, that it has no effect in flight any more. The event's loop is the one
// that was told.
type SignalAcknowledged struct {
	N int `json:"n"`
	// Expired reports that it did not come to it in time by itself: what was in
	// flight was withdrawn.
	Expired bool `json:"expired,omitempty"`
}

// EventKind implements [Body].
func (*SignalAcknowledged) EventKind() Kind { return KindSignalAcknowledged }

func (b *SignalAcknowledged) fields(c *coder) {
	num(c, 1, &b.N)
	flag(c, 2, &b.Expired)
}
