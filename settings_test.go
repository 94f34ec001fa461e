package pawl

import (
	"crypto/sha256"
	"testing"
	"time"
)

// A change of an account does not reach copies of the settings, such as those of effects in flight.
func TestSetAccount(t *testing.T) {
	m := ModelChoice{Provider: "openai", Address: "https://old"}
	s := Settings{Models: [3]ModelChoice{m}, Fallbacks: [3][]ModelChoice{{m, {Provider: "ollama"}}}}
	before := s
	to := Account{Provider: "openai", Address: "https://new", Key: "k"}
	s.SetAccount(to)
	if s.Models[0].Account() != to || s.Fallbacks[0][0].Account() != to || s.Fallbacks[0][1].Address != "" {
		t.Errorf("the models are %+v and %+v", s.Models[0], s.Fallbacks[0])
	}
	if before.Models[0] != m || before.Fallbacks[0][0] != m {
		t.Errorf("the models of the copy are %+v and %+v", before.Models[0], before.Fallbacks[0])
	}
}

func TestPrepareHash(t *testing.T) {
	s := Settings{Prepare: []string{"npm ci && make <all>", "make deps"}}
	want := Hash(sha256.Sum256([]byte(`["npm ci && make <all>","make deps"]`)))
	if got := s.PrepareHash(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, other := range [][]string{nil, {}, {"make deps", "npm ci && make <all>"}, {"npm ci && make <all> make deps"}, {"npm ci && make <all>", "make deps "},
		{"npm ci && make <all>", "make deps", ""}} {
		if (&Settings{Prepare: other}).PrepareHash() == want {
			t.Errorf("%q has the same hash", other)
		}
	}
}

// F-96: durations are rounded for people, whatever they are a limit on.
func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1500 * time.Millisecond: "1.5s", 1_512_000_000: "2s", 432_194_299: "0.4s", 20 * time.Millisecond: "20ms", 20_400_001: "20ms", 0: "0s", 1: "0s", 10*time.Second + 600_000_001: "11s", 2 * time.Minute: "2m", 90 * time.Second: "1m30s",
		time.Hour: "1h", time.Hour + time.Second: "1h0m1s", time.Minute + 400*time.Millisecond: "1m",
	} {
		if got := Span(d); got != want {
			t.Errorf("%d ns: got %s, want %s", d, got, want)
		}
	}
}

// F-96: a limit has one form wherever it stands, and more digits only where it would look like what exceeds it.
func TestAmounts(t *testing.T) {
	for _, row := range []struct {
		b            LimitReached
		limit, value string
	}{
		{LimitReached{Limit: LimitMoney, Max: 41_257, Value: 51_000}, "$0.0413", "$0.0510"},
		{LimitReached{Limit: LimitMoney, Max: 41_257, Value: 41_290}, "$0.041257", "$0.041290"},
		{LimitReached{Limit: LimitMoney, Max: 10_000_000, Value: 10_000_100}, "$10.0000", "$10.0001"},
		{LimitReached{Limit: LimitMoney, Max: 10_000_000, Value: 12_345_678}, "$10.00", "$12.35"},
		{LimitReached{Limit: LimitTokens, Max: 20_000, Value: 21_755}, "20,000", "21,755"},
		{LimitReached{Limit: LimitTime, Max: int64(time.Hour), Value: int64(time.Hour + 90*time.Second)}, "1h", "1h1m30s"},
	} {
		limit, value := row.b.Amounts()
		if limit != row.limit || value != row.value {
			t.Errorf("%+v: got %s and %s", row.b, limit, value)
		}
	}
}
