package kernel

import (
	"testing"
	"time"

	"pawl"
)

// A call that cannot have reached the provider costs nothing; one that may have
// is paid for at its reservation.
func TestUnsentCallsAreFree(t *testing.T) {
	f := &pawl.Effect{Do: &pawl.CallModel{Tier: 1, Reserved: 7, ReservedTokens: 9}}
	s := &State{}
	if got := s.chargedFor(f, &pawl.Failure{Code: pawl.FailureCode(pawl.ModelNetwork)}); got != (Purse{7, 9}) {
		t.Errorf("a lost call is charged %v", got)
	}
	if got := s.chargedFor(f, &pawl.Failure{Code: pawl.FailureCode(pawl.ModelNetwork), Unsent: true}); got != (Purse{}) {
		t.Errorf("an unsent call is charged %v", got)
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
		want := Purse{lost.Do.(*pawl.CallModel).Reserved, lost.Do.(*pawl.CallModel).ReservedTokens}
		if want.Money == 0 || want.Tokens == 0 || w.state.Reserved != want {
			t.Fatalf("%s: the run reserves %v, but its call reserves %v", name, w.state.Reserved, want)
		}
		stop(w)
		var charged []Purse
		for _, e := range w.log {
			switch b := e.Body.(type) {
			case *pawl.EffectLost:
				charged = append(charged, Purse{b.Charged, b.ChargedTokens})
			case *pawl.EffectWithdrawn:
				if b.Effect == lost.ID {
					charged = append(charged, Purse{b.Charged, b.ChargedTokens})
				}
			}
		}
		if len(charged) != 1 || charged[0] != want {
			t.Errorf("%s: charged %v, want %v once", name, charged, want)
		}
		if got := w.state.Spent.sub(before); got != want {
			t.Errorf("%s: %v is spent, want %v", name, got, want)
		}
		left := Purse{}
		for _, f := range calls() {
			left = left.add(Purse{f.Do.(*pawl.CallModel).Reserved, f.Do.(*pawl.CallModel).ReservedTokens})
		}
		if w.state.Reserved != left {
			t.Errorf("%s: the run reserves %v, but its open calls reserve %v", name, w.state.Reserved, left)
		}
	}
}
