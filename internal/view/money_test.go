package view

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl"
)

// What a run has spent, what its calls under way hold, and what was lost are three figures in
// every view of it, and those that are zero are not shown. F-38
func TestMoney(t *testing.T) {
	s := begin(t, 6, 2, nil)
	s.iterate(2, "")
	x := s.implementing()
	r := fold(s.events)
	if text := Show(r, s.read) + WhyText(r); strings.Contains(text, "held") || strings.Contains(text, "lost") || strings.Contains(text, "Spent: ") {
		t.Errorf("nothing is held or lost:\n%s", text)
	}
	begin := r.Money()
	call := func(try int) pawl.Seq {
		return s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 2, Try: try, Reserved: 90_000, ReservedTokens: 30_000})
	}
	id := call(1)
	shows := func(want pawl.Money, texts ...string) {
		t.Helper()
		r := fold(s.events)
		want.Spent += begin.Spent
		want.SpentTokens += begin.SpentTokens
		if got := r.Money(); got != want || r.Cost != want.Spent+want.Lost || r.Tokens != want.SpentTokens+want.LostTokens {
			t.Errorf("got %+v of %s and %d tokens, want %+v", got, r.Cost, r.Tokens, want)
		}
		var summary Summary
		if doc, err := ShowJSON(r, s.read); err != nil || json.Unmarshal(doc, &summary) != nil || summary.Figures() != want {
			t.Errorf("show --json has %+v, %v", summary.Money, err)
		}
		var out strings.Builder
		p := NewProgress(r, ProgressOptions{Out: &out, Live: true, Width: func() int { return 120 }})
		mustProgress(t, p.Tick(s.now))
		said := Show(r, s.read) + WhyText(r) + strings.Join(p.live, "\n") + "\n" + Line(s.events[len(s.events)-1], r, s.read)
		for _, text := range texts {
			if !strings.Contains(said, text) {
				t.Errorf("no %q in\n%s", text, said)
			}
		}
	}
	shows(pawl.Money{Held: 90_000, HeldTokens: 30_000},
		"  Spent      $0.0008 + $0.0900 held of $10.00, 1,200 + 30,000 held of 5,000,000 tokens",
		"Spent: $0.0008 + $0.0900 held of $10.00", " · $0.0008 + $0.0900 held of $10.00")

	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "network", Used: pawl.Usage{Input: 2000, Output: 40}, Estimated: true}, Charged: 6_600, ChargedTokens: 2040})
	shows(pawl.Money{Spent: 6_600, SpentTokens: 2040}, "  Spent      $0.0074 of $10.00, 3,240 of 5,000,000 tokens", "($0.0066 spent, as estimated)")

	id = call(2)
	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "refused", Used: pawl.Usage{Input: 100}}, Charged: 300, ChargedTokens: 100})
	shows(pawl.Money{Spent: 6_900, SpentTokens: 2140}, "($0.0003 spent)")

	id = call(3)
	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "rate_limit"}})
	shows(pawl.Money{Spent: 6_900, SpentTokens: 2140})

	id = call(4) // as an older version has it in its log, too
	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "timeout"}, Charged: 90_000, ChargedTokens: 30_000})
	shows(pawl.Money{Spent: 6_900, SpentTokens: 2140, Lost: 90_000, LostTokens: 30_000}, "($0.0900 lost)",
		"  Spent      $0.0077 + $0.0900 lost of $10.00, 3,340 + 30,000 lost of 5,000,000 tokens", " · $0.0077 + $0.0900 lost of $10.00", "LOST")

	id = call(5)
	call(6)
	s.add(s.ref, &pawl.EffectLost{Effect: id, Charged: 90_000, ChargedTokens: 30_000})
	shows(pawl.Money{Spent: 6_900, SpentTokens: 2140, Held: 90_000, HeldTokens: 30_000, Lost: 180_000, LostTokens: 60_000},
		"  Spent      $0.0077 + $0.0900 held + $0.18 lost of $10.00")

	r = fold(s.events)
	if rec := r.Records.Loop(s.ref); rec.Lost != 180_000 || rec.LostTokens != 60_000 || rec.Cost != r.Cost {
		t.Errorf("the loop's record has %s lost of %s", rec.Lost, rec.Cost)
	}
	r.Settings.NoCost = true
	if text := Show(r, s.read); strings.Contains(text, "$") || !strings.Contains(text, "  Spent      3,340 + 30,000 held + 60,000 lost of 5,000,000 tokens") {
		t.Errorf("without money:\n%s", text)
	}
}
