package pawl

// The events of trees of loops: which of them run, signals between them, and what
// becomes of those whose parent begins anew.

// LoopStatus is where a loop of a tree stands, in the words of Loopr.
type LoopStatus string

// The statuses.
const (
	LoopPending     LoopStatus = "pending"     // it exists, and waits for its turn
	LoopRunning     LoopStatus = "running"     // it works on an iteration
	LoopPaused      LoopStatus = "paused"      // a signal or a provider's limit holds it
	LoopRebasing    LoopStatus = "rebasing"    // it takes over what a sibling merged
	LoopComplete    LoopStatus = "complete"    // its own verdict is in its favour; its subtree may be at work
	LoopFailed      LoopStatus = "failed"      // for good: it, what stands below it, or a person
	LoopInvalidated LoopStatus = "invalidated" // its parent began anew
)

// ApprovalState says what a person made of a plan. It is beside the loop's status,
// which stays complete meanwhile.
type ApprovalState string

// The states of approval. The empty one, written "none", needs nobody.
const (
	ApprovalNone      ApprovalState = "none"
	ApprovalAwaiting  ApprovalState = "awaiting"
	ApprovalApproved  ApprovalState = "approved"
	ApprovalRejected  ApprovalState = "rejected"
	ApprovalIterating ApprovalState = "iterating"
)

// SignalKind says what a loop is told.
type SignalKind string

// The signals.
const (
	SignalStop       SignalKind = "stop"       // end: as cancelled when a person says so
	SignalPause      SignalKind = "pause"      // begin nothing after this iteration
	SignalResume     SignalKind = "resume"     // go on
	SignalRebase     SignalKind = "rebase"     // take over the parent's head before the next iteration
	SignalError      SignalKind = "error"      // to a parent: a child cannot pass
	SignalInfo       SignalKind = "info"       // a text for the next prompt
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

// LoopAdmitted says that a loop that was pending runs from now on.
type LoopAdmitted struct {
	Score int `json:"score"` // what it was chosen by; the highest goes first
	// Base is the commit its work starts from: its parent's head.
	Base CommitHash `json:"base,omitempty"`
	// Waited says what held it back until now, at most 120 bytes; empty = nothing did.
	Waited string `json:"waited,omitempty"`
}

// GenerationStarted says that a loop begins anew: what it made before does not
// stand any more, nor does what stands on it.
type GenerationStarted struct {
	N      int    `json:"n"`      // from 2
	Reason string `json:"reason"` // at most 300 bytes
	// Branch and Base are where its work goes and starts from now on. The branch
	// before it is kept.
	Branch string     `json:"branch"`
	Base   CommitHash `json:"base"`
	// Supersedes reports that what it made before is merged already and stays.
	Supersedes bool `json:"supersedes,omitempty"`
}

// Invalidated says that a loop does not count any more, because its parent, or
// a loop above that, began anew. Its branch is kept.
type Invalidated struct {
	By         LoopRef `json:"by"` // the loop that began anew
	Generation int     `json:"generation"`
	Reason     string  `json:"reason,omitempty"` // at most 300 bytes
}

// Archived puts a loop, or, as an event of the run, the run with all its loops, out
// of the way: lists leave it out and its folder moves to the archive. Nothing is
// removed.
type Archived struct {
	Reason string `json:"reason,omitempty"` // at most 300 bytes
	By     string `json:"by,omitempty"`     // the person, at most 60 bytes; empty = the harness
}

// TaskRetried says that a task whose loop failed runs once more with a fresh loop,
// because what it failed by was not its work.
type TaskRetried struct {
	Task   int    `json:"task"`   // its position, from 0
	Reason string `json:"reason"` // at most 300 bytes
}

func (b *SignalSent) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Signal)
	num(c, 3, &b.Source)
	str(c, 4, &b.Selector)
	str(c, 5, &b.Reason)
	sum(c, 6, &b.Payload)
	str(c, 7, &b.By)
}

// EventKind implements [Body].
func (*SignalSent) EventKind() Kind { return KindSignalSent }

func (b *SignalAcknowledged) fields(c *coder) {
	num(c, 1, &b.N)
	flag(c, 2, &b.Expired)
}

// EventKind implements [Body].
func (*SignalAcknowledged) EventKind() Kind { return KindSignalAcknowledged }

func (b *LoopAdmitted) fields(c *coder) {
	num(c, 1, &b.Score)
	str(c, 2, &b.Base)
	str(c, 3, &b.Waited)
}

// EventKind implements [Body].
func (*LoopAdmitted) EventKind() Kind { return KindLoopAdmitted }

func (b *GenerationStarted) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Reason)
	str(c, 3, &b.Branch)
	str(c, 4, &b.Base)
	flag(c, 5, &b.Supersedes)
}

// EventKind implements [Body].
func (*GenerationStarted) EventKind() Kind { return KindGenerationStarted }

func (b *Invalidated) fields(c *coder) {
	num(c, 1, &b.By)
	num(c, 2, &b.Generation)
	str(c, 3, &b.Reason)
}

// EventKind implements [Body].
func (*Invalidated) EventKind() Kind { return KindInvalidated }

func (b *Archived) fields(c *coder) {
	str(c, 1, &b.Reason)
	str(c, 2, &b.By)
}

// EventKind implements [Body].
func (*Archived) EventKind() Kind { return KindArchived }

func (b *TaskRetried) fields(c *coder) {
	num(c, 1, &b.Task)
	str(c, 2, &b.Reason)
}

// EventKind implements [Body].
func (*TaskRetried) EventKind() Kind { return KindTaskRetried }
