package pawl

// The events of a loop as a whole.

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

// LoopStatuses returns all statuses of loops.
func LoopStatuses() []LoopStatus {
	return []LoopStatus{LoopPending, LoopRunning, LoopPaused, LoopRebasing, LoopComplete, LoopFailed, LoopInvalidated}
}

// LoopStarted says that a loop exists.
type LoopStarted struct {
	ID     string  `json:"id"`
	Kind   string  `json:"kind"` // of the recipe
	Parent LoopRef `json:"parent,omitempty"`
	// Task is its entry in the parent's plan of this version: the id, and the
	// position plus one. Empty for the root.
	Task    string `json:"task,omitempty"`
	Entry   int    `json:"entry,omitempty"`
	Version int    `json:"version,omitempty"`
	// Branch and Base are where its work goes and starts; empty = the run's.
	Branch string     `json:"branch,omitempty"`
	Base   CommitHash `json:"base,omitempty"`
	// Pending reports that it waits for a [LoopAdmitted] before it begins.
	Pending bool `json:"pending,omitempty"`
	// ParentIteration and ParentGeneration say which of the parent's artifacts it
	// was spawned from, where the parent may begin anew; zero elsewhere.
	ParentIteration  int `json:"parent_iteration,omitempty"`
	ParentGeneration int `json:"parent_generation,omitempty"`
	// Max is the limit on the root's iterations from then on: see [MaxSaid].
	Max int `json:"max,omitempty"`
}

// EventKind implements [Body].
func (*LoopStarted) EventKind() Kind { return KindLoopStarted }

func (b *LoopStarted) fields(c *coder) {
	str(c, 1, &b.ID)
	str(c, 2, &b.Kind)
	num(c, 3, &b.Parent)
	str(c, 4, &b.Task)
	num(c, 5, &b.Entry)
	num(c, 6, &b.Version)
	str(c, 7, &b.Branch)
	str(c, 8, &b.Base)
	flag(c, 9, &b.Pending)
	num(c, 10, &b.ParentIteration)
	num(c, 11, &b.ParentGeneration)
	num(c, 12, &b.Max)
}

// LoopAdmitted says that a loop that was pending runs from now on.
type LoopAdmitted struct {
	Score int `json:"score"` // what it was chosen by; the highest goes first
	// Base is the commit its work starts from: its parent's head.
	Base CommitHash `json:"base,omitempty"`
	// Waited says what held it back until now, at most 120 bytes; empty = nothing did.
	Waited string `json:"waited,omitempty"`
}

// EventKind implements [Body].
func (*LoopAdmitted) EventKind() Kind { return KindLoopAdmitted }

func (b *LoopAdmitted) fields(c *coder) {
	num(c, 1, &b.Score)
	str(c, 2, &b.Base)
	str(c, 3, &b.Waited)
}

// ComplexityScored says how hard the task looks, from 0 to 14, and where the
// ladder therefore starts.
type ComplexityScored struct {
	Score int    `json:"score"`
	Tier  int    `json:"tier"`
	Why   string `json:"why"` // how the score came about
}

// EventKind implements [Body].
func (*ComplexityScored) EventKind() Kind { return KindComplexityScored }

func (b *ComplexityScored) fields(c *coder) {
	num(c, 1, &b.Score)
	num(c, 2, &b.Tier)
	str(c, 3, &b.Why)
}

// LoopEnded says that a loop is done.
type LoopEnded struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason"`
	// Stopped reports that it ended because the run did, before it had an end of its own.
	Stopped bool `json:"stopped,omitempty"`
	// Task is the status of the loop's task from then on, such as "pending" when it is to be worked
	// on anew; empty for the root, and in older logs.
	Task string `json:"task,omitempty"`
}

// EventKind implements [Body].
func (*LoopEnded) EventKind() Kind { return KindLoopEnded }

func (b *LoopEnded) fields(c *coder) {
	str(c, 1, &b.Outcome)
	str(c, 2, &b.Reason)
	flag(c, 3, &b.Stopped)
	str(c, 4, &b.Task)
}

// Archived puts a loop, or, as an event of the run, the run with all its loops, out
// of the way: lists leave it out and its folder moves to the archive. Nothing is
// removed.
type Archived struct {
	Reason string `json:"reason,omitempty"` // at most 300 bytes
	By     string `json:"by,omitempty"`     // the person, at most 60 bytes; empty = the harness
}

// EventKind implements [Body].
func (*Archived) EventKind() Kind { return KindArchived }

func (b *Archived) fields(c *coder) {
	str(c, 1, &b.Reason)
	str(c, 2, &b.By)
}
