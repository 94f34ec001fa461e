package kernel

import (
	"slices"
	"strconv"

	"pawl"
)

// council is one under way: first every member proposes, then every member
// ranks all proposals, then the count decides.
type council struct {
	members []member
}

type member struct {
	started, proposed bool // its proposing session; proposed also when it failed
	proposal          pawl.Hash
	confidence        int
	voting, voted     bool
	ballot            []int // candidates, best first
}

func (c *council) clone() *council { return &council{slices.Clone(c.members)} }

func (l *Loop) callCouncil(b *pawl.CouncilCalled) {
	l.Phase, l.council = PhaseCouncil, &council{members: make([]member, b.Members)}
	l.councils++
	if b.Stuck {
		l.stuckFrom = l.Iteration
	}
}

func (c *council) proposed(i int, b *pawl.SessionEnded) {
	m := &c.members[i]
	m.proposed = true
	if b.Result == pawl.SessionDone {
		m.proposal = b.Output
		m.confidence, _ = strconv.Atoi(b.Facts.Get("confidence"))
	}
}

func (c *council) voted(i int, b *pawl.SessionEnded) {
	m := &c.members[i]
	m.voted = true
	n := len(c.candidates())
	for _, w := range b.Facts.All("rank") {
		if len(w) == 1 && w[0] >= 'A' && int(w[0]-'A') < n && !slices.Contains(m.ballot, int(w[0]-'A')) {
			m.ballot = append(slices.Clone(m.ballot), int(w[0]-'A'))
		}
	}
}

// candidates are the members that proposed something, in order: A, B, …
func (c *council) candidates() []int {
	var out []int
	for i, m := range c.members {
		if !m.proposal.IsZero() {
			out = append(out, i)
		}
	}
	return out
}

func (l *Loop) endCouncil(b *pawl.CouncilDecided) {
	l.council, l.failures, l.advice = nil, 0, b.Proposal
	if l.afterward = l.Kind.Ladder.Council.Attempts; l.afterward < 1 {
		l.afterward = 1
	}
	l.Phase = PhaseReady
	if b.Winner == "" {
		l.Phase, l.Outcome, l.Reason = PhaseClosing, pawl.OutcomeBlocked, "the council made no proposal"
	}
}

// confer drives a council's sessions, all members side by side.
func (d *draft) confer(l *Loop) {
	spec, c := l.Kind.Ladder.Council, l.council
	for _, x := range slices.Clone(l.sessions) {
		d.converse(l, x)
		if d.s.Stopping != nil {
			return
		}
	}
	for i := range spec.Lenses {
		if !c.members[i].proposed && !l.inSession(pawl.ForProposal, i) {
			d.seat(l, pawl.ForProposal, i)
		}
	}
	if slices.ContainsFunc(c.members, func(m member) bool { return !m.proposed }) {
		return
	}
	candidates := c.candidates()
	if len(candidates) > 1 {
		for i := range spec.Lenses {
			if !c.members[i].voted && !l.inSession(pawl.ForBallot, i) {
				d.seat(l, pawl.ForBallot, i)
			}
		}
		if slices.ContainsFunc(c.members, func(m member) bool { return !m.voted }) {
			return
		}
	}
	d.emit(l.Ref, c.count(spec, candidates))
}

// count decides which proposal wins.
func (c *council) count(spec *pawl.Council, candidates []int) *pawl.CouncilDecided {
	var ballots [][]int
	var confidence []int
	for _, m := range c.members {
		if len(m.ballot) > 0 {
			ballots = append(ballots, m.ballot)
		}
	}
	for _, i := range candidates {
		confidence = append(confidence, c.members[i].confidence)
	}
	w, rounds := instantRunoff(len(candidates), ballots, confidence)
	if w < 0 {
		return &pawl.CouncilDecided{}
	}
	i := candidates[w]
	return &pawl.CouncilDecided{Winner: letter(w), Lens: spec.Lenses[i].Name, Proposal: c.members[i].proposal,
		Confidence: c.members[i].confidence, Rounds: rounds}
}

func (l *Loop) inSession(p pawl.SessionPurpose, index int) bool {
	return slices.ContainsFunc(l.sessions, func(x *Session) bool { return x.Purpose == p && x.Index == index })
}

func (d *draft) seat(l *Loop, p pawl.SessionPurpose, i int) {
	spec := l.Kind.Ladder.Council
	place := l.place("council")
	place.Role, place.Lens, place.Tier = string(p), spec.Lenses[i].Name, spec.Tier
	d.emit(l.Ref, &pawl.SessionStarted{
		Session: l.session + 1, Purpose: p, Place: place, Index: i,
		Turns: orDefault(spec.Turns, defaultTurns), Timeout: spec.Timeout, Try: 1,
	})
}
