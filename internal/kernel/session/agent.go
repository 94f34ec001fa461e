package session

import (
	"cmp"
	"fmt"

	"pawl"
)

// agent is what a session keeps of a coding agent that holds the conversation. Its zero value is
// that of a session with a model.
type agent struct {
	cap     pawl.SessionCap
	id      string // the agent's id of the session; empty = it has none that can be continued
	from    int    // how many items of the transcript it has
	used    pawl.Usage
	spent   pawl.Micros    // at list prices
	stop    pawl.AgentStop // of its last turn; empty = there was none
	lost    bool           // a driver died during a turn of the session, and no turn has ended since
	handsIn bool           // the session's time was up, and it has one more turn to hand in what it has
	now     progress       // of the turn that is being made
}

// progress is what a turn of a coding agent has used so far.
type progress struct {
	used  pawl.Usage
	worth pawl.Micros
}

// Progressed records how far a turn of a coding agent has come. Items is how much of the transcript
// the turn was requested with.
func (x *Session) Progressed(b *pawl.AgentProgressed, items int) {
	a := &x.agent
	if b.Session != "" && b.Session != a.id {
		a.id, a.used, a.spent = b.Session, pawl.Usage{}, 0
	}
	if b.Session != "" {
		a.from = items
	}
	a.now = progress{b.Used, b.Worth}
}

// Progress returns what the turn of a coding agent that is being made has used so far, at list prices.
func (x *Session) Progress() (pawl.Usage, pawl.Micros) { return x.agent.now.used, x.agent.now.worth }

// CanContinue reports whether a coding agent has a session that can be continued.
func (x *Session) CanContinue() bool { return x.agent.id != "" }

// WasLost reports whether a driver died during a turn of a coding agent that can continue its session,
// and no turn has ended since.
func (x *Session) WasLost() bool { return x.agent.lost }

// CallAgent returns the request for the next turn of a coding agent, without its reservation.
func (x *Session) CallAgent(choice int, before pawl.TreeHash) *pawl.CallModel {
	do := x.CallModel(choice)
	do.Agent = &pawl.AgentCall{Session: x.agent.id, Used: x.agent.used, Spent: x.agent.spent, Before: before}
	if x.agent.id != "" {
		do.Agent.From = x.agent.from
	}
	return do
}

// Spent records what a turn of a coding agent used that has failed or was lost.
func (x *Session) Spent(used pawl.Usage, worth pawl.Micros) {
	x.agent.used, x.agent.spent = x.agent.used.Add(used), x.agent.spent+worth
}

// turned records how a turn of a coding agent ended.
func (a *agent) turned(b *pawl.ModelReplied, items int) {
	if b.Agent == nil {
		return
	}
	if b.Agent.Session != a.id {
		a.used, a.spent = pawl.Usage{}, 0
	}
	a.id, a.from, a.stop, a.lost = b.Agent.Session, items, b.Agent.Stop, false
	a.used, a.spent = a.used.Add(b.Usage), a.spent+b.Agent.Worth
}

// isAnswered reports whether a coding agent knows the answers to all calls of its last turn, so that
// it has ended the turn because it has no more to say.
func (x *Session) isAnswered() bool {
	if x.agent.stop == "" || x.items[len(x.items)-1].Kind == pawl.ItemNote {
		return false
	}
	for i := range x.calls {
		if !x.calls[i].use.Told || x.items[x.base+i].IsError {
			return false
		}
	}
	return true
}

// isCapped reports whether the agent's last turn ended at a limit.
func (a *agent) isCapped() bool { return a.stop == pawl.AgentCapped || a.stop == pawl.AgentTurns }

// capped returns the end of a session whose coding agent has reached a limit.
func (x *Session) capped() Next {
	reason := "it reached the limit on what a session may use"
	if x.agent.stop == pawl.AgentTurns {
		reason = "the agent reached its own limit on the calls of a turn"
	}
	n := end(pawl.SessionTurns, reason)
	n.Output = x.text
	return n
}

// Limits returns what the session may use: what the recipe says, or else what the settings say.
func (x *Session) Limits(settings pawl.SessionLimits) pawl.SessionLimits {
	out := settings.Filled()
	out.Money, out.Tokens = cmp.Or(x.agent.cap.Money, out.Money), cmp.Or(x.agent.cap.Tokens, out.Tokens)
	return out
}

// OverLimit returns the end of a session whose coding agent has used what a session may use, and
// reports whether that is so.
func (x *Session) OverLimit(limits pawl.SessionLimits) (Next, bool) {
	tokens := x.agent.used.Total()
	n := Next{}
	switch {
	case x.agent.spent >= limits.Money:
		n = end(pawl.SessionTurns, fmt.Sprintf("it used %s, and a session may use %s", x.agent.spent, limits.Money))
		n.Limit = &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitMoney, Max: int64(limits.Money), Value: int64(x.agent.spent)}
	case tokens >= limits.Tokens:
		n = end(pawl.SessionTurns, fmt.Sprintf("it used %d tokens, and a session may use %d", tokens, limits.Tokens))
		n.Limit = &pawl.LimitReached{Scope: x.Place.String(), Limit: pawl.LimitTokens, Max: limits.Tokens, Value: tokens}
	default:
		return n, false
	}
	n.Output = x.text
	return n, true
}

// Left returns what limits leave for the next turn of a coding agent.
func (x *Session) Left(limits pawl.SessionLimits) (money pawl.Micros, tokens int64) {
	return max(limits.Money-x.agent.spent, 0), max(limits.Tokens-x.agent.used.Total(), 0)
}
