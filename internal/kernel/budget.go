package kernel

import (
	"fmt"

	"pawl"
	"pawl/internal/kernel/budget"
)

// price returns the price of the model that an effect calls; zero if it calls none.
func (s *State) price(f *pawl.Effect) pawl.Price {
	if do, ok := f.Do.(*pawl.CallModel); ok {
		return s.Settings.Models[do.Tier-1].Price
	}
	return pawl.Price{}
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
	d.stop(pawl.OutcomeHalted, fmt.Sprintf("budget exceeded: the limit on %s is %s, and %s were wanted",
		over.Limit, budget.Amount(over.Limit, over.Max), budget.Amount(over.Limit, over.Value)))
}
