package kernel

import (
	"fmt"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/budget"
)

// price returns the price of the model that an effect calls. It is zero if the effect calls none, or
// if a plan pays for it.
func (s *State) price(f *pawl.Effect) pawl.Price {
	if do, ok := f.Do.(*pawl.CallModel); ok && !s.model(do).Plan {
		return s.model(do).Price
	}
	return pawl.Price{}
}

// lostBy returns what is charged for an effect whose cost is not known: its reservation. Of a turn of a
// coding agent that is what it had used when it last told, and one step of progress more.
func (s *State) lostBy(f *pawl.Effect) budget.Purse {
	most := budget.Of(f)
	if !isTurn(f) {
		return most
	}
	x := s.Loop(f.Loop).sessionByN(f.Session)
	if x == nil {
		return most
	}
	used, worth := x.Progress()
	if used == (pawl.Usage{}) {
		return most
	}
	known := budget.Purse{Money: worth, Tokens: used.Total()}.Add(budget.Purse{Money: most.Money / pawl.ProgressSteps, Tokens: most.Tokens / pawl.ProgressSteps})
	return budget.Purse{Money: min(known.Money, most.Money), Tokens: min(known.Tokens, most.Tokens)}
}

// turned returns how a turn of a coding agent ended, with what it cost at list prices, and what is
// charged for it. The agent's own figure counts, if it has one.
func (s *State) turned(f *pawl.Effect, b *pawl.ModelReplied) (turned pawl.AgentTurned, cost pawl.Micros) {
	turned = *b.Agent
	model := s.model(f.Do.(*pawl.CallModel))
	turned.Worth = max(turned.Worth, 0)
	if turned.Worth == 0 {
		turned.Worth = model.Price.Cost(b.Usage)
	}
	turned.Version = brief.Cut(turned.Version, 40)
	if model.Plan {
		return turned, 0
	}
	return turned, turned.Worth
}

// warn warns once per limit that four fifths of it are spent.
func (d *draft) warn() {
	for _, b := range d.s.Warnings() {
		d.emit(0, b)
	}
}

// markIdleDirty queues for settle the loops with sessions but no open effects: they may be
// waiting for budget that another loop's model call has just released.
func (d *draft) markIdleDirty() {
	for l := range d.s.each {
		if len(l.sessions) > 0 && len(l.open) == 0 {
			d.markDirty(l.Ref)
		}
	}
}

// overBudget stops the run because it has reached a limit.
func (d *draft) overBudget(over *pawl.LimitReached) {
	d.emit(0, over)
	limit, wanted := over.Amounts()
	d.stop(pawl.OutcomeHalted, fmt.Sprintf("budget exceeded: the limit on %s is %s, and %s were wanted", over.Limit, limit, wanted))
}
