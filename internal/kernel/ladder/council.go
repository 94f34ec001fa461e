package ladder

import (
	"slices"
	"strconv"

	"pawl"
)

// Council is a council that has not been decided. First every member proposes, then every member
// ranks all proposals, then [Council.Count] decides. With one proposal there is no vote; with none
// the loop is blocked.
type Council struct {
	Members []Member // in the order of the recipe's lenses
}

// Member is a member of a council. Its zero value has neither proposed nor voted.
type Member struct {
	Proposed   bool      // its first session is over, with a proposal or without
	proposal   pawl.Hash // zero = none
	confidence int       // of its proposal, in percent
	Voted      bool      // its second session is over, with a ballot or without
	ballot     []int     // positions in [Council.Candidates], best first
}

// Clone returns a copy that can change without c. A nil council has a nil clone.
func (c *Council) Clone() *Council {
	if c == nil {
		return nil
	}
	return &Council{slices.Clone(c.Members)}
}

// Proposed records the end of member i's first session. Its output is the proposal if the session
// is done; otherwise the member has none.
func (c *Council) Proposed(i int, b *pawl.SessionEnded) {
	m := &c.Members[i]
	m.Proposed = true
	if b.Result == pawl.SessionDone {
		m.proposal = b.Output
		m.confidence, _ = strconv.Atoi(b.Facts.Get("confidence"))
	}
}

// Voted records the end of member i's second session. Each fact "rank" names a candidate by its
// letter, best first; letters of no candidate and repetitions are ignored.
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

// Candidates returns the positions of the members that have a proposal, in order. The first of
// them is candidate A, the second B, and so on.
func (c *Council) Candidates() []int {
	var out []int
	for i, m := range c.Members {
		if !m.proposal.IsZero() {
			out = append(out, i)
		}
	}
	return out
}

// Proposals returns the candidates' proposals, each named by its letter.
func (c *Council) Proposals() []pawl.Input {
	var out []pawl.Input
	for n, i := range c.Candidates() {
		out = append(out, pawl.Input{Name: "proposal " + letter(n), Blob: c.Members[i].proposal})
	}
	return out
}

// Count decides which proposal wins, by an instant runoff over the ballots. Spec is the recipe's
// council, which names the lenses. Without a proposal there is no winner.
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
