package pawl

// The events of councils.

// CouncilCalled says that a council convenes.
type CouncilCalled struct {
	Members int    `json:"members"`
	Reason  string `json:"reason"`
	Stuck   bool   `json:"stuck,omitempty"`
	// Resume is the tier at which the ladder goes on if the attempts after the council fail too. 0 = the
	// ladder is used up then: it led to the council.
	Resume int `json:"resume,omitempty"`
}

// EventKind implements [Body].
func (*CouncilCalled) EventKind() Kind { return KindCouncilCalled }

func (b *CouncilCalled) fields(c *coder) {
	num(c, 1, &b.Members)
	str(c, 2, &b.Reason)
	flag(c, 3, &b.Stuck)
	num(c, 4, &b.Resume)
}

// CouncilDecided says which proposal a council's ballots chose.
type CouncilDecided struct {
	Winner     string `json:"winner"` // the proposal's letter; empty = there was none
	Lens       string `json:"lens,omitempty"`
	Proposal   Hash   `json:"proposal,omitzero"`
	Confidence int    `json:"confidence"` // percent
	// Rounds tells the count: "A2 B1 C2 | A3 C2".
	Rounds string `json:"rounds"`
}

// EventKind implements [Body].
func (*CouncilDecided) EventKind() Kind { return KindCouncilDecided }

func (b *CouncilDecided) fields(c *coder) {
	str(c, 1, &b.Winner)
	str(c, 2, &b.Lens)
	sum(c, 3, &b.Proposal)
	num(c, 4, &b.Confidence)
	str(c, 5, &b.Rounds)
}
