package ladder

import (
	"slices"
	"strconv"

	"pawl"
)

// Council is one under way: first every member proposes, then every member
// ranks all proposals, then the count decides. With one proposal there is no
// vote, with none the loop is blocked.
type Council struct {
	Members []Member
}

type Member struct {
	Proposed   bool // its session is over, with a proposal or without
	proposal   pawl.Hash
	confidence int   // percent
	Voted      bool  // its second session is over, with a ballot or without
	ballot     []int // candidates, best first
}

func (c *Council) Clone() *Council {
	if c == nil {
		return nil
	}
	return &Council{slices.Clone(c.Members)}
}

func (c *Council) Proposed(i int, b *pawl.SessionEnded) {
	m := &c.Members[i]
	m.Proposed = true
	if b.Result == pawl.SessionDone {
		m.proposal = b.Output
		m.confidence, _ = strconv.Atoi(b.Facts.Get("confidence"))
	}
}

func (c *Council) Voted(i int, b *pawl.SessionEnded) {
	m := &c.Members[i]
	m.Voted = true
	n := len(c.Candidates())
	for _, w := range b.Facts.All("rank") {
		if len(w) == 1 && w[0] >= 'A' && int(w[0]-'A') < n && !slices.Contains(m.ballot, int(w[0]-'A')) {
			m.ballot = append(slices.Clone(m.ballot), int(w[0]-'A'))
		}
	}
}

// Candidates are the members that proposed something, in order: A, B, …
func (c *Council) Candidates() []int {
	var out []int
	for i, m := range c.Members {
		if !m.proposal.IsZero() {
			out = append(out, i)
		}
	}
	return out
}

// Proposals are the candidates' texts under their letters.
func (c *Council) Proposals() []pawl.Input {
	var out []pawl.Input
	for n, i := range c.Candidates() {
		out = append(out, pawl.Input{Name: "proposal " + letter(n), Blob: c.Members[i].proposal})
	}
	return out
}

// Count decides which proposal wins.
func (c *Council) Count(spec *pawl.Council) *pawl.CouncilDecided {
	var ballots [][]int
	var confidence []int
	candidates := c.Candidates()
	for _, m := range c.Members {
		if len(m.ballot) > 0 {
			ballots = append(ballots, m.ballot)
		}
	}
	for _, i := range candidates {
		confidence = append(confidence, c.Members[i].confidence)
	}
	w, rounds := instantRunoff(len(candidates), ballots, confidence)
	if w < 0 {
		return &pawl.CouncilDecided{}
	}
	i := candidates[w]
	return &pawl.CouncilDecided{Winner: letter(w), Lens: spec.Lenses[i].Name, Proposal: c.Members[i].proposal,
		Confidence: c.Members[i].confidence, Rounds: rounds}
}
