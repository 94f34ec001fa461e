package kernel

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
		s := &State{Settings: settings()}
		s.Settings.Models[1].Price = price
		if got, want := s.reservation(2, 3*million-3, 2*million), (Purse{(5 + 2*7) * d, 3 * million}); got != want {
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
		s := &State{Settings: settings()}
		price := pawl.Price{Input: micros("input"), Output: micros("output"), CacheRead: micros("cache read"), CacheWrite: micros("cache write")}
		s.Settings.Models[0].Price = price
		tokens, output := rapid.Int64Range(0, 1_000_000).Draw(t, "tokens"), rapid.IntRange(1, 100_000).Draw(t, "most output")
		want := s.reservation(1, tokens*bytesPerToken, output)

		read := rapid.Int64Range(0, tokens).Draw(t, "read")
		written := rapid.Int64Range(0, tokens-read).Draw(t, "written")
		used := pawl.Usage{Input: tokens - read - written, CacheRead: read, CacheWrite: written, Output: rapid.Int64Range(0, int64(output)).Draw(t, "said")}
		if cost := price.Cost(used); cost > want.Money || used.Total() > want.Tokens {
			t.Errorf("%+v costs %d and %d tokens, but %d and %d were reserved", used, int64(cost), used.Total(), int64(want.Money), want.Tokens)
		}
	})
}
