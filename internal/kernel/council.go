package kernel

import (
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/session"
)

// The structured results of a council's sessions.
const (
	proposalOutput = "proposal"
	ballotOutput   = "ballot"
)

func (l *Loop) callCouncil(b *pawl.CouncilCalled) error {
	if spec := l.Kind.Ladder.Council; spec == nil || b.Members != len(spec.Lenses) {
		return fmt.Errorf("the recipe has no council of %d", b.Members)
	}
	l.Phase, l.ladder.Council = PhaseCouncil, &ladder.Council{Members: make([]ladder.Member, b.Members)}
	l.ladder.Councils++
	l.ladder.Resume = ladder.Rung{Tier: b.Resume}
	if b.Resume == l.Tier {
		l.ladder.Resume.Failures = l.ladder.Failures
	}
	l.ladder.StuckFrom = l.Iteration
	return nil
}

func (l *Loop) endCouncil(b *pawl.CouncilDecided) error {
	if l.ladder.Council == nil {
		return fmt.Errorf("there is no council")
	}
	l.ladder.Council, l.ladder.Failures, l.ladder.Advice = nil, 0, b.Proposal
	l.ladder.Afterward = max(l.Kind.Ladder.Council.Attempts, 1)
	l.Phase = PhaseReady
	switch {
	case b.Winner != "":
	case l.ladder.Resume.Tier > 0:
		l.resumeLadder()
	default:
		l.Phase, l.Outcome, l.Reason = PhaseClosing, pawl.OutcomeBlocked, "the council made no proposal"
	}
	return nil
}

// confer runs a council's sessions, those of all members at the same time, and counts
// the ballots. The attempt after the council runs on the top tier, or on the tier where the ladder
// goes on after it, because the tier of a loop never falls.
func (d *draft) confer(l *Loop) {
	c := l.ladder.Council
	for _, x := range slices.Clone(l.sessions) {
		d.converse(l, x)
		if d.s.Stopping != nil {
			return
		}
	}
	if !d.seatAll(l, pawl.ForProposal, func(m *ladder.Member) bool { return m.Proposed }) {
		return
	}
	if len(c.Candidates()) > 1 && !d.seatAll(l, pawl.ForBallot, func(m *ladder.Member) bool { return m.Voted }) {
		return
	}
	decided := c.Count(l.Kind.Ladder.Council)
	resume := l.ladder.Resume.Tier
	d.emit(l.Ref, decided)
	switch {
	case resume > l.Tier:
		d.escalate(l, resume, ladder.ResumesLadder, false)
	case resume == 0 && decided.Winner != "" && l.Tier < l.top():
		d.escalate(l, l.top(), "the attempt after a council runs on the top tier", false)
	}
}

// resumeLadder goes back to where the ladder stood before a council.
func (l *Loop) resumeLadder() {
	l.ladder.Failures, l.ladder.Afterward, l.ladder.Resume = l.ladder.Resume.Failures, -1, ladder.Rung{}
}

// seatAll starts a session for every member that has neither ended nor started one, and
// reports whether all have ended. Is reports whether a member's session has ended.
func (d *draft) seatAll(l *Loop, p pawl.SessionPurpose, is func(*ladder.Member) bool) bool {
	all := true
	for i := range l.ladder.Council.Members {
		if is(&l.ladder.Council.Members[i]) {
			continue
		}
		all = false
		if !l.inSession(p, i) {
			d.seat(l, p, i)
		}
	}
	return all
}

func (l *Loop) inSession(p pawl.SessionPurpose, index int) bool {
	return slices.ContainsFunc(l.sessions, func(x *session.Session) bool { return x.Purpose == p && x.Index == index })
}

func (d *draft) seat(l *Loop, p pawl.SessionPurpose, i int) {
	spec := l.Kind.Ladder.Council
	place := l.place("council")
	place.Role, place.Lens, place.Tier = string(p), spec.Lenses[i].Name, spec.Tier
	d.startSession(l, pawl.SessionStarted{Purpose: p, Place: place, Index: i, Turns: spec.Turns, Cap: spec.Cap, Timeout: spec.Timeout})
}
