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
	if rec := r.Records.Loop(s.ref); rec.Lost != 180_000 || rec.LostTokens != 60_000 || rec.Cost != r.Cost || rec.Money != r.Money() {
		t.Errorf("the loop's record has %s lost of %s, %+v", rec.Lost, rec.Cost, rec.Money)
	}
	sum := Summarize(r, s.read)
	if m := sum.Iterations[0].Money; m != (pawl.Money{Spent: 6_900, SpentTokens: 2140, Held: 90_000, HeldTokens: 30_000, Lost: 180_000, LostTokens: 60_000}) {
		t.Errorf("the iteration has %+v", m)
	}
	if text := Show(r, s.read); !strings.Contains(text, "TOKENS  COST     HELD     LOST   DECISION") || !strings.Contains(text, "2,140   $0.0069  $0.0900  $0.18  active") ||
		!strings.Contains(text, "1,200   $0.0008  -        -      -\n") {
		t.Errorf("show has\n%s", text)
	}
	exported := func() string {
		t.Helper()
		state, err := StateYAML(r, s.read)
		if err != nil {
			t.Fatal(err)
		}
		report, err := IterationReport(r, 1, s.read)
		if err != nil {
			t.Fatal(err)
		}
		mustBeYAML(t, r, s.read)
		return string(state) + report
	}
	got := exported()
	for _, text := range []string{
		"\n        money: {spent: 6900, spent_tokens: 2140, held: 90000, held_tokens: 30000, lost: 180000, lost_tokens: 60000}\n",
		"\n    money: {spent: 7700, spent_tokens: 3340, held: 90000, held_tokens: 30000, lost: 180000, lost_tokens: 60000}\n",
		rule + "\n\nSpent:   0 calls (and 5 unanswered), 2,140 tokens + 30,000 held + 60,000 lost, $0.0069 + $0.0900 held + $0.18 lost\n",
	} {
		if !strings.Contains(got, text) {
			t.Errorf("no %q in\n%s", text, got)
		}
	}
	r.Settings.NoCost = true
	if text := Show(r, s.read); strings.Contains(text, "$") || !strings.Contains(text, "  Spent      3,340 + 30,000 held + 60,000 lost of 5,000,000 tokens") {
		t.Errorf("without money:\n%s", text)
	}
	if got := exported(); strings.Contains(got, "$") || !strings.Contains(got, "money: {spent_tokens: 3340, held_tokens: 30000, lost_tokens: 60000}") {
		t.Errorf("without money:\n%s", got)
	}
}

// The tree of loops and the list of tasks have columns for what is held and lost when there is
// some. The figures of a loop include those of the loops below it. F-38
func TestMoneyOfLoops(t *testing.T) {
	s := cascade(t)
	figures := func(ref pawl.LoopRef) pawl.Money {
		r := fold(s.events)
		rec := r.Records.Full(r.Records.Loop(ref), s.read)
		if rec.Cost != rec.Money.Spent+rec.Money.Lost || rec.Tokens != rec.Money.SpentTokens+rec.Money.LostTokens || rec.Lost != rec.Money.Lost {
			t.Errorf("loop %d has %s lost of %s, %+v", ref, rec.Lost, rec.Cost, rec.Money)
		}
		return rec.Money
	}
	shows := func(width int, want ...string) {
		t.Helper()
		text := TreeText(fold(s.events), TreeOptions{Width: width, Now: s.now})
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("no %q in\n%s", line, text)
			}
		}
	}
	before, root := figures(6), figures(1)
	if doc, err := json.Marshal(fold(s.events).Records.Loop(1)); err != nil || !strings.Contains(string(doc), `"money":{"spent":2700,"spent_tokens":900,"held":0,"held_tokens":0,"lost":0,"lost_tokens":0},"cost":2700,"tokens":900,`) {
		t.Errorf("the root's record is %s, %v", doc, err)
	}
	shows(140, "TIER    COST     TIME", "1    medium  $0.0009  45s")

	s.in(6)
	x := s.start(pawl.ForStep, s.place("implement", "developer", 2), 0, 1)
	call := func(try int) pawl.Seq {
		return s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 2, Try: try, Reserved: 1_580_000, ReservedTokens: 30_000})
	}
	id := call(1)
	shows(140, "GEN  TIER    COST     HELD   TIME", "1    medium  $0.00    $1.58  30s", "1    medium  $0.0027  $1.58  2m15s", "-       $0.00    -      1m")
	shows(80, "ITER  TIER    COST     HELD   TIME", "medium  $0.0027  $1.58  2m15s")
	list := Tasks(fold(s.events), s.now)
	if m := list.Tasks[0].Money; m.Held != 1_580_000 || m.HeldTokens != 30_000 || list.Tasks[1].Money.Held != 0 {
		t.Errorf("the tasks have %+v, %+v", m, list.Tasks[1].Money)
	}

	s.add(6, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "timeout"}, Charged: 1_580_000, ChargedTokens: 30_000})
	shows(140, "GEN  TIER    COST     LOST   TIME")
	call(2)
	shows(140, "GEN  TIER    COST     HELD   LOST   TIME", "1    medium  $0.0027  $1.58  $1.58  2m15s")
	for ref, was := range map[pawl.LoopRef]pawl.Money{6: before, 1: root} {
		was.Add(pawl.Money{Held: 1_580_000, HeldTokens: 30_000, Lost: 1_580_000, LostTokens: 30_000})
		if got := figures(ref); got != was {
			t.Errorf("loop %d has %+v, want %+v", ref, got, was)
		}
	}
	if m := figures(3); m != (pawl.Money{}) {
		t.Errorf("a loop that does not work has %+v", m)
	}
	r := fold(s.events)
	table := strings.Join(r.taskTable(&TaskList{Tasks: []TaskRow{r.taskRow(r.Plan(), r.Plan().Tasks[0], s.now)}}, 0, 1), "\n")
	if !strings.Contains(table, "COST     HELD   LOST   TIME") || !strings.Contains(table, "$0.0018  $1.58  $1.58  ") {
		t.Errorf("the list of tasks is\n%s", table)
	}
	r.Settings.NoCost = true
	if text := TreeText(r, TreeOptions{Now: s.now}); strings.Contains(text, "$") || strings.Contains(text, "HELD") || strings.Contains(text, "LOST") {
		t.Errorf("without money:\n%s", text)
	}
}
