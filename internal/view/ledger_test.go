package view

import (
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recorded"
)

// Told apart by day, model and role, a run's money is what show says. F-31
func TestChargesAddUp(t *testing.T) {
	for name := range recorded.Names(t) {
		t.Run(name, func(t *testing.T) {
			log := recorded.Read(t, name)
			for _, upTo := range []int{len(log.Events), len(log.Events) / 2, len(log.Events) / 3, 1} { // calls may be under way
				all, r, err := Charges(first(log.Events, upTo), time.UTC)
				if err != nil {
					t.Fatal(err)
				}
				var sum pawl.Money
				calls := 0
				for _, c := range all {
					sum.Add(c.Money)
					calls += c.Calls
					if c.Role == "unknown" || c.Model == "unknown" || c.Day == "" {
						t.Errorf("%+v", c)
					}
				}
				if want := r.Money(); sum != want {
					t.Errorf("up to event %d they add up to %+v, want %+v", upTo, sum, want)
				}
				if l := r.root(); l != nil && r.Fork == nil && calls != l.Spent.Calls+l.Spent.Failed {
					t.Errorf("up to event %d they are %d calls, want %d", upTo, calls, l.Spent.Calls+l.Spent.Failed)
				}
			}
		})
	}
}

func first(events []pawl.Event, n int) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		for _, e := range events[:n] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func TestCharges(t *testing.T) {
	at := time.Date(2026, 11, 26, 23, 30, 0, 0, time.UTC)
	call := func(step, role string, tier int, held pawl.Micros) *pawl.EffectRequested {
		return &pawl.EffectRequested{Effect: pawl.Effect{Class: pawl.CrashCharge, Session: 1, Place: pawl.Place{Step: step, Role: role, Tier: tier},
			Do: &pawl.CallModel{Tier: tier, Reserved: held, ReservedTokens: int64(held)}}}
	}
	var events []pawl.Event
	for i, b := range []pawl.Body{
		&pawl.RunStarted{Settings: pawl.JSON(`{"models":[{"provider":"anthropic","name":"haiku"},{"provider":"openai","name":"gpt"},{"provider":"script"}]}`), Recipe: pawl.JSON(`{"name":"x"}`)},
		&pawl.LoopStarted{ID: "1-a", Kind: "task"},
		call("implement", "coder", 1, 100),
		&pawl.ModelReplied{Effect: 3, Model: "haiku-2026", Cost: 30, Usage: pawl.Usage{Input: 20, Output: 1}},
		call("implement", "coder", 1, 100), // it is lost on the next day
		&pawl.EffectLost{Effect: 5, Charged: 100, ChargedTokens: 50},
		call("review", "", 2, 70),
		&pawl.EffectFailed{Effect: 7, Failure: pawl.Failure{Used: pawl.Usage{Input: 5}}, Charged: 7, ChargedTokens: 5},
		call("assess", "", 3, 40),
	} {
		e := pawl.Event{Run: "001-a", Seq: pawl.Seq(i + 1), Time: at.Add(time.Duration(i) * 7 * time.Minute), Body: b}
		if i > 0 {
			e.Loop = 1
		}
		events = append(events, e)
	}
	charges := func(zone *time.Location) []Charge {
		t.Helper()
		all, _, err := Charges(first(events, len(events)), zone)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := []Charge{
		{"2026-11-26", "anthropic/haiku", "coder", 1, pawl.Money{Spent: 30, SpentTokens: 21}},
		{"2026-11-27", "anthropic/haiku", "coder", 1, pawl.Money{Lost: 100, LostTokens: 50}},
		{"2026-11-27", "openai/gpt", "review", 1, pawl.Money{Spent: 7, SpentTokens: 5}},
		{"2026-11-27", "script", "assess", 0, pawl.Money{Held: 40, HeldTokens: 40}},
	}
	if d := cmp.Diff(want, charges(time.UTC)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if all := charges(time.FixedZone("west", -5*3600)); len(all) != 3 || all[0].Day != "2026-11-26" || all[0].Calls != 2 {
		t.Errorf("to the west: %+v", all)
	}
	// What a fork has in common with another run is not charged to it.
	events = append(events, pawl.Event{Run: "001-a-r2", Seq: 10, Time: at, Body: &pawl.Forked{Cost: 137}},
		pawl.Event{Run: "001-a-r2", Seq: 11, Loop: 1, Time: at, Body: call("review", "judge", 2, 70)},
		pawl.Event{Run: "001-a-r2", Seq: 12, Loop: 1, Time: at, Body: &pawl.ModelReplied{Effect: 11, Cost: 1, Usage: pawl.Usage{Input: 1}}})
	if d := cmp.Diff([]Charge{{"2026-11-26", "openai/gpt", "judge", 1, pawl.Money{Spent: 1, SpentTokens: 1}}}, charges(time.UTC)); d != "" {
		t.Errorf("of a fork (-want +got):\n%s", d)
	}
}
