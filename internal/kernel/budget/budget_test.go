package budget

import (
	"testing"

	"pgregory.net/rapid"

	"pawl"
)

// F-63: a reservation prices every input token at the highest of the input prices, even if
// that is the price of writing or reading a cache.
func TestReservationTakesTheDearestInput(t *testing.T) {
	const million, d = 1_000_000, pawl.Dollars
	for name, price := range map[string]pawl.Price{
		"Input":      {Input: 5 * d, CacheRead: 1 * d, CacheWrite: 4 * d, Output: 7 * d},
		"CacheWrite": {Input: 4 * d, CacheRead: 1 * d, CacheWrite: 5 * d, Output: 7 * d},
		"CacheRead":  {Input: 4 * d, CacheRead: 5 * d, CacheWrite: 1 * d, Output: 7 * d},
	} {
		if got, want := reservation(price, 3*million-3, 2*million), (Purse{Money: (5 + 2*7) * d, Tokens: 3 * million}); got != want {
			t.Errorf("%s: a million tokens in and two million out reserve %v, want %v", name, got, want)
		}
	}
}

// F-63: a reply within the estimated tokens never costs more than its reservation.
func TestReservationCoversEveryReply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := func(name string) pawl.Micros {
			return pawl.Micros(rapid.Int64Range(0, 1000*int64(pawl.Dollars)).Draw(t, name))
		}
		price := pawl.Price{Input: micros("input"), Output: micros("output"), CacheRead: micros("cache read"), CacheWrite: micros("cache write")}
		tokens, output := rapid.Int64Range(0, 1_000_000).Draw(t, "tokens"), rapid.IntRange(1, 100_000).Draw(t, "most output")
		want := reservation(price, tokens*bytesPerToken, output)

		read := rapid.Int64Range(0, tokens).Draw(t, "read")
		written := rapid.Int64Range(0, tokens-read).Draw(t, "written")
		used := pawl.Usage{Input: tokens - read - written, CacheRead: read, CacheWrite: written, Output: rapid.Int64Range(0, int64(output)).Draw(t, "said")}
		if cost := price.Cost(used); cost > want.Money || used.Total() > want.Tokens {
			t.Errorf("%+v costs %d and %d tokens, but %d and %d were reserved", used, int64(cost), used.Total(), int64(want.Money), want.Tokens)
		}
	})
}

// A call that cannot have reached the provider costs nothing; one that may have
// is paid for at its reservation.
func TestUnsentCallsAreFree(t *testing.T) {
	f := &pawl.Effect{Do: &pawl.CallModel{Tier: 1, Reserved: 7, ReservedTokens: 9}}
	if got := OfFailure(f, pawl.Price{}, &pawl.Failure{Code: pawl.FailureCode(pawl.ModelNetwork)}); got != (Purse{Money: 7, Tokens: 9}) {
		t.Errorf("a lost call is charged %v", got)
	}
	if got := OfFailure(f, pawl.Price{}, &pawl.Failure{Code: pawl.FailureCode(pawl.ModelNetwork), Unsent: true}); got != (Purse{}) {
		t.Errorf("an unsent call is charged %v", got)
	}
}
