package tui

import (
	"strings"
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

// Where there is room the tree has columns for what is held and lost, of runs and of loops. They
// stay between two calls, so that names do not move, until nobody works any more. F-38
func TestMoneyColumns(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-add-login", "Add login")
	s.grown()
	d := drive(t, w, 200, 60, pen{})
	head := func(width int, want string) {
		t.Helper()
		d.m.width = width
		d.look()
		d.fits(width, d.m.height)
		if line := strings.Split(d.screen(), "\n")[1]; !strings.Contains(line, want+"  TIME") {
			t.Errorf("at %d columns it has no %q:\n%s", width, want, line)
		}
	}
	head(200, "TIER    COST")
	id := s.calls(1)
	head(200, "TIER    COST    HELD")
	s.add(8, &pawl.ModelReplied{Effect: id, Usage: pawl.Usage{Input: 2400, Output: 310}, Cost: 11_850})
	head(200, "TIER    COST    HELD")
	id = s.calls(1)
	s.add(8, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "timeout"}, Charged: 1_580_000, ChargedTokens: 30_000})
	id = s.calls(2)
	head(200, "TIER    COST    HELD    LOST")
	d.shows("1/50   opus $0.0593   $1.58   $1.58", "2/100 sonnet $0.0237   $1.58   $1.58")
	head(80, "TIER    COST    LOST")
	head(120, "ITER    COST")
	d.press("z") // the tree alone
	head(120, "TIER    COST    HELD    LOST")
	d.press("z")
	s.add(8, &pawl.EffectWithdrawn{Effect: id})
	s.add(8, &pawl.LoopEnded{Outcome: pawl.OutcomeCancelled, Reason: "enough"})
	s.ends(pawl.OutcomeCancelled, "enough")
	head(200, "TIER    COST    LOST")
}

// The sums by loop show what is held and lost below each loop that has some. F-38
func TestMoneyByLoop(t *testing.T) {
	d := drive(t, dear(t), 80, 40, pen{})
	d.press("b")
	d.shows("     $0.0119  ████████░░ code table                                 2,710 tokens\n"+
		"     + $1.58 held + $1.58 lost                + 30,000 held + 30,000 lost tokens\n",
		"     $0.0356  █████████░ spec accounts                              8,130 tokens\n"+
			"     + $1.58 held + $1.58 lost                + 30,000 held + 30,000 lost tokens\n")
	d.m.run().run.Settings.NoCost = true
	d.press("esc", "b")
	d.shows("              ████████░░ code table ", "30,000 held + 30,000 lost tokens\n")
	if by := strings.Split(d.screen(), "By loop")[1]; strings.Contains(strings.Split(by, "All runs")[0], "$") {
		t.Errorf("without money:\n%s", d.screen())
	}
}
