package kernel

import (
	"fmt"
	"slices"
	"strconv"

	"pawl"
	"pawl/internal/kernel/session"
)

// council is one under way: first every member proposes, then every member
// ranks all proposals, then the count decides. With one proposal there is no
// vote, with none the loop is blocked.
type council struct {
	members []member
}

type member struct {
	proposed   bool // its session is over, with a proposal or without
	proposal   pawl.Hash
	confidence int   // percent
	voted      bool  // its second session is over, with a ballot or without
	ballot     []int // candidates, best first
}

func (c *council) clone() *council {
	if c == nil {
		return nil
	}
	return &council{slices.Clone(c.members)}
}

// The structured results of a council's sessions.
const (
	proposalOutput = "proposal"
	ballotOutput   = "ballot"
)

func (l *Loop) callCouncil(b *pawl.CouncilCalled) error {
	if spec := l.Kind.Ladder.Council; spec == nil || b.Members != len(spec.Lenses) {
		return fmt.Errorf("the recipe has no council of %d", b.Members)
	}
	l.Phase, l.ladder.council = PhaseCouncil, &council{members: make([]member, b.Members)}
	l.ladder.councils++
	if b.Stuck {
		l.ladder.stuckFrom = l.Iteration
	}
	return nil
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

// proposals are the candidates' texts under their letters.
func (c *council) proposals() []pawl.Input {
	var out []pawl.Input
	for n, i := range c.candidates() {
		out = append(out, pawl.Input{Name: "proposal " + letter(n), Blob: c.members[i].proposal})
	}
	return out
}

func (l *Loop) endCouncil(b *pawl.CouncilDecided) error {
	if l.ladder.council == nil {
		return fmt.Errorf("there is no council")
	}
	l.ladder.council, l.ladder.failures, l.ladder.advice = nil, 0, b.Proposal
	l.ladder.afterward = max(l.Kind.Ladder.Council.Attempts, 1)
	l.Phase = PhaseReady
	if b.Winner == "" {
		l.Phase, l.Outcome, l.Reason = PhaseClosing, pawl.OutcomeBlocked, "the council made no proposal"
	}
	return nil
}

// confer drives a council's sessions, all members side by side. What it advises
// is tried on the top tier.
func (d *draft) confer(l *Loop) {
	c := l.ladder.council
	for _, x := range slices.Clone(l.sessions) {
		d.converse(l, x)
		if d.s.Stopping != nil {
			return
		}
	}
	if !d.seatAll(l, pawl.ForProposal, func(m *member) bool { return m.proposed }) {
		return
	}
	if len(c.candidates()) > 1 && !d.seatAll(l, pawl.ForBallot, func(m *member) bool { return m.voted }) {
		return
	}
	decided := c.count(l.Kind.Ladder.Council)
	d.emit(l.Ref, decided)
	if decided.Winner != "" && l.Tier < l.top() {
		d.escalate(l, l.top(), "the attempt after a council runs on the top tier", false)
	}
}

// seatAll begins a session for every member that has not had one, and reports
// whether all are done.
func (d *draft) seatAll(l *Loop, p pawl.SessionPurpose, is func(*member) bool) bool {
	all := true
	for i := range l.ladder.council.members {
		if is(&l.ladder.council.members[i]) {
			continue
		}
		all = false
		if !l.inSession(p, i) {
			d.seat(l, p, i)
		}
	}
	return all
}

// count decides which proposal wins.
func (c *council) count(spec *pawl.Council) *pawl.CouncilDecided {
	var ballots [][]int
	var confidence []int
	candidates := c.candidates()
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
	return slices.ContainsFunc(l.sessions, func(x *session.Session) bool { return x.Purpose == p && x.Index == index })
}

func (d *draft) seat(l *Loop, p pawl.SessionPurpose, i int) {
	spec := l.Kind.Ladder.Council
	place := l.place("council")
	place.Role, place.Lens, place.Tier = string(p), spec.Lenses[i].Name, spec.Tier
	d.startSession(l, pawl.SessionStarted{Purpose: p, Place: place, Index: i, Turns: spec.Turns, Timeout: spec.Timeout})
}
