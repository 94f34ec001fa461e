package tui

import (
	"testing"

	"pawl"
)

// The tree, the header and the budget tell what is spent from what is held and lost. F-38
func TestMoney(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-long", "A long run")
	s.try(1, 1, 50, 1)
	ask := func(try int) pawl.Seq {
		return s.ask(1, s.n[1], pawl.Place{Loop: "task", Iteration: 1, Step: "implement", Tier: 2, Turn: 2}, &pawl.CallModel{Tier: 2, Try: try, Reserved: 9000, ReservedTokens: 3000})
	}
	id := ask(1)
	s.add(1, &pawl.ModelReplied{Effect: id, Usage: pawl.Usage{Input: 2400, Output: 310}, Cost: 11_850})
	id = ask(1)
	s.add(1, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "timeout"}, Charged: 9000, ChargedTokens: 3000})
	ask(2)
	d := drive(t, w, 120, 30, pen{})
	d.shows("$0.0119 + $0.0090 held + $0.0090 lost", " $0.0119 ")
	d.press("b")
	d.shows("money           $0.0119 ", "             + $0.0090 held + $0.0090 lost", "             + 3,000 held + 3,000 lost",
		"$0.0119 + $0.0090 held + $0.0090 lost · 2,710 + 3,000 held + 3,000 lost tokens")
}
