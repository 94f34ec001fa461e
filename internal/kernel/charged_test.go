package kernel

import (
	"testing"
	"time"

	"pawl"
	"pawl/internal/kernel/budget"
)

// What a call is charged that failed: nothing if it certainly cost nothing, what it had used if
// that is known, else its reservation, which is lost. All of it counts against the limits. F-38
func TestWhatAFailedCallIsCharged(t *testing.T) {
	for name, test := range map[string]struct {
		failure pawl.Failure
		free    bool
		used    pawl.Usage
	}{
		"RateLimit":    {failure: pawl.Failure{Code: "rate_limit"}, free: true},
		"Overloaded":   {failure: pawl.Failure{Code: "overloaded"}, free: true},
		"Auth":         {failure: pawl.Failure{Code: "auth"}, free: true},
		"Quota":        {failure: pawl.Failure{Code: "quota"}, free: true},
		"Refusal":      {failure: pawl.Failure{Code: "refused", Used: pawl.Usage{Input: 500, Output: 3}}, used: pawl.Usage{Input: 500, Output: 3}},
		"Page":         {failure: pawl.Failure{Code: "network", Free: true}, free: true},
		"NoConnection": {failure: pawl.Failure{Code: "network", Unsent: true}, free: true},
		"NoBlob":       {failure: pawl.Failure{Code: pawl.FailMachine, Unsent: true}, free: true},
		"Cut":          {failure: pawl.Failure{Code: "network", Used: pawl.Usage{Input: 700, Output: 30}, Estimated: true}, used: pawl.Usage{Input: 700, Output: 30}},
		"ErrorInside":  {failure: pawl.Failure{Code: "overloaded", Used: pawl.Usage{Input: 700, Output: 1}}, used: pawl.Usage{Input: 700, Output: 1}},
		"CutAtOnce":    {failure: pawl.Failure{Code: "network"}},
		"Silence":      {failure: pawl.Failure{Code: "timeout"}},
		"TimeIsUp":     {failure: pawl.Failure{Code: pawl.FailTimeout}},
		"Machine":      {failure: pawl.Failure{Code: pawl.FailMachine}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.happens = (&script{w: w}).happens
			r, set := taskLoop(), settings()
			easy(r, set)
			w.start(r, set)
			var call *pawl.Effect
			for call == nil && w.land() {
				for _, f := range Pending(w.state) {
					if f.Do.Verb() == pawl.VerbCallModel {
						call = f
					}
				}
			}
			held := budget.Purse{Money: call.Do.(*pawl.CallModel).Reserved, Tokens: call.Do.(*pawl.CallModel).ReservedTokens}
			before := Info(w.state).Figures()
			if before.Held != held.Money || before.HeldTokens != held.Tokens || before.Lost != 0 {
				t.Fatalf("before, it has %+v, and the call holds %v", before, held)
			}
			if err := w.take(Input{Answer: &pawl.EffectFailed{Effect: call.ID, Failure: test.failure}}); err != nil {
				t.Fatal(err)
			}
			want := before
			want.Held, want.HeldTokens = 0, 0
			switch {
			case test.used != (pawl.Usage{}):
				want.Spent += set.Models[call.Do.(*pawl.CallModel).Tier-1].Price.Cost(test.used)
				want.SpentTokens += test.used.Total()
			case !test.free:
				want.Lost, want.LostTokens = held.Money, held.Tokens
			}
			if got := Info(w.state).Figures(); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if sum := w.state.Spent; sum.Money != want.Spent+want.Lost || sum.Tokens != want.SpentTokens+want.LostTokens {
				t.Errorf("%v counts against the limits, of %+v", sum, want)
			}
		})
	}
}

// A model call that is lost with its driver, or that is withdrawn, may have reached the
// provider. Each is charged its reservation, once. F-63
func TestLostCallsAreCharged(t *testing.T) {
	for name, stop := range map[string]func(*world){
		"lost": func(w *world) { w.crash(time.Second) },
		"withdrawn": func(w *world) {
			w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}})
		},
	} {
		w := newWorld(t)
		w.happens = (&script{w: w}).happens
		r, set := taskLoop(), settings()
		easy(r, set)
		w.start(r, set)
		calls := func() (out []*pawl.Effect) {
			for _, f := range Pending(w.state) {
				if f.Do.Verb() == pawl.VerbCallModel {
					out = append(out, f)
				}
			}
			return out
		}
		for len(calls()) == 0 && w.land() {
			continue
		}
		lost, before := calls()[0], w.state.Spent
		want := budget.Purse{Money: lost.Do.(*pawl.CallModel).Reserved, Tokens: lost.Do.(*pawl.CallModel).ReservedTokens}
		if want.Money == 0 || want.Tokens == 0 || w.state.Reserved != want {
			t.Fatalf("%s: the run reserves %v, but its call reserves %v", name, w.state.Reserved, want)
		}
		stop(w)
		var charged []budget.Purse
		for _, e := range w.log {
			switch b := e.Body.(type) {
			case *pawl.EffectLost:
				charged = append(charged, budget.Purse{Money: b.Charged, Tokens: b.ChargedTokens})
			case *pawl.EffectWithdrawn:
				if b.Effect == lost.ID {
					charged = append(charged, budget.Purse{Money: b.Charged, Tokens: b.ChargedTokens})
				}
			}
		}
		if len(charged) != 1 || charged[0] != want {
			t.Errorf("%s: charged %v, want %v once", name, charged, want)
		}
		if got := w.state.Spent.Sub(before); got != want {
			t.Errorf("%s: %v is spent, want %v", name, got, want)
		}
		left := budget.Purse{}
		for _, f := range calls() {
			left = left.Add(budget.Purse{Money: f.Do.(*pawl.CallModel).Reserved, Tokens: f.Do.(*pawl.CallModel).ReservedTokens})
		}
		if w.state.Reserved != left {
			t.Errorf("%s: the run reserves %v, but its open calls reserve %v", name, w.state.Reserved, left)
		}
	}
}
