package pawl

// The events of loops that begin anew, and of those that stood on what they made before.

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

// EventKind implements [Body].
func (*GenerationStarted) EventKind() Kind { return KindGenerationStarted }

func (b *GenerationStarted) fields(c *coder) {
	num(c, 1, &b.N)
	str(c, 2, &b.Reason)
	str(c, 3, &b.Branch)
	str(c, 4, &b.Base)
	flag(c, 5, &b.Supersedes)
}

// Invalidated says that a loop does not count any more, because its parent, or
// a loop above that, began anew. Its branch is kept.
type Invalidated struct {
	By         LoopRef `json:"by"` // the loop that began anew
	Generation int     `json:"generation"`
	Reason     string  `json:"reason,omitempty"` // at most 300 bytes
}

// EventKind implements [Body].
func (*Invalidated) EventKind() Kind { return KindInvalidated }

func (b *Invalidated) fields(c *coder) {
	num(c, 1, &b.By)
	num(c, 2, &b.Generation)
	str(c, 3, &b.Reason)
}
