package kernel

import (
	"testing"

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
